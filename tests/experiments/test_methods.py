"""The grids of the runner are the estimators' numbers."""

from dataclasses import replace

import numpy as np
import pytest
from small_experiment import small_config

import rankpursuit
from rankpursuit.errors import ConfigError
from rankpursuit.experiments import evaluate
from rankpursuit.experiments.config import parse_experiment, ratings_of
from rankpursuit.experiments.problem import Problem, view_skills
from rankpursuit.experiments.protocol import build_task, draw_users
from rankpursuit.experiments.registry import METHODS, METRICS, predict_grid
from rankpursuit.metrics import disagreement_error
from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers import pursue
from rankpursuit.solvers.coregularised import split_points

ESTIMATORS = {
    "rls": rankpursuit.RLS,
    "kernel_matching_pursuit": rankpursuit.KernelMatchingPursuit,
    "rank_svm": rankpursuit.RankSVM,
    "rank_rls": rankpursuit.RankRLS,
    "sparse_rank_rls": rankpursuit.SparseRankRLS,
    "ranking_pursuit": rankpursuit.RankingPursuit,
    "semi_supervised_ranking_pursuit": rankpursuit.SemiSupervisedRankingPursuit,
    "combined_ranking_regression_pursuit": rankpursuit.CombinedRankingRegressionPursuit,
}
PARAMETERS = {"lambdas": "alpha"}
WIDTHS = (2.0, 8.0, 16.0, 40.0, 100.0)


def task_of(experiment, number):
    ratings = ratings_of(experiment.data)
    key = {"seed": number, "group": experiment.protocol.groups[number % 2], "repeat": 0}
    user = draw_users(ratings, experiment.protocol, role="test", **key)[number]
    return build_task(ratings, experiment.protocol, role="test", user=int(user), **key)


def problem_of(experiment, number, widths=WIDTHS, parameter="sigma"):
    return Problem.of([task_of(experiment, number)], widths, parameter)


def tasks_of_one_size(experiment):
    """Three tasks of different users and groups with as many items."""
    ratings, protocol = ratings_of(experiment.data), experiment.protocol
    key = {"seed": 1, "repeat": 0, "role": "test"}
    by_size = {}
    for group in protocol.groups:
        for user in draw_users(ratings, protocol, group=group, **key).tolist():
            task = build_task(ratings, protocol, user=user, group=group, **key)
            by_size.setdefault(len(task.items), []).append(task)
    return max(by_size.values(), key=len)[:3]


def estimator_of(spec, values, problem):
    options = {
        key: value
        for key, value in spec.model_dump().items()
        if key in ("fitting", "repeat", "loss", "agreement", "views", "n_views")
    }
    if spec.method == "sparse_rank_rls":
        options["random_state"] = problem.tasks[0].generator("subset")
    if spec.method == "semi_supervised_ranking_pursuit":
        options["random_state"] = problem.tasks[0].generator("views")
    if "group_weight" in ESTIMATORS[spec.method]().get_params():
        options["group_weight"] = "pairs"
    chosen = {PARAMETERS.get(axis, axis): value for axis, value in values.items()}
    return ESTIMATORS[spec.method](**chosen, **options)


SS, CRRP = "semi_supervised_ranking_pursuit", "combined_ranking_regression_pursuit"
RP, KMP = "ranking_pursuit", "kernel_matching_pursuit"
RIDGE = {"n_basis": [0.3, 0.9], "ridge": [0.1, 2]}
SPECS = {
    "rls": {"lambda": [0.125, 1, 8]},
    KMP: {"n_basis": [0.25, 0.5, 1.0], "fitting": "backfit"},
    "matching_prefit": {"method": KMP, "n_basis": [1, 3, 5], "fitting": "prefit"},
    "matching_ridge": {"method": KMP} | RIDGE,
    "rank_svm": {"C": [0.01, 0.1], "loss": "squared_hinge"},
    "rank_svm_hinge": {"method": "rank_svm", "C": [0.01, 0.1], "loss": "hinge"},
    "rank_rls": {"lambda": [0.125, 1, 8]},
    "sparse_rank_rls": {"n_basis": [0.4, 0.8], "lambda": [0.5, 2]},
    RP: {"n_basis": [0.25, 0.5, 1.0]},
    "pursuit_again": {"method": RP, "n_basis": [9, 40], "repeat": True},
    "pursuit_ridge": {"method": RP, "fitting": "backfit"} | RIDGE | {"ridge": [0, 0.5, 8]},
    CRRP: {"n_basis": [0.3, 0.9], "beta": [0.2, 0.5]},
    "combined_ridge": {"method": CRRP, "beta": [0.2, 0.5], "fitting": "prefit"} | RIDGE,
    SS: {"n_basis": [0.3, 1.0], "nu": [0.5, 2]},
    "views_backfit": {"method": SS, "n_basis": [2, 4], "nu": [0, 1], "fitting": "backfit"}
    | {"agreement": "incremental", "n_views": 3},
}
SPECS |= {
    f"{views}_{len(ridge)}": SPECS[SS] | {"method": SS, "views": views, "ridge": ridge}
    for views in ("points", "loss", "features")
    for ridge in ([0], [0.3, 2])
}


