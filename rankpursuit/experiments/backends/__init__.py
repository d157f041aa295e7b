"""Backends: where the units of a run are evaluated. Each is a module with a function `connect`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from rankpursuit.experiments.config import DataSpec, Experiment
    from rankpursuit.experiments.evaluate import Job, UnitResult

BACKENDS = {
    "local": "processes of this machine",
    "dask": "the workers of a Dask cluster",
}
"""Every backend, which is a module of this package, and where it evaluates units."""


class Backend(Protocol):
    """Evaluates units somewhere; a context manager."""

    def __enter__(self) -> Self:
        """Begin."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End what was begun for this run."""

    def check(self, data: DataSpec) -> None:
        """Raise a `ClusterError` if a worker lacks what results depend on."""

    def count(self) -> int:
        """Return the number of units that are evaluated at the same time."""

    def evaluate(self, experiment: Experiment, jobs: Iterable[Job]) -> Iterator[list[UnitResult]]:
        """Evaluate units; yield the results of each job as they come.

        Raise a `RunError` if that cannot be.
        """


@dataclass(frozen=True)
class Options:
    """What a user can say about backends; each refuses what is not for it.

    Attributes
    ----------
    n_jobs : int, optional
        Number of worker processes.
    scheduler : str, optional
        Address of a scheduler.
    wait : float, optional
        Seconds to wait for a cluster that has no worker.
    tell : callable
        Takes lines for the user.
    """

    n_jobs: int | None = None
    scheduler: str | None = None
    wait: float | None = None
    tell: Callable[[str], None] = print


def check_options(name: str, options: Options) -> None:
    """Raise a `ConfigError` if the options do not fit the backend."""
    import_module(f"{__name__}.{name}").check_options(options)


def connect(name: str, options: Options) -> Backend:
    """Return a backend, ready to evaluate units."""
    backend: Backend = import_module(f"{__name__}.{name}").connect(options)
    return backend
