"""Features, scores and parameters of any size: the same model, or a refusal that says why."""

import numpy as np
import pytest
from all_estimators import ALL, BY_NAME, RANK_ONLY, grouped_data, id_of
from sklearn.base import clone

from rankpursuit import (
    RLS,
    KernelMatchingPursuit,
    RankingPursuit,
    RankRLS,
    RankSVM,
    SemiSupervisedRankingPursuit,
    SparseRankRLS,
)

each = pytest.mark.parametrize("estimator", ALL, ids=id_of)
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def data():
    return grouped_data()


@each
@pytest.mark.parametrize("exponent", [-900, -400, 400, 900])
@quiet
def test_kernels_scaled_by_any_power_of_two_give_the_same_functions(data, estimator, exponent):
    """What weighs against the kernel is scaled with it: alpha and ridge, and C inversely."""
    X, y, groups = data
    kernel = X @ X.T + 1.0
    names = estimator.get_params()
    for extra in [{}, {"ridge": 0.5}] if "ridge" in names else [{}]:
        model = clone(estimator).set_params(kernel="precomputed", **extra)
        scaled = clone(model)
        for name in ("alpha", "ridge"):
            if name in names:
                scaled.set_params(**{name: np.ldexp(float(getattr(model, name)), exponent)})
        if "C" in names:
            scaled.set_params(C=np.ldexp(1.0, -exponent))
        expected = model.fit(kernel, y, groups).predict(kernel)
        large = np.ldexp(kernel, exponent)
        got = scaled.fit(large, y, groups).predict(large)
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8)


@each
@pytest.mark.parametrize("factor", [1e-300, 1e-60, 1e60, 1e98])
@quiet
def test_scores_of_any_size_scale_the_predictions(data, estimator, factor):
    X, y, groups = data
    expected = clone(estimator).fit(X, y, groups).predict(X)
    if id_of(estimator) != "RankSVM":  # which sees their order only
        expected = factor * expected
    got = clone(estimator).fit(X, factor * y, groups).predict(X)
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


@each
def test_scores_whose_squares_overflow_are_refused(data, estimator):
    X, y, groups = data
    with pytest.raises(ValueError, match=r"y holds scores of up to .*e\+2\d\d, whose squares over"):
        clone(estimator).fit(X, 1e200 * y, groups)


@each
@pytest.mark.parametrize(
    ("options", "factor"),
    [
        ({"gamma": None}, 1e300),
        ({"kernel": "linear"}, 1e300),
        ({"kernel": "poly", "gamma": None, "degree": 50}, 1e10),
    ],
)
def test_kernel_values_that_overflow_are_refused(data, estimator, options, factor):
    X, y, groups = data
    model = clone(estimator).set_params(**options)
    with pytest.raises(ValueError, match=r"values of the kernel .* not finite; scale the features"):
        model.fit(factor * X, y, groups)


@each
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian", "cosine"])
@quiet
def test_points_far_away_have_finite_predictions_or_are_refused(data, estimator, kernel):
    X, y, groups = data
    model = clone(estimator).set_params(kernel=kernel).fit(X, y, groups)
    for factor in (1e100, 1e200, 1e305):
        try:
            assert np.isfinite(model.predict(factor * X)).all()
        except ValueError as refusal:
            assert str(refusal).startswith("X ")


def test_the_cosine_of_points_of_any_length_is_that_of_their_directions(data):
    X, y, groups = data
    model = RankRLS(kernel="cosine").fit(X, y, groups)
    for factor in (1e-300, 1e300):
        np.testing.assert_allclose(model.predict(factor * X), model.predict(X), rtol=1e-9)


def test_a_variance_that_is_no_finite_number_is_refused(data):
    X, y, groups = data
    with pytest.raises(ValueError, match="gamma='scale' needs features whose variance"):
        RankRLS(gamma="scale").fit(1e200 * X, y, groups)


