"""Tell what the ablations found: ``python scripts/ablations.py``.

Reads what ``make ablations`` ran into ``results/ablations/``. Every difference is of two algorithms
on the same test users, with a 95% bootstrap interval. Writes ``results/ablations.md``, ``.csv`` and
``basis_functions.svg``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pages import ROOT, write_part
from study_figures import draw_basis_functions

from rankpursuit.experiments.export import RunFolder
from rankpursuit.reporting.columns import markdown_columns
from rankpursuit.reporting.published import small_difference
from rankpursuit.reporting.results import load_results
from rankpursuit.reporting.statistics import compare
from rankpursuit.reporting.tables import signed
from rankpursuit.writing import write_atomically

RUNS = ROOT / "results" / "ablations"
TITLES = {"jester": "Jester", "movielens": "MovieLens"}
SHARES = ("05", "10", "20", "40")
RP, SS, RLS = "ranking_pursuit", "semi_supervised_ranking_pursuit", "rank_rls"


@dataclass(frozen=True)
class Question:
    """A difference: in which run, of what minus what, and what it answers."""

    run: str
    first: str
    second: str
    title: str


SECTIONS: dict[str, list[Question]] = {
    "What the gain of SS ranking pursuit over ranking pursuit is made of": [
        Question("gain", SS, RP, "SS ranking pursuit minus ranking pursuit"),
        Question(
            "gain", "halves", RP, "mean of two halves of the dictionary minus ranking pursuit"
        ),
        Question("gain", "no_agreement", RP, "SS with nu = 0 minus ranking pursuit"),
        Question("gain", SS, "no_agreement", "SS minus the same with nu = 0: what agreement adds"),
        Question("gain", SS, "scored_agreement", "SS minus agreement on scored points only"),
        Question("gain", SS, "scored_dictionary", "SS minus functions on scored points only"),
        Question("gain", SS, RLS, "SS minus RankRLS"),
    ],
    "Where unscored points pay, by the scored share of the training items": [
        Question(f"scored_{share}", first, second, f"{int(share)}%: {title}")
        for share in ("05", "10", "20", "50")
        for first, second, title in (
            (SS, RP, "SS minus ranking pursuit"),
            (SS, "no_agreement", "SS minus nu = 0"),
            ("ss_ridge", "ranking_pursuit_ridge", "with ridges: SS minus ranking pursuit"),
            ("ranking_pursuit_ridge", SS, "ranking pursuit with a ridge minus SS"),
        )
    ],
    "Ranking pursuit with a ridge, supervised": [
        Question("ridge", RP, RLS, "basic, no ridge, minus RankRLS"),
        Question("ridge", "ranking_pursuit_ridge", RLS, "basic, ridge, minus RankRLS"),
        Question("ridge", "backfit", RLS, "back-fitted, no ridge, minus RankRLS"),
        Question("ridge", "backfit_ridge", RLS, "back-fitted, ridge, minus RankRLS"),
        Question("ridge", "prefit", RLS, "pre-fitted, no ridge, minus RankRLS"),
        Question("ridge", "prefit_ridge", RLS, "pre-fitted, ridge, minus RankRLS"),
        Question("ridge", "backfit_ridge", "rank_svm", "back-fitted, ridge, minus RankSVM"),
    ],
    "SS ranking pursuit with a ridge against every baseline": [
        Question("ridge_semi_supervised", first, other, f"{fitting}, minus {title}")
        for first, fitting, plain in (
            ("ss_basic_ridge", "basic", SS),
            ("ss_backfit_ridge", "back-fitted", "ss_backfit"),
        )
        for other, title in (
            ("rls", "RLS"),
            ("kernel_matching_pursuit", "matching pursuit"),
            ("rank_svm", "RankSVM"),
            (RLS, "RankRLS"),
            ("sparse_rank_rls", "sparse RankRLS"),
            (RP, "ranking pursuit"),
            ("backfit_ridge", "ranking pursuit back-fitted with a ridge"),
            (plain, "the same without a ridge"),
        )
    ],
    "Equal numbers of basis functions": [
        Question("equal_sizes", f"{first}_{share}", f"{second}_{share}", f"{int(share)}%: {title}")
        for share in SHARES
        for first, second, title in (
            ("chosen", "random", "chosen minus random, no ridge"),
            ("chosen_ridge", "random_ridge", "chosen minus random, with a ridge"),
            ("chosen_ridge", "chosen", "chosen: with a ridge minus without"),
        )
    ]
    + [
        Question(
            "equal_sizes", f"chosen_ridge_{share}", RLS, f"{int(share)}%: chosen minus RankRLS"
        )
        for share in SHARES
    ],
    "Aggregation of M near-optimal solutions": [
        Question(
            "aggregation", f"points_{m}_{how}", f"points_{m}_mean", f"M = {m}: {how} minus mean"
        )
        for m, how in ((2, "borda"), (3, "median"), (3, "borda"), (5, "median"), (5, "borda"))
    ]
    + [
        Question(
            "aggregation",
            f"loss_{m}_weighted",
            f"loss_{m}_mean",
            f"M = {m}, views split the loss: weighted minus mean",
        )
        for m in (2, 3, 5)
    ]
    + [
        Question("aggregation", f"points_{m}_mean", "points_2_mean", f"mean: M = {m} minus M = 2")
        for m in (3, 5)
    ],
}


def users_of(folder: Path) -> pd.DataFrame | None:
    """Return errors and shares of basis functions of the test users, a column an algorithm."""
    if not RunFolder(folder).has_results:
        return None
    users = load_results(folder).users.query("metric == 'disagreement'")
    users = users.assign(share=users["n_basis"] / users["n_points"])
    return users.pivot_table(
        index=["group", "repeat", "user"], columns="algorithm", values=["error", "share"]
    )


def answers(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the answer to every question, on each data set that was run."""
    for section, questions in SECTIONS.items():
        for data in TITLES:
            for question in questions:
                users = _cached(folder / f"{data}_{question.run}")
                if users is None:
                    continue
                errors = users["error"][[question.first, question.second]].dropna()
                found = compare(errors[question.first], errors[question.second])
                low, high = found.interval
                yield {
                    "section": section,
                    "question": question.title,
                    "data": data,
                    "first": question.first,
                    "second": question.second,
                    "users": len(errors),
                    "first_error": errors[question.first].mean(),
                    "second_error": errors[question.second].mean(),
                    "difference": found.mean,
                    "low": low,
                    "high": high,
                    "first_share": users["share"][question.first].mean(),
                }


