"""What to change of an experiment so that its data is enough for it: words for ``--set``."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankpursuit.errors import RankpursuitError

if TYPE_CHECKING:
    from rankpursuit.datasets.ratings import Ratings
    from rankpursuit.experiments.config import Experiment


def advice(experiment: Experiment) -> str | None:
    """Return the options that would make an experiment run; None if none are known.

    Parameters
    ----------
    experiment : Experiment
        One whose data cannot be read as it says, or has too few users.
    """
    from rankpursuit.experiments.protocol import fitting_sizes

    try:
        ratings, changes = _readable(experiment)
    except RankpursuitError:
        return None
    sizes = fitting_sizes(ratings.counts, experiment.protocol)
    if sizes is None:
        return None
    changes |= {f"protocol.{key}": value for key, value in sizes.items()}
    return " ".join(_options(changes)) or None


def _readable(experiment: Experiment) -> tuple[Ratings, dict[str, Any]]:
    """Return the ratings, and what of the section ``data`` must change to read them."""
    from rankpursuit.datasets.guess import guess_layout
    from rankpursuit.errors import DataError
    from rankpursuit.experiments.config import ratings_of

    try:
        return ratings_of(experiment.data), {}
    except DataError:
        given = experiment.data.model_dump()
        if given["name"] != "ratings":
            raise
        layout = guess_layout(Path(given["path"]))
        usual = {key: field.default for key, field in type(experiment.data).model_fields.items()}
        found = usual | layout.as_config(Path(given["path"]))
        changes = {f"data.{key}": found[key] for key in given if found[key] != given[key]}
        return layout.load(Path(given["path"])), changes


def _options(changes: dict[str, Any]) -> Iterator[str]:
    for key, value in changes.items():
        yield f"--set {shlex.quote(f'{key}={json.dumps(value, ensure_ascii=False)}')}"
