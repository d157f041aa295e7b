"""Write the golden figures that the tests compare with: ``python scripts/golden.py``.

Only after a deliberate change of results; say in the commit why they changed.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from small_experiment import run_small_experiment  # noqa: E402


def main() -> None:
    """Run the small experiment and keep its repeats."""
    with tempfile.TemporaryDirectory() as folder:
        results = run_small_experiment(Path(folder))
        golden = ROOT / "tests" / "regression" / "small_repeats.csv"
        golden.write_bytes((results / "repeats.csv").read_bytes())
        print(f"wrote {golden.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
