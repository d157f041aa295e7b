import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rankpursuit.datasets import Ratings, make_ratings
from rankpursuit.experiments.protocol import (
    Protocol,
    build_task,
    draw_users,
    fitting_sizes,
    group_users,
    too_few_users,
    unrated_task,
)

TABLE = make_ratings(400, 60, seed=5)
GROUP = (20, 40)


def changed(protocol, **fields):
    """Return the protocol with some fields changed."""
    return Protocol(**(protocol.model_dump() | fields))


PROTOCOL = Protocol(
    groups=(GROUP, (30, 60)),
    test_user_bounds=(25, 60),
    reference_users=30,
    scored_share=0.5,
    test_users=40,
    holdout_users=40,
)
KEY = {"seed": 1, "group": GROUP, "repeat": 0, "role": "test"}
FIELDS = ("reference", "features", "scores", "train", "test", "scored", "unscored", "items")


def same(first, second, fields=FIELDS):
    return all(np.array_equal(getattr(first, f), getattr(second, f)) for f in fields)


def with_values(table, values):
    return Ratings(
        table.name, table.user_ids, table.item_ids, table.offsets, table.items, values.copy()
    )


def hand_worked():
    """Return the ratings of four users, of whom Tess is tested.

    items   a   b   c   d   e   f
    Ann     1   .   4   .   9   .      median 4
    Bob     .   2   .   .   .   7      median 4.5
    Cid     .   .   .   8   .   .      (one rating: in no group)
    Tess    5   3   .   1   2   6
    """
    rows = {
        "Ann": {"a": 1, "c": 4, "e": 9},
        "Bob": {"b": 2, "f": 7},
        "Cid": {"d": 8},
        "Tess": {"a": 5, "b": 3, "d": 1, "e": 2, "f": 6},
    }
    cells = [(user, item, value) for user, row in rows.items() for item, value in row.items()]
    return Ratings.from_arrays(*zip(*cells, strict=True), name="hand")


@pytest.mark.parametrize("fill", ["median", "mean"])
@pytest.mark.parametrize("fill_over", ["user", "items", "set"])
@pytest.mark.parametrize("code", [None, 99.0, -1.0])
def test_missing_ratings_are_filled_over_all_ratings_the_items_at_hand_or_each_set(
    fill, fill_over, code
):
    protocol = changed(PROTOCOL, fill=fill, fill_over=fill_over, missing_code=code)
    middle = np.median if fill == "median" else np.mean
    for user in draw_users(TABLE, protocol, **KEY)[:5]:
        task = build_task(TABLE, protocol, **KEY, user=user)
        parts = [task.train, task.test] if fill_over == "set" else [np.arange(len(task.items))]
        for rows in parts:
            for column, other in enumerate(task.reference):
                given = dict(zip(TABLE.user_items(other), TABLE.user_ratings(other), strict=True))
                every = {} if code is None else dict.fromkeys(range(TABLE.n_items), code)
                every |= given
                at_hand = [every[item] for item in task.items[rows] if item in every]
                if fill_over == "user" or not at_hand:
                    at_hand = list(every.values())
                expected = [given.get(item, middle(at_hand)) for item in task.items[rows]]
                np.testing.assert_allclose(task.features[rows, column], expected)


def test_mean_ratings_are_over_the_reference_users_who_rated_an_item():
    table = hand_worked()
    protocol = Protocol(
        groups=((2, 3),), test_user_bounds=(5, 5), test_users=1, reference_users=2, holdout_users=1
    )
    key = KEY | {"group": (2, 3)}
    tess = int(np.flatnonzero(np.asarray(table.user_ids) == "Tess")[0])
    task = build_task(table, protocol, **key, user=tess)
    # a: Ann's; b: Bob's; d: nobody's, so the mean of all ratings of both; e: Ann's; f: Bob's
    np.testing.assert_allclose(task.mean_ratings, [1, 2, (1 + 4 + 9 + 2 + 7) / 5, 9, 7])


