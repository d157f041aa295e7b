"""The grid of every class has the scores of an explicit loop over folds and grid points."""

import itertools

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    ShuffleSplit,
)
from sklearn.preprocessing import StandardScaler

import rankpursuit
from rankpursuit.metrics import ndcg_error, pairwise_accuracy, squared_error

RIDGES = {"ridges": [0.1, 3.0]}
ALPHAS = {"alphas": [0.01, 0.5, 20.0]}
CASES = {
    "KernelMatchingPursuit": {"n_basis": 4, **RIDGES},
    "RankingPursuit": {"n_basis": 4, **RIDGES},
    "CombinedRankingRegressionPursuit": {"n_basis": 3, "betas": [0.0, 0.3], **RIDGES},
    "RLS": ALPHAS,
    "RankRLS": ALPHAS,
    "SparseRankRLS": {"n_basis": [4, 9], **ALPHAS},
    "SemiSupervisedRankingPursuit": {"n_basis": 3, "nus": [0.5, 2.0], **RIDGES},
}
METRICS = {
    "pairwise_accuracy": pairwise_accuracy,
    "ndcg@3": lambda y, f, groups: 1.0 - ndcg_error(y, f, groups, k=3),
    "neg_mean_squared_error": lambda y, f, groups: -squared_error(y, f),
}
each_case = pytest.mark.parametrize("name", CASES)


def data(name, grouped=True):
    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(10), [3, 9, 4, 6, 5, 8, 6, 7, 4, 8])
    X = rng.normal(size=(60, 3)) * [1.0, 100.0, 0.01]
    y = X[:, 0] - 1e-4 * X[:, 1] ** 2 + 0.3 * rng.normal(size=60)
    if grouped:
        y += 2.0 * rng.normal(size=10)[groups]
    y -= y.min()  # grades, of which NDCG is made
    if name.startswith("Semi"):
        y[rng.permutation(60)[:25]] = np.nan
    return X, y, groups if grouped else None


def searched(name, *told, **parameters):
    """Search with a small grid; return the model, and a plain one without the grid's parameters."""
    shared = {"group_weight": "equal"} if name not in ("KernelMatchingPursuit", "RLS") else {}
    if "Pursuit" in name:
        shared |= {"n_candidates": None, "fitting": "backfit"}
    if name.startswith("S"):
        shared["random_state"] = 3
    has_gamma = parameters.get("kernel", "rbf") not in ("linear", "precomputed")
    grid = {"gammas": [0.05, 0.4] if has_gamma else None, **CASES[name]}
    model = getattr(rankpursuit, name + "CV")(**grid, **shared, **parameters).fit(*told)
    return model, lambda params: getattr(rankpursuit, name)(**params, **shared)


def looped(make, table, X, y, groups, splits, metric):
    """Scores of every row of the table in every split."""
    names = [column for column in table if column.startswith("param_")]
    scored = ~np.isnan(y)
    scores = np.empty((len(splits), len(table)))
    for row, values in enumerate(zip(*(table[name].tolist() for name in names), strict=True)):
        params = {
            name.removeprefix("param_"): value for name, value in zip(names, values, strict=True)
        }
        for number, (train, test) in enumerate(splits):
            train = np.union1d(train, np.flatnonzero(~scored))
            test = test[scored[test]]
            told = [None, None] if groups is None else [groups[train], groups[test]]
            model = make(params).fit(X[train], y[train], told[0])
            scores[number, row] = metric(y[test], model.predict(X[test]), told[1])
    return scores


def of_scored(splitter, X, y, groups):
    rows = np.flatnonzero(~np.isnan(y))
    own = None if groups is None else groups[rows]
    return [(rows[train], rows[test]) for train, test in splitter.split(X[rows], y[rows], own)]


def check(name, splitter, cv, grouped=True, scoring="neg_mean_squared_error", **parameters):
    X, y, groups = data(name, grouped)
    model, make = searched(name, X, y, groups, cv=cv, scoring=scoring, **parameters)
    table = pd.DataFrame(model.cv_results_)
    splits = of_scored(splitter, X, y, groups)
    scaled = StandardScaler().fit_transform(X) if model.scale else X
    expected = looped(make, table, scaled, y, groups, splits, METRICS[scoring])
    found = table[[f"split{number}_test_score" for number in range(len(splits))]].to_numpy().T
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(table.mean_test_score, expected.mean(axis=0), rtol=1e-8)
    np.testing.assert_allclose(table.std_test_score, expected.std(axis=0), rtol=1e-6, atol=1e-8)
    assert expected.mean(axis=0)[model.best_index_] == pytest.approx(expected.mean(axis=0).max())
    assert table.rank_test_score[model.best_index_] == 1
    chosen = table.iloc[model.best_index_]
    assert model.best_params_ == {key: chosen[f"param_{key}"] for key in model.best_params_}
    refitted = make(model.best_params_).fit(scaled, y, groups)
    np.testing.assert_allclose(model.predict(X), refitted.predict(scaled), rtol=1e-10)


