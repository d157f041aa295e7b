"""What holds of pursuits by their rows holds of those by sums over blocks: any size of numbers."""

import pickle

import numpy as np
import pytest
from all_estimators import PURSUITS, grouped_data, id_of
from sklearn.base import clone

from rankpursuit import KernelMatchingPursuit
from rankpursuit.datasets import array_blocks
from rankpursuit.solvers import pursuit as blocks
from rankpursuit.solvers import pursuit as form_choice

each = pytest.mark.parametrize("estimator", PURSUITS, ids=id_of)
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FITTINGS = ["basic", "backfit", "prefit"]


def kernel_times(factor):
    """Return a polynomial kernel as a callable, times a power of two."""
    return lambda X, Y: np.ldexp(1.0 + X @ Y.T, factor)


@pytest.fixture
def data():
    return grouped_data()


@pytest.fixture
def only_sums(monkeypatch):
    """Make `fit` add up blocks of a few rows, however small the problem is."""
    monkeypatch.setattr(form_choice, "FEW_ENTRIES", 0)
    monkeypatch.setattr(form_choice, "ROWS_ENTRIES", 0)
    monkeypatch.setattr(form_choice, "MANY_ROWS", 0)
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 9 * 43)


@pytest.fixture(params=["fit", "fit_blocks", "partial_fit"])
def learn(request, only_sums):
    """Learn in each way that goes by sums."""

    def fit(model, X, y, groups):
        return model.fit(X, y, groups)

    def fit_blocks(model, X, y, groups):
        return model.fit_blocks(array_blocks(X, y, groups, rows=12))

    def partial_fit(model, X, y, groups):
        for block in array_blocks(X, y, groups, rows=12):
            model.partial_fit(*block, candidates=None if hasattr(model, "_tally") else X)
        return model

    return {"fit": fit, "fit_blocks": fit_blocks, "partial_fit": partial_fit}[request.param]


@each
@pytest.mark.parametrize("exponent", [-900, -400, 400, 900])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
@quiet
def test_kernels_times_any_power_of_two_give_the_same_functions(
    data, learn, estimator, exponent, ridge
):
    X, y, groups = data
    model = clone(estimator).set_params(n_basis=4, fitting="backfit")
    model.set_params(kernel=kernel_times(0), ridge=ridge)
    scaled = clone(model).set_params(kernel=kernel_times(exponent), ridge=np.ldexp(ridge, exponent))
    expected = learn(model, X, y, groups).predict(X)
    got = learn(scaled, X, y, groups).predict(X)
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8)


@each
@pytest.mark.parametrize("fitting", FITTINGS)
@pytest.mark.parametrize("factor", [1e-300, 1e-60, 1e60, 1e98])
@quiet
def test_scores_of_any_size_scale_the_predictions(data, learn, estimator, factor, fitting):
    X, y, groups = data
    model = clone(estimator).set_params(n_basis=8, fitting=fitting)
    expected = factor * learn(clone(model), X, y, groups).predict(X)
    got = learn(clone(model), X, factor * y, groups).predict(X)
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


@each
def test_blocks_of_scores_and_values_of_different_sizes_add_up(data, only_sums, estimator):
    X, y, groups = data
    X = X * np.logspace(-40, 40, 5)[groups][:, None]
    y = y * np.logspace(-200, 60, 5)[groups]
    y[groups == 1] = 0.0
    X[groups == 2] = 0.0
    model = clone(estimator).set_params(kernel="linear", n_basis=2, fitting="backfit")
    expected = clone(model).fit(X, y, groups)
    found = clone(model).fit_blocks(array_blocks(X, y, groups, rows=8))
    np.testing.assert_array_equal(found.basis_, expected.basis_)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)
    np.testing.assert_allclose(found.cost_, expected.cost_, rtol=1e-9)


@each
@pytest.mark.parametrize(
    ("options", "factor"),
    [({}, 1e300), ({"kernel": "linear"}, 1e300), ({"kernel": "poly", "degree": 50}, 1e10)],
)
def test_kernel_values_that_overflow_are_refused(data, learn, estimator, options, factor):
    X, y, groups = data
    model = clone(estimator).set_params(gamma=1.0, **options)
    with pytest.raises(ValueError, match=r"values of the kernel .* not finite; scale the features"):
        learn(model, factor * X, y, groups)


@each
def test_scores_whose_squares_overflow_are_refused(data, learn, estimator):
    X, y, groups = data
    with pytest.raises(ValueError, match=r"y holds scores of up to .*, whose squares overflow"):
        learn(clone(estimator), X, 1e200 * y, groups)


@each
@pytest.mark.parametrize("ridge", [5e-324, 1e-300, 1e300, 1.7e308])
@quiet
def test_a_ridge_of_any_size_gives_finite_predictions(data, learn, estimator, ridge):
    X, y, groups = data
    model = learn(clone(estimator).set_params(ridge=ridge), X, y, groups)
    assert np.isfinite(model.predict(X)).all()


@each
@quiet
def test_candidates_far_from_all_rows_give_finite_predictions(data, only_sums, estimator):
    X, y, groups = data
    for ridge in (0.0, 1.0):
        for far in (10.0, 100.0):  # kernel values that are tiny, and that are zero
            model = clone(estimator).set_params(ridge=ridge)
            model.partial_fit(X, y, groups, candidates=X[:5] + far)
            assert np.isfinite(model.predict(X)).all()
            assert np.isfinite(model.predict(X + far)).all()


@each
@pytest.mark.parametrize("fitting", FITTINGS)
@quiet
def test_a_model_that_was_saved_predicts_the_same_to_the_last_bit(data, learn, estimator, fitting):
    X, y, groups = data
    model = learn(clone(estimator).set_params(fitting=fitting), X, y, groups)
    loaded = pickle.loads(pickle.dumps(model))
    assert model.predict(X).tobytes() == loaded.predict(X).tobytes()
    for name in ("coef_", "staged_coef_", "cost_", "basis_", "X_basis_"):
        assert getattr(model, name).flags["C_CONTIGUOUS"], name


@each
def test_repeated_choices_are_kept_once_each_and_have_a_limit(data, learn, estimator):
    X, y, groups = data
    model = clone(estimator).set_params(
        n_basis=60, fitting="basic", ridge=0.0, repeat=True, n_candidates=12
    )
    learn(model, X, y, groups)
    assert model.staged_coef_.shape == (60, len(model.basis_))
    assert len(set(model.basis_)) == len(model.basis_)
    with pytest.raises(ValueError, match=r"n_basis=10{12} steps with repeat=True, times"):
        learn(clone(model).set_params(n_basis=10**12), X, y, groups)


@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_only_a_penalty_needs_a_symmetric_kernel(data, learn, ridge):
    X, y, groups = data
    model = KernelMatchingPursuit(4, kernel=lambda X, Y: X[:, :1] + Y[:, 1] ** 2, ridge=ridge)
    if ridge:
        with pytest.raises(ValueError, match="kernel must be symmetric"):
            learn(model, X, y, groups)
        return
    with pytest.warns(match="ran out after 2 of 4"):
        learn(model.set_params(fitting="backfit"), X, y, groups)


@each
def test_a_variance_that_is_not_finite_is_refused(data, learn, estimator):
    X, y, groups = data
    with pytest.raises(ValueError, match="gamma='scale' needs features whose variance"):
        learn(clone(estimator).set_params(gamma="scale"), 1e200 * X, y, groups)
