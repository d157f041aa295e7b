"""The products of the functions of two views with each other, and the joint problem by them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankpursuit.solvers.joint import Agreement
from rankpursuit.solvers.tuples import Array, BestTuple, Flags


class Gram:
    """Gram matrices of the N = N_1 + N_2 functions of two views.

    Parameters
    ----------
    scored : sequence of two ndarrays of shape (b, N_v, m_v)
    unscored : sequence of two ndarrays of shape (b, N_v, l)

    Attributes
    ----------
    sizes : list of int
        N_1 and N_2.
    views : list of slice
        Where the functions of each view stand.
    products : ndarray of shape (b, N, 2, N)
        Products over the rows on the scored points, zero for functions of different views, and
        over those on the unscored points without their weight ``2 nu``, negative for them.
    """

    def __init__(self, scored: Sequence[Array], unscored: Sequence[Array]) -> None:
        self.sizes = [functions.shape[1] for functions in scored]
        size = sum(self.sizes)
        self.views = [slice(0, self.sizes[0]), slice(self.sizes[0], size)]
        self.products = np.zeros((len(scored[0]), size, 2, size))
        for view, functions in zip(self.views, scored, strict=True):
            self.products[:, view, 0, view] = np.matmul(functions, functions.swapaxes(1, 2))
        apart = np.concatenate([unscored[0], -unscored[1]], axis=1)
        self.products[:, :, 1] = np.matmul(apart, apart.swapaxes(1, 2))


class GramForm:
    """The joint problem of two views by their Gram matrices instead of the residue.

    A step takes time for each function, whatever the number of rows.

    Parameters
    ----------
    gram : Gram
    scored, targets, nu, agreement
        See :class:`rankpursuit.solvers.joint.ResidueForm`.
    """

    def __init__(
        self,
        gram: Gram,
        scored: Sequence[Array],
        targets: Sequence[Array],
        nu: Array,
        agreement: Agreement,
    ) -> None:
        self._views, self._agreement = gram.views, agreement
        size = sum(gram.sizes)
        self._gram = gram.products.reshape(-1, 2, size)
        self._weights = np.stack([np.ones_like(nu), 2.0 * nu], axis=-1)[:, None, :, None]
        self.cost = np.zeros((len(scored[0]), len(nu)))
        self._products = np.zeros((*self.cost.shape, 2, size))
        for view, functions, target in zip(self._views, scored, targets, strict=True):
            product = np.matmul(functions, target[..., None])
            self._products[:, :, 0, view] = product.swapaxes(1, 2)
            self.cost += np.square(target).sum(axis=-1)[..., None]
        self._whole = self._products[:, :, 0].copy()
        # Where the first function of each view stands, for each problem, in these arrays.
        problems = np.arange(self.cost.size).reshape(*self.cost.shape, 1)
        self._places = size * problems + [0, gram.sizes[0]]
        self._rows = size * (problems // len(nu)) + [0, gram.sizes[0]]

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
