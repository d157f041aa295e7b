"""What a run covers: its size, what is missing, and the readings in force, for footnotes."""

from __future__ import annotations

from typing import Any

import pandas as pd

from rankpursuit.experiments.methods import METHODS, METRICS, MethodOptions
from rankpursuit.reporting.published import Size, published_size
from rankpursuit.reporting.results import Results

SYNTHETIC_NOTE = (
    "SYNTHETIC ratings, drawn from a model: nobody gave them, and the figures cannot be compared "
    "with the paper's."
)


def measured_size(results: Results) -> Size:
    """Return the fewest users and repeats behind any cell that has results."""
    return Size(
        users=int(results.repeats["n_users"].min()), repeats=int(_repeats_of_cells(results).min())
    )


def is_full_size(results: Results) -> bool:
    """Whether every cell with results has at least the paper's users and repeats."""
    size, paper = measured_size(results), published_size()
    return size.users >= paper.users and size.repeats >= paper.repeats


def missing_parts(results: Results) -> list[str]:
    """Return what the config declares and the results lack, a line for each algorithm.

    Nothing is missing if every group has every algorithm, in every repeat.
    """
    done = {
        key: set(rows) for key, rows in results.repeats.groupby(["algorithm", "group"])["repeat"]
    }
    every = set(range(1, results.experiment.repeats + 1))
    lines = []
    for label, title in results.algorithms.items():
        lacking = {group: every - done.get((label, group), set()) for group in results.groups}
        parts = {group: _repeats(gone, every) for group, gone in lacking.items() if gone}
        if len(parts) == len(results.groups) and len(set(parts.values())) == 1:
            lines.append(f"{title}: {next(iter(parts.values()))}")
        elif parts:
            text = ", ".join(f"{what} of {group}" for group, what in parts.items())
            lines.append(f"{title}: {text}")
    return _shared(lines, len(results.algorithms))


def size_note(results: Results) -> str:
    """Return one line on how much was run; it says so if that is less than the paper."""
    size, paper = measured_size(results), published_size()
    if is_full_size(results):
        return f"Size: {size}, as in the paper or more."
    least = "" if _is_even(results) else "at least "
    return f"NOT the paper's size: {least}{size} (paper: {paper})."


def has_spread(results: Results) -> bool:
    """Whether some cell has a standard deviation: one of two repeats or more."""
    return bool((_repeats_of_cells(results) > 1).any())


def _is_even(results: Results) -> bool:
    """Whether all cells have as many users and repeats."""
    return results.repeats["n_users"].nunique() == 1 and _repeats_of_cells(results).nunique() == 1


def _repeats_of_cells(results: Results) -> pd.Series:
    return results.repeats.groupby(["metric", "group", "algorithm"])["repeat"].nunique()


def readings_note(results: Results) -> str:
    """Return one line that names the readings of the paper in force."""
    experiment = results.experiment
    parts = [
        f"kernel width is {experiment.kernel.parameter}",
        f"ties {experiment.ties}",
        f"fill {experiment.protocol.fill}",
        f"tuning {experiment.tuning}",
    ]
    if any(METRICS[metric].of_level for metric in results.metrics):
        parts.append(f"offset {experiment.offset}")
    titles_by_value: dict[str, dict[str, list[str]]] = {}
    for label, title in results.algorithms.items():
        for option, value in _settings(experiment.algorithms[label]).items():
            titles_by_value.setdefault(option, {}).setdefault(value, []).append(title)
    for option, values in titles_by_value.items():
        if len(values) == 1:
            parts.append(f"{option} {next(iter(values))}")
        else:
            parts += [f"{option} {text} ({', '.join(of)})" for text, of in values.items()]
    return f"Readings: {'; '.join(parts)}."


def _settings(spec: MethodOptions) -> dict[str, str]:
    """Return what is fixed of an algorithm: its options, and its grids of one value."""
    axes = {axis.key: axis.column for axis in METHODS[spec.method].axes}
    settings = {}
    for key in type(spec).model_fields:
        value = getattr(spec, key)
        if key in axes and len(value) == 1:
            settings[axes[key]] = _value(value[0])
        elif key not in axes and key != "method":
            settings[key] = _value(value)
    return settings


def coverage_notes(results: Results) -> tuple[str, ...]:
    """Return the notes under every table of a run: made-up data, its size, what is missing."""
    return (*synthetic_notes(results), size_note(results), *missing_notes(results))


def synthetic_notes(results: Results) -> tuple[str, ...]:
    """Return a note that the ratings are made up, if they are."""
    return (SYNTHETIC_NOTE,) if results.is_synthetic else ()


def missing_notes(results: Results) -> tuple[str, ...]:
    """Return a note on what is missing, if something is."""
    missing = missing_parts(results)
    return (f"Missing: {'; '.join(missing)}.",) if missing else ()


def _repeats(gone: set[int], every: set[int]) -> str:
    if gone == every:
        return "everything"
    low, high = min(gone), max(gone)
    if gone == set(range(low, high + 1)) and high > low:
        return f"repeats {low} to {high}"
    return ("repeats " if len(gone) > 1 else "repeat ") + ", ".join(map(str, sorted(gone)))


def _shared(lines: list[str], n_algorithms: int) -> list[str]:
    """Merge the lines if all algorithms lack the same."""
    lacks = {line.split(": ", 1)[1] for line in lines}
    if n_algorithms > 1 and len(lines) == n_algorithms and len(lacks) == 1:
        return [f"{lacks.pop()}, of all algorithms"]
    return lines


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
