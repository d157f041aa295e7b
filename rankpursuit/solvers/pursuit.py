"""Pursuits with one function: kernel matching pursuit, ranking pursuit, and their blend.

The greedy engine is matching pursuit over a stack of dictionaries, all prefixes at once. Methods
differ only in the rows that they pass. With the kernel columns K and the scores s, kernel matching
pursuit passes K and s; ranking pursuit ``B K`` and ``B s`` with the root B of its preference
graph; combined ranking and regression pursuit the rows of their blend. A ridge appends rows.

A path is computed from all rows (:func:`pursue`), or from the Gram matrix of the columns
(:func:`pursue_gram`), which is a sum over blocks of rows (:func:`sum_rows`) and needs bounded
memory. Both give the same path; :func:`choose_form` decides between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankpursuit.preferences import Preferences
from rankpursuit.solvers._linalg import INDEPENDENT, GrowingBasis, first_best, nonzero_columns

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

Fitting = Literal["basic", "backfit", "prefit"]
FormName = Literal["rows", "sums", "gram_then_rows"]
Columns = Callable[[NDArray[np.floating], Array], object]
"""Evaluates the candidates' functions at the points of the first array, (m, d), and writes the
values to the second, (m, N)."""

MAX_BASIS = 100
"""Default number of basis functions, if there are as many to choose from."""

NOTHING_LEFT = 1e-12
"""A path ends if its best step gains at most the square of this times the initial cost."""

FEW_ENTRIES = 2**18
"""Number of kernel values up to which a pursuit by rows takes hundredths of a second."""
ROWS_ENTRIES = 2**25
"""Maximum number of kernel values kept as rows: 256 MB, and a fit holds three or four copies."""
MANY_ROWS = 4
"""Minimum number of rows per candidate for which a Gram matrix saves much memory."""
MANY_STEPS = 4
"""Columns per step up to which computing the Gram matrix is faster than steps by rows."""
EXACT = 1e-6
"""Smallest fraction with eight correct digits, given a relative error of 1e-14 in squared norms."""
BLOCK_ENTRIES = 2**23
"""Kernel values and features per block, 64 MB: enough rows for their product to take longer than
adding it to the Gram matrix of a few thousand candidates."""

_DROPPED = 8
"""Steps of ended paths, per step of the others, from which copying the others pays."""
_PREFIT_ENTRIES = 2**16
"""Values of what is left of the columns that are updated at a time (512 KB)."""
_CACHED_ENTRIES = 2**14
"""Values processed at a time (128 KB), so that several passes over them stay in the cache."""


def count_basis(n_basis: int | float | None, n_points: int) -> int:
    """Return the number of basis functions that `n_basis` stands for.

    It is an integer of at least 1, a fraction of `n_points` in (0, 1], or None for at most 100.
    """
    if n_basis is None:
        return min(MAX_BASIS, n_points)
    if isinstance(n_basis, float | np.floating):
        return max(1, round(float(n_basis) * n_points))
    return int(n_basis)


@dataclass(frozen=True)
class PursuitPath:
    """Every prefix of the paths of a batch of b pursuits with up to P steps.

    Attributes
    ----------
    selected : ndarray of shape (b, P)
        The dictionary function chosen at each step; -1 after the path ends.
    weights : ndarray of shape (b, P)
        The length of each step; zero after the path ends.
    directions : ndarray of shape (b, P, P) or None
        Column p has the coefficients, over the chosen functions, of the direction of step p. None
        stands for the identity: each step moves along the function that it chose.
    cost : ndarray of shape (b, P + 1)
        Training cost of every prefix, starting with the empty one.
    n_steps : ndarray of shape (b,)
        Number of steps before the path ended.
    least_left : ndarray of shape (b,)
        Smallest fraction of the squared norm of a chosen function that is orthogonal to those
        before; 1 without a refit.
    """

    selected: Indices
    weights: Array
    directions: Array | None
    cost: Array
    n_steps: Indices
    least_left: Array

    def coefficients(self) -> Array:
        """Return the coefficients (b, P, P) over the chosen functions, of every prefix.

        Entry ``[i, p]`` belongs to the prefix of p + 1 steps, in the order of `selected`.
        """
        n_steps = self.selected.shape[1]
        directions = np.eye(n_steps) if self.directions is None else self.directions
        return np.cumsum(directions * self.weights[:, None, :], axis=2).swapaxes(1, 2)

    def expansion(self, problem: int) -> tuple[Indices, Array]:
        """Return the f functions chosen in one path, and their coefficients in every prefix.

        The functions, (f,), are distinct and in the order in which they were first chosen; the
        coefficients have the shape (n_steps, f).
        """
        n_steps = int(self.n_steps[problem])
        chosen, lengths = self.selected[problem, :n_steps], self.weights[problem, :n_steps]
        if self.directions is not None:  # with a refit no function is chosen twice
            steps = self.directions[problem, :n_steps, :n_steps] * lengths
            return chosen, np.cumsum(steps, axis=1).T
        functions = chosen[np.sort(np.unique(chosen, return_index=True)[1])]
        steps = np.where(chosen[:, None] == functions, lengths[:, None], 0.0)
        return functions, np.cumsum(steps, axis=0)

    def predict(self, kernel: Array, steps: Indices | None = None) -> Array:
        """Return the predictions (b, P, m) of every prefix, or (b, s, m) of some.

        `kernel`, (w, m, N), has the values of the dictionary functions at m points; every b / w
        paths next to each other share a dictionary. `steps`, (s,), are the numbers of steps of the
        prefixes, from 1 to P.
        """
        n_paths, n_steps = self.selected.shape
        steps = np.arange(1, n_steps + 1) if steps is None else steps
        dictionaries = np.arange(n_paths) // (n_paths // len(kernel))
        chosen = kernel[
            dictionaries[:, None, None],
            np.arange(kernel.shape[1])[:, None],
            np.maximum(self.selected, 0)[:, None, :],
        ]
        if self.directions is None:
            lengths = self.weights[:, None, :] * (np.arange(n_steps) < steps[:, None])
            return np.matmul(lengths, chosen.swapaxes(1, 2))
        # Coefficients of nearly dependent functions are large and cancel each other; what each
        # step adds is small, so the steps are added up instead.
        values = np.matmul(chosen, self.directions)
        values *= self.weights[:, None, :]
        return np.cumsum(values, axis=2, out=values)[:, :, steps - 1].swapaxes(1, 2)


def join_paths(paths: Sequence[PursuitPath]) -> PursuitPath:
    """Return the batch of all paths of several batches, of the same number of steps."""

    def joined(name: str) -> Any:
        return np.concatenate([getattr(path, name) for path in paths])

    names = [field.name for field in fields(PursuitPath) if field.name != "directions"]
    directions = None if paths[0].directions is None else joined("directions")
    return PursuitPath(directions=directions, **{name: joined(name) for name in names})


# The engine


def pursue(
    dictionary: Array,
    target: Array,
    n_steps: int,
    *,
    fitting: Fitting = "basic",
    repeat: bool = False,
) -> PursuitPath:
    """Approximate the target by a growing sum of dictionary columns.

    A path ends early if no column is left that is linearly independent of the chosen ones to
    working precision, or if the residue vanishes.

    Parameters
    ----------
    dictionary : ndarray of shape (b, m, N)
        A stack of b dictionaries of N columns.
    target : ndarray of shape (m,) or (b, m)
    n_steps : int
        Maximum number of steps P; at most N are made unless `repeat`.
    fitting : {"basic", "backfit", "prefit"}
        "basic" adds the column that lowers the cost ``|target - fit|^2`` most, with its best
        coefficient. "backfit" chooses in the same way and then refits all coefficients by least
        squares. "prefit" chooses the column whose cost is lowest after the refit.
    repeat : bool
        Whether "basic" may choose a column again, which is useless after a refit.
    """
    n_steps = most_steps(n_steps, dictionary.shape[2], fitting, repeat)
    return follow(_Rows(dictionary, target, n_steps, fitting), n_steps, fitting, repeat)


def pursue_gram(
    gram: Array,
    products: Array,
    square: Array,
    n_steps: int,
    *,
    fitting: Fitting = "basic",
    repeat: bool = False,
) -> PursuitPath:
    """Compute the path of :func:`pursue` from the Gram matrix, for any number of rows.

    `gram`, (b, N, N), has the products ``X'X`` of the columns X, `products`, (b, N), ``X'y`` and
    `square`, (b,), ``y'y``. Rounding errors are larger than those of rows: a column counts as
    dependent if less than 1e-5 of its norm is outside the span of the chosen ones.
    """
    n_steps = most_steps(n_steps, products.shape[1], fitting, repeat)
    rows, first = gram.reshape(-1, gram.shape[2]), np.arange(len(gram)) * gram.shape[2]
    norms = np.ascontiguousarray(np.einsum("bnn->bn", gram))
    form = GramForm(
        lambda best: rows.take(first + best, axis=0), norms, products, square, n_steps, fitting
    )
    return follow(form, n_steps, fitting, repeat)


def pursue_stack(
    dictionary: Array,
    target: Array,
    n_steps: int,
    *,
    fitting: Fitting = "basic",
    repeat: bool = False,
) -> PursuitPath:
    """Pursue a stack of small problems by rows or by Gram matrix, whichever is faster.

    "basic" uses the Gram matrix, unless it takes few steps: it is as exact as rows, except for
    `cost`, which is known to 1e-15 of the initial cost. A refit divides by the small orthogonal
    parts of nearly dependent columns, of which a Gram matrix keeps half of the digits: it uses
    the rows.
    """
    if fitting != "basic" or n_steps * MANY_STEPS < dictionary.shape[2]:
        return pursue(dictionary, target, n_steps, fitting=fitting, repeat=repeat)
    columns = dictionary.swapaxes(1, 2)
    target = np.broadcast_to(target, dictionary.shape[:2])
    return pursue_gram(
        np.matmul(columns, dictionary),
        np.matmul(columns, target[:, :, None])[:, :, 0],
        np.einsum("bm,bm->b", target, target),
        n_steps,
        repeat=repeat,
    )


def most_steps(n_steps: int, n_columns: int, fitting: Fitting, repeat: bool) -> int:
    """Return the maximum number of steps of a pursuit over some columns."""
    return n_steps if repeat and fitting == "basic" else min(n_steps, n_columns)


def follow(form: Any, n_steps: int, fitting: Fitting, repeat: bool) -> PursuitPath:
    """Run the greedy steps on a form such as :class:`_Rows` or :class:`GramForm`."""
    norms, refit = form.norms, fitting != "basic"
    n_problems, n_columns = norms.shape
    selected = np.full((n_problems, n_steps), -1, dtype=np.intp)
    weights, fractions = np.zeros(selected.shape), np.ones(selected.shape)
    cost = np.empty((n_problems, n_steps + 1))
    cost[:, 0] = form.cost
    floor = form.nothing_left * cost[:, 0]
    # Columns that cannot be chosen get infinite length, and so no gain. That of a refit is found
    # anew after each step.
    lengths, usable = form.left if fitting == "prefit" else norms.copy(), nonzero_columns(norms)
    lengths[~usable] = np.inf
    dependent = np.where(usable, form.independent * norms, np.inf)
    active, running = np.ones(n_problems, dtype=bool), np.arange(n_problems)
    starts = np.arange(0, norms.size, n_columns)
    gain, directions = np.empty_like(norms), form.directions
    for step in range(n_steps):
        np.square(form.correlation, out=gain)
        gain /= lengths
        best = first_best(gain)
        at = starts + best
        active &= gain.take(at) > floor
        n_active = np.count_nonzero(active)
        if not n_active:
            break
        if refit:
            left = np.where(active, form.left.take(at), 1.0)
            fractions[running, step] = left / np.where(active, norms.take(at), 1.0)
        weights[running, step] = form.take(best, active)
        if refit:
            lengths[form.left <= dependent] = np.inf
        if not repeat:
            lengths.put(at, np.inf)
        selected[running, step] = np.where(active, best, -1)
        cost[running, step + 1] = form.cost
        if form.can_drop and (len(active) - n_active) * (n_steps - step) > _DROPPED * n_active:
            if directions is not None and directions is not form.directions:
                directions[running] = form.directions
            kept = np.flatnonzero(active)
            form.keep(kept)
            norms, floor, dependent = norms[kept], floor[kept], dependent[kept]
            lengths = form.left if fitting == "prefit" else lengths[kept]
            active, running = active[kept], running[kept]
            starts, gain = starts[: len(kept)], gain[: len(kept)]
    if directions is not None and directions is not form.directions:
        directions[running] = form.directions
    reached = np.count_nonzero(selected >= 0, axis=1)
    last = np.minimum(np.arange(n_steps + 1), reached[:, None])
    return PursuitPath(
        selected=selected,
        weights=weights,
        directions=directions,
        cost=np.maximum(np.take_along_axis(cost, last, axis=1), 0.0),
        n_steps=reached,
        least_left=fractions.min(axis=1, initial=1.0),
    )


class _Rows:
    """A stack of least-squares problems given by their rows and the residue: exact.

    Both forms have three arrays (b, N): the squared `norms` of the columns, the squared norms
    `left` outside the span of the chosen columns (updated only with a refit), and the `correlation`
    of the columns with the residue. They also have the `cost`, (b,), and the `directions` of
    :class:`PursuitPath`. `take` appends a column to each problem. If ended paths `can_drop`, `keep`
    continues with the others.
    """

    can_drop = True
    independent = INDEPENDENT**2
    nothing_left = NOTHING_LEFT**2

    def __init__(self, dictionary: Array, target: Array, n_steps: int, fitting: Fitting) -> None:
        n_problems, n_rows, _ = dictionary.shape
        refit = fitting != "basic"
        self._dictionary, self._transposed = dictionary, dictionary.swapaxes(1, 2)
        # "prefit" compares functions by what is left of them outside the span of the chosen ones,
        # which is kept as rows: a difference of squared norms would lose the digits that decide.
        self._left_rows = dictionary.copy() if fitting == "prefit" else None
        n_cached = max(1, _PREFIT_ENTRIES // max(1, n_rows * dictionary.shape[2]))
        n_cached = min(n_cached, n_problems) if fitting == "prefit" else 0
        self._change = np.empty((n_cached, *dictionary.shape[1:]))
        self._problems = np.arange(n_problems)
        self._residue = np.array(np.broadcast_to(target, (n_problems, n_rows)), dtype=np.float64)
        self._basis = GrowingBasis((n_problems,), n_rows, n_steps) if refit else None
        self._pair = np.empty((n_problems, n_rows, 2 if refit else 0))  # residue and new direction
        self.norms = np.einsum("bmn,bmn->bn", dictionary, dictionary)
        self.left = self.norms.copy()
        self.correlation = np.matmul(self._transposed, self._residue[:, :, None])[:, :, 0]

    @property
    def cost(self) -> Array:
        return np.matmul(self._residue[:, None, :], self._residue[:, :, None])[:, 0, 0]

    @property
    def directions(self) -> Array | None:
        return None if self._basis is None else self._basis.directions

    def take(self, best: Indices, active: Flags) -> Array:
        """Append the best column of each active problem; return the lengths of the steps, (b,)."""
        column, norms = self._dictionary[self._problems, :, best], self.norms[self._problems, best]
        scale = np.sqrt(np.where(active, norms, 1.0))
        unit = column / scale[:, None] if self._basis is None else self._basis.append(column, norms)
        length = np.einsum("bm,bm->b", unit, self._residue) * active
        self._residue -= length[:, None] * unit
        if self._basis is None:
            self.correlation = np.matmul(self._transposed, self._residue[:, :, None])[:, :, 0]
            return length / scale
        if self._left_rows is not None:
            self._take_from_rows(unit)
            return length
        self._pair[:, :, 0], self._pair[:, :, 1] = self._residue, unit
        products = np.matmul(self._transposed, self._pair)
        self.correlation = products[:, :, 0]
        self.left -= np.square(products[:, :, 1])
        return length

    def _take_from_rows(self, unit: Array) -> None:
        """Subtract the part along the new direction, (b, m), from what is left of all columns."""
        rows = self._left_rows
        assert rows is not None
        # A few problems at a time, which stay in the cache.
        for start in range(0, len(rows), step := len(self._change)):
            some = slice(start, start + step)
            left, direction = rows[some], unit[some]
            along = np.matmul(direction[:, None, :], left)
            left -= np.multiply(direction[:, :, None], along, out=self._change[: len(left)])
            np.matmul(self._residue[some, None, :], left, out=self.correlation[some, None])
            np.einsum("bmn,bmn->bn", left, left, out=self.left[some])

    def keep(self, kept: Indices) -> None:
        """Continue with some of the problems."""
        self._dictionary = self._dictionary[kept]
        self._transposed = self._dictionary.swapaxes(1, 2)
        self._problems, self._pair = self._problems[: len(kept)], self._pair[: len(kept)]
        self._residue, self.correlation = self._residue[kept], self.correlation[kept]
        self.norms, self.left = self.norms[kept], self.left[kept]
        if self._left_rows is not None:
            self._left_rows = self._left_rows[kept]
        if self._basis is not None:
            self._basis.keep(kept)


class GramForm:
    """The same problems given by the rows of their Gram matrices that the path needs.

    `row` returns new arrays (b, N) with the rows of the columns that are appended. `norms`, (b, N),
    is the diagonal, `products`, (b, N), and `square`, (b,), are the products with the target.

    Sums over many rows have a relative error of about 1e-14, and squared norms outside the span are
    differences of such sums: fractions below 1e-10 keep fewer than four digits, and count as zero;
    those of `single` precision below 1e-5. Without a refit there are no such differences: products
    with the residue are as accurate as those of rows, and a path ends at the same step.
    """

    can_drop = False  # its steps are short

    def __init__(
        self,
        row: Callable[[Indices], Array],
        norms: Array,
        products: Array,
        square: ArrayLike,
        n_steps: int,
        fitting: Fitting,
        *,
        single: bool = False,
    ) -> None:
        refit = fitting != "basic"
        n_problems, n_columns = products.shape
        self._row, self._problems = row, np.arange(n_problems)
        self.independent = 1e-5 if single else 1e-10
        self.nothing_left = 1e-10 if single else 1e-14 if refit else NOTHING_LEFT**2
        self.norms, self.left = norms, norms.copy()
        self._divisors = np.where(nonzero_columns(norms), norms, 1.0)
        self.correlation = np.array(products, dtype=np.float64)
        self.cost = np.array(square, dtype=np.float64)
        self._size = 0
        self._chosen = np.zeros((n_problems, n_steps), dtype=np.intp)
        self._units = np.zeros((n_problems, n_steps if refit else 0, n_columns))
        self.directions = np.zeros((n_problems, n_steps, n_steps)) if refit else None

    def take(self, best: Indices, active: Flags) -> Array:
        """Append the best columns by their rows of the Gram matrices; return the lengths, (b,)."""
        row = self._row(best)
        at = self.correlation[self._problems, best]
        if self.directions is None:
            length = at / self._divisors[self._problems, best] * active
            row *= length[:, None]
            self.correlation -= row
            self.cost = self.cost - length * at
            return length
        unit, norm = self._append(best, row)
        length = at / norm * active
        self.correlation -= length[:, None] * unit
        self.left -= np.square(unit)
        self.cost = self.cost - np.square(length)
        return length

    def _append(self, best: Indices, row: Array) -> tuple[Array, Array]:
        """Orthogonalise the chosen columns; return their products with all columns, and norms."""
        assert self.directions is not None
        p = self._size
        self._chosen[:, p] = best
        units, earlier = self._units[:, :p], self.directions[:, :p, :p]
        along = units[self._problems, :, best]
        coefficients = np.zeros((len(best), p + 1))
        coefficients[:, p] = 1.0
        values = row
        # The second pass recomputes the products from the coefficients found so far.
        for sweep in range(2 if p else 0):
            if sweep:
                here = np.take_along_axis(values, self._chosen[:, :p], axis=1)
                along = np.matmul(here[:, None, :], earlier)[:, 0]
            values = values - np.matmul(along[:, None, :], units)[:, 0]
            coefficients[:, :p] -= np.matmul(earlier, along[:, :, None])[:, :, 0]
        here = np.take_along_axis(values, self._chosen[:, : p + 1], axis=1)
        squared = np.einsum("bp,bp->b", coefficients, here)
        norm = np.sqrt(np.where(squared > 0.0, squared, np.inf))
        unit = values / norm[:, None]
        self._units[:, p] = unit
        self.directions[:, : p + 1, p] = coefficients / norm[:, None]
        self._size += 1
        return unit, norm


# A ridge


def ridge_rows(
    dictionary: Array, target: Array, kernel: Array | None, ridges: ArrayLike
) -> tuple[Array, Array]:
    """Append rows that add the penalty ``ridge * a' K a`` to the cost.

    For b dictionaries (b, m, N) and r ridges, return dictionaries (b * r, m + N, N) and targets,
    with the ridges of a dictionary next to each other. `kernel`, (b, N, N), is that of the
    dictionary points; its negative eigenvalues count as 0. If all ridges are 0, it may be None, and
    no rows are added.
    """
    ridges = np.asarray(ridges, dtype=np.float64)
    n_stack, n_rows, n_columns = dictionary.shape
    rows = np.broadcast_to(target, (n_stack, n_rows))
    if kernel is None or not ridges.any():
        return repeat_each(dictionary, len(ridges)), repeat_each(rows, len(ridges))
    longer = np.empty((n_stack, len(ridges), n_rows + n_columns, n_columns))
    longer[:, :, :n_rows] = dictionary[:, None]
    longer[:, :, n_rows:] = np.sqrt(ridges)[:, None, None] * _root(kernel)[:, None]
    padded = np.zeros((n_stack, len(ridges), n_rows + n_columns))
    padded[:, :, :n_rows] = rows[:, None]
    return longer.reshape(-1, *longer.shape[2:]), padded.reshape(-1, padded.shape[2])


def _root(kernel: Array) -> Array:
    """Return matrices R with ``R'R = K``, shape (b, N, N)."""
    try:  # ten times as fast as eigenvectors, but fails for singular kernels
        return np.asarray(np.linalg.cholesky(kernel), dtype=np.float64).swapaxes(1, 2)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(kernel)
        return np.sqrt(np.maximum(values, 0.0))[..., None] * vectors.swapaxes(1, 2)


