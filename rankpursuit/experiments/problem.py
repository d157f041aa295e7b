"""A task with its kernels: what all algorithms of a run share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankpursuit.experiments.tasks import Task
from rankpursuit.kernels import (
    IDENTITY,
    REGULAR,
    classify_widths,
    gamma_from_width,
    gaussian_stack,
    squared_distances,
)

Array = NDArray[np.float64]
WidthParameter = Literal["sigma", "gamma"]


@dataclass(frozen=True, eq=False)
class Problem:
    """The points of a task in the order scored, unscored, test, and their kernels.

    Widths that leave nothing to learn are all alike: one identity and one all-ones kernel stand
    for all widths of their kind.

    Attributes
    ----------
    task : Task
    features : ndarray of shape (n + l + m, d)
    scores : ndarray of shape (n + l + m,)
    n_scored, n_unscored : int
        The numbers n and l of scored and unscored training points.
    gammas : ndarray of shape (w,)
        ``gamma`` of each kernel of the stack.
    identity : ndarray of shape (w,)
        Which kernels of the stack are identities.
    kernel : ndarray of shape (w, n + l + m, n + l)
        Kernel values of all points with the training points.
    of_width : ndarray of shape (number of widths,)
        For each width of the grid, its kernel in the stack.
    alike : ndarray of shape (m,)
        For each test point, the first that is as far from every training point. Their predictions
        are equal, but for rounding, which must not decide which of them is preferred.
    """

    task: Task
    features: Array
    scores: Array
    n_scored: int
    n_unscored: int
    gammas: Array
    identity: NDArray[np.bool_]
    kernel: Array
    of_width: NDArray[np.intp]
    alike: NDArray[np.intp]

    @property
    def n_train(self) -> int:
        """Number of training points, scored and unscored."""
        return self.n_scored + self.n_unscored

    @property
    def scored_kernel(self) -> Array:
        """Kernel of the scored points with each other, shape (w, n, n)."""
        return self.kernel[:, : self.n_scored, : self.n_scored]

    @property
    def scored_scores(self) -> Array:
        """Scores of the scored points, shape (n,)."""
        return self.scores[: self.n_scored]

    @property
    def test_scores(self) -> Array:
        """Scores of the test points, shape (m,)."""
        return self.scores[self.n_train :]

    def at_width(self, width: int) -> Problem:
        """Return the same problem with one width only."""
        one = [self.of_width[width]]
        return replace(
            self,
            gammas=self.gammas[one],
            identity=self.identity[one],
            kernel=self.kernel[one],
            of_width=np.zeros(1, dtype=np.intp),
        )

    @classmethod
    def of(cls, task: Task, widths: Sequence[float], parameter: WidthParameter) -> Problem:
        """Compute the kernels of a task.

        Parameters
        ----------
        task : Task
        widths : sequence of float
        parameter : {"sigma", "gamma"}
            Whether a width is sigma in ``exp(-d^2 / (2 sigma^2))`` or gamma in ``exp(-gamma d^2)``.
        """
        order = np.concatenate([task.scored, task.unscored, task.test])
        n_train = len(task.scored) + len(task.unscored)
        features = task.features[order]
        equal = _first_of_equals(features)
        squared = squared_distances(features)[equal][:, equal[:n_train]]
        gammas = np.asarray(widths) if parameter == "gamma" else gamma_from_width(widths)
        kinds = classify_widths(squared, gammas)
        kept, of_width = _distinct(kinds)
        identity = kinds[kept] == IDENTITY
        kernel = kernel_stack(squared, gammas[kept], identity)
        return cls(
            task=task,
            features=features,
            scores=task.scores[order],
            n_scored=len(task.scored),
            n_unscored=len(task.unscored),
            gammas=gammas[kept],
            identity=identity,
            kernel=kernel,
            of_width=of_width,
            alike=_first_of_equals(squared[n_train:]),
        )


def _first_of_equals(rows: Array) -> NDArray[np.intp]:
    """For each row, the first row that equals it."""
    first: dict[bytes, int] = {}
    return np.array([first.setdefault((row + 0.0).tobytes(), i) for i, row in enumerate(rows)])


def kernel_stack(squared: Array, gammas: Array, identity: NDArray[np.bool_]) -> Array:
    """Gaussian kernels, with 1 for equal points and 0 elsewhere where they are identities."""
    kernel = gaussian_stack(squared, gammas)
    kernel[identity] = squared == 0.0
    return kernel


def _distinct(kinds: NDArray[np.str_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Widths to compute, and for each width which of those stands for it."""
    kept: list[int] = []
    of_width = np.empty(len(kinds), dtype=np.intp)
    stands_for: dict[str, int] = {}
    for width, kind in enumerate(kinds):
        if kind == REGULAR or kind not in stands_for:
            stands_for[kind] = len(kept)
            kept.append(width)
        of_width[width] = stands_for[kind]
    return np.array(kept, dtype=np.intp), of_width
