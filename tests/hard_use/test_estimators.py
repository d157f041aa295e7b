"""What people pass to estimators: shapes, types and containers, points that say nothing."""

import pickle
import resource

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from all_estimators import ALL, PURSUITS, RANK_ONLY, grouped_data, id_of
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning

from rankpursuit import (
    KernelMatchingPursuit,
    RankingPursuit,
    RankRLS,
    SemiSupervisedRankingPursuit,
)
from rankpursuit.estimators import _dealing, _pursuit_base

each = pytest.mark.parametrize("estimator", ALL, ids=id_of)
rankers = pytest.mark.parametrize("estimator", RANK_ONLY, ids=id_of)
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
POINTS = {
    "constant features": np.full((6, 2), 3.0),
    "zeros": np.zeros((6, 2)),
    "equal points": np.repeat([[0.0, 1.0], [2.0, 3.0]], 3, axis=0),
    "two points": np.array([[0.0], [1.0]]),
    "one feature": np.arange(6.0)[:, None],
    "collinear features": np.outer(np.arange(6.0), [1.0, 2.0, 3.0]),
    "nearly equal points": 1.0 + 1e-15 * np.arange(6.0)[:, None],
}


@pytest.fixture
def data():
    return grouped_data()


@each
@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid", "chi2", "cosine"])
@quiet
def test_points_that_say_little_are_fitted(estimator, points, kernel):
    X = POINTS[points]
    y = np.arange(len(X)) % 3.0
    model = clone(estimator).set_params(kernel=kernel)
    if "n_basis" in model.get_params():
        model.set_params(n_basis=100)
    assert np.isfinite(model.fit(X, y).predict(X)).all()


@each
@pytest.mark.parametrize(
    "kind",
    [
        np.asfortranarray,
        lambda X: X.astype(np.float32),
        lambda X: X.astype(object),
        lambda X: X.tolist(),
        lambda X: pd.DataFrame(X),
        lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
        lambda X: X.astype(np.longdouble),
    ],
    ids=["Fortran", "float32", "object", "list", "pandas", "strided", "longdouble"],
)
def test_the_container_of_the_data_does_not_matter(data, estimator, kind):
    X, y, groups = data
    X, y = np.round(X, 2).astype(np.float32).astype(float), np.round(y, 2)
    expected = clone(estimator).fit(X, y, groups).predict(X)
    got = clone(estimator).fit(kind(X), y, groups)
    np.testing.assert_allclose(got.predict(kind(X)), expected, rtol=1e-6, atol=1e-9)


@each
def test_data_that_may_not_be_written_are_fitted_and_stay_as_they_were(data, estimator):
    X, y, groups = data
    kept = X.copy(), y.copy()
    for array in (X, y, groups):
        array.flags.writeable = False
    clone(estimator).fit(X, y, groups).predict(X)
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(y, kept[1])


@each
@quiet
def test_whole_and_boolean_features_are_numbers(data, estimator):
    X, y, groups = data
    for points in (np.round(3 * X).astype(int), X > 0.0):
        got = clone(estimator).fit(points, y, groups).predict(points)
        expected = clone(estimator).fit(points.astype(float), y, groups).predict(points)
        np.testing.assert_array_equal(got, expected)


@each
def test_sparse_and_complex_points_are_refused(data, estimator):
    X, y, groups = data
    with pytest.raises(TypeError, match="Sparse data was passed for X"):
        clone(estimator).fit(sp.csr_array(X), y, groups)
    with pytest.raises(ValueError, match="Complex data not supported"):
        clone(estimator).fit(X + 1j, y, groups)


@each
def test_whole_numbers_too_large_for_a_float_are_refused(data, estimator):
    X, y, groups = data
    with pytest.raises(ValueError, match="X or y contains a whole number too large for a float"):
        clone(estimator).fit(np.full(X.shape, 10**400, dtype=object), y, groups)


@each
def test_scores_may_be_numbers_as_strings_but_not_missing_ones(data, estimator):
    X, y, groups = data
    expected = clone(estimator).fit(X, y, groups).predict(X)
    np.testing.assert_array_equal(
        clone(estimator).fit(X, y.astype(str), groups).predict(X), expected
    )
    with pytest.raises(ValueError, match="y contains infinity"):
        clone(estimator).fit(X, np.where(y > 1.0, "inf", y.astype(str)), groups)
    if id_of(estimator) != "SemiSupervisedRankingPursuit":
        with pytest.raises(ValueError, match="y contains NaN; leave points without a score out"):
            clone(estimator).fit(X, np.where(y > 1.0, "nan", y.astype(str)), groups)


@each
def test_scores_as_a_column_are_taken_with_a_warning(data, estimator):
    X, y, groups = data
    expected = clone(estimator).fit(X, y, groups)
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        model = clone(estimator).fit(X, y[:, None], groups)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