def ridge_gram(
    gram: Array, products: Array, square: Array, kernel: Array, ridges: ArrayLike
) -> tuple[Array, Array, Array]:
    """Add the penalties of :func:`ridge_rows` to the arguments of :func:`pursue_gram`."""
    ridges = np.asarray(ridges, dtype=np.float64)
    penalised = gram[:, None] + ridges[:, None, None] * kernel[:, None]
    n_ridges = len(ridges)
    return (
        penalised.reshape(-1, *gram.shape[1:]),
        repeat_each(products, n_ridges),
        repeat_each(square, n_ridges),
    )


def ridge_paths(
    sums: GramSums,
    kernel: Array | None,
    ridges: ArrayLike,
    n_steps: int,
    *,
    fitting: Fitting = "basic",
    repeat: bool = False,
) -> PursuitPath:
    """Pursue the target of w Gram matrices with penalties ``ridge * a' K a``.

    `kernel`, (w, N, N), has the kernels of the candidates; None if the only ridge is 0. The result
    has w * r paths, with the ridges of a kernel next to each other.
    """
    gram, products = sums.gram, sums.products
    square = np.full(len(gram), sums.square)
    if kernel is not None:
        gram, products, square = ridge_gram(gram, products, square, kernel, ridges)
    return pursue_gram(gram, products, square, n_steps, fitting=fitting, repeat=repeat)


