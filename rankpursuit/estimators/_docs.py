"""Parameters and attributes that several estimators and methods have, described once.

In a docstring, a line ``{alpha}``, or ``{alpha, kernel}``, stands for the entries of those names,
also of notes; :func:`documented` puts them in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

Documented = TypeVar("Documented")

_ENTRIES = """\
alpha : float, default 1
    Weight of the regulariser, the paper's lambda; positive. One below the rounding error of the
    kernel counts as none: directions that are rounding errors get no weight.
n_basis : int, float or None, default None
    Number of basis functions, or a share of the candidates in (0, 1]. None: 100, or all
    candidates if they are fewer.
fitting : {"basic", "backfit", "prefit"}, default "backfit"
    "basic" never touches an earlier coefficient, as in the paper; "backfit" refits all of
    them after every step; "prefit" chooses each function by the cost after the refit.
repeat : bool, default False
    Whether "basic" may choose a function again; a refit leaves nothing to gain from that.
    `n_basis` is then the number of choices, times the candidates at most 50 million.
ridge : float, default 1
    Weight of a penalty ``a' K a`` in the least-squares problem; the paper has none, which is 0.
    It needs a symmetric kernel.
group_weight : {"pairs", "equal"} or mapping, default "equal"
    What the pairs of a group (a user, a query) weigh: "pairs" 1 each, as in the paper, so that
    large groups dominate; "equal" 1 over the size of the group, so that each point counts
    alike; or a positive number for each label of `groups`.
n_candidates : int or None, default 1000
    Number N of training points, drawn at random, whose functions make up the dictionary; fewer
    take less memory and time. None: all points.
kernel : str or callable, default "rbf"
    A kernel of scikit-learn: "rbf" is ``exp(-gamma |x - y|^2)``, "laplacian"
    ``exp(-gamma |x - y|_1)``, "linear" ``x'y``, "poly" or "polynomial"
    ``(gamma x'y + coef0)^degree``, "sigmoid" ``tanh(gamma x'y + coef0)``, "cosine" ``x'y`` of
    points scaled to length 1; for features that are not negative, "additive_chi2"
    ``-sum (x - y)^2 / (x + y)`` and "chi2", the exponential of gamma times that. With
    "precomputed", `X` holds kernel values: of the training points with each other in `fit`, of
    new points with the training points in `predict`. A callable takes two matrices of points,
    one point a row, and returns the matrix of their kernel values. Values must be finite, and,
    but for a pursuit without `ridge`, symmetric to single precision. "sigmoid" and
    "additive_chi2" are not positive definite, nor is "poly" with a negative `coef0`; see Notes.
gamma : float, "scale" or None, default "scale"
    "scale" is 1 / (number of features times the variance of all entries of the training data),
    and None 1 / number of features, for "chi2" too. Features of different units are best scaled
    first, for the largest one decides; a warning tells if nothing can be learned.
degree : int, default 3
    Degree of the polynomial kernel, up to 1000.
coef0 : float, default 1
    Constant of the polynomial and the sigmoid kernel.
kernel_params : mapping or None, default None
    Keyword arguments for a `kernel` that is a callable.
random_state : int, Generator, RandomState or None, default None
    Draws the candidates.
agreement : {"cumulative", "incremental"}, default "cumulative"
    Whether a step is chosen to bring the whole functions together or only its increments.
groups : array-like of shape (n,), optional
    Labels or query ids: only points with the same one are compared. Default: all points.
    :func:`groups_from_sizes` makes labels of sizes.
basis_ : ndarray of shape (n_basis,)
    The chosen training points, in the order in which they were first chosen, each once: the
    numbers of their rows, counted along the blocks if there were any, or among candidates that
    were given.
coef_ : ndarray of shape (n_basis,)
    Coefficients of the basis functions.
staged_coef_ : ndarray of shape (n_steps, n_basis)
    Row p holds the coefficients after p + 1 steps, a basis function each but for `repeat`.
cost_ : ndarray of shape (n_steps + 1,)
    Training cost after 0, 1, 2, ... steps.
