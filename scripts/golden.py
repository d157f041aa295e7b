"""Write the golden figures that the tests compare with: ``python scripts/golden.py``.

Needs the real data. Only after a deliberate change of results; say in the commit why they changed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import click
from pages import EXPERIMENTS, ROOT

from rankpursuit.writing import write_atomically

GOLDEN = ROOT / "tests" / "regression" / "golden"
SMALL = ROOT / "tests" / "small.yaml"
OF_THE_PAPER = tuple(EXPERIMENTS.values())
USERS = 24
"""Number of test users, and of hold-out users, per group in the paper's experiments."""
KERNELS = "Haswell"
"""BLAS kernels that any processor with AVX2 supports; kernels differ in rounding."""


def run(name: str, output: Path, kernels: str = KERNELS, n_users: int = USERS) -> Path:
    """Run the small experiment, or a few users of one of the paper's; return its repeats."""
    config, few = SMALL, ["repeats=2"]
    if name != "small":
        config = ROOT / "configs" / f"{name}.yaml"
        few = [f"protocol.test_users={n_users}", f"protocol.holdout_users={n_users}", "repeats=1"]
    options = [word for override in few for word in ("--set", override)]
    command = [sys.executable, "-m", "rankpursuit", "run", str(config), *options, "--n-jobs", "1"]
    command += ["--quiet", "--output", str(output)]
    subprocess.run(command, check=True, env=os.environ | {"OPENBLAS_CORETYPE": kernels})
    return output / name / "repeats.csv"


@click.command(help=__doc__)
@click.argument("names", nargs=-1, type=click.Choice(["small", *OF_THE_PAPER]))
@click.option("--to", type=click.Path(path_type=Path), default=GOLDEN, help="Folder of figures.")
def main(names: tuple[str, ...], to: Path) -> None:
    """Run the experiments that are named, by default all, and keep their repeats."""
    to.mkdir(exist_ok=True)
    for name in names or ("small", *OF_THE_PAPER):
        with tempfile.TemporaryDirectory() as folder:
            path = to / f"{name}.csv"
            write_atomically(path, run(name, Path(folder)).read_bytes())
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
