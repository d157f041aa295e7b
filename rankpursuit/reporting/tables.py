"""The tables of a run: errors as in the paper, sparsity, parameters, tests and claims."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import get_args

import pandas as pd

from rankpursuit.errors import ResultsError
from rankpursuit.experiments.config import Experiment
from rankpursuit.experiments.registry import AXES, METHODS, METRICS, grid_axes
from rankpursuit.reporting import statistics as stats
from rankpursuit.reporting.claims import (
    MARKS,
    REPLICATED,
    RULES,
    Outcome,
    Verdict,
    is_within,
    judge_claims,
    published_tables,
    published_tolerance,
    small_difference,
)
from rankpursuit.reporting.notes import (
    abbreviations,
    config_differences,
    measured_size,
    number_text,
    published_table,
    repeats_of_cells,
    run_notes,
    short_value,
    subject_of,
)
from rankpursuit.reporting.render import EMPTY, Blocks, Table, Value, signed, to_text
from rankpursuit.reporting.results import Results, title_of
from rankpursuit.reporting.statistics import MIN_PAIRS, SIGNIFICANT, Over

CELL = ["table", "metric", "algorithm", "group"]  # columns that identify a published cell

_TEST_NOTE = (
    "Two-sided Wilcoxon signed-rank test: zero differences are dropped, ties get their mean rank; "
    "exact for up to 50 pairs without ties, otherwise the normal approximation."
)
_TESTS = ("pairs", "difference", "95% interval", "effect", "p", "Holm", "90% interval")


# Parts of tables


def _table(
    results: Results, kind: str, title: str, columns: Iterable[str], blocks: Blocks, *notes: str
) -> Table:
    """Return a table of a run; `run_notes` are added."""
    warnings, remarks = run_notes(results)
    return Table(
        f"{results.name}-{kind}",
        title,
        tuple(columns),
        {heading: rows for heading, rows in blocks.items() if rows},
        (*notes, *remarks, *warnings),
        subject=subject_of(results),
        number=results.table,
    )


def _over_repeats(results: Results) -> str:
    """Return a description of the numbers in a cell."""
    if (repeats_of_cells(results) > 1).any():
        return "mean ± standard deviation over repeats"
    return "one repeat, without a standard deviation"


# Agreement with the published errors


def published_cells(results: Results) -> pd.DataFrame:
    """Return the published errors of a run's table next to the measured ones.

    A row for each published cell that no earlier table has: `CELL`, ``published``, ``measured``
    (NaN if missing), ``difference`` (measured minus published) and ``within`` (within the
    tolerance).
    """
    table = published_table(results)
    found = [] if table is None else table.each_cell()
    cells = pd.DataFrame([(results.table, *cell) for cell in found], columns=[*CELL, "published"])
    means = results.repeats.groupby(CELL[1:])["test_error"].mean().rename("measured")
    cells = cells.merge(means.reset_index(), on=CELL[1:], how="left")
    cells["difference"] = (cells["measured"] - cells["published"]).astype(float)
    tolerance = cells["metric"].map(published_tolerance).astype(float)
    return cells.assign(within=is_within(cells["difference"], tolerance))


@dataclass(frozen=True)
class SetUp:
    """Runs of the paper's tables with one set-up, and their agreement with the paper."""

    title: str
    runs: Sequence[Results]  # one for each table

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Measured cells of all tables, see `published_cells`."""
        return pd.concat(map(published_cells, self.runs)).dropna(subset="measured")

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Verdicts on the claims about these tables."""
        return judge_claims(self.runs)

    @cached_property
    def counts(self) -> Counter[Outcome]:
        """Number of claims with each outcome."""
        return Counter(verdict.outcome for verdict in self.verdicts)


def matrix_table(setups: Sequence[SetUp]) -> Table:
    """Return measured and published errors: a row for each method, a column for each table.

    Each set-up has a block. Cells are means over groups.
    """
    columns: dict[str, None] = {}
    found: dict[str, dict[str, dict[str, Value]]] = {}  # by set-up, algorithm and column
    for setup in setups:
        rows = found.setdefault(setup.title, {})
        for (number, metric, label), own in setup.cells.groupby(["table", "metric", "algorithm"]):
            several = len(published_tables()[number].cells) > 1
            task = METRICS[metric].task.removesuffix(" task").lower()
            column = f"Table {number}" + f": {task}" * several
            columns[column] = None
            rows.setdefault(label, {})[column] = _matrix_value(own)
    blocks = {
        title: {
            title_of(label): tuple(rows[label].get(column, EMPTY) for column in columns)
            for label in sorted(rows, key=list(METHODS).index)
        }
        for title, rows in found.items()
    }
    return Table("matrix", "Measured and published errors", tuple(columns), blocks)


