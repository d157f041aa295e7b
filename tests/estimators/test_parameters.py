"""A parameter out of its range is refused by name; every parameter has a range."""

import warnings

import numpy as np
import pytest
from all_estimators import BY_NAME, CLASSES

import rankpursuit

COMBINED, SEMI = "CombinedRankingRegressionPursuit", "SemiSupervisedRankingPursuit"
BAD = {
    "RLS": [("alpha", 0.0, "a number above 0")],
    "KernelMatchingPursuit": [("repeat", True, "False with fitting='backfit'")],
    "RankRLS": [
        ("gamma", -1.0, "a number above 0"),
        ("gamma", "auto", "a number above 0, 'scale' or None; got 'auto'"),
        ("kernel", "rbff", "one of 'additive_chi2'"),
        ("degree", 0, "an integer"),
        ("coef0", np.nan, "a finite number"),
        ("alpha", True, "a number above 0; got True"),
        ("kernel_params", 3, "a mapping or None"),
        ("kernel_params", {"a": 1}, "None unless kernel is a"),
    ],
    "RankSVM": [("C", -1, ""), ("loss", "log", "one of 'hinge'"), ("tol", 0.0, "")],
    "SparseRankRLS": [
        ("n_basis", 0, ""),
        ("alpha", float("inf"), ""),
        ("random_state", "one", "an integer from 0 to 4294967295"),
    ],
    "RankingPursuit": [
        ("n_basis", 0, "an integer of at least 1"),
        ("n_basis", 1.5, ""),
        ("n_basis", True, ""),
        ("fitting", "best", "one of 'basic'"),
        ("ridge", -0.1, ""),
        ("n_candidates", 0, ""),
        ("repeat", "maybe", "True or False; got 'maybe'"),
        ("repeat", 1, "True or False; got 1"),
    ],
    COMBINED: [("beta", 1.1, "a number from 0 to 1"), ("beta", -0.1, "a number from 0 to 1")],
    SEMI: [
        ("nu", -1.0, "a number of at least 0"),
        ("n_views", 0, ""),
        ("views", "items", "one of 'points', 'loss', 'features'"),
        ("fitting", "prefit", "one of 'basic'"),
        ("agreement", "no", "one of"),
        ("shared_basis", True, "False with views"),
    ],
}
TOGETHER = [
    (COMBINED, {"repeat": True, "fitting": "prefit"}, "repeat must be False with fitting='prefit'"),
    (SEMI, {"n_views": 41}, "n_views=41 views need at least as many"),
    (SEMI, {"views": ["rbf"]}, "views holds 1 kernels"),
    (SEMI, {"views": ["rbf", "precomputed"]}, r"views\[1\] must be one of .* got 'precomputed'"),
    (SEMI, {"views": "features", "n_views": 4}, "n_views=4 views need at least as many features"),
    (SEMI, {"views": "features", "kernel": "precomputed"}, "views must be 'points'"),
    (SEMI, {"views": "loss", "shared_basis": True}, "shared_basis must be False with views"),
]
TOGETHER += [
    (name, {key: value}, f"{key} must be {said}")
    for name, rows in BAD.items()
    for key, value, said in rows
]


@pytest.mark.parametrize(("name", "parameters", "message"), TOGETHER)
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


WEIGHTED = [
    rankpursuit.RankRLS(),
    rankpursuit.SparseRankRLS(n_basis=12, random_state=0),
    rankpursuit.RankSVM(loss="squared_hinge", tol=1e-9),
    rankpursuit.RankingPursuit(n_basis=6, fitting="backfit"),
    rankpursuit.CombinedRankingRegressionPursuit(n_basis=6),
    rankpursuit.SemiSupervisedRankingPursuit(n_basis=4, random_state=0),
]
each_weighted = pytest.mark.parametrize(
    "ranker", WEIGHTED, ids=lambda ranker: type(ranker).__name__
)


def weighted_data():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(40, 2)), np.repeat(["a", "b", "c"], [4, 26, 10])
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=40), groups


@each_weighted
def test_equal_weights_are_one_over_the_size_of_each_group(ranker):
    X, y, groups = weighted_data()
    equal = ranker.set_params(group_weight="equal").fit(X, y, groups).predict(X)
    sizes = {"a": 1 / 4, "b": 1 / 26, "c": 1 / 10}
    told = ranker.set_params(group_weight=sizes).fit(X, y, groups).predict(X)
    pairs = ranker.set_params(group_weight="pairs").fit(X, y, groups).predict(X)
    np.testing.assert_allclose(told, equal, atol=1e-6 * np.abs(equal).max())
    assert not np.allclose(pairs, equal, rtol=1e-3)


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        ("sizes", "group_weight must be one of 'pairs', 'equal' or a mapping"),
        ({"a": 1.0, "b": 1.0}, "it has none for 'c'"),
        ({"a": 1.0, "b": -1.0, "c": 1.0}, "positive finite numbers"),
        ({"a": 1.0, "b": 1e307, "c": 1.0}, "group_weight must be finite, .* divide all of them"),
        ({"a": 1.0, "b": "x", "c": 1.0}, "group_weight must be one finite number for each group"),
    ],
)
def test_wrong_weights_are_refused(weight, said):
    X, y, groups = weighted_data()
    with pytest.raises(ValueError, match=said):
        rankpursuit.RankRLS(group_weight=weight).fit(X, y, groups)
