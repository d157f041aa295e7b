"""Problems: stacks of kernels of tasks of one size, and the views of semi-supervised pursuit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankpursuit.experiments.protocol import Task
from rankpursuit.kernels import (
    IDENTITY,
    REGULAR,
    classify_widths,
    gamma_from_width,
    gaussian_stack,
    squared_distances,
)
from rankpursuit.metrics import disagreement_error
from rankpursuit.solvers.coregularised import split_features, split_points

Array = NDArray[np.float64]
WidthParameter = Literal["sigma", "gamma"]

_STACKED = 1 << 20
"""Maximum number of entries of a stack of kernels, unless one task has more."""
_TINY = 1e-150
"""Products of two numbers below this are subnormal, and arithmetic with those is slow."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Tasks of one size, their points in the order scored, unscored, test, and their kernels.

    The kernels of all tasks are one stack: on small tasks a call of numpy takes longer than its
    work. All widths so small that the kernel is the identity share one kernel, and so do all that
    make it constant.

    Attributes
    ----------
    tasks : tuple of t Tasks
    features : ndarray of shape (t, n + l + m, d)
    scores : ndarray of shape (t, n + l + m)
    n_scored, n_unscored : int
        The numbers n and l of scored and unscored training points.
    task_index : ndarray of shape (w,)
        Task of each kernel of the stack; rising.
    gammas : ndarray of shape (w,)
        ``gamma`` of each kernel of the stack.
    identity : ndarray of shape (w,)
        Which kernels of the stack are identities.
    kernel : ndarray of shape (w, n + l + m, n + l)
        Kernel values of all points with the training points. Those among training points that are
        too small to count are zero.
    kernel_index : ndarray of shape (t, number of widths)
        Kernel in the stack of each task and width.
    alike : ndarray of shape (t, m)
        For each test point, the first with the same distance to every training point. Their
        predictions are equal except for rounding, which must not decide which one is preferred.
    """

    tasks: tuple[Task, ...]
    features: Array
    scores: Array
    n_scored: int
    n_unscored: int
    task_index: NDArray[np.intp]
    gammas: Array
    identity: NDArray[np.bool_]
    kernel: Array
    kernel_index: NDArray[np.intp]
    alike: NDArray[np.intp]

    @property
    def n_train(self) -> int:
        """Number of training points, scored and unscored."""
        return self.n_scored + self.n_unscored

    @property
    def n_test(self) -> int:
        """Number of test points."""
        return self.scores.shape[1] - self.n_train

    @property
    def scored_kernel(self) -> Array:
        """Kernel of the scored points with each other, shape (w, n, n)."""
        return self.kernel[:, : self.n_scored, : self.n_scored]

    @property
    def scored_scores(self) -> Array:
        """Scores of the scored points for each kernel, shape (w, n)."""
        return self.scores[self.task_index, : self.n_scored]

    def at_width(self, width: int) -> Problem:
        """Return the same problem with one width only."""
        one = self.kernel_index[:, width]
        alone = np.arange(len(one))
        return replace(
            self,
            task_index=alone,
            gammas=self.gammas[one],
            identity=self.identity[one],
            kernel=self.kernel[one],
            kernel_index=alone[:, None],
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
        gammas, identity, kernels, kernel_index, alike = [], [], [], [], []
        n_kernels = 0
        for points in features:
            squared = squared_distances(points)
            if np.count_nonzero(squared) < squared.size - len(squared):  # not only the diagonal
                equal = _first_of_equals(points)
                squared = squared[equal][:, equal]
            # Kernels keep this order: the values of a function are contiguous.
            squared = np.asfortranarray(squared[:, :n_train])
            kinds = classify_widths(squared, all_gammas)
            kept, index = _distinct(kinds)
            gammas.append(all_gammas[kept])
            identity.append(kinds[kept] == IDENTITY)
            kernels.append(_kernel_stack(squared, gammas[-1], identity[-1]))
            # Small compared with the 1 on the diagonal. Among test points all may be small: kept.
            among = kernels[-1][:, :n_train]
            np.copyto(among, 0.0, where=among < _TINY)
            kernel_index.append(index + n_kernels)
            alike.append(_first_of_equals(squared[n_train:]))
            n_kernels += len(kept)
        return cls(
            tasks=tuple(tasks),
            features=features,
            scores=np.stack([task.scores[o] for task, o in zip(tasks, orders, strict=True)]),
            n_scored=n_scored,
            n_unscored=n_unscored,
            task_index=np.repeat(np.arange(len(tasks)), [len(part) for part in kernels]),
            gammas=np.concatenate(gammas),
            identity=np.concatenate(identity),
            kernel=kernels[0] if len(kernels) == 1 else np.concatenate(kernels),
            kernel_index=np.stack(kernel_index),
            alike=np.stack(alike),
        )


def in_stacks(tasks: Sequence[Task], n_widths: int) -> Iterator[list[Task]]:
    """Split tasks, in their order, into neighbours of one size with a moderate stack of kernels."""
    for size, neighbours in groupby(tasks, key=lambda task: len(task.items)):
        same_size = list(neighbours)
        together = max(1, _STACKED // (n_widths * size * len(same_size[0].train)))
        for start in range(0, len(same_size), together):
            yield same_size[start : start + together]


def _first_of_equals(rows: Array) -> NDArray[np.intp]:
    """Return, for each row, the first row that equals it."""
    first: dict[bytes, int] = {}
    content = (rows + 0.0).tobytes()  # -0.0 becomes 0.0
    length = len(content) // len(rows)
    return np.array(
        [first.setdefault(content[i * length : (i + 1) * length], i) for i in range(len(rows))]
    )


def _kernel_stack(squared: Array, gammas: Array, identity: NDArray[np.bool_]) -> Array:
    """Return Gaussian kernels; identities have 1 for equal points and 0 elsewhere."""
    kernel = gaussian_stack(squared, gammas)
    kernel[identity] = squared == 0.0
    return kernel


def _distinct(kinds: NDArray[np.str_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the widths to compute, and for each width its position among those."""
    kept: list[int] = []
    index = np.empty(len(kinds), dtype=np.intp)
    position: dict[str, int] = {}
    for width, kind in enumerate(kinds):
        if kind == REGULAR or kind not in position:
            position[kind] = len(kept)
            kept.append(width)
        index[width] = position[kind]
    return np.array(kept, dtype=np.intp), index


