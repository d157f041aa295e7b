"""What holds for every estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from all_estimators import ALL, PURSUITS, RANK_ONLY, SEARCHES, id_of, made
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankpursuit
from rankpursuit import (
    RLS,
    CombinedRankingRegressionPursuit,
    KernelDictionary,
    KernelMatchingPursuit,
    PairDictionary,
    PathCV,
    RankingPursuit,
    RankingPursuitCV,
    RankRLS,
    RankSVM,
    SemiSupervisedRankingPursuit,
    SparseRankRLS,
    group_scorer,
)


def test_only_a_family_is_shared_not_a_method():
    for cls in map(type, ALL):
        assert [other for other in map(type, ALL) if issubclass(other, cls)] == [cls]


def test_rls_is_kernel_ridge_regression(data):
    X, y, _ = data
    ours = RLS(alpha=0.3, gamma=0.2).fit(X, y).predict(X)
    theirs = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.2).fit(X, y).predict(X)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize("estimator", RANK_ONLY, ids=id_of)
def test_scores_of_a_group_may_be_shifted_for_rank_only_methods(data, estimator):
    X, y, groups = data
    shifted = y + np.array([100.0, -7.0, 0.0, 3.0, 50.0])[groups]
    one = clone(estimator).fit(X, y, groups).predict(X)
    other = clone(estimator).fit(X, shifted, groups).predict(X)
    np.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("estimator", RANK_ONLY, ids=id_of)
def test_groups_change_what_a_ranker_learns(data, estimator):
    X, y, groups = data
    within = clone(estimator).fit(X, y, groups)
    across = clone(estimator).fit(X, y)
    assert within.score(X, y, groups) > 0.75
    with pytest.warns(UserWarning, match="fitted without groups"):
        assert within.score(X, y, groups) > across.score(X, y, groups)


def test_score_is_the_share_of_pairs_in_the_right_order(data):
    X, y, groups = data
    model = RankRLS().fit(X, y, groups)
    f = model.predict(X)
    right = [
        (y[i] > y[j]) == (f[i] > f[j])
        for i in range(40)
        for j in range(i)
        if groups[i] == groups[j]
    ]
    assert model.score(X, y, groups) == pytest.approx(np.mean(right))


@pytest.mark.parametrize("estimator", PURSUITS, ids=id_of)
@pytest.mark.parametrize("fitting", ["basic", "backfit", "prefit"])
def test_staged_predictions_are_those_of_smaller_models(data, estimator, fitting):
    X, y, groups = data
    model = clone(estimator).set_params(n_basis=6, fitting=fitting).fit(X, y, groups)
    staged = list(model.staged_predict(X))
    assert len(staged) == 6
    np.testing.assert_allclose(staged[-1], model.predict(X))
    for size in (1, 4):
        small = clone(model).set_params(n_basis=size).fit(X, y, groups)
        np.testing.assert_array_equal(small.basis_, model.basis_[:size])
        np.testing.assert_allclose(staged[size - 1], small.predict(X), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("estimator", PURSUITS, ids=id_of)
def test_share_of_the_points_is_a_number_of_basis_functions(data, estimator):
    X, y, groups = data
    for share, number in [(0.1, 4), (0.01, 1), (0.5, 20)]:
        model = clone(estimator).set_params(n_basis=share).fit(X, y, groups)
        assert len(model.basis_) == len(set(model.basis_)) == number


def test_the_blend_has_both_pursuits_as_its_ends(data):
    X, y, groups = data
    blend = CombinedRankingRegressionPursuit
    ends = [(1.0, KernelMatchingPursuit(n_basis=7)), (0.0, RankingPursuit(n_basis=7))]
    for beta, end in ends:
        ours = blend(n_basis=7, beta=beta).fit(X, y, groups)
        end.fit(X, y, groups)
        np.testing.assert_array_equal(ours.basis_, end.basis_)
        np.testing.assert_allclose(ours.coef_, end.coef_, rtol=1e-9)


def test_full_ridge_pursuit_is_rank_rls(data):
    X, y, groups = data
    pursuit = RankingPursuit(n_basis=1.0, fitting="backfit", ridge=0.7, gamma=1.0)
    pursuit.fit(X, y, groups)
    exact = RankRLS(alpha=0.7, gamma=1.0).fit(X, y, groups)
    assert len(pursuit.basis_) == 40
    np.testing.assert_allclose(pursuit.predict(X), exact.predict(X), rtol=1e-6, atol=1e-8)


def test_sparse_rank_rls_on_all_points_is_rank_rls(data):
    X, y, groups = data
    sparse = SparseRankRLS(n_basis=1.0, alpha=0.7, gamma=1.0).fit(X, y, groups)
    exact = RankRLS(alpha=0.7, gamma=1.0).fit(X, y, groups)
    np.testing.assert_allclose(sparse.predict(X), exact.predict(X), rtol=1e-6, atol=1e-8)


def test_candidates_bound_the_basis(data):
    X, y, groups = data
    model = RankingPursuit(n_basis=5, n_candidates=8, random_state=3).fit(X, y, groups)
    again = RankingPursuit(n_basis=5, n_candidates=8, random_state=3).fit(X, y, groups)
    other = RankingPursuit(n_basis=5, n_candidates=8, random_state=4).fit(X, y, groups)
    np.testing.assert_array_equal(model.basis_, again.basis_)
    assert set(model.basis_) != set(other.basis_)


@pytest.mark.parametrize("estimator", [*PURSUITS, *made("SemiSupervisedRankingPursuit")], ids=id_of)
def test_a_dictionary_that_runs_out_warns_and_leaves_a_usable_model(estimator):
    X = np.repeat([[0.0], [1.0], [2.0]], 4, axis=0)
    y = np.repeat([1.0, 3.0, 2.0], 4)
    model = clone(estimator).set_params(n_basis=6, fitting="backfit", ridge=0.0, gamma=1.0)
    with pytest.warns(ConvergenceWarning, match="stopped at . of 6"):
        model.fit(X, y)
    assert np.all(np.isfinite(model.predict(X)))
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("estimator", RANK_ONLY, ids=id_of)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_equal_scores_give_a_constant_prediction(estimator):
    X = np.random.default_rng(0).normal(size=(8, 2))
    prediction = clone(estimator).fit(X, np.full(8, 2.5)).predict(X)
    np.testing.assert_allclose(prediction, 0.0, atol=1e-12)


@pytest.mark.parametrize("estimator", ALL, ids=id_of)
def test_works_in_a_pipeline(data, estimator):
    X, y, groups = data
    model = make_pipeline(StandardScaler(), clone(estimator))
    step = model.steps[-1][0]
    model.fit(X, y, **{f"{step}__groups": groups})
    scaled = StandardScaler().fit_transform(X)
    alone = clone(estimator).fit(scaled, y, groups).predict(scaled)
    np.testing.assert_allclose(model.predict(X), alone)


@pytest.mark.parametrize("estimator", RANK_ONLY, ids=id_of)
def test_grid_search_with_the_group_scorer_compares_inside_groups_only(data, estimator):
    X, y, groups = data
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            clone(estimator).set_fit_request(groups=True),
            {"gamma": [1e-3, 0.3]},
            scoring=group_scorer(),
            cv=GroupKFold(5),
        ).fit(X, y, groups=groups)
    scores = []
    for train, test in GroupKFold(5).split(X, y, groups):
        model = clone(estimator).set_params(gamma=0.3).fit(X[train], y[train], groups[train])
        scores.append(model.score(X[test], y[test], groups[test]))
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(np.mean(scores))


@pytest.mark.parametrize("estimator", ALL, ids=id_of)
def test_bad_data_is_refused_by_name(data, estimator):
    X, y, groups = data
    model = clone(estimator)
    spoilt = X.copy()
    spoilt[3, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        model.fit(spoilt, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:-1])
    with pytest.raises(ValueError, match="groups must have one label for each of the 40"):
        model.fit(X, y, groups[:-1])
    with pytest.raises(ValueError, match="X must be square with kernel='precomputed'"):
        clone(estimator).set_params(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="kernel must return one value"):
        clone(estimator).set_params(kernel=lambda X, Y: np.ones(3)).fit(X, y)


@pytest.mark.parametrize(
    "estimator", [*RANK_ONLY, *made("CombinedRankingRegressionPursuit")], ids=id_of
)
def test_groups_without_a_pair_are_refused(data, estimator):
    X, y, _ = data
    with pytest.raises(ValueError, match="no comparable pairs"):
        clone(estimator).fit(X, y, np.arange(40))


@pytest.mark.parametrize("estimator", ALL, ids=id_of)
def test_one_row_has_the_prediction_that_it_has_among_others(data, estimator):
    X, y, groups = data
    model = clone(estimator).fit(X, y, groups)
    together = model.predict(X)
    alone = np.concatenate([model.predict(X[i : i + 1]) for i in range(40)])
    coefficients = model.coef_ if isinstance(model.coef_, list) else [model.coef_]
    terms = sum(np.abs(part).sum() for part in coefficients)  # no Gaussian is above 1
    np.testing.assert_allclose(alone, together, rtol=0.0, atol=1e-12 * terms)


@pytest.mark.parametrize("estimator", ALL, ids=id_of)
@pytest.mark.parametrize("fitting", ["basic", "backfit"])
def test_a_model_that_was_saved_predicts_the_same_to_the_last_bit(data, estimator, fitting):
    X, y, groups = data
    model = clone(estimator)
    if "fitting" in model.get_params():
        model.set_params(fitting=fitting)
    for points in (X, np.asfortranarray(X)):
        model.fit(points, y, groups)
        loaded = pickle.loads(pickle.dumps(model))
        assert model.predict(X).tobytes() == loaded.predict(X).tobytes()
        for name in ("coef_", "staged_coef_", "cost_", "basis_", "X_basis_"):
            value = getattr(model, name, [])
            for part in value if isinstance(value, list) else [value]:
                assert part.flags["C_CONTIGUOUS"], name


@pytest.mark.parametrize("estimator", RANK_ONLY, ids=id_of)
def test_groups_of_one_beside_others_are_passed_over(data, estimator):
    X, y, groups = data
    alone = np.where(np.arange(40) < 5, 100 + np.arange(40), groups)
    assert np.isfinite(clone(estimator).fit(X, y, alone).predict(X)).all()


@pytest.mark.parametrize("estimator", PURSUITS, ids=id_of)
def test_a_penalty_by_an_asymmetric_kernel_is_refused(data, estimator):
    _, y, groups = data
    kernel = np.random.default_rng(0).normal(size=(40, 40))
    model = clone(estimator).set_params(kernel="precomputed", ridge=1.0)
    with pytest.raises(ValueError, match="kernel must be symmetric"):
        model.fit(kernel, y, groups)


def test_kernels_in_single_precision_are_symmetric_enough(data):
    X, y, groups = data
    kernel = (X @ X.T).astype(np.float32)
    kernel[3, 5] *= np.float32(1.0 + 1e-6)
    RankRLS(kernel="precomputed").fit(kernel, y, groups)


@pytest.mark.parametrize("estimator", PURSUITS, ids=id_of)
def test_repeated_choices_are_kept_once_each(data, estimator):
    X, y, groups = data
    model = clone(estimator).set_params(
        n_basis=200, fitting="basic", repeat=True, ridge=0.0, n_candidates=12, random_state=0
    )
    model.fit(X, y, groups)
    assert len(model.staged_coef_) == 200
    assert len(set(model.basis_)) == len(model.basis_) <= 12
    assert model.staged_coef_.shape == (200, len(model.basis_))
    staged = list(model.staged_predict(X))
    np.testing.assert_array_equal(staged[-1], model.predict(X))
    for steps in (1, 7, 60):
        short = clone(model).set_params(n_basis=steps).fit(X, y, groups)
        np.testing.assert_allclose(short.predict(X), staged[steps - 1], atol=1e-12)


@pytest.mark.parametrize("estimator", [*ALL, *SEARCHES], ids=id_of)
def test_values_that_cannot_be_computed_with_are_one_clear_error(data, estimator):
    X, y, groups = data
    for factor in (1e40, 1e-40):
        with pytest.raises(ValueError, match=r"y must be finite, with a largest absolute value of"):
            clone(estimator).fit(X, factor * y, groups)
    with pytest.raises(ValueError, match="y contains infinity"):
        clone(estimator).fit(X, np.where(groups == 1, np.inf, y), groups)
    nested = "estimator__" if id_of(estimator) == "PathCV" else ""
    model = clone(estimator).set_params(**{f"{nested}kernel": "precomputed"})
    for factor in (1e40, 1e-40):
        with pytest.raises(ValueError, match="values of the kernel 'precomputed' must be finite"):
            model.fit(factor * (X @ X.T), y, groups)
    if "gamma" in model.get_params():
        with pytest.raises(ValueError, match="gamma='scale' is out of range"):
            clone(estimator).fit(1e200 * X, y, groups)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("cls", [RLS, RankRLS, SparseRankRLS, RankSVM, RankingPursuit])
def test_features_whose_squares_overflow_are_one_clear_error(data, cls, kernel):
    X, y, groups = data
    with pytest.raises(ValueError, match=f"values of the kernel '{kernel}' must be finite"):
        cls(kernel=kernel, gamma=1.0).fit(1e290 * X, y, groups)


def test_every_public_name_is_listed_for_completion():
    assert set(rankpursuit.__all__) <= set(dir(rankpursuit))
    assert not {"Any", "annotations", "TYPE_CHECKING"} & set(dir(rankpursuit))


def test_checks_and_expansions_are_not_public():
    for model in ALL:
        assert not {"constraints", "expansions"} & set(dir(model))


SETTINGS = [
    {"transform_output": "pandas"},
    {"transform_output": "polars"},
    {"assume_finite": True},
    {"enable_metadata_routing": True},
    {"skip_parameter_validation": True},
    {"print_changed_only": False},
    {"display": "text"},
    {"working_memory": 1},
    {"pairwise_dist_chunk_size": 1},
    {"enable_cython_pairwise_dist": False},
    {"array_api_dispatch": True},
]
UNDER_SETTINGS = [
    *ALL,
    *(clone(search).set_params(cv=2) for search in SEARCHES),
    PathCV(RankRLS(kernel="linear"), cv=2),
    RankingPursuit(n_basis=4, dictionary="additive", scale=True),
    RankingPursuitCV(n_basis=3, dictionary=PairDictionary(3), cv=2),
]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_no_global_setting_of_scikit_learn_changes_a_model(data, setting, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    X, y, groups = data
    X = pd.DataFrame(X, columns=["a", "b", "c"])
    for estimator in UNDER_SETTINGS:
        expected = clone(estimator).fit(X, y, groups)
        with sklearn.config_context(**setting):
            model = clone(estimator).fit(X, y, groups)
            np.testing.assert_array_equal(model.predict(X), expected.predict(X))
            assert model.score(X, y, groups) == expected.score(X, y, groups)
            assert type(model).__name__ in repr(model)
            if hasattr(model, "explain"):
                pd.testing.assert_frame_equal(model.explain(X[:1]), expected.explain(X[:1]))


SCALED = [
    RankRLS(kernel="linear"),
    RankSVM(),
    PathCV(RankRLS(), cv=2),
    RankingPursuit(n_basis=5, scale=True),
    RankingPursuitCV(n_basis=5, dictionary="kernel", cv=2),
    SemiSupervisedRankingPursuit(n_basis=5, kernel="linear"),
]


@pytest.mark.filterwarnings("error", "ignore:nearly all values of the kernel")
@pytest.mark.parametrize("estimator", SCALED, ids=id_of)
def test_a_code_far_from_the_other_values_of_a_column_is_warned_of_once(estimator):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=["age", "price", "size"])
    y = X["age"] + 0.5 * X["price"]
    clone(estimator).fit(X, y)
    for code in (1e9, -9999.0):
        X.loc[3:6, "price"] = code
        with pytest.warns(UserWarning, match="1 column.*'price' .0.02 of the rows") as warned:
            clone(estimator).fit(X, y)
        assert sum("column(s)" in str(warning.message) for warning in warned) == 1
    for robust in ("additive", "auto"):
        RankingPursuitCV(n_basis=3, dictionary=robust, cv=2).fit(X, y)


def test_blocks_with_far_values_are_warned_of():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 2)), columns=["age", "price"])
    y, model = X["age"], RankingPursuit(n_basis=2, kernel="linear")
    X.loc[3:6, "price"] = 1e9
    with pytest.warns(UserWarning, match=r"1 column\(s\).*'price' .0.02 of the rows"):
        model.fit_blocks([(X, y)], candidates=X)


def test_a_dictionary_of_kernels_warns_of_far_values_too():
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[:4, 1] = 1e9
    with pytest.warns(UserWarning, match=r"1 column\(s\).*: 1 \(0.02 of the rows, such as 1e\+09"):
        KernelDictionary(20).fit(X)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_points", [50, 1000])
def test_heavy_tails_counts_and_flags_are_not_taken_for_codes(n_points):
    rng, shape = np.random.default_rng(0), (n_points, 40)
    prices = rng.lognormal(0.0, 2.0, shape)
    columns = [
        prices,
        prices * (rng.random(shape) < 0.2),
        rng.standard_cauchy(shape),
        rng.poisson(0.1, shape),
        rng.negative_binomial(0.1, 0.01, shape),
        rng.zipf(2.0, shape),
        rng.random(shape) < 0.02,
        rng.random(shape) < 0.5,
        (rng.random(shape) < 0.4) * 0.1 + 0.2,
        np.where(prices > 10.0, 10.0, prices),
        np.full(shape, 3.0),
    ]
    X = np.hstack(columns).astype(float)
    RankRLS(kernel="linear").fit(X, prices.sum(axis=1))
