"""The tables of a run: errors as in the paper, sparsity, parameters, tests and claims."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import get_args

import pandas as pd

from rankpursuit.errors import ResultsError
from rankpursuit.experiments.config import Experiment
from rankpursuit.experiments.methods import AXES, METHODS, METRICS
from rankpursuit.reporting import published as paper
from rankpursuit.reporting import statistics as stats
from rankpursuit.reporting.claims import Verdict
from rankpursuit.reporting.render import EMPTY, Blocks, Table, Value, signed, to_text
from rankpursuit.reporting.results import Results
from rankpursuit.reporting.statistics import LEAST_PAIRS, SIGNIFICANT, Over

SYNTHETIC_NOTE = (
    "SYNTHETIC ratings, drawn from a model: nobody gave them, and the figures cannot be compared "
    "with the paper's."
)
_TEST_NOTE = (
    "Wilcoxon's signed-rank test, two-sided; pairs without a difference are left out, ties share "
    "the mean of their ranks; exact with up to 50 untied pairs, otherwise normal."
)
_PAIRS_NOTE = {
    "repeats": "A pair is a repeat, as in the paper; with 10 of them, p cannot be below 0.002.",
    "users": "A pair is a test user of a repeat; one person may be among the users of two repeats.",
}
_DATA_TITLES = {"jester": "Jester", "movielens": "MovieLens"}


# The size of a run, and the notes under its tables


def _repeats_of_cells(results: Results) -> pd.Series:
    return results.repeats.groupby(["metric", "group", "algorithm"])["repeat"].nunique()


def measured_size(results: Results) -> paper.Size:
    """Return the fewest users and repeats of any cell that has results."""
    users, repeats = results.repeats["n_users"].min(), _repeats_of_cells(results).min()
    return paper.Size(users=int(users), repeats=int(repeats))


def is_full_size(results: Results) -> bool:
    """Return whether every cell with results has at least the paper's users and repeats."""
    size, wanted = measured_size(results), paper.published_size()
    return size.users >= wanted.users and size.repeats >= wanted.repeats


def size_note(results: Results) -> str:
    """Return a line on the size of a run, with a warning if it is smaller than the paper's."""
    size = measured_size(results)
    if is_full_size(results):
        return f"Size: {size}, as in the paper or more."
    least = "" if _repeats_of_cells(results).nunique() == 1 else "at least "
    return f"NOT the paper's size: {least}{size} (paper: {paper.published_size()})."


def missing_notes(results: Results) -> tuple[str, ...]:
    """Return notes on what the config declares and the results lack; none if they are complete."""
    run, notes = results.algorithms, []
    not_run = [title for label, title in results.declared.items() if label not in run]
    if not_run:
        notes.append(f"Not run: {', '.join(not_run)}.")
    n_cells = len(results.groups) * results.experiment.repeats
    done = results.repeats.drop_duplicates(["algorithm", "group", "repeat"])["algorithm"]
    missing = {title: n_cells - int((done == label).sum()) for label, title in run.items()}
    if any(missing.values()):
        if len(set(missing.values())) == 1:
            missing = {"every algorithm": next(iter(missing.values()))}
        parts = (f"{title} lacks {number}" for title, number in missing.items() if number)
        notes.append(f"Incomplete: of {n_cells} groups and repeats, {', '.join(parts)}.")
    return tuple(notes)


def synthetic_notes(results: Results) -> tuple[str, ...]:
    """Return a note that the ratings are synthetic, if they are."""
    return (SYNTHETIC_NOTE,) if results.is_synthetic else ()


