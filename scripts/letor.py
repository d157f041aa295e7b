"""Compare the rankers with gradient boosting and a linear model: ``python scripts/letor.py``.

Writes ``results/letor.md``. Needs LETOR MQ2008 under $RANKPURSUIT_DATA/letor (parts S1 to S3, see
data/README.md), and ``pip install '.[bench]'`` for the rows of LightGBM and XGBoost, which are left
out otherwise. Parameters are chosen by cross-validation over the queries to learn from, by NDCG@10;
nothing is tuned by hand. Each fit is a process of its own, so that its memory can be told. Fits
that are finished are kept in results/letor.json: a run that is stopped goes on where it was. Of
data sets that have no finished fit there, the page keeps the tables that it has.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from letor_methods import METHODS
from letor_page import page
from letor_worker import measure
from ranking_data import DATA_SETS, letor_folder

from rankpursuit.writing import write_atomically

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "results" / "letor.json"
SETS = ("letor", "smooth", "large")


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=METHODS, help="measure these methods")
    parser.add_argument("--data", action="append", choices=SETS, help="on these data sets")
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    parser.add_argument("--page", type=Path, default=ROOT / "results" / "letor.md")
    arguments = parser.parse_args()
    sets, methods = arguments.data or SETS, arguments.only or list(METHODS)
    if "letor" in sets and not letor_folder().is_dir():
        sys.exit("LETOR MQ2008 is not there: set RANKPURSUIT_DATA, or say --data smooth")
    measure_all(sets, methods, fresh=arguments.fresh)
    before = arguments.page.read_text(encoding="utf-8") if arguments.page.exists() else ""
    write_atomically(arguments.page, page(kept_fits(), SETS, before).encode())
    print(f"wrote {arguments.page}")


def kept_fits() -> dict[str, Any]:
    """Return the fits that are finished, by data set, fold and method."""
    return json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}


def measure_all(sets: Iterable[str], methods: list[str], *, fresh: bool) -> None:
    """Measure every method on every fold, and keep each as it ends."""
    for name in sets:
        for fold in DATA_SETS[name].folds():
            for method in methods:
                key = f"{name}/{fold.name}/{method}"
                if (key in kept_fits() and not fresh) or not METHODS[method].takes(fold):
                    continue
                print(f"{key} ...", end=" ", flush=True)
                found = measure(method, name, fold.name)
                if found is None:
                    print("left out: its package is not installed (pip install '.[bench]')")
                    continue
                write_atomically(KEPT, json.dumps(kept_fits() | {key: found}).encode())
                print(f"{found['fit_seconds']:.1f} s, {found['about']}")


if __name__ == "__main__":
    main()
