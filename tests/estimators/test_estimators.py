"""What holds for every estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from all_estimators import ALL, PURSUITS, RANK_ONLY, SEARCHES, id_of, made
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import rankpursuit
from rankpursuit import (
    RLS,
    CombinedRankingRegressionPursuit,
    GrownDictionary,
    KernelMatchingPursuit,
    PathCV,
    RankingPursuit,
    RankingPursuitCV,
    RankRLS,
    RankSVM,
    SemiSupervisedRankingPursuit,
    SparseRankRLS,
)


@pytest.mark.parametrize("estimator", RANK_ONLY, ids=id_of)
def test_scores_of_a_group_may_be_shifted_for_rank_only_methods(data, estimator):
    X, y, groups = data
    shifted = y + np.array([100.0, -7.0, 0.0, 3.0, 50.0])[groups]
    one = clone(estimator).fit(X, y, groups).predict(X)
    other = clone(estimator).fit(X, shifted, groups).predict(X)
    np.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-8)


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
    for share, number in [(0.1, 4), (0.04, 2), (0.01, 1)]:
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


@pytest.mark.parametrize("estimator", PURSUITS, ids=id_of)
def test_a_penalty_by_an_asymmetric_kernel_is_refused(data, estimator):
    _, y, groups = data
    kernel = np.random.default_rng(0).normal(size=(40, 40))
    model = clone(estimator).set_params(kernel="precomputed", ridge=1.0)
    with pytest.raises(ValueError, match="kernel must be symmetric"):
        model.fit(kernel, y, groups)


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


def test_every_public_name_is_listed_for_completion():
    assert set(rankpursuit.__all__) <= set(dir(rankpursuit))
    assert not {"Any", "annotations", "TYPE_CHECKING"} & set(dir(rankpursuit))


SETTINGS = {
    "transform_output": ("pandas", "polars"),
    "assume_finite": (True,),
    "enable_metadata_routing": (True,),
    "skip_parameter_validation": (True,),
    "working_memory": (1,),
    "pairwise_dist_chunk_size": (1,),
    "enable_cython_pairwise_dist": (False,),
    "array_api_dispatch": (True,),
}
UNDER_SETTINGS = [
    *ALL,
    *(clone(search).set_params(cv=2) for search in SEARCHES),
    PathCV(RankRLS(kernel="linear"), cv=2),
    RankingPursuit(n_basis=4, dictionary="additive", scale=True),
    RankingPursuitCV(n_basis=3, dictionary=GrownDictionary(2, knots=3), cv=2),
]


@pytest.mark.parametrize("estimator", UNDER_SETTINGS, ids=str)
def test_no_global_setting_of_scikit_learn_changes_a_model(data, estimator, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    X, y, groups = data
    X = pd.DataFrame(X, columns=["a", "b", "c"])
    expected = clone(estimator).fit(X, y, groups)
    for setting in ({name: value} for name, values in SETTINGS.items() for value in values):
        with sklearn.config_context(**setting):
            model = clone(estimator).fit(X, y, groups)
            np.testing.assert_array_equal(model.predict(X), expected.predict(X), str(setting))
            assert model.score(X, y, groups) == expected.score(X, y, groups)
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
    with pytest.warns(UserWarning, match="1 column.*'price'"):
        RankingPursuit(n_basis=5).fit_blocks([(X, y)])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_points", [50, 1000])
def test_heavy_tails_counts_and_flags_are_not_taken_for_codes(n_points):
    rng, shape = np.random.default_rng(0), (n_points, 40)
    prices = rng.lognormal(0.0, 2.0, shape)
    columns = [prices, np.minimum(prices, 10.0), prices * (rng.random(shape) < 0.2)]
    columns += [rng.standard_cauchy(shape), rng.zipf(2.0, shape), np.full(shape, 3.0)]
    columns += [rng.poisson(0.1, shape), rng.negative_binomial(0.1, 0.01, shape)]
    columns += [rng.random(shape) < 0.02, rng.random(shape) < 0.5]
    columns += [(rng.random(shape) < 0.4) * 0.1 + 0.2]
    X = np.hstack(columns).astype(float)
    RankRLS(kernel="linear").fit(X, prices.sum(axis=1))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("cls", [RLS, RankRLS, SparseRankRLS, RankSVM, RankingPursuit])
def test_features_whose_squares_overflow_are_one_clear_error(data, cls, kernel):
    X, y, groups = data
    with pytest.raises(ValueError, match=f"values of the kernel '{kernel}' must be finite"):
        cls(kernel=kernel, gamma=1.0).fit(1e290 * X, y, groups)