@pytest.mark.parametrize("label", SPECS)
@pytest.mark.parametrize("number", range(2))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_point_of_the_grid_is_the_estimator_with_those_parameters(label, number):
    experiment = parse_experiment(small_config(algorithms={label: SPECS[label]}))
    spec = experiment.algorithms[label]
    problem = problem_of(experiment, number)
    grid = predict_grid(problem, spec, slice(problem.n_train, None))
    rng = np.random.default_rng(number)
    axes = [axis.key for axis in METHODS[spec.method].axes]
    at = tuple(int(rng.integers(len(getattr(spec, axis)))) for axis in axes)
    values = {axis: getattr(spec, axis)[index] for axis, index in zip(axes, at, strict=True)}
    width = int(rng.integers(len(WIDTHS)))

    features, y = problem.features[0], problem.scores[0].copy()
    y[problem.n_scored : problem.n_train] = np.nan
    seen = problem.n_train if spec.method.startswith("semi") else problem.n_scored
    estimator = estimator_of(spec, values, problem)
    estimator.set_params(gamma=0.5 / WIDTHS[width] ** 2)
    estimator.fit(features[:seen], y[:seen])
    expected = estimator.predict(features[problem.n_train :])

    point = (problem.kernel_index[0, width], *at)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(grid.values[point], expected, rtol=1e-6, atol=1e-8 * scale)
    sizes = np.broadcast_to(grid.n_basis, grid.values.shape[:-1])
    basis = estimator.basis_
    assert sizes[point] == sum(map(len, basis)) if isinstance(basis, list) else len(basis)
    assert grid.n_points == seen


@pytest.mark.parametrize("label", SPECS)
def test_tasks_of_one_size_in_a_stack_are_each_as_alone(label):
    experiment = parse_experiment(small_config(algorithms={label: SPECS[label]}))
    spec = experiment.algorithms[label]
    tasks = tasks_of_one_size(experiment)
    assert len(tasks) == 3
    together = Problem.of(tasks, WIDTHS, "sigma")
    rows = slice(together.n_train, None)
    grid = predict_grid(together, spec, rows)
    sizes = np.broadcast_to(grid.n_basis, grid.values.shape[:-1])
    for number, task in enumerate(tasks):
        one = Problem.of([task], WIDTHS, "sigma")
        alone = predict_grid(one, spec, rows)
        own = together.task_index == number
        np.testing.assert_array_equal(together.kernel[own], one.kernel)
        np.testing.assert_array_equal(
            together.kernel_index[number] - own.argmax(), one.kernel_index[0]
        )
        scale = np.abs(alone.values).max()
        np.testing.assert_allclose(grid.values[own], alone.values, rtol=1e-9, atol=1e-10 * scale)
        expected = np.broadcast_to(alone.n_basis, alone.values.shape[:-1])
        np.testing.assert_array_equal(sizes[own], expected)


def test_one_kernel_stands_for_all_widths_that_leave_nothing_to_learn():
    experiment = parse_experiment(small_config())
    widths = (1e-6, 1e-4, 1e-3, 10.0, 20.0, 1e12, 1e13)
    problem = problem_of(experiment, 0, widths)
    assert problem.kernel_index.tolist() == [[0, 0, 0, 1, 2, 3, 3]]
    square = problem.kernel[0, : problem.n_train]
    np.testing.assert_array_equal(square, np.eye(problem.n_train))
    np.testing.assert_array_equal(problem.kernel[3], 1.0)
    one = problem.at_width(4)
    np.testing.assert_array_equal(one.kernel, problem.kernel[[2]])


def test_test_points_as_far_from_all_training_points_are_alike():
    experiment = parse_experiment(small_config())
    task = task_of(experiment, 0)
    features = np.zeros_like(task.features)
    features[task.scored, 0] = np.arange(len(task.scored))
    features[task.unscored, 1] = np.arange(len(task.unscored))
    features[task.test, 2] = np.arange(len(task.test)) / 2.0
    features[task.test[3]] = features[task.test[0]]  # equal
    features[task.test[4], 2:4] = -0.0, features[task.test[1], 2]  # elsewhere, and as far
    problem = Problem.of([replace(task, features=features)], WIDTHS, "sigma")
    expected = np.arange(len(task.test))
    expected[[3, 4]] = [0, 1]
    assert problem.duplicate_of.tolist() == [expected.tolist()]


