"""Functions and their products, against a pursuit that forms and refits every product."""

from itertools import combinations

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
from rankpursuit.solvers.functions import Functions, Growth, predict_chosen, pursue_functions

N_POINTS, N_FUNCTIONS = 60, 6
RNG = np.random.default_rng(0)
VALUES = RNG.uniform(-1.0, 1.0, size=(N_POINTS, N_FUNCTIONS))
VALUES[:, 3:5] = VALUES[:, 3:5] > 0.0
SCORES = VALUES[:, 0] + VALUES[:, 1] * VALUES[:, 3] * VALUES[:, 5] + 0.1 * RNG.normal(size=N_POINTS)
GROUPS = np.sort(RNG.integers(0, 8, size=N_POINTS))
EDGES = np.unique(np.sort(RNG.permuted(np.tile(np.arange(60), (90, 1)), axis=1)[:, :2]), axis=0)
FORMS = {
    "regression": Pointwise(N_POINTS),
    "pairs": GroupPreferences(GROUPS[RNG.permutation(N_POINTS)]),
    "equal": GroupPreferences(GROUPS, "equal"),
    "one group": GroupPreferences.single(N_POINTS),
    "weights": GroupPreferences(GROUPS, "equal", RNG.uniform(0.5, 2.0, size=N_POINTS)),
    "blend": Blend(GroupPreferences(GROUPS, "equal"), 0.3),
    "edges": PairPreferences(N_POINTS, EDGES, RNG.uniform(0.5, 2.0, size=len(EDGES))),
}
by_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def growth(degree=3, handicap=0.5, max_parents=60):
    """Six functions of four features: three factors of products, two of them two-valued."""
    features = np.array([0, 1, 2, 3, 0, 1])
    means = np.array([0.3, 0.0, -0.2, 0.0, 0.0, 0.0])
    indicators = np.isin(np.arange(6), [3, 4])
    return Growth(features, means, indicators, 3, 5, degree, handicap, max_parents)


def factor(values, number):
    """The values of a factor: a function, its mirror, or what is left of it above its mean."""
    kind, function = divmod(number, N_FUNCTIONS)
    column = values[:, function].astype(float)
    return (column, 1.0 - column, column - growth().means[function])[kind]


def product(values, factors):
    return np.prod([factor(values, number) for number in factors], axis=0)


def candidates_of(chosen, growth):
    """All products that may be chosen, by definition: their factors, and the last function."""
    features = growth.features
    found = [({j}, j) for j in range(N_FUNCTIONS)]
    if growth.degree > 1:
        centred = [j + 2 * N_FUNCTIONS if growth.means[j] else j for j in range(growth.n_factors)]
        pairs = combinations(range(growth.n_factors), 2)
        found += [({centred[a], centred[b]}, b) for a, b in pairs if features[a] != features[b]]
    parents = []
    for factors, last in chosen:
        if len(factors) < growth.degree and max(factors) < 2 * N_FUNCTIONS:
            parents.append(factors)
            if growth.indicators[last]:
                parents.append(factors - {last} | {last + N_FUNCTIONS})
    for parent in parents[: growth.max_parents]:
        taken = {features[number % N_FUNCTIONS] for number in parent}
        partners = [j for j in range(growth.n_partners) if features[j] not in taken]
        found += [(parent | {j}, j) for j in partners]
    return found


def dense_pursuit(form, growth, n_steps):
    """Choose by the cost after a least-squares refit of all coefficients, one try after another."""
    target, chosen, n_groups = form.root(SCORES), [], form.groups.n_groups if form.groups else 0
    cost = target @ target
    for step in range(n_steps):
        best, rows = None, [form.root(product(VALUES, factors)) for factors, _ in chosen]
        chance = 2.0 * cost / (N_POINTS - n_groups - step) * np.log(N_FUNCTIONS)
        for factors, last in candidates_of(chosen, growth):
            column = form.root(product(VALUES, factors))
            if any(factors == other for other, _ in chosen) or column @ column < 1e-9:
                continue
            problem = np.stack([*rows, column], axis=1)
            left = target - problem @ np.linalg.lstsq(problem, target, rcond=None)[0]
            beyond = cost - left @ left - growth.handicap * chance * len(factors)
            if best is None or beyond > best[0] + 1e-9:
                best = beyond, factors, last, left @ left
        cost = best[3]
        chosen.append(best[1:3])
    return [factors for factors, _ in chosen]


