"""A run: the plan of its units, their evaluation, and the files that they leave.

A run is a map over units of work with the store as its only state. Round r evaluates the hold-out
users of repeat r and the test users of repeat r - 1, whose parameters are known by then: this keeps
all workers busy, and repeats are completed as early as possible.
"""

from __future__ import annotations

import hashlib
import io
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from rankpursuit.datasets.ratings import Ratings
from rankpursuit.errors import ConfigError, RunError, StoreError, TooFewUsersError
from rankpursuit.experiments.backends import Evaluate, Job
from rankpursuit.experiments.config import Experiment, dump_yaml, ratings_of
from rankpursuit.experiments.evaluate import (
    AlgorithmResult,
    Cell,
    Choice,
    Unit,
    UnitResult,
    choose,
    criteria,
    evaluate_unit,
    holdout_metrics,
    joint_error,
)
from rankpursuit.experiments.export import Row, RunFolder, csv_text, provenance, write_csv
from rankpursuit.experiments.grids import is_number
from rankpursuit.experiments.methods import N_BASIS, find_axis, grid_axes, result_axes
from rankpursuit.experiments.names import suggestion
from rankpursuit.experiments.problem import Array
from rankpursuit.experiments.protocol import (
    Group,
    Protocol,
    Role,
    build_task,
    check_numbers,
    draw_users,
    group_name,
    group_users,
)
from rankpursuit.experiments.store import Identity, Store
from rankpursuit.writing import remove_leftovers, write_atomically

CHUNK = 10
"""Users of a unit, which is what a killed run loses for each worker: on average half a second of
work on Jester, one and a half on MovieLens."""
ROLES: tuple[Role, ...] = ("holdout", "test")


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


def make_plan(
    ratings: Ratings,
    protocol: Protocol,
    *,
    seed: int,
    repeats: int,
    groups: Sequence[Group],
    known: Plan | None = None,
) -> Plan:
    """List the units of some groups of an experiment, or extend the plan of a part of it.

    Raises
    ------
    TooFewUsersError
        If there are too few users to draw test, hold-out or reference users from.
    """
    if known is None:
        _check_numbers_of_users(ratings, protocol, seed, groups)
    units = dict(known.units) if known else {}
    for cell in (Cell(repeat, group) for repeat in range(repeats) for group in groups):
        key: dict[str, Any] = {"seed": seed, "group": cell.group, "repeat": cell.repeat}
        for role in ROLES:
            if (cell, role) not in units:
                drawn = draw_users(ratings, protocol, **key, role=role)
                # Users with similar numbers of items share a unit, which evaluates them together.
                users = drawn[np.argsort(ratings.counts[drawn], kind="stable")].tolist()
                units[cell, role] = tuple(
                    Unit(cell, role, chunk, tuple(users[start : start + CHUNK]))
                    for chunk, start in enumerate(range(0, len(users), CHUNK))
                )
    return Plan(units)


