"""What a pursuit keeps of the blocks that it has seen: sums, and the labels of their groups."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from rankpursuit.estimators._dictionary import Dictionary
from rankpursuit.estimators._kernels import Array
from rankpursuit.estimators._scaled_sums import ScaledSums
from rankpursuit.solvers.pursuit import GramSums

Block = tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, ArrayLike | None]
"""Points, their scores, and their groups; a block holds all rows of its groups."""
Blocks = Iterable[Block] | Callable[[], Iterable[Block]]

NO_PAIR = (
    "groups leave no pair to learn from: every group has one sample only; give at least one group "
    "two samples"
)


@dataclass(frozen=True)
class CheckedBlock:
    """A block with which nothing is wrong by itself.

    Attributes
    ----------
    X : ndarray of shape (m, n_features)
    y : ndarray of shape (m,)
    labels : ndarray of shape (m,) or None
        None if the method compares no points, or if the block is one group without a label.
    """

    X: NDArray[np.floating]
    y: Array
    labels: NDArray | None

    def distinct(self) -> list[Hashable]:
        """Return the labels, each once."""
        return [] if self.labels is None else np.unique(self.labels).tolist()


@dataclass(frozen=True)
class BlockSums:
    """What a block adds to a tally."""

    sums: ScaledSums
    labels: list[Hashable] = field(default_factory=list)
    n_groups: int = 0
    n_pairs: int = 0


@dataclass(frozen=True)
class Tally:
    """Sums over all blocks so far.

    Attributes
    ----------
    dictionary : Dictionary
    sums : ScaledSums
    labels : set
        Labels of the groups of all blocks.
    n_groups : int
        Number of groups, with those that have no label.
    n_pairs : int
        Number of pairs inside groups.
    """

    dictionary: Dictionary
    sums: ScaledSums
    labels: set[Hashable] = field(default_factory=set)
    n_groups: int = 0
    n_pairs: int = 0

    @classmethod
    def empty(cls, dictionary: Dictionary) -> Self:
        """Begin with no blocks."""
        return cls(dictionary, ScaledSums(GramSums.empty(1, len(dictionary.points))))

    @property
    def n_rows(self) -> int:
        """Number of rows of all blocks."""
        return self.sums.sums.n_rows

    def check(self, labels: Iterable[Hashable]) -> None:
        """Raise a ValueError for a group that an earlier block had rows of."""
        for label in labels:
            if label in self.labels:
                raise ValueError(
                    f"group {label!r} is split: an earlier block has rows of it too; a block must "
                    "hold all rows of its groups"
                )

    def plus(self, found: BlockSums) -> Self:
        """Return the tally with one more block; its labels are counted by :meth:`commit`."""
        return replace(
            self,
            sums=self.sums + found.sums,
            n_groups=self.n_groups + found.n_groups,
            n_pairs=self.n_pairs + found.n_pairs,
        )

    def commit(self, found: BlockSums) -> Self:
        """Count the labels of a block, once nothing can go wrong with it any more."""
        self.labels.update(found.labels)
        return self


def unpacked(block: Any) -> tuple[ArrayLike, ArrayLike, ArrayLike | None]:
    """Return points, scores and groups of a block."""
    if not isinstance(block, tuple | list) or len(block) not in (2, 3):
        one_alone = isinstance(block, np.ndarray)
        raise ValueError(
            f"a block must be (X, y, groups); got {type(block).__name__}"
            + ("; a single block goes into a list, [(X, y, groups)]" if one_alone else "")
        )
    X, y, groups = (*block, None)[:3]
    return X, y, groups


def opener(blocks: Blocks, *, twice: bool) -> Callable[[], Iterator[Block]]:
    """Return a function that gives the blocks, from the first one on each time that it is called.

    Parameters
    ----------
    blocks : iterable, or a callable that returns one
    twice : bool
        Whether the function will be called more than once.
    """
    if callable(blocks):
        return lambda: iter(blocks())
    if isinstance(blocks, str | PathLike):
        raise ValueError(
            "blocks must be blocks of rows, not the name of a file: letor_blocks(path) and "
            "parquet_blocks(path) of rankpursuit.datasets read them from one"
        )
    if not isinstance(blocks, Iterable):
        raise ValueError(
            f"blocks must be an iterable of (X, y, groups); got {type(blocks).__name__}"
        )
    if twice and iter(blocks) is blocks:
        raise ValueError(
            "blocks can be read only once, but candidates are drawn from all rows, which takes a "
            "reading of its own: pass a function that opens the blocks anew, such as "
            "lambda: read(path), or pass candidates="
        )
    return lambda: iter(blocks)


@contextmanager
def unchanged_if_refused(model: BaseEstimator) -> Iterator[None]:
    """Give a model back all that it had if its training data is refused."""
    before: dict[str, Any] = dict(vars(model))
    try:
        yield
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


@contextmanager
def named(what: str) -> Iterator[None]:
    """Say in what something was wrong."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error