def test_folds_test_every_scored_item_once_and_keep_the_others_for_training():
    user = draw_users(TABLE, PROTOCOL, **KEY)[0]
    task = build_task(TABLE, PROTOCOL, **KEY, user=user)
    folds = task.folds(3)
    np.testing.assert_array_equal(np.sort(np.concatenate([f.test for f in folds])), task.scored)
    for fold in folds:
        np.testing.assert_array_equal(np.union1d(fold.scored, fold.test), task.scored)
        np.testing.assert_array_equal(np.union1d(fold.scored, fold.unscored), fold.train)
        assert not np.isin(task.test, np.union1d(fold.train, fold.test)).any()


@pytest.mark.parametrize(
    ("fill", "ann", "bob"),
    [
        ("median", [1, 4, 4, 9, 4], [4.5, 2, 4.5, 4.5, 7]),
        ("mean", [1, 14 / 3, 14 / 3, 9, 14 / 3], [4.5, 2, 4.5, 4.5, 7]),
        ("zero", [1, 0, 0, 9, 0], [0, 2, 0, 0, 7]),
    ],
)
def test_the_features_of_a_hand_worked_example(fill, ann, bob):
    table = hand_worked()
    protocol = Protocol(
        groups=((2, 3),),
        test_user_bounds=(4, 6),
        reference_users=2,
        test_users=1,
        holdout_users=1,
        fill=fill,
    )
    key = {"seed": 0, "group": (2, 3), "repeat": 0, "role": "test"}
    task = build_task(table, protocol, **key, user=3)
    assert [table.item_ids[item] for item in task.items] == ["a", "b", "d", "e", "f"]
    assert task.scores.tolist() == [5, 3, 1, 2, 6]
    assert sorted(task.reference) == [0, 1]
    expected = {0: ann, 1: bob}
    for column, reference in enumerate(task.reference):
        assert task.features[:, column] == pytest.approx(expected[reference])
    assert (len(task.train), len(task.test)) == (2, 3)


@pytest.mark.parametrize("scored_share", [None, 0.5, 0.3])
def test_items_are_split_without_loss_or_overlap(scored_share):
    protocol = changed(PROTOCOL, scored_share=scored_share)
    for user in draw_users(TABLE, protocol, **KEY):
        task = build_task(TABLE, protocol, **KEY, user=user)
        n_train, n_scored = protocol.sizes(len(task.items))
        assert (len(task.train), len(task.scored)) == (n_train, n_scored)
        assert sorted([*task.train, *task.test]) == list(range(len(task.items)))
        assert sorted([*task.scored, *task.unscored]) == task.train.tolist()


def test_reference_users_are_distinct_members_of_the_group_without_the_user():
    group, protocol = (30, 60), changed(PROTOCOL, groups=((30, 60),))
    key = KEY | {"group": group}
    members = set(group_users(TABLE, group))
    for user in draw_users(TABLE, protocol, **key):
        reference = build_task(TABLE, protocol, **key, user=user).reference
        assert len(set(reference)) == protocol.reference_users
        assert set(reference) <= members - {user}


def test_groups_include_both_ends():
    assert set(TABLE.counts[group_users(TABLE, GROUP)]) == set(range(20, 41))


# No test rating may take part in training.


def test_test_ratings_of_the_user_change_nothing_but_the_test_scores():
    protocol = changed(PROTOCOL, groups=((30, 60),))
    key = KEY | {"group": (30, 60)}  # the user is in the group as well
    for user in draw_users(TABLE, protocol, **key)[:10]:
        task = build_task(TABLE, protocol, **key, user=user)
        values = TABLE.values.copy()
        values[TABLE.offsets[user] + task.test] = 1000.0
        other = build_task(with_values(TABLE, values), protocol, **key, user=user)
        assert same(task, other, tuple(field for field in FIELDS if field != "scores"))
        assert np.array_equal(task.scores[task.train], other.scores[task.train])
        assert (other.scores[task.test] == 1000).all()


