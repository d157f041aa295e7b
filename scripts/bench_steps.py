"""A benchmark step by step: it shows where it is, and keeps what is finished when it is stopped."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Rows = list[list[Any]]
Tables = dict[str, Rows]
"""Rows of tables, by the first header of each."""


@dataclass(frozen=True)
class Step:
    """A part of a benchmark.

    Attributes
    ----------
    title : str
        What is shown while it goes on.
    measure : callable
        Returns rows for one table or more.
    """

    title: str
    measure: Callable[[], Tables]


def measured(steps: Sequence[Step], keep: Callable[[Tables, str], None]) -> Tables:
    """Measure step after step; stopped, end the program with the status 130.

    Parameters
    ----------
    steps : sequence of Step
    keep : callable
        Takes all rows so far, and a word on what is missing, after every step.

    Returns
    -------
    Tables
    """
    found: Tables = {}
    begun = time.monotonic()
    for number, step in enumerate(steps, 1):
        at = f"{number} of {len(steps)}, after {time.monotonic() - begun:.0f} s"
        print(f"{at}: {step.title}", file=sys.stderr, flush=True)
        try:
            rows = step.measure()
        except KeyboardInterrupt:
            print(f"stopped in step {number}; what is finished is kept", file=sys.stderr)
            sys.exit(130)
        for table, of_table in rows.items():
            found.setdefault(table, []).extend(of_table)
        left = ", ".join(other.title for other in steps[number:])
        keep(found, f"Not finished; missing: {left}." if left else "")
    print(f"{len(steps)} steps in {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return found