def _check_numbers_of_users(
    ratings: Ratings, protocol: Protocol, seed: int, groups: Sequence[Group]
) -> None:
    """Raise a `TooFewUsersError` with everything that there are too few users for."""
    problems: list[str] = []
    for group in groups:
        try:
            check_numbers(ratings, protocol, group)
            members = group_users(ratings, group)
            for role in ROLES:
                key: dict[str, Any] = {"seed": seed, "group": group, "repeat": 0, "role": role}
                users = draw_users(ratings, protocol, **key)
                # A user of the group is missing among the reference users.
                user = int(users[np.argmax(np.isin(users, members))])
                build_task(ratings, protocol, **key, user=user)
        except TooFewUsersError as error:
            problems += error.faults
    if problems:
        raise TooFewUsersError(*dict.fromkeys(problems))


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
        """Plan an experiment, or a part of it.

        Parameters
        ----------
        experiment : Experiment
        repeats : int, optional
            Number of repeats, which may exceed what the experiment declares.
        only, groups : sequence of str
            Labels of algorithms, and names of groups such as ``20-40``. Default: all.

        Raises
        ------
        ConfigError
            If the experiment lacks an algorithm or group, or there are too many repeats.
        TooFewUsersError
            If there are too few users to draw test, hold-out or reference users from.
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
        if excess := experiment.excess_work(repeats):
            problems.append(f"--repeats: {excess}")
        if problems:
            raise ConfigError(problems)
        plan = make_plan(
            ratings_of(experiment.data),
            experiment.protocol,
            seed=experiment.seed,
            repeats=repeats,
            groups=[group for name, group in names.items() if not groups or name in groups],
        )
        labels = tuple(label for label in experiment.algorithms if not only or label in only)
        return cls(experiment, plan, labels)

    def whole(self, repeats: int) -> Self:
        """Return the whole experiment, of which this is a part, with some number of repeats."""
        experiment, ratings = self.experiment, ratings_of(self.experiment.data)
        key: dict[str, Any] = {"seed": experiment.seed, "groups": experiment.protocol.groups}
        plan = make_plan(ratings, experiment.protocol, **key, repeats=repeats, known=self.plan)
        return replace(self, plan=plan, labels=tuple(experiment.algorithms))

    def identity(self) -> Identity:
        """Return what a store of this run belongs to."""
        return Identity(self.experiment.digest(), ratings_of(self.experiment.data).checksum())

    def results(self, store: Store, cell: Cell, role: Role, label: str) -> list[AlgorithmResult]:
        """Return an algorithm's results on all units of a cell and role; none if one is missing."""
        found = [store.load(unit, label) for unit in self.plan.units[cell, role]]
        return [result for result in found if result] if all(found) else []

    def mean_errors(self, results: Sequence[AlgorithmResult], role: Role) -> dict[str, Array]:
        """Return the mean errors over the users of a cell and role, by metric."""
        protocol = self.experiment.protocol
        n_users = protocol.holdout_users if role == "holdout" else protocol.test_users
        return {
            metric: np.sum([result.sums[metric] for result in results], axis=0) / n_users
            for metric in (results[0].sums if results else ())
        }

    def choices(self, store: Store, cell: Cell) -> dict[str, dict[str, Choice]]:
        """Return the choices of all algorithms whose hold-out users are done."""
        results = {label: self.results(store, cell, "holdout", label) for label in self.labels}
        return {
            label: self.choose(label, self.mean_errors(found, "holdout"))
            for label, found in results.items()
            if found
        }

    def choose(self, label: str, errors: Mapping[str, Array]) -> dict[str, Choice]:
        """Return the choice of one algorithm for each metric, given its errors over the grid."""
        spec, kernel = self.experiment.algorithms[label], self.experiment.kernel
        axes = grid_axes(spec, kernel.widths)
        found: dict[str, Choice] = {}
        for metric in self.experiment.metrics:
            used = criteria(spec.method, self.experiment.tuning, metric)
            error = joint_error([errors[name] for name in used])
            choice = choose(error, axes, wide_is_smooth=kernel.parameter == "sigma")
            found[metric] = replace(choice, holdout_error=float(errors[metric][choice.index]))
        return found


class Progress:
    """Receives what a run does; this one shows nothing."""

    def start(self, run: Run, done: Sequence[Unit]) -> None:
        """Begin a run, with the units that an earlier run has done."""

    def add(self, result: UnitResult, *, earlier: bool = False) -> None:
        """Receive the results of a unit, of this run or of an earlier one."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a run.

    Attributes
    ----------
    experiment : Experiment
        With as many repeats as the files have.
    failures : list of str
        A line for each failure of an algorithm.
    repeats : DataFrame
        The rows of ``repeats.csv``, of the whole experiment; empty if nothing is complete.
    was_finished : bool
        Whether an earlier run had done everything.
    """

    experiment: Experiment
    failures: list[str]
    repeats: pd.DataFrame
    was_finished: bool


def check_folder(run: Run, folder: RunFolder) -> None:
    """Raise a StoreError if a folder holds results without a store, or of something else."""
    folder.check_store()
    if folder.has_store:
        Store(folder.store, run.identity()).close()


