"""Groups that were given to a search of scikit-learn, which passes them to its splitter alone."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

from sklearn import get_config

_SELECTION = ("sklearn.model_selection._search", "sklearn.model_selection._validation")
REMEDY = (
    "pass groups= to fit and score alike, and through a Pipeline, GridSearchCV or cross_validate "
    "with sklearn.set_config(enable_metadata_routing=True)"
)


def warn_of_groups_of_a_search(estimator: object) -> None:
    """Warn if a ranker is fitted without groups by a search that has been given some."""
    if _search_has_groups():
        warnings.warn(
            f"{type(estimator).__name__} is fitted without the groups that the search was given, "
            f"so that it compares all samples with each other; {REMEDY}",
            UserWarning,
            stacklevel=3,
        )


def warn_of_scores_across_groups() -> None:
    """Warn if a scorer gets no groups from a search that has been given some."""
    if _search_has_groups():
        warnings.warn(
            "the scorer did not get the groups that the search was given, so that it compares all "
            f"samples of a test set with each other; {REMEDY}",
            UserWarning,
            stacklevel=3,
        )


def _search_has_groups() -> bool:
    """Say whether a search of scikit-learn is under way that keeps groups to itself.

    Without metadata routing, ``GridSearchCV(...).fit(X, y, groups=...)`` splits by the groups and
    does not pass them on, and nothing but the calls that led here can tell.
    """
    if get_config()["enable_metadata_routing"]:
        return False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") in _SELECTION and _has_groups(frame):
            return True
        frame = frame.f_back
    return False


def _has_groups(frame: FrameType) -> bool:
    """Say whether a call was given groups, by their name or among other parameters."""
    given = frame.f_locals
    parameters = given.get("params")
    among = parameters.get("groups") if isinstance(parameters, dict) else None
    return given.get("groups") is not None or among is not None