def test_a_kernel_that_is_an_identity_is_1_for_all_equal_points():
    task = task_of(parse_experiment(small_config()), 0)
    features = task.features.copy()
    features[task.test[2]], features[task.train[1]] = (
        features[task.train[0]],
        features[task.train[4]],
    )
    problem = Problem.of([replace(task, features=features)], (1e-9, 8.0), "sigma")
    points = problem.features[0]
    equal = (points[:, None] == points[: problem.n_train]).all(axis=2)
    assert problem.identity.tolist() == [True, False]
    np.testing.assert_array_equal(problem.kernel[0], equal)


def test_rounding_does_not_prefer_one_of_two_points_that_are_alike():
    experiment = parse_experiment(small_config())
    problem = problem_of(experiment, 0)
    duplicate_of = problem.duplicate_of.copy()
    duplicate_of[0, 1] = 0
    problem = replace(problem, duplicate_of=duplicate_of)
    spec = experiment.algorithms["rank_rls"]
    grid = evaluate._predictions(experiment, spec, problem)
    errors = evaluate._errors(experiment, spec, problem, grid, "disagreement")
    tied = predict_grid(problem, spec, slice(problem.n_train, None)).values
    tied[..., 1] = tied[..., 0]
    expected = disagreement_error(problem.scores[0, problem.n_train :], tied, ties="half")
    np.testing.assert_array_equal(errors, expected)


def test_linear_rank_rls_ties_items_that_differ_in_constant_features_alone():
    algorithms = {"linear_rank_rls": {"lambda": [0.1, 100.0]}}
    experiment = parse_experiment(small_config(algorithms=algorithms))
    task = task_of(experiment, 0)
    features = task.features.copy()
    features[task.scored, 0] = 3.45  # all scored items have it
    features[task.test, 0] = np.linspace(-9.7, 8.3, len(task.test))
    features[task.test[1:3], 1:] = features[task.test[0], 1:]
    problem = Problem.of([replace(task, features=features)], WIDTHS[:1], "sigma")
    spec = experiment.algorithms["linear_rank_rls"]
    values = predict_grid(problem, spec, slice(problem.n_train, None)).values[0]
    assert (values[:, :3] == values[:, :1]).all()
    scored, scores = features[task.scored, 1:], task.scores[task.scored]
    for own, alpha in zip(values, (0.1, 100.0), strict=True):
        model = rankpursuit.RankRLS(alpha, kernel="linear", group_weight="pairs")
        model.fit(scored, scores)
        np.testing.assert_allclose(own, model.predict(features[task.test, 1:]), rtol=1e-6)


TWO_WIDTHS = (8.0, 40.0)


def task_and_spec(**options):
    algorithms = {SS: {"n_basis": [2, 3], "nu": [0, 1.5]} | options}
    experiment = parse_experiment(small_config(algorithms=algorithms))
    ratings, protocol = ratings_of(experiment.data), experiment.protocol
    key = {"seed": 3, "group": protocol.groups[1], "repeat": 0, "role": "test"}
    user = int(draw_users(ratings, protocol, **key)[0])
    return build_task(ratings, protocol, user=user, **key), experiment.algorithms[SS]


def predictions(task, spec):
    problem = Problem.of([task], TWO_WIDTHS, "sigma")
    return predict_grid(problem, spec, slice(problem.n_train, None))


def test_halves_of_the_scored_dictionary_without_agreement_are_the_mean_of_two_pursuits():
    task, spec = task_and_spec(dictionary="scored")
    problem = Problem.of([task], TWO_WIDTHS, "sigma")
    form, n = GroupPreferences.single(problem.n_scored), problem.n_scored
    halves = split_points(np.ones(n, dtype=bool), 2, task.generator("views"))
    parts = []
    for half in halves:
        rows = form.root(problem.scored_kernel[:, :, half])
        path = pursue(rows, form.root_vectors(problem.scored_scores), 3)
        parts.append(path.predict(problem.kernel[:, problem.n_train :, half], np.array([2, 3])))
    found = predictions(task, spec)
    np.testing.assert_allclose(found.values[:, 0, 0], np.mean(parts, axis=0), atol=1e-9)
    assert found.n_points == n