def run_session(
    run: Run,
    folder: RunFolder,
    evaluate: Evaluate,
    progress: Progress | None = None,
    *,
    fresh: bool = False,
    command: str = "",
    tell: Callable[[str], None] = lambda line: None,
    lenders: Sequence[tuple[Run, RunFolder]] = (),
) -> Outcome:
    """Evaluate what is missing, and write the files of all of the experiment that is done.

    Parameters
    ----------
    run : Run
    folder : RunFolder
    evaluate : callable
        Evaluates the units: `Backend.evaluate`.
    progress : Progress, optional
    fresh : bool
        Remove earlier results first.
    command : str
        For the provenance.
    tell : callable
        Receives a line about damaged rows of the store, and about reused results.
    lenders : sequence of (Run, RunFolder)
        Finished runs whose results are reused where they are the same.

    Returns
    -------
    Outcome

    Raises
    ------
    StoreError
        If the folder holds results of something else, or the store cannot be used.
    OutputError, RunError
        If a file cannot be written, or the units cannot be evaluated.
    """
    identity = run.identity()
    try:
        if fresh:
            folder.clear()
        folder.check_store()
        with Store(folder.store, identity) as store:
            if store.n_damaged:
                tell(f"{folder.store}: {store.n_damaged} damaged rows, which are computed again")
            remove_leftovers(folder.path, {path.name for path in folder.written})
            was_finished = all(
                store.has(unit, label) for unit in run.plan.all() for label in run.labels
            )
            begun, origin = time.time(), {"command": command} | identity._asdict()
            try:
                for other, where in lenders:
                    if n_reused := _borrow(run, store, other, where):
                        tell(f"reused: {n_reused:,} users of {other.experiment.name}")
                failures = execute(run, store, progress or Progress(), evaluate)
            except StoreError:  # nothing can be read for the files
                raise
            except BaseException:
                _write_files(run, store, folder, origin, time.time() - begun)
                raise
            experiment, rows = _write_files(run, store, folder, origin, time.time() - begun)
            return Outcome(experiment, failures, rows, was_finished)
    except OSError as error:
        raise RunError(f"cannot write to {folder.path}: {error.strerror or error}") from error


def execute(run: Run, store: Store, progress: Progress, evaluate: Evaluate) -> list[str]:
    """Evaluate what is missing in the store; return a line for every failure."""
    done = [u for u in run.plan.all() if all(store.has(u, label) for label in run.labels)]
    progress.start(run, done)
    for unit in done:
        if unit.role == "test":
            found = {label: store.load(unit, label) for label in run.labels}
            results = {label: result for label, result in found.items() if result}
            progress.add(UnitResult(unit, results, {}), earlier=True)
    failures: list[str] = []
    by_repeat = [[cell for cell in run.plan.cells if cell.repeat == r] for r in run.plan.repeats]
    for holdout, test in zip([*by_repeat, []], [[], *by_repeat], strict=True):
        # The largest tasks of a cell are its last. Small ones at the end keep all workers busy.
        jobs = list(_jobs(run, store, holdout, test))[::-1]
        for result in evaluate(run.experiment, jobs):
            store.save(result)
            progress.add(result)
            cell, role = result.unit.cell, result.unit.role
            where = f"group {group_name(cell.group)}, repeat {cell.repeat + 1}, {role}"
            for label, reason in result.failures.items():
                failures.append(f"{label} failed, {where} {reason}")
    return failures


def _jobs(run: Run, store: Store, holdout: list[Cell], test: list[Cell]) -> Iterator[Job]:
    """Yield units with the algorithms that are missing in the store."""
    for unit in run.plan.of(holdout, "holdout"):
        if missing := tuple(label for label in run.labels if not store.has(unit, label)):
            yield unit, missing, {}
    for cell in test:
        choices = run.choices(store, cell)
        for unit in run.plan.of([cell], "test"):
            if missing := tuple(label for label in choices if not store.has(unit, label)):
                yield unit, missing, {label: choices[label] for label in missing}


