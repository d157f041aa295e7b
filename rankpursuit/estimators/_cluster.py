"""Parts of the training rows on the workers of a Dask cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from rankpursuit.errors import ClusterError, DataError
from rankpursuit.estimators._dictionary import Dictionary, Indices
from rankpursuit.estimators._kernels import Array
from rankpursuit.estimators._spread import Spread
from rankpursuit.estimators._tally import BlockSums, unpacked

if TYPE_CHECKING:
    from rankpursuit.estimators._block_sums import SumsOfBlocks

AHEAD = 2
"""Tasks for each thread of the cluster that are under way: one that runs, and one to go on with."""


@dataclass(frozen=True)
class Look:
    """What is known of a part before its rows are added up."""

    n_rows: int
    n_features: int
    names: list[str] | None
    spread: Spread


class Cluster:
    """The workers of a cluster, with parts of the training rows.

    Parameters
    ----------
    client : distributed.Client
    parts : iterable
        Futures, Dask delayeds or functions; see `fit_on_cluster`.
    """

    def __init__(self, client: Any, parts: Iterable[Any]) -> None:
        self._client = client
        self._parts = list(parts)
        if not self._parts:
            raise ValueError("there are no parts to learn from")

    def look(self, model: SumsOfBlocks) -> list[Look]:
        """Check each part, and count its rows."""
        with self._lost():
            common = self._client.submit(_same, clone(model), pure=False)
        return list(self._results(look, ((part, common) for part in self._parts)))

    def take_rows(self, counts: list[int], rows: Indices) -> Array:
        """Take some rows, in rising order, counted along the parts; shape (len(rows), d)."""
        ends = np.cumsum(counts)
        cuts = np.searchsorted(rows, ends)
        wanted = [
            part - start
            for part, start in zip(np.split(rows, cuts)[:-1], ends - counts, strict=True)
        ]
        arguments = (
            (part, of_part)
            for part, of_part in zip(self._parts, wanted, strict=True)
            if len(of_part)
        )
        return np.concatenate(list(self._results(take_rows, arguments)))

    def sums(self, model: SumsOfBlocks, dictionary: Dictionary) -> Iterator[BlockSums]:
        """Add up each part."""
        with self._lost():
            common = self._client.submit(_same, (clone(model), dictionary), pure=False)
        yield from self._results(sum_part, ((part, common) for part in self._parts))

    def _results(self, task: Callable[..., Any], arguments: Iterable[tuple]) -> Iterator[Any]:
        """Run a task of each part; yield the results in the order of the parts."""
        under_way: deque[Any] = deque()
        waiting = iter(arguments)
        number = 0
        with self._lost():
            most = max(1, AHEAD * sum(self._client.nthreads().values()))
            while True:
                while len(under_way) < most and (one := next(waiting, None)) is not None:
                    under_way.append(self._submit(task, *one))
                if not under_way:
                    return
                number += 1
                yield self._result(under_way.popleft(), number)

    def _submit(self, task: Callable[..., Any], part: Any, *others: Any) -> Any:
        from dask.delayed import Delayed

        if isinstance(part, Delayed):
            part = self._client.compute(part)
        return self._client.submit(task, part, *others, pure=False)

    def _result(self, future: Any, number: int) -> Any:
        from distributed import KilledWorker

        try:
            return future.result()
        except DataError:
            raise
        except ValueError as error:
            raise ValueError(f"part {number}: {error}") from error
        except KilledWorker as error:
            raise ClusterError(
                [
                    f"part {number}: workers were killed or ran out of memory, several in turn; "
                    "make smaller parts"
                ]
            ) from error

    @contextmanager
    def _lost(self) -> Iterator[None]:
        try:
            yield
        except (CancelledError, OSError) as error:
            if self._client.status == "running" and not isinstance(error, CancelledError):
                raise
            raise ClusterError(
                ["the scheduler is gone, or dropped the parts; fit again when it is back"]
            ) from error


def look(part: Any, model: SumsOfBlocks) -> Look:
    """Check a part; on a worker."""
    model = clone(model)
    X = model._check_block(_load(part), reset=True).X
    names = getattr(model, "feature_names_in_", None)
    return Look(len(X), X.shape[1], None if names is None else list(names), Spread.of(X))


def take_rows(part: Any, rows: Indices) -> Array:
    """Take some rows of a part; on a worker."""
    return np.asarray(np.asarray(_load(part)[0])[rows], dtype=np.float64)


def sum_part(part: Any, common: tuple[SumsOfBlocks, Dictionary]) -> BlockSums:
    """Add up a part; on a worker."""
    model, dictionary = common
    model = clone(model)
    return model._sum_block(dictionary, model._check_block(_load(part), reset=True))


def _load(part: Any) -> tuple[ArrayLike, ArrayLike, ArrayLike | None]:
    return unpacked(part() if callable(part) else part)


def _same(common: Any) -> Any:
    return common
