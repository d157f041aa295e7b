"""Fill the generated parts of the pages in `PAGES`: ``python scripts/pages.py``.

A part stands between ``<!-- NAME -->`` and ``<!-- end -->``. Its numbers come from the files under
``results/``; a test says so if a page is out of date.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import pandas as pd
import yaml
from benchmarks.harness import save_figure
from matplotlib.figure import Figure

from rankpursuit.experiments.methods import METHODS
from rankpursuit.reporting.check import check_results, load_expectations
from rankpursuit.reporting.claims import (
    Outcome,
    Verdict,
    is_within,
    judge_claims,
    published_tables,
    published_tolerance,
)
from rankpursuit.reporting.figures import INK, WIDTH, figure_style
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
                ", ".join(f"{x}: {counts[x]}" for x in get_args(Outcome) if x in counts),
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


def _setups() -> dict[str, dict[int, Results]]:
    """Return the runs of each set-up; tables that the inferred one leaves alone are the text's."""
    return {"the text's set-up": runs(), "the inferred set-up": runs() | runs(INFERRED)}


def story() -> str:
    """Return how much reproduces in each set-up, and how good the mean rating is."""
    lines = []
    for setup, found in _setups().items():
        off = [
            is_within(measured - published, published_tolerance(metric))
            for metric, _, _, measured, published in _each_cell(found)
        ]
        outcomes = Counter(one.outcome for one in judge_claims(list(found.values())))
        claims = (
            f"{outcomes['holds']} of {outcomes.total()} claims hold ({outcomes['partly']} partly)"
        )
        line = f"- **With {setup}** {sum(off)} of {len(off)} published figures are within tolerance"
        lines.append(f"{line}, and {claims}.")
    means = {number: _mean_errors(run) for number, run in runs().items()}
    parts = []
    for data, number in (("MovieLens", 3), ("Jester", 1)):
        best = means[number].drop(list(runs()[number].baselines)).min()
        parts.append(f"{means[number]['mean_rating']:.3f} on {data} (best method: {best:.3f})")
    lines.append(
        "- **A baseline without learning**, the mean rating of an item over the reference users "
        f"who rated it, has an error of {' and '.join(parts)}. It never sees the user's scores."
    )
    return "\n".join(lines)


def _each_cell(found: dict[int, Results]) -> Iterator[tuple[str, str, str, float, float]]:
    """Yield metric, algorithm, group, measured and published error of each distinct cell."""
    for number, run in found.items():
        measured = run.repeats.groupby(["metric", "algorithm", "group"])["test_error"].mean()
        for metric, label, group, published in published_tables()[number].each_cell():
            yield metric, label, group, float(measured[metric, label, group]), published


def _mean_errors(run: Results) -> pd.Series:
    """Return the mean disagreement error of each algorithm over the groups."""
    rows = run.repeats[run.repeats["metric"] == "disagreement"]
    return rows.groupby("algorithm")["test_error"].mean()


def baselines() -> str:
    """Return the errors of the baselines and of the best method, group by group."""
    rows = []
    for number, run in ((number, run) for number, run in runs().items() if number != 5):
        means = run.repeats.groupby(["algorithm", "group"])["test_error"].mean().unstack()
        best = means.drop(list(run.baselines)).mean(axis=1).idxmin()
        for label in (*run.baselines, best):
            title = run.algorithms[label] + ", the best of the paper's methods" * (label == best)
            errors = [f"{means.loc[label, group]:.3f}" for group in run.groups]
            rows.append([published_tables()[number].title, title, *errors])
    return markdown_columns(["experiment", "", *run.groups], rows, "llrrr")


def draw_published(path: Path) -> None:
    """Draw every measured disagreement error against the published one, in both set-ups."""
    styles = [{"fc": "none", "ec": "#6f7782"}, {"fc": "#d1500a", "ec": "#d1500a", "alpha": 0.75}]
    with figure_style():
        figure = Figure(figsize=(WIDTH, 4.2))
        panels = {"Jester": (1, 2, 5), "MovieLens": (3, 4)}
        for axes, (title, numbers) in zip(figure.subplots(1, 2), panels.items(), strict=True):
            for (setup, found), style in zip(_setups().items(), styles, strict=True):
                cells = [
                    (published, measured)
                    for metric, *_, measured, published in _each_cell(
                        {n: found[n] for n in numbers}
                    )
                    if metric == "disagreement"
                ]
                axes.scatter(*zip(*cells, strict=True), s=28, label=setup, lw=1.1, **style)
            baseline = _mean_errors(runs()[numbers[0]])["mean_rating"]
            axes.axhline(
                baseline, color="#00906a", ls="--", lw=1.2, label="mean rating, no learning"
            )
            low, high = axes.get_xlim()
            axes.axline((low, low), slope=1, color=INK, lw=0.8, label="as published")
            axes.set(title=title, xlabel="published error", xlim=(low, high))
        figure.axes[0].set_ylabel("measured error")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        save_figure(figure, path)


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


MAKERS = (matrix, log, claims, story, baselines, cells, headline, stopping, equal_sizes)
PARTS: dict[str, Callable[[], str]] = {make.__name__.replace("_", "-"): make for make in MAKERS}


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
    draw_published(ROOT / "results" / "published.svg")


if __name__ == "__main__":
    main()
