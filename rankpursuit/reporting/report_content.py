"""What the report says of a run: tables, figures, provenance, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rankpursuit.reporting.coverage import (
    is_full_size,
    missing_notes,
    readings_note,
    size_note,
    synthetic_notes,
)
from rankpursuit.reporting.figures import CaptionedFigure, draw_figures
from rankpursuit.reporting.report_story import finding
from rankpursuit.reporting.results import Results
from rankpursuit.reporting.table import Table
from rankpursuit.reporting.tables import (
    error_table,
    experiment_title,
    parameter_table,
    sparsity_table,
)
from rankpursuit.reporting.wilcoxon_tables import wilcoxon_tables


@dataclass(frozen=True, eq=False)
class Topic:
    """Tables and figures under a heading; the first of a section is open, others are folded.

    Attributes
    ----------
    title : str
    tables : sequence of Table
    figures : sequence of CaptionedFigure
    """

    title: str
    tables: Sequence[Table] = ()
    figures: Sequence[CaptionedFigure] = ()


@dataclass(frozen=True, eq=False)
class Section:
    """A run, as the report shows it.

    Attributes
    ----------
    name, title : str
    table : int or None
        Number of the published table that it reproduces.
    finding : tuple of str
        How near it came to what was published.
    warnings : tuple of str
        That it is smaller than the paper's experiment, on made-up ratings, or incomplete.
    notes : tuple of str
        What holds for all its tables.
    topics : sequence of Topic
    provenance : dict
        Names and values, as text.
    """

    name: str
    title: str
    table: int | None = None
    finding: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    topics: Sequence[Topic] = ()
    provenance: dict[str, str] = field(default_factory=dict)

    @property
    def figures(self) -> list[CaptionedFigure]:
        """The figures of all topics."""
        return [figure for topic in self.topics for figure in topic.figures]


def section_of(results: Results) -> Section:
    """Assemble what the report says of a run."""
    size = size_note(results)
    warnings = (*synthetic_notes(results), *missing_notes(results))
    full, readings = is_full_size(results), readings_note(results)
    return Section(
        name=results.name,
        title=experiment_title(results),
        table=results.table,
        finding=finding(results),
        warnings=warnings if full else (size, *warnings),
        notes=(size, readings) if full else (readings,),
        topics=[topic for topic in _topics(results) if topic.tables or topic.figures],
        provenance=dict(_flat(results.provenance)),
    )


def _topics(results: Results) -> Iterator[Topic]:
    figures = list(draw_figures(results))

    def drawn(*kinds: str) -> list[CaptionedFigure]:
        return [one for one in figures if one.name.split("-")[0] in kinds]

    title = experiment_title(results)
    yield Topic("Errors", [_short(error_table(results, compare=True), title)], drawn("sparsity"))
    yield Topic("How sparse the solutions are", [_short(sparsity_table(results), title)])
    yield Topic("Published against measured", (), drawn("published"))
    yield Topic(
        "Parameters and how much depends on them",
        [_short(parameter_table(results), title)],
        drawn("basis", "width"),
    )
    yield Topic("Differences between methods", (), drawn("paired", "ranks"))
    tests = [_short(table, title) for table in wilcoxon_tables(results)]
    yield Topic("Significance tests", tests)


def _short(table: Table, title: str) -> Table:
    """Return a table without the title of its run, which stands above it."""
    short = table.title.removesuffix(title).rstrip(":, ")
    return replace(table, title=short or "Errors")


def _flat(mapping: dict[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in mapping.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key} ")
        else:
            yield f"{above}{key}", str(value)
