"""Fill the generated parts of README.md and results/README.md: ``python scripts/pages.py``.

A part stands between ``<!-- NAME -->`` and ``<!-- end -->``. Its numbers come from the files under
``results/``; a test says so if a page is out of date.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from readme_parts import headline_of_both_tasks, times, verdicts

from rankpursuit.experiments.catalogue import METHODS
from rankpursuit.reporting.check import check_results
from rankpursuit.reporting.claims import claims_table, judge_claims
from rankpursuit.reporting.columns import markdown_columns
from rankpursuit.reporting.expected import load_expected
from rankpursuit.reporting.published import published_tables
from rankpursuit.reporting.render import to_markdown
from rankpursuit.reporting.results import Results, load_results
from rankpursuit.reporting.tables import error_table, sparsity_table
from rankpursuit.writing import write_atomically

ROOT = Path(__file__).parents[1]
EXPERIMENTS = {
    1: "jester_supervised",
    2: "jester_semi_supervised",
    3: "movielens_supervised",
    4: "movielens_semi_supervised",
    5: "jester_crrp",
}
PAGES = (ROOT / "README.md", ROOT / "results" / "README.md")


@cache
def runs() -> dict[int, Results]:
    """Return the committed runs by the number of their table."""
    folders = {number: ROOT / "results" / name for number, name in EXPERIMENTS.items()}
    return {number: load_results(folder) for number, folder in folders.items() if folder.is_dir()}


def commands() -> str:
    """Return the command and the time of each run."""
    rows = [
        [
            f"[{run.name}]({run.name}/tables.md)",
            number,
            f"`rp-run configs/{run.name}.yaml`",
            f"{run.provenance['seconds'] / 60:.0f} min",
            run.provenance["commit"],
        ]
        for number, run in runs().items()
    ]
    headers = ["results", "table of the paper", "command", "time on 2 cores", "commit"]
    return markdown_columns(headers, rows, "lrlrl")


def table(number: int) -> str:
    """Return the errors of a table beside the published ones, and how sparse the solutions are."""
    run = runs()[number]
    return to_markdown([error_table(run, compare=True), sparsity_table(run)]).strip()


def claims() -> str:
    """Return the verdict on each claim."""
    return to_markdown([claims_table(judge_claims(list(runs().values())))]).strip()


def cells() -> str:
    """Return for each table how many cells are within tolerance, and the mean deviation."""
    checked = check_results(list(runs().values()), load_expected()).cells
    rows = []
    for number, run in runs().items():
        for metric in run.metrics:
            here = [one for one in checked if (one.cell.table, one.cell.metric) == (number, metric)]
            tolerance = load_expected().tolerances[number, metric]
            off = [(one.measured or 0.0) - one.published for one in here]
            rows.append(
                [
                    number,
                    metric.replace("_", " "),
                    f"± {tolerance:g}",
                    f"{sum(abs(x) <= tolerance + 1e-9 for x in off)} of {len(off)}",
                    f"{sum(off) / len(off):+.3f}",
                    f"{sum(map(abs, off)) / len(off):.3f}",
                ]
            )
    headers = ["table", "error", "tolerance", "cells within", "mean deviation", "mean size of it"]
    return markdown_columns(headers, rows, "rlrrrr")


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


def readings() -> str:
    """Return the table of readings, as ``scripts/readings.py`` wrote it."""
    return (ROOT / "results" / "readings.md").read_text(encoding="utf-8").strip()


PARTS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "claims": claims,
    "cells": cells,
    "headline": headline,
    "readings": readings,
    "stopping": stopping,
    "equal-sizes": equal_sizes,
    "times": lambda: times(runs()),
    "verdicts": lambda: verdicts(runs()),
    "headline-5": lambda: headline_of_both_tasks(runs()),
    **{f"table-{number}": lambda number=number: table(number) for number in range(1, 6)},
}


_PART = re.compile(
    rf"(?<=<!-- )(?P<name>{'|'.join(PARTS)}) -->\n.*?(?=<!-- end -->)", flags=re.DOTALL
)


def filled(text: str) -> str:
    """Return a page with its generated parts made anew."""
    return _PART.sub(lambda part: f"{part['name']} -->\n{PARTS[part['name']]()}\n", text)


def main() -> None:
    """Write the pages."""
    for page in PAGES:
        write_atomically(page, filled(page.read_text(encoding="utf-8")).encode())
        print(f"wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
