"""Learning from blocks of rows: Gram matrices that add up, and the checks of blocks.

A Gram matrix of the candidates' functions is a sum over blocks of whole groups. Blocks are checked
on a copy of the model, the `checker`, which keeps the number and names of the features.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, validate_data

from rankpursuit.estimators._base import RunningVariance, random_generator, resolve_gamma, smallest
from rankpursuit.estimators._checks import Array, Indices, evenly, group_labels
from rankpursuit.solvers import GramSums

Block = tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, ArrayLike | None]
"""Points, their scores, and their groups; a block contains all rows of its groups."""
CheckedBlock = tuple[Any, Array, NDArray | None]
Blocks = Iterable[Block] | Callable[[], Iterable[Block]]
SAME_KERNEL = 1e-6
"""Largest difference between values of the same custom kernel, relative to the largest value."""
Names = NDArray[np.object_] | None
"""Names of the features; None if there are none."""


@dataclass(frozen=True)
class Candidates:
    """Points (N, n_features) whose kernel functions a pursuit chooses from.

    `rows`, (N,), are their indices, which `basis_` reports, and `gamma` is that of the kernel;
    `names` are those of the features.
    """

    points: Array
    rows: Indices
    gamma: float | None
    names: Names = None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the points."""
        return hashlib.sha256(self.points.tobytes()).hexdigest()


@dataclass(frozen=True)
class BlockGram:
    """Gram matrix of one or several blocks of rows; ``+`` adds that of other blocks.

    `n_groups` and `n_pairs` count the groups and the pairs within them, `labels` detects groups
    that are split between blocks, `settings` are what the sums depend on, including a digest of the
    candidates, and `names` are those of the features.
    """

    sums: GramSums
    n_groups: int
    n_pairs: int
    labels: frozenset[Any]
    settings: Mapping[str, Any]
    names: Names

    def __add__(self, other: BlockGram) -> BlockGram:
        names = common_names(self.names, other.names, "one block", "another")
        self.check_settings(other.settings, "two blocks")
        for label in self.labels & other.labels:
            raise ValueError(
                f"group {label!r} is split: an earlier block has rows of it too; a block must "
                "contain all rows of its groups"
            )
        settings, weights = dict(self.settings), self.settings["group_weight"]
        if isinstance(weights, Mapping):
            settings["group_weight"] = {**weights, **other.settings["group_weight"]}
        return BlockGram(
            self.sums + other.sums,
            self.n_groups + other.n_groups,
            self.n_pairs + other.n_pairs,
            self.labels | other.labels,
            settings,
            names,
        )

    def __radd__(self, other: int) -> BlockGram:
        return self  # `other` is 0, the start of `sum`

    def check_settings(self, settings: Mapping[str, Any], what: str) -> None:
        """Raise a ValueError if the sums depend on other settings than these."""
        for name, value in self.settings.items():
            other = settings[name]
            if isinstance(value, Mapping) and isinstance(other, Mapping):  # weights of groups
                same = all(value[label] == other[label] for label in value.keys() & other.keys())
            elif np.ndim(value) and np.ndim(other):  # values of a custom kernel
                same = np.abs(value - other).max() <= SAME_KERNEL * np.abs(value).max()
            else:
                same = np.ndim(value) == np.ndim(other) and value == other
            if not same:
                raise ValueError(
                    f"{what} differ in {name}, which a Gram matrix depends on: use the same for "
                    "all blocks and for the model, or start over with fit, or with a clone"
                )


def common_names(names: Names, others: Names, where: str, elsewhere: str) -> Names:
    """Return the names of features that two tables have, if any; raise a ValueError if not both."""
    if names is None or others is None:
        return others if names is None else names
    for number, (name, other) in enumerate(zip(names, others, strict=True), start=1):
        if name != other:
            raise ValueError(
                f"feature {number} is {name!r} in {where}, but {other!r} in {elsewhere}: pass the "
                "same columns in the same order"
            )
    return names


def checking_copy(model: Any) -> Any:
    """Check the parameters of a pursuit; return a copy that blocks are checked on."""
    model._check_parameters()
    if model._precomputed:
        raise ValueError(
            "kernel='precomputed' has values with all training points, and cannot be learned "
            "from blocks; pass the kernel as a callable"
        )
    if model._uses_dictionary or model.scale:
        raise ValueError(
            "learning from blocks requires dictionary='kernel' and scale=False, since other "
            "dictionaries and scales depend on all rows; scale the features first, or use fit"
        )
    return copy(model)


