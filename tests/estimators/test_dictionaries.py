"""Dictionaries of functions, by themselves and in the pursuits."""

import numpy as np
import pandas as pd
import pytest
from all_estimators import grouped_data, id_of, made
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

from rankpursuit import (
    RLS,
    CombinedRankingRegressionPursuit,
    FunctionsDisplay,
    GrownDictionary,
    KernelDictionary,
    KernelMatchingPursuit,
    PathCV,
    RankingPursuit,
    RankingPursuitCV,
    RankRLS,
    RankSVM,
    SemiSupervisedRankingPursuit,
    SparseRankRLS,
    load_model,
)
from rankpursuit.estimators.dictionaries import Term
from rankpursuit.metrics import pairwise_accuracy
from rankpursuit.preferences import GroupPreferences

PURSUITS = made("KernelMatchingPursuit", "RankingPursuit", "CombinedRankingRegressionPursuit")
each = pytest.mark.parametrize("estimator", PURSUITS, ids=id_of)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
GROUPS = np.repeat(np.arange(30), 10)
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=300)
DICTIONARIES = [
    GrownDictionary(1),
    GrownDictionary(),
    KernelDictionary(n_points=20, random_state=0),
]


class Squares:
    """The least that a dictionary has to be: the square of each feature."""

    def fit(self, X):
        self.terms = [Term("square", (j,), (0.0,), (np.nan,)) for j in range(X.shape[1])]
        return self

    def columns(self, X, which):
        return np.square(X[:, which])

    terms = ()


class Fixed(GrownDictionary):
    """Functions placed once and for all, so that folds and repeated rows have the same."""

    def fit(self, _):
        return super().fit(X)


@pytest.mark.parametrize("dictionary", DICTIONARIES, ids=id_of)
def test_some_columns_are_those_of_all(dictionary):
    fitted = clone(dictionary).fit(X)
    columns = fitted.columns(X, np.arange(len(fitted.terms)))
    some = np.random.default_rng(1).permutation(len(fitted.terms))[:12]
    np.testing.assert_allclose(fitted.columns(X, some), columns[:, some])
    assert np.isfinite(columns).all()


def test_products_are_those_of_the_functions_they_describe():
    table = np.column_stack([X, X[:, 0] > 0.5])
    fitted = GrownDictionary(steps=3, knots=0, factor_knots=1).fit(table)
    growth, terms = fitted.growth, fitted.terms
    names = [(term.kind, *term.features) for term in terms]
    rank, bump, step, level = (
        names.index(n) for n in [("rank", 0), ("bump", 1), ("above", 2), ("level", 3)]
    )
    n, bump_values = len(terms), fitted.columns(table, [bump])[:, 0]
    numbers = growth.encode(np.array([[rank, step + n, level], [rank, bump + 2 * n, level + n]]))
    first, second = fitted.describe(numbers)
    assert first.kind == "rank x at most x level"
    assert second.kind == "rank x centred bump x level"
    assert (first.features, first.centres[2]) == ((0, 2, 3), 1.0)
    assert (second.features, second.centres[2]) == ((0, 1, 3), 0.0)
    ranks, low = fitted.columns(table, [rank])[:, 0], table[:, 2] <= first.centres[1]
    expected = [
        ranks * low * table[:, 3],
        ranks * (1 - table[:, 3]) * (bump_values - bump_values.mean()),
    ]
    np.testing.assert_allclose(fitted.columns(table, numbers).T, expected, atol=1e-12)


@given(st.lists(st.integers(-50, 50), min_size=12, max_size=40), st.sampled_from([np.exp, np.cbrt]))
@settings(max_examples=40, deadline=None)
def test_functions_do_not_depend_on_the_units_of_a_feature(values, monotone):
    column = np.array(values)[:, None] / 10.0
    plain, changed = (GrownDictionary(steps=0).fit(c) for c in (column, monotone(column)))
    which = np.arange(len(plain.terms))
    assert len(changed.terms) == len(which)
    np.testing.assert_allclose(
        changed.columns(monotone(column), which), plain.columns(column, which), atol=1e-8
    )