def _matrix_value(cells: pd.DataFrame) -> Value:
    within, number = int(cells["within"].sum()), len(cells)
    outcome: Outcome = "partly" if within else "does not hold"
    outcome = "holds" if within == number else outcome
    means = cells[["measured", "published"]].mean().to_dict()
    measured, published = (
        f"{x:.{METRICS[cells['metric'].iloc[0]].decimals}f}" for x in means.values()
    )
    spread = f" ({published}) {MARKS[outcome]}\N{NO-BREAK SPACE}{within}/{number}"
    return Value(measured, spread, numbers=means | {"within": within}, outcome=outcome)


def tolerance_text(metrics: Iterable[str] = ("disagreement", "squared_error")) -> str:
    """Return the tolerances of metrics around the published errors."""
    return " or ".join(
        f"{published_tolerance(metric):g} ({METRICS[metric].title})" for metric in metrics
    )


# Errors, sparsity and parameters


def _blocks(
    results: Results,
    rows: Callable[[str, str, str], Iterable[tuple[str, Iterable[Value]]]],
    heading: str = "Method",
) -> Blocks:
    """Return blocks of methods and of baselines, for each metric under the name of its task.

    ``rows(metric, label, title)`` yields the names and values of the rows of an algorithm.
    """
    blocks: Blocks = {}
    for metric in results.metrics:
        methods, baselines = heading, "Baseline" + ", not in the paper" * results.is_of_paper
        if len(results.metrics) > 1:
            methods = METRICS[metric].task
            baselines = f"{methods}: {baselines[:1].lower()}{baselines[1:]}"
        for name, labels in ((methods, results.methods), (baselines, results.baselines)):
            blocks[name] = {
                row: tuple(values)
                for label, title in labels.items()
                for row, values in rows(metric, label, title)
            }
    return blocks


def _statistics(results: Results, metric: str, column: str) -> pd.DataFrame:
    """Return mean and standard deviation over repeats, by algorithm and group."""
    rows = results.repeats[results.repeats["metric"] == metric]
    return rows.groupby(["algorithm", "group"])[column].agg(["mean", "std"]).dropna(subset="mean")


def _mean_value(
    found: pd.DataFrame, label: str, group: str, quantity: str, write: Callable[[float], str]
) -> Value:
    """Return a cell of `_statistics` as a value; `EMPTY` if it has none."""
    if (label, group) not in found.index:
        return EMPTY
    mean, std = map(float, found.loc[(label, group)])
    if math.isnan(std):
        return Value(write(mean), numbers={quantity: mean})
    return Value(
        write(mean), f" ± {write(std)}", numbers={quantity: mean, "standard_deviation": std}
    )


def _value(quantity: str, number: float | None, write: Callable[[float], str]) -> Value:
    return EMPTY if number is None else Value(write(number), numbers={quantity: number})


def error_table(results: Results, *, compare: bool = False) -> Table:
    """Return mean test errors and standard deviations over repeats, laid out as in the paper.

    `compare` adds the published error and the difference to it.
    """
    published = published_table(results) if compare else None
    more = [] if published is None else ["paper", "diff."]
    cells = {metric: _statistics(results, metric, "test_error") for metric in results.metrics}

    def rows(metric: str, label: str, title: str) -> Iterator[tuple[str, list[Value]]]:
        digits = METRICS[metric].decimals
        methods = cells[metric]["mean"].drop(list(results.baselines), errors="ignore")
        lowest = methods.groupby("group").min().round(digits)
        row = []
        for group in results.groups:
            value = _mean_value(cells[metric], label, group, "mean", lambda x: f"{x:.{digits}f}")
            mean = value.numbers.get("mean")
            best = mean is not None and bool(round(mean, digits) <= lowest.get(group, math.inf))
            row.append(replace(value, best=best))
            if published is not None:
                known = published.value(metric, label, group)
                difference = None if mean is None or known is None else mean - known
                row.append(_value("published", known, lambda x: f"{x:.{digits}f}"))
                row.append(_value("difference", difference, lambda x: signed(x, digits)))
        yield title, row

    measures = " and ".join(METRICS[metric].title for metric in results.metrics)
    measures = measures[:1].upper() + measures[1:]
    return _table(
        results,
        "errors",
        measures,
        [name for group in results.groups for name in (group, *more)],
        _blocks(results, rows),
        f"{measures}, {_over_repeats(results)}; the best method is marked"
        + ", and every baseline at least as good" * bool(results.baselines)
        + ".",
        *(["paper: the published error; diff.: measured minus published."] if more else []),
        *abbreviations(results),
    )


