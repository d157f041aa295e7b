"""Compare the rankers with gradient boosting and a linear model: ``python scripts/letor.py``.

Writes ``results/letor.md``. Needs LETOR MQ2008 under $RANKPURSUIT_DATA/letor (parts S1 to S3, see
data/README.md), and ``pip install lightgbm xgboost`` for the rows of those. Every part is the test
set once, with the other two to learn from; parameters are chosen by cross-validation over the
queries of those, by NDCG@10, and nothing is tuned by hand. Each fit is a process of its own, so
that its memory can be told. Besides, synthetic data of a stated form. Fits that are finished are
kept in results/letor.json: a run that is stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from letor_data import DATA_SETS, Fold
from letor_methods import METHODS
from letor_page import write_page
from letor_worker import measure

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "results" / "letor.json"


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", metavar="METHOD", help="measure these methods")
    parser.add_argument("--data", action="append", metavar="NAME", help="on these data sets")
    parser.add_argument("--fresh", action="store_true", help="measure again")
    parser.add_argument("--page", type=Path, default=ROOT / "results" / "letor.md")
    arguments = parser.parse_args()
    kept = {} if arguments.fresh or not KEPT.exists() else json.loads(KEPT.read_text())
    for name in arguments.data or DATA_SETS:
        for fold in DATA_SETS[name].folds():
            for method in arguments.only or METHODS:
                _measure(kept, name, fold, method)
    write_page(kept, arguments.page)
    print(f"wrote {arguments.page}")


def _measure(kept: dict, name: str, fold: Fold, method: str) -> None:
    key = f"{name}/{fold.name}/{method}"
    if key in kept or not METHODS[method].takes(fold):
        return
    print(f"{key} ...", end=" ", flush=True)
    found = measure(method, name, fold.name)
    if found is None:
        print("not installed")
        return
    kept[key] = found
    KEPT.write_text(json.dumps(kept, indent=1))
    print(f"{found['fit_seconds']:.1f} s")


if __name__ == "__main__":
    main()