@by_form
def test_norms_and_products_are_those_of_all_candidates(form):
    functions = Functions(VALUES, growth(), form, SCORES)
    columns = np.stack([functions.column(number) for number in functions.numbers], axis=1)
    factors = [set(row[row >= 0]) for row in growth().decode(functions.numbers)]
    assert factors == [factors for factors, _ in candidates_of([], growth())]
    np.testing.assert_allclose(columns, np.stack([product(VALUES, f) for f in factors], axis=1))
    rows = form.root(columns)
    np.testing.assert_allclose(functions.norms, np.square(rows).sum(axis=0), rtol=1e-9)
    expected = columns.T @ form.laplacian(SCORES)
    np.testing.assert_allclose(functions.correlate(form.laplacian(SCORES)), expected, atol=1e-9)


@by_form
@pytest.mark.parametrize(("degree", "handicap", "parents"), [(1, 1, 60), (2, 0, 60), (3, 0.5, 3)])
def test_paths_are_those_of_a_dense_pursuit(form, degree, handicap, parents):
    grown, ridges = growth(degree, handicap, parents), [0.0, 0.1, 1.0]
    functions = Functions(VALUES, grown, form, SCORES)
    path = pursue_functions(functions, ridges, 7)
    n_steps = int(path.n_steps[0])
    assert n_steps == (7 if degree > 1 else N_FUNCTIONS)
    chosen = [set(row[row >= 0]) for row in grown.decode(path.selected[0, :n_steps])]
    assert chosen == dense_pursuit(form, grown, n_steps)
    columns = np.stack([product(VALUES, factors) for factors in chosen], axis=1)
    rows, target = form.root(columns), form.root(SCORES)
    penalty = np.sqrt(np.square(rows).sum(axis=0))
    for place, ridge in enumerate(ridges):
        coefficients = path.expansion(place)[1]
        for size in range(1, n_steps + 1):
            penalised = np.concatenate([rows[:, :size], np.diag(np.sqrt(ridge) * penalty[:size])])
            padded = np.concatenate([target, np.zeros(size)])
            expected, *_ = np.linalg.lstsq(penalised, padded, rcond=None)
            np.testing.assert_allclose(coefficients[size - 1, :size], expected, atol=1e-8)
            cost = np.square(padded - penalised @ expected).sum()
            assert path.cost[place, size] == pytest.approx(cost)
    padded = np.pad(columns, [(0, 0), (0, 7 - n_steps)])
    found = predict_chosen(path, padded[None])[:, n_steps - 1]
    np.testing.assert_allclose(found, [columns @ path.expansion(b)[1][-1] for b in range(3)])


def test_a_path_may_end_where_chance_would_gain_as_much():
    noise = RNG.normal(size=N_POINTS)
    functions = Functions(VALUES, growth(handicap=1.0), FORMS["equal"], noise)
    assert pursue_functions(functions, [0.0], 9).n_steps[0] == 9
    assert pursue_functions(functions, [0.0], 9, ends=True).n_steps[0] <= 2


@given(st.lists(st.integers(0, 17), min_size=1, max_size=3, unique=True))
def test_a_product_is_numbered_by_its_factors(factors):
    decoded = growth().decode(growth().encode(np.array([factors])))[0]
    assert decoded[decoded >= 0].tolist() == sorted(factors)
    assert growth().encode(np.arange(6)[:, None]).tolist() == list(range(6))


@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_a_difference_of_symmetric_products(n_points, n_functions, seed):
    rng = np.random.default_rng(seed)
    values, weights = rng.normal(size=(n_points, n_functions)), rng.normal(size=n_points)
    weights[0] = 0.0
    expected = (values * weights[:, None]).T @ values
    np.testing.assert_allclose(weighted_gram(values, weights), expected, atol=1e-12)


def test_blocks_of_rows_add_up(monkeypatch):
    functions = Functions(VALUES, growth(), FORMS["blend"], SCORES)
    monkeypatch.setattr("rankpursuit.preferences._BLOCK_ENTRIES", 40)
    blocks = Functions(VALUES, growth(), FORMS["blend"], SCORES)
    np.testing.assert_allclose(blocks.norms, functions.norms)
    np.testing.assert_allclose(blocks.correlate(SCORES), functions.correlate(SCORES), atol=1e-10)
    np.testing.assert_allclose(blocks.children(3)[1], functions.children(3)[1])


def test_single_precision_follows_the_same_path():
    exact, single = (
        pursue_functions(Functions(values, growth(), FORMS["equal"], SCORES), [0.1], 5)
        for values in (VALUES, VALUES.astype(np.float32))
    )
    np.testing.assert_array_equal(single.selected, exact.selected)
    np.testing.assert_allclose(single.coefficients(), exact.coefficients(), atol=1e-4)


def test_functions_of_few_rows_are_left_out():
    values = np.array(VALUES)
    values[:, 0] = 0.0
    values[7, 0] = 5.0  # one row
    values[:, 5] = GROUPS  # constant in each group
    norms = Functions(values, None, FORMS["equal"], SCORES).norms
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
    norms, levelled = (Functions(v, None, form, SCORES).norms for v in (VALUES, LEVELS))
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
