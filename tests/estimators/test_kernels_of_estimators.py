"""Every kernel, by name, as a function or precomputed, in every estimator."""

import numpy as np
import pytest
from all_estimators import ALL, id_of
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import kernel_metrics, pairwise_kernels

from rankpursuit import RankRLS, RankSVM
from rankpursuit.estimators._checks import KERNELS, NOT_NEGATIVE_ONLY, WITH_GAMMA

VALUES = {"gamma": 0.4, "degree": 2, "coef0": 1.5}


def points_for(kernel, X):
    return np.abs(X) if kernel in NOT_NEGATIVE_ONLY else X


def values_of(kernel, X, Y):
    return pairwise_kernels(X, Y, metric=kernel, filter_params=True, **VALUES)


def test_the_named_kernels_are_those_of_scikit_learn():
    assert set(KERNELS) == set(kernel_metrics())


@pytest.mark.parametrize("estimator", ALL, ids=id_of)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_named_callable_and_precomputed_kernels_agree(data, estimator, kernel):
    X, y, groups = data
    X = points_for(kernel, X)
    train, test = np.arange(30), np.arange(30, 40)
    small = {"n_basis": 3} if "n_basis" in estimator.get_params() else {}
    if kernel == "linear" and "loss" in estimator.get_params():  # another solver
        small = {"loss": "squared_hinge", "tol": 1e-12}

    def fitted(kernel, train_X, **values):
        model = clone(estimator).set_params(kernel=kernel, **small, **values)
        return model.fit(train_X, y[train], groups[train])

    def function(X, Y, name):
        return values_of(name, X, Y)

    named = fitted(kernel, X[train], **VALUES).predict(X[test])
    called = fitted(function, X[train], kernel_params={"name": kernel}).predict(X[test])
    given = fitted("precomputed", values_of(kernel, X[train], X[train]))
    assert np.isfinite(named).all()
    scale = np.abs(named).max()
    np.testing.assert_allclose(called, named, rtol=1e-6, atol=1e-8 * scale)
    assert given.X_basis_ is None
    precomputed = given.predict(values_of(kernel, X[test], X[train]))
    np.testing.assert_allclose(precomputed, named, rtol=1e-6, atol=1e-8 * scale)


@pytest.mark.parametrize("estimator", ALL, ids=id_of)
@pytest.mark.parametrize("kernel", sorted(WITH_GAMMA))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_gamma_left_out_or_from_the_scale_is_that_of_the_training_data(data, estimator, kernel):
    X, y, groups = data
    X = points_for(kernel, X)
    train, new = slice(0, 24), slice(24, 40)
    for gamma, number in [("scale", 1.0 / (3 * X[train].var())), (None, 1.0 / 3)]:
        model, explicit = (
            clone(estimator)
            .set_params(kernel=kernel, gamma=value)
            .fit(X[train], y[train], groups[train])
            for value in (gamma, number)
        )
        np.testing.assert_allclose(model.gamma_, number)
        # At points of another scale than the training data's.
        np.testing.assert_allclose(model.predict(5 * X[new]), explicit.predict(5 * X[new]))


def test_the_scale_of_constant_features_is_one():
    for level in (7.0, 0.1):  # the mean of the second is not what it is the mean of
        model = RankRLS(gamma="scale").fit(np.full((3, 2), level), [1.0, 2.0, 3.0])
        assert model.gamma_ == 0.5


INDEFINITE = [
    {"kernel": "sigmoid", "gamma": 3.0, "coef0": -1.0},
    {"kernel": "poly", "coef0": -2.0},
    {"kernel": "additive_chi2"},
]


@pytest.mark.parametrize("estimator", ALL, ids=id_of)
@pytest.mark.parametrize("kernel", INDEFINITE, ids=lambda kernel: kernel["kernel"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_kernels_that_are_not_positive_definite_give_finite_models(data, estimator, kernel):
    X, y, groups = data
    X = np.abs(X)
    model = clone(estimator).set_params(**kernel)
    hard = {"alpha": 1e-8} if "alpha" in model.get_params() else {}
    prediction = model.set_params(**hard).fit(X, y, groups).predict(X)
    assert np.isfinite(prediction).all()
    assert np.ptp(prediction) > 0.0


@pytest.mark.parametrize("kernel", sorted(NOT_NEGATIVE_ONLY))
def test_negative_features_are_refused_for_kernels_of_histograms(data, kernel):
    X, y, _ = data
    with pytest.raises(
        ValueError, match=f"Negative values in data passed to the kernel '{kernel}'"
    ):
        RankRLS(kernel=kernel).fit(X, y)


def test_indefinite_kernels_of_rank_svm_are_warned_of(data):
    X, y, groups = data
    for loss in ("hinge", "squared_hinge"):
        model = RankSVM(C=1000.0, loss=loss, **INDEFINITE[0])
        with pytest.warns(ConvergenceWarning, match="positive definite"):
            model.fit(np.abs(X), y, groups)