def side_by_side(first: Results, second: Results) -> Table:
    """Return the mean test errors of two runs next to each other, where both have them."""
    blocks: Blocks = {}
    for metric in (metric for metric in first.metrics if metric in second.metrics):
        digits = METRICS[metric].decimals
        means = [_statistics(run, metric, "test_error")["mean"] for run in (first, second)]
        heading = METRICS[metric].task if len(first.metrics) > 1 else "Method"
        for label, title in first.algorithms.items():
            row: list[Value] = []
            for group in first.groups:
                errors = [found.get((label, group)) for found in means]
                row += [_value("mean", x, f"{{:.{digits}f}}".format) for x in errors]
                difference = None if None in errors else errors[1] - errors[0]
                row.append(_value("difference", difference, partial(signed, decimals=digits)))
            if any(value.numbers for value in row[2::3]):
                blocks.setdefault(heading, {})[title] = tuple(row)
    if not blocks:
        raise ResultsError(f"{first.folder} and {second.folder} have no group and method in common")
    differences = config_differences(first.experiment, second.experiment)
    changes = "; ".join(f"{key}: {change}" for key, change in differences.items())
    return Table(
        f"{first.name}-{second.name}",
        "Test errors of two runs",
        tuple(name for group in first.groups for name in (group, "second", "diff.")),
        blocks,
        (
            f"First: {first.folder} ({measured_size(first)}). Second: {second.folder} "
            f"({measured_size(second)}). Means over repeats; diff.: second minus first.",
            f"Differences of the configs: {changes or 'none'}.",
        ),
    )


def error_summary(experiment: Experiment, repeats: pd.DataFrame, width: int | None = None) -> str:
    """Return the error table of a run as text; `repeats` has the rows of ``repeats.csv``."""
    return to_text([error_table(Results(experiment, repeats))], width).rstrip()


_UNSCORED_NOTE = (
    "Semi-supervised ranking pursuit may also use points without a score: its fraction is of all "
    "training points, those of the other methods are of the scored ones."
)


def sparsity_table(results: Results) -> Table:
    """Return the fraction of training points used, and the basis functions saved."""
    full = [label for label in ("rank_rls", "rank_svm") if label in results.algorithms]

    def rows(metric: str, label: str, title: str) -> Iterator[tuple[str, list[Value]]]:
        method = METHODS[results.experiment.algorithms[label].method]
        if not method.has_basis:
            return
        cells = _statistics(results, metric, "basis_share")
        row = [
            _mean_value(cells, label, group, "basis_share", lambda x: f"{100 * x:.0f}%")
            for group in results.groups
        ]
        for other in full:
            saved = stats.savings(results, metric, label, other)
            mean = None if saved is None else float(saved.mean())
            row.append(_value("saving", mean, lambda x: f"{signed(-100 * x, 0)}%"))
        yield title, row

    specs = (results.experiment.algorithms[label] for label in results.algorithms)
    unscored = any(getattr(spec, "dictionary", None) == "training" for spec in specs)
    return _table(
        results,
        "sparsity",
        "Sparsity",
        [*results.groups, *(f"vs {results.algorithms[label]}" for label in full)],
        _blocks(results, rows),
        f"Fraction of the training points used as basis functions, {_over_repeats(results)}. vs: "
        "percentage of basis functions more (+) or fewer (−) than that method, mean over groups.",  # noqa: RUF001
        *([_UNSCORED_NOTE] * unscored),
    )


def parameter_table(results: Results) -> Table:
    """Return the parameters chosen on the hold-out users: medians, and choices on a grid's edge."""
    on_edge = []

    def rows(metric: str, label: str, title: str) -> Iterator[tuple[str, list[Value]]]:
        spec, found = results.experiment.algorithms[label], results.repeats
        own = found[(found["metric"] == metric) & (found["algorithm"] == label)]
        grids = grid_axes(spec, results.experiment.kernel.widths)
        for axis in dict.fromkeys((*AXES.values(), *METHODS[spec.method].axes)):
            if axis.column not in own or own[axis.column].isna().all():
                continue
            row = [_chosen_value(own[own["group"] == x], axis.column) for x in results.groups]
            yield f"{title}: {axis.title}", row
            edges = sum(value.numbers.get("on_edge", 0) for value in row)
            number = sum(value.numbers.get("repeats", 0) for value in row)
            if 2 * edges >= number and axis.key in grids:
                ends = " to ".join(short_value(grids[axis.key][at]) for at in (0, -1))
                on_edge.append(f"{title}: {axis.title}, {edges} of {number} ({ends})")

    blocks = _blocks(results, rows, "Parameter")
    return _table(
        results,
        "parameters",
        "Chosen parameters",
        results.groups,
        blocks,
        "Median over repeats (the lower of two middle values); in brackets, the number of repeats "
        "in which the choice was on an edge of its grid. Numbers of basis functions below 1 are "
        "fractions of the training points. The estimators of the library call lambda alpha.",
        *(
            [f"Mostly on an edge of the grid (ends in brackets): {'; '.join(on_edge)}."]
            if on_edge
            else []
        ),
    )


