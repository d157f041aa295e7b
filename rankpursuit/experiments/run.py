"""Runs: plan the units, evaluate them, and write the files of results.

A run maps over units of work; the store is its only state. Round r evaluates the hold-out users of
repeat r and the test users of repeat r - 1, whose parameters are known by then. This keeps all
workers busy and completes repeats as early as possible.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any, Self

import numpy as np
import pandas as pd
from tqdm import tqdm

from rankpursuit.errors import ConfigError, RunError, StoreError, TooFewUsersError
from rankpursuit.experiments.backends import Evaluate, Job
from rankpursuit.experiments.config import MAX_REPEATS, Experiment, dump_yaml, ratings_of
from rankpursuit.experiments.evaluate import (
    AlgorithmResult,
    Cell,
    Choice,
    Unit,
    UnitResult,
    choose_parameters,
    evaluate_unit,
)
from rankpursuit.experiments.grids import is_number
from rankpursuit.experiments.names import suggestion
from rankpursuit.experiments.protocol import Group, Role, draw_users, group_name, too_few_users
from rankpursuit.experiments.registry import AXES, N_BASIS, find_axis, grid_axes
from rankpursuit.experiments.store import Identity, Row, RunFolder, Store, provenance, write_csv
from rankpursuit.writing import remove_leftovers, write_atomically

# Users per unit. A killed run loses one unit per worker: on average half a second of work on
# Jester, one and a half on MovieLens.
CHUNK = 10
ROLES: tuple[Role, ...] = ("holdout", "test")
_WORK: dict[Role, int] = {"holdout": 5, "test": 1}  # whole grids, or one point of each


@dataclass(frozen=True)
class Plan:
    """The units of a run, by cell and role."""

    units: dict[tuple[Cell, Role], tuple[Unit, ...]]

    @property
    def cells(self) -> list[Cell]:
        """All cells, repeat by repeat."""
        return sorted({cell for cell, _ in self.units})

    @property
    def repeats(self) -> list[int]:
        """All repeats."""
        return sorted({cell.repeat for cell in self.cells})

    def all(self) -> list[Unit]:
        """Return all units."""
        return [unit for units in self.units.values() for unit in units]

    def of(self, cells: Iterable[Cell], role: Role) -> Iterator[Unit]:
        """Yield the units of some cells and one role."""
        for cell in cells:
            yield from self.units[cell, role]


def make_plan(experiment: Experiment, repeats: int, groups: Sequence[Group]) -> Plan:
    """List the units of some groups; no hold-out users if parameters are chosen for each user."""
    ratings = ratings_of(experiment.data)
    units: dict[tuple[Cell, Role], tuple[Unit, ...]] = {}
    for cell in (Cell(repeat, group) for repeat in range(repeats) for group in groups):
        units[cell, "holdout"] = ()
        for role in ROLES if experiment.tuning_on == "group" else ROLES[1:]:
            key: dict[str, Any] = {"seed": experiment.seed, "role": role} | vars(cell)
            drawn = draw_users(ratings, experiment.protocol, **key)
            # Users with similar numbers of items share a unit, which evaluates them together.
            users = drawn[np.argsort(ratings.counts[drawn], kind="stable")]
            units[cell, role] = tuple(
                Unit(cell, role, chunk, tuple(users[start : start + CHUNK].tolist()))
                for chunk, start in enumerate(range(0, len(users), CHUNK))
            )
    return Plan(units)


@dataclass(frozen=True)
class Run:
    """An experiment, the plan of the part of it to run, and the algorithms to run."""

    experiment: Experiment
    plan: Plan
    labels: tuple[str, ...]

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        repeats: int | None = None,
        only: Sequence[str] = (),
        groups: Sequence[str] = (),
    ) -> Self:
        """Plan an experiment, or a part of it: some algorithms by label, some groups by name.

        Raises a `ConfigError` for unknown names or too many repeats, a `TooFewUsersError` if there
        are too few users to draw test, hold-out or reference users from.
        """
        repeats = repeats or experiment.repeats
        names = {group_name(group): group for group in experiment.protocol.groups}
        problems = [
            f"{option} {word}: no such {kind}; {suggestion(word, known)}"
            for option, kind, words, known in (
                ("--only", "algorithm", only, list(experiment.algorithms)),
                ("--groups", "group", groups, list(names)),
            )
            for word in words
            if word not in known
        ]
        if repeats > MAX_REPEATS:
            problems.append(f"--repeats: expected at most {MAX_REPEATS}, got {repeats}")
        if only and experiment.has_joint_choices:
            problems.append(
                "--only: the parameters of an algorithm depend on others (kernel.shared or "
                "size_from): run all, or drop algorithms with --set algorithms.LABEL=null"
            )
        if problems:
            raise ConfigError(problems)
        wanted = [group for name, group in names.items() if not groups or name in groups]
        ratings = ratings_of(experiment.data)
        if lines := too_few_users(ratings.counts, experiment.protocol, wanted):
            raise TooFewUsersError(*(f"{ratings.name}: {line}" for line in lines))
        labels = tuple(label for label in experiment.algorithms if not only or label in only)
        return cls(experiment, make_plan(experiment, repeats, wanted), labels)

    def whole(self, repeats: int) -> Self:
        """Return the run of all groups and algorithms, with some number of repeats."""
        groups = {cell.group for cell in self.plan.cells}
        if (len(self.plan.repeats), groups) == (repeats, set(self.experiment.protocol.groups)):
            return replace(self, labels=tuple(self.experiment.algorithms))
        plan = make_plan(self.experiment, repeats, self.experiment.protocol.groups)
        return replace(self, plan=plan, labels=tuple(self.experiment.algorithms))

    def identity(self) -> Identity:
        """Return the identity of the store of this run."""
        experiment = self.experiment
        data = ratings_of(experiment.data).checksum()
        return Identity(experiment.digest(), data, experiment.code())


class Tally:
    """The results in the store of a run, summed over the units of a cell, and its choices."""

    def __init__(self, run: Run, store: Store) -> None:
        # With all groups and algorithms, and the repeats of earlier runs.
        self.run = run.whole(max(len(run.plan.repeats), store.repeats))
        self._store = store
        self._holdout: dict[Cell, dict[str, AlgorithmResult]] = {}
        self._choices: dict[Cell, dict[str, dict[str, Choice]]] = {}

    def pooled(self, cell: Cell, role: Role, label: str) -> AlgorithmResult | None:
        """Return an algorithm's mean errors, and users, of a cell; None if a unit is missing."""
        units = self.run.plan.units[cell, role]
        results = [x for unit in units if (x := self._store.load(unit, label))]
        if not results or len(results) < len(units):
            return None
        n_users = sum(len(unit.users) for unit in units)
        means = {
            metric: np.sum([result.sums[metric] for result in results], axis=0) / n_users
            for metric in results[0].sums
            # reused results may have further metrics
            if all(metric in result.sums for result in results)
        }
        users = [user for result in results for user in result.users]
        return AlgorithmResult(means, users, sum(result.seconds for result in results))

    def holdout(self, cell: Cell) -> dict[str, AlgorithmResult]:
        """Return the results of the algorithms whose hold-out users of a cell are done; kept.

        A round evaluates all hold-out users of its cells before anything asks for them.
        """
        if cell not in self._holdout:
            pooled = {x: self.pooled(cell, "holdout", x) for x in self.run.labels}
            self._holdout[cell] = {label: result for label, result in pooled.items() if result}
        return self._holdout[cell]

    def choices(self, cell: Cell) -> dict[str, dict[str, Choice]]:
        """Return the choices of the algorithms whose hold-out users of a cell are done; kept.

        If parameters are chosen for each user, the choices are placeholders without values.
        """
        experiment = self.run.experiment
        if experiment.tuning_on == "user":
            unchosen = Choice((), {}, math.nan, ())
            by_metric = dict.fromkeys(experiment.metrics, unchosen)
            return dict.fromkeys(self.run.labels, by_metric)
        if cell not in self._choices:
            errors = {label: result.sums for label, result in self.holdout(cell).items()}
            is_whole = len(errors) == len(experiment.algorithms)
            can_choose = is_whole or not experiment.has_joint_choices
            self._choices[cell] = choose_parameters(experiment, errors) if can_choose else {}
        return self._choices[cell]


