"""Searches along paths: scores of an explicit loop, splits, metrics, the choice, and errors."""

import pickle
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import sklearn
from all_estimators import SEARCHES, id_of
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from sklearn import model_selection as ms
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import mean_squared_error
from sklearn.preprocessing import StandardScaler
from sklearn.utils import validation

import rankpursuit as rp
from rankpursuit import PathCV, RankingPursuit, RankingPursuitCV, RankRLS, RankSVM
from rankpursuit.estimators import path_cv
from rankpursuit.estimators.path_cv import make_splits
from rankpursuit.estimators.pursuit import common_blocks
from rankpursuit.metrics import pairwise_accuracy


class Squares(BaseEstimator):
    """A dictionary that depends on no data."""

    def __init__(self, power=2):
        self.power = power

    def fit(self, X):
        self.terms = [None] * X.shape[1]
        return self

    def columns(self, X, which):
        return X[:, which] ** self.power


ALPHA, GAMMA, RIDGE = {"alpha": [0.01, 0.5]}, {"gamma": [0.05, 0.4]}, {"ridge": [0.1, 3.0]}
SIZES = {"n_basis": [1, 2, 4]}
EVERY = {"n_candidates": None, "fitting": "backfit"}
CASES = {
    "RLS": (rp.RLS(), {**ALPHA, **GAMMA}),
    "RankRLS": (RankRLS(), {**ALPHA, **GAMMA, "group_weight": ["equal", "pairs"]}),
    "RankRLS linear": (RankRLS(kernel="linear"), ALPHA),
    "SparseRankRLS": (rp.SparseRankRLS(random_state=3), {**ALPHA, **GAMMA, "n_basis": [0.1, 0.3]}),
    "RankSVM": (RankSVM(tol=1e-9), {"C": [0.1, 5.0], **GAMMA, "loss": ["hinge"]}),
    "RankSVM linear": (RankSVM(kernel="linear", tol=1e-9), {"C": [0.1, 5.0]}),
    "KMP": (rp.KernelMatchingPursuit(**EVERY), {**RIDGE, **GAMMA, **SIZES}),
    "RP": (RankingPursuit(4, **EVERY), {**RIDGE, **GAMMA, "n_basis": None}),
    "RP prefit": (RankingPursuit(gamma=0.3, n_candidates=None, fitting="prefit"), SIZES),
    "RP tol": (RankingPursuit(gamma=0.3, **EVERY), {"tol": [None, 30.0], **SIZES, **RIDGE}),
    "RP nested": (RankingPursuit(3, dictionary=Squares()), {"dictionary__power": [2, 3], **RIDGE}),
    "RP laplacian": (RankingPursuit(kernel="laplacian", **EVERY), {**GAMMA, **SIZES}),
    "RP repeat": (
        RankingPursuit(gamma=0.3, ridge=0.0, n_candidates=None),
        {"repeat": [False, True], "fitting": ["basic"], **SIZES},
    ),
    "CRRP": (rp.CombinedRankingRegressionPursuit(**EVERY), {"beta": [0.0, 0.3], **GAMMA, **SIZES}),
    "SSRP": (
        rp.SemiSupervisedRankingPursuit(3, random_state=0),
        {**RIDGE, "nu": [0.5, 2.0], **GAMMA, "n_basis": None, "fitting": ["basic", "backfit"]},
    ),
    "SSRP views": (
        rp.SemiSupervisedRankingPursuit(3, random_state=0),
        {"views": ["loss", "features", ["rbf", "linear"]], "gamma": [0.3]},
    ),
}


def make_data(name, grouped=True):
    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(10), [3, 9, 4, 6, 5, 8, 6, 7, 4, 8])
    X = rng.normal(size=(60, 3)) * [1.0, 100.0, 0.01]
    y = X[:, 0] - 1e-4 * X[:, 1] ** 2 + 0.3 * rng.normal(size=60)
    if grouped:
        y += 2.0 * rng.normal(size=10)[groups]
    if name.startswith("SSRP"):
        y[rng.permutation(60)[:25]] = np.nan
    return X, y, groups if grouped else None


def loop(model, table, X, y, groups, splits):
    """Return the scores, with scikit-learn's own error, of every row of a table in every split."""
    names = [name for name in table if name.startswith("param_")]
    scores = np.empty((len(splits), len(table["mean_test_score"])))
    for row in range(scores.shape[1]):
        params = {name.removeprefix("param_"): table[name][row] for name in names}
        plain = clone(model).set_params(**params)
        for place, (train, test) in enumerate(splits):
            train = np.union1d(train, np.flatnonzero(np.isnan(y)))
            plain.fit(X[train], y[train], None if groups is None else groups[train])
            scores[place, row] = -mean_squared_error(y[test], plain.predict(X[test]))
    return scores