@each_case
@pytest.mark.parametrize("scoring", METRICS)
def test_scores_of_folds_of_groups_are_those_of_plain_estimators(name, scoring):
    check(name, GroupKFold(3), 3, scoring=scoring)


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("Semi")])
def test_the_choice_is_that_of_a_grid_search(name):
    X, y, groups = data(name)
    scoring = rankpursuit.ndcg_scorer(3)
    model, make = searched(name, X, y, groups, cv=3, scoring=scoring, scale=False)
    table = pd.DataFrame(model.cv_results_)
    grid = {key: sorted(table[f"param_{key}"].unique()) for key in model.best_params_}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(make({}), grid, scoring=scoring, cv=GroupKFold(3))
        search.fit(X, y, groups=groups)
    assert model.best_score_ == pytest.approx(search.best_score_)
    tied = np.isclose(search.cv_results_["mean_test_score"], search.best_score_, rtol=1e-12)
    equally_good = [search.cv_results_["params"][row] for row in np.flatnonzero(tied)]
    assert model.best_params_ in equally_good


@each_case
def test_scores_of_folds_of_points_are_those_of_plain_estimators(name):
    check(name, KFold(3, shuffle=True, random_state=0), 3, grouped=False)


@each_case
def test_scores_without_scaling_are_those_of_plain_estimators(name):
    check(name, GroupKFold(3), 3, scale=False)


@each_case
def test_scores_of_a_splitter_are_those_of_plain_estimators(name):
    check(name, GroupShuffleSplit(2, random_state=1), GroupShuffleSplit(2, random_state=1))


@pytest.mark.parametrize("name", ["KernelMatchingPursuit", "RankingPursuit"])
def test_scores_of_splits_that_overlap_are_those_of_plain_estimators(name):
    splitter = ShuffleSplit(6, test_size=0.3, random_state=0)
    check(name, splitter, splitter, grouped=False)


@pytest.mark.parametrize("fitting", ["basic", "prefit"])
def test_every_fitting_has_the_path_of_the_plain_estimator(fitting):
    X, y, groups = data("RankingPursuit")
    model = rankpursuit.RankingPursuitCV(
        5, fitting=fitting, gammas=[0.3], ridges=[0.0], cv=3, scoring="r2", n_candidates=None
    ).fit(X, y, groups)
    scaled = StandardScaler().fit_transform(X)
    for number, (train, test) in enumerate(GroupKFold(3).split(X, y, groups)):
        plain = rankpursuit.RankingPursuit(5, fitting=fitting, ridge=0.0, gamma=0.3)
        plain.fit(scaled[train], y[train], groups[train])
        expected = [
            1.0 - squared_error(y[test], f) / y[test].var()
            for f in plain.staged_predict(scaled[test])
        ]
        np.testing.assert_allclose(model.cv_results_[f"split{number}_test_score"], expected)


@pytest.mark.parametrize("views", ["loss", "features", ["rbf", "linear"]])
def test_all_views_are_set_up_in_a_fold_as_in_the_plain_estimator(views):
    X, y, _ = data("SemiSupervisedRankingPursuit", grouped=False)
    model, make = searched(
        "SemiSupervisedRankingPursuit",
        X,
        y,
        cv=KFold(3),
        views=views,
        scale=False,
        scoring="neg_mean_squared_error",
    )
    table = pd.DataFrame(model.cv_results_)
    splits = of_scored(KFold(3), X, y, None)
    expected = looped(
        lambda params: make(params).set_params(views=views),
        table,
        X,
        y,
        None,
        splits,
        METRICS["neg_mean_squared_error"],
    )
    np.testing.assert_allclose(table.mean_test_score, expected.mean(axis=0), rtol=1e-8)


@each_case
def test_precomputed_kernels_have_the_scores_of_their_values(name):
    X, y, groups = data(name)
    gaussian = np.exp(-0.4 * np.square(X[:, None] - X[None]).sum(axis=2))
    by_name, _ = searched(name, X, y, groups, scale=False)
    given, _ = searched(name, gaussian, y, groups, kernel="precomputed")
    assert "gamma" not in given.best_params_
    at = by_name.cv_results_["param_gamma"] == 0.4
    np.testing.assert_allclose(
        given.cv_results_["mean_test_score"], by_name.cv_results_["mean_test_score"][at], rtol=1e-8
    )
    assert given.predict(gaussian[:5]).shape == (5,)