def readings_note(results: Results) -> str:
    """Return a line with the interpretations of the paper in force."""
    experiment = results.experiment
    parts = [
        f"kernel width is {experiment.kernel.parameter}",
        f"ties {experiment.ties}",
        f"fill {experiment.protocol.fill}",
        f"tuning {experiment.tuning}",
    ]
    if any(METRICS[metric].of_level for metric in results.metrics):
        parts.append(f"offset {experiment.offset}")
    titles: dict[str, dict[str, list[str]]] = {}  # by option and value
    for label, title in results.algorithms.items():
        spec = experiment.algorithms[label]
        axes = {axis.key: axis.column for axis in METHODS[spec.method].axes}
        for key in type(spec).model_fields:
            value = getattr(spec, key)
            if key == "method" or (key in axes and len(value) > 1):
                continue  # chosen on the hold-out
            option, value = (axes[key], value[0]) if key in axes else (key, value)
            if isinstance(value, bool):
                value = "yes" if value else "no"
            text = f"{value:g}" if isinstance(value, float) else str(value)
            titles.setdefault(option, {}).setdefault(text, []).append(title)
    for option, values in titles.items():
        for value, of in values.items():
            parts.append(f"{option} {value}" + (f" ({', '.join(of)})" if len(values) > 1 else ""))
    return f"Readings: {'; '.join(parts)}."


# Titles


def published_table(results: Results) -> paper.PublishedTable | None:
    """Return the published table that a run reproduces, if any."""
    return None if results.table is None else paper.published_tables()[results.table]


def subject_of(results: Results) -> str:
    """Return the data of a run for captions; synthetic ratings and small runs are named."""
    published, data = published_table(results), results.experiment.data.name
    title = f"{_DATA_TITLES.get(data, data)}, experiment {results.name}"
    if published is not None:
        title = published.title
    elif results.is_synthetic:
        title = results.name
    size = "" if is_full_size(results) else f", only {measured_size(results)}"
    return title + ", SYNTHETIC ratings" * results.is_synthetic + size


def _table(
    results: Results, kind: str, title: str, columns: Sequence[str], blocks: Blocks, *notes: str
) -> Table:
    """Return a table of a run; notes on synthetic data, size and missing results are added."""
    coverage = (*synthetic_notes(results), size_note(results), *missing_notes(results))
    return Table(
        f"{results.name}-{kind}",
        title,
        tuple(columns),
        blocks,
        (*notes, *coverage),
        subject=subject_of(results),
        number=results.table,
    )


def _over_repeats(results: Results) -> str:
    """Return a description of the numbers of a cell."""
    if (_repeats_of_cells(results) > 1).any():
        return "mean ± standard deviation over repeats"
    return "of one repeat: without a standard deviation"


# Errors, sparsity and parameters


def _headings(results: Results, alone: str) -> dict[str, str]:
    """Return the heading of each metric's block: its task, if there are several."""
    several = len(results.metrics) > 1
    return {metric: METRICS[metric].task if several else alone for metric in results.metrics}


def _blocks(results: Results, row: Callable[[str, str], Iterable[Value]]) -> Blocks:
    """Return a block for each metric, with ``row(metric, label)`` of each algorithm."""
    return {
        heading: {title: tuple(row(metric, label)) for label, title in results.algorithms.items()}
        for metric, heading in _headings(results, "Method").items()
    }


def _statistics(results: Results, metric: str, column: str) -> pd.DataFrame:
    """Return mean and standard deviation over repeats by algorithm and group that have any."""
    rows = results.repeats[results.repeats["metric"] == metric]
    return rows.groupby(["algorithm", "group"])[column].agg(["mean", "std"]).dropna(subset="mean")


def published_cells(results: Results, metric: str) -> pd.DataFrame:
    """Return ``group``, ``algorithm``, ``mean`` and ``published`` of the published cells."""
    cells = _statistics(results, metric, "test_error").reset_index()
    table = published_table(results)
    published = [
        None if table is None else table.value(metric, label, group)
        for label, group in zip(cells["algorithm"], cells["group"], strict=True)
    ]
    cells["published"] = pd.Series(published, index=cells.index, dtype=float)
    return cells.dropna(subset="published")


