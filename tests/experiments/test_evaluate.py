import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from small_experiment import run_of, small_config

from rankpursuit import RankRLS
from rankpursuit.errors import ConfigError
from rankpursuit.experiments import evaluate
from rankpursuit.experiments.config import parse_experiment
from rankpursuit.experiments.evaluate import (
    FOLDS,
    choose,
    choose_parameters,
    criteria,
    evaluate_unit,
    joint_error,
    tasks_of,
)
from rankpursuit.experiments.problem import batch_by_size
from rankpursuit.experiments.registry import METHODS, grid_axes, predict_grid
from rankpursuit.metrics import disagreement_error

AXES = {"width": (1.0, 2.0, 4.0), "n_basis": (0.1, 0.5, 1.0)}


def test_a_choice_on_the_edge_of_its_grid_is_told():
    errors = np.full((3, 3), 0.5)
    errors[2, 1] = 0.1
    assert choose(errors, AXES).on_edge == ("width",)
    errors[0, 0] = 0.0
    assert choose(errors, AXES).on_edge == ("width", "n_basis")


def test_ties_go_to_fewer_functions_then_to_the_smoother_width():
    assert choose(np.zeros((3, 3)), AXES).values == {"width": 4.0, "n_basis": 0.1}
    narrow = choose(np.zeros((3, 3)), AXES, wide_is_smooth=False)
    assert narrow.values == {"width": 1.0, "n_basis": 0.1}


def test_ties_go_to_the_more_regularised_model():
    axes = {"width": (1.0,), "n_basis": (0.1, 0.5), "lambdas": (1.0, 2.0)}
    errors = np.array([[[0.3, 0.2], [0.2, 0.2]]])
    assert choose(errors, axes).values["lambdas"] == 2.0
    assert choose(errors, axes).values["n_basis"] == 0.1
    assert choose(np.zeros((1, 2)), {"width": (1.0,), "C": (1.0, 2.0)}).values["C"] == 1.0
    assert choose(np.zeros((1, 2)), {"width": (1.0,), "nu": (1.0, 2.0)}).values["nu"] == 2.0


def test_errors_that_differ_by_rounding_are_ties():
    errors = np.array([[0.3 + 1e-16, 0.3, 0.3 - 1e-16]])
    axes = {"width": (1.0,), "n_basis": (0.1, 0.5, 1.0)}
    assert choose(errors, axes).values["n_basis"] == 0.1


def test_a_method_is_tuned_by_the_reported_error_or_by_its_own():
    assert criteria("rls", "reported", "disagreement") == ("disagreement",)
    assert criteria("rank_rls", "reported", "squared_error") == ("squared_error",)
    assert criteria("rls", "own", "disagreement") == ("squared_error",)
    assert criteria("rank_svm", "own", "squared_error") == ("disagreement",)
    both = criteria("combined_ranking_regression_pursuit", "own", "disagreement")
    assert set(both) == {"disagreement", "squared_error"}


def test_a_joint_error_does_not_depend_on_the_scales():
    one, two = np.array([1.0, 1.2, 3.0]), np.array([40.0, 20.0, 25.0])
    joint = joint_error([one, two])
    np.testing.assert_allclose(joint, [3.0, 2.2, 4.25])
    np.testing.assert_allclose(joint_error([100.0 * one, two]), joint)
    assert joint_error([two]) is two


def grid_errors(experiment, seed=0):
    """Return random errors over the grid of every algorithm."""
    random = np.random.default_rng(seed)
    widths = experiment.kernel.widths
    axes = {label: grid_axes(spec, widths) for label, spec in experiment.algorithms.items()}
    return {
        label: {"disagreement": random.uniform(0.3, 0.5, [len(v) for v in own.values()])}
        for label, own in axes.items()
    }


