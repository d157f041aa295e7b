"""The tables of a run: errors as in the paper, sparsity, parameters, tests and claims."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, get_args

import pandas as pd

from rankpursuit.errors import ResultsError
from rankpursuit.experiments.config import Experiment, load_experiment
from rankpursuit.experiments.methods import AXES, METHODS, METRICS, grid_axes
from rankpursuit.experiments.names import shipped_experiments
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
    """Return notes on synthetic ratings, a changed config, and what is missing."""
    synthetic = (SYNTHETIC_NOTE,) if results.is_synthetic else ()
    changes = config_changes(results)
    listed = "; ".join(f"{key}: {change}" for key, change in changes.items())
    changed = (f"NOT the config as shipped: {listed}.",) if changes else ()
    return (*synthetic, *changed, *missing_notes(results))


# What differs from the shipped config


@lru_cache(maxsize=32)
def _load_shipped(name: str) -> Experiment:
    return load_experiment(shipped_experiments()[name])


def shipped_experiment(experiment: Experiment) -> Experiment | None:
    """Return the shipped experiment of the same table or, without a table, of the same name."""
    names = sorted(shipped_experiments(), key=lambda name: name != experiment.name)
    if experiment.table is None:
        names = [name for name in names if name == experiment.name]
    found = map(_load_shipped, names)
    return next((one for one in found if one.table == experiment.table), None)


@lru_cache(maxsize=32)
def config_changes(results: Results) -> dict[str, str]:
    """Return what differs from the shipped config, ``{key: "shipped -> run"}``.

    The name, the place of the data and the size are left out: `size_note` has the size.
    """
    shipped = shipped_experiment(results.experiment)
    if shipped is None:
        return {}
    return dict(_differences(shipped.resolved(), results.experiment.resolved()))


_NOT_COMPARED = ("name", "data.path", "repeats", "protocol.test_users")


def _differences(
    shipped: dict[str, Any], run: dict[str, Any], prefix: str = ""
) -> Iterator[tuple[str, str]]:
    for key in shipped | run:
        name, old, new = prefix + key, shipped.get(key), run.get(key)
        if old == new or name in _NOT_COMPARED:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _differences(old, new, f"{name}.")
        elif key in shipped and key in run:
            yield name, f"{_short(old)} -> {_short(new)}"
        else:
            yield name, "added" if key in run else "dropped"


def _short(value: Any) -> str:
    """Return a value of a config; of a long grid only its ends and its length."""
    if isinstance(value, list):
        texts = list(map(_short, value))
        middle = ["..."] if len(texts) > 4 else texts[2:-1]
        ends = texts if len(texts) < 3 else [*texts[:2], *middle, texts[-1]]
        return f"[{', '.join(ends)}]" + f" ({len(texts)} values)" * (len(texts) > 4)
    return _number_text(value) if isinstance(value, float) else json.dumps(value).strip('"')


def config_note(results: Results) -> str:
    """Return which config a run is of, and where interpretations of the paper are."""
    shipped = shipped_experiment(results.experiment)
    if shipped is None:
        return "Config: config.yaml in the folder of the results."
    changed = "with changes" if config_changes(results) else "as shipped"
    return (
        f"Config: {shipped.name}, {changed}; configs/README.md lists our interpretations of the "
        "paper."
    )


# Titles


def published_table(results: Results) -> paper.PublishedTable | None:
    """Return the published table that a run reproduces, if any."""
    return None if results.table is None else paper.published_tables()[results.table]


def subject_of(results: Results) -> str:
    """Return the data of a run for captions, and what about the run is not the paper's."""
    published, data = published_table(results), results.experiment.data.name
    title = f"{_DATA_TITLES.get(data, data)}, experiment {results.name}"
    if published is not None:
        title = published.title
    elif results.is_synthetic:
        title = results.name
    size = "" if is_full_size(results) else f", only {measured_size(results)}"
    keys = list(config_changes(results))
    more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
    changed = f", changed: {', '.join(keys[:3])}{more}" if keys else ""
    return title + ", SYNTHETIC ratings" * results.is_synthetic + size + changed


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
    """Return blocks for each metric, with ``row(metric, label)`` of methods, then of baselines."""
    blocks: Blocks = {}
    for metric, heading in _headings(results, "Method").items():
        for name, labels in _parts(results, heading).items():
            blocks[name] = {title: tuple(row(metric, label)) for label, title in labels.items()}
    return blocks