@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scores_are_those_of_a_loop_over_plain_estimators(name, grouped):
    (estimator, grid), (X, y, groups) = CASES[name], make_data(name, grouped)
    scored = np.flatnonzero(~np.isnan(y))
    splitter = ms.GroupKFold(3) if grouped else ms.KFold(3)
    of_scored = splitter.split(X[scored], groups=groups[scored] if grouped else None)
    splits = [(scored[train], scored[test]) for train, test in of_scored]
    search = PathCV(estimator, grid, cv=splitter, scoring="neg_mean_squared_error")
    search.fit(X, y, groups)
    table, scaled = search.cv_results_, StandardScaler().fit_transform(X)
    expected = loop(estimator, table, scaled, y, groups, splits)
    shown = np.stack([table[f"split{place}_test_score"] for place in range(3)])
    rtol = 1e-6 if name.startswith("RankSVM") else 1e-8
    np.testing.assert_allclose(shown, expected, rtol=rtol, atol=1e-8)
    np.testing.assert_allclose(table["mean_test_score"], expected.mean(axis=0), rtol=rtol)
    np.testing.assert_allclose(table["std_test_score"], expected.std(axis=0), rtol=1e-4, atol=1e-8)
    assert search.best_score_ == table["mean_test_score"].max()
    n_sizes = estimator.n_basis if "n_basis" in grid and grid["n_basis"] is None else 1
    n_points = len(ms.ParameterGrid({key: values or [0] for key, values in grid.items()}))
    assert len(shown[0]) == n_points * n_sizes
    refitted = clone(estimator).set_params(**search.best_params_).fit(scaled, y, groups)
    np.testing.assert_allclose(search.predict(X), refitted.predict(scaled), rtol=1e-10)


def test_the_choice_is_that_of_a_grid_search():
    X, y, groups = make_data("RP")
    grid = [{"ridge": [0.1, 3.0], "n_basis": [2, 5]}, {"beta": [0.1, 0.9], "gamma": [0.2, 1.0]}]
    options = {"cv": ms.GroupKFold(4), "scoring": rp.group_scorer()}
    estimator = rp.CombinedRankingRegressionPursuit(3, gamma=1e-4, n_candidates=None)
    ours = PathCV(estimator, grid, scale=False, **options).fit(X, y, groups)
    with sklearn.config_context(enable_metadata_routing=True):
        theirs = ms.GridSearchCV(estimator, grid, **options).fit(X, y, groups=groups)
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    assert len(ours.cv_results_["mean_test_score"]) == len(theirs.cv_results_["mean_test_score"])
    assert np.isnan(ours.cv_results_["param_ridge"][-4:]).all()


def equal(table, other):
    pd.testing.assert_frame_equal(pd.DataFrame(table), pd.DataFrame(other), check_exact=True)


def test_results_do_not_depend_on_the_number_of_processes(capsys):
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(300, 4)), np.repeat(np.arange(30), 10)
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=300)
    grid = [
        {"ridge": [0.1, 1.0], "n_basis": None, "gamma": None},
        {"dictionary": ["additive"], "tol": [None, 1.0], "ridge": [0.5], "n_basis": None},
    ]
    for estimator, values in ((RankingPursuit(20), grid), (RankRLS(kernel=kernel), None)):
        searches = [PathCV(estimator, values, cv=3, n_jobs=n, verbose=1) for n in (1, 2)]
        one, two = (search.fit(X, y, groups) for search in searches)
        equal(one.cv_results_, two.cv_results_)
        np.testing.assert_array_equal(one.predict(X), two.predict(X))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 * (3 * 3 + 3)
    assert lines[8].startswith("[PathCV] dictionary='additive', tol=1.0, fold 3 of 3: ")


def kernel(X, Y):
    return X @ Y.T + 1.0


def test_widths_one_by_one_have_the_scores_of_all_at_once(monkeypatch):
    for name in ("RankRLS", "SparseRankRLS", "RP", "SSRP"):
        search = PathCV(*CASES[name], cv=2)
        together = search.fit(*make_data(name)).cv_results_["mean_test_score"]
        with monkeypatch.context() as patch:
            patch.setattr(path_cv, "_AT_ONCE", 1)
            alone = search.fit(*make_data(name)).cv_results_["mean_test_score"]
        np.testing.assert_allclose(alone, together)


