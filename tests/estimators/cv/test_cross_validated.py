"""What holds for every estimator that chooses by cross-validation."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from all_estimators import CROSS_VALIDATED, grouped_data, id_of
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankpursuit
from rankpursuit import RankingPursuitCV, SparseRankRLSCV

each = pytest.mark.parametrize("estimator", CROSS_VALIDATED, ids=id_of)
RANKERS = [one for one in CROSS_VALIDATED if "group_weight" in one.get_params()]
PATHS = [one for one in CROSS_VALIDATED if hasattr(one, "staged_predict")]
RANK_ONLY = [one for one in RANKERS if "betas" not in one.get_params()]
each_ranker = pytest.mark.parametrize("estimator", RANKERS, ids=id_of)


@each
def test_what_was_found_is_there(data, estimator):
    X, y, groups = data
    model = clone(estimator).fit(X, y, groups)
    table = pd.DataFrame(model.cv_results_)
    assert model.best_score_ == table.mean_test_score.max()
    assert model.best_score_ == table.mean_test_score[model.best_index_]
    for name, value in model.best_params_.items():
        assert getattr(model.best_estimator_, name) == value
        assert type(value) in (int, float, str)
    np.testing.assert_array_equal(
        model.predict(X), model.best_estimator_.predict(model.scaler_.transform(X))
    )
    assert isinstance(model.best_estimator_, getattr(rankpursuit, id_of(estimator)[:-2]))
    parts = table.groupby("param_dictionary") if "param_dictionary" in table else [("", table)]
    for _, part in parts:
        axes = [name for name in part if name.startswith("param_")]
        assert len(part) == np.prod([part[name].nunique(dropna=False) for name in axes])


@each
def test_a_fit_with_a_seed_can_be_repeated_and_kept(data, estimator):
    X, y, groups = data
    model = clone(estimator).fit(X, y, groups)
    again = clone(model).fit(X, y, groups)
    assert again.best_params_ == model.best_params_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    kept = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(kept.predict(X), model.predict(X))
    kept.plot(Figure().subplots())


@pytest.mark.parametrize("seed", [None, np.random.default_rng(3), np.random.RandomState(3)])
@pytest.mark.parametrize("cls", [RankingPursuitCV, SparseRankRLSCV])
def test_seeds_of_every_kind_are_taken(data, cls, seed):
    X, y, groups = data
    model = cls(random_state=seed).fit(X, y, groups)
    assert isinstance(model.best_estimator_.random_state, int)


@each
def test_features_of_any_size_are_learned_from_with_nothing_set(data, estimator):
    X, y, groups = data
    large = X * [1e8, 1.0, 1e-6] + [1e8, 0.0, 5.0]
    model = clone(estimator).fit(large, y, groups)
    assert np.ptp(model.predict(large)) > 0.1 * np.ptp(y - 3.0 * groups)
    small = clone(estimator).fit(X, y, groups)
    assert model.best_params_["gamma"] == pytest.approx(small.best_params_["gamma"], rel=1e-3)
    np.testing.assert_allclose(model.predict(large), small.predict(X), rtol=1e-3, atol=1e-3)


@each
def test_one_label_for_all_points_is_as_no_groups(data, estimator):
    X, y, _ = data
    one, none = (clone(estimator).fit(X, y, groups) for groups in (["a"] * 40, None))
    assert one.best_params_ == none.best_params_
    np.testing.assert_array_equal(one.predict(X), none.predict(X))


@each
def test_kernel_values_too_far_from_one_are_refused_with_the_remedy(data, estimator):
    X, y, groups = data
    model = clone(estimator).set_params(kernel="linear", scale=False)
    with pytest.raises(
        ValueError, match=r"values of the kernel 'linear' must be finite.*scale the features"
    ):
        model.fit(1e100 * X, y, groups)
    assert np.isfinite(model.fit(X, y, groups).predict(X)).all()


@each
@pytest.mark.parametrize("kernel", ["linear", "chi2", "laplacian", lambda X, Y: X @ Y.T + 1.0])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_kind_of_kernel_is_taken(data, estimator, kernel):
    X, y, groups = data
    small = {"n_basis": 3} if estimator in PATHS else {}
    model = clone(estimator).set_params(kernel=kernel, cv=3, **small).fit(np.abs(X), y, groups)
    assert np.isfinite(model.predict(np.abs(X))).all()
    assert ("gamma" in model.best_params_) == (kernel in ("chi2", "laplacian"))


@pytest.mark.parametrize("estimator", RANK_ONLY, ids=id_of)
def test_weights_of_a_single_group_are_taken(data, estimator):
    X, y, _ = data
    one = clone(estimator).set_params(group_weight={"a": 2.0}).fit(X, y, ["a"] * 40)
    assert one.n_groups_ == 1


@pytest.mark.parametrize("estimator", RANK_ONLY, ids=id_of)
def test_levels_of_groups_are_of_no_account(data, estimator):
    X, y, groups = data
    one = clone(estimator).fit(X, y, groups)
    other = clone(estimator).fit(X, y + 100.0 * np.cos(groups), groups)
    assert one.best_params_ == other.best_params_
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-6, atol=1e-8)


@each
def test_score_is_that_of_the_chosen_model(data, estimator):
    X, y, groups = data
    model = clone(estimator).fit(X, y, groups)
    told = (groups,) if estimator in RANKERS else ()
    expected = model.best_estimator_.score(model.scaler_.transform(X), y, *told)
    assert model.score(X, y, *told) == expected


def test_unscored_points_are_passed_over_in_the_score(data):
    X, y, groups = data
    spoilt = np.where(np.arange(40) % 4 == 0, np.nan, y)
    model = rankpursuit.SemiSupervisedRankingPursuitCV(3, random_state=0).fit(X, spoilt, groups)
    scored = ~np.isnan(spoilt)
    expected = model.score(X[scored], y[scored], groups[scored])
    assert model.score(X, spoilt, groups) == expected


@pytest.mark.parametrize("estimator", PATHS, ids=id_of)
def test_staged_predictions_end_with_the_prediction(data, estimator):
    X, y, groups = data
    model = clone(estimator).set_params(n_basis=5).fit(X, y, groups)
    staged = list(model.staged_predict(X))
    assert len(staged) == model.best_params_["n_basis"]
    np.testing.assert_allclose(staged[-1], model.predict(X))


@pytest.mark.parametrize("estimator", PATHS, ids=id_of)
def test_sparsest_is_no_larger_than_best_and_within_one_error_of_it(data, estimator):
    X, y, groups = data
    best = clone(estimator).fit(X, y, groups)
    sparsest = clone(estimator).set_params(selection="sparsest").fit(X, y, groups)
    assert sparsest.best_params_["n_basis"] <= best.best_params_["n_basis"]
    error = best.cv_results_["standard_error"][best.best_index_]
    assert sparsest.best_score_ >= best.best_score_ - error - 1e-12
    within = sparsest.cv_results_["mean_test_score"] >= best.best_score_ - error - 1e-12
    fewest = sparsest.cv_results_["param_n_basis"][within].min()
    assert sparsest.best_params_["n_basis"] == fewest


@each
@pytest.mark.parametrize("selection", ["best", "sparsest"])
def test_plot_shows_the_scores_along_the_path_and_the_choice(data, estimator, selection):
    X, y, groups = data
    model = clone(estimator).set_params(selection=selection)
    with pytest.raises(NotFittedError):
        model.plot()
    model.fit(X, y, groups)
    ax = model.plot(Figure().subplots())
    axis = "n_basis" if "n_basis" in model.best_params_ else "alpha"
    table = pd.DataFrame(model.cv_results_)
    for name, value in model.best_params_.items():
        if name != axis:
            table = table[table[f"param_{name}"] == value]
    line, dot = ax.get_lines()[0], ax.get_lines()[-1]
    np.testing.assert_array_equal(line.get_xdata(), table[f"param_{axis}"])
    np.testing.assert_array_equal(line.get_ydata(), table.mean_test_score)
    assert dot.get_xdata() == model.best_params_[axis]
    assert dot.get_ydata() == model.best_score_
    assert len(ax.collections) == 1
    assert ax.get_xlabel() and ax.get_ylabel() == model.scoring
    assert (len(ax.get_lines()) == 3) == (selection == "sparsest")


@each
def test_works_in_a_pipeline_and_inside_another_cross_validation(data, estimator):
    X, y, groups = data
    name = type(estimator).__name__.lower()
    pipeline = make_pipeline(StandardScaler(), clone(estimator))
    pipeline.fit(X, y, **{f"{name}__groups": groups})
    alone = clone(estimator).fit(X, y, groups)
    np.testing.assert_allclose(pipeline.predict(X), alone.predict(X), rtol=1e-6, atol=1e-8)
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(estimator).set_params(cv=2).set_fit_request(groups=True)
        if estimator in RANKERS:
            model.set_score_request(groups=True)
        scores = cross_val_score(model, X, y, params={"groups": groups}, cv=2)
    assert np.isfinite(scores).all()


@each
def test_features_of_groups_alone_order_no_points_of_a_group(data, estimator):
    _, y, groups = data
    by_group = np.column_stack([groups, groups**2]).astype(float)
    if estimator not in RANK_ONLY:  # but they determine the level of the group
        model = clone(estimator).set_params(scoring="r2")
        assert model.fit(by_group, y, groups).score(by_group, y, groups) > 0.0
        return
    for X in (by_group, sp.csr_array(by_group)):
        model = clone(estimator).set_params(kernel="linear")
        if sp.issparse(X) and not model.__sklearn_tags__().input_tags.sparse:
            continue
        with pytest.raises(ValueError, match="X must have a feature that varies inside a group"):
            model.set_params(scale=False).fit(X, y, groups)


@each
def test_bad_data_is_refused_by_name(data, estimator):
    X, y, groups = data
    with pytest.raises(ValueError, match="cv=6 folds need at least as many groups"):
        clone(estimator).set_params(cv=6).fit(X, y, groups)
    with pytest.raises(ValueError, match="y must contain different scores"):
        clone(estimator).fit(X, np.full(40, 2.0), groups)
    with pytest.raises(ValueError, match="groups must have one label for each of the 40"):
        clone(estimator).fit(X, y, groups[:-1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clone(estimator).fit(X, y[:-1])
    with pytest.raises(ValueError, match="X must be square with kernel='precomputed'"):
        clone(estimator).set_params(kernel="precomputed").fit(X, y)


@each_ranker
def test_scores_that_differ_between_groups_only_are_refused(data, estimator):
    X, _, groups = data
    with pytest.raises(ValueError, match="different scores inside a group"):
        clone(estimator).fit(X, groups.astype(float), groups)
    with pytest.raises(ValueError, match="groups leave no pair"):
        clone(estimator).fit(X, np.arange(40.0), np.arange(40))


TOO_MANY = [
    ("RankingPursuitCV", {"n_basis": 33}, "n_basis=33 is more than the 32 candidates"),
    ("KernelMatchingPursuitCV", {"n_basis": 9, "n_candidates": 10}, "n_basis=9 is more than the"),
    ("SparseRankRLSCV", {"n_basis": [5, 33]}, "n_basis=33 is more than the 32 candidates"),
    ("SemiSupervisedRankingPursuitCV", {"n_basis": 17}, "n_basis=17 is more than the 16 cand"),
    (
        "RankingPursuitCV",
        {"ridges": []},
        "ridges must be a list in which each item is a number of at",
    ),
    (
        "RankingPursuitCV",
        {"ridges": [1.0, -1.0]},
        "ridges must be a list in which each item is a num",
    ),
    (
        "RankRLSCV",
        {"alphas": [0.0]},
        "alphas must be a list in which each item is a number above 0",
    ),
    (
        "RankRLSCV",
        {"gammas": [[1.0]]},
        "gammas must be a list in which each item is a number above 0",
    ),
    ("RankRLSCV", {"gammas": 1.0}, "gammas must be a list .* or None; got 1.0"),
    ("RankRLSCV", {"cv": 1}, "cv must be an integer of at least 2 or a splitter"),
    ("RankRLSCV", {"cv": "five"}, "cv must be an integer of at least 2 or a splitter"),
    ("RankRLSCV", {"selection": "worst"}, "selection must be one of 'best', 'sparsest'"),
    (
        "CombinedRankingRegressionPursuitCV",
        {"betas": [0.5, 2.0]},
        "betas must be a list in which each item is a number from 0 to 1",
    ),
    (
        "SemiSupervisedRankingPursuitCV",
        {"shared_basis": True},
        "shared_basis must be False with views",
    ),
    ("SemiSupervisedRankingPursuitCV", {"views": ["rbf"]}, "views holds 1 kernels"),
    *(
        (name, {**parameters, "gammas": [0.1, 1.0]}, f"gammas must be None with {said}, which has")
        for name, parameters, said in [
            ("RankRLSCV", {"kernel": "linear"}, "the kernel 'linear'"),
            ("RLSCV", {"kernel": "precomputed"}, "the kernel 'precomputed'"),
            ("RankingPursuitCV", {"kernel": "cosine"}, "the kernel 'cosine'"),
            ("RankingPursuitCV", {"dictionary": "pairs"}, "dictionary='pairs'"),
            ("SemiSupervisedRankingPursuitCV", {"views": ["linear", "cosine"]}, "the .*'cosine'"),
        ]
    ),
]


@pytest.mark.parametrize(("name", "parameters", "message"), TOO_MANY)
def test_a_bad_parameter_is_named(data, name, parameters, message):
    X, y, groups = data
    with pytest.raises(ValueError, match=message):
        getattr(rankpursuit, name)(**parameters).fit(X, y, groups)


def test_arrays_are_lists_too(data):
    X, y, groups = data
    grid = {"gammas": np.array([0.1, 0.3]), "ridges": np.geomspace(0.1, 1.0, 3)}
    model = RankingPursuitCV(3, **grid).fit(X, y, groups)
    assert len(model.cv_results_["mean_test_score"]) == 2 * 3 * 3


def test_a_search_reports_its_progress_to_callbacks():
    pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9 has no callbacks")
    X, y, groups = grouped_data()
    done = []

    class Recorder:
        def setup(self, estimator, context):
            done.append("setup")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            done.append(context.task_name)

        def teardown(self, estimator, context):
            done.append("teardown")

    model = RankingPursuitCV(3, cv=4).set_callbacks(Recorder()).fit(X, y, groups)
    folds = ["fold"] * 4
    expected = [*folds, "kernel", *folds, "additive", *folds, "pairs", "refit", "fit"]
    assert done == ["setup", *expected, "teardown"]
    plain = RankingPursuitCV(3, cv=4).fit(X, y, groups)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
