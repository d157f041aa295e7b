"""The pursuits with one function: kernel matching pursuit, ranking pursuit, and their blend.

All three follow one path of growing expansions, from the rows of a least-squares problem or from
its Gram matrix. A Gram matrix is a sum over blocks of whole groups, so that a model can be learned
from blocks: one at a time, from a file, or from the workers of a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from rankpursuit.errors import warn_caller
from rankpursuit.estimators._base import (
    PENALTIES,
    FoldPath,
    Grid,
    KernelEstimator,
    RandomState,
    Split,
    TrainingData,
    draw_candidates,
    resolve_gamma,
)
from rankpursuit.estimators._checks import (
    NONE,
    NOT_NEGATIVE,
    Array,
    Constraints,
    GroupWeights,
    Indices,
    Kernel,
    check_finite,
    count_groups,
    evenly,
    warn_if_flat,
    warn_of_far_values,
)
from rankpursuit.estimators.blocks import (
    BlockGram,
    Blocks,
    Candidates,
    check_block,
    check_candidates,
    checking_copy,
    common_names,
    draw_from_blocks,
    gram_of_block,
    prefix_errors,
    read_blocks,
    settings_of,
)
from rankpursuit.estimators.dictionaries import GrownDictionary, dictionary_values, make_dictionary
from rankpursuit.estimators.export import Dialect, to_json, to_python, to_sql
from rankpursuit.estimators.inspection import (
    explain,
    importances,
    represent,
    represent_html,
    summarise,
)
from rankpursuit.kernels import GaussianColumns
from rankpursuit.preferences import Blend, Preferences
from rankpursuit.solvers import (
    Fitting,
    Functions,
    GramSums,
    PursuitPath,
    Rows,
    choose_form,
    count_basis,
    is_exact,
    pursuit_grid,
    sum_rows,
)

if TYPE_CHECKING:
    import pandas as pd


class NoUsableFunctionError(ValueError):
    """A dictionary has no function that may be chosen."""


def common_blocks(splits: Sequence[Split], labels: NDArray) -> list[Indices] | None:
    """Return blocks of points that are in the training sets of the same splits.

    None if a group has points in several blocks, or if there are more blocks than splits, so that
    adding up blocks saves nothing.
    """
    inside = np.zeros((len(labels), len(splits)), dtype=bool)
    for place, (train, _) in enumerate(splits):
        inside[train, place] = True
    patterns, codes = np.unique(inside, axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    in_groups = len(np.unique(np.rec.fromarrays([labels, codes])))
    if len(patterns) > len(splits) + 1 or in_groups > len(np.unique(labels)):
        return None
    return [np.flatnonzero(codes == code) for code in range(len(patterns))]


def usable_functions(
    dictionary: Any, values: NDArray[np.floating], preferences: Preferences, scores: Array
) -> Functions:
    """Return the functions of a fitted dictionary; raise an error if none may be chosen."""
    functions = Functions(values, getattr(dictionary, "growth", None), preferences, scores)
    if not functions.norms.any():
        raise NoUsableFunctionError(
            "dictionary has no usable function: each one is constant, within groups if there "
            "are any, or varies on too few rows; pass other features or more rows"
        )
    return functions


class _Pursuit(KernelEstimator):
    """Base of the pursuits with one function."""

    _dtypes = [np.float64, np.float32]  # noqa: RUF012
    _constraints: ClassVar[Constraints] = {"tol": (*NOT_NEGATIVE, NONE)}
    _path_axes = ("ridge", "n_basis")
    _search_values: ClassVar[Mapping[str, Any]] = {"ridge": PENALTIES, "n_basis": None}
    __metadata_request__partial_fit: ClassVar = {"groups": True}

    def __init__(
        self,
        n_basis: int | float | None = None,
        *,
        fitting: Fitting | None = None,
        repeat: bool = False,
        ridge: float | None = None,
        dictionary: Any = "kernel",
        categorical_features: Any = "from_dtype",
        n_candidates: int | None = 1000,
        kernel: Kernel = "rbf",
        gamma: float | str | None = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        scale: bool | str = False,
        tol: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        self._set_parameters(locals())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.repeat and self.fitting != "basic":
            raise ValueError(
                f"repeat must be False with fitting={self._fitting!r}; only 'basic' fitting may "
                "gain from choosing a function again"
            )
        if self._uses_dictionary and self.fitting not in (None, "prefit"):
            raise ValueError(
                f"fitting={self.fitting!r} is for kernels; the functions of a dictionary are "
                "always chosen by the cost after the refit: leave it out"
            )
        if self._uses_dictionary and self._precomputed:
            raise ValueError(
                "kernel='precomputed' has no features, which the functions of a dictionary depend "
                "on; use dictionary='kernel'"
            )

    @property
    def _takes_gaps(self) -> bool:
        named = isinstance(self.dictionary, str) and self.dictionary != "kernel"
        return named or isinstance(self.dictionary, GrownDictionary)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = self._takes_gaps
        return tags

    def _fit_dictionary(self, X: NDArray[np.floating]) -> Any:
        """Return a dictionary object, fitted to points."""
        dictionary = make_dictionary(self.dictionary)
        categories = {"categories": list(self.categories_)} if self.categories_ else {}
        return dictionary.fit(X, **categories)

    def _pursue(
        self, problem: Rows | GramSums | Functions, n_steps: int, kernel: Array | None = None
    ) -> PursuitPath:
        """Follow the path of one problem, with the kernel of its candidates."""
        grid: dict[str, Any] = {"ridge": [self._ridge], "n_basis": [n_steps]}
        return pursuit_grid(problem, grid, kernel=kernel, **self._options()).path

    @property
    def _fitting(self) -> Fitting:
        """How functions are chosen: by default "backfit" for kernels, "prefit" for others."""
        return self.fitting or ("prefit" if self._uses_dictionary else "backfit")

    @property
    def _ridge(self) -> float:
        """The weight of the penalty: by default 1 for kernels, and 0 for other dictionaries."""
        if self.ridge is None:
            return 0.0 if self._uses_dictionary else 1.0
        return self.ridge

    def _options(self) -> dict[str, Any]:
        """Return the options of the method, for `pursuit_grid`."""
        options = {"fitting": self._fitting, "repeat": self.repeat, "tol": self.tol}
        return {**options, "ends": self.n_basis is None}

    def _fit(self, X: NDArray[np.floating], scores: Array, preferences: Preferences) -> Self:
        if self._uses_dictionary:
            return self._fit_functions(X, scores, preferences)
        candidates = draw_candidates(len(X), self.n_candidates, self.random_state)
        n_steps = count_basis(self.n_basis, len(candidates))
        form = choose_form(len(X), len(candidates), preferences, self._fitting)
        if form != "rows" and not self._precomputed:
            points = np.asarray(X[candidates], dtype=np.float64)
            dictionary = Candidates(points, candidates, resolve_gamma(self.kernel, self.gamma, X))
            sums = self._sum(dictionary, X, scores, preferences)
            path = self._pursue(sums, n_steps, self._penalty(dictionary))
            if form == "sums" or is_exact(path):
                self._warn_if_flat(dictionary)
                return self._store_path(dictionary, path, n_steps)
        X_double = np.asarray(X, dtype=np.float64)
        kernel = self._training_kernel(X_double, candidates, symmetric=self._ridge > 0.0)[None]
        rooted = preferences.smallest_root(len(candidates))
        rows = Rows(rooted.root(kernel), rooted.root(scores))
        among = kernel[:, candidates] if self._ridge > 0.0 else None
        path = self._pursue(rows, n_steps, among)
        dictionary = Candidates(X_double[candidates], candidates, self.gamma_)
        return self._store_path(dictionary, path, n_steps)

    def _fit_functions(
        self, X: NDArray[np.floating], scores: Array, preferences: Preferences
    ) -> Self:
        """Pursue the functions of a dictionary object."""
        self.dictionary_ = self._fit_dictionary(X)
        values = dictionary_values(self.dictionary_, X)
        functions = usable_functions(self.dictionary_, values, preferences, scores)
        n_steps = count_basis(self.n_basis, int(np.count_nonzero(functions.norms)))
        basis = self._truncate_path(self._pursue(functions, n_steps), n_steps)
        self.basis_, self.X_basis_, self.gamma_ = np.array(basis), None, None
        return self

    def _fit_average(self, data: TrainingData, splits: list[Split]) -> Self:
        """Become the mean of the models of several training sets of checked and scaled data.

        Its functions are those of all, the ones that contribute most first.
        """
        preferences = data.preferences(self)
        if self._ranks:
            self.n_groups_ = count_groups(preferences)
        gamma = resolve_gamma(self.kernel, self.gamma, data.X) if self._has_gamma() else None
        grid = {"ridge": [self.ridge], "n_basis": [self.n_basis]}
        paths = self._iter_paths(data, splits, [gamma], grid)
        candidates = None if self._uses_dictionary else self._draw_candidates(data)
        coefficients: dict[int, float] = {}
        for (train, _), (path, _) in zip(splits, paths, strict=True):
            functions, staged = path().coefficients((0, 0, 0))
            if candidates is not None:
                functions = candidates[np.isin(candidates, train)][functions]
            last = staged[-1] / len(splits) if len(staged) else np.empty(0)
            for function, coef in zip(functions.tolist(), last.tolist(), strict=True):
                coefficients[function] = coefficients.get(function, 0.0) + coef
        basis = np.array(list(coefficients), dtype=np.intp)
        coef = np.array(list(coefficients.values()))
        X = np.asarray(data.X, dtype=np.float64)
        self.dictionary_, self.gamma_ = None, gamma
        if candidates is not None:
            self._store_expansion(X, basis, coef)
        else:
            self.dictionary_ = self._fit_dictionary(data.X)
            self.basis_, self.X_basis_ = basis, None
        target, rows = preferences.root(data.y), preferences.root(self._basis_values(X)) * coef
        order = np.argsort(-np.square(rows).sum(axis=0), kind="stable")
        self.basis_, self.coef_ = basis[order], coef[order]
        self.X_basis_ = None if self.X_basis_ is None else self.X_basis_[order]
        self.staged_coef_ = np.tril(np.tile(self.coef_, (len(order), 1)))
        residues = target[:, None] - np.cumsum(rows[:, order], axis=1)
        self.cost_ = np.array([target @ target, *np.square(residues).sum(axis=0)])
        return self

    def _basis_values(self, X: Array) -> Array:
        if self._uses_dictionary:
            return self.dictionary_.columns(X, self.basis_)
        return super()._basis_values(X)

    def _sum(
        self,
        dictionary: Candidates,
        X: NDArray[np.floating],
        scores: Array,
        preferences: Preferences,
    ) -> GramSums:
        """Return the checked Gram matrix of some rows, which are never copied as a whole."""
        points, gamma = dictionary.points, dictionary.gamma

        def columns(X: NDArray[np.floating], out: Array) -> None:
            out[:] = self._kernel(np.asarray(X, dtype=np.float64), points, gamma)

        if isinstance(self.kernel, str) and self.kernel == "rbf" and gamma is not None:
            columns = GaussianColumns(points, gamma)  # type: ignore[assignment]
        with np.errstate(over="ignore", invalid="ignore"):
            sums = sum_rows(columns, len(points), X, scores, preferences)
            self._check_kernel_values(np.sqrt(np.abs(np.einsum("bii->bi", sums.gram))))
        return sums

    def _penalty(self, dictionary: Candidates) -> Array | None:
        """Return the kernel of the candidates, shape (1, N, N), if there is a ridge."""
        if self._ridge == 0.0:
            return None
        kernel = self._kernel(dictionary.points, dictionary.points, dictionary.gamma)
        self._check_symmetric(kernel)
        return kernel[None]

    def _warn_if_flat(self, dictionary: Candidates) -> None:
        some = dictionary.points[evenly(len(dictionary.points))]
        values = self._kernel(some, some, dictionary.gamma)
        warn_if_flat(self.kernel, dictionary.gamma, values, np.arange(len(some)))

    def _store_path(self, dictionary: Candidates, path: PursuitPath, n_steps: int) -> Self:
        """Store the path of a fit."""
        chosen = self._truncate_path(path, n_steps)
        self._store_expansion(dictionary.points, chosen, self.coef_)
        self.basis_, self.gamma_ = dictionary.rows[chosen], dictionary.gamma
        return self

    def _truncate_path(self, path: PursuitPath, n_steps: int) -> Indices:
        """Store the coefficients of the path up to `tol`; return the chosen functions."""
        reached = int(path.n_steps[0])
        chosen, staged = path.expansion(0)
        check_finite(staged)
        enough = self.tol is not None and path.cost[0, reached] <= self.tol
        if self.n_basis is not None and reached < n_steps and not enough:
            warn_early_end(reached, n_steps)
        self.__dict__.pop("_blocks", None)
        self.staged_coef_ = np.array(staged, order="C")
        self.coef_ = np.array(staged[-1] if reached else np.empty(0), order="C")
        self.cost_ = np.array(path.cost[0, : reached + 1])
        self.dictionary_ = self.dictionary_ if self._uses_dictionary else None
        return chosen

    def _n_available(self, data: TrainingData, train: Indices) -> int | None:
        if self._uses_dictionary:
            return None
        return int(np.isin(self._draw_candidates(data), train).sum())

    def _draw_candidates(self, data: TrainingData) -> Indices:
        return draw_candidates(len(data.y), self.n_candidates, self.random_state)

    def _iter_paths(
        self, data: TrainingData, splits: list[Split], gammas: list[Any], grid: Grid
    ) -> Iterator[FoldPath]:
        grid = {**grid, "ridge": [self._ridge if r is None else r for r in grid["ridge"]]}
        if self._uses_dictionary:
            yield from self._iter_function_paths(data, splits, grid)
            return
        candidates = self._draw_candidates(data)
        columns = self._stack(data.X, np.arange(len(data.y)), candidates, gammas)
        sums_of_folds = self._iter_sums(columns, data, splits)
        for (train, test), sums in zip(splits, sums_of_folds, strict=True):
            kept = np.flatnonzero(np.isin(candidates, train))
            among = columns[:, candidates[kept][:, None], kept]
            axes = {**grid, "n_basis": [count_basis(n, len(kept)) for n in grid["n_basis"]]}
            path = partial(pursuit_grid, sums.select(kept), axes, kernel=among, **self._options())
            yield path, columns[:, test[:, None], kept]

    def _iter_sums(
        self, columns: Array, data: TrainingData, splits: list[Split]
    ) -> Iterator[GramSums]:
        """Yield the Gram matrix of each training set.

        If splits share blocks of whole groups, as folds do, that of each block is computed once,
        and those of the training blocks are added up.
        """

        def gram(rows: Indices) -> GramSums:
            return GramSums.of(columns[:, rows], data.y[rows], data.preferences(self, rows))

        blocks = common_blocks(splits, data.labels if self._ranks else np.arange(len(data.y)))
        if blocks is None:
            yield from (gram(train) for train, _ in splits)
            return
        grams = [gram(block) for block in blocks]
        for train, _ in splits:
            inside = np.isin([block[0] for block in blocks], train)
            yield reduce(add, (grams[number] for number in np.flatnonzero(inside)))

    def _iter_function_paths(
        self, data: TrainingData, splits: list[Split], grid: Grid
    ) -> Iterator[FoldPath]:
        """Yield the paths over the functions of a dictionary, which have no gamma."""
        dictionary = self._fit_dictionary(data.X)
        values = dictionary_values(dictionary, data.X)
        for train, test in splits:
            form = data.preferences(self, train)
            functions = usable_functions(dictionary, values[train], form, data.y[train])
            n_usable = int(np.count_nonzero(functions.norms))
            axes = {**grid, "n_basis": [count_basis(n, n_usable) for n in grid["n_basis"]]}
            options = {**self._options(), "ends": all(n is None for n in grid["n_basis"])}
            path = partial(pursuit_grid, functions, axes, **options)
            yield path, partial(dictionary.columns, data.X[test])

    def staged_predict(self, X: ArrayLike, groups: ArrayLike | None = None) -> Iterator[Array]:
        """Predict with 1, 2, ... basis functions.

        Parameters
        ----------
        X : array-like of shape (m, n_features), or (m, n) kernel values if precomputed
        groups : array-like of shape (m,), optional
            As in `predict`.

        Yields
        ------
        ndarray of shape (m,)
        """
        X = self._new_points(X, groups).astype(np.float64, copy=False)
        values = self._basis_values(self._scaled(X))
        for coef in self.staged_coef_:
            yield values @ coef

    def explain(
        self, X: ArrayLike, over: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> pd.DataFrame:
        """Return the contribution of each function to predictions, or to their differences.

        Parameters
        ----------
        X : array-like of shape (m, n_features) or (n_features,)
        over : array-like of shape (m, n_features), (1, n_features) or (n_features,), optional
            Explain the differences ``f(x) - f(z)`` from the points z of `over`.
        groups : array-like of shape (m,), optional
            As in `predict`.

        Returns
        -------
        pandas.DataFrame
            A row for each point and function: the index of the point as `sample`, the function as
            text, its kind, the names of its features, its centre in the units of `X`, and its
            contribution. The contributions to a point add up to its prediction, or to the
            difference of the two predictions.
        """
        return explain(self, X, over, groups)

    def summary(self) -> pd.DataFrame:
        """Return the functions in the order chosen, and their contributions to the fit.

        Returns
        -------
        pandas.DataFrame
            A row for each function, with its kind, the names of its features, its centre in the
            units of `X`, its coefficient, and the fraction of the training cost explained by all
            functions so far, and the number of pictures that show them, one for each set of
            features. After cross-validation also the score with these functions, and its increase
            by the last one.
        """
        return summarise(self)

    def importances(self, X: ArrayLike, groups: ArrayLike | None = None) -> pd.DataFrame:
        """Return how much each feature, pair and triple of features contributes to predictions.

        Parameters
        ----------
        X : array-like of shape (m, n_features)
        groups : array-like of shape (m,), optional
            As in `predict`.

        Returns
        -------
        pandas.DataFrame
            A row for each set of features that functions depend on, the most important one first:
            the names of the `features`, the number of their `functions`, and as `importance` the
            mean absolute deviation of their contribution from its mean.
        """
        return importances(self, X, groups)

    def to_sql(self, dialect: Dialect = "sqlite") -> str:
        """Return the model as an expression of SQL: ``SELECT *, {expression} AS utility FROM ...``.

        Only for functions of one feature and their products, as with ``dictionary="grown"``.

        Parameters
        ----------
        dialect : {"sqlite", "postgres", "duckdb"}, default "sqlite"
            The expression uses the function EXP, which SQLite has if built with its mathematical
            functions.

        Returns
        -------
        str
            An expression of the columns with the names of the features; x0, x1, ... if they have no
            names. Functions of a missing value, NULL or NaN, are zero.
        """
        return to_sql(self, dialect)

    def to_json(self) -> str:
        """Return the functions of the model as JSON, in the schema of the guide's page on export.

        Only for functions of one feature and their products, as with ``dictionary="grown"``.

        Returns
        -------
        str
        """
        return to_json(self)

    def to_python(self) -> str:
        """Return the source of a module of Python that needs nothing but the standard library.

        Only for functions of one feature and their products, as with ``dictionary="grown"``.

        Returns
        -------
        str
            A module with a function ``utility(row)`` of a mapping from the names of features to
            numbers; x0, x1, ... if they have no names. Functions of a missing value, None or NaN,
            are zero.
        """
        return to_python(self)

    __repr__, _html_repr = represent, represent_html

    # Learning from blocks. Blocks are checked on a copy, so that an invalid one leaves the model
    # unchanged.

    @available_if(lambda self: not (self._uses_dictionary or self.scale))
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        candidates: ArrayLike | None = None,
    ) -> Self:
        """Update the model with one more block of rows.

        The model is that of all rows so far, up to rounding. After `fit` or `fit_blocks`, it starts
        from scratch. An invalid block raises a ValueError and leaves the model unchanged.

        Parameters
        ----------
        X : array-like of shape (m, n_features)
        y : array-like of shape (m,)
            Scores.
        groups : array-like of shape (m,), optional
            Only points with the same label are compared, so a block must contain all rows of
            its groups. Default: the block is one group. A regression method ignores it.
        candidates : array-like of shape (N, n_features), optional
            For the first block only: the points whose functions form the dictionary. Default:
            `n_candidates` of the rows of the first block.

        Returns
        -------
        self

        Notes
        -----
        `n_basis`, `fitting`, `repeat`, `ridge` and `tol` may change between blocks.
        ``gamma="scale"`` uses the variance of the first block, or of `candidates`. The model keeps
        N x N numbers for N candidates, and each call recomputes the whole path: blocks of a few
        thousand rows take the least time.

        Examples
        --------
        >>> import numpy as np
        >>> from rankpursuit import RankingPursuit
        >>> rng = np.random.default_rng(0)
        >>> model = RankingPursuit(n_basis=8, n_candidates=30, random_state=0)
        >>> for day in range(3):
        ...     X, groups = rng.normal(size=(60, 2)), np.repeat(np.arange(6), 10) + 6 * day
        ...     model = model.partial_fit(X, X[:, 0] + groups, groups)
        >>> round(model.score(X, X[:, 0] + groups, groups), 2)
        0.92
        """
        checker, earlier = checking_copy(self), vars(self).get("_blocks")
        if earlier is not None and candidates is not None:
            raise ValueError("candidates can be passed with the first block only; leave them out")
        dictionary = None if candidates is None else check_candidates(checker, candidates)
        block = check_block(checker, (X, y, groups), reset=earlier is None)
        if dictionary is None:
            dictionary = earlier[0] if earlier else draw_from_blocks(checker, [block])[0]
        gram = gram_of_block(checker, dictionary, *block)
        total = earlier[1] + gram if earlier else gram
        self._fit_gram(dictionary, total)
        self._blocks = dictionary, total
        return self

    def fit_blocks(self, blocks: Blocks, *, candidates: ArrayLike | None = None) -> Self:
        """Fit to blocks of rows, of which one is in memory at a time.

        For rows in the same order, candidates and model are those of `fit`, up to rounding, however
        the rows are split into blocks. An error names the block and leaves the model unchanged.

        Parameters
        ----------
        blocks : iterable of (X, y, groups), or a callable that returns one
            A block contains all rows of its groups; see `partial_fit`. Blocks are read twice, first
            to draw candidates from all rows: pass a list, the result of `array_blocks`,
            `parquet_blocks` or `letor_blocks` of `rankpursuit.datasets`, or a function that opens
            the blocks, such as ``lambda: tqdm(blocks)`` to show the progress.
        candidates : array-like of shape (N, n_features), optional
            The points whose functions form the dictionary; the blocks are then read once.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from rankpursuit import RankingPursuit
        >>> from rankpursuit.datasets import array_blocks
        >>> rng = np.random.default_rng(0)
        >>> X, groups = rng.normal(size=(400, 2)), np.repeat(np.arange(40), 10)
        >>> model = RankingPursuit(8, ridge=0.0, n_candidates=30, random_state=0)
        >>> blocks = array_blocks(X, X[:, 0], groups, rows=100)
        >>> round(model.fit_blocks(blocks).score(X, X[:, 0], groups), 2)
        0.95
        """
        checker, n_rows = checking_copy(self), None
        if candidates is not None:
            dictionary = check_candidates(checker, candidates)
        elif not callable(blocks) and isinstance(blocks, Iterator):
            raise ValueError(
                "blocks can be read only once, but drawing candidates from all rows needs a "
                "second pass: pass a function that reopens the blocks, such as "
                "lambda: read(path), or pass candidates="
            )
        else:
            dictionary, n_rows = draw_from_blocks(checker, read_blocks(checker, blocks))
        gram: Any = 0
        for place, block in enumerate(read_blocks(checker, blocks), start=1):
            with prefix_errors(f"block {place}"):
                gram = gram + gram_of_block(checker, dictionary, *block)
        n_read = gram.sums.n_rows if gram else 0
        if n_rows not in (None, n_read):
            raise ValueError(
                f"blocks had {n_rows} rows when they were first read and {n_read} the second time; "
                "a callable must return all of them on each call"
            )
        return self._fit_gram(dictionary, gram)

    def block_gram(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None, *, candidates: ArrayLike
    ) -> BlockGram:
        """Return the Gram matrix of one block, for `fit_gram`, without changing the model.

        Gram matrices of blocks are added by ``+`` or ``sum``, wherever they were computed.

        Parameters
        ----------
        X : array-like of shape (m, n_features)
        y : array-like of shape (m,)
            Scores.
        groups : array-like of shape (m,), optional
            As in `partial_fit`: a block must contain all rows of its groups.
        candidates : array-like of shape (N, n_features)
            The points whose functions form the dictionary, the same for all blocks.

        Returns
        -------
        BlockGram
        """
        checker = checking_copy(self)
        dictionary = check_candidates(checker, candidates)
        return gram_of_block(checker, dictionary, *check_block(checker, (X, y, groups), reset=True))

    def fit_gram(self, gram: BlockGram, candidates: ArrayLike) -> Self:
        """Fit to the sum of the Gram matrices of all blocks.

        Parameters
        ----------
        gram : BlockGram
            Sum of the results of `block_gram`, with the same parameters and candidates.
        candidates : array-like of shape (N, n_features)
            The points whose functions form the dictionary; `basis_` has indices into them.

        Returns
        -------
        self
        """
        return self._fit_gram(check_candidates(checking_copy(self), candidates), gram)

    def _fit_gram(self, dictionary: Candidates, gram: BlockGram | int) -> Self:
        """Follow the path of a sum of Gram matrices, and keep it."""
        if not isinstance(gram, BlockGram):
            raise ValueError("there are no blocks to learn from")
        names = common_names(gram.names, dictionary.names, "the Gram matrix", "the candidates")
        gram.check_settings(settings_of(self, dictionary), "Gram matrix and model")
        if self._ranks and not gram.n_pairs:
            raise ValueError(
                "no comparable pairs: every group has a single sample; give at least one group two "
                "samples, or wait for a block that has them"
            )
        n_steps = count_basis(self.n_basis, len(dictionary.points))
        path = self._pursue(gram.sums, n_steps, self._penalty(dictionary))
        warn_of_far_values(dictionary.points, names)
        self._warn_if_flat(dictionary)
        self._store_path(dictionary, path, n_steps)
        self.scaler_, self.n_features_in_ = None, dictionary.points.shape[1]
        self.categories_, self.missing_ = {}, np.zeros(self.n_features_in_, dtype=bool)
        self.group_column_ = None
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        if self._ranks:
            self.n_groups_ = gram.n_groups
        return self


def warn_early_end(reached: int, asked: int) -> None:
    """Warn that a path has fewer functions than were asked for."""
    warn_caller(
        f"stopped at {reached} of {asked} basis functions: no remaining function is linearly "
        "independent and reduces the cost",
        ConvergenceWarning,
    )


class KernelMatchingPursuit(_Pursuit):
    """Kernel matching pursuit: a sparse expansion grown greedily by least squares on the scores.

    Parameters
    ----------
    n_basis : int, float or None, default None
        Number of basis functions, or a fraction of the candidates in (0, 1]. None: at most 100.
    fitting, repeat, ridge, dictionary, categorical_features, n_candidates, scale : optional
        The pursuit, as in :class:`RankingPursuit`.
    tol, random_state : optional
        The pursuit, as in :class:`RankingPursuit`.
    kernel, gamma, degree, coef0, kernel_params : optional
        The kernel, as in :class:`RankingPursuit`.

    Attributes
    ----------
    basis_, coef_, staged_coef_, cost_, X_basis_, dictionary_, scaler_, gamma_
        As in :class:`RankingPursuit`.
    n_features_in_, feature_names_in_
    categories_, missing_, group_column_
        As in :class:`RankingPursuit`.

    See Also
    --------
    RankingPursuit : The same on the differences of pairs.
    CombinedRankingRegressionPursuit : A blend of both.
    RLS : Regularised least squares with all points.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import KernelMatchingPursuit
    >>> X = np.linspace(0.0, 3.0, 31)[:, None]
    >>> model = KernelMatchingPursuit(n_basis=3, ridge=0.01).fit(X, np.sin(X[:, 0]))
    >>> model.basis_
    array([16,  3, 30])
    >>> model.predict([[0.25], [1.25]]).round(2)
    array([0.3 , 0.96])
    """

    _ranks = False
    _not_taken = ("pairs", "weights")


class RankingPursuit(_Pursuit):
    """Ranking pursuit: a sparse expansion grown greedily on the differences of pairs.

    Every step lowers ``(s - f)' L (s - f)``, the squared loss on all pairs within a group, with
    the Laplacian L of the preference graph.

    Parameters
    ----------
    n_basis : int, float or None, default None
        Number of basis functions, or a fraction of the candidates in (0, 1]. None: at most 100,
        and with a :class:`GrownDictionary` as long as a function gains more than chance would.
    fitting : {"basic", "backfit", "prefit"} or None, default None
        Keep the earlier coefficients, as in the paper ("basic"); refit them after every step
        ("backfit"); or also choose each function by the cost after the refit ("prefit"). None:
        "backfit" for kernels, and "prefit", the only choice, for other dictionaries.
    repeat : bool, default False
        Whether "basic" may choose a function again; `n_basis` is then the number of choices.
    ridge : float or None, default None
        Weight of a penalty ``a' K a``, which needs a positive semi-definite kernel; 0, as in the
        paper, is no penalty. With another dictionary the penalty is on the squared coefficients of
        functions scaled to norm 1, which are chosen without it: a ridge of 1 halves the first
        coefficient. None: 1 for kernels, and 0 for other dictionaries.
    group_weight : {"pairs", "equal"} or mapping, default "equal"
        Weight of each pair of a group: 1 ("pairs"), one over the size of the group ("equal"), or a
        mapping from labels of `groups` to positive numbers.
    dictionary : {"kernel", "additive", "pairs", "grown"} or object, default "kernel"
        The functions to choose from: the kernel at training points, as in the paper; functions of
        one feature ("additive"); these and products of two ("pairs") or three ("grown") of them,
        see :class:`GrownDictionary`; or another object with `fit`, `columns` and `terms`.
    categorical_features : "from_dtype" or array-like, default "from_dtype"
        Features that are categories, for all dictionaries but "kernel": those of strings or of a
        categorical dtype in a data frame; with a mask, positions or names also columns of numbers.
    n_candidates : int or None, default 1000
        Number of training points, drawn at random, that form the dictionary of kernels. None: all.
    kernel : str or callable, default "rbf"
        Name of a scikit-learn kernel, "precomputed", or a callable of two matrices of points.
    gamma : float, "scale" or None, default "scale"
        "scale" is 1 / (n_features * X.var()), None is 1 / n_features.
    degree : int, default 3
        Degree of the polynomial kernel.
    coef0 : float, default 1
        Constant of the polynomial and the sigmoid kernel.
    kernel_params : mapping or None, default None
        Keyword arguments for a `kernel` that is a callable.
    scale : bool or "group", default False
        True: centre the features, except for the chi2 kernels, and divide them by their standard
        deviation. "group": do so within each group; pass the groups to `predict` too. A precomputed
        kernel has no features: True leaves it as it is, and "group" is an error.
    tol : float or None, default None
        The path ends when the training cost is at most this. None: only at `n_basis`.
    random_state : int, Generator, RandomState or None, default None
        Controls the random draw of the candidates.

    Attributes
    ----------
    basis_ : ndarray of shape (n_basis,)
        Indices of the chosen training points, in the order chosen: counted over all blocks, or into
        `candidates` if those were passed.
    coef_ : ndarray of shape (n_basis,)
        Coefficients of the basis functions.
    staged_coef_ : ndarray of shape (n_steps, n_basis)
        Row p holds the coefficients after p + 1 steps.
    cost_ : ndarray of shape (n_steps + 1,)
        Training cost after 0, 1, 2, ... steps.
    X_basis_ : ndarray of shape (n_basis, n_features) or None
        The chosen points; None with a precomputed kernel or another dictionary.
    dictionary_ : object or None
        The fitted dictionary, to whose functions `basis_` refers; None for that of kernels.
    scaler_ : StandardScaler or None
        Fitted scaler; None if the features are not scaled, or are scaled within groups.
    gamma_ : float or None
        The value of gamma; None for a kernel without one.
    n_groups_ : int or None
        Number of groups, 1 if there were none; None after explicit pairs.
    n_features_in_ : int
        Number of features of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if all are strings.
    categories_ : dict
        The levels of each feature that is a category, by its position.
    missing_ : ndarray of shape (n_features,)
        Whether a feature has missing values in the training data.
    group_column_ : str or None
        Label of the column of the groups, if `groups` was one.

    See Also
    --------
    KernelMatchingPursuit : The same on the scores of single points.
    CombinedRankingRegressionPursuit : A blend of both.
    SemiSupervisedRankingPursuit : Learns from unscored points too.
    RankRLS : Regularised least squares on the same differences.
    RankingPursuitCV : The same with its parameters chosen by cross-validation.

    Notes
    -----
    The functions of the dictionary are columns of a least-squares problem, so without a `ridge`
    the kernel need be neither symmetric nor positive semi-definite.

    With many samples, at least four for each of the N candidates, `fit` passes once over the rows
    in blocks of 64 MB and keeps the N x N Gram matrix, unless there are explicit pairs, sample
    weights or a precomputed kernel. If that is not exact
    enough, `fit` uses the rows instead, up to 2^25 kernel values; above, a function with less than
    1e-5 of its norm outside the span of the chosen ones is never chosen. Rows that do not fit into
    memory may be a memory map, come in blocks (`fit_blocks`, `partial_fit`) or be on a cluster
    (`block_gram`).

    The defaults do well on data of different kinds (``docs/guide/comparison.rst``). The pursuit of
    the paper is ``fitting="basic", ridge=0, group_weight="pairs", n_candidates=None``.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import RankingPursuit
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(40, 2)), np.repeat(np.arange(4), 10)
    >>> y = X[:, 0] + 10 * groups
    >>> model = RankingPursuit(n_basis=8).fit(X, y, groups)
    >>> model.basis_.shape, round(model.score(X, y, groups), 2)
    ((8,), 0.93)

    Clicks instead of scores: each sample over the next one.

    >>> order = np.argsort(-X[:, 0])
    >>> clicks = np.column_stack([order[:-1], order[1:]])
    >>> model = RankingPursuit(n_basis=8).fit(X, pairs=clicks)
    >>> round(model.score(X, X[:, 0]), 2)
    0.97
    """

    def __init__(
        self,
        n_basis: int | float | None = None,
        *,
        fitting: Fitting | None = None,
        repeat: bool = False,
        ridge: float | None = None,
        group_weight: GroupWeights = "equal",
        dictionary: Any = "kernel",
        categorical_features: Any = "from_dtype",
        n_candidates: int | None = 1000,
        kernel: Kernel = "rbf",
        gamma: float | str | None = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        scale: bool | str = False,
        tol: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        self._set_parameters(locals())


class CombinedRankingRegressionPursuit(_Pursuit):
    """Combined ranking and regression pursuit (CRRP).

    Every step lowers ``(s - f)' (beta I + (1 - beta) L) (s - f)``: kernel matching pursuit for
    beta = 1, ranking pursuit for beta = 0.

    Parameters
    ----------
    n_basis : int, float or None, default None
        Number of basis functions, or a fraction of the candidates in (0, 1]. None: at most 100.
    beta : float, default 0.5
        Weight of the regression part, from 0 to 1.
    fitting, repeat, ridge, group_weight, dictionary, categorical_features : optional
        The pursuit, as in :class:`RankingPursuit`.
    n_candidates, scale, tol, random_state : optional
        The pursuit, as in :class:`RankingPursuit`.
    kernel, gamma, degree, coef0, kernel_params : optional
        The kernel, as in :class:`RankingPursuit`.

    Attributes
    ----------
    basis_, coef_, staged_coef_, cost_, X_basis_, dictionary_, scaler_, gamma_, n_groups_
        As in :class:`RankingPursuit`.
    n_features_in_, feature_names_in_
    categories_, missing_, group_column_
        As in :class:`RankingPursuit`.

    See Also
    --------
    KernelMatchingPursuit : The regression part alone.
    RankingPursuit : The ranking part alone.

    Examples
    --------
    >>> import numpy as np
    >>> from rankpursuit import CombinedRankingRegressionPursuit
    >>> X = np.linspace(0.0, 3.0, 31)[:, None]
    >>> model = CombinedRankingRegressionPursuit(n_basis=6, ridge=0.01)
    >>> model.fit(X, np.exp(X[:, 0])).predict([[1.0], [2.0]]).round(1)
    array([2.4, 7.1])
    """

    _not_taken = ("pairs", "weights")
    _search_values: ClassVar = {"beta": (0.0, 0.5, 1.0), **_Pursuit._search_values}

    def __init__(
        self,
        n_basis: int | float | None = None,
        *,
        beta: float = 0.5,
        fitting: Fitting | None = None,
        repeat: bool = False,
        ridge: float | None = None,
        group_weight: GroupWeights = "equal",
        dictionary: Any = "kernel",
        categorical_features: Any = "from_dtype",
        n_candidates: int | None = 1000,
        kernel: Kernel = "rbf",
        gamma: float | str | None = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        scale: bool | str = False,
        tol: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        self._set_parameters(locals())

    def _preferences(self, labels: NDArray, sample_weight: Array | None = None) -> Preferences:
        return Blend(super()._preferences(labels, sample_weight), self.beta)