def test_candidates_of_a_held_out_fold_take_no_part_in_it():
    X, y, groups = make_data("RP")
    model = RankingPursuit(4, gamma=1e-4, n_candidates=30, random_state=0)
    search = PathCV(model, {"n_basis": [4]}, scale=False, cv=ms.GroupKFold(3)).fit(X, y, groups)
    drawn = np.argsort(np.random.RandomState(0).random(60))[:30]
    for place, (train, test) in enumerate(ms.GroupKFold(3).split(X, y, groups)):
        block = (X[train], y[train], groups[train])
        fold = clone(model).fit_blocks([block], candidates=X[np.intersect1d(drawn, train)])
        expected = pairwise_accuracy(y[test], fold.predict(X[test]), groups[test])
        assert search.cv_results_[f"split{place}_test_score"] == [pytest.approx(expected)]


def test_a_group_of_huge_scores_costs_the_other_folds_no_digits():
    X, y, groups = make_data("RP")
    huge = np.where(groups == 0, 1e9 * y, y)
    model, scoring = RankingPursuit(4, gamma=0.4), "neg_mean_squared_error"
    search = PathCV(model, {"n_basis": [4]}, cv=ms.GroupKFold(3), scoring=scoring)
    table, scaled = search.fit(X, huge, groups).cv_results_, StandardScaler().fit_transform(X)
    splits = list(ms.GroupKFold(3).split(X, y, groups))
    expected = loop(model, table, scaled, huge, groups, splits)[:, 0]
    place = next(place for place, (_, test) in enumerate(splits) if 0 in groups[test])
    assert table[f"split{place}_test_score"][0] == pytest.approx(expected[place], rel=1e-12)


def test_precomputed_kernels_have_the_scores_of_their_values():
    X, y, groups = make_data("RP")
    gaussian = np.exp(-1e-4 * np.square(X[:, None] - X[None]).sum(axis=2))
    for model in (RankRLS(), RankSVM(), RankingPursuit(5), rp.SparseRankRLS(9, random_state=0)):
        by_name = PathCV(model, {"gamma": [1e-4]}, scale=False).fit(X, y, groups)
        given = PathCV(clone(model).set_params(kernel="precomputed"), {}).fit(gaussian, y, groups)
        assert given.best_score_ == pytest.approx(by_name.best_score_)


def count_checks(model, *data):
    """Return the number of arrays that scikit-learn checks, and of clones, in one fit."""
    with (
        mock.patch.object(validation, "check_array", wraps=validation.check_array) as checks,
        mock.patch.object(path_cv, "clone", wraps=clone) as clones,
    ):
        model.fit(*data)
    return checks.call_count, clones.call_count


def test_data_are_checked_once_for_all_paths(data):
    assert count_checks(RankRLS(), *data) == (2, 0)  # X and y
    for model in (RankRLS(), RankSVM(), RankingPursuit(5)):
        assert count_checks(PathCV(model), *data) == (2 + 2, 1)  # and StandardScaler checks X
    few, many = (RankingPursuitCV(3, ridges=np.geomspace(0.1, 9.0, k)) for k in (2, 8))
    assert count_checks(few, *data) == count_checks(many, *data)
    assert count_checks(many, *data)[0] <= 25  # dictionaries check the points they are fitted to


# What a search learns and shows


@pytest.mark.parametrize("search", SEARCHES, ids=id_of)
def test_a_search_can_be_repeated_kept_and_nested(data, search):
    X, y, groups = data
    X = X * [1e8, 1.0, 1e-6] + [1e8, 0.0, 5.0]
    model, again = (clone(search).fit(X, y, groups) for _ in range(2))
    equal(model.cv_results_, again.cv_results_)
    np.testing.assert_array_equal(model.predict(X), model.best_estimator_.predict(X))
    if model.X_basis_ is not None:
        np.testing.assert_allclose(model.X_basis_, X[model.basis_], rtol=1e-6)
    kept = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(kept.predict(X), again.predict(X))
    one_label, none = (clone(search).fit(X, y, labels) for labels in (["a"] * 40, None))
    equal(one_label.cv_results_, none.cv_results_)
    with sklearn.config_context(enable_metadata_routing=True):
        small = clone(search).set_params(cv=2)
        scores = ms.cross_val_score(small, X, y, params={"groups": groups}, cv=2)
    assert np.isfinite(scores).all()


def test_all_folds_have_one_seed_of_any_kind(data):
    for seed in (None, np.random.default_rng(3), np.random.RandomState(3)):
        model = PathCV(rp.SparseRankRLS(random_state=seed)).fit(*data)
        assert isinstance(model.best_estimator_.random_state, int)