def _chosen_value(rows: pd.DataFrame, column: str) -> Value:
    rows = rows[rows[column].notna()]
    if rows.empty:
        return EMPTY
    median = float(rows[column].quantile(0.5, interpolation="lower"))
    edges = sum(column in str(names).split() for names in rows["on_edge"])
    numbers = {"median": median, "on_edge": edges, "repeats": len(rows)}
    return Value(number_text(median), f" ({edges} of {len(rows)})", numbers=numbers)


# Tests


def significance_table(
    results: Results, metric: str, over: Over = "repeats", control: str | None = None
) -> Table:
    """Return Wilcoxon's tests of a control against the other methods, and against baselines.

    In each group, the best method is tested against each baseline. The default control is
    `proposed_algorithm`.
    """
    control = control or stats.proposed_algorithm(results)
    if control not in results.algorithms:
        has = ", ".join(results.algorithms)
        raise ResultsError(f"{results.folder}: no algorithm {control}; it has {has}")
    blocks: Blocks = {}
    for group in results.groups:
        errors = stats.errors_by(results, metric, group, over)
        means = errors[[label for label in results.methods if label in errors]].mean()
        families = (
            [(control, other) for other in results.methods if other != control],
            [(means.idxmin(), other) for other in results.baselines if len(means)],
        )
        rows = blocks[group] = {}
        for pairs in families:
            found = [(pair, stats.compare_columns(errors, *pair)) for pair in pairs]
            tested = [(pair, one) for pair, one in found if one is not None and one.n_pairs > 1]
            corrected = stats.holm([one.p_value for _, one in tested])
            for (pair, one), p in zip(tested, corrected, strict=True):
                name = " - ".join(results.algorithms[label] for label in pair)
                rows[name] = _test_values(one, float(p), metric)
    error, title = METRICS[metric].title, results.algorithms[control]
    margin = f"±{small_difference(metric):g}".replace("±nan", "a margin, which this error lacks")
    return _table(
        results,
        f"{metric}-tests-{over}",
        f"Tests of the {error} over {over}",
        _TESTS,
        blocks,
        f"Difference of the {error}, mean and 95% bootstrap interval; negative if the method named "
        f"first is better. {title} is compared with every other method, and the best method of the "
        "group with every baseline; the best is chosen by these errors, which favours it. Holm: p "
        f"corrected separately over the rows of both kinds; marked if below {SIGNIFICANT}.",
        "Effect: rank-biserial correlation, -1 if the method named first is better in every pair. "
        f"90% interval: marked if within {margin}, which shows that the two methods are equivalent "
        "to that margin (two one-sided tests at 5%).",
        f"{_TEST_NOTE} {_pairs_note(results, over)}",
    )


def _pairs_note(results: Results, over: Over) -> str:
    """Return what a pair of errors is."""
    if over == "users":
        return "A pair is a test user of a repeat; a person may be a test user in several repeats."
    n_repeats = int(repeats_of_cells(results).max())
    pair = "A pair is a repeat" + ", as in the paper" * results.is_of_paper
    return f"{pair}; with {n_repeats} of them, p cannot be below {2 * 0.5**n_repeats:.1g}."


def _test_values(one: stats.Comparison, corrected: float, metric: str) -> tuple[Value, ...]:
    digits = METRICS[metric].decimals + 1
    (low, high), (lower, upper) = one.interval, one.equivalence_interval
    interval, narrow = (
        f"{signed(x, digits)} to {signed(y, digits)}" for x, y in ((low, high), (lower, upper))
    )
    is_equivalent = max(-lower, upper) < small_difference(metric)
    return (
        Value(str(one.n_pairs), numbers={"pairs": one.n_pairs}),
        Value(signed(one.mean, digits), numbers={"difference": one.mean}),
        Value(interval, numbers={"low": low, "high": high}),
        Value(signed(one.effect, 2), numbers={"effect": one.effect}),
        Value(_p_text(one.p_value), numbers={"p": one.p_value}),
        Value(_p_text(corrected), best=corrected < SIGNIFICANT, numbers={"p_holm": corrected}),
        Value(narrow, best=is_equivalent, numbers={"low_90": lower, "high_90": upper}),
    )