def error_table(results: Results, *, compare: bool = False) -> Table:
    """Return mean test errors and standard deviations over repeats, laid out as in the paper.

    Parameters
    ----------
    results : Results
    compare : bool
        Whether to add the published error and the difference to it.
    """
    published = published_table(results) if compare else None
    more = [] if published is None else ["paper", "diff."]
    cells = {metric: _statistics(results, metric, "test_error") for metric in results.metrics}
    best = {metric: found["mean"].groupby("group").min() for metric, found in cells.items()}

    def row(metric: str, label: str) -> Iterator[Value]:
        digits = METRICS[metric].decimals
        for group in results.groups:
            mean = known = None
            if (label, group) in cells[metric].index:
                mean, std = map(float, cells[metric].loc[(label, group)])
                text = f"{mean:.{digits}f}"
                spread, numbers = "", {"mean": mean}
                if not math.isnan(std):
                    spread, numbers["standard_deviation"] = f" ± {std:.{digits}f}", std
                yield Value(text, spread, text == f"{best[metric][group]:.{digits}f}", numbers)
            else:
                yield EMPTY
            if published is not None:
                known = published.value(metric, label, group)
                yield _value("published", known, lambda x: f"{x:.{digits}f}")
                difference = None if mean is None or known is None else mean - known
                yield _value("difference", difference, lambda x: signed(x, digits))

    measures = " and ".join(METRICS[metric].title for metric in results.metrics)
    measures = measures[:1].upper() + measures[1:]
    table = _table(
        results,
        "errors",
        measures,
        [name for group in results.groups for name in (group, *more)],
        _blocks(results, row),
        f"{measures}, {_over_repeats(results)}; the best is marked.",
        *(["paper: the published figure; diff.: measured minus published."] if more else []),
    )
    return replace(table, notes=(*table.notes, readings_note(results)))


def _value(quantity: str, number: float | None, write: Callable[[float], str]) -> Value:
    return EMPTY if number is None else Value(write(number), numbers={quantity: number})


def error_summary(experiment: Experiment, repeats: pd.DataFrame, width: int | None = None) -> str:
    """Return the error table of a run as text; `repeats` has the rows of ``repeats.csv``."""
    return to_text([error_table(Results(experiment, repeats))], width).rstrip()


def sparsity_table(results: Results) -> Table:
    """Return the fraction of training points used, and the basis functions saved."""
    full = [label for label in ("rank_rls", "rank_svm") if label in results.algorithms]
    cells = {metric: _statistics(results, metric, "basis_share") for metric in results.metrics}

    def row(metric: str, label: str) -> Iterator[Value]:
        for group in results.groups:
            if (label, group) in cells[metric].index:
                mean, std = map(float, cells[metric].loc[(label, group)])
                spread = "" if math.isnan(std) else f" ± {100 * std:.0f}%"
                yield Value(f"{100 * mean:.0f}%", spread, numbers={"basis_share": mean})
            else:
                yield EMPTY
        for other in full:
            saved = stats.saving(results, metric, label, other)
            yield _value("saving", saved, lambda x: f"{signed(-100 * x, 0)}%")

    specs = (results.experiment.algorithms[label] for label in results.algorithms)
    unscored = any(getattr(spec, "dictionary", None) == "training" for spec in specs)
    return _table(
        results,
        "sparsity",
        "Sparsity",
        [*results.groups, *(f"to {results.algorithms[label]}" for label in full)],
        _blocks(results, row),
        f"Fraction of the training points used as basis functions, {_over_repeats(results)}; "
        'with "to": how many basis functions more (+) or fewer (−) than that method has, '  # noqa: RUF001
        "mean over groups.",
        *(["Semi-supervised ranking pursuit may also use points without a score."] * unscored),
    )


def parameter_table(results: Results) -> Table:
    """Return the parameters chosen on the hold-out users: medians, and choices on a grid's edge."""
    blocks: Blocks = {}
    for metric, heading in _headings(results, "Parameter").items():
        blocks[heading] = {}
        of_metric = results.repeats[results.repeats["metric"] == metric]
        for label, title in results.algorithms.items():
            rows = of_metric[of_metric["algorithm"] == label]
            own = METHODS[results.experiment.algorithms[label].method].axes
            for axis in dict.fromkeys((*AXES.values(), *own)):
                if axis.column in rows and rows[axis.column].notna().any():
                    blocks[heading][f"{title}: {axis.title}"] = tuple(
                        _chosen_value(rows[rows["group"] == group], axis.column)
                        for group in results.groups
                    )
    return _table(
        results,
        "parameters",
        "Chosen parameters",
        results.groups,
        blocks,
        "Median over repeats (the lower one of two); in brackets, in how many repeats the choice "
        "was on an edge of its grid. Basis functions are fractions of the training points if below "
        "1.",
    )