def can_reuse(ours: Experiment, other: Experiment, label: str) -> bool:
    """Return whether another experiment computes all that ours needs of an algorithm.

    Experiments that differ only in name, repeats, metrics and algorithms have the same tasks.
    """
    own = {"name", "table", "repeats", "metrics", "algorithms"}
    return (
        other.algorithms.get(label) == ours.algorithms[label]
        and set(ours.metrics) <= set(other.metrics)
        and other.model_dump(exclude=own) == ours.model_dump(exclude=own)
    )


def _borrow(run: Run, store: Store, other: Run, folder: RunFolder) -> int:
    """Copy what is missing in a store from that of another run; return the number of users."""
    ours = run.experiment
    labels = [label for label in run.labels if can_reuse(ours, other.experiment, label)]
    if not labels or not folder.has_store:
        return 0
    copied: list[UnitResult] = []
    with Store(folder.store, other.identity()) as lender:
        for unit in run.plan.all():
            found: dict[str, AlgorithmResult] = {}
            for label in labels:
                result = None if store.has(unit, label) else lender.load(unit, label)
                if result:
                    test = unit.role == "test"
                    wanted = set(ours.metrics) if test else holdout_metrics(ours, label)
                    sums = {metric: x for metric, x in result.sums.items() if metric in wanted}
                    users = [user for user in result.users if user.metric in wanted]
                    found[label] = AlgorithmResult(sums, users, result.seconds)
            if found:
                copied.append(UnitResult(unit, found, {}))
    store.save(*copied)
    return sum(len(result.unit.users) for result in copied)


def _write_files(
    run: Run, store: Store, folder: RunFolder, origin: dict[str, Any], seconds: float
) -> tuple[Experiment, pd.DataFrame]:
    """Write all that the store has of the whole experiment, of which a part was run now.

    A group, repeat and algorithm appears once all its hold-out and test users are done.

    Returns
    -------
    Experiment
        The experiment with as many repeats as the files have.
    DataFrame
        The rows of ``repeats.csv``; empty if nothing is complete.
    """
    total = store.add_seconds(seconds)
    whole = run.whole(max(len(run.plan.repeats), store.repeats))
    done = list(_complete(whole, store))
    tables = {
        folder.repeats: _Part.repeats,
        folder.users: _Part.users,
        folder.curves: _Part.curves,
        folder.timings: _Part.timings,
    }
    files: dict[str, dict[str, Any]] = {}
    for path, rows_of in tables.items():
        if facts := write_csv(path, (row for part in done for row in rows_of(part))):
            files[path.name] = facts
    # As many repeats as were asked for, or as the tables hold from an earlier, larger run.
    repeats = max([len(run.plan.repeats), *(part.cell.repeat + 1 for part in done)])
    experiment = run.experiment.model_copy(update={"repeats": repeats})
    config = dump_yaml(experiment).encode()
    write_atomically(folder.config, config)
    files[folder.config.name] = {"sha256": hashlib.sha256(config).hexdigest()}
    facts = provenance() | origin
    facts |= {
        "experiment": run.experiment.name,
        "seed": run.experiment.seed,
        "repeats": repeats,
        "seconds": total,
        "files": files,
    }
    write_atomically(folder.provenance, f"{json.dumps(facts, indent=2)}\n".encode())
    rows = [row for part in done for row in part.repeats()]
    frame = pd.read_csv(io.StringIO(csv_text(rows))) if rows else pd.DataFrame()
    return experiment, frame


