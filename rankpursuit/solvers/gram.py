"""The joint problem of two views by Gram matrices instead of the residue."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankpursuit.solvers.joint import Agreement
from rankpursuit.solvers.tuples import Array, BestTuple, Flags


class GramForm:
    """The joint problem of two views by the products of all functions with each other.

    A step takes as much time as there are functions, whatever the number of rows. An axis of
    size 2 holds the products over the rows on the scored points, and over those on the unscored
    points without their weight ``2 nu``.

    Parameters
    ----------
    scored, unscored, targets, nu, agreement
        See :class:`rankpursuit.solvers.joint.ResidueForm`.
    """

    def __init__(
        self,
        scored: Sequence[Array],
        unscored: Sequence[Array],
        targets: Sequence[Array],
        nu: Array,
        agreement: Agreement,
    ) -> None:
        batch = (len(scored[0]), len(nu))
        ends = np.cumsum([functions.shape[1] for functions in scored])
        self._views = [slice(0, ends[0]), slice(ends[0], ends[1])]
        gram = np.zeros((batch[0], ends[1], 2, ends[1]))
        self._products = np.zeros((*batch, 2, ends[1]))
        self.cost = np.zeros(batch)
        for view, functions, target in zip(self._views, scored, targets, strict=True):
            gram[:, view, 0, view] = np.matmul(functions, functions.swapaxes(1, 2))
            product = np.matmul(functions, target[..., None])
            self._products[:, :, 0, view] = product.swapaxes(1, 2)
            self.cost += np.square(target).sum(axis=-1)[..., None]
        apart = np.concatenate([unscored[0], -unscored[1]], axis=1)
        gram[:, :, 1] = np.matmul(apart, apart.swapaxes(1, 2))
        self._gram = gram.reshape(-1, 2, ends[1])
        self._weights = np.stack([np.ones_like(nu), 2.0 * nu], axis=-1)[:, None, :, None]
        self._whole = self._products[:, :, 0].copy()
        self._agreement = agreement
        # Where the first function of each view stands in these arrays, for each problem.
        problems = np.arange(self.cost.size).reshape(*batch, 1)
        self._places = np.array([0, ends[0]]) + ends[1] * problems
        self._rows = np.array([0, ends[0]]) + ends[1] * (problems // batch[1])

    def correlations(self) -> list[Array]:
        """Return the products that the steps keep up to date."""
        products = self._whole if self._agreement == "cumulative" else self._products[:, :, 0]
        return [products[..., view] for view in self._views]

    def take(self, best: BestTuple, active: Flags) -> Array:
        """Take the rows of the chosen functions, in the Gram matrices, off the products."""
        lengths = np.where(active[..., None], best.steps, 0.0)
        places = best.chosen + self._places
        products = self._whole.take(places)
        rows = self._gram.take(best.chosen + self._rows, axis=0)
        rows *= lengths[..., None, None] * self._weights
        for view in range(2):
            self._products -= rows[:, :, view]
        np.add(self._products[:, :, 0], self._products[:, :, 1], out=self._whole)
        products += self._whole.take(places)
        self.cost -= np.einsum("bkv,bkv->bk", lengths, products)
        return lengths
