"""The errors that an experiment can report. Every one is an error: less is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankpursuit.metrics import Ties, disagreement_error, ndcg_error, squared_error


@dataclass(frozen=True)
class Metric:
    """An error.

    Attributes
    ----------
    name : str
        What configs and the files of results call it.
    function : callable
        Takes scores of shape (b, m) and predictions of shape (b, ..., m), returns errors (b, ...).
    title : str
        What people call it.
    label : str
        Title of an axis of figures, with the unit in brackets.
    task : str
        Heading of its part of a table that has several.
    decimals : int
        Digits to print; for those of the paper, as many as it has.
    options : tuple of str
        Keys of the experiment that the function takes.
    of_level : bool
        Whether a constant added to all predictions changes it.
    """

    name: str
    function: Callable[..., Any]
    title: str
    label: str
    task: str
    decimals: int
    options: tuple[str, ...] = ()
    of_level: bool = False


def _disagreement_of_users(
    scores: NDArray[np.float64], predictions: NDArray[np.float64], *, ties: Ties = "half"
) -> NDArray[np.float64]:
    """Disagreement error; one half for a user whose test scores have no untied pair to judge by."""
    errors = np.asarray(disagreement_error(scores, predictions, ties=ties))
    if ties == "untied":
        flat = np.ptp(scores, axis=-1) == 0.0
        errors[flat] = np.where(np.isnan(predictions[flat]).any(axis=-1), np.nan, 0.5)
    return errors


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            name="disagreement",
            function=_disagreement_of_users,
            title="normalised disagreement error",
            label="disagreement error (share of pairs)",
            task="Ranking task",
            decimals=3,
            options=("ties",),
        ),
        Metric(
            name="squared_error",
            function=squared_error,
            title="mean squared error",
            label="mean squared error (squared rating points)",
            task="Regression task",
            decimals=1,
            of_level=True,
        ),
        Metric(
            name="ndcg",
            function=partial(ndcg_error, k=10, gain="shifted"),
            title="NDCG@10 error (one minus NDCG@10)",
            label="NDCG@10 error (1 - NDCG)",
            task="Top of the ranking",
            decimals=3,
        ),
    )
}
"""Every metric by its name."""