@dataclass(frozen=True, eq=False)
class Views:
    """The views of a problem's tasks: their dictionaries, their kernels and their losses.

    Attributes
    ----------
    problem : Problem
    split : {"points", "loss", "features"}
        What is split into views.
    n_views : int
    dictionary : {"training", "scored"}
        Which points have a basis function.
    """

    problem: Problem
    split: Literal["points", "loss", "features"]
    n_views: int
    dictionary: Literal["training", "scored"]

    @property
    def n_dictionary(self) -> int:
        """Number of points that may have a basis function."""
        return self.problem.n_scored if self.dictionary == "scored" else self.problem.n_train

    @cached_property
    def points(self) -> list[NDArray[np.intp]]:
        """Dictionary points of each view for each kernel, shape (w, N_v)."""
        problem = self.problem
        needed = 2 * self.n_views if self.split == "loss" else self.n_views
        available = problem.n_scored if self.split == "loss" else self.n_dictionary
        if available < needed:
            kind = "scored training items" if self.split == "loss" else "dictionary points"
            raise ValueError(
                f"{self.n_views} views need {needed} {kind}, and there are {available}"
            )
        is_scored = np.arange(self.n_dictionary) < problem.n_scored
        parts = [split_points(is_scored, self.n_views, t.generator("views")) for t in problem.tasks]
        return [np.stack(view)[problem.task_index] for view in zip(*parts, strict=True)]

    @cached_property
    def kernels(self) -> list[Array]:
        """Kernel stacks of all points with the dictionary of each view, shape (w, rows, N_v).

        The values of one function are contiguous in memory.
        """
        problem, n_views = self.problem, self.n_views
        if self.split != "features":
            functions, stack = problem.kernel.swapaxes(1, 2), np.arange(len(problem.kernel))
            return [functions[stack[:, None], points].swapaxes(1, 2) for points in self.points]
        n_features = problem.features.shape[2]
        if n_features < n_views:
            raise ValueError(f"{n_views} views of {n_features} reference users: use fewer views")
        parts = [split_features(n_features, n_views, t.generator("views")) for t in problem.tasks]
        return [
            np.concatenate(
                [self._kernels_of_features(task, part[view]) for task, part in enumerate(parts)]
            )
            for view in range(n_views)
        ]

    def _kernels_of_features(self, task: int, part: NDArray[np.intp]) -> Array:
        """Return the kernels of one task over a part of its features, at the same widths."""
        problem = self.problem
        squared = squared_distances(problem.features[task][:, part])[:, : self.n_dictionary]
        own = problem.task_index == task
        return _kernel_stack(squared, problem.gammas[own], problem.identity[own])

    def dictionary_kernels(self) -> list[Array]:
        """Return the kernel stacks of each view's dictionary points, shape (w, N_v, N_v)."""
        if self.split == "features":
            return [kernel[:, : self.n_dictionary] for kernel in self.kernels]
        return [
            np.take_along_axis(kernel, points[:, :, None], axis=1)
            for kernel, points in zip(self.kernels, self.points, strict=True)
        ]

    def rows(self, points: slice) -> list[Array]:
        """Return rows of each view's kernels at some points, contiguous for each point.

        Means over the points then add one point after the other.
        """
        return [np.ascontiguousarray(kernel[:, points]) for kernel in self.kernels]

    def losses(self) -> tuple[list[Array], list[Array]]:
        """Return rows of each view's kernels, and the scores, at the scored points of its loss."""
        rows = self.rows(slice(0, self.problem.n_scored))
        scores = [self.problem.scored_scores] * self.n_views
        if self.split != "loss":
            return rows, scores
        own = self._scored_points()
        return (
            [np.take_along_axis(r, o[:, :, None], axis=1) for r, o in zip(rows, own, strict=True)],
            [np.take_along_axis(s, o, axis=1) for s, o in zip(scores, own, strict=True)],
        )

    def _scored_points(self) -> list[NDArray[np.intp]]:
        """Return the scored points of each view; they come first, equally many in all tasks."""
        n_scored = self.problem.n_scored
        return [points[:, : int((points[0] < n_scored).sum())] for points in self.points]

    def skills(self, predictions: list[Array]) -> Array:
        """Return how much better than chance each view orders the scored points of the others.

        Parameters
        ----------
        predictions : list of M ndarrays of shape (w, ..., n)
            Values of each view's functions at all scored points.

        Returns
        -------
        ndarray of shape (M, w, ...)
            One half minus the disagreement error on the scored points of the other views.
        """
        n_scored, skills = self.problem.n_scored, []
        for values, own in zip(predictions, self._scored_points(), strict=True):
            is_other = np.ones((len(own), n_scored), dtype=bool)
            np.put_along_axis(is_other, own, values=False, axis=1)
            others = np.nonzero(is_other)[1].reshape(len(own), -1)
            scores = np.take_along_axis(self.problem.scored_scores, others, axis=1)
            index = others.reshape(len(others), *[1] * (values.ndim - 2), -1)
            at_others = np.take_along_axis(values, index, axis=-1)
            skills.append(0.5 - disagreement_error(scores, at_others, ties="half"))
        return np.stack(skills)