@dataclass(frozen=True)
class Outcome:
    """Outcome of a run: a line for each failure, and the rows of ``repeats.csv`` so far.

    The experiment has as many repeats as the files. `was_finished`: there was nothing left to do.
    """

    experiment: Experiment
    failures: list[str]
    repeats: pd.DataFrame
    was_finished: bool


def open_store(run: Run, folder: RunFolder) -> Store:
    """Open the store of a run; raise a `StoreError` if it cannot be used."""
    folder.check_store()
    try:
        return Store(folder.store, run.identity())
    except StoreError as error:
        if "not a readable store" not in str(error) or not _has_whole_results(run, folder):
            raise
        keep = f"or keep the results in {folder.path}: they are complete, and need no store"
        raise StoreError(f"{error}; {keep}") from error


def _has_whole_results(run: Run, folder: RunFolder) -> bool:
    """Return whether the files of a folder are unchanged and have the whole experiment."""
    experiment = run.experiment
    keys = (run.plan.cells, experiment.algorithms, experiment.metrics)
    try:
        files = json.loads(folder.provenance.read_bytes())["files"]
        return files[folder.repeats.name]["rows"] == math.prod(map(len, keys)) and all(
            hashlib.sha256((folder.path / name).read_bytes()).hexdigest() == file["sha256"]
            for name, file in files.items()
        )
    except (OSError, ValueError, LookupError, TypeError):
        return False


