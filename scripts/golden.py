"""Write the golden figures that the tests compare with: ``python scripts/golden.py``.

Needs the real data. Only after a deliberate change of results; say in the commit why they changed.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "regression" / "golden"
sys.path.insert(0, str(ROOT / "tests"))

from small_experiment import (  # noqa: E402
    OF_THE_PAPER,
    run_part_of_the_paper,
    run_small_experiment,
)


def main() -> None:
    """Run the small experiment and a part of each of the paper's, and keep their repeats."""
    GOLDEN.mkdir(exist_ok=True)
    for name in ("small", *OF_THE_PAPER):
        with tempfile.TemporaryDirectory() as folder:
            if name == "small":
                run_small_experiment(Path(folder))
            else:
                run_part_of_the_paper(name, Path(folder))
            path = GOLDEN / f"{name}.csv"
            path.write_bytes((Path(folder) / "repeats.csv").read_bytes())
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
