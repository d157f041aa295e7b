"""Problems: stacks of kernels of equally large tasks, and views of semi-supervised pursuit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal

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

_STACKED = 1 << 20  # maximum number of entries of a stack of kernels, unless one task has more
_TINY = 1e-150  # products of two smaller numbers are subnormal, hence slow


@dataclass(frozen=True, eq=False)
class Problem:
    """Tasks of equal size, their points in the order scored, unscored, test, and their kernels.

    All arrays are read-only, since every method of a run gets the same ones.

    The kernels of all tasks form one stack, since on small tasks the overhead of a numpy call
    exceeds its work. In each task, all widths with an identity kernel share one kernel, and so do
    all widths with a constant kernel.

    Attributes
    ----------
    tasks : tuple of t Tasks
    features : ndarray of shape (t, n + l + m, d)
    scores : ndarray of shape (t, n + l + m)
    n_scored, n_unscored : int
        The numbers n and l of scored and unscored training points.
    task_index : ndarray of shape (w,)
        Task of each kernel of the stack; ascending.
    gammas : ndarray of shape (w,)
        ``gamma`` of each kernel of the stack.
    identity : ndarray of shape (w,)
        Which kernels of the stack are identities.
    kernel : ndarray of shape (w, n + l + m, n + l)
        Kernel values of all points with the training points. Negligible values among training
        points are set to zero.
    kernel_index : ndarray of shape (t, number of widths)
        Kernel in the stack of each task and width.
    duplicate_of : ndarray of shape (t, m)
        For each test point, the first with the same distance to every training point. Their
        predictions differ only by rounding, which must not order them.
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
    duplicate_of: NDArray[np.intp]

    def __post_init__(self) -> None:
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

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
        kernels = self.kernel_index[:, width]
        alone = np.arange(len(kernels))
        return replace(
            self,
            task_index=alone,
            gammas=self.gammas[kernels],
            identity=self.identity[kernels],
            kernel=self.kernel[kernels],
            kernel_index=alone[:, None],
        )

    @classmethod
    def of(
        cls, tasks: Sequence[Task], widths: Sequence[float], parameter: WidthParameter
    ) -> Problem:
        """Compute the kernels of tasks of equal size.

        A width is sigma in ``exp(-d^2 / (2 sigma^2))``, or gamma in ``exp(-gamma d^2)``.
        """
        orders = [np.concatenate([task.scored, task.unscored, task.test]) for task in tasks]
        features = np.stack([task.features[o] for task, o in zip(tasks, orders, strict=True)])
        n_scored, n_unscored = len(tasks[0].scored), len(tasks[0].unscored)
        n_train = n_scored + n_unscored
        all_gammas = np.asarray(widths) if parameter == "gamma" else gamma_from_width(widths)
        gammas, identity, kernels, kernel_index, duplicate_of = [], [], [], [], []
        n_kernels = 0
        for points in features:
            squared = squared_distances(points)
            if np.count_nonzero(squared) < squared.size - len(squared):  # not only the diagonal
                equal = first_duplicate_index(points)
                squared = squared[equal][:, equal]
            # Kernels inherit this memory order: the values of a function are contiguous.
            squared = np.asfortranarray(squared[:, :n_train])
            kinds = classify_widths(squared, all_gammas)
            keys = [i if kind == REGULAR else kind for i, kind in enumerate(kinds)]
            distinct = list(dict.fromkeys(keys))
            kept = [keys.index(key) for key in distinct]
            kernel_index.append(np.array([distinct.index(key) for key in keys]) + n_kernels)
            n_kernels += len(kept)
            gammas.append(all_gammas[kept])
            identity.append(kinds[kept] == IDENTITY)
            kernels.append(_kernel_stack(squared, gammas[-1], identity[-1]))
            # Negligible next to the 1 on the diagonal. A test point may have small values only.
            among = kernels[-1][:, :n_train]
            np.copyto(among, 0.0, where=among < _TINY)
            duplicate_of.append(first_duplicate_index(squared[n_train:]))
        return cls(
            tasks=tuple(tasks),
            features=features,
            scores=np.stack([task.scores[o] for task, o in zip(tasks, orders, strict=True)]),
            n_scored=n_scored,
            n_unscored=n_unscored,
            task_index=np.repeat(np.arange(len(tasks)), [len(of_task) for of_task in kernels]),
            gammas=np.concatenate(gammas),
            identity=np.concatenate(identity),
            kernel=kernels[0] if len(kernels) == 1 else np.concatenate(kernels),
            kernel_index=np.stack(kernel_index),
            duplicate_of=np.stack(duplicate_of),
        )