def test_functions_are_placed_by_the_data_and_constant_outside():
    fitted = GrownDictionary(steps=5).fit(X)
    for term in fitted.terms[:-1]:
        (feature,), (centre,) = term.features, term.centres
        if term.kind == "bump":
            assert np.isclose(X[:, feature], centre).any()
        if term.kind == "above":
            assert 0.1 < np.mean(X[:, feature] > centre) < 0.9
    assert sum(term.kind == "above" for term in fitted.terms) == 3 * 5
    far = np.array([[1e6, -1e6, 0.0]])
    low_and_high = np.array([[X[:, 0].max(), X[:, 1].min(), 0.0]])
    which = np.arange(len(fitted.terms))
    np.testing.assert_allclose(fitted.columns(far, which), fitted.columns(low_and_high, which))


@pytest.mark.parametrize(("n_features", "steps"), [(3, 31), (40, 15), (70, 7)])
def test_more_features_have_fewer_steps(n_features, steps):
    table = np.random.default_rng(0).normal(size=(200, n_features))
    kinds = [term.kind for term in GrownDictionary().fit(table).terms]
    assert kinds.count("above") == n_features * steps


def test_two_values_make_one_function_and_one_value_none():
    table = np.column_stack([X[:, 0] > 0, np.full(300, 7.0), X[:, 1]]).astype(float)
    terms = GrownDictionary().fit(table).terms
    assert [(term.kind, term.centres) for term in terms if term.features == (0,)] == [
        ("level", (1.0,))
    ]
    assert not any(term.features == (1,) for term in terms)
    scores = table[:, 0] + X[:, 1]
    assert RankingPursuit(3, dictionary="pairs").fit(table, scores).score(table, scores) > 0.95


def test_levels_that_exclude_each_other_are_not_multiplied():
    levels = np.eye(4)[RNG.integers(0, 4, size=300)]
    scores = levels @ [0.0, 1.0, 3.0, 4.0] + 0.1 * RNG.normal(size=300)
    model = RankingPursuit(20, dictionary="grown", ridge=0.0)
    with pytest.warns(ConvergenceWarning, match="stopped at 3 of 20"):
        model.fit(levels, scores, GROUPS)
    assert model.summary()["kind"].tolist() == ["level"] * 3


def test_too_many_factors_of_products_are_reduced_to_ranks_and_then_to_none(monkeypatch):
    for most, n_factors in ((12, 12), (11, 3), (2, 0)):
        monkeypatch.setattr("rankpursuit.estimators.dictionaries._MAX_FACTORS", most)
        assert GrownDictionary().fit(X).growth.n_factors == n_factors


def test_a_path_of_functions_ends_where_chance_would_gain_as_much():
    noise = np.random.default_rng(4).normal(size=300)
    assert len(RankingPursuit(dictionary="grown").fit(X, noise, GROUPS).basis_) <= 2
    assert len(RankingPursuit(10, dictionary="grown").fit(X, noise, GROUPS).basis_) == 10


@each
@pytest.mark.parametrize("dictionary", [*DICTIONARIES, Squares()], ids=id_of)
def test_predictions_are_sums_of_functions(estimator, dictionary):
    model = clone(estimator).set_params(n_basis=8, dictionary=dictionary).fit(X, Y, GROUPS)
    values = model.dictionary_.columns(X, model.basis_)
    np.testing.assert_allclose(model.predict(X), values @ model.coef_)
    *_, last = model.staged_predict(X)
    np.testing.assert_allclose(last, model.predict(X))
    assert (np.diff(model.cost_) <= 1e-9 * model.cost_[0]).all()
    assert model.X_basis_ is None


@each
def test_products_find_what_kernels_and_single_features_miss(estimator):
    wide = np.column_stack([X, np.random.default_rng(3).normal(size=(300, 12))])
    found = {
        name: clone(estimator)
        .set_params(n_basis=20, dictionary=name, ridge=0.01, scale=True)
        .fit(wide[:200], Y[:200], GROUPS[:200])
        .predict(wide[200:])
        for name in ("kernel", "additive", "pairs")
    }
    accuracy = {name: pairwise_accuracy(Y[200:], f, GROUPS[200:]) for name, f in found.items()}
    assert accuracy["pairs"] > 0.85 > max(accuracy["kernel"], accuracy["additive"])


