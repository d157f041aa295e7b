"""What the report says of a run: tables, figures, provenance, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rankpursuit.reporting.coverage import (
    is_full_size,
    missing_notes,
    readings_note,
    size_note,
    synthetic_notes,
)
from rankpursuit.reporting.documents import main_tables
from rankpursuit.reporting.figures import CaptionedFigure, draw_figures
from rankpursuit.reporting.results import Results
from rankpursuit.reporting.table import Table
from rankpursuit.reporting.tables import experiment_title, parameter_table
from rankpursuit.reporting.wilcoxon_tables import wilcoxon_tables


@dataclass(frozen=True, eq=False)
class Section:
    """A run, as the report shows it.

    Attributes
    ----------
    name, title : str
    warnings : tuple of str
        That it is smaller than the paper's experiment, on made-up ratings, or incomplete.
    notes : tuple of str
        What holds for all its tables.
    tables, more_tables : list of Table
        To be seen at once, and on demand.
    figures : list of CaptionedFigure
    provenance : dict
        Names and values, as text.
    """

    name: str
    title: str
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tables: list[Table] = field(default_factory=list)
    more_tables: list[Table] = field(default_factory=list)
    figures: list[CaptionedFigure] = field(default_factory=list)
    provenance: dict[str, str] = field(default_factory=dict)


def section_of(results: Results) -> Section:
    """Assemble what the report says of a run."""
    size = size_note(results)
    warnings = (*synthetic_notes(results), *missing_notes(results))
    full, readings = is_full_size(results), readings_note(results)
    return Section(
        name=results.name,
        title=experiment_title(results),
        warnings=warnings if full else (size, *warnings),
        notes=(size, readings) if full else (readings,),
        tables=[*main_tables(results, compare=True), parameter_table(results)],
        more_tables=wilcoxon_tables(results),
        figures=list(draw_figures(results)),
        provenance=dict(_flat(results.provenance)),
    )


def _flat(mapping: dict[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in mapping.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key} ")
        else:
            yield f"{above}{key}", str(value)