@pytest.mark.parametrize("group", PROTOCOL.groups)
def test_no_rating_of_any_test_user_reaches_a_hold_out_task(group):
    key = KEY | {"group": group}
    values = TABLE.values.copy()
    for user in draw_users(TABLE, PROTOCOL, **key):
        values[TABLE.offsets[user] : TABLE.offsets[user + 1]] = 1000.0
    changed = with_values(TABLE, values)
    key = key | {"role": "holdout"}
    for user in draw_users(TABLE, PROTOCOL, **key):
        before = build_task(TABLE, PROTOCOL, **key, user=user)
        assert same(before, build_task(changed, PROTOCOL, **key, user=user))


@given(seed=st.integers(0, 2**32 - 1), repeat=st.integers(0, 9))
def test_hold_out_users_are_never_test_users_of_the_repeat(seed, repeat):
    key = {"seed": seed, "group": GROUP, "repeat": repeat}
    test = draw_users(TABLE, PROTOCOL, **key, role="test")
    holdout = draw_users(TABLE, PROTOCOL, **key, role="holdout")
    assert len(set(test) | set(holdout)) == 80
    assert all(25 <= count <= 60 for count in TABLE.counts[[*test, *holdout]])


# The same task whatever else runs.


@pytest.mark.parametrize(("role", "field"), [("test", "test_users"), ("holdout", "holdout_users")])
def test_fewer_users_are_the_first_of_more(role, field):
    key = KEY | {"role": role}
    more = draw_users(TABLE, PROTOCOL, **key)
    fewer = draw_users(TABLE, changed(PROTOCOL, **{field: 7}), **key)
    assert fewer.tolist() == more[:7].tolist()


@pytest.mark.parametrize(("role", "other"), [("test", "holdout_users"), ("holdout", "test_users")])
def test_the_number_of_users_of_one_role_does_not_change_those_of_the_other(role, other):
    key = KEY | {"role": role}
    expected = draw_users(TABLE, PROTOCOL, **key).tolist()
    assert draw_users(TABLE, changed(PROTOCOL, **{other: 1}), **key).tolist() == expected


def test_a_task_does_not_depend_on_the_order_or_on_the_other_groups():
    users = draw_users(TABLE, PROTOCOL, **KEY)[:5]
    forwards = [build_task(TABLE, PROTOCOL, **KEY, user=user) for user in users]
    alone = changed(PROTOCOL, groups=(GROUP,))
    backwards = [build_task(TABLE, alone, **KEY, user=user) for user in users[::-1]]
    assert all(same(a, b) for a, b in zip(forwards, backwards[::-1], strict=True))


@pytest.mark.parametrize(
    "change", [{"seed": 2}, {"repeat": 1}, {"group": (30, 60)}, {"role": "holdout"}]
)
def test_each_part_of_the_key_changes_users_and_tasks(change):
    users = draw_users(TABLE, PROTOCOL, **KEY)
    assert set(draw_users(TABLE, PROTOCOL, **KEY | change)) != set(users)
    first = build_task(TABLE, PROTOCOL, **KEY, user=users[0])
    other = build_task(TABLE, PROTOCOL, **KEY | change, user=users[0])
    assert not np.array_equal(first.train, other.train)
    assert not np.array_equal(first.reference, other.reference)


def test_a_generator_belongs_to_a_task_and_a_purpose():
    users = draw_users(TABLE, PROTOCOL, **KEY)
    first, second = (build_task(TABLE, PROTOCOL, **KEY, user=user) for user in users[:2])
    draws = [
        task.generator(purpose).integers(2**62)
        for task in (first, second)
        for purpose in ("views", "subset")
    ]
    assert len(set(draws)) == 4
    assert first.generator("views").integers(2**62) == draws[0]


# Refusals.


def test_test_and_hold_out_users_are_all_that_there_are_and_no_user_is_both():
    possible = group_users(TABLE, PROTOCOL.test_user_bounds)
    sizes = {"test_users": 40, "holdout_users": len(possible) - 40}
    protocol = changed(PROTOCOL, **sizes)
    assert too_few_users(TABLE.counts, protocol, [GROUP]) == []
    drawn = [draw_users(TABLE, protocol, **KEY | {"role": role}) for role in ("test", "holdout")]
    np.testing.assert_array_equal(np.sort(np.concatenate(drawn)), possible)
    for size in sizes:  # one user would be both
        wider = changed(protocol, **{size: sizes[size] + 1})
        assert f"{len(possible)} users have" in too_few_users(TABLE.counts, wider, [GROUP])[0]