_FRAMES: dict[Path, pd.DataFrame | None] = {}


def _cached(folder: Path) -> pd.DataFrame | None:
    if folder not in _FRAMES:
        _FRAMES[folder] = users_of(folder)
    return _FRAMES[folder]


def to_markdown(found: pd.DataFrame) -> str:
    """Return a table for each section, with differences beyond chance marked, or called small."""
    parts = []
    for section, rows in found.groupby("section", sort=False):
        data_sets = [data for data in TITLES if data in set(rows["data"])]
        lines = []
        for question in dict.fromkeys(rows["question"]):
            line = [question]
            for data in data_sets:
                here = rows[(rows["question"] == question) & (rows["data"] == data)]
                line += _cells(here.iloc[0]) if len(here) else ["", ""]
            lines.append(line)
        headers = ["error of"]
        for data in data_sets:
            headers += [f"{TITLES[data]}: difference", "functions"]
        n_users = ", ".join(
            f"{TITLES[data]} {rows.loc[rows['data'] == data, 'users'].max()}" for data in data_sets
        )
        table = markdown_columns(headers, lines, "l" + "rr" * len(data_sets))
        parts.append(f"### {section}\n\n{table}\n\nTest users: {n_users}.")
    return "\n\n".join(parts)


def _cells(row: pd.Series) -> list[str]:
    text = f"{signed(row['difference'], 4)} ({signed(row['low'], 4)} to {signed(row['high'], 4)})"
    if row["low"] > 0 or row["high"] < 0:
        small = abs(row["difference"]) < small_difference("disagreement")
        text = f"{text}, small" if small else f"**{text}**"
    return [text, f"{row['first_share']:.0%}"]


def not_run(folder: Path) -> str:
    """Return which configs have no results yet, in a sentence."""
    names = sorted(path.stem for path in (ROOT / "configs" / "ablations").glob("*.yaml"))
    absent = [name for name in names if not RunFolder(folder / name).has_results]
    return f"Not run yet: {', '.join(absent)}." if absent else ""


def basis_curves(folder: Path) -> tuple[dict[str, Any], dict[str, float]]:
    """Return errors at equal numbers of basis functions, and those of RankRLS, by data set."""
    curves, level = {}, {}
    for data, title in TITLES.items():
        users = _cached(folder / f"{data}_equal_sizes")
        if users is not None:
            means = users["error"].mean()
            curves[title] = {
                f"{way}, {'ridge' if ridge else 'no ridge'}": {
                    int(share) / 100: means[f"{way}{ridge}_{share}"] for share in SHARES
                }
                for way in ("chosen", "random")
                for ridge in ("", "_ridge")
            }
            level[title] = means[RLS]
    return curves, level


def main() -> None:
    """Write the table and the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=RUNS, help="default: %(default)s")
    folder = parser.parse_args().folder
    found = pd.DataFrame(answers(folder))
    if found.empty:
        raise SystemExit(f"{folder}: no complete runs; make ablations")
    text = "\n\n".join(filter(None, [to_markdown(found), not_run(folder)]))
    print(text)
    write_part(ROOT / "results" / "ablations.md", "ablations", text)
    csv = found.to_csv(index=False, float_format="%.6g")
    write_atomically(ROOT / "results" / "ablations.csv", csv.encode())
    curves, level = basis_curves(folder)
    if curves:
        draw_basis_functions(ROOT / "results" / "basis_functions.svg", curves, level)


if __name__ == "__main__":
    main()
