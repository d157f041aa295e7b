"""What a pursuit does with a block: check it, draw candidates from it, add it up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import add
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array

from rankpursuit.estimators._cluster import Cluster
from rankpursuit.estimators._comparisons import group_labels
from rankpursuit.estimators._dictionary import Dictionary, Reservoir, draw_candidates
from rankpursuit.estimators._kernels import Array, gamma_of_spread
from rankpursuit.estimators._parameters import parameters
from rankpursuit.estimators._pursuit_base import Pursuit
from rankpursuit.estimators._scaling import overflow_found_later
from rankpursuit.estimators._spread import Spread
from rankpursuit.estimators._tally import (
    NO_PAIR,
    Block,
    BlockSums,
    CheckedBlock,
    Tally,
    named,
    unpacked,
)
from rankpursuit.preferences import Blend, GroupPreferences, Preferences


@parameters
class SumsOfBlocks(Pursuit):
    """Base of the pursuits that learn from sums over blocks."""

    _compares: ClassVar[bool]

    def _block_form(self, labels: NDArray) -> Preferences:
        raise NotImplementedError

    def _check_for_blocks(self) -> None:
        self._check_parameters()
        if self._precomputed:
            raise ValueError(
                "kernel='precomputed' holds values with all training points, and cannot be learned "
                "from blocks; pass the kernel as a callable"
            )

    def _check_block(self, block: Block, *, reset: bool) -> CheckedBlock:
        X, y, groups = unpacked(block)
        X, y = self._check_scored(X, y, reset=reset)
        labels = group_labels(groups, len(X))
        return CheckedBlock(X, y, labels if self._compares and groups is not None else None)

    def _checked(self, opened: Callable[[], Iterator[Block]]) -> Iterator[CheckedBlock]:
        """Check one block after the other; the first one says how many features there are."""
        for number, block in enumerate(opened(), start=1):
            with named(f"block {number}"):
                checked = self._check_block(block, reset=number == 1)
            yield checked

    def _drawn(self, blocks: Iterable[CheckedBlock]) -> tuple[Dictionary, int]:
        """Draw candidates from the rows of all blocks; return them and the number of rows."""
        reservoir = Reservoir(self.n_candidates, self.random_state)
        for block in blocks:
            reservoir.add(block.X)
        if not reservoir.n_rows:
            raise ValueError("there are no blocks to learn from")
        return self._dictionary(*reservoir.drawn(), reservoir.spread), reservoir.n_rows

    def _drawn_on(self, cluster: Cluster) -> Dictionary:
        """Draw candidates from the rows of all parts on a cluster."""
        looks = cluster.look(self)
        first = looks[0]
        if first.names is not None:
            self.feature_names_in_ = np.array(first.names, dtype=object)
        for number, one in enumerate(looks, start=1):
            if one.n_features != first.n_features:
                raise ValueError(
                    f"part {number}: X has {one.n_features} features, but part 1 has "
                    f"{first.n_features}"
                )
        counts = [one.n_rows for one in looks]
        rows = draw_candidates(sum(counts), self.n_candidates, self.random_state)
        spread = reduce(add, (one.spread for one in looks))
        return self._dictionary(cluster.take_rows(counts, rows), rows, spread)

    def _given(self, candidates: ArrayLike) -> Dictionary:
        """Take candidates that are numbered by themselves."""
        points = check_array(candidates, dtype=np.float64, input_name="candidates")
        return self._dictionary(points, np.arange(len(points)), Spread.of(points))

    def _dictionary(self, points: Array, rows: NDArray[np.intp], spread: Spread) -> Dictionary:
        gamma = gamma_of_spread(self.kernel, self.gamma, points.shape[1], spread)
        return Dictionary(self._check_for_kernel(points), rows, gamma)

    def _sum_block(self, dictionary: Dictionary, block: CheckedBlock) -> BlockSums:
        wanted, n_features = dictionary.points.shape[1], block.X.shape[1]
        if n_features != wanted:
            raise ValueError(f"X has {n_features} features, but the candidates have {wanted}")
        labels = np.zeros(len(block.y)) if block.labels is None else block.labels
        form = self._block_form(labels)
        with overflow_found_later():
            sums = self._sum(dictionary, block.X, block.y, form)
        ranking = form.preferences if isinstance(form, Blend) else form
        if not isinstance(ranking, GroupPreferences):
            return BlockSums(sums)
        return BlockSums(sums, block.distinct(), len(ranking.sizes), ranking.n_pairs)

    def _keep_whole(self, tally: Tally) -> None:
        if not tally.n_rows:
            raise ValueError("there are no blocks to learn from")
        if self._compares and not tally.n_pairs:
            raise ValueError(NO_PAIR)
        self._keep_tally(tally)
        self._tally = tally

    def _keep_tally(self, tally: Tally) -> None:
        self.n_features_in_ = tally.dictionary.points.shape[1]
        if self._compares:
            self.n_groups_: int | None = tally.n_groups
        n_steps = self._count_steps(len(tally.dictionary.points))
        with overflow_found_later():
            path, of_kernel = self._path_of(tally.dictionary, tally.sums, n_steps)
            self._keep_sums(tally.dictionary, path, n_steps, of_kernel, tally.sums.of_scores)
