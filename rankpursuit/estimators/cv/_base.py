"""The one machinery of cross-validation along paths; a class says what its grid and path are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import StandardScaler

from rankpursuit.estimators._base import KernelEstimator
from rankpursuit.estimators._comparisons import group_labels, group_preferences, weighted_groups
from rankpursuit.estimators._constraints import FLAG, NONE, Choice, Constraints, Number, Several
from rankpursuit.estimators._docs import documented
from rankpursuit.estimators._fitting import Ranker
from rankpursuit.estimators._kernels import WITH_GAMMA, Array, gamma_in_use
from rankpursuit.estimators._parameters import RandomState, parameters, random_generator
from rankpursuit.estimators._scaling import overflow_found_later, shifted
from rankpursuit.estimators.cv._choice import ScoreTable, Selection
from rankpursuit.estimators.cv._plot import plot_path
from rankpursuit.estimators.cv._problem import (
    WIDTHS,
    Axis,
    Gammas,
    Numbers,
    Problem,
    checked_kernels,
)
from rankpursuit.estimators.cv._scaled_model import HoldsScaledModel
from rankpursuit.estimators.cv._scoring import SCORING, Judge, Metric
from rankpursuit.estimators.cv._splits import FOLDS, checked_splits, cuts_no_group
from rankpursuit.kernels import gaussian_stack
from rankpursuit.preferences import GroupPreferences, GroupWeight, Pointwise, Preferences
from rankpursuit.solvers.folds import Indices

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SEEDS = 1 << 31

_AT_ONCE = 1 << 25
"""Kernels of several widths are taken together up to so many numbers."""


@parameters
class PathCV(HoldsScaledModel):
    """Base of the estimators that choose their parameters by cross-validation."""

    gammas: Numbers | None = None
    scale: bool = True
    cv: Any = 5
    scoring: str | Metric = "neg_mean_squared_error"
    selection: Selection = "best"

    _constraints: ClassVar[Constraints] = {
        "gammas": (Several(Number(low=0.0, open_low=True)), NONE),
        "scale": FLAG,
        "cv": FOLDS,
        "scoring": SCORING,
        "selection": (Choice.of(Selection),),
    }
    __metadata_request__fit: ClassVar = {"groups": True}
    _path_axis: ClassVar[str] = "n_basis"

    @abstractmethod
    def _axes(self, problem: Problem) -> dict[str, Axis]:
        """Values of each axis of the grid, but for gamma, in the order of `_held_out`."""

    @abstractmethod
    def _held_out(
        self, problem: Problem, gammas: Gammas, axes: Mapping[str, Axis]
    ) -> Iterable[Array]:
        """For each split the predictions of its test part, shape (len(gammas), *axes, m)."""

    @abstractmethod
    def _room(self, problem: Problem, axes: Mapping[str, Axis]) -> int:
        """Count the numbers that `_held_out` keeps for one gamma."""

    def _form(self, problem: Problem, rows: Indices) -> Preferences:
        """Return the quadratic form of some of the points."""
        return Pointwise(len(rows))

    def _sums_add_up(self, problem: Problem) -> bool:
        """Say whether the form of all points is that of a training part and that of the rest."""
        return True

    def _check_data(self, X: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        return self._check_scored(X, y, min_samples=2)

    def _check_scores(self, y: Array, labels: NDArray | None) -> None:
        """Raise a ValueError if there is nothing to learn from."""
        if np.ptp(y) == 0.0:
            raise ValueError("y must hold different scores to learn from; all are equal")

    @documented
    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Choose the parameters by cross-validation, and fit to all points with them.

        Parameters
        ----------
        {X_train, scores}
        groups : array-like of shape (n,), optional
            A label for each point, of a user or a query. Folds are made of whole groups, and a
            ranker compares only points with the same label. Default, and with one label for all:
            all points are compared, and folds are made of single points.

        Returns
        -------
        self
        """
        X, y = self._check_data(X, y)
        labels = None if groups is None else group_labels(groups, len(X))
        if labels is not None and np.all(labels == labels[0]):
            labels = None  # all points are compared, as without groups
        self._check_scores(y, labels)
        splits = checked_splits(self.cv, X, y, labels)
        self.scaler_ = self._fitted_scaler(X)
        problem = Problem(self._scaled(X), y, labels, splits, self._seed())
        with overflow_found_later():
            table = self._judged(problem)
        place = table.choose(self.selection)
        self.cv_results_ = table.results()
        self.best_index_ = int(np.ravel_multi_index(place, table.mean.shape))
        self.best_score_ = float(table.mean[place])
        self.best_params_ = table.params_at(place)
        self._table, self._place = table, place
        model = self._plain(problem).set_params(**self.best_params_)
        self._hold(model.fit(problem.X, y, groups))
        return self

    def _judged(self, problem: Problem) -> ScoreTable:
        """Scores of every split over the whole grid."""
        self._plain(problem)._check_parameters()
        judge, axes = Judge(self.scoring), self._axes(problem)
        gammas = self._gamma_grid(problem.X)
        lengths = [len(values) for values in axes.values()]
        scores = np.empty((len(problem.splits), len(gammas), *lengths))
        together = max(1, _AT_ONCE // max(1, self._room(problem, axes)))
        for start in range(0, len(gammas), together):
            part = slice(start, start + together)
            for number, values in enumerate(self._held_out(problem, gammas[part], axes)):
                test = problem.splits[number].test
                labels = None if problem.labels is None else problem.labels[test]
                values = shifted(values, problem.exponent)
                scores[number, part] = judge(problem.y[test], values, labels)
        if gammas[0] is None:
            return ScoreTable(axes, scores[:, 0])
        return ScoreTable({"gamma": np.asarray(gammas), **axes}, scores)

    def _gamma_grid(self, X: Array) -> Gammas:
        names = [kernel for kernel in self._kernels_in_use() if isinstance(kernel, str)]
        if not WITH_GAMMA.intersection(names):
            return [None]
        if self.gammas is not None:
            return np.asarray(self.gammas, dtype=np.float64)
        scale = gamma_in_use("rbf", "scale", X)
        assert scale is not None
        return scale * WIDTHS

    def _kernels(self, problem: Problem, rows: Indices, columns: Indices, gammas: Gammas) -> Array:
        """Kernels of some points with others, shape (len(gammas), len(rows), len(columns))."""
        if self.kernel == "rbf":
            squared = problem.squared_distances(rows, columns)
            return gaussian_stack(squared, np.asarray(gammas, dtype=np.float64))
        if self._precomputed:
            return checked_kernels(problem.X[None, rows[:, None], columns])
        X, Y = problem.X[rows], problem.X[columns]
        return checked_kernels(np.stack([self._kernel(X, Y, gamma) for gamma in gammas]))

    def _plain(self, problem: Problem) -> KernelEstimator:
        """Return the estimator itself, with all parameters that are not chosen."""
        own, names = self.get_params(deep=False), self._estimator().get_params()
        shared = {name: own[name] for name in names if name in own and name != "n_basis"}
        if "random_state" in names:
            shared["random_state"] = problem.seed
        return self._estimator(**shared)

    def _seed(self) -> int:
        """Return one seed for the folds and the fit to all points."""
        state: RandomState = getattr(self, "random_state", 0)
        if isinstance(state, int | np.integer):
            return int(state)
        return int(random_generator(state).choice(_SEEDS))

    def _fitted_scaler(self, X: Array) -> StandardScaler | None:
        if not self.scale or self._precomputed:
            return None
        with overflow_found_later():
            scaler = StandardScaler(with_mean=not self._kernels_of_histograms()).fit(X)
        if not np.isfinite(scaler.scale_).all():
            raise ValueError(
                "X has features whose variance is not a finite number; divide them, or pass "
                "scale=False"
            )
        return scaler

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the score against the number of basis functions, or the weight of the regulariser.

        The line is the mean over the folds with the other parameters as chosen, the band one
        standard error, and the dot the choice.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. Default: axes of a new figure.

        Returns
        -------
        matplotlib Axes
        """
        table = self._of_fit("_table")
        score = self.scoring if isinstance(self.scoring, str) else _name_of(self.scoring)
        return plot_path(table, self._place, self._path_axis, score, self.selection, ax)


@parameters
class RankerCV(Ranker, PathCV):
    """Base of the rankers that choose their parameters by cross-validation."""

    group_weight: GroupWeight | Mapping[Any, float] = "equal"
    scoring: str | Metric = "pairwise_accuracy"

    def _form(self, problem: Problem, rows: Indices) -> Preferences:
        return weighted_groups(problem.compared[rows], self.group_weight)

    def _sums_add_up(self, problem: Problem) -> bool:
        return cuts_no_group(problem.splits, problem.compared)

    def _check_scores(self, y: Array, labels: NDArray | None) -> None:
        compared = group_labels(labels, len(y))
        group_preferences(compared, self.group_weight)
        if not np.any(GroupPreferences(compared).root(y)):
            raise ValueError(
                "y must hold different scores inside a group to learn an order from; all are equal"
            )

    def _hold(self, model: KernelEstimator) -> None:
        super()._hold(model)
        self.n_groups_ = model.n_groups_


class Staged(PathCV):
    """A path of which every prefix is a model."""

    @documented
    def staged_predict(self, X: ArrayLike) -> Iterator[Array]:
        """Predict with 1, 2, ... basis functions, up to the chosen number.

        Parameters
        ----------
        {X_new}

        Yields
        ------
        ndarray of shape (m,)
        """
        X = self._new_scaled(X)
        yield from self.best_estimator_.staged_predict(X)


def _name_of(metric: Metric) -> str:
    return str(getattr(metric, "__name__", type(metric).__name__)).replace("_", " ")