def run_session(
    run: Run,
    folder: RunFolder,
    evaluate: Evaluate,
    progress: IO[str] | None = None,
    *,
    fresh: bool = False,
    command: str = "",
    report: Callable[[str], None] = lambda line: None,
    reusable: Sequence[tuple[Run, RunFolder]] = (),
) -> Outcome:
    """Evaluate missing units, and write the files of all finished parts of the experiment.

    `progress` is the stream of the progress bar; `report` receives messages about damaged rows and
    reused results. `reusable` are finished runs; equal results are copied from them.

    Raises a `StoreError` if the folder holds results of something else or its store cannot be used,
    an `OutputError` or `RunError` if a file cannot be written or units cannot be evaluated.
    """
    try:
        if fresh:
            folder.clear()
        with open_store(run, folder) as store:
            if store.n_damaged:
                report(f"{folder.store}: {store.n_damaged} damaged rows will be recomputed")
            remove_leftovers(folder.path, {path.name for path in folder.written})
            was_finished = all(
                store.has(unit, label) for unit in run.plan.all() for label in run.labels
            )
            begun, tally = time.perf_counter(), Tally(run, store)
            try:
                for other, where in reusable:
                    if n_reused := _copy_results(run, store, other, where):
                        report(f"reused: {n_reused:,} users of {other.experiment.name}")
                failures = execute(run, store, tally, progress, evaluate)
            finally:
                seconds = time.perf_counter() - begun
                experiment = _write_files(run, store, tally, folder, command, seconds)
    except OSError as error:
        raise RunError(f"cannot write to {folder.path}: {error.strerror or error}") from error
    repeats = pd.read_csv(folder.repeats) if folder.has_results else pd.DataFrame()
    return Outcome(experiment, failures, repeats, was_finished)


def execute(
    run: Run, store: Store, tally: Tally, stream: IO[str] | None, evaluate: Evaluate
) -> list[str]:
    """Evaluate units that are missing in the store; return a line for every failure."""
    work = _work(run)
    done = [unit for unit in work if all(store.has(unit, label) for label in run.labels)]
    n_users, n_done = (sum(len(unit.users) for unit in units) for units in (work, done))
    failures: list[str] = []
    with tqdm(
        desc=run.experiment.name,
        total=sum(work.values()),
        initial=sum(work[unit] for unit in done),
        unit=f"{n_done:,}/{n_users:,} users",
        bar_format="{desc}: {percentage:3.0f}% |{bar:20}| {unit} [{elapsed}, {remaining} left]",
        file=stream,
        disable=stream is None or n_done == n_users,
        mininterval=0.2 if stream is not None and stream.isatty() else 15,
        smoothing=0,
    ) as bar:
        for number in range(len(run.plan.repeats) + 1):
            # Largest tasks first: small ones at the end keep all workers busy.
            jobs = list(_jobs(run, store, tally, number))[::-1]
            for result in evaluate(run.experiment, jobs):
                store.save(result)
                unit = result.unit
                n_done += len(unit.users)
                bar.unit = f"{n_done:,}/{n_users:,} users"
                bar.update(work[unit])
                where = f"group {group_name(unit.cell.group)}, repeat {unit.cell.repeat + 1}"
                for label, reason in result.failures.items():
                    failures.append(f"{label} failed, {where}, {unit.role} {reason}")
    return failures


