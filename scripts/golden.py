"""Write the golden figures that the tests compare with: ``python scripts/golden.py``.

Needs the real data. Only after a deliberate change of results; say in the commit why they changed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rankpursuit.writing import write_atomically

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "regression" / "golden"
SMALL = ROOT / "tests" / "small.yaml"
OF_THE_PAPER = ("jester_supervised", "jester_semi_supervised", "movielens_supervised")
OF_THE_PAPER += ("movielens_semi_supervised", "jester_crrp")
USERS = 24
"""Test users and hold-out users of each group, of the parts that are run of the paper."""
KERNELS = {"OPENBLAS_CORETYPE": "Haswell"}
"""The kernels of BLAS, which any processor with AVX2 has; each kind rounds in its own way."""


def run(name: str, output: Path) -> Path:
    """Run the small experiment, or a few users of one of the paper's; return its repeats."""
    config, few = SMALL, ["repeats=2"]
    if name != "small":
        config = ROOT / "configs" / f"{name}.yaml"
        few = [f"protocol.test_users={USERS}", f"protocol.holdout_users={USERS}", "repeats=1"]
    options = [word for override in few for word in ("--set", override)]
    program = [sys.executable, "-c", "from rankpursuit.cli.run import main; main()", str(config)]
    subprocess.run(
        [*program, *options, "--n-jobs", "1", "--quiet", "--output", str(output)],
        check=True,
        env=os.environ | KERNELS,
    )
    return output / name / "repeats.csv"


def main() -> None:
    """Run the experiments that are named, and keep their repeats."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = ("small", *OF_THE_PAPER)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--to", type=Path, default=GOLDEN, help="folder of the figures")
    arguments = parser.parse_args()
    arguments.to.mkdir(exist_ok=True)
    for name in arguments.names or names:
        with tempfile.TemporaryDirectory() as folder:
            path = arguments.to / f"{name}.csv"
            write_atomically(path, run(name, Path(folder)).read_bytes())
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
