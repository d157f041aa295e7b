"""The pursuit of one function a view, and all prefixes of its paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.solvers.coregularised.function_pairs import PairSearch
from rankpursuit.solvers.coregularised.function_tuples import (
    AlternatingSearch,
    SharedSearch,
    TupleSearch,
)
from rankpursuit.solvers.coregularised.gram_form import Gram, GramForm
from rankpursuit.solvers.coregularised.joint_form import JointForm, RefittedForm, ResidueForm
from rankpursuit.solvers.coregularised.joint_problem import Agreement, Array, JointProblem
from rankpursuit.solvers.pursuit.forms import NOTHING_LEFT

JointFitting = Literal["basic", "backfit"]


@dataclass(frozen=True)
class CoregularisedPath:
    """Every prefix of the paths of b dictionaries times k values of nu, with M views and P steps.

    Attributes
    ----------
    selected : ndarray of shape (b, k, P, M)
        The function chosen for each view at each step; -1 behind the end of a path.
    weights : ndarray of shape (b, k, P * M)
        The lengths of the steps, view by view, zero behind the end of a path.
    directions : ndarray of shape (b, k, P * M, P * M) or None
        Column c holds the coefficients, over the chosen functions of all views, of direction c.
        None stands for the identity.
    cost : ndarray of shape (b, k, P + 1)
        The cost of every prefix, from the empty one on.
    n_steps : ndarray of shape (b, k)
        Number of steps before the path ended.
    """

    selected: NDArray[np.intp]
    weights: Array
    directions: Array | None
    cost: Array
    n_steps: NDArray[np.intp]

    def coefficients(self, view: int) -> Array:
        """Coefficients over the chosen functions of one view, of every prefix.

        Returns
        -------
        ndarray of shape (b, k, P, P)
            Entry ``[..., p, :]`` belongs to the prefix of p + 1 steps.
        """
        n_steps, n_views = self.selected.shape[2:]
        if self.directions is None:
            return np.tri(n_steps) * self.weights[..., None, view::n_views]
        steps = self.directions[..., view::n_views, :] * self.weights[..., None, :]
        return np.cumsum(steps, axis=3)[..., n_views - 1 :: n_views].swapaxes(2, 3)

    def predict(self, kernel: Array, view: int) -> Array:
        """Predictions of one view's function, of every prefix.

        Parameters
        ----------
        kernel : ndarray of shape (b, m, N)
            Values of the N dictionary functions of the view at m points.
        view : int

        Returns
        -------
        ndarray of shape (b, k, P, m)
        """
        own = slice(view, None, self.selected.shape[3])
        return self._staged(kernel.swapaxes(1, 2), self.selected[..., view], own)

    def predict_mean(self, kernels: Sequence[Array], steps: NDArray[np.intp]) -> Array:
        """Mean of the predictions of all views, of some prefixes.

        Parameters
        ----------
        kernels : sequence of M ndarrays of shape (b, m, N_v)
            For each view, the values of its dictionary functions at m points.
        steps : ndarray of shape (s,)
            Numbers of steps of the prefixes, from 1 to P.

        Returns
        -------
        ndarray of shape (b, k, s, m)
        """
        functions = np.concatenate([kernel.swapaxes(1, 2) for kernel in kernels], axis=1)
        starts = np.cumsum([0, *(kernel.shape[2] for kernel in kernels[:-1])])
        selected = (self.selected + starts).reshape(self.weights.shape)
        if self.directions is None:
            mean = self._stepwise(functions, selected, steps)
        else:
            mean = self._staged(functions, selected, slice(None)).take(steps - 1, axis=2)
        mean /= len(kernels)
        return mean

    def _stepwise(
        self, functions: Array, selected: NDArray[np.intp], steps: NDArray[np.intp]
    ) -> Array:
        """Add up all views' functions; return the sums after some steps, shape (b, k, s, m).

        The terms of a step fit into the cache of a core; those of a whole path would not.
        """
        n_functions, n_points = functions.shape[1:]
        rows = functions.reshape(-1, n_points)
        first = n_functions * np.arange(len(functions))[:, None, None]
        batch, n_views = self.weights.shape[:2], self.selected.shape[3]
        # The problems side by side, behind the views and the steps.
        chosen = _steps_first(selected + first, n_views)
        weights = _steps_first(self.weights, n_views)[..., None]
        terms = np.empty((*chosen.shape[1:], n_points))
        total = np.zeros(terms.shape[1:])
        result = np.empty((len(total), len(steps), n_points))
        for step in range(int(steps.max(initial=0))):
            # Behind the end of a path, weights are zero and any function will do.
            rows.take(chosen[step], axis=0, out=terms, mode="clip")
            terms *= weights[step]
            for term in terms[1:]:
                terms[0] += term
            total += terms[0]
            for place in np.flatnonzero(steps == step + 1):
                result[:, place] = total
        return result.reshape(*batch, len(steps), n_points)

    def _staged(self, functions: Array, selected: NDArray[np.intp], part: slice) -> Array:
        """Values, of every prefix, of that part of the chosen functions: shape (b, k, P, m).

        Term by term, so that points where the functions are equal have equal values.
        """
        dictionaries = np.arange(len(functions))[:, None, None]
        terms = functions[dictionaries, selected]
        weights = self.weights[..., None]
        if self.directions is None:
            terms *= weights[:, :, part]
        else:
            directions = self.directions[:, :, part]
            terms = np.matmul(directions.swapaxes(2, 3), terms)
            terms *= weights
        n_steps, n_points = self.selected.shape[2], terms.shape[3]
        by_step = terms.reshape(*terms.shape[:2], n_steps, -1, n_points)
        sums = by_step.sum(axis=3)
        for before, after in pairwise(np.moveaxis(sums, 2, 0)):
            after += before
        return sums


def coregularised_pursuit(
    scored: Sequence[Array],
    unscored: Sequence[Array],
    targets: Sequence[Array],
    nus: ArrayLike,
    n_steps: int,
    *,
    fitting: JointFitting = "basic",
    agreement: Agreement = "cumulative",
    shared: bool = False,
) -> CoregularisedPath:
    """Pursue one function a view on the scored points, agreeing on the unscored ones.

    Parameters
    ----------
    scored : sequence of M ndarrays of shape (b, m_v, N_v)
        For each view, the rows of its dictionary on the scored points, ``B K_v``.
    unscored : sequence of M ndarrays of shape (b, l, N_v)
        For each view, the rows of its dictionary on the unscored points. Without unscored
        points, pass the rows of the scored ones: the views then agree on those.
    targets : sequence of M ndarrays of shape (m_v,) or (b, m_v)
        For each view, the rows of the scores, ``B s``: the same for all dictionaries, or those
        of each dictionary.
    nus : array-like of shape (k,)
        Weights of the agreement; not negative.
    n_steps : int
        Largest number of steps P; no more than the smallest N_v are made.
    fitting : {"basic", "backfit"}
        Whether a step leaves the earlier coefficients alone, or refits those of all views
        jointly. Each function is chosen at most once.
    agreement : {"cumulative", "incremental"}
        Whether a step is chosen to bring the whole functions so far together, or only what it
        adds to them (the formula as printed in the paper). A refit always is of the whole.
    shared : bool
        Choose the same index for all views, whose dictionaries must be of one size.

    Returns
    -------
    CoregularisedPath

    Notes
    -----
    For two views all pairs of functions are compared; for more, see
    :class:`rankpursuit.solvers.coregularised.function_tuples.AlternatingSearch`.
    """
    problem = JointProblem(
        scored=[_by_function(columns) for columns in scored],
        unscored=[_by_function(columns) for columns in unscored],
        targets=targets,
        nu=np.asarray(nus, dtype=np.float64),
        agreement=agreement,
    )
    if shared and len(set(problem.sizes)) > 1:
        raise ValueError(f"shared: the dictionaries have different sizes, {problem.sizes}")
    n_steps = min(n_steps, *problem.sizes)
    search, form = _search_and_form(problem, fitting, shared, n_steps)
    batch = problem.batch
    selected = np.full((*batch, n_steps, problem.n_views), -1, dtype=np.intp)
    weights = np.zeros(selected.shape)
    cost = np.empty((*batch, n_steps + 1))
    cost[..., 0] = form.cost
    floor = NOTHING_LEFT**2 * form.cost
    active = np.ones(batch, dtype=bool)
    step = 0
    while step < n_steps:
        best = search.best(form.correlations())
        active &= best.gain > floor
        if not active.any():
            break
        selected[..., step, :] = np.where(active[..., None], best.chosen, -1)
        weights[..., step, :] = form.take(best, active)
        search.forbid(best.chosen, active)
        step += 1
        cost[..., step] = form.cost
    cost[..., step + 1 :] = cost[..., step, None]
    return CoregularisedPath(
        selected=selected,
        weights=weights.reshape(*batch, -1),
        directions=form.directions if isinstance(form, RefittedForm) else None,
        cost=cost,
        n_steps=np.count_nonzero(selected[..., 0] >= 0, axis=2),
    )


def _search_and_form(
    problem: JointProblem, fitting: JointFitting, shared: bool, n_steps: int
) -> tuple[TupleSearch, JointForm]:
    """Return the search for the best tuples, and the form that follows their steps."""
    search: TupleSearch
    form: JointForm
    gram = Gram(problem) if problem.n_views == 2 and not shared else None
    if gram is not None:
        search = PairSearch(gram, problem.nu)
    else:
        search = (SharedSearch if shared else AlternatingSearch)(problem)
    if fitting == "backfit":
        form = RefittedForm(problem, n_steps)
    elif gram is not None:
        form = GramForm(problem, gram)
    else:
        form = ResidueForm(problem)
    return search, form


def _steps_first(values: NDArray[Any], n_views: int) -> NDArray[Any]:
    """Turn (b, k, P * M) into (P, M, b * k)."""
    n_values = values.shape[2]
    return np.ascontiguousarray(values.reshape(-1, n_values).T).reshape(
        n_values // n_views, n_views, -1
    )


def _by_function(columns: Array) -> Array:
    """Turn (b, m, N) into (b, N, m): the values of one function side by side."""
    return np.ascontiguousarray(columns.swapaxes(1, 2))