def _p_text(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def significance_tables(results: Results, control: str | None = None) -> list[Table]:
    """Return `significance_table` for each metric, over repeats and over users; none if empty."""
    kinds = itertools.product(results.metrics, get_args(Over))
    tables = [significance_table(results, metric, over, control) for metric, over in kinds]
    return [table for table in tables if table.blocks]


# Claims


def claim_notes() -> tuple[str, ...]:
    """Return notes that explain the verdicts on claims."""
    small = ", ".join(
        f"{small_difference(metric):g} for the {METRICS[metric].title}"
        for metric in ("disagreement", "squared_error")
    )
    return (
        "A claim holds if all its comparisons, in every group, agree with it; it holds partly if "
        "at least half of them do; otherwise it does not hold. Tests are Wilcoxon's over repeats, "
        f"p < {SIGNIFICANT}, uncorrected, as in the paper. A method does about as well as another "
        f"if it is not significantly worse, or by a small difference only: below {small}. A "
        "published saving of basis functions agrees if the 95% interval of the measured saving "
        "contains it. Undecided: results are missing, or there are fewer than "
        f"{MIN_PAIRS} repeats, which cannot reach p < {SIGNIFICANT}.",
        "In words: better, worse and not told apart are the outcomes of these tests, in the groups "
        "in brackets. Mean difference: the side named first minus the other, over all comparisons "
        "of the claim, in which signs may cancel, with a 95% bootstrap interval over repeats.",
    )


def claims_table(verdicts: Sequence[Verdict], results: Results | None = None) -> Table:
    """Return verdicts as a table; notes list claims about tables without results.

    With `results`, the run that the claims are about, adds them in words and mean differences.
    """
    columns = ("verdict", "because", "in words", "mean difference")[: 4 if results else 2]
    rows = {}
    for one in verdicts:
        if not one.absent:
            texts = (one.outcome, one.reason, one.sentence, one.size)
            rows[str(one.claim)] = tuple(map(Value, texts[: len(columns)]))
    left_out = (f"Not judged, since it {one.reason}: {one.claim}" for one in verdicts if one.absent)
    title, blocks, notes = "Claims of the paper", {"the paper says": rows}, claim_notes()
    if results is None:
        return Table("claims", title, columns, blocks, tuple(left_out), align="l")
    table = _table(results, "claims", title, columns, blocks, *notes, *left_out)
    return replace(table, align="l")


def artifact_table(verdicts: Sequence[Verdict]) -> Table:
    """Return what a reviewer asks for: command, minutes, tolerance and outcome of each claim."""
    rows = {}
    for one in verdicts:
        commands = "; ".join(f"rp-run {run.name}" for run in one.runs)
        seconds = sum(run.seconds for run in one.runs)
        minutes = "–" if math.isnan(seconds) else f"{seconds / 60:.0f}"  # noqa: RUF001
        texts = commands, minutes, RULES[one.claim.rule][1], REPLICATED[one.outcome]
        rows[str(one.claim)] = tuple(map(Value, texts))
    columns = ("command", "minutes", "tolerance", "outcome")
    note = "Minutes of one core, for all methods. Outcomes are in the words of ReScience."
    title, blocks = "Claims, commands and outcomes", {"the paper says": rows}
    return Table("artifact", title, columns, blocks, (note,), align="l")


def all_tables(
    runs: Sequence[Results],
    *,
    others: Sequence[Results] = (),
    compare: bool = False,
    control: str | None = None,
    wide: bool = False,
) -> list[Table]:
    """Return every table of runs, each with the verdicts on claims about it.

    A verdict about two runs is shown with the first; `others` are further runs that claims may
    need; `compare` adds the published errors; `control` is the label of the algorithm that the
    others are tested against; `wide` tables span two columns in LaTeX.
    """
    tables, verdicts = [], judge_claims(runs, others=others)
    for run in runs:
        tables += [error_table(run, compare=compare), sparsity_table(run), parameter_table(run)]
        tables += significance_tables(run, control)
        own = [one for one in verdicts if next(r for r in runs if r in one.runs) is run]
        if own:
            tables.append(claims_table(own, run))
    return [replace(table, wide=wide) for table in tables if table.blocks]