def test_widths_taken_one_by_one_have_the_scores_of_all_at_once(monkeypatch):
    for name in CASES:
        told = data(name)
        together, _ = searched(name, *told)
        monkeypatch.setattr("rankpursuit.estimators.cv._AT_ONCE", 1)
        alone, _ = searched(name, *told)
        monkeypatch.undo()
        for key, values in together.cv_results_.items():
            np.testing.assert_allclose(alone.cv_results_[key], values, rtol=1e-10)


def test_candidates_of_a_held_out_fold_take_no_part_in_it():
    X, y, groups = data("RankingPursuit")
    parameters = {"n_basis": 4, "gammas": [0.4], "ridges": [1.0], "cv": 3, "random_state": 0}
    model = rankpursuit.RankingPursuitCV(**parameters, n_candidates=30).fit(X, y, groups)
    scaled = StandardScaler().fit_transform(X)
    drawn = np.sort(np.argsort(np.random.RandomState(0).random(60))[:30])
    kernel = np.exp(-0.4 * np.square(scaled[:, None] - scaled[None]).sum(axis=2))
    for number, (train, test) in enumerate(GroupKFold(3).split(X, y, groups)):
        own = np.intersect1d(drawn, train)
        centre = (
            np.eye(len(train))
            - (groups[train][:, None] == groups[train]) / np.bincount(groups)[groups[train]]
        )
        columns, target = centre @ kernel[np.ix_(train, own)], centre @ y[train]
        chosen = []
        for step in range(4):
            form = columns.T @ columns + kernel[np.ix_(own, own)]
            coef = np.zeros(len(own))
            if chosen:
                coef[chosen] = np.linalg.solve(
                    form[np.ix_(chosen, chosen)], columns[:, chosen].T @ target
                )
            gain = (columns.T @ target - form @ coef) ** 2 / np.diag(form)
            gain[chosen] = -1.0
            chosen.append(int(gain.argmax()))
            coef[:] = 0.0
            coef[chosen] = np.linalg.solve(
                form[np.ix_(chosen, chosen)], columns[:, chosen].T @ target
            )
            expected = pairwise_accuracy(y[test], kernel[np.ix_(test, own)] @ coef, groups[test])
            found = model.cv_results_[f"split{number}_test_score"][step]
            assert found == pytest.approx(expected)


def test_every_point_of_the_grid_has_a_row():
    X, y, groups = data("RankingPursuit")
    model, _ = searched("CombinedRankingRegressionPursuit", X, y, groups)
    table = pd.DataFrame(model.cv_results_)
    expected = itertools.product([0.05, 0.4], [0.0, 0.3], [0.1, 3.0], range(1, 4))
    columns = ["param_gamma", "param_beta", "param_ridge", "param_n_basis"]
    assert list(table[columns].itertuples(index=False, name=None)) == list(expected)


def test_one_group_of_huge_scores_costs_the_other_folds_no_digits():
    X, y, groups = data("RankingPursuit")
    huge = np.where(groups == 0, 1e9 * y, y)
    parameters = {"gammas": [0.4], "ridges": [1.0], "cv": 3, "scoring": "neg_mean_squared_error"}
    model = rankpursuit.RankingPursuitCV(4, **parameters).fit(X, huge, groups)
    scaled = StandardScaler().fit_transform(X)
    for number, (train, test) in enumerate(GroupKFold(3).split(X, y, groups)):
        if 0 in groups[test]:
            plain = rankpursuit.RankingPursuit(4, gamma=0.4).fit(
                scaled[train], huge[train], groups[train]
            )
            expected = [-squared_error(huge[test], f) for f in plain.staged_predict(scaled[test])]
            found = model.cv_results_[f"split{number}_test_score"]
            np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["RLS", "RankRLS"])
def test_linear_kernels_have_the_scores_of_their_products(name):
    X, y, groups = data(name)
    by_name, _ = searched(name, X, y, groups, scale=False, kernel="linear")
    given, _ = searched(name, X @ X.T, y, groups, kernel="precomputed")
    for key in ("mean_test_score", "split0_test_score"):
        np.testing.assert_allclose(by_name.cv_results_[key], given.cv_results_[key], rtol=1e-7)
