"""The files of a run: plain tables written from the store, the same bytes for the same results."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankpursuit.experiments.config import group_name
from rankpursuit.experiments.evaluate import AlgorithmResult, Cell
from rankpursuit.experiments.grids import is_number
from rankpursuit.experiments.methods import N_BASIS, find_axis, grid_axes, result_axes
from rankpursuit.experiments.run.folder import RunFolder
from rankpursuit.experiments.run.run import Run, mean_errors
from rankpursuit.experiments.run.store import Store
from rankpursuit.writing import write_atomically

Row = dict[str, Any]
Facts = dict[str, int | str]
"""What the provenance says of a file: ``rows`` and ``sha256``."""


def write_results(run: Run, store: Store, folder: RunFolder) -> dict[str, Facts]:
    """Write repeats, users, curves and timings; return the facts of each file by its name.

    A group, repeat and algorithm appears once all its hold-out and test users are done.
    """
    done = list(_complete(run, store))
    tables = {
        folder.repeats: (row for part in done for row in part.repeats()),
        folder.users: (row for part in done for row in part.users()),
        folder.curves: (row for part in done for row in part.curves()),
        folder.timings: (row for part in done for row in part.timings()),
    }
    written = {path.name: write_csv(path, rows) for path, rows in tables.items()}
    return {name: facts for name, facts in written.items() if facts}


def write_csv(path: Path, rows: Iterable[Row]) -> Facts | None:
    """Write rows as CSV, compressed if the name ends so; no file if there are no rows.

    Returns
    -------
    Facts or None
        The number of rows and the SHA-256 of the file.
    """
    rows = list(rows)
    if not rows:
        path.unlink(missing_ok=True)
        return None
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    content = text.getvalue().encode()
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    write_atomically(path, content)
    return {"rows": len(rows), "sha256": hashlib.sha256(content).hexdigest()}


class _Part:
    """An algorithm's results in one cell."""

    def __init__(
        self,
        run: Run,
        cell: Cell,
        label: str,
        holdout: Sequence[AlgorithmResult],
        test: Sequence[AlgorithmResult],
    ) -> None:
        protocol = run.experiment.protocol
        self._run, self._results = run, test
        self._spec = run.experiment.algorithms[label]
        self._axes = result_axes(run.experiment.algorithms.values())
        self._holdout = mean_errors(holdout, protocol.holdout_users)
        self._lines = mean_errors(test, protocol.test_users)
        self._choices = run.choose(label, self._holdout)
        self._seconds = {
            role: sum(result.seconds for result in results)
            for role, results in (("holdout", holdout), ("test", test))
        }
        self.key = {
            "group": group_name(cell.group),
            "repeat": cell.repeat + 1,
            "algorithm": label,
        }

    def repeats(self) -> Iterator[Row]:
        for metric, choice in self._choices.items():
            users = [u for result in self._results for u in result.users if u.metric == metric]
            yield self.key | {
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
        for metric in self._choices:
            for result in self._results:
                for user in result.users:
                    if user.metric == metric:
                        yield self.key | {
                            "metric": metric,
                            "user": user.user,
                            "error": user.error,
                            "n_basis": user.n_basis,
                            "n_points": user.n_points,
                            "n_test": user.n_test,
                        }

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
                tested = self._lines[metric] if key == N_BASIS.key else None
                for at, value in enumerate(values):
                    yield self.key | {
                        "metric": metric,
                        "axis": find_axis(key).column,
                        "value": value,
                        "holdout_error": float(holdout[at]),
                        "test_error": "" if tested is None else float(tested[at]),
                    }

    def timings(self) -> Iterator[Row]:
        for role, seconds in self._seconds.items():
            yield self.key | {"role": role, "seconds": round(seconds, 3)}


def _complete(run: Run, store: Store) -> Iterator[_Part]:
    """Parts that are complete: group by group, repeat by repeat, algorithm by algorithm."""
    for cell in sorted(run.plan.cells, key=lambda cell: (cell.group, cell.repeat)):
        for label in run.labels:
            test = run.results(store, cell, "test", label)
            holdout = run.results(store, cell, "holdout", label) if test else []
            if holdout:
                yield _Part(run, cell, label, holdout, test)