def test_a_regression_has_a_constant():
    model = KernelMatchingPursuit(1, dictionary="additive", ridge=0.0).fit(X, 100.0 + 0.01 * Y)
    assert model.dictionary_.terms[model.basis_[0]].kind == "constant"
    assert model.coef_[0] == pytest.approx(100.0, abs=0.1)


def test_scores_of_folds_are_those_of_plain_estimators():
    parameters = {"dictionary": Fixed(), "scale": False}
    search = RankingPursuitCV(4, ridges=[0.1, 1.0], cv=3, **parameters).fit(X, Y, GROUPS)
    for place, (train, test) in enumerate(GroupKFold(3).split(X, Y, GROUPS)):
        scores = []
        for ridge in (0.1, 1.0):
            model = RankingPursuit(4, ridge=ridge, **parameters)
            staged = model.fit(X[train], Y[train], GROUPS[train]).staged_predict(X[test])
            scores += [pairwise_accuracy(Y[test], values, GROUPS[test]) for values in staged]
        np.testing.assert_allclose(search.cv_results_[f"split{place}_test_score"], scores)


def test_auto_is_a_kernel_only_if_that_is_better_by_a_standard_error():
    search, table = RankingPursuitCV(6, ridges=[0.1], cv=3), {}
    model = clone(search).fit(X, Y, GROUPS)
    assert set(model.cv_results_["param_dictionary"]) == {"grown", "kernel"}
    assert model.best_params_["dictionary"] == "grown"
    for leads, chosen in (((0.1, 0.0, 0.0), 0), ((0.1, 0.05, 0.05), 1), ((-0.1, 0.0, 0.0), 0)):
        table = {
            f"split{fold}_test_score": np.array([0.5, 0.5 + lead])
            for fold, lead in enumerate(leads)
        }
        mean = np.mean(list(table.values()), axis=0)
        table |= {"mean_test_score": mean, "standard_error": np.zeros(2)}
        table["param_dictionary"] = np.array(["grown", "kernel"])
        assert search._choose_row(table) == chosen


def test_three_fits_are_one_model():
    models = [RankingPursuitCV(4, ridges=[0.1], cv=2, n_candidates=50).fit(X, Y) for _ in range(3)]
    assert len({str(model.predict(X).tolist()) for model in models}) == 1


@pytest.mark.parametrize("dictionary", ["grown", "kernel"])
def test_the_average_is_the_mean_of_the_models_of_the_folds(dictionary):
    search = RankingPursuitCV(6, dictionary=dictionary, cv=3, scale=False).fit(X, Y, GROUPS)
    chosen = clone(search).set_params(average=True).fit(X, Y, GROUPS)
    assert chosen.best_params_ == search.best_params_
    plain = RankingPursuit(dictionary=Fixed()) if dictionary == "grown" else RankingPursuit()
    plain.set_params(**chosen.best_params_)
    folds = [
        plain.fit(X[a], Y[a], GROUPS[a]).predict(X) for a, _ in GroupKFold(3).split(X, Y, GROUPS)
    ]
    np.testing.assert_allclose(chosen.predict(X), np.mean(folds, axis=0), atol=1e-9)
    *_, last = chosen.staged_predict(X)
    np.testing.assert_allclose(last, chosen.predict(X))
    centred = GroupPreferences(GROUPS, "equal").root(Y - last)
    assert chosen.best_estimator_.cost_[-1] == pytest.approx(centred @ centred)


def test_auto_is_the_kernel_that_is_set():
    assert "dictionary" not in RankingPursuitCV(3, gammas=[0.1], cv=3).fit(X, Y).best_params_


