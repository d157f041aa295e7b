"""The tables of a run: errors as in the paper, sparsity, and the parameters that were chosen."""

from __future__ import annotations

import math

import pandas as pd

from rankpursuit.experiments.methods import AXES, METRICS
from rankpursuit.reporting.coverage import (
    coverage_notes,
    has_spread,
    is_full_size,
    measured_size,
    readings_note,
)
from rankpursuit.reporting.published import PublishedTable, published_tables
from rankpursuit.reporting.results import Results
from rankpursuit.reporting.table import EMPTY, Cell, Part, Table


def experiment_title(results: Results) -> str:
    """Return a title such as ``Jester, supervised (Table 1 of the paper)``, or the name.

    A run on made-up ratings, or smaller than the paper's, says so here too, where no one can leave
    it out.
    """
    published = _published(results)
    title = results.name
    if published is not None:
        title = published.full_title
    if results.is_synthetic:
        title = f"{title}, SYNTHETIC ratings"
    if is_full_size(results):
        return title
    return f"{title}, only {measured_size(results)}"


def part_heading(results: Results, metric: str, alone: str) -> str:
    """Return the heading of a metric's part of a table: its task, if the run has several."""
    return METRICS[metric].task if len(results.metrics) > 1 else alone


def error_table(results: Results, *, compare: bool = False) -> Table:
    """Return mean test errors and their standard deviations over repeats, laid out as in the paper.

    Parameters
    ----------
    results : Results
    compare : bool
        Whether each group also gets the published error and the difference to it.
    """
    published = _published(results)
    compare = compare and published is not None
    columns = [
        name for group in results.groups for name in (group, *(("paper", "diff.") * compare))
    ]
    parts = []
    for metric in results.metrics:
        means = _statistic(results, metric, "test_error", "mean")
        spreads = _statistic(results, metric, "test_error", "std")
        rows = {}
        for label, title in results.algorithms.items():
            cells: list[Cell] = []
            for group in results.groups:
                cell = _error_cell(means, spreads, label, group, METRICS[metric].decimals)
                cells.append(cell)
                if compare and published is not None:
                    value = published.value(metric, label, group)
                    cells += _published_cells(cell, value, METRICS[metric].decimals)
            rows[title] = tuple(cells)
        parts.append(Part(part_heading(results, metric, "Method"), rows))
    measures = " and ".join(METRICS[metric].title for metric in results.metrics)
    notes = (
        f"{measures[0].upper()}{measures[1:]}, {_mean_over_repeats(results)}; the best is marked.",
        *(("paper: the published figure; diff.: measured minus published.",) * compare),
        *coverage_notes(results),
        readings_note(results),
    )
    return Table(
        f"{results.name}-errors", experiment_title(results), tuple(columns), tuple(parts), notes
    )


def sparsity_table(results: Results) -> Table:
    """Return the share of training points used, and basis functions less than full methods have."""
    labels = [label for label in ("rank_rls", "rank_svm") if label in results.algorithms]
    columns = (*results.groups, *(f"to {results.algorithms[label]}" for label in labels))
    parts = []
    for metric in results.metrics:
        shares = _statistic(results, metric, "basis_share", "mean")
        spreads = _statistic(results, metric, "basis_share", "std")
        rows = {}
        for label, title in results.algorithms.items():
            cells = [_share_cell(shares, spreads, label, group) for group in results.groups]
            cells += [_saving_cell(saving(results, metric, label, other)) for other in labels]
            rows[title] = tuple(cells)
        parts.append(Part(part_heading(results, metric, "Method"), rows))
    declared = results.experiment.algorithms.values()
    unscored = any(getattr(spec, "dictionary", None) == "training" for spec in declared)
    notes = (
        f"Share of the training points used as basis functions, {_mean_over_repeats(results)}; "
        'with "to": how many basis functions more (+) or fewer (−) than that method has, '  # noqa: RUF001
        "mean over groups.",
        *(("Semi-supervised ranking pursuit may also use points without a score.",) * unscored),
        *coverage_notes(results),
    )
    title = f"Sparsity: {experiment_title(results)}"
    return Table(f"{results.name}-sparsity", title, columns, tuple(parts), notes)


def saving(results: Results, metric: str, label: str, other: str) -> float | None:
    """Return by what share an algorithm has fewer basis functions than another, mean over groups.

    0.3 is 30% fewer. Only repeats that have both count; None if a group has none, or if the other
    algorithm has no basis functions at all.
    """
    savings = []
    for group in results.groups:
        rows = results.repeats
        rows = rows[(rows["metric"] == metric) & (rows["group"] == group)]
        table = rows.pivot_table(index="repeat", columns="algorithm", values="basis_functions")
        if label not in table or other not in table:
            return None
        both = table.dropna(subset=[label, other]).mean()
        if not both[other] > 0:
            return None
        savings.append(1 - both[label] / both[other])
    return float(sum(savings) / len(savings))


