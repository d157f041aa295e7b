import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from made_up import write_results

from rankpursuit.reporting.results import load_results
from rankpursuit.reporting.statistics import (
    MIN_PAIRS,
    bootstrap_interval,
    compare,
    holm,
    mean_ranks,
    savings,
    signed_rank_p,
)


def test_exact_p_of_five_pairs_by_hand():
    # ranks of the negatives sum to 5; 10 of the 32 sets of signs have such a sum of 5 or less:
    # {}, 1, 2, 3, 4, 5, 1+2, 1+3, 1+4, 2+3
    assert signed_rank_p([1, 2, 3, 4, -5]) == pytest.approx(2 * 10 / 32)


def test_zeros_are_left_out_and_ties_share_ranks_by_hand():
    differences = [0, 1, 1, -2, 3]  # ranks 1.5, 1.5, 3, 4; negative 3, positive 7
    variance = 4 * 5 * 9 / 24 - (2**3 - 2) / 48
    z = (3 - 5) / math.sqrt(variance)
    assert signed_rank_p(differences) == pytest.approx(math.erfc(abs(z) / math.sqrt(2)))
    found = compare([1, 3, 2, 1, 5], [1, 2, 1, 3, 2])
    assert (found.n_pairs, found.mean) == (5, pytest.approx(0.6))


def test_differences_that_floats_blur_are_tied():
    blurred = [0.3 - 0.2, 0.2 - 0.1, -(0.9 - 0.7)]
    assert blurred[0] != blurred[1]
    assert signed_rank_p(blurred) == signed_rank_p([1, 1, -2])
    assert signed_rank_p([0.3 - 0.2 - 0.1, 1.0]) == signed_rank_p([1.0])


def test_without_any_difference_nothing_is_significant():
    found = compare([1.0, 2.0], [1.0, 2.0])
    assert (found.p_value, found.mean) == (1.0, 0.0)
    assert not found.significant


@given(
    st.lists(st.integers(1, 1000), min_size=1, max_size=8, unique=True),
    st.lists(st.booleans(), min_size=8, max_size=8),
)
def test_exact_p_is_the_share_of_signs_as_extreme(sizes, signs):
    differences = [s if up else -s for s, up in zip(sizes, signs, strict=False)]
    ranks = scipy.stats.rankdata(sizes)
    sums = [
        sum(rank for rank, up in zip(ranks, flips, strict=True) if up)
        for flips in itertools.product([False, True], repeat=len(ranks))
    ]
    positive = sum(rank for rank, d in zip(ranks, differences, strict=True) if d > 0)
    tail = min(sum(total <= positive for total in sums), sum(total >= positive for total in sums))
    assert signed_rank_p(differences) == pytest.approx(min(1, 2 * tail / len(sums)))


@pytest.mark.parametrize(("n", "method"), [(50, "exact"), (51, "approx")])
def test_distribution_is_exact_up_to_fifty_pairs(n, method):
    differences = np.random.default_rng(0).normal(0.2, size=n)
    other = {"exact": "approx", "approx": "exact"}[method]
    assert signed_rank_p(differences) == scipy.stats.wilcoxon(differences, method=method).pvalue
    assert signed_rank_p(differences) != scipy.stats.wilcoxon(differences, method=other).pvalue


def test_six_pairs_are_the_fewest_that_can_be_significant():
    assert signed_rank_p(np.arange(1, MIN_PAIRS)) > 0.05
    assert signed_rank_p(np.arange(1, MIN_PAIRS + 1)) < 0.05


def test_an_interval_of_skewed_differences_is_that_of_the_resampled_means():
    low, high = bootstrap_interval([0.0] * 9 + [10.0])
    assert 0.0 <= low < 1.0 < 2.0 < high  # mirrored at the mean it would be -1 to 2


def test_holm_by_hand():
    # sorted: 4 x 0.005, 3 x 0.01, 2 x 0.03, then 0.04, which may not fall below the one before
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.6]) == pytest.approx([1.0, 1.0])
    assert holm([]).size == 0


def test_bootstrap_is_seeded_and_agrees_with_theory():
    differences = np.random.default_rng(1).normal(0.1, 1.0, size=400)
    low, high = bootstrap_interval(differences)
    assert (low, high) == bootstrap_interval(differences)
    half = 1.96 * differences.std() / 20
    assert (low, high) == pytest.approx(
        (differences.mean() - half, differences.mean() + half), abs=0.01
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("differences", [[0.25] * 7, [0.3], [0.0, 0.0], [0.1] * 7])
def test_bootstrap_of_equal_differences_is_their_mean_without_a_warning(differences):
    mean = np.mean(differences)
    assert bootstrap_interval(differences) == (mean, mean)


@pytest.mark.parametrize("label", ["ranking_pursuit", "rank_svm"])
def test_savings_leave_out_repeats_that_lack_a_group(tmp_path, label):
    def is_left_out(row):
        return (row["algorithm"], row["group"], row["repeat"]) == (label, "40-60", 3)

    results = load_results(write_results(tmp_path / "run", repeats=4, leave_out=is_left_out))
    saved = savings(results, "disagreement", "ranking_pursuit", "rank_svm")
    assert saved.to_dict() == {1: 0.5, 2: 0.5, 4: 0.5}


def test_effect_and_equivalence_say_how_much_where_p_says_whether():
    worse = compare(np.arange(1.0, 11.0), 0)
    assert worse.effect == 1.0
    assert compare([1, -1, 2, -2], 0).effect == 0.0
    assert compare([1, 2, -3], 0).effect == 0.0  # ranks 1 and 2 against 3
    assert compare([0, 0], 0).effect == 0.0
    (low, high), (lower, upper) = worse.interval, worse.equivalence_interval
    assert low < lower < worse.mean < upper < high


def test_mean_ranks_and_the_critical_difference_are_those_of_demsar(tmp_path):
    errors = {"rls": 0.5, "kernel_matching_pursuit": 0.4, "rank_svm": 0.3, "rank_rls": 0.2}
    gone = {"sparse_rank_rls", "ranking_pursuit"}
    run = load_results(
        write_results(
            tmp_path / "run",
            errors=errors | dict.fromkeys(gone, 0.1),
            leave_out=lambda row: row["algorithm"] in gone,
        )
    )
    ranks, difference = mean_ranks(run, "disagreement")
    assert ranks.to_dict() == {label: 4.0 - at for at, label in enumerate(errors)}
    assert difference == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 30)), rel=1e-3)  # Table 5(a)