def _chosen_value(rows: pd.DataFrame, column: str) -> Value:
    rows = rows[rows[column].notna()]
    if rows.empty:
        return EMPTY
    median = float(rows[column].quantile(0.5, interpolation="lower"))
    edges = sum(column in str(names).split() for names in rows["on_edge"])
    exponent = math.log2(median) if median > 0 else 0.5
    power = exponent.is_integer() and not 0.25 <= median <= 16
    text = f"2^{int(exponent)}" if power else f"{median:.3g}"
    numbers = {"median": median, "on_edge": edges, "repeats": len(rows)}
    return Value(text, f" ({edges} of {len(rows)})", numbers=numbers)


# Tests


def control_table(
    results: Results, metric: str, *, over: Over = "repeats", control: str | None = None
) -> Table:
    """Return every algorithm against a control (default: `proposed_algorithm`)."""
    control = control or stats.proposed_algorithm(results)
    if control not in results.algorithms:
        has = ", ".join(results.algorithms)
        raise ResultsError(f"{results.folder}: no algorithm {control}; it has {has}")
    others = [label for label in results.algorithms if label != control]
    blocks: Blocks = {}
    for group in results.groups:
        errors = stats.errors_by(results, metric, group, over)
        found = {label: stats.compare_columns(errors, control, label) for label in others}
        corrected = iter(stats.holm([one.p_value for one in found.values() if one is not None]))
        blocks[group] = {
            results.algorithms[label]: (EMPTY,) * 6
            if one is None
            else _test_values(one, float(next(corrected)), METRICS[metric].decimals + 1)
            for label, one in found.items()
        }
    title, error = results.algorithms[control], METRICS[metric].title
    return _table(
        results,
        f"{metric}-control-{over}",
        f"{title} against the others, over {over}: {error}",
        ("pairs", "difference", "95% interval", "p", "Holm", "r"),
        blocks,
        f"Difference: {error} of {title} minus that of the other, mean and 95% "
        f"bootstrap interval; negative: {title} is better. r: matched-pairs rank-biserial "
        f"correlation. Holm: corrected over the rows of a group; marked if below {SIGNIFICANT}.",
        f"{_TEST_NOTE} {_PAIRS_NOTE[over]}",
    )


def _test_values(one: stats.Comparison, corrected: float, digits: int) -> tuple[Value, ...]:
    low, high = one.interval
    interval = f"{signed(low, digits)} to {signed(high, digits)}"
    return (
        Value(str(one.n_pairs), numbers={"pairs": one.n_pairs, "zeros": one.n_zero}),
        Value(signed(one.mean, digits), numbers={"difference": one.mean}),
        Value(interval, numbers={"low": low, "high": high}),
        Value(_p_text(one.p_value), numbers={"p": one.p_value}),
        _p_value(corrected),
        Value(signed(one.effect, 2), numbers={"rank_biserial": one.effect}),
    )


def _p_value(p: float | None) -> Value:
    if p is None:
        return EMPTY
    return Value(_p_text(p), best=bool(p < SIGNIFICANT), numbers={"p_holm": float(p)})