def parameter_table(results: Results) -> Table:
    """Return the parameters that the hold-out chose: medians, and how often on the grid's edge."""
    parts = []
    for metric in results.metrics:
        rows = {}
        for label, title in results.algorithms.items():
            here = results.repeats
            here = here[(here["metric"] == metric) & (here["algorithm"] == label)]
            for axis in AXES.values():
                if axis.column in here and here[axis.column].notna().any():
                    rows[f"{title}: {axis.title}"] = tuple(
                        _chosen_cell(here[here["group"] == group], axis.column)
                        for group in results.groups
                    )
        parts.append(Part(part_heading(results, metric, "Parameter"), rows))
    notes = (
        "Median over repeats (the lower one of two); in brackets, in how many repeats the choice "
        "sat on an edge of its grid. Basis functions are shares of the training points if below 1.",
        *coverage_notes(results),
    )
    title = f"Chosen parameters: {experiment_title(results)}"
    return Table(f"{results.name}-parameters", title, tuple(results.groups), tuple(parts), notes)


def _mean_over_repeats(results: Results) -> str:
    """Say what the numbers of a cell are."""
    if has_spread(results):
        return "mean ± standard deviation over repeats"
    return "of one repeat: without a standard deviation"


def _published(results: Results) -> PublishedTable | None:
    return None if results.table is None else published_tables()[results.table]


def _statistic(results: Results, metric: str, column: str, statistic: str) -> pd.DataFrame:
    """Return a statistic over repeats: a row for each algorithm, a column for each group."""
    rows = results.repeats[results.repeats["metric"] == metric]
    table = rows.groupby(["algorithm", "group"])[column].agg(statistic).unstack()
    return table.reindex(index=list(results.algorithms), columns=results.groups)


def _error_cell(
    means: pd.DataFrame, spreads: pd.DataFrame, label: str, group: str, decimals: int
) -> Cell:
    mean, spread = float(means.at[label, group]), float(spreads.at[label, group])
    if math.isnan(mean):
        return EMPTY
    best = f"{mean:.{decimals}f}" == f"{means[group].min():.{decimals}f}"
    if math.isnan(spread):
        return Cell(f"{mean:.{decimals}f}", best=best, numbers={"mean": mean})
    numbers = {"mean": mean, "standard_deviation": spread}
    return Cell(f"{mean:.{decimals}f}", f" ± {spread:.{decimals}f}", best, numbers)


def _published_cells(measured: Cell, published: float | None, decimals: int) -> tuple[Cell, Cell]:
    if published is None:
        return EMPTY, EMPTY
    paper = Cell(f"{published:.{decimals}f}", numbers={"published": published})
    if "mean" not in measured.numbers:
        return paper, EMPTY
    difference = measured.numbers["mean"] - published
    return paper, Cell(signed(difference, decimals), numbers={"difference": difference})


def _share_cell(shares: pd.DataFrame, spreads: pd.DataFrame, label: str, group: str) -> Cell:
    share, spread = float(shares.at[label, group]), float(spreads.at[label, group])
    if math.isnan(share):
        return EMPTY
    rest = "" if math.isnan(spread) else f" ± {100 * spread:.0f}%"
    return Cell(f"{100 * share:.0f}%", rest, numbers={"basis_share": share})


def _saving_cell(share: float | None) -> Cell:
    if share is None:
        return EMPTY
    return Cell(f"{signed(-100 * share, 0)}%", numbers={"saving": share})


def _chosen_cell(rows: pd.DataFrame, column: str) -> Cell:
    chosen = rows[column].dropna()
    if chosen.empty:
        return EMPTY
    median = float(chosen.quantile(0.5, interpolation="lower"))
    edges = sum(column in str(names).split() for names in rows["on_edge"])
    numbers = {"median": median, "on_edge": edges, "repeats": len(chosen)}
    return Cell(_power(median), f" ({edges} of {len(chosen)})", numbers=numbers)


def _power(value: float) -> str:
    """Write powers of two as such, other numbers plainly."""
    exponent = math.log2(value) if value > 0 else 0.5
    if exponent.is_integer() and not 0.25 <= value <= 16:
        return f"2^{int(exponent)}"
    return f"{value:.3g}"


def signed(value: float, decimals: int) -> str:
    """Write a number with its sign; what rounds to zero has none."""
    text = f"{value:+.{decimals}f}"
    if not float(text):
        return text[1:]
    return text.replace("-", "−")  # noqa: RUF001  (a minus sign)
