"""Fill the generated parts of the pages in `PAGES`: ``python scripts/pages.py``.

A part stands between ``<!-- NAME -->`` and ``<!-- end -->``. Its numbers come from the files under
``results/``; a test says so if a page is out of date.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd
from readme_parts import headline_of_both_tasks, times, verdicts

from rankpursuit.experiments.methods import METHODS
from rankpursuit.reporting.check import check_results
from rankpursuit.reporting.claims import Verdict, judge_claims
from rankpursuit.reporting.columns import markdown_columns
from rankpursuit.reporting.expected import load_expected
from rankpursuit.reporting.published import published_tables
from rankpursuit.reporting.results import Results, load_results
from rankpursuit.writing import write_atomically

ROOT = Path(__file__).parents[1]
EXPERIMENTS = {
    1: "jester_supervised",
    2: "jester_semi_supervised",
    3: "movielens_supervised",
    4: "movielens_semi_supervised",
    5: "jester_crrp",
}
PAGES = tuple(ROOT / name for name in ("README.md", "results/README.md", "results/ablations.md"))
INFERRED = ROOT / "results" / "inferred"


@cache
def runs(folder: Path = ROOT / "results") -> dict[int, Results]:
    """Return the committed runs in a folder by the number of their table."""
    folders = {number: folder / name for number, name in EXPERIMENTS.items()}
    return {number: load_results(path) for number, path in folders.items() if path.is_dir()}


def commands() -> str:
    """Return the command and the time of each run."""
    rows = [
        [
            f"[{place}{run.name}]({place}{run.name}/tables.md)",
            number,
            f"`rp-run configs/{place}{run.name}.yaml{output}`",
            f"{run.provenance['seconds'] / 60:.0f} min" if not place else "",
            run.provenance["commit"],
        ]
        for place, output, of in (
            ("", "", runs()),
            ("inferred/", " --output results/inferred", runs(INFERRED)),
        )
        for number, run in of.items()
    ]
    headers = ["results", "table of the paper", "command", "time on 2 cores", "commit"]
    return markdown_columns(headers, rows, "lrlrl")


def claims() -> str:
    """Return the verdict on each claim, with the text's set-up and with the inferred one."""
    inferred = runs(INFERRED)
    judged = [judge_claims(list(of.values())) for of in (runs(), runs() | inferred)]
    rows = []
    for of_text, of_inferred in zip(*judged, strict=True):
        row = [str(of_text.claim), *_verdict(of_text)]
        concerned = inferred.keys() & set(of_text.claim.tables)
        rows.append([*row, *(_verdict(of_inferred) if concerned else ("", ""))])
    headers = ["the paper says", "as the text has it", "mean difference"]
    headers += ["as inferred", "mean difference"]
    return markdown_columns(headers, rows, "l" * len(headers))


def _verdict(judged: Verdict) -> tuple[str, str]:
    share = judged.reason.removesuffix(" comparisons agree").replace(" of ", "/")
    return f"{judged.outcome}, {share}", judged.size


def fits() -> str:
    """Return chi-squares of the text's set-up and of those that fit best, from inference.csv."""
    setups = pd.read_csv(ROOT / "results" / "inference.csv")
    rows = []
    for data, title in (("jester", "Jester"), ("movielens", "MovieLens")):
        here = setups[setups["data"] == data]
        keys = ["reference_users", "holdout", "power", "shared", "size"]
        tables = list(dict.fromkeys(here["table"]))
        chi = here.pivot_table(index=keys, columns="table", values="chi_square", dropna=False)
        default = here[
            (here["holdout"] == 0)
            & here["power"].isna()
            & ~here["shared"]
            & (here["size"] == "holdout")
        ]
        by_number = default.pivot_table(
            index="reference_users", columns="table", values="chi_square"
        )
        fitted = by_number[tables[0]].idxmin()
        cells = here.drop_duplicates("table").set_index("table")["cells"]
        best = chi[tables[0]].idxmin()
        for words, number, values in (
            ("the text's set-up", by_number.index.max(), by_number.loc[by_number.index.max()]),
            ("the best number of reference users", fitted, by_number.loc[fitted]),
            (f"the best of {len(chi)} set-ups", best[0], chi.loc[best]),
        ):
            there = [t for t in tables if pd.notna(values[t])]
            shown = "; ".join(f"Table {t}: {values[t] / cells[t]:.1f}" for t in there)
            rows.append([title, words, int(number), shown])
    headers = [
        "data",
        "set-up",
        "reference users",
        "chi² per cell, the table that was fitted first",
    ]
    return markdown_columns(headers, rows, "llrl")