def _p_text(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def matrix_table(results: Results, metric: str, *, over: Over = "repeats") -> Table:
    """Return p of all pairs of algorithms, Holm-corrected over all pairs of a group."""
    labels = list(results.algorithms)
    pairs = list(itertools.combinations(labels, 2))
    blocks = {}
    for group in results.groups:
        errors = stats.errors_by(results, metric, group, over)
        compared = {pair: stats.compare_columns(errors, *pair) for pair in pairs}
        found = {pair: one.p_value for pair, one in compared.items() if one is not None}
        corrected = dict(zip(found, stats.holm(list(found.values())), strict=True))
        blocks[group] = {
            f"{row} {results.algorithms[label]}": tuple(
                Value("") if column < row else _p_value(corrected.get((label, other)))
                for column, other in enumerate(labels[1:], start=1)
            )
            for row, label in enumerate(labels[:-1], start=1)
        }
    return _table(
        results,
        f"{metric}-pairs-{over}",
        f"All pairs, over {over}: {METRICS[metric].title}",
        [str(at) for at in range(2, len(labels) + 1)],
        blocks,
        f"p of row against column, Holm-corrected over the {len(pairs)} pairs of a group; marked "
        f"if below {SIGNIFICANT}. {len(labels)} is {results.algorithms[labels[-1]]}.",
        f"{_TEST_NOTE} {_PAIRS_NOTE[over]}",
    )


def wilcoxon_tables(results: Results, *, control: str | None = None) -> list[Table]:
    """Return all tables of tests of a run; none if it has a single algorithm."""
    if len(results.algorithms) < 2:
        return []
    tables = []
    for metric, over in itertools.product(results.metrics, get_args(Over)):
        tables.append(control_table(results, metric, over=over, control=control))
        tables.append(matrix_table(results, metric, over=over))
    return tables


# Claims


def claim_notes() -> tuple[str, ...]:
    """Return how verdicts on claims come about."""
    small = ", ".join(
        f"{paper.small_difference(metric):g} for the {METRICS[metric].title}"
        for metric in ("disagreement", "squared_error")
    )
    return (
        "A claim holds if all its comparisons, in every group, come out as it says; partly, if at "
        "least half of them do, if they are of means that may differ by chance, or if it says that "
        f"there is no difference and those found are small: below {small}, as declared with the "
        f"claims. Tests are Wilcoxon's over repeats, p < {SIGNIFICANT}, uncorrected, as in the "
        f"paper; undecided: something is missing, or there are fewer than {LEAST_PAIRS} repeats, "
        f"which cannot reach p < {SIGNIFICANT}.",
        "Mean difference: over all comparisons of the claim, of the side named first minus the "
        "other, with a 95% bootstrap interval over repeats.",
    )


def claims_table(
    verdicts: Sequence[Verdict], results: Results | None = None, *, brief: bool = False
) -> Table:
    """Return verdicts as a table; claims about a table without results are named in a note.

    `results` is the run that the claims are about, for the title; `brief` omits the sentences.
    """
    columns = ("verdict", "because", "mean difference", "in words")[: 3 if brief else 4]
    rows = {}
    for one in verdicts:
        if not one.absent:
            texts = (one.outcome, one.reason, one.size, one.sentence)
            rows[str(one.claim)] = tuple(map(Value, texts[: len(columns)]))
    left_out = (f"Left out, since it {one.reason}: {one.claim}" for one in verdicts if one.absent)
    table = Table(
        "claims",
        "Claims of the paper",
        columns,
        {"the paper says": rows},
        (*claim_notes(), *left_out),
        align="l",
    )
    if results is None:
        return table
    subject, number = subject_of(results), results.table
    return replace(table, id=f"{results.name}-claims", subject=subject, number=number)


def all_tables(
    runs: Sequence[Results],
    verdicts: Sequence[Verdict] = (),
    *,
    compare: bool = False,
    control: str | None = None,
) -> list[Table]:
    """Return every table of runs, each with the verdicts on claims about it.

    A verdict about two runs is shown with the first; `compare` adds the published errors; `control`
    is the label of the algorithm that the others are tested against.
    """
    tables = []
    for run in runs:
        tables += [error_table(run, compare=compare), sparsity_table(run), parameter_table(run)]
        tables += wilcoxon_tables(run, control=control)
        own = [one for one in verdicts if next(r for r in runs if r in one.runs) is run]
        if own:
            tables.append(claims_table(own, run))
    return tables