def test_features_whose_level_differs_between_groups_are_learned_from_by_every_ranker():
    rng = np.random.default_rng(1)
    levels = X + 100.0 * rng.normal(size=(30, 3))[GROUPS]
    y = X[:, 0] + 10.0 * rng.normal(size=30)[GROUPS]
    expected = RankingPursuit(15, dictionary="additive").fit(levels, y, GROUPS)
    assert expected.score(levels, y, GROUPS) > 0.85
    blend = CombinedRankingRegressionPursuit(15, beta=0.0, dictionary="additive")
    np.testing.assert_allclose(
        blend.fit(levels, y, GROUPS).predict(levels), expected.predict(levels)
    )
    pairs = GroupPreferences(GROUPS).pairs()
    pairs = np.where((y[pairs[:, 0]] < y[pairs[:, 1]])[:, None], pairs[:, ::-1], pairs)
    model = RankingPursuit(15, dictionary="additive")
    for scores in (y, None):
        assert model.fit(levels, scores, pairs=pairs).score(levels, y, GROUPS) > 0.85


UNEVEN = np.repeat(np.arange(30), np.tile([2, 18], 15))
SHIFTED = X * (1.0 + UNEVEN[:, None]) + 100.0 * UNEVEN[:, None]
INSIDE = np.concatenate([StandardScaler().fit_transform(X[g == UNEVEN]) for g in range(30)])


@each
def test_features_scaled_in_groups(estimator):
    expected = clone(estimator).fit(INSIDE, Y, UNEVEN)
    model = clone(estimator).set_params(scale="group").fit(SHIFTED, Y, UNEVEN)
    found = model.predict(SHIFTED, UNEVEN)
    np.testing.assert_allclose(found, expected.predict(INSIDE), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.predict(SHIFTED[2:20], UNEVEN[2:20]), found[2:20])
    if id_of(model) != "KernelMatchingPursuit":
        assert model.score(SHIFTED, Y, UNEVEN) == pairwise_accuracy(Y, found, UNEVEN)


@pytest.mark.parametrize(
    "estimator",
    [*PURSUITS, RankingPursuitCV(5, ridges=[1.0], cv=3, random_state=0)],
    ids=id_of,
)
def test_scaling_in_groups_requires_them_for_every_prediction(estimator):
    model = clone(estimator).set_params(scale="group").fit(SHIFTED, Y, UNEVEN)
    message = "was fitted to 30 groups with scale='group' .* pass groups= to predict too"
    for predict in (model.predict, model.explain, lambda X: list(model.staged_predict(X))):
        with pytest.raises(ValueError, match=message):
            predict(SHIFTED)
    with pytest.raises(ValueError, match=message):
        model.score(SHIFTED, Y)
    with pytest.raises(ValueError, match=message):
        FunctionsDisplay.from_estimator(model, SHIFTED)
    assert len(model.predict(SHIFTED[:5], np.zeros(5))) == 5
    model.fit(SHIFTED, Y, np.zeros(len(Y)))  # one group
    assert np.isfinite(model.predict(SHIFTED)).all()
    with pytest.raises(ValueError, match=r"needs the groups of the training points; pass groups="):
        model.fit(SHIFTED, Y)


def test_what_cannot_be_scaled_in_groups():
    kernel = X @ X.T
    for model in (RankingPursuit(scale="group"), PathCV(RankRLS(), scale="group")):
        name = "kernel" if isinstance(model, RankingPursuit) else "estimator__kernel"
        with pytest.raises(ValueError, match="'group' cannot be used with kernel='precomputed'"):
            model.set_params(**{name: "precomputed"}).fit(kernel, Y, GROUPS)
    with pytest.raises(ValueError, match="scale='group' needs groups, which pairs replace"):
        RankingPursuit(scale="group").fit(X, pairs=[(0, 1)])


