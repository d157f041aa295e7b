"""Compare interpretations of the paper, from the runs of ``configs/interpretations``.

There is, for each published table, a run with the default interpretation and variants of single
algorithms, and runs named ``TABLE-NAME``, with overrides, for what concerns all of them. An
interpretation replaces the default where it was run, so that each row of the table shows what it
alone changes.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import pandas as pd
from pages import CONFIGS, EXPERIMENTS, RESULTS, write_csv, write_pages

from rankpursuit.experiments import run_experiment
from rankpursuit.experiments.config import load_experiment
from rankpursuit.experiments.store import RunFolder
from rankpursuit.reporting import claims as paper
from rankpursuit.reporting.claims import judge_claims
from rankpursuit.reporting.results import Results, load_results
from rankpursuit.reporting.statistics import compare, compare_columns, errors_by
from rankpursuit.reporting.tables import published_cells

KMP, RP = "kernel_matching_pursuit", "ranking_pursuit"
SS, CRRP = "semi_supervised_ranking_pursuit", "combined_ranking_regression_pursuit"


@dataclass(frozen=True)
class Interpretation:
    """An interpretation: where it was run, and the options that it changes, as its title says."""

    title: str
    changes: dict[str, Any] = field(default_factory=dict)  # of `variants`, or of the experiment
    variants: dict[str, str] = field(default_factory=dict)  # suffixes of labels, by method
    run: str | None = None  # suffix of the name of the run that replaces the default
    tables: tuple[int, ...] = (1, 2, 3, 4, 5)  # of such runs

    def overrides(self, number: int) -> list[str]:
        """Return the options of the run of a table on top of its config."""
        name = EXPERIMENTS[number]
        size = load_experiment(CONFIGS / "interpretations" / f"{name}.yaml")
        options = {"name": f"{name}-{self.run}", "repeats": size.repeats} | self.changes
        for key in ("test_users", "holdout_users"):
            options[f"protocol.{key}"] = getattr(size.protocol, key)
        options |= {f"algorithms.{label}": None for label in ("mean_rating", "linear_rank_rls")}
        return [f"{key}={json.dumps(value)}" for key, value in options.items()]


BASIC, AGAIN = {"fitting": "basic"}, {"repeat": True}
BACKFIT, PREFIT = {"fitting": "backfit"}, {"fitting": "prefit"}
RIDGES = {"ridge": [2.0**power for power in (-6, -3, 0, 3, 6)]}
COUNTS = {"n_basis": list(range(2, 61, 2))}
SIZED = {"algorithms.sparse_rank_rls.size_from": RP}
ITEMS, SET = {"protocol.fill_over": "items"}, {"protocol.fill_over": "set"}
CODES, JESTER = {"protocol.missing_code": 99}, (1, 2, 5)
RANKING_WIDTH = SET | {"kernel.shared": "ranking"}
LAMBDA_1 = {f"algorithms.{label}.lambda": [1] for label in ("rls", "rank_rls", "sparse_rank_rls")}
SHIFTED = {"offset": "training_mean"}
AGREEMENT, LOSS, FEATURES = {"agreement": "incremental"}, {"views": "loss"}, {"views": "features"}

INTERPRETATIONS = [
    Interpretation("the configs of the paper"),
    Interpretation("matching pursuit basic", BASIC, {KMP: "basic"}),
    Interpretation("matching pursuit basic, functions again", BASIC | AGAIN, {KMP: "repeat"}),
    Interpretation("matching pursuit back-fitted", BACKFIT, {KMP: "backfit"}),
    Interpretation("ranking pursuit basic, functions again", AGAIN, {RP: "repeat"}),
    Interpretation("ranking pursuit back-fitted", BACKFIT, {RP: "backfit"}),
    Interpretation("ranking pursuit pre-fitted", PREFIT, {RP: "prefit"}),
    Interpretation("ranking pursuit stops at a number of functions", COUNTS, {RP: "count"}),
    Interpretation("ranking pursuit with a ridge term", RIDGES, {RP: "ridge"}),
    Interpretation(
        "all pursuits back-fitted", BACKFIT, dict.fromkeys((KMP, RP, SS, CRRP), "backfit")
    ),
    Interpretation("RankSVM with the hinge", {"loss": "hinge"}, {"rank_svm": "hinge"}),
    Interpretation("SS ranking pursuit back-fitted", BACKFIT, {SS: "backfit"}),
    Interpretation("SS ranking pursuit, incremental agreement", AGREEMENT, {SS: "incremental"}),
    Interpretation("SS ranking pursuit, views split the loss", LOSS, {SS: "loss"}),
    Interpretation("SS ranking pursuit, views split the features", FEATURES, {SS: "features"}),
    Interpretation("CRRP back-fitted", BACKFIT, {CRRP: "backfit"}),
    Interpretation("CRRP pre-fitted", PREFIT, {CRRP: "prefit"}),
    Interpretation("methods tuned by their own error", {"tuning": "own"}, run="tuning_own"),
    Interpretation("parameters chosen for each user", {"tuning_on": "user"}, run="tuning_on_user"),
    Interpretation("one width for all methods", {"kernel.shared": "all"}, run="one_width"),
    Interpretation("random subset as large as ranking pursuit's P", SIZED, run="size_from"),
    Interpretation("width is gamma", {"kernel.parameter": "gamma"}, run="gamma", tables=(1, 3)),
    Interpretation("median over the items at hand", ITEMS, run="fill_items"),
    Interpretation("median over training and test items apart", SET, run="fill_set"),
    Interpretation("the same, one width by the ranking methods", RANKING_WIDTH, run="set_width"),
    Interpretation("the same, lambda 1: the inferred set-up", SET | LAMBDA_1, run="set_lambda"),
    Interpretation(
        "codes of missing ratings, 99, stay in the median", CODES, run="codes", tables=JESTER
    ),
    Interpretation(
        "the same, median over the items at hand", CODES | ITEMS, run="codes_items", tables=JESTER
    ),
    Interpretation("missing ratings are zero", {"protocol.fill": "zero"}, run="fill_zero"),
    Interpretation("ties by formula (1) to the letter", {"ties": "all"}, run="ties", tables=(1, 3)),
    Interpretation("squared error of shifted functions", SHIFTED, run="offset", tables=(5,)),
]


def results_of(
    interpretation: Interpretation, folder: Path, tables: Collection[int]
) -> tuple[dict[int, Results], set[int]]:
    """Return the results of some tables in an interpretation, and which of them it changes."""
    found, changed = {}, set()
    for number, name in ((number, EXPERIMENTS[number]) for number in tables):
        if not RunFolder(folder / name).has_results:
            continue
        runs = [load_results(folder / name)]
        other = folder / f"{name}-{interpretation.run}"
        if interpretation.run and RunFolder(other).has_results:
            runs.insert(0, load_results(other))
            changed.add(number)
        parts = []
        for method in next(iter(paper.published_tables()[number].cells.values())):
            label = f"{method}_{interpretation.variants.get(method)}"
            for repeats in (run.repeats for run in runs):
                wanted = label if label in set(repeats["algorithm"]) else method
                rows = repeats[repeats["algorithm"] == wanted]
                if len(rows):
                    parts.append(rows.assign(algorithm=method))
                    changed |= {number} if wanted == label else set()
                    break
        found[number] = replace(runs[-1], repeats=pd.concat(parts))
    return found, changed


def describe(
    interpretation: Interpretation, folder: Path, tables: Collection[int] = EXPERIMENTS
) -> tuple[list[Any], pd.DataFrame]:
    """Return what becomes of the claims in an interpretation, and its cells."""
    runs, changed = results_of(interpretation, folder, tables)
    verdicts = judge_claims(list(runs.values()))
    agreeing = sum(comparison.agrees for verdict in verdicts for comparison in verdict.evidence)
    holding = sum(verdict.outcome == "holds" for verdict in verdicts)
    cells = pd.concat(published_cells(run) for run in runs.values())
    cells = cells.drop(columns=["difference", "within"])
    cells = cells.assign(tolerance=cells["metric"].map(paper.published_tolerance))
    row = [interpretation.title, " ".join(map(str, sorted(changed))), holding, agreeing]
    return row, cells.assign(interpretation=interpretation.title)


@click.command("interpretations")
@click.argument("folder", type=click.Path(path_type=Path), default=RESULTS / "interpretations")
@click.option("--table", "tables", type=click.IntRange(1, 5), multiple=True, help="Of the paper.")
def main(folder: Path, tables: tuple[int, ...]) -> None:
    """Run all interpretations of the paper, resuming earlier runs in FOLDER, and compare them.

    Writes results/interpretations.csv and interpretations_claims.csv.
    """
    tables = tables or tuple(EXPERIMENTS)
    run = partial(run_experiment, output=folder, n_jobs=-1, quiet=False)
    for number in tables:
        name = f"{EXPERIMENTS[number]}.yaml"
        run(CONFIGS / "interpretations" / name)
        for one in INTERPRETATIONS:
            if one.run and number in one.tables:
                run(CONFIGS / name, overrides=one.overrides(number))
    rows, cells = zip(*(describe(one, folder, tables) for one in INTERPRETATIONS), strict=True)
    rows = [row for row in rows if row[1] or row is rows[0]]  # those that were run
    columns = ["interpretation", "tables", "claims_that_hold", "comparisons_that_agree"]
    write_csv(RESULTS / "interpretations_claims.csv", pd.DataFrame(rows, columns=columns))
    write_csv(RESULTS / "interpretations.csv", pd.concat(cells))
    write_pages()


@click.command("by-user")
@click.argument("folder", type=click.Path(path_type=Path), default=RESULTS / "by_user")
def by_user(folder: Path) -> None:
    """Compare SS ranking pursuit with each method if parameters are chosen for each user.

    Reads the runs of ``make by-user`` and writes results/by_user.csv.
    """
    rows = []
    for number in (4, 2):
        results = load_results(folder / EXPERIMENTS[number])
        errors = [errors_by(results, "disagreement", group, "users") for group in results.groups]
        for label in results.algorithms:
            if label == SS:
                continue
            groups = [compare_columns(one, SS, label) for one in errors]
            ahead = [one for one in groups if one.mean < 0]
            both = pd.concat(errors)[[SS, label]].dropna()
            overall = compare(both[SS], both[label])
            row = [number, label, *both.mean(), overall.mean, *overall.interval]
            rows.append([*row, len(ahead), sum(one.significant for one in ahead), len(groups)])
    columns = ["table", "compared_with", "error_of_ss", "error", "difference", "low", "high"]
    columns += ["groups_ahead", "significantly", "groups"]
    write_csv(RESULTS / "by_user.csv", pd.DataFrame(rows, columns=columns))
    write_pages()
