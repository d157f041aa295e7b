"""Compare interpretations of the paper, from the runs of ``configs/readings``.

There is, for each published table, a run with the default interpretation and variants of single
algorithms, and runs named ``TABLE-NAME`` for what concerns all of them. An interpretation replaces
the default where it was run, so that each row of the table shows what it alone changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from pages import EXPERIMENTS, write_part
from tabulate import tabulate

from rankpursuit.experiments.export import RunFolder
from rankpursuit.reporting.check import check_cells, expectation_folder, load_expectations
from rankpursuit.reporting.claims import judge_claims
from rankpursuit.reporting.published import is_within, published_claims, published_tables
from rankpursuit.reporting.render import markdown_columns
from rankpursuit.reporting.results import Results, load_results
from studies.library import RESULTS, write_csv

KMP, RP = "kernel_matching_pursuit", "ranking_pursuit"
SS, CRRP = "semi_supervised_ranking_pursuit", "combined_ranking_regression_pursuit"


@dataclass(frozen=True)
class Reading:
    """An interpretation: where it was run, and the options that it changes, as its title says."""

    title: str
    changes: dict[str, Any] = field(default_factory=dict)  # of `variants`, or of the experiment
    variants: dict[str, str] = field(default_factory=dict)  # suffixes of labels, by method
    run: str | None = None  # suffix of the name of the run that replaces the default


BASIC, AGAIN = {"fitting": "basic"}, {"repeat": True}
BACKFIT, PREFIT = {"fitting": "backfit"}, {"fitting": "prefit"}
RIDGES = {"ridge": [2.0**power for power in (-6, -3, 0, 3, 6)]}
COUNTS = {"n_basis": list(range(2, 61, 2))}
AGREEMENT, LOSS, FEATURES = {"agreement": "incremental"}, {"views": "loss"}, {"views": "features"}

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
    Reading("all pursuits back-fitted", BACKFIT, dict.fromkeys((KMP, RP, SS, CRRP), "backfit")),
    Reading("RankSVM with the hinge", {"loss": "hinge"}, {"rank_svm": "hinge"}),
    Reading("SS ranking pursuit back-fitted", BACKFIT, {SS: "backfit"}),
    Reading("SS ranking pursuit, incremental agreement", AGREEMENT, {SS: "incremental"}),
    Reading("SS ranking pursuit, views split the loss", LOSS, {SS: "loss"}),
    Reading("SS ranking pursuit, views split the features", FEATURES, {SS: "features"}),
    Reading("CRRP back-fitted", BACKFIT, {CRRP: "backfit"}),
    Reading("CRRP pre-fitted", PREFIT, {CRRP: "prefit"}),
    Reading("methods tuned by their own error", {"tuning": "own"}, run="tuning_own"),
    Reading("width is gamma", {"kernel.parameter": "gamma"}, run="gamma"),
    Reading("missing ratings are zero", {"protocol.fill": "zero"}, run="fill_zero"),
    Reading("ties by formula (1) to the letter", {"ties": "all"}, run="ties_all"),
    Reading("squared error of shifted functions", {"offset": "training_mean"}, run="offset"),
]


def results_of(reading: Reading, folder: Path) -> tuple[dict[int, Results], set[int]]:
    """Return the results of each table in an interpretation, and which tables it changes."""
    found, changed = {}, set()
    for number, name in EXPERIMENTS.items():
        if not RunFolder(folder / name).has_results:
            continue
        runs = [load_results(folder / name)]
        other = folder / f"{name}-{reading.run}"
        if reading.run and RunFolder(other).has_results:
            runs.insert(0, load_results(other))
            changed.add(number)
        parts = []
        for method in next(iter(published_tables()[number].cells.values())):
            label = f"{method}_{reading.variants.get(method)}"
            for repeats in (run.repeats for run in runs):
                wanted = label if label in set(repeats["algorithm"]) else method
                rows = repeats[repeats["algorithm"] == wanted]
                if len(rows):
                    parts.append(rows.assign(algorithm=method))
                    changed |= {number} if wanted == label else set()
                    break
        found[number] = replace(runs[-1], repeats=pd.concat(parts))
    return found, changed


def describe(reading: Reading, folder: Path) -> tuple[list[Any], pd.DataFrame]:
    """Return a row of the table of interpretations, and the cells behind it."""
    runs, changed = results_of(reading, folder)
    results = list(runs.values())
    plain = {"known_deviations": {}}
    cells = pd.concat(
        check_cells(runs[number], expected.model_copy(update=plain))
        for number, expected in load_expectations(expectation_folder()).items()
    ).drop(columns=["target", "status", "passed"])
    off = cells["measured"] - cells["published"]
    ranking, jester = cells["metric"] == "disagreement", cells["table"].isin([1, 2, 5])
    verdicts = judge_claims(results)
    row = [
        reading.title,
        " ".join(map(str, sorted(changed))) or "none",
        int(is_within(off, cells["tolerance"]).sum()),
        sum(verdict.outcome == "holds" for verdict in verdicts),
        sum(one.agrees for verdict in verdicts for one in verdict.evidence),
        _mean_and_size(off[ranking & jester], 3),
        _mean_and_size(off[ranking & ~jester], 3),
        _mean_and_size(off[~ranking], 1),
    ]
    return row, cells.assign(reading=reading.title)


def _mean_and_size(off: pd.Series, digits: int) -> str:
    return f"{off.mean():+.{digits}f} ({np.abs(off).mean():.{digits}f})" if len(off) else ""


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=RESULTS / "readings")
def main(folder: Path) -> None:
    """Compare interpretations of the paper, from the runs of configs/readings.

    Writes results/readings.md and readings.csv.
    """
    rows, cells = zip(*(describe(one, folder) for one in READINGS), strict=True)
    headers = ["reading", "tables", f"cells within tolerance, of {len(cells[0])}"]
    headers += [f"claims that hold, of {len(published_claims())}", "comparisons that agree"]
    headers += ["Jester, ranking", "MovieLens, ranking", "Jester, squared error"]
    click.echo(tabulate(rows, headers=headers, maxheadercolwidths=12))
    write_part(RESULTS / "readings.md", "readings", markdown_columns(headers, rows, "llrrrrrr"))
    write_csv(RESULTS / "readings.csv", pd.concat(cells))
