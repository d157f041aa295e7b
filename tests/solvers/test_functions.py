"""Functions and their products, against all products formed and pursued by their rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankpursuit.preferences import (
    Blend,
    GroupPreferences,
    PairPreferences,
    Pointwise,
    weighted_gram,
)
from rankpursuit.solvers.functions import FunctionGram, predict_chosen, pursue_functions
from rankpursuit.solvers.pursuit import pursue

N_POINTS, N_FUNCTIONS = 60, 6
RNG = np.random.default_rng(0)
VALUES = RNG.uniform(-1.0, 1.0, size=(N_POINTS, N_FUNCTIONS))
SCORES = VALUES[:, 0] + VALUES[:, 1] * VALUES[:, 3] + 0.1 * RNG.normal(size=N_POINTS)
GROUPS = np.sort(RNG.integers(0, 8, size=N_POINTS))
PRODUCTS = np.column_stack(np.triu_indices(4, 1)) + 1  # of the functions 1 to 4
EDGES = np.unique(np.sort(RNG.permuted(np.tile(np.arange(60), (90, 1)), axis=1)[:, :2]), axis=0)
FORMS = {
    "regression": Pointwise(N_POINTS),
    "pairs": GroupPreferences(GROUPS[RNG.permutation(N_POINTS)]),
    "equal": GroupPreferences(GROUPS, "equal"),
    "one group": GroupPreferences.single(N_POINTS),
    "blend": Blend(GroupPreferences(GROUPS, "equal"), 0.3),
    "edges": PairPreferences(N_POINTS, EDGES, RNG.uniform(0.5, 2.0, size=len(EDGES))),
}
by_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def all_columns(values=VALUES):
    one, two = PRODUCTS.T
    return np.concatenate([values, values[:, one] * values[:, two]], axis=1)


@by_form
def test_rows_norms_and_correlations_are_those_of_all_columns(form):
    gram, columns = FunctionGram(VALUES, PRODUCTS, form, SCORES), form.root(all_columns())
    expected = columns.T @ columns
    np.testing.assert_allclose(gram.norms, np.diag(expected), rtol=1e-10)
    for number in (0, 2, N_FUNCTIONS, len(expected) - 1):
        np.testing.assert_allclose(gram.column(number), all_columns()[:, number])
        np.testing.assert_allclose(gram.row(number), expected[number], atol=1e-9)
    np.testing.assert_allclose(gram.correlate(SCORES), columns.T @ form.root(SCORES), atol=1e-9)


@by_form
@pytest.mark.parametrize("fitting", ["basic", "backfit", "prefit"])
def test_paths_are_those_of_the_rows_of_all_columns(form, fitting):
    ridges, columns = [0.0, 0.1, 1.0], form.root(all_columns())
    found = pursue_functions(
        FunctionGram(VALUES, PRODUCTS, form, SCORES), ridges, 8, fitting=fitting
    )
    penalty = np.diag(np.sqrt(np.square(columns).sum(axis=0)))
    rows = np.stack([np.concatenate([columns, np.sqrt(r) * penalty]) for r in ridges])
    target = np.concatenate([form.root(SCORES), np.zeros(len(penalty))])
    expected = pursue(rows, target, 8, fitting=fitting)
    np.testing.assert_array_equal(found.selected, expected.selected)
    np.testing.assert_allclose(found.cost, expected.cost, rtol=1e-8)
    np.testing.assert_allclose(found.coefficients(), expected.coefficients(), atol=1e-8)
    chosen = np.stack([all_columns()[:, own] for own in found.selected])
    every = np.broadcast_to(all_columns(), (3, *all_columns().shape))
    np.testing.assert_allclose(predict_chosen(found, chosen), expected.predict(every), atol=1e-8)


@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_a_difference_of_symmetric_products(n_points, n_functions, seed):
    rng = np.random.default_rng(seed)
    values, weights = rng.normal(size=(n_points, n_functions)), rng.normal(size=n_points)
    weights[0] = 0.0
    expected = (values * weights[:, None]).T @ values
    np.testing.assert_allclose(weighted_gram(values, weights), expected, atol=1e-12)


def test_blocks_of_rows_add_up(monkeypatch):
    form = FORMS["blend"]
    whole = FunctionGram(VALUES, PRODUCTS, form, SCORES)
    monkeypatch.setattr("rankpursuit.preferences._BLOCK_ENTRIES", 40)
    parts = FunctionGram(VALUES, PRODUCTS, form, SCORES)
    np.testing.assert_allclose(parts.norms, whole.norms)
    np.testing.assert_allclose(parts.row(7), whole.row(7), atol=1e-10)


def test_functions_of_few_rows_are_left_out():
    values = np.array(VALUES)
    values[:, 0] = 0.0
    values[7, 0] = 5.0  # one row
    values[:, 5] = GROUPS  # constant in each group
    norms = FunctionGram(values, PRODUCTS, FORMS["equal"], SCORES).norms
    assert norms[0] == norms[5] == 0.0
    assert (norms[1:5] > 0.0).all()


LEVELS = VALUES + 1e3 * RNG.normal(size=(8, N_FUNCTIONS))[GROUPS]
WITHIN = EDGES[GROUPS[EDGES[:, 0]] == GROUPS[EDGES[:, 1]]]


@pytest.mark.parametrize(
    "form",
    [
        FORMS["equal"],
        Blend(FORMS["equal"], 0.0),
        PairPreferences(N_POINTS, WITHIN),
        PairPreferences(N_POINTS, FORMS["equal"].pairs()),
    ],
    ids=["groups", "blend without regression", "pairs", "all pairs"],
)
def test_functions_whose_level_differs_between_groups_are_usable(form):
    norms, levelled = (FunctionGram(v, PRODUCTS[:0], form, SCORES).norms for v in (VALUES, LEVELS))
    assert (norms > 0.0).all()
    np.testing.assert_allclose(levelled, norms, rtol=1e-6)
    peak = np.zeros((N_POINTS, 1))
    peak[WITHIN[0, 0]] = 1.0  # at one point
    norm = np.square(form.root(peak)).sum()
    assert norm**2 <= 4.0 * form.fourth_moments(peak)[0]


def test_effective_points_of_a_blend_are_those_of_its_parts():
    groups = FORMS["equal"]
    bounds = [Pointwise(N_POINTS).fourth_moments(VALUES), groups.fourth_moments(VALUES)]
    for beta, expected in ((0.0, bounds[1]), (1.0, bounds[0])):
        np.testing.assert_allclose(Blend(groups, beta).fourth_moments(VALUES), expected)
    single = Blend(GroupPreferences(np.zeros(N_POINTS), "equal"), 0.3)
    np.testing.assert_allclose(single.fourth_moments(VALUES), bounds[0])  # proportional parts


def test_a_pair_contributes_to_both_of_its_points():
    form = PairPreferences(4, [(0, 1), (2, 1)], [1.0, 2.0])
    values = np.array([[1.0], [3.0], [2.0], [9.0]])  # squared differences of 4 and 1
    assert form.fourth_moments(values) == pytest.approx(2.0**2 + (2.0 + 1.0) ** 2 + 1.0**2)
