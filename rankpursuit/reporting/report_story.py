"""What the report says first: what was tried, and how near it came, in sentences from the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from rankpursuit.experiments.methods import METRICS
from rankpursuit.reporting.comparisons import proposed_algorithm
from rankpursuit.reporting.coverage import SYNTHETIC_NOTE, is_full_size, measured_size
from rankpursuit.reporting.expected import load_expected
from rankpursuit.reporting.figures import CaptionedFigure, overview
from rankpursuit.reporting.figures.agreement import measured_beside_published
from rankpursuit.reporting.figures.style import figure_style, mark_synthetic
from rankpursuit.reporting.published import published_size
from rankpursuit.reporting.results import Results, title_of

CAPTION = (
    "Published against measured errors: a point is a method in one group of users. On the line, "
    "the two are equal; below it, the measured error is lower."
)


@dataclass(frozen=True, eq=False)
class Story:
    """What the report says first.

    Attributes
    ----------
    tried : tuple of str
        What was run, in sentences.
    found : tuple of str
        How near it came to what was published, or which method did best.
    figure : CaptionedFigure or None
        Published against measured.
    """

    tried: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    figure: CaptionedFigure | None = None


def tell(runs: Sequence[Results]) -> Story:
    """Return the story of some runs."""
    of_paper: dict[int, Results] = {}
    others = []
    for run in runs:
        if run.table is None or of_paper.setdefault(run.table, run) is not run:
            others.append(run)
    again = list(of_paper.values())
    drawn, made_up = overview(again), any(run.is_synthetic for run in again)
    if drawn is not None and made_up:
        with figure_style():
            mark_synthetic(drawn)
    caption = f"{SYNTHETIC_NOTE} {CAPTION}" if made_up else CAPTION
    return Story(
        tried=tuple(_tried(again, others)),
        found=(*_near(again), *(sentence for run in others for sentence in _best(run))),
        figure=None if drawn is None else CaptionedFigure("overview", caption, drawn),
    )


def finding(run: Results) -> tuple[str, ...]:
    """Say how near a run came to its published table; nothing if it has none."""
    cells = _cells([run])
    sentences = []
    for metric, here in cells.groupby("metric", sort=False):
        task = f"{METRICS[metric].task}: " if len(run.metrics) > 1 else ""
        mean = here["difference"].mean()
        size = f"{abs(mean):.{METRICS[metric].decimals}f} {'lower' if mean < 0 else 'higher'}"
        sentences.append(
            f"{task}{_as_published(here)} On average, the error is {size} than published."
        )
    return tuple(sentences)


def _tried(again: Sequence[Results], others: Sequence[Results]) -> Iterator[str]:
    if again:
        methods = {label for run in again for label in run.algorithms}
        tables = _tables([run.table for run in again if run.table is not None])
        yield f"{tables} of the paper, run again with {len(methods)} methods."
        full = [run for run in again if is_full_size(run)]
        if len(full) == len(again):
            yield f"At the paper's size or more: {published_size()} in each group of users."
        else:
            small = _words([f"Table {run.table}" for run in again if run not in full])
            yield f"Smaller than the paper's {published_size()}: {small}."
    for run in others:
        size = measured_size(run)
        yield f"{run.name}: {len(run.algorithms)} methods, {size} in each group of users."


def _near(again: Sequence[Results]) -> Iterator[str]:
    """Say how many errors are as published, and on which side the others lie."""
    cells = _cells(again)
    if len(cells):
        lower = sum(
            round(one.difference, METRICS[one.metric].decimals) < 0 for one in cells.itertuples()
        )
        yield f"{_as_published(cells)} {lower} of the {len(cells)} are lower than published."


def _cells(runs: Sequence[Results]) -> pd.DataFrame:
    """Return the published cells that were measured.

    Returns
    -------
    DataFrame
        Columns ``metric``, ``difference``, measured minus published, and ``tolerance``.
    """
    tolerances = load_expected().tolerances
    rows = []
    for run in runs:
        for metric in run.metrics:
            cells = measured_beside_published(run, metric).dropna(subset="published")
            for difference in cells["mean"] - cells["published"]:
                assert run.table is not None
                rows.append((metric, difference, tolerances[run.table, metric]))
    return pd.DataFrame(rows, columns=["metric", "difference", "tolerance"])


def _as_published(cells: pd.DataFrame) -> str:
    near = int((cells["difference"].abs() <= cells["tolerance"] + 1e-9).sum())
    return f"{near} of {len(cells)} published errors come out within sampling error."


def _best(run: Results) -> Iterator[str]:
    """Say which method of a run has the lowest error, and where the proposed one stands."""
    for metric in run.metrics:
        rows = run.repeats[run.repeats["metric"] == metric]
        by_group = rows.groupby(["algorithm", "group"])["test_error"].mean()
        means = by_group.groupby("algorithm").mean()
        best, proposed = str(means.idxmin()), proposed_algorithm(run, metric)
        title, digits = METRICS[metric].title, METRICS[metric].decimals
        text = f"{run.name}: the lowest {title}, mean over groups, is {means[best]:.{digits}f}"
        text += f" ({title_of(best)})"
        if proposed != best and proposed in means:
            text += f"; {title_of(proposed)} has {means[proposed]:.{digits}f}"
        yield f"{text}."


def _tables(numbers: Sequence[int]) -> str:
    """Return the numbers of tables as English lists them, three or more in a row as a range."""
    if len(numbers) > 2 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"Tables {numbers[0]} to {numbers[-1]}"
    return f"Table{'s' * (len(numbers) > 1)} {_words([str(number) for number in numbers])}"


def _words(items: Sequence[str]) -> str:
    """Return items as English lists them."""
    return " and ".join([*[", ".join(items[:-1])] * (len(items) > 1), items[-1]])
