"""Fill the generated parts of the pages in `PAGES`: ``python scripts/pages.py``.

A part stands between ``<!-- NAME -->`` and ``<!-- end -->``. Its numbers come from the files under
``results/``; a test says so if a page is out of date.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import get_args

import pandas as pd
import yaml

from rankpursuit.experiments.methods import METHODS, METRICS
from rankpursuit.experiments.names import shipped_experiments
from rankpursuit.reporting.check import check_results, load_expectations
from rankpursuit.reporting.claims import Outcome, Verdict, judge_claims
from rankpursuit.reporting.published import is_within, published_tables, published_tolerance
from rankpursuit.reporting.render import markdown_columns
from rankpursuit.reporting.results import Results, load_results
from rankpursuit.text import duration
from rankpursuit.writing import write_atomically

ROOT = Path(__file__).parents[1]
EXPERIMENTS = {
    1: "jester_supervised",
    2: "jester_semi_supervised",
    3: "movielens_supervised",
    4: "movielens_semi_supervised",
    5: "jester_crrp",
}
REFERENCE = ROOT / "results" / "reference"
INFERRED = REFERENCE / "inferred"
LOG = REFERENCE / "log.yaml"
NAMES = ("README.md", "results/README.md", "results/ablations.md", "results/reference/README.md")
PAGES = tuple(ROOT / name for name in NAMES)


@cache
def runs(folder: Path = REFERENCE) -> dict[int, Results]:
    """Return the committed runs in a folder by the number of their table."""
    folders = {number: folder / name for number, name in EXPERIMENTS.items()}
    return {number: load_results(path) for number, path in folders.items() if path.is_dir()}


def matrix() -> str:
    """Return a row for each table of the reference: command, agreement, verdicts, provenance."""
    rows = []
    for folder, place in ((REFERENCE, ""), (INFERRED, "inferred/")):
        check = check_results(folder, load_expectations(ROOT / "configs" / place / "expected"))
        for number, run in runs(folder).items():
            cells = check.cells[check.cells["table"] == number]
            counts = check.claims.loc[check.claims["table"] == number, "verdict"].value_counts()
            versions = run.provenance["packages"]
            row = [
                f"[{number}]({place}{run.name}/tables.md)" + ", inferred" * bool(place),
                f"`rp-run configs/{place}{run.name}.yaml`",
                f"{(cells['status'] == 'within tolerance').sum()} of {len(cells)}",
                ", ".join(f"{counts[x]} {x}" for x in get_args(Outcome) if x in counts),
                duration(run.provenance["seconds"]),
                run.provenance["commit"],
                ", ".join(f"{name} {versions[name]}" for name in ("numpy", "scipy")),
            ]
            rows.append(row)
    headers = ["table", "command", "cells within tolerance", "claims of the paper"]
    return markdown_columns([*headers, "time", "commit", "versions"], rows, "llrlrll")


def log() -> str:
    """Return when and why numbers of the reference moved."""
    entries = yaml.safe_load(LOG.read_text(encoding="utf-8"))
    rows = [[one["date"], one["commit"], " ".join(one["why"].split())] for one in entries]
    return markdown_columns(["date", "commit", "what moved and why"], rows, "lll")


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
        default = here.query("holdout == 0 and power.isna() and not shared and size == 'holdout'")
        by_number = default.pivot(index="reference_users", columns="table", values="chi_square")
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
    headers = ["data", "set-up", "reference users"]
    headers += ["chi² per cell, the table that was fitted first"]
    return markdown_columns(headers, rows, "llrl")


def cells() -> str:
    """Return for each table how many distinct cells are within tolerance, and how far off."""
    expectations = load_expectations(ROOT / "configs" / "expected")
    rows = []
    for setup, folder in (("the text's", REFERENCE), ("inferred", INFERRED)):
        found = {number: one for number, one in expectations.items() if number in runs(folder)}
        checked = check_results(folder, found).cells
        for (number, metric), cells_of in checked.groupby(["table", "metric"]):
            off = cells_of["measured"] - cells_of["published"]
            tolerance = published_tolerance(metric)
            within = f"{is_within(off, tolerance).sum()} of {len(off)}"
            row = [setup, number, metric.replace("_", " "), f"± {tolerance:g}", within]
            rows.append([*row, f"{off.mean():+.3f}", f"{off.abs().mean():.3f}"])
        near = is_within(
            checked["measured"] - checked["published"],
            checked["metric"].map(published_tolerance),
        )
        rows.append([setup, "all", "", "", f"{near.sum()} of {len(near)}", "", ""])
    headers = ["set-up", "table", "error", "tolerance", "distinct cells within"]
    headers += ["mean deviation", "mean size of it"]
    return markdown_columns(headers, rows, "lrlrrrr")


def headline() -> str:
    """Return the mean error over the three groups of each method and experiment."""
    columns = {number: run for number, run in runs().items() if number != 5}
    rows = []
    for label, method in METHODS.items():
        row = [method.title + ", baseline, not in the paper" * method.baseline]
        for number, run in columns.items():
            rows_of = run.repeats[run.repeats["algorithm"] == label]
            published = published_tables()[number].cells["disagreement"].get(label, {})
            if rows_of.empty:
                row.append("")
                continue
            known = f" ({sum(published.values()) / len(published):.3f})" if published else ""
            row.append(f"{rows_of['test_error'].mean():.3f}{known}")
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


def times() -> str:
    """Return what each experiment is called, what it runs and how long that took."""
    of_name = {run.name: (number, run) for number, run in runs().items()}
    rows = []
    for name in shipped_experiments():
        if name in of_name:
            number, run = of_name[name]
            title = published_tables()[number].full_title
            cores = run.provenance["machine"]["cores"]
            rows.append(
                [f"`{name}`", title, f"{duration(run.provenance['seconds'])} on {cores} cores"]
            )
    return markdown_columns(["experiment", "what it is", "time"], rows, "llr")


def headline_of_both_tasks() -> str:
    """Return the mean errors over the groups of Table 5, at ranking and at regression."""
    run, published = runs()[5], published_tables()[5].cells
    measured = run.repeats.groupby(["algorithm", "metric"])["test_error"].mean()
    rows = []
    for label, title in run.algorithms.items():
        row = [title + ", baseline, not in the paper" * (label in run.baselines)]
        for metric in run.metrics:
            digits, figures = METRICS[metric].decimals, published[metric].get(label, {}).values()
            known = f" ({sum(figures) / len(figures):.{digits}f})" if figures else ""
            row.append(f"{measured[label, metric]:.{digits}f}{known}")
        rows.append(row)
    headers = ["", *(METRICS[metric].title for metric in run.metrics)]
    return markdown_columns(headers, rows, "l" + "r" * len(run.metrics))


def verdicts() -> str:
    """Return how many claims of the paper have each verdict, and what they say."""
    judged = judge_claims(list(runs().values()))
    found = {
        outcome: [one.claim for one in judged if one.outcome == outcome]
        for outcome in get_args(Outcome)
        if any(one.outcome == outcome for one in judged)
    }
    counts = ", ".join(f"{outcome}: {len(claims)}" for outcome, claims in found.items())
    lines = [f"**Of the paper's {len(judged)} claims about these tables: {counts}.**"]
    for outcome, claims in found.items():
        lines += ["", f"<details><summary>{outcome.capitalize()}</summary>", ""]
        lines += [f"- {claim}" for claim in claims]
        lines += ["", "</details>"]
    return "\n".join(lines)


MAKERS = (matrix, log, claims, fits, cells, headline, stopping, equal_sizes, times, verdicts)
PARTS: dict[str, Callable[[], str]] = {make.__name__.replace("_", "-"): make for make in MAKERS}
PARTS["headline-5"] = headline_of_both_tasks


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
