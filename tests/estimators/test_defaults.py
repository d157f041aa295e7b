"""Defaults on data that nobody scaled: something is learned, or a warning says what to do."""

import warnings

import numpy as np
import pytest
import sklearn
from all_estimators import ALL, id_of
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankpursuit import (
    RankingPursuit,
    RankingPursuitCV,
    RankRLS,
    RankSVM,
    SemiSupervisedRankingPursuit,
)

each = pytest.mark.parametrize("estimator", ALL, ids=id_of)
FLAT = "nearly all values of the kernel 'rbf' between different training points are {} with gamma="


def unscaled_data(tails=0.0):
    """Features of units from 1e-3 to 1e8, the largest of which tell the order."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 12)) * np.exp(tails * rng.normal(size=(120, 12)))
    units = 10.0 ** np.linspace(-3, 8, 12)
    return X * units, X[:, -1] + 0.5 * X[:, -2], np.repeat(np.arange(6), 20)


@each
def test_features_of_any_unit_give_no_constant(estimator):
    X, y, groups = unscaled_data()
    with pytest.warns(UserWarning) as told:
        model = clone(estimator).fit(X[:100], y[:100], groups[:100])
    assert [
        " that hardly count in the kernel 'rbf', beside column 11 " in str(one.message)
        for one in told
    ] == [True]
    values = model.predict(X[100:])
    assert np.ptp(values) > 0.1 * np.ptp(y)
    order = np.sign(y[100:, None] - y[100:]) * np.sign(values[:, None] - values)
    assert order.sum() / np.abs(order).sum() > 0.6


@each
@pytest.mark.parametrize(("gamma", "value"), [(1e3, "0"), (1e-30, "1")])
def test_a_kernel_that_tells_nothing_apart_is_warned_of_in_one_line(estimator, gamma, value):
    X, y, groups = unscaled_data()
    with pytest.warns(UserWarning, match=FLAT.format(value)) as caught:
        clone(estimator).set_params(gamma=gamma).fit(X, y, groups)
    told = [str(one.message) for one in caught if "nearly all" in str(one.message)]
    assert len(set(told)) == 1
    assert "\n" not in told[0]
    assert "StandardScaler" in told[0]


def learn_in_blocks(model, X, y, groups):
    return model.fit_blocks([(X, y, groups)])


def learn_in_a_search_of_pipelines(model, X, y, groups):
    search = GridSearchCV(make_pipeline(StandardScaler(), model), {}, cv=2)
    with sklearn.config_context(enable_metadata_routing=True):
        return search.fit(X, y, groups=groups)


LEARN = {
    "fit": lambda model, *data: model.fit(*data),
    "blocks": learn_in_blocks,
    "search": learn_in_a_search_of_pipelines,
}
BY_BLOCKS = ("flat", "early")
WARNED = {
    "flat": (RankingPursuit(5, gamma=1e3), "nearly all values of the kernel"),
    "views": (SemiSupervisedRankingPursuit(5, gamma=1e3), "nearly all values of the kernel"),
    "early": (RankingPursuit(9, kernel="linear", ridge=0.0), "stopped at"),
    "gap": (RankSVM(tol=1e-300), "RankSVM stopped"),
    "sweep": (RankingPursuitCV(5, gammas=[1e3], cv=2), "nearly all values of the kernel"),
}


@pytest.mark.parametrize(
    ("case", "way"),
    [(case, way) for case in WARNED for way in LEARN if way != "blocks" or case in BY_BLOCKS],
)
def test_a_warning_points_to_the_line_that_called_the_package(case, way):
    model, message = WARNED[case]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    data = clone(model), X, X[:, 0] + rng.normal(size=60), np.repeat(np.arange(6), 10)
    with pytest.warns(match=message) as caught:
        LEARN[way](*data)
    places = {record.filename for record in caught if message in str(record.message)}
    assert places == {__file__}


@pytest.mark.parametrize("kernel", ["linear", "poly", "cosine", "sigmoid", "precomputed"])
def test_kernels_of_other_values_are_not_warned_of(kernel):
    X = np.eye(20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RankRLS(kernel=kernel).fit(X, np.arange(20.0))


def test_a_kernel_of_usual_values_is_not_warned_of():
    rng = np.random.default_rng(0)
    for n_features in (1, 2, 10, 300):
        X = rng.normal(size=(80, n_features))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            RankRLS().fit(X, X[:, 0])
            RankRLS().fit(rng.lognormal(sigma=1.5, size=X.shape), X[:, 0])
