"""The grids of the runner are the estimators' numbers."""

from dataclasses import replace

import numpy as np
import pytest
from small_experiment import small_config

import rankpursuit
from rankpursuit.experiments.catalogue import METHODS, METRICS
from rankpursuit.experiments.config import parse_experiment, ratings_of
from rankpursuit.experiments.methods import predict_grid
from rankpursuit.experiments.run import evaluate
from rankpursuit.experiments.tasks import Problem, build_task, draw_users
from rankpursuit.experiments.tasks import problem as problem_module
from rankpursuit.metrics import disagreement_error

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


SPECS = {
    "rls": {"lambda": [0.125, 1, 8]},
    "kernel_matching_pursuit": {"n_basis": [0.25, 0.5, 1.0], "fitting": "backfit"},
    "matching_pursuit_prefit": {
        "method": "kernel_matching_pursuit",
        "n_basis": [1, 3, 5],
        "fitting": "prefit",
    },
    "rank_svm": {"C": [0.01, 0.1], "loss": "squared_hinge"},
    "rank_svm_hinge": {"method": "rank_svm", "C": [0.01, 0.1], "loss": "hinge"},
    "rank_rls": {"lambda": [0.125, 1, 8]},
    "sparse_rank_rls": {"n_basis": [0.4, 0.8], "lambda": [0.5, 2]},
    "ranking_pursuit": {"n_basis": [0.25, 0.5, 1.0]},
    "ranking_pursuit_again": {"method": "ranking_pursuit", "n_basis": [9, 40], "repeat": True},
    "ranking_pursuit_ridge": {
        "method": "ranking_pursuit",
        "n_basis": [0.3, 0.9],
        "ridge": [0, 0.5, 8],
        "fitting": "backfit",
    },
    "matching_pursuit_ridge": {
        "method": "kernel_matching_pursuit",
        "n_basis": [0.3, 0.9],
        "ridge": [0.1, 2],
    },
    "combined_ridge": {
        "method": "combined_ranking_regression_pursuit",
        "n_basis": [0.3, 0.9],
        "beta": [0.2, 0.5],
        "ridge": [0.1, 2],
        "fitting": "prefit",
    },
    "semi_supervised_ranking_pursuit": {"n_basis": [0.3, 1.0], "nu": [0.5, 2]},
    "semi_supervised_backfit": {
        "method": "semi_supervised_ranking_pursuit",
        "n_basis": [2, 4],
        "nu": [0, 1],
        "fitting": "backfit",
        "agreement": "incremental",
        "n_views": 3,
    },
    "combined_ranking_regression_pursuit": {"n_basis": [0.3, 0.9], "beta": [0.2, 0.5]},
} | {
    f"semi_supervised_{views}_{len(ridge)}": {
        "method": "semi_supervised_ranking_pursuit",
        "n_basis": [0.3, 1.0],
        "nu": [0.5, 2],
        "views": views,
        "ridge": ridge,
    }
    for views in ("points", "loss", "features")
    for ridge in ([0], [0.3, 2])
}


@pytest.mark.parametrize("label", SPECS)
@pytest.mark.parametrize("number", range(4))
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

    point = (problem.of_width[0, width], *at)
    scale = np.abs(expected).max()
    found = grid.over_grid(np.arange(grid.values[..., 0].size).reshape(grid.values.shape[:-1]))
    predicted = grid.values.reshape(-1, len(expected))[found[point]]
    np.testing.assert_allclose(predicted, expected, rtol=1e-6, atol=1e-8 * scale)
    sizes = grid.over_grid(grid.n_basis)
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
        own = together.of_task == number
        np.testing.assert_array_equal(together.kernel[own], one.kernel)
        np.testing.assert_array_equal(together.of_width[number] - own.argmax(), one.of_width[0])
        scale = np.abs(alone.values).max()
        np.testing.assert_allclose(grid.values[own], alone.values, rtol=1e-9, atol=1e-10 * scale)
        expected = np.broadcast_to(alone.n_basis, alone.values.shape[:-1])
        np.testing.assert_array_equal(sizes[own], expected)


def test_only_neighbours_of_one_size_are_stacked_and_not_too_many(monkeypatch):
    experiment = parse_experiment(small_config())
    tasks = tasks_of_one_size(experiment)
    size, n_train = len(tasks[0].items), len(tasks[0].train)
    other = replace(tasks[0], items=tasks[0].items[:-1])
    row = [*tasks, other, tasks[0]]
    assert list(problem_module.in_stacks(row, 4)) == [tasks, [other], [tasks[0]]]
    monkeypatch.setattr(problem_module, "_STACKED", 2 * 4 * size * n_train)
    assert list(problem_module.in_stacks(tasks, 4)) == [tasks[:2], tasks[2:]]
    assert list(problem_module.in_stacks(tasks, 400)) == [[task] for task in tasks]


@pytest.mark.parametrize("views", ["loss", "features"])
def test_other_readings_of_the_views_agree_more_with_a_larger_nu(views):
    spec = {"n_basis": [1.0], "nu": [0, 100], "views": views}
    experiment = parse_experiment(
        small_config(algorithms={"semi_supervised_ranking_pursuit": spec})
    )
    problem = problem_of(experiment, 1)
    grid = predict_grid(
        problem, experiment.algorithms["semi_supervised_ranking_pursuit"], slice(None)
    )
    assert grid.values.shape == (len(problem.gammas), 1, 2, 1, problem.scores.shape[1])
    assert np.isfinite(grid.values).all()
    assert not np.allclose(grid.values[:, 0, 0], grid.values[:, 0, 1])


def test_one_kernel_stands_for_all_widths_that_leave_nothing_to_learn():
    experiment = parse_experiment(small_config())
    widths = (1e-6, 1e-4, 1e-3, 10.0, 20.0, 1e12, 1e13)
    problem = problem_of(experiment, 0, widths)
    assert problem.of_width.tolist() == [[0, 0, 0, 1, 2, 3, 3]]
    square = problem.kernel[0, : problem.n_train]
    np.testing.assert_array_equal(square, np.eye(problem.n_train))
    np.testing.assert_array_equal(problem.kernel[3], 1.0)
    one = problem.at_width(4)
    np.testing.assert_array_equal(one.kernel, problem.kernel[[2]])


def test_a_width_may_be_read_as_gamma():
    experiment = parse_experiment(small_config())
    by_sigma = problem_of(experiment, 0, (8.0, 16.0))
    by_gamma = problem_of(experiment, 0, (0.5 / 64, 0.5 / 256), "gamma")
    np.testing.assert_array_equal(by_sigma.kernel, by_gamma.kernel)


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
    assert problem.alike.tolist() == [expected.tolist()]


def test_rounding_does_not_prefer_one_of_two_points_that_are_alike():
    experiment = parse_experiment(small_config())
    problem = problem_of(experiment, 0)
    alike = problem.alike.copy()
    alike[0, 1] = 0
    problem = replace(problem, alike=alike)
    spec = experiment.algorithms["rank_rls"]
    grid = evaluate._predictions(experiment, spec, problem)
    errors = evaluate._errors(experiment, spec, problem, grid, METRICS["disagreement"])
    tied = predict_grid(problem, spec, slice(problem.n_train, None)).values
    tied[..., 1] = tied[..., 0]
    expected = disagreement_error(problem.scores[0, problem.n_train :], tied, ties="half")
    np.testing.assert_array_equal(errors, expected)
