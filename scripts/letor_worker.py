"""One fit in a process of its own: its time, its memory, and what it gets right in each query.

A fit has one thread, and its time is that of the processor: other work on the machine adds little.
"""

from __future__ import annotations

import resource
import sys
import time
import warnings
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from letor_methods import METHODS
from ranking_data import DATA_SETS
from ranking_measures import per_query
from threadpoolctl import threadpool_limits

_RESET_PEAK = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


def measure(method: str, data: str, fold: str) -> dict[str, Any] | None:
    """Fit a method to a fold and judge it; None if a package that it needs is not installed."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_measure, (method, data, fold))


def _measure(method: str, data: str, fold: str) -> dict[str, Any] | None:
    warnings.simplefilter("ignore")
    threadpool_limits(1)
    split = next(one for one in DATA_SETS[data].folds() if one.name == fold)
    before = _start_of_peak()
    begun = time.process_time()
    try:
        fitted = METHODS[method].fit(split.train)
    except ImportError:
        return None
    seconds = time.process_time() - begun
    memory = _peak() - before
    begun = time.process_time()
    predictions = fitted.predict(split.test.X)
    return {
        "fit_seconds": seconds,
        "predict_seconds": time.process_time() - begun,
        "predicted": len(predictions),
        "memory_mb": memory,
        "size_kb": fitted.size / 1e3,
        "about": fitted.about,
        "queries": {
            name: [round(value, 6) for value in values]
            for name, values in per_query(split.test, predictions).items()
        },
    }


def _start_of_peak() -> float:
    """Forget the peak so far, where the system can do that; return what is in use, in MB."""
    if not _RESET_PEAK.exists():
        return _peak()
    _RESET_PEAK.write_text("5")
    return _of_status("VmRSS")


def _peak() -> float:
    """Most memory in use, in MB."""
    if _RESET_PEAK.exists():
        return _of_status("VmHWM")
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _of_status(name: str) -> float:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(name))
    return float(line.split()[1]) / 1e3