def batch_by_size(tasks: Sequence[Task], n_widths: int) -> Iterator[list[Task]]:
    """Split tasks into runs of equal size, short enough for a stack of moderate size."""
    for sizes, neighbours in groupby(
        tasks, key=lambda task: (len(task.train), len(task.test), len(task.scored))
    ):
        same_size, (n_train, n_test, _) = list(neighbours), sizes
        together = max(1, _STACKED // (n_widths * (n_train + n_test) * n_train))
        for start in range(0, len(same_size), together):
            yield same_size[start : start + together]


def first_duplicate_index(rows: Array) -> NDArray[np.intp]:
    """Return, for each row, the first row that equals it."""
    content = np.ascontiguousarray(rows) + 0.0  # -0.0 equals 0.0
    as_bytes = np.dtype((np.void, content.itemsize * content.shape[1]))
    keys: list[Any] = content.view(as_bytes).ravel().tolist()
    first: dict[bytes, int] = {}
    return np.array([first.setdefault(key, row) for row, key in enumerate(keys)], dtype=np.intp)


def _kernel_stack(squared: Array, gammas: Array, identity: NDArray[np.bool_]) -> Array:
    """Return Gaussian kernels; identity kernels are 1 for equal points and 0 elsewhere."""
    kernel = gaussian_stack(squared, gammas)
    kernel[identity] = squared == 0.0
    return kernel


# Views of semi-supervised pursuit


def view_points(
    problem: Problem, n_views: int, n_dictionary: int, *, split_loss: bool
) -> list[NDArray[np.intp]]:
    """Return the dictionary points of each view for each kernel, shape (w, N_v), scored first."""
    needed, available, kind = n_views, n_dictionary, "dictionary points"
    if split_loss:
        needed, available, kind = 2 * n_views, problem.n_scored, "scored training items"
    if available < needed:
        raise ValueError(f"{n_views} views need {needed} {kind}, got {available}")
    is_scored = np.arange(n_dictionary) < problem.n_scored
    parts = [split_points(is_scored, n_views, t.generator("views")) for t in problem.tasks]
    return [np.stack(view)[problem.task_index] for view in zip(*parts, strict=True)]


def feature_view_kernels(problem: Problem, n_views: int, n_dictionary: int) -> list[Array]:
    """Return kernels over each view's part of the features, shape (w, rows, n_dictionary)."""
    n_features = problem.features.shape[2]
    if n_features < n_views:
        raise ValueError(f"{n_views} views need {n_views} reference users, got {n_features}")
    kernels: list[list[Array]] = [[] for _ in range(n_views)]
    for number, task in enumerate(problem.tasks):
        own_kernels = problem.task_index == number
        parts = split_features(n_features, n_views, task.generator("views"))
        for view, part in zip(kernels, parts, strict=True):
            squared = squared_distances(problem.features[number][:, part])[:, :n_dictionary]
            view.append(
                _kernel_stack(squared, problem.gammas[own_kernels], problem.identity[own_kernels])
            )
    return [np.concatenate(view) for view in kernels]


def view_skills(
    problem: Problem, scored_points: list[NDArray[np.intp]], predictions: list[Array]
) -> Array:
    """Return how much better than chance each view orders the scored points of the others.

    That is one half minus the disagreement error, of shape (M, w, ...), for M views with scored
    points of shape (w, n_v) and predictions of shape (w, ..., n) at all scored points.
    """
    skills = []
    for values, view_points in zip(predictions, scored_points, strict=True):
        is_other = np.ones((len(view_points), problem.n_scored), dtype=bool)
        np.put_along_axis(is_other, view_points, values=False, axis=1)
        others = np.nonzero(is_other)[1].reshape(len(view_points), -1)
        scores = np.take_along_axis(problem.scored_scores, others, axis=1)
        index = others.reshape(len(others), *[1] * (values.ndim - 2), -1)
        at_others = np.take_along_axis(values, index, axis=-1)
        skills.append(0.5 - disagreement_error(scores, at_others, ties="half"))
    return np.stack(skills)
