"""What the views of semi-supervised ranking pursuit are made of, for the tasks of a problem."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankpursuit.experiments.catalogue.methods import SemiSupervisedSpec
from rankpursuit.experiments.tasks.problem import Problem, kernel_stack
from rankpursuit.kernels import squared_distances
from rankpursuit.metrics import disagreement_error
from rankpursuit.solvers.coregularised import split_features, split_points

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Views:
    """The views of a problem's tasks: their dictionaries, their kernels and their losses."""

    problem: Problem
    spec: SemiSupervisedSpec

    @property
    def n_dictionary(self) -> int:
        """Number of points that basis functions may sit on: the training points, or the scored."""
        problem = self.problem
        return problem.n_scored if self.spec.dictionary == "scored" else problem.n_train

    @cached_property
    def points(self) -> list[NDArray[np.intp]]:
        """Dictionary points of each view beside each kernel, shape (w, N_v)."""
        problem, n_views = self.problem, self.spec.n_views
        is_scored = np.arange(self.n_dictionary) < problem.n_scored
        dealt = [split_points(is_scored, n_views, t.generator("views")) for t in problem.tasks]
        return [np.stack(of_view)[problem.of_task] for of_view in zip(*dealt, strict=True)]

    @cached_property
    def kernels(self) -> list[Array]:
        """Kernel stacks of all points with the dictionary of each view, shape (w, rows, N_v).

        The values of one function are side by side in memory.
        """
        problem, n_views = self.problem, self.spec.n_views
        if self.spec.views != "features":
            functions, stack = problem.kernel.swapaxes(1, 2), np.arange(len(problem.kernel))
            return [functions[stack[:, None], points].swapaxes(1, 2) for points in self.points]
        n_features = problem.features.shape[2]
        dealt = [split_features(n_features, n_views, t.generator("views")) for t in problem.tasks]
        return [
            np.concatenate(
                [self._kernels_of_features(task, part[view]) for task, part in enumerate(dealt)]
            )
            for view in range(n_views)
        ]

    def _kernels_of_features(self, task: int, part: NDArray[np.intp]) -> Array:
        """Kernels of one task over a part of its features, at the widths of its stack."""
        problem = self.problem
        squared = squared_distances(problem.features[task][:, part])[:, : self.n_dictionary]
        own = problem.of_task == task
        return kernel_stack(squared, problem.gammas[own], problem.identity[own])

    def dictionary_kernels(self) -> list[Array]:
        """Kernel stacks of the dictionary points of each view among themselves, (w, N_v, N_v)."""
        if self.spec.views == "features":
            return [kernel[:, : self.n_dictionary] for kernel in self.kernels]
        return [
            np.take_along_axis(kernel, points[:, :, None], axis=1)
            for kernel, points in zip(self.kernels, self.points, strict=True)
        ]

    def rows(self, points: slice) -> list[Array]:
        """Rows of each view's kernels at some points, with the functions side by side in memory.

        Means over the points then add one point after the other.
        """
        return [np.ascontiguousarray(kernel[:, points]) for kernel in self.kernels]

    def losses(self) -> tuple[list[Array], list[Array]]:
        """Rows of each view's kernels, and the scores, at the scored points of its loss."""
        rows = self.rows(slice(0, self.problem.n_scored))
        scores = [self.problem.scored_scores] * self.spec.n_views
        if self.spec.views != "loss":
            return rows, scores
        own = [points[:, :n] for points, n in zip(self.points, self._n_own(), strict=True)]
        return (
            [np.take_along_axis(r, o[:, :, None], axis=1) for r, o in zip(rows, own, strict=True)],
            [np.take_along_axis(s, o, axis=1) for s, o in zip(scores, own, strict=True)],
        )

    def _n_own(self) -> list[int]:
        """How many scored points each view has; they come first, and are as many in all tasks."""
        return [int((points[0] < self.problem.n_scored).sum()) for points in self.points]

    def skills(self, predictions: list[Array]) -> Array:
        """How much better than chance each view orders the scored points that it was not fitted to.

        Parameters
        ----------
        predictions : list of M ndarrays of shape (w, ..., n)
            Values of each view's functions at all scored points.

        Returns
        -------
        ndarray of shape (M, w, ...)
            One half less the disagreement error on the scored points of the other views.
        """
        n_scored, skills = self.problem.n_scored, []
        for values, points, n_own in zip(predictions, self.points, self._n_own(), strict=True):
            is_other = np.ones((len(points), n_scored), dtype=bool)
            np.put_along_axis(is_other, points[:, :n_own], values=False, axis=1)
            others = np.nonzero(is_other)[1].reshape(len(points), -1)
            scores = np.take_along_axis(self.problem.scored_scores, others, axis=1)
            beside = others.reshape(len(others), *[1] * (values.ndim - 2), -1)
            at = np.take_along_axis(values, beside, axis=-1)
            skills.append(0.5 - disagreement_error(scores, at, ties="half"))
        return np.stack(skills)