X_basis_ : ndarray of shape (n_basis, n_features) or None
    Features of the basis points; None with a precomputed kernel, and in a linear model.
gamma_ : float or None
    The gamma in use; None for a kernel without one.
n_groups_ : int or None
    Number of groups inside which samples were compared: 1 if there were no groups, None if
    there were explicit pairs.
n_features_in_ : int
    Number of features of the training data.
feature_names_in_ : ndarray of shape (n_features,)
    Names of the features; only if the training data has names that are all strings.
"""

_NOTES = {
    "memory_note": """\
With at least four samples for each of the N candidates, and no explicit pairs, `fit` goes once
over the rows in blocks of 64 MB and keeps the N x N products of the functions. If there are at
most 2^25 kernel values of samples with candidates, the products give way to all of these
values where they leave too few digits, that is, where chosen functions nearly depend on each
other; up to 2^18, and with "prefit", the values are kept at once. From products alone, a
function of which less than 1e-5 is left outside of the span of the chosen ones is never chosen.
Rows that do not fit into memory may be a memory map for `fit`, come in blocks for `fit_blocks`
or one at a time for `partial_fit`, or lie on a cluster for `fit_on_cluster`.""",
    "columns_note": """\
The functions of the dictionary are columns of a least-squares problem, so the kernel need not
be positive definite, except in the penalty of `ridge`, where negative eigenvalues count as 0.

With a linear kernel the model remains a choice of points, and new points are predicted by the
weights of the features that follow from it, ``coef_ @ X_basis_``.""",
    "linear_note": """\
With a linear kernel the model is linear, ``f(x) = coef_' x``: the basis functions are the
features, `coef_` holds their weights, `basis_` their numbers, and there is no `X_basis_`. Time
and memory are those of the features, not of all pairs of points, and X may be sparse.""",
}
_PARTS = {
    "X_train": "X : array-like of shape (n, n_features), or (n, n) kernel values if precomputed",
    "X_new": "X : array-like of shape (m, n_features), or (m, n) kernel values if precomputed",
    "scores": """\
y : array-like of shape (n,)
    Scores.""",
    "dealing_state": """\
random_state : int, Generator, RandomState or None, default None
    Draws the candidates and deals out points or features.""",
    "functions_of_views": """\
basis_ : list of ndarray of shape (n_basis,)
    For each view the chosen training points, in the order in which they were chosen.
coef_ : list of ndarray of shape (n_basis,)
    For each view its coefficients.""",
    "all_points": """\
basis_ : ndarray of shape (n,)
    All training points.""",
    "predictions": """\
ndarray of shape (m,)
    In single precision if `X` is, and in double otherwise.""",
}
_GROUPS = {
    "kernel_parameters": ("kernel", "gamma", "degree", "coef0", "kernel_params"),
    "input_attributes": ("gamma_", "n_features_in_", "feature_names_in_"),
}
_PLACE = re.compile(r"^( *)\{([a-zA-Z0-9_, ]+)\}$", flags=re.M)


def entries_by_name(text: str) -> dict[str, str]:
    """Take a list of entries apart."""
    entries = re.split(r"^(?=\S)", text, flags=re.M)[1:]
    return {entry.split(" : ")[0]: entry.rstrip() for entry in entries}


def put_in(
    described: Documented, by_name: Mapping[str, str], groups: Mapping[str, tuple[str, ...]]
) -> Documented:
    """Put entries, and groups of them, into the docstring of a class or a function."""

    def entries(place: re.Match[str]) -> str:
        indent, names = place[1], place[2].split(", ")
        single = [one for name in names for one in groups.get(name, (name,))]
        lines = "\n".join(by_name[name] for name in single).split("\n")
        return "\n".join(indent + line for line in lines)

    if described.__doc__:  # there is none under python -OO
        described.__doc__ = _PLACE.sub(entries, described.__doc__)
    return described


SHARED = _NOTES | _PARTS | entries_by_name(_ENTRIES)
"""All entries that several estimators share."""


def documented(described: Documented) -> Documented:
    """Put the shared entries into the docstring of a class or a function."""
    return put_in(described, SHARED, _GROUPS)