def test_the_arrays_of_a_task_are_read_only():
    task = build_task(TABLE, PROTOCOL, **KEY, user=draw_users(TABLE, PROTOCOL, **KEY)[0])
    for field in FIELDS:
        with pytest.raises(ValueError, match="read-only"):
            getattr(task, field)[0] = 0


def table_of(counts):
    """Return ratings of users with so many items each."""
    users = np.repeat(np.arange(len(counts)), counts)
    items = np.concatenate([np.arange(n) for n in counts])
    return Ratings.from_arrays(users, items, items % 5, name="made up")


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


@given(
    counts=st.lists(st.integers(1, 130), min_size=2, max_size=120),
    scored_share=st.sampled_from([None, 0.5]),
)
def test_an_experiment_of_these_sizes_can_be_planned(counts, scored_share):
    protocol = Protocol(scored_share=scored_share)
    sizes = fitting_sizes(np.array(counts), protocol)
    if sizes is not None:
        fitted, table = Protocol(**protocol.model_dump() | sizes), table_of(counts)
        assert too_few_users(table.counts, fitted, fitted.groups) == []
        for group in fitted.groups:
            for role, n_users in (("test", fitted.test_users), ("holdout", fitted.holdout_users)):
                key = {"seed": 1, "group": group, "repeat": 2, "role": role}
                users = draw_users(table, fitted, **key)
                assert len(users) == n_users
                for user in users:
                    build_task(table, fitted, **key, user=user)


def test_all_that_there_are_too_few_users_for_is_told_at_once():
    told = too_few_users(np.tile(np.arange(20, 90), 3), Protocol(), Protocol().groups)
    assert len(told) == 4
    assert "300 test users and 300 hold-out users" in told[0]
    for problem, group in zip(told[1:], ("20-40", "40-60", "60-80"), strict=True):
        assert f"group {group} has" in problem


def test_a_group_that_loses_its_users_to_the_test_is_told_too():
    protocol = Protocol(
        groups=((50, 60), (61, 70)), test_users=40, holdout_users=4, reference_users=20
    )
    told = too_few_users(np.tile([55, 65], 25), protocol, protocol.groups)
    assert len(told) == 2
    assert all("has 25 users; 0 remain without test users" in line for line in told)


@pytest.mark.parametrize(
    ("n_items", "scored_share", "sizes"),
    [(50, None, (25, 25)), (51, None, (25, 25)), (50, 0.5, (25, 12)), (52, 0.5, (26, 13))],
)
def test_halves_are_rounded_down(n_items, scored_share, sizes):
    assert Protocol(scored_share=scored_share).sizes(n_items) == sizes


def test_what_a_user_has_not_rated_is_ranked_from_all_that_the_user_has():
    user = int(group_users(TABLE, (25, 60))[0])
    key = {"seed": 1, "group": GROUP, "user": user}
    task = unrated_task(TABLE, PROTOCOL, **key)
    known = build_task(TABLE, PROTOCOL, repeat=1, role="test", **key)
    assert np.array_equal(task.items[task.scored], TABLE.user_items(user))
    assert np.array_equal(task.scores[task.scored], TABLE.user_ratings(user))
    assert np.array_equal(np.sort(task.items), np.arange(TABLE.n_items))
    assert np.isnan(task.scores[task.test]).all()
    assert np.array_equal(task.features[task.scored], known.features)
    assert np.array_equal(task.mean_ratings[task.scored], known.mean_ratings)
    assert np.isfinite(task.features).all()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"groups": ((40, 20),)}, "low <= high"),
        ({"train_share": 1.0}, "train_share"),
        ({"train_share": 0.99}, "1 test items"),
        ({"test_user_bounds": (7, 300), "scored_share": 0.5}, "1 scored training items"),
        ({"fill": "zero", "missing_code": 99}, "missing_code"),
    ],
)
def test_a_protocol_that_contradicts_itself_is_refused(wrong, said):
    with pytest.raises(ValidationError, match=said):
        Protocol(**wrong)
