"""Sizes that a ratings table has enough users for, close to those that a protocol asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankpursuit.errors import ProtocolError
from rankpursuit.experiments.config import Group, Protocol

Counts = NDArray[np.int64]

_FEW = 20
"""Users of a group, or possible test users: with fewer than that, bounds are widened."""
_LOW_BOUNDS = (30, 20, 10)
"""Fewest ratings of test users, tried in turn below that of the protocol."""


def fitting_sizes(counts: Counts, protocol: Protocol) -> dict[str, Any] | None:
    """Return what to change of a protocol so that a table has enough users for it.

    Bounds and groups change only where they hold next to nobody. Test, hold-out and reference users
    are lowered by the same share, and rounded down.

    Parameters
    ----------
    counts : array of shape (n_users,)
        Number of ratings of each user.
    protocol : Protocol

    Returns
    -------
    dict or None
        Keys of the protocol with their new values, as in a config; None if the table is too small
        for any.
    """
    bounds = _bounds(counts, protocol)
    if bounds is None:
        return None
    groups = _groups(counts, protocol)
    asked = (protocol.test_users, protocol.holdout_users, protocol.reference_users)
    for reference in range(min(asked[2], len(counts)), 0, -1):
        test, holdout = (max(1, n * reference // asked[2]) for n in asked[:2])
        sizes = tuple(
            _rounded(n) if n < most else n
            for n, most in zip((test, holdout, reference), asked, strict=True)
        )
        if _fits(counts, bounds, groups, *sizes):
            found = {
                "groups": [list(group) for group in groups],
                "test_user_bounds": list(bounds),
                **dict(zip(("test_users", "holdout_users", "reference_users"), sizes, strict=True)),
            }
            given = protocol.model_dump(mode="json")
            return {key: value for key, value in found.items() if value != given[key]}
    return None


def _fits(
    counts: Counts,
    bounds: Group,
    groups: tuple[Group, ...],
    test: int,
    holdout: int,
    reference: int,
) -> bool:
    """Tell whether there are enough users, whichever are drawn."""
    possible = _within(counts, bounds)
    if possible.sum() < test + holdout:
        return False
    for group in groups:
        members = _within(counts, group)
        tested = min(test, int((members & possible).sum()))
        if members.sum() - tested - 1 < reference:
            return False
    return True


def _bounds(counts: Counts, protocol: Protocol) -> Group | None:
    """Return bounds on the ratings of test users that hold enough users, the narrowest first."""
    low, high = protocol.test_user_bounds
    if _within(counts, (low, high)).sum() >= _FEW:
        return low, high
    high = max(high, int(counts.max()))
    for lower in (*(bound for bound in _LOW_BOUNDS if bound < low), _fewest(protocol)):
        if _within(counts, (lower, high)).sum() >= _FEW and _splits(protocol, lower):
            return lower, high
    lower = _fewest(protocol)
    return (lower, high) if _within(counts, (lower, high)).sum() >= 2 else None


def _groups(counts: Counts, protocol: Protocol) -> tuple[Group, ...]:
    """Return the groups that hold enough users, or else thirds of all users."""
    kept = tuple(group for group in protocol.groups if _within(counts, group).sum() >= _FEW)
    if kept:
        return kept
    least, most = int(counts.min()), int(counts.max())
    first, second = (int(np.quantile(counts, share, method="lower")) for share in (1 / 3, 2 / 3))
    thirds = ((least, first), (first + 1, second), (second + 1, most))
    enough = all(low <= high and _within(counts, (low, high)).sum() >= _FEW for low, high in thirds)
    return thirds if enough else ((least, most),)


def _fewest(protocol: Protocol) -> int:
    """Return the fewest ratings of a user whom the protocol can split."""
    return next(n for n in range(4, protocol.test_user_bounds[0] + 1) if _splits(protocol, n))


def _splits(protocol: Protocol, n_items: int) -> bool:
    try:
        protocol.sizes(n_items)
    except ProtocolError:
        return False
    return True


def _rounded(n: int) -> int:
    return n - n % 5 if n > 20 else n


def _within(counts: Counts, bounds: Group) -> NDArray[np.bool_]:
    return (counts >= bounds[0]) & (counts <= bounds[1])