class _Part:
    """An algorithm's results in one cell."""

    def __init__(
        self,
        run: Run,
        cell: Cell,
        label: str,
        holdout: list[AlgorithmResult],
        test: list[AlgorithmResult],
    ) -> None:
        self.cell, self._run, self._test = cell, run, test
        self._spec = run.experiment.algorithms[label]
        self._axes = result_axes(run.experiment.algorithms.values())
        self._holdout = run.mean_errors(holdout, "holdout")
        self._along = run.mean_errors(test, "test")
        self._choices = run.choose(label, self._holdout)
        self._seconds = {
            role: sum(result.seconds for result in results)
            for role, results in (("holdout", holdout), ("test", test))
        }
        self._key: Row = {
            "group": group_name(cell.group),
            "repeat": cell.repeat + 1,
            "algorithm": label,
        }

    def repeats(self) -> Iterator[Row]:
        for metric, choice in self._choices.items():
            users = [u for result in self._test for u in result.users if u.metric == metric]
            yield self._key | {
                "method": self._spec.method,
                "metric": metric,
                "test_error": float(np.mean([user.error for user in users])),
                "holdout_error": choice.holdout_error,
                "n_users": len(users),
                **{axis.column: choice.values.get(axis.key, "") for axis in self._axes},
                "on_edge": " ".join(find_axis(key).column for key in choice.on_edge),
                "basis_functions": float(np.mean([user.n_basis for user in users])),
                "basis_share": float(np.mean([user.n_basis / user.n_points for user in users])),
            }

    def users(self) -> Iterator[Row]:
        names = ("user", "error", "n_basis", "n_points", "n_test")
        for metric in self._choices:
            for result in self._test:
                for user in result.users:
                    if user.metric == metric:
                        own = {name: getattr(user, name) for name in names}
                        yield self._key | {"metric": metric} | own

    def curves(self) -> Iterator[Row]:
        """Errors along one axis of the grid, the others as chosen."""
        axes = grid_axes(self._spec, self._run.experiment.kernel.widths)
        for metric, choice in self._choices.items():
            for number, (key, values) in enumerate(axes.items()):
                if not all(map(is_number, values)):
                    continue  # words have no order
                point: list[Any] = list(choice.index)
                point[number] = slice(None)
                holdout = self._holdout[metric][tuple(point)]
                test = self._along[metric] if key == N_BASIS.key else None
                for at, value in enumerate(values):
                    yield self._key | {
                        "metric": metric,
                        "axis": find_axis(key).column,
                        "value": value,
                        "holdout_error": float(holdout[at]),
                        "test_error": "" if test is None else float(test[at]),
                    }

    def timings(self) -> Iterator[Row]:
        for role, seconds in self._seconds.items():
            yield self._key | {"role": role, "seconds": round(seconds, 3)}


def _complete(run: Run, store: Store) -> Iterator[_Part]:
    """Yield what is complete: group by group, repeat by repeat, algorithm by algorithm."""
    for cell in sorted(run.plan.cells, key=lambda cell: (cell.group, cell.repeat)):
        for label in run.labels:
            test = run.results(store, cell, "test", label)
            holdout = run.results(store, cell, "holdout", label) if test else []
            if holdout:
                yield _Part(run, cell, label, holdout, test)


TIMED_USERS = 6
"""Users of each group and role that an estimate is based on."""


def estimate(run: Run) -> float:
    """Return the seconds that a run takes one worker, estimated from a few users of each group."""
    experiment, plan = run.experiment, run.plan
    total = 0.0
    for cell in [cell for cell in plan.cells if cell.repeat == plan.repeats[0]]:
        choices: dict[str, dict[str, Choice]] = {}
        for role in ROLES:
            if not (units := plan.units[cell, role]):
                continue
            # Units are sorted by the number of ratings of their users.
            quartiles = units[len(units) // 4], units[3 * len(units) // 4]
            few = tuple(user for unit in quartiles for user in unit.users[: TIMED_USERS // 2])
            unit = replace(units[0], users=few)
            evaluate_unit(experiment, replace(unit, users=few[:1]), run.labels, choices)  # warm up
            begun = time.perf_counter()
            results = evaluate_unit(experiment, unit, run.labels, choices).results
            seconds = (time.perf_counter() - begun) / len(few)
            total += seconds * len(plan.repeats) * sum(len(unit.users) for unit in units)
            if role == "holdout":
                choices = {label: run.choose(label, x.sums) for label, x in results.items()}
    return total
