"""What an experiment may ask for: found out by counting, before anything is loaded or planned."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from rankpursuit.experiments.catalogue import METHODS, AlgorithmSpec
from rankpursuit.experiments.catalogue.methods import SemiSupervisedSpec
from rankpursuit.experiments.config.protocol import Protocol
from rankpursuit.experiments.syntax.faults import Location, shown

MOST_REPEATS = 1000
"""Repeats of an experiment."""
MOST_TASKS = 2_000_000
"""Tasks of a run: test and hold-out users of all groups and repeats. The paper has 18,000."""
MOST_ALGORITHMS = 100
"""Algorithms of an experiment."""
MOST_NUMBERS = 10_000
"""Numbers of all grids together, which are written out in the config of a run."""
MOST_POINTS = 100_000
"""Points of an algorithm's grid, widths included, each with predictions for every test item."""


def excess_of_tasks(protocol: Protocol, n_groups: int, repeats: int) -> str | None:
    """Return what is wrong with a number of repeats, if it is too large or makes too many tasks."""
    if repeats > MOST_REPEATS:
        return f"expected a number of at most {MOST_REPEATS}, got {shown(repeats)}"
    users = protocol.test_users + protocol.holdout_users
    n_tasks = repeats * n_groups * users
    if n_tasks <= MOST_TASKS:
        return None
    return (
        f"{repeats} repeats of {n_groups} groups with {users} test and hold-out users make "
        f"{n_tasks:,} tasks, and {MOST_TASKS:,} is the most: lower repeats, test_users or "
        "holdout_users"
    )


def algorithm_faults(
    algorithms: Mapping[str, AlgorithmSpec], n_widths: int, protocol: Protocol
) -> Iterator[tuple[Location, str]]:
    """Return what is wrong with algorithms in their experiment, each with its key.

    Parameters
    ----------
    algorithms : mapping
        The algorithms by label.
    n_widths : int
        Number of widths of the kernel.
    protocol : Protocol
    """
    n_numbers = n_widths
    for label, spec in algorithms.items():
        own = [len(getattr(spec, axis.key)) for axis in METHODS[spec.method].axes]
        n_numbers += sum(own)
        n_points = n_widths * math.prod(own)
        if n_points > MOST_POINTS:
            sizes = " x ".join(map(str, [n_widths, *own]))
            yield (
                ("algorithms", label),
                f"{sizes}, widths first, make a grid of {n_points:,} points, and {MOST_POINTS:,} "
                "is the most: shorten a grid or kernel.widths",
            )
        if isinstance(spec, SemiSupervisedSpec):
            most, why = _most_views(spec, protocol)
            if spec.n_views > most:
                yield (
                    ("algorithms", label, "n_views"),
                    f"expected at most {most}, {why}, got {spec.n_views}",
                )
    if n_numbers > MOST_NUMBERS:
        yield (
            ("algorithms",),
            f"the grids have {n_numbers:,} numbers together, and {MOST_NUMBERS:,} is the most",
        )


def _most_views(spec: SemiSupervisedSpec, protocol: Protocol) -> tuple[int, str]:
    """Return how many views the smallest task can give something to, and why not more."""
    if spec.views == "features":
        return protocol.reference_users, "since each view needs one of protocol.reference_users"
    fewest = protocol.test_user_bounds[0]
    n_train, n_scored = protocol.sizes(fewest)
    user = f"of a user with {fewest} ratings, the fewest in protocol.test_user_bounds"
    if spec.views == "loss":
        why = f"since each view needs two of the {n_scored} scored training items {user}"
        return n_scored // 2, why
    kind, n_items = ("scored ", n_scored) if spec.dictionary == "scored" else ("", n_train)
    return n_items, f"since each view needs one of the {n_items} {kind}training items {user}"