def test_weights_and_requests_of_the_estimator_reach_it(data):
    X, y, groups = data
    weights = np.linspace(1.0, 9.0, 40)
    with sklearn.config_context(enable_metadata_routing=True):
        search = PathCV(RankRLS().set_fit_request(sample_weight=True), scoring="r2")
        consumed = search.get_metadata_routing().consumes("fit", ["groups", "sample_weight", "x"])
    assert consumed == {"groups", "sample_weight"}
    weighted = clone(search).fit(X, y, groups, sample_weight=weights)
    assert weighted.best_score_ != search.fit(X, y, groups).best_score_


def test_methods_are_those_of_the_estimator(data):
    pursuit = {"staged_predict", "explain", "summary"}
    assert not pursuit & set(dir(PathCV(RankRLS()))) and pursuit <= set(dir(SEARCHES[1]))
    search = PathCV(RankingPursuit(5), selection="sparsest")
    for method in (search.predict, search.staged_predict, search.explain, search.plot):
        with pytest.raises(NotFittedError):
            method(*([data[0]] if method != search.plot else []))
    search.fit(*data)
    staged = list(search.staged_predict(data[0]))
    assert len(staged) == search.best_params_["n_basis"] == len(search.summary())
    np.testing.assert_allclose(staged[-1], search.predict(data[0]))


@pytest.mark.parametrize("selection", ["best", "sparsest"])
@pytest.mark.parametrize(
    ("estimator", "axis"),
    [(RankRLS(), "alpha"), (RankingPursuit(6), "n_basis"), (RankSVM(), "C")],
)
def test_plots_show_the_scores_along_the_path_and_the_choice(data, estimator, axis, selection):
    model = PathCV(estimator, selection=selection).fit(*data)
    ax, table = model.plot(Figure().subplots()), pd.DataFrame(model.cv_results_)
    for name, value in model.best_params_.items():
        if name != axis:
            table = table[table[f"param_{name}"] == value]
    line, dot = ax.get_lines()[0], ax.get_lines()[-1]
    np.testing.assert_array_equal(line.get_xdata(), table[f"param_{axis}"])
    np.testing.assert_array_equal(line.get_ydata(), table.mean_test_score)
    assert (dot.get_xdata(), dot.get_ydata()) == (model.best_params_[axis], model.best_score_)
    assert ax.get_xlabel() and ax.get_ylabel() == "pairwise_accuracy"
    assert (len(ax.get_lines()) == 3) == (selection == "sparsest")
    with pytest.raises(ValueError, match="no path to draw: the grid has none of n_basis, alpha"):
        PathCV(RankRLS(), {"degree": [2, 3]}).fit(*data).plot()


def test_a_search_reports_its_progress_to_callbacks(data):
    pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9 has no callbacks")
    done = []

    class Recorder:
        setup = teardown = on_fit_task_begin = lambda self, estimator, context: None

        def on_fit_task_end(self, estimator, context):
            done.append(context.task_name)

    model = RankingPursuitCV(3, cv=4).set_callbacks(Recorder()).fit(*data)
    assert done == [*["fold"] * 8, "refit", "fit"]
    equal(model.cv_results_, RankingPursuitCV(3, cv=4).fit(*data).cv_results_)


# Splits, the choice, and what is refused


@given(st.lists(st.integers(0, 8), min_size=12, max_size=40), st.integers(2, 4))
def test_a_number_of_folds_never_splits_a_group(labels, n_folds):
    groups = np.array(labels)
    if len(np.unique(groups)) < n_folds:
        return
    points = np.zeros((len(groups), 1))
    splits = make_splits(n_folds, points, np.arange(len(groups), dtype=float), groups)
    everything = list(range(len(groups)))
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test]) and sorted([*train, *test]) == everything
    assert sorted(np.concatenate([test for _, test in splits])) == everything
    blocks = common_blocks(splits, groups)
    assert len(blocks) == n_folds and sorted(np.concatenate(blocks)) == everything


Y = np.arange(12.0)
GROUPS, THIRDS = np.repeat(["a", "b", "c", "d"], 3), list(ms.KFold(3).split(Y))


