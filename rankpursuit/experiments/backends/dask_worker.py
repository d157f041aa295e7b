"""What a worker of a cluster does: it tells what it has, and evaluates units.

A unit carries what the client has, and a worker that has anything else refuses it: one that joins
in the middle of a run is checked before its first result. The data set stays on the worker, loaded
once in each process.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy
from threadpoolctl import threadpool_info, threadpool_limits

import rankpursuit
from rankpursuit.datasets.locate import data_folders
from rankpursuit.datasets.ratings import Ratings
from rankpursuit.errors import RunError
from rankpursuit.experiments.config import (
    DataSpec,
    Experiment,
    RatingsSpec,
    SyntheticSpec,
    ratings_of,
)
from rankpursuit.experiments.evaluate import Job, UnitResult, evaluate_units

Facts = dict[str, str]
"""What results depend on besides the config: versions, the kernels of BLAS, the data."""

_loading = threading.Lock()


@dataclass(frozen=True)
class Parcel:
    """A job on its way to a worker."""

    experiment: Experiment
    facts: Facts
    job: Job


def evaluate(parcel: Parcel) -> list[UnitResult]:
    """Evaluate a job, if all that its results depend on is as it is with the client."""
    _limit_threads()
    data = _as_found_here(parcel.experiment.data)
    if facts(data) != parcel.facts:
        raise RunError("a worker is unlike the client")
    experiment = parcel.experiment.model_copy(update={"data": data})
    return evaluate_units(experiment, *parcel.job)


async def report(data: DataSpec) -> Facts:
    """Return the facts of this worker, with the data set as it is on disk now."""
    ratings_of.cache_clear()
    return await asyncio.to_thread(facts, _as_found_here(data))


def facts(data: DataSpec) -> Facts:
    """Return the facts of this process."""
    with _loading:  # threads of one worker share one table
        checksum = _checksum(ratings_of(data))
    return {**versions(), "BLAS": _blas(), "data": checksum}


def versions() -> Facts:
    """Return the versions that results depend on."""
    return {
        "rankpursuit": rankpursuit.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


@lru_cache(maxsize=1)
def _blas() -> str:
    """BLAS chooses kernels by the kind of processor, and each rounds in its own way."""
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    names = {f"{x['internal_api']} {x.get('architecture')}" for x in libraries}
    return ", ".join(sorted(names))


@lru_cache(maxsize=1)
def _checksum(ratings: Ratings) -> str:
    return ratings.checksum()


@lru_cache(maxsize=1)
def _limit_threads() -> None:
    """Limit BLAS for good: units in several threads would lift each other's limit."""
    threadpool_limits(limits=1)


def _as_found_here(data: DataSpec) -> DataSpec:
    """Look in the usual places of this machine for data that is not at the client's path."""
    if isinstance(data, SyntheticSpec) or data.path is None or Path(data.path).exists():
        return data
    if not isinstance(data, RatingsSpec):
        return data.model_copy(update={"path": None})
    candidates = [folder / Path(data.path).name for folder in data_folders()]
    found = next((file for file in candidates if file.is_file()), None)
    return data.model_copy(update={"path": str(found)}) if found else data