def test_a_variance_that_is_no_usual_number_is_warned_of(data):
    X, y, groups = data
    with pytest.warns(UserWarning, match=r"different training points are 1 with gamma=1e\+300"):
        RankRLS(gamma="scale").fit(1e-170 * X, y, groups)


@pytest.mark.parametrize("cls", [RLS, RankRLS, SparseRankRLS])
@pytest.mark.parametrize("alpha", [1e-320, 1e-300, 1e-30])
def test_a_vanishing_alpha_is_the_solution_of_least_norm(data, cls, alpha):
    X, _, _ = data
    y = X @ [1.0, -2.0, 0.5]
    model = cls(alpha=alpha, kernel="linear").fit(X, y)
    np.testing.assert_allclose(model.predict(X) - model.predict(X).mean(), y - y.mean(), atol=1e-8)


@pytest.mark.parametrize("name", ["alpha", "ridge", "nu", "C"])
@pytest.mark.parametrize("value", [5e-324, 1e-300, 1e300, 1.7e308])
@quiet
def test_weights_of_any_size_give_finite_predictions(data, name, value):
    X, y, groups = data
    for cls in BY_NAME.values():
        if name in cls().get_params():
            model = cls(**{name: value}).fit(X, y, groups)
            assert np.isfinite(model.predict(X)).all()


@quiet
def test_a_huge_penalty_leaves_nothing(data):
    X, y, groups = data
    for model in (RLS(alpha=1e300), RankRLS(alpha=1e300), KernelMatchingPursuit(ridge=1e300)):
        np.testing.assert_allclose(model.fit(X, y, groups).predict(X), 0.0, atol=1e-20)
    assert RankSVM(C=1e-300).fit(X, y, groups).score(X, y, groups) > 0.6


@pytest.mark.parametrize(
    "weights", [[1e-40, 1e-40], [1e40, 1e40], [1e-9, 1e9], [5e-324, 1.0]], ids=str
)
def test_weights_of_pairs_that_leave_no_digits_are_refused(weights):
    X = np.arange(3.0)[:, None]
    for cls in (RankRLS, RankSVM, RankingPursuit, SparseRankRLS):
        with pytest.raises(ValueError, match="weights must lie between 1e-30 and 1e"):
            cls().fit(X, pairs=[(0, 1), (1, 2)], weights=weights)


@quiet
def test_uneven_weights_of_pairs_are_fitted():
    X = np.random.default_rng(0).normal(size=(12, 2))
    pairs = np.column_stack([np.arange(11), np.arange(1, 12)])
    weights = 10.0 ** np.linspace(-6, 6, 11)
    for cls in (RankRLS, RankSVM, RankingPursuit, SparseRankRLS):
        assert np.isfinite(cls().fit(X, pairs=pairs, weights=weights).predict(X)).all()


@each
@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_whole_numbers_above_all_floats_are_refused_by_name(data, estimator, value):
    X, y, groups = data
    for name in set(estimator.get_params()) - {"n_candidates", "n_basis", "n_views"}:
        with pytest.raises(ValueError, match=rf"^{name} must be .* got -?10000"):
            clone(estimator).set_params(**{name: value}).fit(X, y, groups)


@pytest.mark.parametrize("estimator", RANK_ONLY, ids=id_of)
@quiet
def test_subnormal_features_and_scores_are_fitted(estimator):
    X, y = 5e-324 * np.arange(8.0)[:, None], 5e-324 * np.arange(8.0)
    assert np.isfinite(clone(estimator).fit(X, y).predict(X)).all()


def test_a_model_whose_coefficients_overflow_is_refused():
    X = 1e-160 * np.random.default_rng(0).normal(size=(8, 2))
    with pytest.raises(ValueError, match=r"coefficients that are not finite.*scale the features"):
        SemiSupervisedRankingPursuit(kernel="linear", random_state=0).fit(X, np.arange(8.0))
