"""Sizes that a table has enough users for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankpursuit.datasets import Ratings
from rankpursuit.errors import TooFewUsersError
from rankpursuit.experiments.config import Protocol
from rankpursuit.experiments.protocol import fitting_sizes
from rankpursuit.experiments.run.plan import make_plan


def table_of(counts):
    """Return ratings of users with so many items each."""
    users = np.repeat(np.arange(len(counts)), counts)
    items = np.concatenate([np.arange(n) for n in counts])
    return Ratings.from_arrays(users, items, items % 5, name="made up")


def plan(counts, protocol, repeats=3):
    return make_plan(
        table_of(counts), protocol, seed=1, repeats=repeats, groups=list(protocol.groups)
    )


def test_what_fits_is_left_as_it_is():
    counts = np.tile(np.arange(20, 120), 40)
    assert fitting_sizes(counts, Protocol()) == {}


def test_users_are_lowered_by_the_same_share_and_nothing_else_changes():
    sizes = fitting_sizes(np.tile(np.arange(20, 90), 3), Protocol())
    assert set(sizes) == {"test_users", "holdout_users", "reference_users"}
    assert len(set(sizes.values())) == 1


def test_groups_of_next_to_nobody_are_left_out():
    counts = np.concatenate([np.full(100, 30), np.full(100, 55), np.full(3, 70)])
    assert fitting_sizes(counts, Protocol())["groups"] == [[20, 40], [40, 60]]


def test_bounds_and_groups_follow_users_with_few_ratings():
    sizes = fitting_sizes(np.tile(np.arange(6, 18), 20), Protocol())
    assert sizes["test_user_bounds"][0] == 10
    assert sizes["groups"][0][0] == 6
    assert sizes["groups"][-1][1] == 17


@pytest.mark.parametrize("counts", [[3, 3, 3], [60], [2, 100]])
def test_a_table_that_is_too_small_for_any_experiment_has_no_sizes(counts):
    assert fitting_sizes(np.array(counts), Protocol()) is None


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(1, 130), min_size=2, max_size=120),
    scored_share=st.sampled_from([None, 0.5]),
)
def test_an_experiment_of_these_sizes_can_be_planned(counts, scored_share):
    protocol = Protocol(scored_share=scored_share)
    sizes = fitting_sizes(np.array(counts), protocol)
    if sizes is not None:
        changed = protocol.model_dump() | sizes
        assert plan(counts, Protocol(**changed)).cells


def test_all_that_there_are_too_few_users_for_is_told_at_once():
    with pytest.raises(TooFewUsersError) as refused:
        plan(np.tile(np.arange(20, 90), 3), Protocol())
    told = refused.value.faults
    assert len(told) == 4
    assert "300 test users and 300 hold-out users" in told[0]
    for fault, group in zip(told[1:], ("20-40", "40-60", "60-80"), strict=True):
        assert f"group {group} has" in fault


def test_a_group_that_loses_its_users_to_the_test_is_told_too():
    protocol = Protocol(
        groups=((50, 60), (61, 70)), test_users=40, holdout_users=4, reference_users=20
    )
    with pytest.raises(TooFewUsersError) as refused:
        plan(np.tile([55, 65], 25), protocol)
    assert len(refused.value.faults) == 2
    assert all("besides" in fault for fault in refused.value.faults)
