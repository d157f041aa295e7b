"""A parameter out of its range is refused by name; every parameter has a range."""

import warnings

import numpy as np
import pytest
from all_estimators import BY_NAME, CLASSES

BAD = [
    ("RLS", {"alpha": 0.0}, "alpha must be a number above 0"),
    ("RankRLS", {"gamma": -1.0}, "gamma must be a number above 0"),
    ("RankRLS", {"kernel": "rbff"}, "kernel must be one of 'additive_chi2'"),
    ("RankRLS", {"degree": 0}, "degree must be an integer"),
    ("RankSVM", {"C": -1}, "C must be"),
    ("RankSVM", {"loss": "log"}, "loss must be one of 'hinge'"),
    ("RankSVM", {"tol": 0.0}, "tol must be"),
    ("SparseRankRLS", {"n_basis": 0}, "n_basis must be"),
    ("SparseRankRLS", {"alpha": float("inf")}, "alpha must be"),
    ("RankingPursuit", {"n_basis": 0}, "n_basis must be an integer of at least 1"),
    ("RankingPursuit", {"n_basis": 1.5}, "n_basis must be"),
    ("RankingPursuit", {"n_basis": True}, "n_basis must be"),
    ("RankingPursuit", {"fitting": "best"}, "fitting must be one of 'basic'"),
    ("RankingPursuit", {"ridge": -0.1}, "ridge must be"),
    ("RankingPursuit", {"n_candidates": 0}, "n_candidates must be"),
    ("CombinedRankingRegressionPursuit", {"beta": 1.1}, "beta must be a number from 0 to 1"),
    ("CombinedRankingRegressionPursuit", {"beta": -0.1}, "beta must be a number from 0 to 1"),
    ("SemiSupervisedRankingPursuit", {"nu": -1.0}, "nu must be a number of at least 0"),
    ("SemiSupervisedRankingPursuit", {"n_views": 0}, "n_views must be"),
    ("SemiSupervisedRankingPursuit", {"n_views": 41}, "n_views=41 views need at least as many"),
    ("SemiSupervisedRankingPursuit", {"views": "items"}, "views must be one of 'points'"),
    ("SemiSupervisedRankingPursuit", {"views": ["rbf"]}, "views holds 1 kernels"),
    (
        "SemiSupervisedRankingPursuit",
        {"shared_basis": True},
        "shared_basis must be False with views",
    ),
    ("SemiSupervisedRankingPursuit", {"fitting": "prefit"}, "fitting must be one of 'basic'"),
    ("SemiSupervisedRankingPursuit", {"agreement": "no"}, "agreement must be one of"),
    (
        "SemiSupervisedRankingPursuit",
        {"views": "features", "n_views": 4},
        "n_views=4 views need at least as many features",
    ),
    (
        "SemiSupervisedRankingPursuit",
        {"views": "features", "kernel": "precomputed"},
        "views must be 'points'",
    ),
    ("RankRLS", {"gamma": "auto"}, "gamma must be a number above 0, 'scale' or None; got 'auto'"),
    ("RankRLS", {"coef0": np.nan}, "coef0 must be a finite number"),
    ("RankRLS", {"alpha": True}, "alpha must be a number above 0; got True"),
    ("RankRLS", {"kernel_params": 3}, "kernel_params must be a mapping or None"),
    ("RankRLS", {"kernel_params": {"a": 1}}, "kernel_params are the keyword arguments of a kernel"),
    (
        "SparseRankRLS",
        {"random_state": "one"},
        "random_state must be an integer from 0 to 4294967295",
    ),
    ("RankingPursuit", {"repeat": "maybe"}, "repeat must be True or False; got 'maybe'"),
    ("RankingPursuit", {"repeat": 1}, "repeat must be True or False; got 1"),
    (
        "KernelMatchingPursuit",
        {"repeat": True, "fitting": "backfit"},
        "repeat must be False with fitting='backfit'",
    ),
    (
        "CombinedRankingRegressionPursuit",
        {"repeat": True, "fitting": "prefit"},
        "repeat must be False with fitting='prefit'",
    ),
    (
        "SemiSupervisedRankingPursuit",
        {"shared_basis": "maybe"},
        "shared_basis must be True or False",
    ),
    (
        "SemiSupervisedRankingPursuit",
        {"views": 3},
        "views must be one of 'points', 'loss', 'features'",
    ),
    (
        "SemiSupervisedRankingPursuit",
        {"views": ["rbf", "precomputed"]},
        r"views\[1\] must be one of .* got 'precomputed'",
    ),
    (
        "SemiSupervisedRankingPursuit",
        {"views": "loss", "shared_basis": True},
        "shared_basis must be False with views",
    ),
]


@pytest.mark.parametrize(("name", "parameters", "message"), BAD)
def test_a_bad_parameter_is_named(data, name, parameters, message):
    X, y, groups = data
    with pytest.raises(ValueError, match=message):
        BY_NAME[name](**parameters).fit(X, y, groups)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_parameter_has_a_constraint_that_its_default_meets(cls):
    cls()._check_parameters()


class NoSuchValue:
    """No parameter may be one of these."""


@pytest.mark.parametrize("cls", CLASSES)
def test_a_value_of_no_known_kind_is_refused_for_every_parameter(data, cls):
    X, y, groups = data
    for name in cls().get_params():
        with pytest.raises(ValueError, match=f"^{name} must be .*; got <"):
            cls(**{name: NoSuchValue()}).fit(X, y, groups)


@pytest.mark.parametrize(
    "seed", [3, np.int64(3), np.random.default_rng(3), np.random.RandomState(3)]
)
def test_seeds_of_every_kind_are_taken(data, seed):
    X, y, groups = data
    model = BY_NAME["SparseRankRLS"](n_basis=5, random_state=seed).fit(X, y, groups)
    assert len(set(model.basis_)) == 5


@pytest.mark.parametrize(("n_candidates", "expected"), [(None, 100), (1000, 100), (60, 60)])
def test_a_pursuit_has_a_hundred_functions_or_all_candidates_with_nothing_set(
    n_candidates, expected
):
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(150, 4)), np.repeat(np.arange(15), 10)
    model = BY_NAME["RankingPursuit"](n_candidates=n_candidates, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, X[:, 0] + rng.normal(size=150), groups)
    assert len(model.basis_) == expected


def test_the_pursuit_with_nothing_set_is_the_refitted_regularised_weighted_one(data):
    X, y, groups = data
    said = BY_NAME["RankingPursuit"](
        n_basis=40, fitting="backfit", ridge=1.0, group_weight="equal", n_candidates=1000
    ).fit(X, y, groups)
    np.testing.assert_array_equal(
        BY_NAME["RankingPursuit"]().fit(X, y, groups).predict(X), said.predict(X)
    )