def cells() -> str:
    """Return for each table how many cells are within tolerance, and the mean deviation."""
    expected = load_expected()
    rows = []
    for setup, of in (("the text's", runs()), ("inferred", runs(INFERRED))):
        checked = check_results(list(of.values()), expected).cells
        for number, run in of.items():
            for metric in run.metrics:
                off = [
                    (one.measured or 0.0) - one.published
                    for one in checked
                    if (one.cell.table, one.cell.metric) == (number, metric)
                ]
                tolerance = expected.tolerances[number, metric]
                rows.append(
                    [
                        setup,
                        number,
                        metric.replace("_", " "),
                        f"± {tolerance:g}",
                        f"{sum(abs(x) <= tolerance + 1e-9 for x in off)} of {len(off)}",
                        f"{sum(off) / len(off):+.3f}",
                        f"{sum(map(abs, off)) / len(off):.3f}",
                    ]
                )
    headers = ["set-up", "table", "error", "tolerance", "cells within"]
    headers += ["mean deviation", "mean size of it"]
    return markdown_columns(headers, rows, "lrlrrrr")


def headline() -> str:
    """Return the mean error over the three groups of each method and experiment."""
    columns = {number: run for number, run in runs().items() if number != 5}
    rows = []
    for label, title in ((name, method.title) for name, method in METHODS.items()):
        row = [title]
        for number, run in columns.items():
            rows_of = run.repeats[run.repeats["algorithm"] == label]
            published = published_tables()[number].cells["disagreement"].get(label, {})
            if rows_of.empty:
                row.append("")
                continue
            mean = sum(published.values()) / len(published)
            row.append(f"{rows_of['test_error'].mean():.3f} ({mean:.3f})")
        if any(row[1:]):
            rows.append(row)
    headers = ["", *(published_tables()[number].title for number in columns)]
    return markdown_columns(headers, rows, "l" + "r" * len(columns))


def stopping() -> str:
    """Return how sparse ranking pursuit is, and its error, if it may stop a little early."""
    rows = []
    for slack in (0.0, 0.001, 0.0025, 0.005, 0.01):
        row = [f"within {slack:.2%} of the lowest" if slack else "the lowest hold-out error"]
        for number in (1, 3):
            curves = runs()[number].curves
            curves = curves.query("algorithm == 'ranking_pursuit' and axis == 'n_basis'")
            found = []
            for _, curve in curves.groupby(["group", "repeat"]):
                enough = curve["holdout_error"] <= (1 + slack) * curve["holdout_error"].min()
                found.append(curve[enough].iloc[0][["value", "test_error"]].astype(float))
            share, error = sum(found) / len(found)
            row += [f"{share - 1:+.0%}", f"{error:.4f}"]
        rows.append(row)
    headers = ["stop at the first P with", "Jester", "error", "MovieLens", "error"]
    return markdown_columns(headers, rows, "lrrrr")


def equal_sizes() -> str:
    """Return the test errors of chosen and of random basis functions at the same number of them."""
    rows = []
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        row = [f"{share:.0%}"]
        for number in (1, 3):
            curves = runs()[number].curves
            at = curves[(curves["axis"] == "n_basis") & ((curves["value"] - share).abs() < 1e-9)]
            means = at.groupby("algorithm")["test_error"].mean()
            row += [f"{means[label]:.3f}" for label in ("ranking_pursuit", "sparse_rank_rls")]
        rows.append(row)
    headers = ["basis functions", "Jester: chosen", "random", "MovieLens: chosen", "random"]
    return markdown_columns(headers, rows, "rrrrr")


PARTS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "claims": claims,
    "fits": fits,
    "cells": cells,
    "headline": headline,
    "stopping": stopping,
    "equal-sizes": equal_sizes,
    "times": lambda: times(runs()),
    "verdicts": lambda: verdicts(runs()),
    "headline-5": lambda: headline_of_both_tasks(runs()),
}


def with_part(text: str, name: str, content: str) -> str:
    """Return a page with one of its generated parts replaced."""
    part = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", flags=re.DOTALL)
    return part.sub(lambda found: f"{found[1]}{content}\n{found[2]}", text)


def write_part(page: Path, name: str, content: str) -> None:
    """Replace a generated part of a page, whose numbers come from runs that are not kept."""
    text = page.read_text(encoding="utf-8")
    write_atomically(page, with_part(text, name, content).encode())
    print(f"wrote {page}")


def filled(text: str) -> str:
    """Return a page with the parts made anew that come from committed results."""
    for name, make in PARTS.items():
        if f"<!-- {name} -->" in text:
            text = with_part(text, name, make())
    return text


def main() -> None:
    """Write the pages."""
    for page in PAGES:
        write_atomically(page, filled(page.read_text(encoding="utf-8")).encode())
        print(f"wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