@pytest.mark.parametrize(
    "model",
    [
        RankingPursuit(5, ridge=0.1, kernel="precomputed"),
        PathCV(RankRLS(kernel="precomputed"), cv=3, scale=False),
    ],
    ids=id_of,
)
def test_a_precomputed_kernel_is_never_scaled(model):
    kernel = np.exp(-0.1 * np.square(X[:, None] - X).sum(axis=2)) + GROUPS
    kernel += kernel.T
    plain = clone(model).fit(kernel, Y, GROUPS)
    scaled = clone(plain).set_params(scale=True).fit(kernel, Y, GROUPS)
    np.testing.assert_array_equal(scaled.predict(kernel), plain.predict(kernel))


def test_auto_leaves_out_dictionaries_without_a_usable_function():
    rng = np.random.default_rng(0)
    binary = (rng.permuted(np.tile(np.arange(400), (80, 1)), axis=1) < 6).T.astype(float)
    y = binary @ rng.normal(size=80) + 0.1 * rng.normal(size=400)
    search = RankingPursuitCV(10, ridges=[0.1, 1.0], cv=3, random_state=0).fit(binary, y)
    assert set(search.cv_results_["param_dictionary"]) == {"kernel"}
    alone = clone(search).set_params(dictionary="kernel").fit(binary, y)
    np.testing.assert_array_equal(search.predict(binary), alone.predict(binary))
    with pytest.raises(ValueError, match="dictionary has no usable function"):
        clone(search).set_params(dictionary="additive").fit(binary, y)


def test_points_of_the_basis_are_in_original_units():
    search = RankingPursuitCV(4, dictionary="kernel", cv=3).fit(10.0 + 5.0 * X, Y, GROUPS)
    np.testing.assert_allclose(search.X_basis_, 10.0 + 5.0 * X[search.basis_])
    search = PathCV(SemiSupervisedRankingPursuit(2), cv=2).fit(10.0 + 5.0 * X, Y, GROUPS)
    for basis, points in zip(search.basis_, search.X_basis_, strict=True):
        np.testing.assert_allclose(points, 10.0 + 5.0 * X[basis])


@pytest.mark.parametrize("cls", [RLS, RankRLS, SparseRankRLS, RankSVM])
def test_weights_of_features_are_in_original_units(cls):
    table = X * [1.0, 100.0, 1e-3]
    model = PathCV(cls(kernel="linear"), cv=3).fit(table, Y, GROUPS)
    f = model.predict(table)
    np.testing.assert_allclose(f[1:] - f[:-1], (table[1:] - table[:-1]) @ model.coef_, atol=1e-10)


@each
def test_tol_ends_the_path(estimator):
    whole = clone(estimator).set_params(n_basis=10, dictionary="additive").fit(X, Y, GROUPS)
    tol = whole.cost_[4]
    model = clone(whole).set_params(tol=tol).fit(X, Y, GROUPS)
    np.testing.assert_array_equal(model.cost_, whole.cost_[:5])
    np.testing.assert_array_equal(model.coef_, whole.staged_coef_[3, :4])
    nothing = clone(whole).set_params(tol=2.0 * whole.cost_[0]).fit(X, Y, GROUPS)
    np.testing.assert_array_equal(nothing.predict(X), 0.0)


def test_single_precision_is_kept():
    model = RankingPursuit(5, dictionary="pairs", ridge=0.1)
    exact, single = (clone(model).fit(X.astype(kind), Y, GROUPS) for kind in ("f8", "f4"))
    assert single.predict(X.astype("f4")).dtype == np.float32
    np.testing.assert_allclose(single.predict(X), exact.predict(X), atol=1e-3)