def read_blocks(checker: Any, blocks: Blocks) -> Iterator[CheckedBlock]:
    """Check the blocks one by one; the first one defines the number of features."""
    opened = blocks() if callable(blocks) else blocks
    if isinstance(opened, str) or not isinstance(opened, Iterable):
        raise ValueError(
            f"blocks must be an iterable of (X, y, groups); got {type(opened).__name__}: "
            "use letor_blocks(path) or parquet_blocks(path) of rankpursuit.datasets for a file"
        )
    for place, block in enumerate(opened, start=1):
        with prefix_errors(f"block {place}"):
            checked = check_block(checker, block, reset=place == 1)
        yield checked


def check_block(checker: Any, block: Any, *, reset: bool) -> CheckedBlock:
    """Return checked points, scores, and labels if the rows are labelled and compared."""
    if not isinstance(block, tuple | list) or len(block) not in (2, 3):
        raise ValueError(
            f"a block must be (X, y, groups); got {type(block).__name__}: pass a single block "
            "as a list, [(X, y, groups)]"
        )
    X, y, groups = (*block, None)[:3]
    X, y = checker._check_data(X, y, reset=reset, min_samples=1)
    labels = group_labels(groups, len(X))
    compared = checker._ranks and groups is not None
    return X, y, labels if compared else None


def check_candidates(checker: Any, candidates: ArrayLike) -> Candidates:
    """Check candidates passed by the user; `basis_` then has indices into them."""
    points = check_array(candidates, dtype=np.float64, input_name="candidates")
    validate_data(checker, candidates, skip_check_array=True)  # number and names of the features
    gamma = resolve_gamma(checker.kernel, checker.gamma, points)
    points, rows = checker._check_for_kernel(points), np.arange(len(points))
    return Candidates(points, rows, gamma, vars(checker).get("feature_names_in_"))


def draw_from_blocks(checker: Any, blocks: Iterable[CheckedBlock]) -> tuple[Candidates, int]:
    """Draw candidates from the points of all blocks; return them and the number of rows."""
    generator, entries, n_rows = random_generator(checker.random_state), RunningVariance(), 0
    kept: list[tuple[NDArray, ...]] = []
    for X, _, _ in blocks:
        keys, rows = generator.random(len(X)), np.arange(n_rows, n_rows + len(X))
        best = smallest(keys, checker.n_candidates)
        kept.append((keys[best], rows[best], np.array(X[best], dtype=np.float64)))
        if checker.n_candidates is not None:
            joined = [np.concatenate(arrays) for arrays in zip(*kept, strict=True)]
            best = smallest(joined[0], checker.n_candidates)
            kept = [tuple(array[best] for array in joined)]
        n_rows += len(X)
        entries = entries.add(X)
    if not kept:
        raise ValueError("there are no blocks to learn from")
    _, rows, points = (np.concatenate(arrays) for arrays in zip(*kept, strict=True))
    gamma = resolve_gamma(checker.kernel, checker.gamma, points, entries)
    return Candidates(points, rows, gamma, vars(checker).get("feature_names_in_")), n_rows


def gram_of_block(
    checker: Any, dictionary: Candidates, X: Any, scores: Array, labels: NDArray | None
) -> BlockGram:
    """Return the Gram matrix of a checked block."""
    n_features = dictionary.points.shape[1]
    if X.shape[1] != n_features:
        raise ValueError(
            f"X has {X.shape[1]} features, but the candidates have {n_features} features"
        )
    names = vars(checker).get("feature_names_in_")
    names = common_names(names, dictionary.names, "X", "the candidates")
    form = checker._preferences(np.zeros(len(X)) if labels is None else labels)
    sums = checker._sum(dictionary, X, scores, form)
    groups = form.groups
    distinct = frozenset() if labels is None else frozenset(np.unique(labels).tolist())
    n_groups, n_pairs = (0, 0) if groups is None else (groups.n_groups, groups.n_pairs)
    settings = settings_of(checker, dictionary)
    if isinstance(settings["group_weight"], Mapping):  # other blocks may have other groups
        weights = settings["group_weight"].items()
        settings["group_weight"] = {label: weight for label, weight in weights if label in distinct}
    return BlockGram(sums, n_groups, n_pairs, distinct, settings, names)


def settings_of(model: Any, dictionary: Candidates) -> dict[str, Any]:
    """Return everything that the Gram matrix of a block depends on, apart from its rows."""
    names = ("kernel", "gamma", "degree", "coef0", "beta", "group_weight")
    settings = {name: getattr(model, name, None) for name in names}
    if callable(model.kernel):  # a function of a notebook is another object in each process
        some = dictionary.points[evenly(len(dictionary.points))]
        settings["kernel"] = model._kernel(some, some, None)
    return {"estimator": type(model).__name__, "candidates": dictionary.digest, **settings}


@contextmanager
def prefix_errors(where: str) -> Iterator[None]:
    """Put a place in front of the message of a ValueError."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
