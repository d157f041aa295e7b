"""The base class of all estimators: data, kernels, scales, fits and predictions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags, check_random_state, gen_batches
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    check_non_negative,
    column_or_1d,
    validate_data,
)

from rankpursuit.errors import warn_caller
from rankpursuit.estimators._checks import (
    ASYMMETRIC,
    LARGE,
    NOT_NEGATIVE_ONLY,
    PARAMETERS,
    PASS_GROUPS,
    PASS_GROUPS_TO_PREDICT,
    WITH_GAMMA,
    Array,
    Constraints,
    Indices,
    Kernel,
    check_finite,
    check_pairs,
    check_parameter,
    check_size,
    check_weights,
    count_groups,
    group_labels,
    resolve_groups,
    scored_part,
    warn_if_flat,
    warn_of_far_values,
    warn_of_lost_groups,
    warn_of_scales,
)
from rankpursuit.estimators.io import save_model
from rankpursuit.estimators.tables import drop_column, encode, pop_column
from rankpursuit.kernels import gaussian_stack, squared_distances
from rankpursuit.metrics import pairwise_accuracy
from rankpursuit.preferences import (
    GroupPreferences,
    PairPreferences,
    Pointwise,
    Preferences,
)
from rankpursuit.solvers import add_up, count_basis, grounded, linear_kernel, nearest_scores

RandomState = int | np.random.Generator | np.random.RandomState | None
Generator = np.random.Generator | np.random.RandomState
Split = tuple[Indices, Indices]
"""Training and test indices, in ascending order."""
Grid = Mapping[str, Sequence[Any]]
"""Values of each axis of a path, by the name of the parameter."""
FoldPath = tuple[Callable[[], Any], Any]
"""A function of `solvers/paths.py` with all its arguments, to be called, and what the predictions
of the test set depend on."""

PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
"""Default values of alpha, ridge and C in a search."""
GAMMAS = 4.0 ** np.arange(-3, 3)
"""Default values of gamma in a search, as multiples of "scale"."""

_BLOCK = 1 << 22
"""Kernel values in memory at a time during a prediction: 32 MB."""
_COPIED_ENTRIES = 1 << 20
"""Entries copied at a time to compute a variance: 8 MB."""


# Random draws


def random_generator(random_state: RandomState) -> Generator:
    """Return a numpy Generator unchanged; pass anything else to `check_random_state`."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return check_random_state(random_state)


def draw_candidates(n_points: int, n_candidates: int | None, random_state: RandomState) -> Indices:
    """Draw the training points whose kernel functions form the dictionary, in ascending order.

    Each point gets a random key, and the smallest keys win: rows read in blocks, in the same
    order, get the same keys.
    """
    if n_candidates is None or n_candidates >= n_points:
        return np.arange(n_points)
    return smallest(random_generator(random_state).random(n_points), n_candidates)


def smallest(keys: Array, number: int | None) -> Indices:
    """Return the indices of the `number` smallest keys, or of all, in ascending order."""
    if number is None or number >= len(keys):
        return np.arange(len(keys))
    return np.sort(np.argpartition(keys, number - 1)[:number])


# Scales


def scale_in_groups(X: Any, labels: NDArray) -> Any:
    """Standardise the features within each group, to zero mean and unit variance."""
    form = GroupPreferences(labels, "equal")
    centred = form.root(X)
    variance = np.add.reduceat(np.square(centred[form.order]), form.starts, axis=0)
    deviation = np.sqrt(variance / form.sizes[:, None])
    deviation[deviation == 0.0] = 1.0
    return (centred / deviation[form.codes]).astype(X.dtype, copy=False)


