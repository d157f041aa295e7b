"""Fill the generated parts of the pages in `PAGES`: ``python scripts/pages.py``.

A part stands between ``<!-- NAME -->`` and ``<!-- end -->``. Its numbers come from the files under
``results/``; a test fails if a page is out of date. Studies and benchmarks write their parts,
tables and figures with the functions at the end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from statistics import mean
from typing import get_args

import pandas as pd
import yaml
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rankpursuit.experiments.methods import METHODS, METRICS
from rankpursuit.reporting.claims import (
    Outcome,
    Verdict,
    judge_claims,
    published_tables,
    published_tolerance,
)
from rankpursuit.reporting.figures import INK, figure_style
from rankpursuit.reporting.render import markdown_columns
from rankpursuit.reporting.results import Results, load_results
from rankpursuit.reporting.tables import published_cells
from rankpursuit.text import duration
from rankpursuit.writing import replacing, write_atomically

ROOT = Path(__file__).parents[1]
EXPERIMENTS = {
    1: "jester_supervised",
    2: "jester_semi_supervised",
    3: "movielens_supervised",
    4: "movielens_semi_supervised",
    5: "jester_crrp",
}
DATA_TITLES = {"jester": "Jester", "movielens": "MovieLens"}
RESULTS = ROOT / "results"
REFERENCE = RESULTS / "reference"
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
        verdicts = [one for one in judge_claims(list(runs(folder).values())) if not one.absent]
        for number, run in runs(folder).items():
            outcomes = Counter(one.outcome for one in verdicts if one.claim.tables[-1] == number)
            versions = run.provenance["packages"]
            row = [
                f"[{number}]({place}{run.name}/tables.md)" + ", inferred" * bool(place),
                f"`rp-run configs/{place}{run.name}.yaml`",
                _count_within(published_cells(run)),
                ", ".join(f"{x}: {outcomes[x]}" for x in get_args(Outcome) if x in outcomes),
                duration(run.provenance["seconds"]),
                run.provenance["commit"],
                ", ".join(f"{name} {versions[name]}" for name in ("numpy", "scipy")),
            ]
            rows.append(row)
    headers = ["table", "command", "cells within tolerance", "claims of the paper"]
    return markdown_columns([*headers, "time", "commit", "versions"], rows, "llrlrll")


def _count_within(cells: pd.DataFrame) -> str:
    return f"{cells['within'].sum()} of {len(cells)}"


def _cells(found: Iterable[Results]) -> pd.DataFrame:
    """Return the published cells of several runs next to the measured ones."""
    return pd.concat([published_cells(run) for run in found])


def log() -> str:
    """Return when and why numbers of the reference moved."""
    entries = yaml.safe_load(LOG.read_text(encoding="utf-8"))
    rows = [[one["date"], one["commit"], " ".join(one["why"].split())] for one in entries]
    return markdown_columns(["date", "commit", "what moved and why"], rows, "lll")


def claims() -> str:
    """Return the verdict on each claim in words, with the text's set-up and the inferred one."""
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
    return f"{judged.outcome}, {share}. {judged.sentence}", judged.size


def _setups() -> dict[str, dict[int, Results]]:
    """Return the runs of each set-up; the text's fill in for tables without an inferred run."""
    return {"the text's set-up": runs(), "the inferred set-up": runs() | runs(INFERRED)}


def story() -> str:
    """Return how much reproduces, the central claim in words, and how good the mean rating is."""
    lines, central = [], []
    for setup, found in _setups().items():
        verdicts = judge_claims(list(found.values()))
        outcomes = Counter(one.outcome for one in verdicts)
        central += [
            f"  - *Table {one.claim.tables[0]}, {setup} ({one.outcome}):* {one.sentence}"
            for one in verdicts
            if one.claim.id.endswith("-semi-supervised-best")
        ]
        lines.append(
            f"- **With {setup}** {_count_within(_cells(found.values()))} published figures are "
            f"within tolerance, and {outcomes['holds']} of {outcomes.total()} claims hold "
            f"({outcomes['partly']} partly)."
        )
    lines += [
        "- **The central claim**, that semi-supervised (SS) ranking pursuit beats all methods of "
        "its table (in brackets: groups of users):",
        *central,
    ]
    parts = []
    for data, run in (("MovieLens", runs()[3]), ("Jester", runs()[1])):
        errors = _mean_errors(run)
        best = errors.drop(list(run.baselines)).min()
        parts.append(f"{errors['mean_rating']:.3f} on {data} (best method: {best:.3f})")
    lines.append(
        "- **A baseline without learning**, the mean rating of an item over the reference users "
        f"who rated it, has an error of {' and '.join(parts)}. It never sees the user's scores."
    )
    return "\n".join(lines)


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
        figure = Figure(figsize=(9.3, 4.2))
        panels = {"Jester": (1, 2, 5), "MovieLens": (3, 4)}
        for axes, (title, numbers) in zip(figure.subplots(1, 2), panels.items(), strict=True):
            for (setup, found), style in zip(_setups().items(), styles, strict=True):
                cells = _cells(found[number] for number in numbers)
                cells = cells[cells["metric"] == "disagreement"]
                points = cells["published"], cells["measured"]
                axes.scatter(*points, s=28, label=setup, lw=1.1, **style)
            baseline = _mean_errors(runs()[numbers[0]])["mean_rating"]
            line = {"color": "#00906a", "ls": "--", "lw": 1.2}
            axes.axhline(baseline, label="mean rating, no learning", **line)
            low, high = axes.get_xlim()
            axes.axline((low, low), slope=1, color=INK, lw=0.8, label="as published")
            axes.set(title=title, xlabel="published error", xlim=(low, high))
        figure.axes[0].set_ylabel("measured error")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        save_figure(figure, path)


