"""The choice from a table of scores: the best mean, or the simplest within one standard error."""

import numpy as np
import pytest

from rankpursuit.estimators.cv import choose_row, score_table


def table(scores, **axes):
    values = {name: np.array(numbers) for name, numbers in axes.items()}
    return score_table(values, np.array(scores, dtype=np.float64))


def chosen(found, selection):
    """The place of the chosen row along each axis."""
    axes = [values for name, values in found.items() if name.startswith("param_")]
    return np.unravel_index(choose_row(found, selection), [len(np.unique(axis)) for axis in axes])


def around(means, spread):
    """Three folds with these means, each with the standard error spread / sqrt(3)."""
    return np.array(means) + np.multiply.outer([-1.0, 0.0, 1.0], np.full(np.shape(means), spread))


def test_standard_error_is_that_of_a_mean_of_the_folds():
    found = table([[0.0], [3.0], [6.0]], n_basis=[1])
    assert found["mean_test_score"] == [3.0]
    assert found["standard_error"][0] == pytest.approx(3.0 / np.sqrt(3.0))


def test_sparsest_has_the_fewest_functions_within_one_standard_error():
    spread = 0.02 * np.sqrt(3.0)  # a standard error of 0.02
    scores = around([0.70, 0.785, 0.79, 0.80, 0.795], spread)
    found = table(scores, n_basis=[1, 2, 3, 4, 5])
    assert chosen(found, "best") == (3,)
    assert chosen(found, "sparsest") == (1,)
    narrow = table(around([0.70, 0.785, 0.79, 0.80, 0.795], spread / 4), n_basis=[1, 2, 3, 4, 5])
    assert chosen(narrow, "sparsest") == (3,)


def test_the_error_that_counts_is_that_of_the_best_point():
    scores = np.stack([[0.70, 0.80], [0.72, 0.80], [0.95, 0.80]])
    found = table(scores, n_basis=[1, 2])
    assert found["standard_error"][0] > 0.05
    assert chosen(found, "sparsest") == chosen(found, "best") == (1,)


def test_of_as_many_functions_the_largest_ridge_then_the_smallest_gamma_is_simplest():
    axes = {"gamma": [0.1, 1.0], "ridge": [0.5, 8.0, 2.0], "n_basis": [1, 2]}
    scores = np.zeros((3, 2, 3, 2))
    for selection in ("best", "sparsest"):
        assert chosen(table(scores, **axes), selection) == (0, 1, 0)
    scores[:, 0] = -1.0  # the smoother kernel is out
    assert chosen(table(scores, **axes), "best") == (1, 1, 0)
    scores[:, :, 1] = -1.0  # and so is the largest ridge
    assert chosen(table(scores, **axes), "best") == (1, 2, 0)


def test_fewer_functions_outweigh_a_better_mean_but_axes_without_an_order_do_not():
    scores = around([[0.9, 0.91], [0.905, 0.9]], 0.1)
    found = table(scores, beta=[0.0, 0.5], n_basis=[1, 2])
    assert chosen(found, "sparsest") == (1, 0)


def test_rounding_does_not_choose():
    found = table([[0.3, 0.3 + 1e-16], [0.3, 0.3 + 1e-16]], n_basis=[5, 9])
    assert chosen(found, "best") == (0,)


def test_a_fold_without_any_score_does_not_count():
    found = table([[np.nan, np.nan], [0.2, 0.4], [0.4, 0.8]], alpha=[1.0, 2.0])
    np.testing.assert_allclose(found["mean_test_score"], [0.3, 0.6])
    assert chosen(found, "best") == (1,)
    assert np.isnan(found["split0_test_score"]).all()


def test_a_point_without_a_score_in_some_fold_is_never_chosen():
    found = table([[np.nan, 0.1], [0.9, 0.2]], alpha=[1.0, 2.0])
    assert chosen(found, "best") == (1,)
    assert found["rank_test_score"].tolist() == [2, 1]


def test_no_score_at_all_is_refused():
    with pytest.raises(ValueError, match="scoring is undefined in every fold"):
        table(np.full((3, 2), np.nan), alpha=[1.0, 2.0]).choose("best")


def test_results_have_a_row_for_each_point_and_ranks_with_ties():
    found = table([[[1.0, 3.0], [3.0, 2.0]]], gamma=[0.5, 2.0], n_basis=[1, 2])
    assert found["param_gamma"].tolist() == [0.5, 0.5, 2.0, 2.0]
    assert found["param_n_basis"].tolist() == [1, 2, 1, 2]
    assert found["rank_test_score"].tolist() == [4, 1, 1, 3]