def _work(run: Run) -> dict[Unit, int]:
    """Return the time that each unit takes, roughly and in no unit, to tell how much is left."""
    counts = ratings_of(run.experiment.data).counts
    return {
        unit: int(np.square(counts[list(unit.users)]).sum()) * _WORK[unit.role]
        for unit in run.plan.all()
    }


def _jobs(run: Run, store: Store, tally: Tally, number: int) -> Iterator[Job]:
    """Yield the units of a round with the algorithms that are missing in the store."""
    for (cell, role), units in run.plan.units.items():
        if cell.repeat != (number if role == "holdout" else number - 1):
            continue
        choices = {x: {} for x in run.labels} if role == "holdout" else tally.choices(cell)
        wanted = {label: choices[label] for label in run.labels if label in choices}
        for unit in units:
            missing = {label: x for label, x in wanted.items() if not store.has(unit, label)}
            if missing:
                yield unit, tuple(missing), missing


def can_reuse(ours: Experiment, other: Experiment, label: str) -> bool:
    """Return whether our results of an algorithm can be copied from another experiment.

    Experiments that differ only in name, repeats, metrics and algorithms have the same tasks.
    """
    may_differ = {"name", "table", "repeats", "metrics", "algorithms"}
    return (
        other.algorithms.get(label) == ours.algorithms[label]
        and not ours.has_joint_choices
        and set(ours.metrics) <= set(other.metrics)
        and other.model_dump(exclude=may_differ) == ours.model_dump(exclude=may_differ)
    )


def _copy_results(run: Run, store: Store, other: Run, folder: RunFolder) -> int:
    """Copy missing results from the store of another run; return the number of users."""
    ours = run.experiment
    labels = [label for label in run.labels if can_reuse(ours, other.experiment, label)]
    if not labels or not folder.has_store:
        return 0
    copied: list[UnitResult] = []
    with Store(folder.store, other.identity()) as source:
        for unit in run.plan.all():
            missing = [label for label in labels if not store.has(unit, label)]
            results = {label: result for label in missing if (result := source.load(unit, label))}
            copied += [UnitResult(unit, results, {})] if results else []
    store.save(*copied)
    return sum(len(result.unit.users) for result in copied)


def _write_files(
    run: Run, store: Store, tally: Tally, folder: RunFolder, command: str, seconds: float
) -> Experiment:
    """Write the files of the whole experiment, including parts that earlier runs stored.

    Returns the experiment with the number of repeats in the files.
    """
    total = store.add_seconds(seconds)
    tables = _tables(tally)
    if folder.has_results and not tables[0]:  # damaged store: keep earlier results
        return run.experiment
    files: dict[str, dict[str, Any]] = {}
    for path, rows in zip((*folder.tables, folder.timings), tables, strict=True):
        if facts := write_csv(path, rows):
            files[path.name] = facts
    # The requested repeats, or more if an earlier run had more.
    repeats = max([len(run.plan.repeats), *(row["repeat"] for row in tables[0])])
    experiment = run.experiment.model_copy(update={"repeats": repeats})
    config = dump_yaml(experiment).encode()
    write_atomically(folder.config, config)
    files[folder.config.name] = {"sha256": hashlib.sha256(config).hexdigest()}
    identity = run.identity()
    facts = provenance() | {"command": command} | identity._asdict()
    facts |= {
        "code": hashlib.sha256(identity.code.encode()).hexdigest(),
        "experiment": run.experiment.name,
        "seed": run.experiment.seed,
        "repeats": repeats,
        "seconds": total,
        "files": files,
    }
    write_atomically(folder.provenance, f"{json.dumps(facts, indent=2)}\n".encode())
    return experiment


