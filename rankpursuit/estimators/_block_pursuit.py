"""Pursuits from blocks of rows: one at a time, many in a row, or as parts on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import add
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array

from rankpursuit.estimators._base import parameters
from rankpursuit.estimators._cluster import Cluster
from rankpursuit.estimators._comparisons import group_labels
from rankpursuit.estimators._dictionary import Dictionary, Reservoir, draw_candidates
from rankpursuit.estimators._kernels import Array, gamma_of_spread
from rankpursuit.estimators._pursuit_base import Pursuit
from rankpursuit.estimators._scaling import overflow_found_later
from rankpursuit.estimators._spread import Spread
from rankpursuit.estimators._tally import (
    NO_PAIR,
    Block,
    Blocks,
    BlockSums,
    CheckedBlock,
    Tally,
    named,
    opener,
    unchanged_if_refused,
    unpacked,
)
from rankpursuit.preferences import Blend, GroupPreferences, Preferences


@parameters
class BlockPursuit(Pursuit):
    """Base of the pursuits that learn from sums over blocks of whole groups."""

    _compares: ClassVar[bool]
    __metadata_request__partial_fit: ClassVar = {"groups": True}

    def _block_form(self, labels: NDArray) -> Preferences:
        raise NotImplementedError

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        candidates: ArrayLike | None = None,
    ) -> Self:
        """Learn from one more block of rows, beside all blocks before.

        The model is that of all rows so far, to rounding. After `fit`, it begins anew.

        Parameters
        ----------
        X : array-like of shape (m, n_features)
        y : array-like of shape (m,)
            Scores.
        groups : array-like of shape (m,), optional
            Only points with the same label are compared, so a block holds all rows of its groups.
            Default: the block is one group. A regression method ignores it.
        candidates : array-like of shape (N, n_features), optional
            With the first block: the points whose functions make up the dictionary. Default:
            `n_candidates` of the rows of the first block.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the block cannot be used: a group of it was in an earlier block, it has another
            number of features, a value is not finite, or there is no pair in it. The model is then
            as it was before.

        Notes
        -----
        `n_basis`, `fitting`, `repeat` and `ridge` may be set anew between blocks; what the kernel
        and the weights depend on may not. ``gamma="scale"`` takes the variance of the rows that
        candidates were drawn from, here the first block, or of candidates that are given.
        The model keeps sums of N x N numbers for N candidates, and each call follows the whole path
        again from them: blocks of some thousand rows take the least time.

        Examples
        --------
        >>> from rankpursuit import RankingPursuit
        >>> rng = np.random.default_rng(0)
        >>> model = RankingPursuit(n_basis=8, fitting="backfit", n_candidates=30, random_state=0)
        >>> for day in range(3):
        ...     X, groups = rng.normal(size=(60, 2)), np.repeat(np.arange(6), 10) + 6 * day
        ...     model = model.partial_fit(X, X[:, 0] + groups, groups)
        >>> round(model.score(X, X[:, 0] + groups, groups), 2)
        0.94
        """
        with unchanged_if_refused(self):
            self._check_for_blocks()
            tally: Tally | None = vars(self).get("_tally")
            if tally is not None and candidates is not None:
                raise ValueError("candidates are chosen with the first block; leave them out now")
            block = self._check_block((X, y, groups), reset=tally is None)
            if tally is None:
                chosen = self._drawn([block])[0] if candidates is None else self._given(candidates)
                tally = Tally.empty(chosen)
            tally.check(block.distinct())
            found = self._sum_block(tally.dictionary, block)
            if self._compares and not found.n_pairs:
                raise ValueError(f"{NO_PAIR}, or wait for a block that has them")
            after = tally.plus(found)
            self._keep_tally(after)
            self._tally = after.commit(found)
        return self

    def fit_blocks(self, blocks: Blocks, *, candidates: ArrayLike | None = None) -> Self:
        """Fit to rows that come in blocks, of which one is in memory at a time.

        Parameters
        ----------
        blocks : iterable of (X, y, groups), or a callable that returns one
            A block holds all rows of its groups; see `partial_fit`. Candidates are drawn from all
            rows, for which the blocks are read twice: pass something that can be iterated over
            anew, such as a list, or what `array_blocks`, `parquet_blocks` and `letor_blocks` of
            `rankpursuit.datasets` return, or a function that opens the blocks.
        candidates : array-like of shape (N, n_features), optional
            The points whose functions make up the dictionary; the blocks are then read once.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a block cannot be used; the message tells which. The model is then as it was before.

        Notes
        -----
        Rows in the same order give the candidates of `fit`, and to rounding its model, however
        they are cut into blocks; but see the notes on functions that nearly depend on each other.
        `partial_fit` goes on from here.

        Examples
        --------
        >>> from rankpursuit import RankingPursuit
        >>> from rankpursuit.datasets import array_blocks
        >>> rng = np.random.default_rng(0)
        >>> X, groups = rng.normal(size=(400, 2)), np.repeat(np.arange(40), 10)
        >>> model = RankingPursuit(n_basis=8, fitting="backfit", n_candidates=30, random_state=0)
        >>> blocks = array_blocks(X, X[:, 0], groups, rows=100)
        >>> round(model.fit_blocks(blocks).score(X, X[:, 0], groups), 2)
        0.95
        """
        with unchanged_if_refused(self):
            self._check_for_blocks()
            opened = opener(blocks, twice=candidates is None)
            n_rows = None
            if candidates is None:
                dictionary, n_rows = self._drawn(self._checked(opened))
            else:
                dictionary = self._given(candidates)
            tally = Tally.empty(dictionary)
            for number, block in enumerate(self._checked(opened), start=1):
                with named(f"block {number}"):
                    tally.check(block.distinct())
                    found = self._sum_block(dictionary, block)
                tally = tally.plus(found).commit(found)
            if n_rows not in (None, tally.n_rows):
                raise ValueError(
                    f"blocks had {n_rows} rows when they were first read and {tally.n_rows} the "
                    "second time; a callable must open them anew each time"
                )
            self._keep_whole(tally)
        return self

    def fit_on_cluster(
        self, client: Any, parts: Iterable[Any], *, candidates: ArrayLike | None = None
    ) -> Self:
        """Fit to rows that lie on the workers of a Dask cluster: they send sums, not rows.

        Parameters
        ----------
        client : distributed.Client
        parts : iterable
            Each a future or a Dask delayed of a block (X, y, groups), or a function without
            arguments that loads one on a worker. A block holds all rows of its groups; see
            `partial_fit`.
        candidates : array-like of shape (N, n_features), optional
            The points whose functions make up the dictionary. Default: drawn from all rows, as
            `fit` would; functions are then called three times, to count rows, to take the
            candidates, and to add up.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a part cannot be used; the message tells which. The model is then as it was before.
        ClusterError
            If workers or the scheduler are lost and do not come back.

        Notes
        -----
        Sums are added up in the order of the parts, so that the model does not depend on timing,
        and no more of them are under way than keep the workers busy.

        Examples
        --------
        >>> from functools import partial
        >>> from distributed import Client  # doctest: +SKIP
        >>> from rankpursuit import RankingPursuit
        >>> parts = [partial(load, file) for file in files]  # doctest: +SKIP
        >>> client = Client("tcp://HOST:8786")  # doctest: +SKIP
        >>> model = RankingPursuit(100, n_candidates=1000)
        >>> model.fit_on_cluster(client, parts)  # doctest: +SKIP
        """
        with unchanged_if_refused(self):
            self._check_for_blocks()
            cluster = Cluster(client, parts)
            dictionary = self._drawn_on(cluster) if candidates is None else self._given(candidates)
            tally = Tally.empty(dictionary)
            for number, found in enumerate(cluster.sums(self, dictionary), start=1):
                with named(f"part {number}"):
                    tally.check(found.labels)
                tally = tally.plus(found).commit(found)
            self._keep_whole(tally)
        return self

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
        self.n_features_in_ = first.n_features
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
