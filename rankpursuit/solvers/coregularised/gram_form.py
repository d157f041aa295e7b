"""The products of the functions of two views with each other, and the joint problem by them."""

from __future__ import annotations

import numpy as np

from rankpursuit.solvers.coregularised.function_tuples import BestTuple
from rankpursuit.solvers.coregularised.joint_problem import Array, Flags, JointProblem


class Gram:
    """Gram matrices of the N = N_1 + N_2 functions of two views.

    Parameters
    ----------
    problem : JointProblem

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

    def __init__(self, problem: JointProblem) -> None:
        self.sizes = problem.sizes
        size = sum(self.sizes)
        self.views = [slice(0, self.sizes[0]), slice(self.sizes[0], size)]
        self.products = np.zeros((problem.batch[0], size, 2, size))
        for view, functions in zip(self.views, problem.scored, strict=True):
            own = self.products[:, view, 0, view]
            np.matmul(functions, functions.swapaxes(1, 2), out=own)
        apart = np.concatenate([problem.unscored[0], -problem.unscored[1]], axis=1)
        np.matmul(apart, apart.swapaxes(1, 2), out=self.products[:, :, 1])


class GramForm:
    """The joint problem of two views by their Gram matrices instead of the residue.

    A step takes time for each function, whatever the number of rows.

    Parameters
    ----------
    problem : JointProblem
    gram : Gram
        Of this problem.
    """

    def __init__(self, problem: JointProblem, gram: Gram) -> None:
        nu = problem.nu
        self._views = gram.views
        size = sum(gram.sizes)
        self._gram = gram.products.reshape(-1, 2, size)
        self._weights = np.stack([np.ones_like(nu), 2.0 * nu], axis=-1)[:, None]
        self.cost = np.zeros(problem.batch)
        self._whole = np.empty((*self.cost.shape, size))
        for view, functions, target in zip(
            self._views, problem.scored, problem.targets, strict=True
        ):
            self._whole[..., view] = np.matmul(functions, target[..., None]).swapaxes(1, 2)
            self.cost += np.square(target).sum(axis=-1)[..., None]
        self._own = self._whole.copy() if problem.agreement == "incremental" else None
        # Where the first function of each view stands, for each problem, in these arrays.
        problems = np.arange(self.cost.size).reshape(*self.cost.shape, 1)
        first = np.array([view.start for view in gram.views])
        self._places = size * problems + first
        self._rows = size * (problems // len(nu)) + first

    def correlations(self) -> list[Array]:
        """Return the products that the steps keep up to date."""
        products = self._whole if self._own is None else self._own
        return [products[..., view] for view in self._views]

    def take(self, best: BestTuple, active: Flags) -> Array:
        """Take the rows of the chosen functions, in the Gram matrices, off the products."""
        lengths = np.where(active[..., None], best.steps, 0.0)
        places = best.chosen + self._places
        products = self._whole.take(places)
        rows = self._gram.take(best.chosen + self._rows, axis=0)
        self._whole -= _combined(lengths[..., None] * self._weights, rows)
        if self._own is not None:
            self._own -= _combined(lengths, rows[..., 0, :])
        products += self._whole.take(places)
        # 2 a'c - a'A a is a' times the sum of c before the step and c - A a after it.
        fall = np.einsum("bkv,bkv->bk", lengths, products)
        self.cost = np.maximum(self.cost - fall, 0.0)
        return lengths


def _combined(weights: Array, rows: Array) -> Array:
    """Sum of the rows of each problem, shape (b, k, ..., N), with weights (b, k, ...)."""
    batch, size = weights.shape[:2], rows.shape[-1]
    rows = rows.reshape(*batch, -1, size)
    return np.matmul(weights.reshape(*batch, 1, -1), rows).reshape(*batch, size)