def test_splits_are_those_of_scikit_learn_and_keep_unscored_points_for_training():
    masks = [(np.isin(Y, train), np.isin(Y, test)) for train, test in THIRDS]
    predefined = ms.PredefinedSplit(np.repeat([0, 1, 2], 4))
    for cv in (ms.KFold(3), iter(THIRDS), masks, predefined):
        np.testing.assert_equal(make_splits(cv, Y[:, None], Y, None), THIRDS)
    shuffled = list(ms.KFold(4, shuffle=True, random_state=0).split(Y))
    np.testing.assert_equal(make_splits(4, Y[:, None], Y, None), shuffled)
    y = np.where(Y % 3 == 0, np.nan, Y)
    for train, test in make_splits(list(ms.GroupKFold(2).split(Y, Y, GROUPS)), Y, y, GROUPS):
        assert {0, 3, 6, 9} <= set(train) and not {0, 3, 6, 9} & set(test)
    assert common_blocks([(np.arange(5), np.arange(6, 9))], GROUPS) is None  # a group is cut


HALVES = [(range(6), range(6, 12)), (range(6, 12), range(6))]


@pytest.mark.parametrize(
    ("cv", "groups", "message"),
    [
        (5, GROUPS, "cv=5 folds need at least as many groups with scores; got n_groups = 4: lower"),
        (13, None, "cv=13 folds need at least as many samples with scores; got n_samples = 12"),
        (ms.KFold(3, shuffle=True, random_state=0), GROUPS, "keep groups whole; split 0 has group"),
        ([HALVES[0], (range(7), range(6, 12))], None, "split 1 has samples in both"),
        ([HALVES[0], (range(12), [])], None, "must hold pairs|split 1 has none in one of them"),
        ([HALVES[0]], None, "at least two splits; got 1"),
        ([(range(6), [12])] * 2, None, "test indices of the 12 samples; split 0 is not one"),
        ([3, 4], None, "pairs of training and test indices of the 12 samples; split 0 is not one"),
    ],
)
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
def test_bad_splits_are_refused(cv, groups, message):
    with pytest.raises(ValueError, match=message):
        make_splits(cv, Y[:, None], Y, groups)


def rank(**parameters):
    return lambda: PathCV(RankRLS(), **parameters)


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (rank(cv=6), "cv=6 folds need at least as many groups"),
        (rank(n_jobs=0), "n_jobs must be an integer other than 0 or None; got 0"),
        (rank(scoring="ndcg@0"), r"scoring must be one of 'disagreement', .*'ndcg', .*a callable"),
        (rank(grid={"alpha": [1.0, -1.0]}), "alpha of the grid must be a number above 0; got -1"),
        (rank(grid={"alpha": 1.0}), "alpha of the grid must be a list of values, or None for"),
        (rank(grid={"alpha": []}), "alpha of the grid must be a list of values"),
        (rank(grid={"degree": None}), "degree of the grid must be a list of values; got None"),
        (
            rank(grid={"alphas": [1.0]}),
            "grid has 'alphas', which is no parameter of RankRLS .* use",
        ),
        (rank(grid=[]), "grid must be a dict, a list of dicts or None"),
        (rank(grid=[3]), "grid must be a dict, or a list of dicts; it holds 3"),
        (rank(grid={"kernel": ["linear"], "gamma": None}), "searched with the kernel 'linear'"),
        (
            lambda: PathCV(ms.GridSearchCV(rp.RLS(), {})),
            "estimator must be an estimator of rank",
        ),
        (lambda: PathCV(RankingPursuit(scale=True)), "scale of the estimator must be False"),
        (lambda: PathCV(RankingPursuit(33)), "n_basis=33 is more than the 32 .* n_candidates or"),
        (lambda: PathCV(rp.SparseRankRLS(), {"n_basis": [5, 33]}), "32 candidates .* or raise cv"),
        (lambda: RankingPursuitCV(dictionary="pairs", gammas=[1.0]), "with dictionary='pairs'"),
        (lambda: RankingPursuitCV(ridges=[]), "ridges must be a list in which each item is"),
    ],
)
def test_a_bad_parameter_is_named(data, search, message):
    with pytest.raises(ValueError, match=message):
        search().fit(*data)


@pytest.mark.parametrize("search", SEARCHES, ids=id_of)
def test_data_that_nothing_can_be_learned_from_are_refused(data, search):
    X, y, groups = data
    for scores, message in (
        (np.full(40, 2.0), "y must contain different scores"),
        (y[1:], "incon"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(search).fit(X, scores, groups)
    if "KernelMatching" not in repr(search):
        with pytest.raises(ValueError, match="X must have a feature that varies inside a group"):
            clone(search).fit(np.column_stack([groups, groups**2]), y, groups)
        with pytest.raises(ValueError, match="different scores inside a group"):
            clone(search).fit(X, groups.astype(float), groups)