def _parts(results: Results, heading: str) -> dict[str, dict[str, str]]:
    """Return the algorithms under the headings of their blocks: methods, then baselines."""
    task = f"{heading}: baseline" if len(results.metrics) > 1 else "Baseline"
    return {heading: results.methods, f"{task}, not in the paper": results.baselines}


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
    best = {
        metric: found["mean"].drop(list(results.baselines), errors="ignore").groupby("group").min()
        for metric, found in cells.items()
    }

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
                lowest = f"{best[metric].get(group, math.inf):.{digits}f}"
                yield Value(text, spread, float(text) <= float(lowest), numbers)
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
        f"{measures}, {_over_repeats(results)}; the best method is marked"
        + ", and a baseline that is as good or better" * bool(results.baselines)
        + ".",
        *(["paper: the published figure; diff.: measured minus published."] if more else []),
        config_note(results),
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
    on_edge = []
    for metric, heading in _headings(results, "Parameter").items():
        of_metric = results.repeats[results.repeats["metric"] == metric]
        for name, labels in _parts(results, heading).items():
            blocks[name] = {}
            for label, title in labels.items():
                spec = results.experiment.algorithms[label]
                rows = of_metric[of_metric["algorithm"] == label]
                grids = grid_axes(spec, results.experiment.kernel.widths)
                for axis in dict.fromkeys((*AXES.values(), *METHODS[spec.method].axes)):
                    if axis.column not in rows or rows[axis.column].isna().all():
                        continue
                    groups = [rows[rows["group"] == group] for group in results.groups]
                    chosen = tuple(_chosen_value(own, axis.column) for own in groups)
                    blocks[name][f"{title}: {axis.title}"] = chosen
                    edges, number = (
                        int(sum(one.numbers.get(key, 0) for one in chosen))
                        for key in ("on_edge", "repeats")
                    )
                    if 2 * edges >= number and axis.key in grids:
                        ends = " to ".join(_short(grids[axis.key][at]) for at in (0, -1))
                        on_edge.append(f"{title}: {axis.title}, {edges} of {number} ({ends})")
    return _table(
        results,
        "parameters",
        "Chosen parameters",
        results.groups,
        blocks,
        "Median over repeats (the lower one of two); in brackets, in how many repeats the choice "
        "was on an edge of its grid. Basis functions are fractions of the training points if below "
        "1.",
        *([f"Mostly on an edge of the grid (its ends): {'; '.join(on_edge)}."] if on_edge else []),
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
    others = {x: title for x, title in results.methods.items() if x != control}
    title, error = results.algorithms[control], METRICS[metric].title
    return _test_table(
        results,
        metric,
        over,
        f"{metric}-control-{over}",
        f"{title} against the others, over {over}: {error}",
        {group: {name: (control, x) for x, name in others.items()} for group in results.groups},
        f"Difference: {error} of {title} minus that of the other, mean and 95% bootstrap "
        f"interval; negative: {title} is better.",
    )


def baseline_table(results: Results, metric: str, *, over: Over = "repeats") -> Table:
    """Return tests of the best method of each group against each baseline."""
    pairs: dict[str, dict[str, tuple[str, str]]] = {}
    for group in results.groups:
        best = stats.best_method(results, metric, group)
        if best is not None:
            pairs[group] = {
                f"{results.methods[best]} against {title}": (best, label)
                for label, title in results.baselines.items()
            }
    error = METRICS[metric].title
    return _test_table(
        results,
        metric,
        over,
        f"{metric}-baselines-{over}",
        f"The best method against baselines that are not in the paper, over {over}: {error}",
        pairs,
        f"Difference: {error} of the method minus that of the baseline; positive: the baseline is "
        "better. The best method of a group is chosen by these errors, which favours it.",
    )


def _test_table(
    results: Results,
    metric: str,
    over: Over,
    kind: str,
    title: str,
    pairs: dict[str, dict[str, tuple[str, str]]],
    note: str,
) -> Table:
    """Return tests of pairs of algorithms, by group and the name of the row."""
    blocks: Blocks = {}
    for group, rows in pairs.items():
        errors = stats.errors_by(results, metric, group, over)
        found = {name: stats.compare_columns(errors, *pair) for name, pair in rows.items()}
        corrected = iter(stats.holm([one.p_value for one in found.values() if one is not None]))
        blocks[group] = {
            name: (EMPTY,) * len(_TESTS)
            if one is None
            else _test_values(one, float(next(corrected)), METRICS[metric].decimals + 1)
            for name, one in found.items()
        }
    holm = f"Holm: p corrected over the rows of a group; marked if below {SIGNIFICANT}."
    how = f"{_TEST_NOTE} {_PAIRS_NOTE[over]}"
    return _table(results, kind, title, _TESTS, blocks, f"{note} {holm}", how)


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
    """Return all tables of tests of a run, without those that would be empty."""
    tables = []
    for metric, over in itertools.product(results.metrics, get_args(Over)):
        tables.append(control_table(results, metric, over=over, control=control))
        tables.append(baseline_table(results, metric, over=over))
    return [table for table in tables if table.blocks]


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
        tables += [error_table(run, compare=compare), sparsity_table(run)]
        tables += [table for table in (parameter_table(run),) if table.blocks]
        tables += wilcoxon_tables(run, control=control)
        own = [one for one in verdicts if next(r for r in runs if r in one.runs) is run]
        if own:
            tables.append(claims_table(own, run))
    return tables