def _tables(tally: Tally) -> tuple[list[Row], ...]:
    """Return the rows of repeats, users, curves and timings, by group, repeat and algorithm.

    A group, repeat and algorithm is included once all its hold-out and test users are done.
    """
    tables: tuple[list[Row], ...] = ([], [], [], [])
    repeats, users, curves, timings = tables
    experiment = tally.run.experiment
    further = [find_axis(key) for x in experiment.algorithms.values() for key in x.grid()]
    columns = dict.fromkeys([*AXES.values(), *further])
    for cell in sorted(tally.run.plan.cells, key=lambda cell: (cell.group, cell.repeat)):
        for label, choices in tally.choices(cell).items():
            holdout, test = tally.holdout(cell).get(label), tally.pooled(cell, "test", label)
            if not test:
                continue
            spec = experiment.algorithms[label]
            axes = grid_axes(spec, experiment.kernel.widths)
            key = {"group": group_name(cell.group), "repeat": cell.repeat + 1, "algorithm": label}
            for metric, choice in choices.items():
                tested = [user for user in test.users if user.metric == metric]
                row = key | {
                    "method": spec.method,
                    "metric": metric,
                    "test_error": float(np.mean([user.error for user in tested])),
                    "holdout_error": choice.holdout_error,
                    "n_users": len(tested),
                    **{axis.column: choice.values.get(axis.key, "") for axis in columns},
                    "on_edge": " ".join(find_axis(name).column for name in choice.on_edge),
                    "basis_functions": float(np.mean([user.n_basis for user in tested])),
                    "basis_share": float(np.mean([x.n_basis / x.n_points for x in tested])),
                }
                repeats.append(row)
                users += [key | {"metric": metric} | user._asdict() for user in tested]
                for number, (axis, values) in enumerate(axes.items()):
                    # Errors along one numeric axis, at the chosen values of the others.
                    has_test, none = axis == N_BASIS.key, [""] * len(values)
                    if not all(map(is_number, values)) or not (holdout or has_test):
                        continue
                    point: list[Any] = list(choice.index)
                    point[number : number + 1] = [slice(None)]
                    chosen = holdout.sums[metric][tuple(point)] if holdout else none
                    tried = test.sums[metric] if has_test else none
                    for value, x, y in zip(values, chosen, tried, strict=True):
                        place = {"metric": metric, "axis": find_axis(axis).column, "value": value}
                        curves.append(key | place | {"holdout_error": x, "test_error": y})
            for role, result in zip(ROLES, (holdout, test), strict=True):
                seconds = round(result.seconds, 3) if result else 0.0
                timings.append(key | {"role": role, "seconds": seconds})
    return tables


TIMED_USERS = 6  # per group and role


def estimate(run: Run) -> float:
    """Estimate the seconds that a run takes with one worker, from a few users per group."""
    experiment, plan = run.experiment, run.plan
    counts = ratings_of(experiment.data).counts
    total = 0.0
    for cell in [cell for cell in plan.cells if cell.repeat == plan.repeats[0]]:
        choices: dict[str, dict[str, Choice]] = {}
        for role in ROLES:
            if not (units := plan.units[cell, role]):
                continue
            # Users by number of ratings, from the fewest to the most: time grows faster than that.
            users = [user for unit in units for user in unit.users]
            places = np.unique(np.linspace(0, len(users) - 1, TIMED_USERS).round().astype(int))
            timed = [replace(units[0], users=(users[place],)) for place in places]
            evaluate_unit(experiment, timed[0], run.labels, choices)  # warm up
            seconds, sums = [], dict[str, dict[str, Any]]()
            for unit in timed:
                begun = time.perf_counter()
                results = evaluate_unit(experiment, unit, run.labels, choices).results
                seconds.append(time.perf_counter() - begun)
                for label, result in results.items():
                    for metric, errors in result.sums.items():
                        of_label = sums.setdefault(label, {})
                        of_label[metric] = of_label.get(metric, 0.0) + errors
            sizes = counts[[users[place] for place in places]]
            total += len(plan.repeats) * float(np.interp(counts[users], sizes, seconds).sum())
            if role == "holdout":
                choices = choose_parameters(experiment, sums)
    return total
