"""Pursuits from blocks of rows: one at a time, many in a row, or as parts on a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from rankpursuit.estimators._block_sums import SumsOfBlocks
from rankpursuit.estimators._cluster import Cluster
from rankpursuit.estimators._parameters import parameters
from rankpursuit.estimators._tally import (
    NO_PAIR,
    Blocks,
    Tally,
    named,
    opener,
    unchanged_if_refused,
)


@parameters
class BlockPursuit(SumsOfBlocks):
    """Base of the pursuits that learn from sums over blocks of whole groups."""

    __metadata_request__partial_fit: ClassVar = {"groups": True}

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
        >>> import numpy as np
        >>> from rankpursuit import RankingPursuit
        >>> rng = np.random.default_rng(0)
        >>> model = RankingPursuit(n_basis=8, fitting="backfit", n_candidates=30, random_state=0)
        >>> for day in range(3):
        ...     X, groups = rng.normal(size=(60, 2)), np.repeat(np.arange(6), 10) + 6 * day
        ...     model = model.partial_fit(X, X[:, 0] + groups, groups)
        >>> round(model.score(X, X[:, 0] + groups, groups), 2)
        0.92
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
        `partial_fit` goes on from here. ``lambda: tqdm(blocks)`` shows how far the reading is.

        Examples
        --------
        >>> import numpy as np
        >>> from rankpursuit import RankingPursuit
        >>> from rankpursuit.datasets import array_blocks
        >>> rng = np.random.default_rng(0)
        >>> X, groups = rng.normal(size=(400, 2)), np.repeat(np.arange(40), 10)
        >>> model = RankingPursuit(8, fitting="backfit", ridge=0.0, n_candidates=30, random_state=0)
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
            self.__dict__.pop("feature_names_in_", None)  # of data before
            dictionary = self._drawn_on(cluster) if candidates is None else self._given(candidates)
            tally = Tally.empty(dictionary)
            for number, found in enumerate(cluster.sums(self, dictionary), start=1):
                with named(f"part {number}"):
                    tally.check(found.labels)
                tally = tally.plus(found).commit(found)
            self._keep_whole(tally)
        return self
