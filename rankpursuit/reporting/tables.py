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
_TESTS = ("pairs", "difference", "95% interval", "p", "Holm")


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
        parts = (f"{title} lacks {number}" for title, number in missing.items() if number)
        notes.append(f"Incomplete: of {n_cells} groups and repeats, {', '.join(parts)}.")
    return tuple(notes)


def warnings(results: Results) -> tuple[str, ...]:
    """Return notes that the ratings are synthetic, and on what is missing."""
    return ((SYNTHETIC_NOTE,) if results.is_synthetic else ()) + missing_notes(results)


def config_note(results: Results) -> str:
    """Return where the config of a run is, which says what interpretations are in force."""
    return f"Config, with every interpretation of the paper: {results.folder / 'config.yaml'}."


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


def title_of_run(results: Results) -> str:
    """Return the subject of a run with the number of the published table."""
    return Table("", "", (), {}, subject=subject_of(results), number=results.table).heading


def _table(
    results: Results, kind: str, title: str, columns: Iterable[str], blocks: Blocks, *notes: str
) -> Table:
    """Return a table of a run; notes on synthetic data, size and missing results are added."""
    return Table(
        f"{results.name}-{kind}",
        title,
        tuple(columns),
        {heading: rows for heading, rows in blocks.items() if rows},
        (*notes, size_note(results), *warnings(results)),
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


def published_cells(results: Results, metric: str, *, distinct: bool = False) -> pd.DataFrame:
    """Return ``group``, ``algorithm``, ``mean`` and ``published`` of the published cells.

    If `distinct`, without the cells that an earlier table of the paper has too.
    """
    table = published_table(results)
    if table is None:
        return pd.DataFrame(columns=["algorithm", "group", "mean", "published"])
    cells = [(*one[1:], one[0]) for one in table.each_cell(distinct=distinct)]
    found = pd.DataFrame(cells, columns=["algorithm", "group", "published", "metric"])
    means = _statistics(results, metric, "test_error")["mean"].reset_index()
    return found[found["metric"] == metric].merge(means, on=["algorithm", "group"])


def error_table(results: Results, *, compare: bool = False) -> Table:
    """Return mean test errors and standard deviations over repeats, laid out as in the paper.

    `compare` adds the published error and the difference to it.
    """
    published = published_table(results) if compare else None
    more = [] if published is None else ["paper", "diff."]
    cells = {metric: _statistics(results, metric, "test_error") for metric in results.metrics}
    best = {metric: found["mean"].groupby("group").min() for metric, found in cells.items()}

    def row(metric: str, label: str) -> Iterator[Value]:
        digits = METRICS[metric].decimals
        for group in results.groups:
            mean = None
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
    return _table(
        results,
        "errors",
        measures,
        [name for group in results.groups for name in (group, *more)],
        _blocks(results, row),
        f"{measures}, {_over_repeats(results)}; the best is marked.",
        *(["paper: the published figure; diff.: measured minus published."] if more else []),
    )


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
            saved = stats.savings(results, metric, label, other)
            mean = None if saved is None else float(saved.mean())
            yield _value("saving", mean, lambda x: f"{signed(-100 * x, 0)}%")

    specs = (results.experiment.algorithms[label] for label in results.algorithms)
    unscored = any(getattr(spec, "dictionary", None) == "training" for spec in specs)
    return _table(
        results,
        "sparsity",
        "Sparsity",
        [*results.groups, *(f"vs {results.algorithms[label]}" for label in full)],
        _blocks(results, row),
        f"Fraction of the training points used as basis functions, {_over_repeats(results)}. vs: "
        "how many more (+) or fewer (−) basis functions than that method, mean over groups.",  # noqa: RUF001
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
    numbers = {"median": median, "on_edge": edges, "repeats": len(rows)}
    return Value(_number_text(median), f" ({edges} of {len(rows)})", numbers=numbers)


def _number_text(number: float) -> str:
    """Return a number; a power of two outside the usual numbers as such."""
    exponent = math.log2(number) if number > 0 else 0.5
    power = exponent.is_integer() and not 0.25 <= number <= 16
    return f"2^{int(exponent)}" if power else f"{number:.3g}"


# Tests


def control_table(
    results: Results, metric: str, *, over: Over = "repeats", control: str | None = None
) -> Table:
    """Return tests of every algorithm against a control (default: `proposed_algorithm`)."""
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
            results.algorithms[label]: (EMPTY,) * len(_TESTS)
            if one is None
            else _test_values(one, float(next(corrected)), METRICS[metric].decimals + 1)
            for label, one in found.items()
        }
    title, error = results.algorithms[control], METRICS[metric].title
    return _table(
        results,
        f"{metric}-control-{over}",
        f"{title} against the others, over {over}: {error}",
        _TESTS,
        blocks,
        f"Difference: {error} of {title} minus that of the other, mean and 95% bootstrap "
        f"interval; negative: {title} is better. Holm: p corrected over the rows of a group; "
        f"marked if below {SIGNIFICANT}.",
        f"{_TEST_NOTE} {_PAIRS_NOTE[over]}",
    )


def _test_values(one: stats.Comparison, corrected: float, digits: int) -> tuple[Value, ...]:
    low, high = one.interval
    interval = f"{signed(low, digits)} to {signed(high, digits)}"
    return (
        Value(str(one.n_pairs), numbers={"pairs": one.n_pairs}),
        Value(signed(one.mean, digits), numbers={"difference": one.mean}),
        Value(interval, numbers={"low": low, "high": high}),
        Value(_p_text(one.p_value), numbers={"p": one.p_value}),
        Value(_p_text(corrected), best=corrected < SIGNIFICANT, numbers={"p_holm": corrected}),
    )


def _p_text(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def wilcoxon_tables(results: Results, *, control: str | None = None) -> list[Table]:
    """Return all tables of tests of a run; none if it has a single algorithm."""
    if len(results.algorithms) < 2:
        return []
    return [
        control_table(results, metric, over=over, control=control)
        for metric, over in itertools.product(results.metrics, get_args(Over))
    ]


# Claims


def claim_notes() -> tuple[str, ...]:
    """Return how verdicts on claims come about."""
    small = ", ".join(
        f"{paper.small_difference(metric):g} for the {METRICS[metric].title}"
        for metric in ("disagreement", "squared_error")
    )
    return (
        "A claim holds if all its comparisons, in every group, agree with it; it holds partly if "
        "at least half of them do; otherwise it does not hold. Tests are Wilcoxon's over repeats, "
        f"p < {SIGNIFICANT}, uncorrected, as in the paper. About as good is what is not "
        f"significantly worse, or by a small difference only: below {small}. A saving of basis "
        "functions agrees if the 95% interval of the measured one contains it. Undecided: "
        f"something is missing, or there are fewer than {LEAST_PAIRS} repeats, which cannot reach "
        f"p < {SIGNIFICANT}.",
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