@rankers
def test_a_column_of_scores_is_scored(data, estimator):
    X, y, groups = data
    model = clone(estimator).fit(X, y, groups)
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        assert model.score(X, y[:, None], groups) == model.score(X, y, groups)


@each
@pytest.mark.parametrize(
    "label", [np.nan, None, "a", pd.NA], ids=["nan", "None", "another type", "NA"]
)
def test_groups_with_missing_or_mixed_labels_are_refused(data, estimator, label):
    X, y, groups = data
    spoilt = [label if group == 2 else int(group) for group in groups]
    with pytest.raises(ValueError, match="groups: "):
        clone(estimator).fit(X, y, spoilt)
    with pytest.raises(ValueError, match="groups: "):
        clone(estimator).fit(X, y, np.array(spoilt, dtype=object))


@rankers
def test_score_refuses_missing_labels(data, estimator):
    X, y, groups = data
    model = clone(estimator).fit(X, y, groups)
    with pytest.raises(ValueError, match="groups: the label of point 0 is missing"):
        model.score(X, y, np.full(40, np.nan))
    with pytest.raises(ValueError, match="groups must have one label for each of the 40 samples"):
        model.score(X, y, groups[1:])


@rankers
def test_groups_of_one_beside_others_are_passed_over(data, estimator):
    X, y, groups = data
    alone = np.where(np.arange(40) < 5, 100 + np.arange(40), groups)
    assert np.isfinite(clone(estimator).fit(X, y, alone).predict(X)).all()


@each
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


@each
def test_one_row_has_the_prediction_that_it_has_among_others(data, estimator):
    X, y, groups = data
    model = clone(estimator).fit(X, y, groups)
    together = model.predict(X)
    alone = np.concatenate([model.predict(X[i : i + 1]) for i in range(40)])
    coefficients = model.coef_ if isinstance(model.coef_, list) else [model.coef_]
    terms = sum(np.abs(part).sum() for part in coefficients)  # no Gaussian is above 1
    np.testing.assert_allclose(alone, together, rtol=0.0, atol=1e-12 * terms)


@each
@pytest.mark.parametrize("kind", ["asymmetric", "indefinite", "negative", "zero"])
@quiet
def test_precomputed_kernels_of_any_kind_are_fitted_or_refused(data, estimator, kind):
    _, y, groups = data
    noise = np.random.default_rng(0).normal(size=(40, 40))
    kernel = {
        "asymmetric": noise,
        "indefinite": noise + noise.T,
        "negative": -np.eye(40),
        "zero": np.zeros((40, 40)),
    }[kind]
    model = clone(estimator).set_params(kernel="precomputed")
    takes_columns = hasattr(model, "fitting")
    if takes_columns:
        model.set_params(ridge=0.0)
    if kind == "asymmetric" and not takes_columns:
        with pytest.raises(ValueError, match=r"kernel must be symmetric: .* pursuit without ridge"):
            model.fit(kernel, y, groups)
        return
    assert np.isfinite(model.fit(kernel, y, groups).predict(kernel)).all()


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


@quiet
def test_thousands_of_repeated_choices_take_little_memory(data):
    X, y, groups = data
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = RankingPursuit(n_basis=20_000, fitting="basic", repeat=True, ridge=0.0, gamma=0.01)
    model.fit(X[:30], y[:30], groups[:30])
    assert model.staged_coef_.size <= 20_000 * 30
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes


def test_more_repeated_choices_than_memory_holds_are_refused_before_any(data, monkeypatch):
    X, y, groups = data
    monkeypatch.setattr(_pursuit_base, "pursue", None)
    for cls in (RankingPursuit, KernelMatchingPursuit):
        with pytest.raises(ValueError, match=r"n_basis=10{12} steps with repeat=True, times 40"):
            cls(n_basis=10**12, fitting="basic", repeat=True).fit(X, y, groups)


@pytest.mark.parametrize("views", ["points", "loss", "features"])
@pytest.mark.parametrize("n_views", [100_000, 10**30])
def test_more_views_than_there_is_to_deal_out_are_refused_before_any(data, views, n_views):
    X, y, groups = data
    model = SemiSupervisedRankingPursuit(n_views=n_views, views=views)
    with pytest.raises(ValueError, match=f"n_views={n_views} views need at least as many"):
        model.fit(X, y, groups)


def test_more_views_than_memory_holds_are_refused_before_any(data, monkeypatch):
    X, y, groups = data
    monkeypatch.setattr(_dealing, "MOST_NUMBERS", 40 * 40 * 5)
    for n_views in (2, 3):
        SemiSupervisedRankingPursuit(n_views=n_views, views=["rbf"] * n_views).fit(X, y, groups)
    model = SemiSupervisedRankingPursuit(n_views=100, views=["rbf"] * 100)
    with pytest.raises(ValueError, match=r"n_views=100 views of 40 samples take .* numbers"):
        model.fit(X, y, groups)
