"""Compare readings of the paper: ``python scripts/readings.py [--markdown FILE]``.

Reads the runs that ``rp-run configs/readings/*.yaml --output results/readings`` leaves: for each
published table a run with the default readings and with those of single algorithms, and runs named
``TABLE-READING`` for what concerns all of them. A reading takes the place of the default where it
was run; all else stays, so that each row of the table answers what that reading alone changes.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pages import EXPERIMENTS, write_part
from tabulate import tabulate

from rankpursuit.experiments.export import RunFolder
from rankpursuit.reporting.check import check_results
from rankpursuit.reporting.claims import judge_claims
from rankpursuit.reporting.columns import markdown_columns
from rankpursuit.reporting.expected import load_expected
from rankpursuit.reporting.published import published_claims, published_tables
from rankpursuit.reporting.results import Results, load_results
from rankpursuit.writing import write_atomically

RUNS = Path(__file__).parents[1] / "results" / "readings"
KMP, RP = "kernel_matching_pursuit", "ranking_pursuit"
SS, CRRP = "semi_supervised_ranking_pursuit", "combined_ranking_regression_pursuit"


@dataclass(frozen=True)
class Reading:
    """A reading: where it was run, and the options that it changes, which its title names.

    Attributes
    ----------
    title : str
    changes : dict of str to Any
        The options, as configs call them, that differ from the default: of the algorithms in
        `variants`, or else of the experiment.
    variants : dict of str to str
        For each method that it concerns, the end of the label of its variant.
    run : str, optional
        The end of the name of the run to take all from.
    """

    title: str
    changes: dict[str, Any] = field(default_factory=dict)
    variants: dict[str, str] = field(default_factory=dict)
    run: str | None = None


BASIC, AGAIN = {"fitting": "basic"}, {"repeat": True}
BACKFIT, PREFIT = {"fitting": "backfit"}, {"fitting": "prefit"}
RIDGES = {"ridge": [2.0**power for power in (-6, -3, 0, 3, 6)]}
COUNTS = {"n_basis": list(range(2, 61, 2))}
PURSUITS = (KMP, RP, SS, CRRP)

READINGS = [
    Reading("the configs of the paper"),
    Reading("matching pursuit basic", BASIC, {KMP: "basic"}),
    Reading("matching pursuit basic, functions again", BASIC | AGAIN, {KMP: "repeat"}),
    Reading("matching pursuit back-fitted", BACKFIT, {KMP: "backfit"}),
    Reading("ranking pursuit basic, functions again", AGAIN, {RP: "repeat"}),
    Reading("ranking pursuit back-fitted", BACKFIT, {RP: "backfit"}),
    Reading("ranking pursuit pre-fitted", PREFIT, {RP: "prefit"}),
    Reading("ranking pursuit stops at a number of functions", COUNTS, {RP: "count"}),
    Reading("ranking pursuit with a ridge term", RIDGES, {RP: "ridge"}),
    Reading("all pursuits back-fitted", BACKFIT, dict.fromkeys(PURSUITS, "backfit")),
    Reading("RankSVM with the hinge", {"loss": "hinge"}, {"rank_svm": "hinge"}),
    Reading("SS ranking pursuit back-fitted", BACKFIT, {SS: "backfit"}),
    Reading(
        "SS ranking pursuit, incremental agreement",
        {"agreement": "incremental"},
        {SS: "incremental"},
    ),
    Reading("SS ranking pursuit, views split the loss", {"views": "loss"}, {SS: "loss"}),
    Reading(
        "SS ranking pursuit, views split the features", {"views": "features"}, {SS: "features"}
    ),
    Reading("CRRP back-fitted", BACKFIT, {CRRP: "backfit"}),
    Reading("CRRP pre-fitted", PREFIT, {CRRP: "prefit"}),
    Reading("methods tuned by their own error", {"tuning": "own"}, run="tuning_own"),
    Reading("width is gamma", {"kernel.parameter": "gamma"}, run="gamma"),
    Reading("missing ratings are zero", {"protocol.fill": "zero"}, run="fill_zero"),
    Reading("ties by formula (1) to the letter", {"ties": "all"}, run="ties_all"),
    Reading("squared error of shifted functions", {"offset": "training_mean"}, run="offset"),
]


def results_of(reading: Reading, folder: Path) -> tuple[dict[int, Results], set[int]]:
    """Return the results of each table under a reading, and which tables it changes."""
    found, changed = {}, set()
    for number, name in EXPERIMENTS.items():
        default = folder / name
        if not RunFolder(default).has_results:
            continue
        runs = [load_results(default)]
        other = folder / f"{name}-{reading.run}"
        if reading.run and RunFolder(other).has_results:
            runs.insert(0, load_results(other))
            changed.add(number)
        parts = []
        for method in next(iter(published_tables()[number].cells.values())):
            label = f"{method}_{reading.variants.get(method)}"
            for run in runs:
                wanted = label if label in set(run.repeats["algorithm"]) else method
                rows = run.repeats[run.repeats["algorithm"] == wanted]
                if len(rows):
                    parts.append(rows.assign(algorithm=method))
                    changed |= {number} if wanted == label else set()
                    break
        found[number] = replace(runs[-1], repeats=pd.concat(parts))
    return found, changed


def cells_of(runs: dict[int, Results]) -> pd.DataFrame:
    """Return each cell, published and measured, with its tolerance."""
    expected = load_expected().model_copy(update={"known_deviations": ()})
    checked = check_results(list(runs.values()), expected).cells
    values = ("published", "measured", "tolerance")
    return pd.DataFrame(
        [one.cell._asdict() | {name: getattr(one, name) for name in values} for one in checked]
    )


def describe(reading: Reading, folder: Path) -> tuple[list[Any], pd.DataFrame]:
    """Return a row of the table of readings, and the cells behind it."""
    runs, changed = results_of(reading, folder)
    cells = cells_of(runs)
    off = (cells["measured"] - cells["published"]).to_numpy()
    within = np.abs(off) <= cells["tolerance"] + 1e-9
    ranking = (cells["metric"] == "disagreement").to_numpy()
    jester = cells["table"].isin([1, 2, 5]).to_numpy()
    verdicts = judge_claims(list(runs.values()))
    comparisons = [one.agrees for verdict in verdicts for one in verdict.evidence]
    row = [
        reading.title,
        " ".join(map(str, sorted(changed))) or "none",
        int(within.sum()),
        sum(verdict.outcome == "holds" for verdict in verdicts),
        sum(comparisons),
        _mean_and_size(off[ranking & jester], 3),
        _mean_and_size(off[ranking & ~jester], 3),
        _mean_and_size(off[~ranking], 1),
    ]
    return row, cells.assign(reading=reading.title)


def _mean_and_size(off: np.ndarray, digits: int) -> str:
    if not len(off):
        return ""
    return f"{off.mean():+.{digits}f} ({np.abs(off).mean():.{digits}f})"


def main() -> None:
    """Print the table of readings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=RUNS, help="default: %(default)s")
    parser.add_argument("--markdown", type=Path, help="also put the table into this page")
    parser.add_argument("--csv", type=Path, help="also write all cells to this file")
    arguments = parser.parse_args()
    rows, cells = zip(*(describe(one, arguments.folder) for one in READINGS), strict=True)
    n_cells, n_claims = len(cells[0]), len(published_claims())
    headers = [
        "reading",
        "tables",
        f"cells within tolerance, of {n_cells}",
        f"claims that hold, of {n_claims}",
        "comparisons that agree",
        "Jester, ranking",
        "MovieLens, ranking",
        "Jester, squared error",
    ]
    print(tabulate(rows, headers=headers, maxheadercolwidths=12))
    if arguments.markdown:
        write_part(arguments.markdown, "readings", markdown_columns(headers, rows, "llrrrrrr"))
    if arguments.csv:
        text = pd.concat(cells).to_csv(index=False, float_format="%.6g")
        write_atomically(arguments.csv, text.encode())


if __name__ == "__main__":
    main()
