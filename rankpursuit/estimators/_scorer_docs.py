"""Parameters that several scorers have, described once."""

from __future__ import annotations

from rankpursuit.estimators._docs import Documented, entries_by_name, put_in

_ENTRIES = """\
threshold : float, default 0
    A point is relevant if its score is above it.
grouped : bool, default True
    Whether each group is a ranking of its own, so that only its points are compared; a ValueError
    if no groups arrive. False: the test set is one ranking.
"""
_PARTS = {
    "left_out": "Points that have no score, which NaN marks, are left out.",
    "scorer": """\
callable
    A scikit-learn scorer that requests `groups`.""",
}


def documented(described: Documented) -> Documented:
    """Put the shared entries into the docstring of a function."""
    return put_in(described, _PARTS | entries_by_name(_ENTRIES), {})