def repeat_each(stack: Array, times: int) -> Array:
    """Repeat each problem of a stack, copies next to each other."""
    return stack if times == 1 else np.repeat(stack, times, axis=0)


# Gram matrices as sums over blocks of rows


@dataclass
class GramSums:
    """Gram matrices of kernel columns in a quadratic form, for w kernels over N candidates.

    ``K' L K``, ``K' L s`` and ``s' L s`` are sums over the groups, since no pair crosses groups:
    rows are read once, in blocks of whole groups, in any order and on any machine. `gram`,
    (w, N, N), `products`, (w, N), and `square` are these sums over `n_rows` rows.
    """

    gram: Array
    products: Array
    square: float
    n_rows: int

    @classmethod
    def of(cls, columns: Array, scores: Array, form: Preferences) -> Self:
        """Sum m rows of whole groups: kernel columns (w, m, N) and scores (m,)."""
        rows, target = form.root(columns), form.root(scores)
        gram, products = np.matmul(rows.swapaxes(1, 2), rows), np.matmul(target, rows)
        return cls(gram, products, float(target @ target), len(scores))

    def select(self, which: Indices) -> GramSums:
        """Return the same sums for some of the candidates."""
        gram, products = self.gram[:, which[:, None], which], self.products[:, which]
        return GramSums(gram, products, self.square, self.n_rows)

    def __add__(self, other: GramSums) -> GramSums:
        return GramSums(
            self.gram + other.gram,
            self.products + other.products,
            self.square + other.square,
            self.n_rows + other.n_rows,
        )