class RunningVariance(NamedTuple):
    """Number, mean and squared deviations of entries, mergeable across blocks."""

    n_entries: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, X: NDArray[np.floating]) -> RunningVariance:
        """Add all entries of `X`, which may be a memory map, without copying it as a whole."""
        n_entries, mean, squares = self
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in gen_batches(len(X), max(1, _COPIED_ENTRIES // max(1, X.shape[1]))):
                block = np.asarray(X[rows], dtype=np.float64)
                n_entries += block.size
                fraction, change = block.size / n_entries, float(block.mean()) - mean
                squares += float(block.var()) * block.size
                squares += change * change * fraction * (n_entries - block.size)
                mean += fraction * change
        return RunningVariance(n_entries, mean, squares)

    @property
    def variance(self) -> float:
        """Variance; 1 if all entries are equal, to the rounding error of their mean."""
        variance = self.squares / self.n_entries
        return 1.0 if math.sqrt(variance) <= 1e-15 * abs(self.mean) else variance


def resolve_gamma(
    kernel: Kernel, gamma: Any, X: NDArray[np.floating], entries: RunningVariance | None = None
) -> Any:
    """Return the number that `gamma` stands for; None if the kernel has no gamma.

    "scale" uses the variance of `X`, or of `entries` if given.
    """
    if kernel not in WITH_GAMMA:
        return None
    if gamma is None:
        return 1.0 / X.shape[1]
    if not isinstance(gamma, str):
        return float(gamma)
    scaled = X.shape[1] * (entries or RunningVariance().add(X)).variance
    if not 1.0 / LARGE**2 <= scaled <= LARGE**2:
        raise ValueError(
            f"gamma='scale' is out of range: n_features * X.var() is {scaled:.3g}; scale the "
            "features"
        )
    return 1.0 / scaled


def predict_blocks(X: Any, n_columns: int, function: Callable[[Any], Array]) -> Array:
    """Evaluate a function at points block by block, in double precision.

    `function` returns the values of some rows of `X`, and holds `n_columns` numbers per row. The
    result has the dtype of `X`.
    """
    blocks = gen_batches(X.shape[0], max(1, _BLOCK // max(1, n_columns)))
    with np.errstate(over="ignore", invalid="ignore"):
        of_blocks = [function(X[rows].astype(np.float64, copy=False)) for rows in blocks]
        values = np.concatenate(of_blocks).astype(X.dtype, copy=False)
    if not np.isfinite(values).all():
        raise ValueError(
            "predictions are not finite at some points of X; scale the features as those of the "
            "training points"
        )
    return values


# The base class


@dataclass(frozen=True)
class TrainingData:
    """Checked training points, with their scores, labels of groups and weights."""

    X: Any
    y: Array
    labels: NDArray
    weights: Array | None = None

    def preferences(self, model: KernelEstimator, rows: Any = slice(None)) -> Preferences:
        """Return the quadratic form of a model over some points."""
        weights = None if self.weights is None else self.weights[rows]
        return model._preferences(self.labels[rows], weights)


class KernelEstimator(RegressorMixin, BaseEstimator):
    """Base of all estimators: functions ``f(x) = sum_j coef_j k(x_j, x)`` over a kernel."""

    _ranks: ClassVar[bool] = True
    """Whether points are compared within groups; a regression fits the scores of each point."""
    _not_taken: ClassVar[tuple[str, ...]] = ()
    """Arguments of `fit` that the method does not support."""
    _constraints: ClassVar[Constraints] = {}
    """Constraints of parameters that differ from those of other classes."""
    _dtypes: ClassVar[list[type]] = [np.float64]
    """Dtypes that training points may keep; others are converted to the first."""
    _partly_scored: ClassVar[bool] = False
    """Whether points may be unscored, marked by NaN."""
    _has_linear_form: ClassVar[bool] = False
    """Whether a linear kernel is solved for the weights of the features."""
    _path_axes: ClassVar[tuple[str, ...]] = ()
    """Parameters whose whole grid is one path, in the order of the axes of its predictions."""
    _search_values: ClassVar[Mapping[str, Sequence[float] | None]] = {}
    """Parameters that a search tries by default, with their values; None if they depend on data."""
    __metadata_request__fit: ClassVar = {"groups": True}
    __metadata_request__predict: ClassVar = {"groups": True}
    __metadata_request__score: ClassVar = {"groups": True}

    kernel: Kernel
    n_basis: int | float | None
    gamma: float | str | None
    degree: int
    coef0: float
    kernel_params: Mapping[str, Any] | None
    scale: bool | str = False  # for methods without this parameter
    n_groups_: int | None
    group_column_: str | None
    gamma_: Any
    basis_: Any
    coef_: Any
    X_basis_: Any

    def _set_parameters(self, arguments: Mapping[str, Any]) -> None:
        """Store the arguments of a constructor, its `locals()`, unchanged."""
        for name in arguments.keys() - {"self"}:
            setattr(self, name, arguments[name])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = self._in_features
        tags.input_tags.positive_only = bool(self._kernels_of_histograms())
        return tags

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _uses_dictionary(self) -> bool:
        """Return whether the functions come from a dictionary object, not from the kernel."""
        dictionary = getattr(self, "dictionary", "kernel")
        return not (isinstance(dictionary, str) and dictionary == "kernel")

    @property
    def _in_features(self) -> bool:
        """Return whether the model has one weight per feature, so that X may be sparse."""
        return self._has_linear_form and isinstance(self.kernel, str) and self.kernel == "linear"

    def _kernels_in_use(self) -> tuple[Kernel, ...]:
        """Return the kernels of the views, if each has its own, or the one kernel."""
        views = getattr(self, "views", None)
        return tuple(views) if isinstance(views, list | tuple) else (self.kernel,)

    def _kernels_of_histograms(self) -> list[Kernel]:
        return [kernel for kernel in self._kernels_in_use() if kernel in NOT_NEGATIVE_ONLY]

    def _check_parameters(self) -> None:
        """Raise a ValueError if a parameter is invalid, alone or together with another."""
        for name, value in self.get_params(deep=False).items():
            check_parameter(name, value, self._constraints.get(name) or PARAMETERS[name])
        if self.kernel_params is not None and not any(map(callable, self._kernels_in_use())):
            raise ValueError(
                "kernel_params must be None unless kernel is a callable; got "
                f"{dict(self.kernel_params)!r} with kernel={self.kernel!r}"
            )
        if self._precomputed and isinstance(self.scale, str):
            raise ValueError(
                "scale='group' cannot be used with kernel='precomputed', which has no features; "
                "scale the features within groups before the kernel is computed"
            )

    # Checks of data

    def _validate(
        self, X: Any, *y: Any, dtype: Any, reset: bool = True, complete: bool = True, **options: Any
    ) -> Any:
        """Validate points, and scores if given, with scikit-learn; encode categories.

        Unless `complete` is False, a model whose functions have no place for missing values and
        categories refuses them.
        """
        if sp.issparse(X):
            if self._in_features:
                options |= {"dtype": dtype, "accept_sparse": "csr", "reset": reset}
                return validate_data(self, X, *y, **options)
            raise TypeError(
                "Sparse data was passed for X, but only RLS, RankRLS, SparseRankRLS and RankSVM "
                "with kernel='linear' accept it; pass X.toarray()"
            )
        known = None if reset else vars(self).get("categories_", {})
        X, categories = encode(X, getattr(self, "categorical_features", "from_dtype"), known)
        options |= {"dtype": dtype, "reset": reset, "ensure_all_finite": "allow-nan"}
        validated = validate_data(self, X, *y, **options)
        points = validated[0] if y else validated
        has_gaps = np.isnan(points.min(axis=0))
        if reset:
            self.categories_, self.missing_ = categories, has_gaps
            empty = has_gaps.copy()
            empty[has_gaps] = np.isnan(points[:, has_gaps]).all(axis=0)
            if empty.any():
                name = self._names(empty)[0]
                raise ValueError(
                    f"Input X contains NaN only in {name}, which has no value: drop it"
                )
        if complete and not self._takes_gaps and (gaps := self._gaps(has_gaps)):
            raise ValueError(gaps)
        new = [] if reset else self._names(has_gaps & ~vars(self).get("missing_", has_gaps))
        if new:
            warn_caller(
                f"X has missing values in {', '.join(new)}, which had none in the training data: "
                "the functions of these columns have their mean there"
            )
        return validated

    @property
    def _takes_gaps(self) -> bool:
        """Return whether the functions have a place for missing values and categories."""
        return False

    def _names(self, which: NDArray[np.bool_]) -> list[str]:
        """Return the names of some features, for messages."""
        names = vars(self).get("feature_names_in_", np.arange(len(which)))
        return [f"column {name!r}" for name in names[which].tolist()]

    def _gaps(self, missing: NDArray[np.bool_]) -> str:
        """Return what a kernel has no functions for, and what to do; "" if there is nothing."""
        places = np.isin(np.arange(len(missing)), list(vars(self).get("categories_", ())))
        for what, which, tool in (
            ("has categories", places, "sklearn.preprocessing.OneHotEncoder"),
            ("contains NaN", missing, "sklearn.impute.SimpleImputer"),
        ):
            if which.any():
                return (
                    f"Input X {what} in {', '.join(self._names(which)[:5])}, for which kernels "
                    "have no functions: use dictionary='grown' of a pursuit, which has them, or "
                    f"{tool} in a pipeline"
                )
        return ""

    def _check_points(self, X: ArrayLike) -> Any:
        """Check the parameters, and training points that come without scores."""
        self._check_parameters()
        X = self._validate(X, dtype=self._dtypes, ensure_min_samples=1 + self._ranks)
        return self._check_for_kernel(X)

    def _check_data(
        self,
        X: ArrayLike,
        y: ArrayLike | None,
        *,
        reset: bool = True,
        min_samples: int = 0,
        complete: bool = True,
    ) -> tuple[Any, Array]:
        """Check the parameters, and training points with their scores."""
        self._check_parameters()
        if y is None:
            remedy = "" if "pairs" in self._not_taken else ", or pairs of samples as pairs="
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; pass "
                f"scores{remedy}"
            )
        options: dict[str, Any] = {"reset": reset, "complete": complete}
        options["ensure_min_samples"] = min_samples or 1 + self._ranks
        if self._partly_scored:
            X = self._validate(X, dtype=self._dtypes, **options)
            y = column_or_1d(y, dtype=np.float64, warn=True)
            check_consistent_length(X, y)
            if np.isinf(y).any():
                raise ValueError("y contains infinity; NaN marks an unscored point")
            if np.count_nonzero(~np.isnan(y)) < 2:
                raise ValueError("y must hold at least two scores; NaN marks an unscored point")
        else:
            X, y = self._validate(X, y, dtype=self._dtypes, y_numeric=True, **options)
        scores = np.asarray(y, dtype=np.float64)
        remedy = "scale the scores, and drop points without one"
        check_size(scores[~np.isnan(scores)], "y", remedy)
        return self._check_for_kernel(X), scores

    def _check_for_kernel(self, X: Any) -> Any:
        if self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                "X must be square with kernel='precomputed': the kernel of the training points "
                f"with each other; got shape {X.shape}"
            )
        for name in self._kernels_of_histograms():
            check_non_negative(X, f"the kernel {name!r}")
        if self._in_features:  # no kernel value is ever computed
            largest = float(abs(X).max())  # Python's product overflows to infinity silently
            self._check_kernel_values(np.array([largest * largest]))
        return X

    def _refuse(self, **arguments: Any) -> None:
        """Raise an error if `fit` got an unsupported argument."""
        for name, value in arguments.items():
            if name not in ("sample_weight", "pairs", "weights"):
                raise TypeError(f"{type(self).__name__}.fit() got an unexpected argument {name!r}")
            if name in self._not_taken and value is not None:
                raise ValueError(
                    f"{type(self).__name__} takes no {name}: leave it out, or use RankRLS or "
                    "RankingPursuit"
                )

    # Kernels and scales

    def _kernel(
        self, X: Array, Y: Array, gamma: float | None, kernel: Kernel | None = None
    ) -> Array:
        """Return the kernel values of the points `X` with `Y`, shape (len(X), len(Y))."""
        kernel = self.kernel if kernel is None else kernel
        if len(Y) == 0:  # a model without a basis function
            return np.empty((len(X), 0))
        if callable(kernel):
            values = np.asarray(kernel(X, Y, **(self.kernel_params or {})), dtype=np.float64)
            if values.shape != (len(X), len(Y)):
                raise ValueError(
                    "kernel must return one value for each pair of points, shape "
                    f"{(len(X), len(Y))}; got {values.shape}"
                )
            return values
        if kernel == "rbf" and gamma is not None:
            return gaussian_stack(squared_distances(X, Y), [gamma])[0]
        X, Y = (np.require(points, requirements="W") for points in (X, Y))  # required by "chi2"
        options = {"gamma": gamma, "degree": self.degree, "coef0": self.coef0}
        with np.errstate(over="ignore", invalid="ignore"):
            return pairwise_kernels(X, Y, metric=kernel, filter_params=True, **options)

    def _check_kernel_values(self, values: Array, kernel: Kernel | None = None) -> None:
        """Raise a ValueError if kernel values are not finite, or too large or too small."""
        kernel = self.kernel if kernel is None else kernel
        name = kernel if isinstance(kernel, str) else getattr(kernel, "__name__", type(kernel))
        check_size(
            values, f"values of the kernel {name!r}", "scale the features, or lower gamma or degree"
        )

    def _training_kernel(self, X: Array, columns: Indices, *, symmetric: bool = True) -> Array:
        """Return the checked kernel values of the training points with some of them, (n, r)."""
        self.gamma_ = resolve_gamma(self.kernel, self.gamma, X)
        kernel = X[:, columns] if self._precomputed else self._kernel(X, X[columns], self.gamma_)
        self._check_kernel_values(kernel)
        if symmetric:
            self._check_symmetric(kernel[columns])
        warn_if_flat(self.kernel, self.gamma_, kernel, columns)
        return kernel

    def _check_symmetric(self, kernel: Array, of: Kernel | None = None) -> None:
        """Raise a ValueError if a custom kernel of points with themselves is not symmetric."""
        if not (self._precomputed or callable(self.kernel if of is None else of)):
            return
        apart = float(np.abs(kernel - kernel.T).max(initial=0.0))
        if apart > ASYMMETRIC * float(np.abs(kernel).max(initial=0.0)):
            raise ValueError(
                "kernel must be symmetric: k(x, z) and k(z, x) differ by up to "
                f"{apart:.3g} for training points; a pursuit with ridge=0 accepts such a kernel"
            )

    def _labels(self, groups: Any, qid: Any, group: Any, n_points: int) -> NDArray:
        """Return the labels of the training points, which a scale within groups requires."""
        given = any(value is not None for value in (groups, qid, group))
        if isinstance(vars(self).get("scale"), str) and not given:
            raise ValueError(
                "scale='group' needs the groups of the training points; pass groups= to fit, with "
                "scikit-learn's tools after sklearn.set_config(enable_metadata_routing=True), or "
                "use scale=True; if all points are of one group, pass one label for all of them"
            )
        return resolve_groups(groups, qid, group, n_points)

    def _warn_of_far_values(self, X: Any) -> None:
        if not (self._precomputed or self._uses_dictionary or sp.issparse(X)):
            names = getattr(self, "feature_names_in_", None)
            warn_of_far_values(X, names)
            if not self.scale:
                remedy = "scale=True or " if "scale" in vars(self) else ""
                warn_of_scales(self.kernel, X, names, remedy)

    def _scale_training(self, X: Any, labels: NDArray) -> Any:
        """Return scaled training points, and store the scaler for new ones."""
        if "scale" not in vars(self):
            return X
        self.scaler_ = None
        if isinstance(self.scale, str):
            if gaps := self._gaps(self.missing_):
                raise ValueError(f"{gaps}, with scale=True or False: scale='group' has no place")
            self.n_groups_ = len(np.unique(labels))
            return scale_in_groups(X, labels)
        if self.scale and not self._precomputed:
            with np.errstate(over="ignore", invalid="ignore"):
                scaler = StandardScaler(with_mean=not self._kernels_of_histograms())
                # Whatever sklearn.set_config(transform_output=...) says, arrays go on from here.
                self.scaler_ = scaler.set_output(transform="default").fit(X)
            if not np.isfinite(self.scaler_.scale_).all():
                raise ValueError(
                    "X has features whose variance overflows; divide them by a constant"
                )
            for feature in self.categories_:  # codes stay as they are
                self.scaler_.mean_[feature], self.scaler_.scale_[feature] = 0.0, 1.0
        return self._scaled(X)

    def _scaled(self, X: Any) -> Any:
        scaler = vars(self).get("scaler_")
        return X if scaler is None else scaler.transform(X)

    # Fits

    def _preferences(self, labels: NDArray, sample_weight: Array | None = None) -> Preferences:
        """Return the pairs within each group; for a regression, the identity."""
        if not self._ranks:
            return Pointwise(len(labels), sample_weight)
        weight = self.group_weight
        if isinstance(weight, str):
            return GroupPreferences(labels, weight, sample_weight)
        distinct = np.unique(labels).tolist()
        missing = [label for label in distinct if label not in weight]
        if missing:
            raise ValueError(
                f"group_weight must have a weight for each group; it has none for {missing[0]!r}"
            )
        of_groups = [weight[label] for label in distinct]
        values = check_weights("group_weight", of_groups, "group", len(distinct))
        return GroupPreferences(labels, values, sample_weight)

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        pairs: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Self:
        """Fit to the differences of scores within each group, or of explicit pairs.

        A regression (RLS, KernelMatchingPursuit) fits the scores themselves.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or (n, n) kernel values if precomputed
        y : array-like of shape (n,), optional
            Scores. Optional with `pairs`.
        groups : array-like of shape (n,) or str, optional
            Label or query id of each point; only points of one group are compared. Default: all.
            A regression ignores them, unless ``scale="group"``. A string is the label of the column
            of a data frame that has them, which is no feature, and which `predict` ignores.
        qid : array-like of shape (n,), optional
            Another name for `groups`.
        group : array-like of shape (n_groups,), optional
            Sizes of consecutive groups, as in LightGBM, instead of `groups`.
        sample_weight : array-like of shape (n,), optional
            Positive weights of the squared errors of a regression; in a ranker, a pair is weighted
            by the product of the weights of its samples.
        pairs : array-like of shape (p, 2), optional
            Pairs to compare, instead of `groups`: a row (i, j) says that sample i is preferred to
            sample j. A pair may occur more than once and in both directions. Indices refer to the
            rows of X, so that cross-validation, which selects rows, cannot pass pairs on. Methods
            that fit the scores themselves, in whole or in part, do not support pairs.
        weights : array-like of shape (p,), optional
            Positive weights of the pairs. Default: all 1.

        Returns
        -------
        self

        Notes
        -----
        With pairs the cost is ``sum_k w_k (d_k - (f_i - f_j))^2`` over the rows (i, j). The
        target difference ``d_k`` is ``y_i - y_j`` if scores are given, even if they contradict the
        pair, and 1 otherwise. Rows about the same two samples are one comparison
        with the sum of their weights and the weighted mean of their differences.
        """
        self._refuse(pairs=pairs, weights=weights)
        if pairs is None and weights is None:
            return self._fit_data(self._check_training(X, y, groups, qid, group, sample_weight))
        if sample_weight is not None:
            raise ValueError("sample_weight cannot be used with pairs; pass weights= of the pairs")
        if isinstance(self.scale, str):
            raise ValueError(
                "scale='group' needs groups, which pairs replace; use scale=True, or scale the "
                "features within groups first"
            )
        if y is None:
            X = self._check_points(X)
        else:
            X, y = self._check_data(X, y)
        n_points, self.n_groups_, self.group_column_ = X.shape[0], None, None
        edges = add_up(*check_pairs(pairs, weights, [groups, qid, group], n_points))
        scores = nearest_scores(n_points, edges) if y is None else grounded(y, edges)
        form = PairPreferences(n_points, edges.pairs, edges.weights)
        self._warn_of_far_values(X)
        return self._fit(self._scale_training(X, np.zeros(n_points)), scores, form)

    def _check_training(
        self,
        X: Any,
        y: Any,
        groups: Any,
        qid: Any,
        group: Any,
        sample_weight: Any = None,
        min_samples: int = 0,
        complete: bool = True,
    ) -> TrainingData:
        """Check, once, everything that a fit to scores gets."""
        self.group_column_ = next((own for own in (groups, qid) if isinstance(own, str)), None)
        if self.group_column_ is not None:
            X, labels = pop_column(X, self.group_column_)
            groups, qid = (labels if isinstance(own, str) else own for own in (groups, qid))
        elif self._ranks and groups is None and qid is None and group is None:
            warn_of_lost_groups(type(self).__name__)
        X, y = self._check_data(X, y, min_samples=min_samples, complete=complete)
        labels = self._labels(groups, qid, group, len(y))
        return TrainingData(X, y, labels, self._check_sample_weight(sample_weight, len(y)))

    def _fit_data(self, data: TrainingData) -> Self:
        """Fit to checked data, in the units of the user."""
        self._warn_of_far_values(data.X)
        return self._fit_scaled(replace(data, X=self._scale_training(data.X, data.labels)))

    def _fit_scaled(self, data: TrainingData) -> Self:
        """Fit to checked and scaled data."""
        preferences = data.preferences(self)
        if self._ranks:
            self.n_groups_ = count_groups(preferences)
        return self._fit(data.X, data.y, preferences)

    def _check_sample_weight(self, sample_weight: ArrayLike | None, n_points: int) -> Array | None:
        self._refuse(sample_weight=sample_weight)
        if sample_weight is None:
            return None
        return check_weights("sample_weight", sample_weight, "sample", n_points)

    def _fit(self, X: Any, scores: Array, preferences: Preferences) -> Self:
        """Fit to checked scores in the given quadratic form."""
        raise NotImplementedError

    def _store_expansion(self, X: Array, basis: Indices, coef: Array) -> Self:
        """Store the expansion over the training points `basis`, in contiguous copies.

        A model that is saved and loaded then has the same memory layout and bit-identical results.
        """
        check_finite(coef)
        self.basis_, self.coef_ = np.array(basis, order="C"), np.array(coef, order="C")
        self.X_basis_ = None if self._precomputed else np.array(X[basis], order="C")
        return self

    def _store_weights(self, weights: Array) -> Self:
        """Store the weights of the features; the basis functions are the features themselves."""
        check_finite(weights)
        self.gamma_, self.X_basis_ = None, None
        self.basis_, self.coef_ = np.arange(len(weights)), np.array(weights, order="C")
        return self

    # What a search needs

    def _has_gamma(self) -> bool:
        """Return whether functions depend on gamma."""
        kernels = self._kernels_in_use()
        named = any(isinstance(kernel, str) and kernel in WITH_GAMMA for kernel in kernels)
        return named and not self._uses_dictionary

    def _n_available(self, data: TrainingData, train: Indices) -> int | None:
        """Return the number of functions to choose from in a training set; None if any number."""
        return None

    def _default_values(self, name: str, X: Any, n_available: int) -> Sequence[Any] | Array:
        """Return the values of a parameter that a search tries by default."""
        if name == "gamma":
            return GAMMAS * resolve_gamma("rbf", "scale", X)
        if name == "n_basis":
            return range(1, count_basis(self.n_basis, n_available) + 1)
        return self._search_values[name] or ()

    def _iter_paths(
        self, data: TrainingData, splits: list[Split], gammas: list[Any], grid: Grid
    ) -> Iterator[FoldPath]:
        """Yield the path of each training set, for all gammas and the grid of `_path_axes`.

        The points of `data` are scaled. Predictions of a path are of shape (gammas, *grid, m).
        """
        raise NotImplementedError

    def _stack(self, X: Array, rows: Indices, columns: Indices, gammas: Sequence[Any]) -> Array:
        """Return the kernels of some points with others, (len(gammas), len(rows), len(columns))."""
        gammas = [resolve_gamma(self.kernel, gamma, X) for gamma in gammas]
        if self._precomputed:
            stack = X[None, rows[:, None], columns]
        elif sp.issparse(X):
            stack = linear_kernel(X[rows], X[columns])[None]
        elif isinstance(self.kernel, str) and self.kernel == "rbf":
            stack = gaussian_stack(squared_distances(X[rows], X[columns]), gammas)
        else:
            stack = np.stack([self._kernel(X[rows], X[columns], gamma) for gamma in gammas])
        self._check_kernel_values(stack)
        return stack

    # Predictions

    def _new_points(self, X: ArrayLike, groups: ArrayLike | None = None) -> Any:
        """Check points to predict; float32 is kept."""
        check_is_fitted(self)
        X, groups = self._split_groups(X, groups)
        X = self._validate(X, reset=False, dtype=[np.float64, np.float32])
        if isinstance(self.scale, str):
            n_fitted = vars(self).get("n_groups_")
            if groups is None and n_fitted is not None and n_fitted > 1:
                raise ValueError(
                    f"{type(self).__name__} was fitted to {n_fitted} groups with scale='group' but "
                    "is given points without groups, so that different groups would be scaled "
                    f"together; {PASS_GROUPS_TO_PREDICT}; if all points are of one group, pass one "
                    "label for all of them"
                )
            X = scale_in_groups(X, group_labels(groups, X.shape[0]))
        return X

    def _split_groups(self, X: Any, groups: Any) -> tuple[Any, Any]:
        """Return new points without the column of the groups, and the groups."""
        if isinstance(groups, str):
            return pop_column(X, groups)
        label = vars(self).get("group_column_")
        features = drop_column(X, label)
        return features, np.asarray(X[label]) if groups is None and features is not X else groups

    def _basis_values(self, X: Array) -> Array:
        """Return the values of the basis functions at checked points, shape (m, n_basis)."""
        if self.X_basis_ is None:
            return X[:, self.basis_]
        return self._kernel(X, self.X_basis_, self.gamma_)

    def predict(self, X: ArrayLike, groups: ArrayLike | None = None) -> Array:
        """Predict the utility of new points, block by block.

        Parameters
        ----------
        X : array-like of shape (m, n_features), or (m, n) kernel values if precomputed
        groups : array-like of shape (m,), optional
            Groups within which features are scaled if ``scale="group"``; required if the model was
            fitted to several groups. Otherwise they are ignored.

        Returns
        -------
        ndarray of shape (m,)
            float32 if `X` is, and float64 otherwise.
        """
        X = self._new_points(X, groups)
        n_columns = max(np.size(self.coef_), X.shape[1])
        return predict_blocks(X, n_columns, lambda points: self._values(self._scaled(points)))

    def _values(self, X: Any) -> Array:
        """Return the values of the function at checked and scaled points, shape (m,)."""
        if isinstance(self.kernel, str) and self.kernel == "linear" and not self._uses_dictionary:
            return X @ (self.coef_ if self.X_basis_ is None else self.coef_ @ self.X_basis_)
        return self._basis_values(X) @ self.coef_

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the pairwise accuracy of a ranker, or R^2 of a regression.

        The pairwise accuracy is the fraction of pairs in the right order.

        Parameters
        ----------
        X : array-like of shape (m, n_features), or (m, n) kernel values if precomputed
        y : array-like of shape (m,)
            True scores; a ranker skips points with NaN.
        groups : array-like of shape (m,), optional
            Only pairs within a group count. Required if the model was fitted to several groups; to
            compare all samples, pass one label for all of them.
        qid : array-like of shape (m,), optional
            Another name for `groups`.
        sample_weight : array-like of shape (m,), optional
            Weights of the squared errors of a regression; a ranker takes none.

        Returns
        -------
        float
            For a ranker between 0 and 1, over the pairs whose true scores differ; a pair tied in
            the prediction counts half.
        """
        if isinstance(qid, str):
            groups = qid
        elif qid is not None:
            groups = resolve_groups(groups, qid, None, np.shape(qid)[0])
        X, groups = self._split_groups(X, groups)
        prediction = self.predict(X, groups)
        if not self._ranks:
            return float(r2_score(y, prediction, sample_weight=sample_weight))
        if sample_weight is not None:
            raise ValueError("score of a ranker counts pairs, and takes no sample_weight")
        y, prediction, labels = scored_part(y, prediction, groups)
        n_fitted = self.n_groups_
        if n_fitted is not None and n_fitted > 1 and labels is None:
            raise ValueError(
                f"{type(self).__name__} was fitted to {n_fitted} groups but is scored without "
                f"groups, so that points of different groups would be compared; {PASS_GROUPS}; if "
                "all samples are of one group, pass one label for all of them"
            )
        if n_fitted == 1 and labels is not None and (n_labels := len(np.unique(labels))) > 1:
            warn_caller(
                f"{type(self).__name__} is scored within {n_labels} groups but was fitted without "
                f"groups, so that it compared all samples with each other; {PASS_GROUPS}"
            )
        return float(pairwise_accuracy(y, prediction, labels))

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file, without pickle; requires the package `skops`.

        Parameters
        ----------
        path : path
            A new file, or a regular file to replace; see :func:`rankpursuit.load_model`.

        Raises
        ------
        ModelFileError
            If the file cannot be written, or if a parameter is a function or an object of other
            code than this package and the kernels and splitters of scikit-learn.
        """
        check_is_fitted(self)
        save_model(self, path)
