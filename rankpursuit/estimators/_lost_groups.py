"""Groups that were given to a search of scikit-learn, which passes them to its splitter alone.

Without metadata routing, ``GridSearchCV(...).fit(X, y, groups=...)`` splits by the groups and does
not pass them on, and nothing but the calls that led here can tell.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import FrameType

from sklearn import get_config

_SEARCH = "sklearn.model_selection._search"
_VALIDATION = "sklearn.model_selection._validation"
REMEDY = (
    "pass groups= to fit and score alike, and through a Pipeline, GridSearchCV or cross_validate "
    "with sklearn.set_config(enable_metadata_routing=True)"
)


def warn_of_groups_of_a_search(estimator: object) -> None:
    """Warn if a ranker is copied for a search that will fit it without the groups it was given.

    Copies are made where the search was called, and not by its workers, which cannot tell.
    """
    if _is_called_by(_keeps_groups):
        warnings.warn(
            f"{type(estimator).__name__} is fitted without the groups that the search was given, "
            f"so that it compares all samples with each other; {REMEDY}",
            UserWarning,
            stacklevel=3,
        )


def warn_of_scores_across_groups() -> None:
    """Warn if a scorer gets no groups from a search that has been given some."""
    if _is_called_by(_has_groups):
        warnings.warn(
            "the scorer did not get the groups that the search was given, so that it compares all "
            f"samples of a test set with each other; {REMEDY}",
            UserWarning,
            stacklevel=3,
        )


def _is_called_by(search: Callable[[FrameType], bool]) -> bool:
    """Say whether one of the calls that led here is such a search, which routes no metadata."""
    if get_config()["enable_metadata_routing"]:
        return False
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__") in (_SEARCH, _VALIDATION) and search(frame):
            return True
        frame = frame.f_back
    return False


def _has_groups(frame: FrameType) -> bool:
    """Say whether a call was given groups, by their name or among other parameters."""
    return frame.f_locals.get("groups") is not None or _parameters(frame).get("groups") is not None


def _keeps_groups(frame: FrameType) -> bool:
    """Say whether a call was given groups that do not reach `fit` in another way.

    ``cross_validate`` passes its `params` on; a search passes on all parameters but `groups`.
    """
    to_fit = set(_parameters(frame))
    if frame.f_globals["__name__"] == _SEARCH:
        to_fit.discard("groups")
    passed_on = any(name == "groups" or name.endswith("__groups") for name in to_fit)
    return _has_groups(frame) and not passed_on


def _parameters(frame: FrameType) -> dict[str, object]:
    """Return what a call was given to pass on."""
    given = frame.f_locals.get("params")
    return given if isinstance(given, dict) else {}