def cells() -> str:
    """Return for each table how many distinct cells are within tolerance, and how far off."""
    rows = []
    for setup, folder in (("the text's", REFERENCE), ("inferred", INFERRED)):
        found = _cells(runs(folder).values())
        for (number, metric), own in found.groupby(["table", "metric"]):
            row = [setup, number, metric.replace("_", " "), f"± {published_tolerance(metric):g}"]
            row += [_count_within(own), f"{own['difference'].mean():+.3f}"]
            rows.append([*row, f"{own['difference'].abs().mean():.3f}"])
        rows.append([setup, "all", "", "", _count_within(found), "", ""])
    headers = ["set-up", "table", "error", "tolerance", "distinct cells within"]
    headers += ["mean deviation", "mean size of it"]
    return markdown_columns(headers, rows, "lrlrrrr")


def headline() -> str:
    """Return the mean error over the three groups of each method and experiment."""
    columns = {number: _mean_errors(run) for number, run in runs().items() if number != 5}
    rows = []
    for label, method in METHODS.items():
        row = [method.title + ", baseline, not in the paper" * method.baseline]
        for number, errors in columns.items():
            published = published_tables()[number].cells["disagreement"].get(label)
            known = f" ({mean(published.values()):.3f})" if published else ""
            row.append(f"{errors[label]:.3f}{known}" if label in errors else "")
        if any(row[1:]):
            rows.append(row)
    headers = ["", *(published_tables()[number].title for number in columns)]
    return markdown_columns(headers, rows, "l" + "r" * len(columns))


def stopping() -> str:
    """Return the sparsity and error of ranking pursuit if it stops early."""
    rows = []
    for slack in (0.0, 0.001, 0.0025, 0.005, 0.01):
        row = [f"within {slack:.2%} of the lowest" if slack else "the lowest hold-out error"]
        for number in (1, 3):
            curves = runs()[number].curves
            curves = curves.query("algorithm == 'ranking_pursuit' and axis == 'n_basis'")
            lowest = curves.groupby(["group", "repeat"])["holdout_error"].transform("min")
            enough = curves[curves["holdout_error"] <= (1 + slack) * lowest]
            first = enough.groupby(["group", "repeat"])[["value", "test_error"]].first()
            share, error = first.mean()
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


def write_csv(path: Path, frame: pd.DataFrame) -> None:
    """Write a data frame with six significant digits."""
    write_atomically(path, frame.to_csv(index=False, float_format="%.6g").encode())


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure; the same bytes for the same figure."""
    options = {"facecolor": "white", "bbox_inches": "tight", "metadata": {"Date": None}}
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:], **options)


def draw_panels(
    path: Path, height: float, xlabel: str, panels: Mapping[str, Callable[[Axes], None]]
) -> None:
    """Write a figure of errors, with a panel for each title and one legend.

    Panels whose titles have the same first line share their y-axis.
    """
    with figure_style():
        figure, first = Figure(figsize=(10.5, height)), dict[str, Axes]()
        all_axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (title, draw) in zip(all_axes, panels.items(), strict=True):
            same = first.setdefault(title.split("\n")[0], axes)
            if same is not axes:
                axes.sharey(same)
            draw(axes)
            axes.set(title=title, xlabel=xlabel)
        all_axes[0].set_ylabel(METRICS["disagreement"].label.replace(" (", "\n("))
        all_axes[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        save_figure(figure, path)


def filled(text: str) -> str:
    """Regenerate the parts of a page that come from committed results."""
    for name, make in PARTS.items():
        if f"<!-- {name} -->" in text:
            text = with_part(text, name, make())
    return text


def main() -> None:
    """Write the pages."""
    for page in PAGES:
        write_atomically(page, filled(page.read_text(encoding="utf-8")).encode())
        print(f"wrote {page.relative_to(ROOT)}")
    draw_published(RESULTS / "published.svg")


if __name__ == "__main__":
    main()
