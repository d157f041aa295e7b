"""Answer what is behind the claims that fail, by runs of ``configs/ablations``.

Every difference is of two algorithms on the same test users, with a 95% bootstrap interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import click
import pandas as pd
from pages import CONFIGS, DATA_TITLES, RESULTS, write_csv, write_pages

from rankpursuit.experiments import run_experiment
from rankpursuit.reporting.results import load_results
from rankpursuit.reporting.statistics import compare

RP, SS, RLS = "ranking_pursuit", "semi_supervised_ranking_pursuit", "rank_rls"
RP_RIDGE = "ranking_pursuit_ridge"
BASELINES = {
    "rls": "RLS",
    "kernel_matching_pursuit": "matching pursuit",
    "rank_svm": "RankSVM",
    RLS: "RankRLS",
    "sparse_rank_rls": "sparse RankRLS",
    RP: "ranking pursuit",
    "backfit_ridge": "ranking pursuit back-fitted with a ridge",
}
# Differences: in which run, of which algorithm minus which, and their titles.
SECTIONS: dict[str, list[tuple[str, str, str, str]]] = {
    "What the gain of SS ranking pursuit over ranking pursuit is made of": [
        ("gain", SS, RP, "SS ranking pursuit minus ranking pursuit"),
        ("gain", "halves", RP, "mean of two halves of the dictionary minus ranking pursuit"),
        ("gain", "no_agreement", RP, "SS with nu = 0 minus ranking pursuit"),
        ("gain", SS, "no_agreement", "SS minus the same with nu = 0: what agreement adds"),
        ("gain", SS, "scored_agreement", "SS minus agreement on scored points only"),
        ("gain", SS, "scored_dictionary", "SS minus functions on scored points only"),
        ("gain", SS, RLS, "SS minus RankRLS"),
    ],
    "Where unscored points help, by the scored fraction of the training items": [
        (f"scored_{share}", first, second, f"{int(share)}%: {title}")
        for share in ("05", "10", "20", "50")
        for first, second, title in (
            (SS, RP, "SS minus ranking pursuit"),
            (SS, "no_agreement", "SS minus nu = 0"),
            ("ss_ridge", RP_RIDGE, "with ridges: SS minus ranking pursuit"),
            (RP_RIDGE, SS, "ranking pursuit with a ridge minus SS"),
        )
    ],
    "Ranking pursuit with a ridge, supervised": [
        ("ridge", RP, RLS, "basic, no ridge, minus RankRLS"),
        ("ridge", RP_RIDGE, RLS, "basic, ridge, minus RankRLS"),
        ("ridge", "backfit", RLS, "back-fitted, no ridge, minus RankRLS"),
        ("ridge", "backfit_ridge", RLS, "back-fitted, ridge, minus RankRLS"),
        ("ridge", "prefit", RLS, "pre-fitted, no ridge, minus RankRLS"),
        ("ridge", "prefit_ridge", RLS, "pre-fitted, ridge, minus RankRLS"),
        ("ridge", "backfit_ridge", "rank_svm", "back-fitted, ridge, minus RankSVM"),
    ],
    "SS ranking pursuit with a ridge against every baseline": [
        ("ridge_semi_supervised", first, other, f"{fitting}, minus {title}")
        for first, fitting, plain in (
            ("ss_basic_ridge", "basic", SS),
            ("ss_backfit_ridge", "back-fitted", "ss_backfit"),
        )
        for other, title in (BASELINES | {plain: "the same without a ridge"}).items()
    ],
    "Equal numbers of basis functions": [
        ("equal_sizes", f"{first}_{share}", second.format(share), f"{int(share)}%: {title}")
        for first, second, title in (
            ("chosen", "random_{}", "chosen minus random, no ridge"),
            ("chosen_ridge", "random_ridge_{}", "chosen minus random, with a ridge"),
            ("chosen_ridge", "chosen_{}", "chosen: with a ridge minus without"),
            ("chosen_ridge", RLS, "chosen minus RankRLS"),
        )
        for share in ("05", "10", "20", "40")
    ],
    "Aggregation of M near-optimal solutions": [
        ("aggregation", f"{views}_{m}_{how}", second.format(m), f"M = {m}{title}: {how} minus mean")
        for views, second, title, cases in (
            ("points", "points_{}_mean", "", ((2, "borda"), (3, "median"), (3, "borda"))),
            ("points", "points_{}_mean", "", ((5, "median"), (5, "borda"))),
            (
                "loss",
                "loss_{}_mean",
                ", views split the loss",
                ((m, "weighted") for m in (2, 3, 5)),
            ),
        )
        for m, how in cases
    ]
    + [
        ("aggregation", f"points_{m}_mean", "points_2_mean", f"mean: M = {m} minus M = 2")
        for m in (3, 5)
    ],
}
COLUMNS = ("section", "question", "data", "first", "second", "users", "first_error")
COLUMNS += ("second_error", "difference", "low", "high", "first_share")


def runs() -> Iterator[tuple[str, Path, list[str]]]:
    """Yield the runs: name, config and overrides; weights of views need no second data set."""
    questions = dict.fromkeys(run for section in SECTIONS.values() for run, *_ in section)
    for data, run in product(DATA_TITLES, questions):
        if (data, run) == ("movielens", "aggregation"):
            continue
        kind, _, share = run.partition("scored_")
        overrides = [f"name={data}_{run}", f"data.name={data}"]
        overrides += [f"protocol.scored_share=0.{share}"] if share else []
        config = CONFIGS / "ablations" / f"{kind or 'scored_share'}.yaml"
        yield f"{data}_{run}", config, overrides


def users_of(folder: Path) -> pd.DataFrame:
    """Return errors and fractions of basis functions per test user, one column per algorithm."""
    users = load_results(folder).users.query("metric == 'disagreement'")
    users = users.assign(share=users["n_basis"] / users["n_points"])
    keys = ["group", "repeat", "user"]
    return users.pivot_table(index=keys, columns="algorithm", values=["error", "share"])


def answers(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the answer to every question, on each data set that was run."""
    read = cache(users_of)
    for section, questions in SECTIONS.items():
        for data, (run, first, second, title) in product(DATA_TITLES, questions):
            if not (folder / f"{data}_{run}").is_dir():
                continue
            users = read(folder / f"{data}_{run}")
            errors = users["error"][[first, second]].dropna()
            difference = compare(errors[first], errors[second])
            means = errors[first].mean(), errors[second].mean(), difference.mean
            share = users["share"][first].mean()
            answer = [section, title, data, first, second, len(errors), *means]
            yield dict(zip(COLUMNS, [*answer, *difference.interval, share], strict=True))


@click.command("ablations")
@click.argument("folder", type=click.Path(path_type=Path), default=RESULTS / "ablations")
def main(folder: Path) -> None:
    """Run the ablations, resuming earlier runs in FOLDER, and answer what they are for.

    Writes results/ablations.csv.
    """
    for _, config, overrides in runs():
        run_experiment(config, overrides=overrides, output=folder, n_jobs=-1, quiet=False)
    write_csv(RESULTS / "ablations.csv", pd.DataFrame(answers(folder)))
    write_pages()
