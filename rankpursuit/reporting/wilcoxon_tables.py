"""Tables of Wilcoxon's signed-rank test: against a control, and all pairs."""

from __future__ import annotations

import itertools

from rankpursuit.errors import ResultsError
from rankpursuit.experiments.methods import METRICS
from rankpursuit.reporting.comparisons import (
    Over,
    compare_columns,
    errors_by,
    proposed_algorithm,
)
from rankpursuit.reporting.coverage import coverage_notes
from rankpursuit.reporting.results import Results
from rankpursuit.reporting.statistics import SIGNIFICANT, Comparison, holm
from rankpursuit.reporting.table import EMPTY, Cell, Part, Table
from rankpursuit.reporting.tables import experiment_title, signed

_METHOD = (
    "Wilcoxon's signed-rank test, two-sided; pairs without a difference are left out, ties share "
    "the mean of their ranks; exact with up to 50 untied pairs, otherwise normal."
)
_PAIRS = {
    "repeats": "A pair is a repeat, as in the paper; with 10 of them, p cannot be below 0.002.",
    "users": "A pair is a test user of a repeat; one person may be among the users of two repeats.",
}


def control_table(
    results: Results, metric: str, *, over: Over = "repeats", control: str | None = None
) -> Table:
    """Return every algorithm against a control, Holm-corrected within each group.

    Parameters
    ----------
    results : Results
    metric : str
    over : {"repeats", "users"}
    control : str, optional
        Label of an algorithm; by default `proposed_algorithm`.

    Raises
    ------
    ResultsError
        If the run has no such algorithm.
    """
    control = control or proposed_algorithm(results, metric)
    if control not in results.algorithms:
        has = ", ".join(results.algorithms)
        raise ResultsError(f"{results.folder}: no algorithm {control}; it has {has}")
    others = [label for label in results.algorithms if label != control]
    parts = []
    for group in results.groups:
        errors = errors_by(results, metric, group, over)
        found = {label: compare_columns(errors, control, label) for label in others}
        corrected = iter(holm([one.p_value for one in found.values() if one is not None]))
        rows = {
            results.algorithms[label]: (EMPTY,) * 6
            if one is None
            else _control_cells(one, float(next(corrected)), METRICS[metric].decimals)
            for label, one in found.items()
        }
        parts.append(Part(group, rows))
    title = results.algorithms[control]
    notes = (
        f"Difference: {METRICS[metric].title} of {title} minus that of the other, mean and 95% "
        f"bootstrap interval; negative: {title} is better. r: matched-pairs rank-biserial "
        f"correlation. Holm: corrected over the rows of a group; marked if below {SIGNIFICANT}.",
        f"{_METHOD} {_PAIRS[over]}",
        *coverage_notes(results),
    )
    return Table(
        f"{results.name}-{metric}-control-{over}",
        f"{title} against the others, over {over}: {_what(results, metric)}",
        ("pairs", "difference", "95% interval", "p", "Holm", "r"),
        tuple(parts),
        notes,
    )


def matrix_table(results: Results, metric: str, *, over: Over = "repeats") -> Table:
    """Return p of all pairs of algorithms, Holm-corrected over all pairs of a group."""
    labels = list(results.algorithms)
    names = [f"{at} {results.algorithms[label]}" for at, label in enumerate(labels, 1)]
    pairs = list(itertools.combinations(labels, 2))
    parts = []
    for group in results.groups:
        errors = errors_by(results, metric, group, over)
        found = {
            pair: one.p_value
            for pair in pairs
            if (one := compare_columns(errors, *pair)) is not None
        }
        corrected = dict(zip(found, holm(list(found.values())), strict=True))
        rows = {
            name: tuple(
                Cell("") if column <= row else _p_cell(corrected.get((labels[row], labels[column])))
                for column in range(1, len(labels))
            )
            for row, name in enumerate(names[:-1])
        }
        parts.append(Part(group, rows))
    notes = (
        f"p of row against column, Holm-corrected over the {len(pairs)} pairs of a group; marked "
        f"if below {SIGNIFICANT}. {len(labels)} is {results.algorithms[labels[-1]]}.",
        f"{_METHOD} {_PAIRS[over]}",
        *coverage_notes(results),
    )
    return Table(
        f"{results.name}-{metric}-pairs-{over}",
        f"All pairs, over {over}: {_what(results, metric)}",
        tuple(str(at) for at in range(2, len(labels) + 1)),
        tuple(parts),
        notes,
    )


def wilcoxon_tables(results: Results, *, control: str | None = None) -> list[Table]:
    """Return all tables of tests of a run; none if it has a single algorithm."""
    if len(results.algorithms) < 2:
        return []
    tables = []
    for metric in results.metrics:
        for over in ("repeats", "users"):
            tables.append(control_table(results, metric, over=over, control=control))
            tables.append(matrix_table(results, metric, over=over))
    return tables


def _what(results: Results, metric: str) -> str:
    task = f"{METRICS[metric].task.lower()}, " if len(results.metrics) > 1 else ""
    return f"{task}{experiment_title(results)}"


def _control_cells(one: Comparison, corrected: float, decimals: int) -> tuple[Cell, ...]:
    more = decimals + 1
    low, high = one.interval
    interval = f"{signed(low, more)} to {signed(high, more)}"
    return (
        Cell(str(one.n_pairs), numbers={"pairs": one.n_pairs, "zeros": one.n_zero}),
        Cell(signed(one.mean, more), numbers={"difference": one.mean}),
        Cell(interval, numbers={"low": low, "high": high}),
        Cell(_p_text(one.p_value), numbers={"p": one.p_value}),
        _p_cell(corrected),
        Cell(signed(one.effect, 2), numbers={"rank_biserial": one.effect}),
    )


def _p_cell(p_value: float | None) -> Cell:
    if p_value is None:
        return EMPTY
    return Cell(_p_text(p_value), best=p_value < SIGNIFICANT, numbers={"p_holm": float(p_value)})


def _p_text(p_value: float) -> str:
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"