def choose_form(
    n_rows: int, n_candidates: int, preferences: Preferences, fitting: Fitting
) -> FormName:
    """Choose between the rows of a pursuit and their Gram matrix ("sums").

    Rows are exact to working precision, but each step is a pass over all of them. Sums take a
    single pass, in bounded memory. They need rows that can be split into blocks, that is, neither
    explicit pairs nor sample weights, and save nothing unless there are at least `MANY_ROWS` rows
    per candidate.

    "gram_then_rows" means that sums are faster, but that their path is used only if
    :func:`is_exact`. "prefit" may choose nearly dependent functions, which sums cannot distinguish
    from dependent ones, so it uses rows as long as they fit into memory.
    """
    n_entries = n_rows * n_candidates
    if not preferences.can_block or n_rows < MANY_ROWS * n_candidates or n_entries <= FEW_ENTRIES:
        return "rows"
    if n_entries > ROWS_ENTRIES:
        return "sums"
    return "rows" if fitting == "prefit" else "gram_then_rows"


def is_exact(path: PursuitPath) -> bool:
    """Return whether paths by Gram matrix agree with those by rows to about eight digits.

    They do if none ended early, and all leave more than `EXACT` of the cost and of each chosen
    function.
    """
    n_steps = path.selected.shape[1]
    return bool(
        (path.n_steps == n_steps).all()
        and (path.cost[:, -1] > EXACT * path.cost[:, 0]).all()
        and (path.least_left > EXACT).all()
    )


