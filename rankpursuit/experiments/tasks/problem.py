"""Tasks with their kernels: what all algorithms of a run share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from rankpursuit.experiments.config import WidthParameter
from rankpursuit.experiments.tasks.task import Task
from rankpursuit.kernels import (
    IDENTITY,
    REGULAR,
    classify_widths,
    gamma_from_width,
    gaussian_stack,
    squared_distances,
)

Array = NDArray[np.float64]

_STACKED = 1 << 20
"""Entries of a task's kernels that are stacked: larger tasks gain nothing from company."""
_TINY = 1e-150
"""Products of two numbers below this are not normal, and arithmetic with those is slow."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Tasks of one size, their points in the order scored, unscored, test, and their kernels.

    The kernels of all tasks are one stack: on small tasks a call of numpy takes longer than its
    work. Widths that leave nothing to learn are all alike: one identity and one all-ones kernel
    stand for all widths of their kind.

    Attributes
    ----------
    tasks : tuple of t Tasks
    features : ndarray of shape (t, n + l + m, d)
    scores : ndarray of shape (t, n + l + m)
    n_scored, n_unscored : int
        The numbers n and l of scored and unscored training points.
    of_task : ndarray of shape (w,)
        For each kernel of the stack, its task; rising.
    gammas : ndarray of shape (w,)
        ``gamma`` of each kernel of the stack.
    identity : ndarray of shape (w,)
        Which kernels of the stack are identities.
    kernel : ndarray of shape (w, n + l + m, n + l)
        Kernel values of all points with the training points. Those among training points that are
        too small to count are zero.
    of_width : ndarray of shape (t, number of widths)
        For each task and width of the grid, its kernel in the stack.
    alike : ndarray of shape (t, m)
        For each test point, the first that is as far from every training point. Their predictions
        are equal, but for rounding, which must not decide which of them is preferred.
    """

    tasks: tuple[Task, ...]
    features: Array
    scores: Array
    n_scored: int
    n_unscored: int
    of_task: NDArray[np.intp]
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
        """Scores of the scored points beside each kernel, shape (w, n)."""
        return self.scores[self.of_task, : self.n_scored]

    @property
    def n_test(self) -> int:
        """Number of test points."""
        return self.scores.shape[1] - self.n_train

    def at_width(self, width: int) -> Problem:
        """Return the same problem with one width only."""
        one = self.of_width[:, width]
        alone = np.arange(len(one))
        return replace(
            self,
            of_task=alone,
            gammas=self.gammas[one],
            identity=self.identity[one],
            kernel=self.kernel[one],
            of_width=alone[:, None],
        )

    @classmethod
    def of(
        cls, tasks: Sequence[Task], widths: Sequence[float], parameter: WidthParameter
    ) -> Problem:
        """Compute the kernels of tasks of one size.

        Parameters
        ----------
        tasks : sequence of Task
        widths : sequence of float
        parameter : {"sigma", "gamma"}
            Whether a width is sigma in ``exp(-d^2 / (2 sigma^2))`` or gamma in ``exp(-gamma d^2)``.
        """
        orders = [np.concatenate([task.scored, task.unscored, task.test]) for task in tasks]
        features = np.stack([task.features[o] for task, o in zip(tasks, orders, strict=True)])
        n_scored, n_unscored = len(tasks[0].scored), len(tasks[0].unscored)
        n_train = n_scored + n_unscored
        all_gammas = np.asarray(widths) if parameter == "gamma" else gamma_from_width(widths)
        gammas, identity, kernels, of_width, alike = [], [], [], [], []
        n_kernels = 0
        for points in features:
            squared = squared_distances(points)
            if np.count_nonzero(squared) < squared.size - len(squared):  # not only the diagonal
                equal = _first_of_equals(points)
                squared = squared[equal][:, equal]
            # Kernels keep this order: the values of a function lie together.
            squared = np.asfortranarray(squared[:, :n_train])
            kinds = classify_widths(squared, all_gammas)
            kept, stands_for = _distinct(kinds)
            gammas.append(all_gammas[kept])
            identity.append(kinds[kept] == IDENTITY)
            kernels.append(kernel_stack(squared, gammas[-1], identity[-1]))
            # Beside the 1 of a point and itself. A prediction may be small as a whole, and stays.
            among = kernels[-1][:, :n_train]
            np.copyto(among, 0.0, where=among < _TINY)
            of_width.append(stands_for + n_kernels)
            alike.append(_first_of_equals(squared[n_train:]))
            n_kernels += len(kept)
        return cls(
            tasks=tuple(tasks),
            features=features,
            scores=np.stack([task.scores[o] for task, o in zip(tasks, orders, strict=True)]),
            n_scored=n_scored,
            n_unscored=n_unscored,
            of_task=np.repeat(np.arange(len(tasks)), [len(part) for part in kernels]),
            gammas=np.concatenate(gammas),
            identity=np.concatenate(identity),
            kernel=kernels[0] if len(kernels) == 1 else np.concatenate(kernels),
            of_width=np.stack(of_width),
            alike=np.stack(alike),
        )


def in_stacks(tasks: Sequence[Task], n_widths: int) -> Iterator[list[Task]]:
    """Part tasks, in their order, into neighbours of one size with a moderate stack of kernels."""
    for size, neighbours in groupby(tasks, key=lambda task: len(task.items)):
        of_size = list(neighbours)
        together = max(1, _STACKED // (n_widths * size * len(of_size[0].train)))
        for start in range(0, len(of_size), together):
            yield of_size[start : start + together]


def _first_of_equals(rows: Array) -> NDArray[np.intp]:
    """For each row, the first row that equals it."""
    first: dict[bytes, int] = {}
    content = (rows + 0.0).tobytes()  # -0.0 becomes 0.0
    length = len(content) // len(rows)
    return np.array(
        [first.setdefault(content[i * length : (i + 1) * length], i) for i in range(len(rows))]
    )


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