def lowest_by_width(errors):
    return errors.reshape(len(errors), -1).min(axis=1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shared", ["all", "ranking"])
def test_a_shared_width_is_the_best_for_the_methods_that_choose_it(shared, seed):
    config = small_config(metrics=["disagreement"])
    config["kernel"] = config["kernel"] | {"shared": shared}
    experiment = parse_experiment(config)
    errors = grid_errors(experiment, seed)
    deciding = [
        lowest_by_width(errors[label]["disagreement"])
        for label in errors
        if shared == "all" or METHODS[experiment.algorithms[label].method].rank_only
    ]
    expected = experiment.kernel.widths[int(sum(x / x.min() for x in deciding).argmin())]
    choices = choose_parameters(experiment, errors)
    assert {choice["disagreement"].values["width"] for choice in choices.values()} == {expected}
    for label, choice in choices.items():
        own = errors[label]["disagreement"][experiment.kernel.widths.index(expected)]
        assert choice["disagreement"].holdout_error == own.min()


def test_the_random_subset_is_as_large_as_the_model_of_ranking_pursuit():
    config = small_config(metrics=["disagreement"])
    spec = {"size_from": "ranking_pursuit", "n_basis": [0.05, 0.35, 0.65, 0.95]}
    config["algorithms"]["sparse_rank_rls"] |= spec
    experiment = parse_experiment(config)
    for seed in range(5):
        errors = grid_errors(experiment, seed)
        choices = choose_parameters(experiment, errors)
        size = choices["ranking_pursuit"]["disagreement"].values["n_basis"]
        chosen = choices["sparse_rank_rls"]["disagreement"]
        nearest = min(spec["n_basis"], key=lambda other: abs(other - size))
        assert chosen.values["n_basis"] == nearest
        at = spec["n_basis"].index(nearest)
        assert chosen.holdout_error == errors["sparse_rank_rls"]["disagreement"][:, at].min()


@pytest.mark.filterwarnings("ignore:nearly all values of the kernel:UserWarning")
def test_parameters_of_a_user_are_those_of_the_lowest_error_over_the_folds():
    run = run_of(small_config(tuning_on="user"), only=["rank_rls"])
    experiment, (cell, *_) = run.experiment, run.plan.cells
    assert run.plan.units[cell, "holdout"] == ()
    unit = replace(run.plan.units[cell, "test"][0], users=run.plan.units[cell, "test"][0].users[:3])
    result = evaluate_unit(experiment, unit, ("rank_rls",), {}).results["rank_rls"]
    options, widths = experiment.algorithms["rank_rls"], experiment.kernel.widths
    users = [user for user in result.users if user.metric == "disagreement"]
    for user, task in zip(users, tasks_of(experiment, unit), strict=True):
        errors = np.zeros((len(widths), len(options.lambdas)))
        for fold in task.folds(min(FOLDS, len(task.scored) // 2)):  # a fit for every point
            errors += [[error_of(fold, w, lam) for lam in options.lambdas] for w in widths]
        chosen = choose(errors, {"width": widths, "lambdas": options.lambdas}).values
        expected = error_of(task, chosen["width"], chosen["lambdas"])
        np.testing.assert_allclose(user.error, expected, atol=1e-9)


def test_hold_out_errors_are_those_of_fits_by_hand_on_the_test_items():
    run = run_of(small_config(kernel={"widths": [4, 16]}), only=["rank_rls"])
    unit = run.plan.units[run.plan.cells[0], "holdout"][0]
    errors = evaluate_unit(run.experiment, unit, ("rank_rls",), {}).results["rank_rls"].sums
    lambdas = run.experiment.algorithms["rank_rls"].lambdas
    expected = np.zeros((2, len(lambdas)))
    for task in tasks_of(run.experiment, unit):
        expected += [[error_of(task, width, lam) for lam in lambdas] for width in (4, 16)]
    np.testing.assert_allclose(errors["disagreement"], expected, atol=1e-9)


def test_seconds_are_those_of_all_stacks_of_users(monkeypatch):
    run = run_of(small_config(), only=["rls"])
    unit = run.plan.units[run.plan.cells[0], "holdout"][0]
    n_widths = len(run.experiment.kernel.widths)
    n_stacks = len(list(batch_by_size(tasks_of(run.experiment, unit), n_widths)))
    assert n_stacks > 1
    clock = SimpleNamespace(perf_counter=itertools.count().__next__)  # a second between two looks
    monkeypatch.setattr(evaluate, "time", clock)
    found = evaluate_unit(run.experiment, unit, ("rls",), {}).results["rls"].seconds
    assert found == n_stacks


@pytest.mark.parametrize("offset", ["raw", "training_mean"])
def test_no_score_of_an_unscored_item_changes_a_result(offset, monkeypatch):
    run = run_of(small_config(offset=offset, repeats=1))
    cell, results = run.plan.cells[0], []

    def tasks_with_other_scores(experiment, unit):
        for task in tasks_of(experiment, unit):
            assert len(task.unscored) > 0
            scores = task.scores.copy()
            scores[task.unscored] = 1000.0 * np.arange(len(task.unscored))
            yield replace(task, scores=scores)

    for tasks in (tasks_of, lambda *unit: list(tasks_with_other_scores(*unit))):
        monkeypatch.setattr(evaluate, "tasks_of", tasks)
        holdout, test = (run.plan.units[cell, role][0] for role in ("holdout", "test"))
        before = evaluate_unit(run.experiment, holdout, run.labels, {}).results
        choices = choose_parameters(run.experiment, {x: before[x].sums for x in run.labels})
        after = evaluate_unit(run.experiment, test, run.labels, choices).results
        results.append([(before[x].sums, after[x].users) for x in run.labels])
    for (sums, users), (other_sums, other_users) in zip(*results, strict=True):
        assert users == other_users
        for metric in sums:
            np.testing.assert_array_equal(sums[metric], other_sums[metric])


def error_of(task, width, lam):
    model = RankRLS(alpha=lam, gamma=1 / (2 * width**2), group_weight="pairs")
    model.fit(task.features[task.scored], task.scores[task.scored])
    predicted = model.predict(task.features[task.test])
    return disagreement_error(task.scores[task.test], predicted, ties="half")


def test_only_some_algorithms_cannot_be_run_if_choices_depend_on_others():
    config = small_config()
    config["kernel"] = config["kernel"] | {"shared": "all"}
    with pytest.raises(ConfigError, match="--only: the parameters of an algorithm depend on"):
        run_of(config, only=["rls"])


def test_parameters_of_a_user_that_depend_on_a_failed_algorithm_are_a_failure_too(monkeypatch):
    config = small_config(tuning_on="user", repeats=1)
    sparse = config["algorithms"]["sparse_rank_rls"] | {"size_from": "ranking_pursuit"}
    pursuit = config["algorithms"]["ranking_pursuit"]
    config["algorithms"] = {"sparse_rank_rls": sparse, "ranking_pursuit": pursuit}
    run, real = run_of(config), evaluate.predict_grid

    def broken(problem, options, rows):
        if options.method == "ranking_pursuit":
            raise FloatingPointError("made up")
        return real(problem, options, rows)

    monkeypatch.setattr(evaluate, "predict_grid", broken)
    unit = run.plan.units[run.plan.cells[0], "test"][0]
    found = evaluate_unit(run.experiment, unit, run.labels, {})
    assert found.results == {}
    assert found.failures["ranking_pursuit"].endswith("FloatingPointError: made up")
    assert found.failures["sparse_rank_rls"].endswith("parameters depend on ranking_pursuit")


def test_rounding_of_predictions_changes_no_error_and_no_choice(monkeypatch):
    run = run_of(small_config(), only=["rls", "rank_rls", "ranking_pursuit"])
    units = list(run.plan.of(run.plan.cells[:1], "holdout"))

    def evaluated():
        results = [evaluate_unit(run.experiment, unit, run.labels, {}) for unit in units]
        return {
            label: sum(x.results[label].sums["disagreement"] for x in results)
            for label in run.labels
        }

    def with_noise(problem, options, rows):
        # Equal predictions, as of items with the same features, are equal in exact arithmetic only.
        predictions = predict_grid(problem, options, rows)
        values = predictions.values
        values[..., -2:-1] = values[..., -1:]
        return replace(predictions, values=values * (1.0 + 1e-13 * rng.normal(size=values.shape)))

    rng = np.random.default_rng(0)
    monkeypatch.setattr(evaluate, "predict_grid", with_noise)
    first, second = evaluated(), evaluated()
    for label, errors in first.items():
        np.testing.assert_array_equal(errors, second[label], err_msg=label)


def test_a_joint_error_allows_an_error_of_zero():
    zero, other = np.array([0.0, 1.0, 3.0]), np.array([2.0, 1.0, 8.0])
    joint = joint_error([zero, other])
    np.testing.assert_allclose(joint, [0.0 + 2.0, 0.75 + 1.0, 2.25 + 8.0])
    np.testing.assert_allclose(joint_error([100.0 * zero, other]), joint)
    np.testing.assert_allclose(joint_error([np.zeros(3), other]), other)
