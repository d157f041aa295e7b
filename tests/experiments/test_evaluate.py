import numpy as np
from small_experiment import run_of, small_config

from rankpursuit.experiments.evaluate import choose, criteria, joint_error
from rankpursuit.experiments.methods import grid_axes

AXES = {"width": (1.0, 2.0, 4.0), "n_basis": (0.1, 0.5, 1.0)}


def test_the_lowest_error_is_chosen():
    errors = np.array([[0.5, 0.4, 0.5], [0.4, 0.3, 0.35], [0.5, 0.5, 0.5]])
    choice = choose(errors, AXES)
    assert choice.index == (1, 1)
    assert choice.values == {"width": 2.0, "n_basis": 0.5}
    assert choice.holdout_error == 0.3
    assert choice.on_edge == ()


def test_a_choice_on_the_edge_of_its_grid_is_told():
    errors = np.full((3, 3), 0.5)
    errors[2, 1] = 0.1
    assert choose(errors, AXES).on_edge == ("width",)
    errors[0, 0] = 0.0
    assert choose(errors, AXES).on_edge == ("width", "n_basis")


def test_an_axis_of_one_value_has_no_edge():
    assert choose(np.array([[0.2]]), {"width": (1.0,), "beta": (0.5,)}).on_edge == ()


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


def test_a_joint_error_allows_an_error_of_zero():
    zero, other = np.array([0.0, 1.0, 3.0]), np.array([2.0, 1.0, 8.0])
    joint = joint_error([zero, other])
    np.testing.assert_allclose(joint, [0.0 + 2.0, 0.75 + 1.0, 2.25 + 8.0])
    np.testing.assert_allclose(joint_error([100.0 * zero, other]), joint)
    np.testing.assert_allclose(joint_error([np.zeros(3), other]), other)


def test_crrp_is_tuned_by_its_own_errors_when_the_hold_out_is_ordered_without_error():
    label = "combined_ranking_regression_pursuit"
    run = run_of(small_config(tuning="own"), only=[label])
    shape = [len(v) for v in grid_axes(run.experiment.algorithms[label], (1, 2, 4, 8)).values()]
    errors = {"disagreement": np.zeros(shape), "squared_error": np.ones(shape)}
    choices = run.choose(label, errors)
    assert choices["disagreement"].holdout_error == 0.0