def sum_rows(
    columns: Columns,
    n_candidates: int,
    points: NDArray[np.floating],
    scores: Array,
    preferences: Preferences,
    *,
    entries: int | None = None,
) -> GramSums:
    """Compute a Gram matrix in blocks of rows, with one block of kernel values in memory.

    `points`, (n, d), may be a memory map. `entries` is the maximum number of kernel values and
    features per block.
    """
    beta, groups = preferences.beta, preferences.groups
    if not preferences.can_block:
        raise TypeError(f"rows with {type(preferences).__name__} cannot be split into blocks")
    shape = (1, n_candidates)
    sums = GramSums(np.zeros((*shape, n_candidates)), np.zeros(shape), 0.0, len(scores))
    n_rows = max(1, (entries or BLOCK_ENTRIES) // (n_candidates + points.shape[1]))
    buffer = np.empty((min(n_rows, len(scores)), n_candidates))

    def values_at(rows: slice | Indices) -> tuple[Array, Array]:
        X = points[rows]
        columns(X, buffer[: len(X)])
        return buffer[: len(X)], np.array(scores[rows])

    def add(rows: Array, target: Array, weight: float = 1.0) -> None:
        gram = rows.T @ rows
        if weight != 1.0:
            gram *= weight
        sums.gram[0] += gram
        sums.products[0] += weight * (target @ rows)
        sums.square += weight * float(target @ target)

    if groups is None:
        for rows in _steps(0, len(scores), n_rows):
            add(*values_at(rows))
        return sums
    in_order = np.array_equal(groups.order, np.arange(len(scores)))
    scale = (1.0 - beta) * groups.scale
    for run, members in _runs_of_groups(groups.sizes, n_rows):
        pieces = []  # of a group that is larger than a block
        for rows in _steps(run.start, run.stop, n_rows):
            values, target = values_at(rows if in_order else groups.order[rows])
            if beta > 0.0:
                add(values, target, beta)
            whole = len(target) == run.stop - run.start
            if not whole:
                pieces.append((len(target), values.mean(axis=0), target.mean()))
            sizes = groups.sizes[members] if whole else np.array([len(target)])
            roots = np.sqrt(scale[members])
            _centre_groups(values, sizes, roots)
            _centre_groups(target[:, None], sizes, roots)
            add(values, target)
        if pieces:
            add(*_between(pieces), float(scale[members.start]))
    return sums


def _steps(start: int, stop: int, n_rows: int) -> Iterator[slice]:
    for first in range(start, stop, n_rows):
        yield slice(first, min(first + n_rows, stop))


def _between(pieces: list[tuple[int, Array, float]]) -> tuple[Array, Array]:
    """Return rows whose Gram matrix is that of the pieces' means around their common mean."""
    counts, values, target = (
        np.array(column, dtype=np.float64) for column in zip(*pieces, strict=True)
    )
    fractions, roots = counts / counts.sum(), np.sqrt(counts)
    return roots[:, None] * (values - fractions @ values), roots * (target - fractions @ target)


def _runs_of_groups(sizes: Indices, n_rows: int) -> Iterator[tuple[slice, slice]]:
    """Yield rows and groups of each run of whole groups: at most `n_rows` rows, or one group."""
    ends = np.cumsum(sizes)
    group, start = 0, 0
    while group < len(sizes):
        after = max(int(ends.searchsorted(start + n_rows, side="right")), group + 1)
        stop = int(ends[after - 1])
        yield slice(start, stop), slice(group, after)
        group, start = after, stop


def _centre_groups(x: Array, sizes: Indices, scales: Array) -> None:
    """Centre and scale each group of `x`, (n, k), in place; rows are sorted by group."""
    # Subtracting the group's first row makes constants exactly zero, and a large common offset
    # loses no digits.
    for rows, groups in _runs_of_groups(sizes, max(1, _CACHED_ENTRIES // max(1, x.shape[1]))):
        values, lengths = x[rows], sizes[groups]
        if len(lengths) == 1:
            values -= values[0].copy()
            values -= values.sum(axis=0) / len(values)
            values *= scales[groups.start]
            continue
        starts = np.cumsum(lengths) - lengths
        values -= np.repeat(values[starts], lengths, axis=0)
        means = np.add.reduceat(values, starts, axis=0)
        means /= lengths[:, None]
        values -= np.repeat(means, lengths, axis=0)
        values *= np.repeat(scales[groups], lengths)[:, None]