def test_a_model_is_saved_with_its_functions(tmp_path):
    model = RankingPursuit(5, dictionary="grown").fit(X, Y, GROUPS)
    model.save(tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"dictionary": "splines"}, "dictionary must be one of .*'additive', 'pairs', 'grown' or"),
        ({"dictionary": 3}, "an object with fit, columns and terms"),
        ({"dictionary": "pairs", "kernel": "precomputed"}, "use dictionary='kernel'"),
        (
            {"dictionary": "pairs", "fitting": "backfit"},
            "'backfit' is for kernels; .* leave it out",
        ),
        ({"scale": "query"}, "scale must be True or False or 'group'"),
        ({"tol": -1.0}, "tol must be a number of at least 0 or None"),
        (
            {"dictionary": GrownDictionary(4)},
            "degree of GrownDictionary must be an integer from 1 to 3",
        ),
        (
            {"dictionary": GrownDictionary(handicap=-1)},
            "handicap of GrownDictionary must be a number",
        ),
        ({"dictionary": GrownDictionary(knots=-1)}, "knots of GrownDictionary must be an"),
        ({"dictionary": GrownDictionary(widths=[])}, "widths of GrownDictionary must be a list"),
        ({"dictionary": KernelDictionary(n_points=0)}, "n_points of KernelDictionary must be"),
    ],
)
def test_parameters_that_cannot_be_used(parameters, message):
    square = X[:3] @ X[:3].T
    with pytest.raises(ValueError, match=message):
        RankingPursuit(**parameters).fit(square, Y[:3])


@pytest.mark.parametrize("dictionary", DICTIONARIES, ids=id_of)
def test_a_dictionary_alone_takes_tables_and_refuses_what_does_not_fit(dictionary):
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    fitted, which = clone(dictionary).fit(table), np.arange(5)
    expected = clone(dictionary).fit(X).columns(X, which)
    np.testing.assert_allclose(fitted.columns(table, which), expected)
    with pytest.raises(ValueError, match="Input X contains infinity"):
        clone(dictionary).fit(table.assign(b=np.inf))
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.columns(table.rename(columns={"a": "d"}), which)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3"):
        clone(dictionary).fit(X).columns(X[:, :2], which)


def test_a_dictionary_without_a_usable_function_is_refused():
    by_group = np.column_stack([GROUPS, GROUPS**2]).astype(float)
    with pytest.raises(ValueError, match="dictionary has no usable function"):
        RankingPursuit(dictionary="pairs").fit(by_group, Y, GROUPS)
    rare = (np.arange(300) % 100 == 0).astype(float)[:, None]
    with pytest.raises(ValueError, match="dictionary has no usable function"):
        RankingPursuitCV(dictionary="additive").fit(rare, Y, GROUPS)


def test_more_functions_than_memory_has_room_for_are_refused(monkeypatch):
    monkeypatch.setattr("rankpursuit.estimators.dictionaries._memory", lambda: 1e5)
    message = (
        r"of [\d,]+ functions at 300 rows need 0\.\d GB, and .* has 0\.0 GB: pass a dictionary"
    )
    with pytest.raises(ValueError, match=message):
        RankingPursuit(dictionary="grown").fit(X, Y, GROUPS)


def test_columns_of_a_bad_dictionary_are_refused():
    class Short(Squares):
        def columns(self, X, which):
            return X[:, :1]

    class Endless(Squares):
        def columns(self, X, which):
            return np.full((len(X), len(which)), np.inf)

    with pytest.raises(ValueError, match=r"of the shape \(300, 3\); got \(300, 1\)"):
        RankingPursuit(dictionary=Short()).fit(X, Y)
    with pytest.raises(ValueError, match="finite"):
        RankingPursuit(dictionary=Endless()).fit(X, Y)


def test_blocks_cannot_be_learned_from():
    model = RankingPursuit(dictionary="pairs")
    assert not hasattr(model, "partial_fit")
    with pytest.raises(ValueError, match="requires dictionary='kernel' and scale=False"):
        model.fit_blocks([(X, Y, GROUPS)])


def test_small_data_are_learned_from():
    points, scores, groups = grouped_data()
    model = RankingPursuitCV(dictionary="pairs", cv=3, n_basis=5).fit(points, scores, groups)
    assert model.score(points, scores, groups) > 0.7


@pytest.mark.parametrize("dictionary", ["additive", "pairs"])
def test_functions_stay_usable_if_the_level_of_a_feature_differs_between_groups(dictionary):
    shifted = X + 5.0 * GROUPS[:, None]
    model = RankingPursuit(dictionary=dictionary, scale=True, n_basis=1)
    assert model.fit(shifted, X[:, 1], GROUPS).summary()["function"].tolist() == ["rank of x1"]