def test_scored_dictionary_and_agreement_see_nothing_of_unscored_points():
    task, spec = task_and_spec(dictionary="scored", agreed="scored", ridge=[0, 0.3])
    without = replace(task, train=task.scored, unscored=task.unscored[:0])
    _, plain = task_and_spec(ridge=[0, 0.3])
    found, expected = predictions(task, spec), predictions(without, plain)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-9)
    np.testing.assert_array_equal(found.n_basis, expected.n_basis)


@pytest.mark.parametrize("views", ["points", "loss", "features"])
def test_where_views_agree_matters_with_a_weight_and_only_then(views):
    task, spec = task_and_spec(views=views)
    values = predictions(task, spec).values
    elsewhere = predictions(task, spec.model_copy(update={"agreed": "scored"})).values
    np.testing.assert_array_equal(values[:, :, 0], elsewhere[:, :, 0])
    assert not np.allclose(values[:, :, 1], elsewhere[:, :, 1])


@pytest.mark.parametrize("n_views", [2, 3])
def test_median_of_two_views_is_their_mean_and_of_three_is_not(n_views):
    task, spec = task_and_spec(n_views=n_views)
    mean = predictions(task, spec).values
    median = predictions(task, spec.model_copy(update={"aggregation": "median"})).values
    assert np.allclose(mean, median, rtol=1e-9) == (n_views == 2)


def test_skill_of_a_view_is_measured_on_the_scored_points_of_the_others():
    task, _ = task_and_spec(views="loss", n_views=2, aggregation="weighted")
    problem = Problem.of([task], TWO_WIDTHS, "sigma")
    is_scored = np.arange(problem.n_train) < problem.n_scored
    split = split_points(is_scored, 2, task.generator("views"))
    own = [np.tile(part[part < problem.n_scored], (len(problem.gammas), 1)) for part in split]
    rng = np.random.default_rng(0)
    shape = (len(problem.gammas), 2, 3, problem.n_scored)
    values = [rng.normal(size=shape) for _ in range(2)]
    found = view_skills(problem, own, values)
    for view, points in enumerate(split):
        others = np.setdiff1d(np.arange(problem.n_scored), points)
        scores = problem.scores[0, others]
        expected = disagreement_error(scores, values[view][..., others], ties="half")
        np.testing.assert_allclose(found[view], 0.5 - expected)


@pytest.mark.parametrize("options", [{"views": "points"}, {"views": "loss", "n_views": 1}])
def test_weighted_aggregation_without_points_to_weigh_on_is_refused(options):
    with pytest.raises(
        ConfigError, match=r"aggregation: weighted needs views: loss and at least two views"
    ):
        task_and_spec(aggregation="weighted", **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_views": 30}, "30 views need 30 dictionary points"),
        ({"n_views": 20, "dictionary": "scored"}, "20 views need 20 dictionary points"),
        ({"n_views": 10, "views": "loss"}, "10 views need 20 scored training items"),
        ({"n_views": 11, "views": "features"}, "11 views need 11 reference users, got 10"),
    ],
)
def test_more_views_than_a_task_can_fill_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        predictions(*task_and_spec(**options))


SCORES = np.array([[3.0, 1.0, 2.0, 2.0], [1.0, 2.0, 4.0, 0.0]])


@pytest.mark.parametrize("name", METHODS)
def test_the_axes_of_a_method_are_grids_of_its_options(name):
    method = METHODS[name]
    fields = method.options.model_fields
    for axis in method.axes:
        assert (fields[axis.key].alias or axis.key) == axis.column
    assert set(method.minimises) <= set(METRICS)


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_takes_rows_of_scores_beside_stacks_of_predictions(name):
    metric = METRICS[name]
    stack = np.stack([np.stack([row, -row, 0.0 * row]) for row in SCORES])
    errors = metric.function(SCORES, stack)
    assert errors.shape == (2, 3)
    assert (errors[:, 0] < errors[:, 2]).all()
    assert (errors[:, 2] < errors[:, 1]).all()
    shifted = metric.function(SCORES, stack + 1.0)
    assert np.allclose(errors, shifted) == (not metric.offset_sensitive)


def test_a_user_without_an_untied_pair_counts_one_half():
    """With NaN for that user, the error of all users of a unit would be none."""
    scores, predictions = np.array([[1.0, 2.0], [3.0, 3.0]]), np.array([[[1.0, 2.0]], [[0.0, 1.0]]])
    function = METRICS["disagreement"].function
    np.testing.assert_array_equal(function(scores, predictions, ties="untied"), [[0.0], [0.5]])
    predictions[1, 0, 0] = np.nan
    assert np.isnan(function(scores, predictions, ties="untied")[1, 0])
