"""Ranking tasks: one user's items, described by how reference users rated them.

Every random choice has its own generator, keyed by (seed, group, repeat, role, user, purpose): a
task is the same whatever else runs, in which order, and in how many processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from rankpursuit.datasets.ratings import Ratings
from rankpursuit.errors import ProtocolError, TooFewUsersError
from rankpursuit.experiments.config import Group, Protocol, Role, group_name
from rankpursuit.experiments.tasks.seeds import generator


@dataclass(frozen=True, eq=False)
class Task:
    """A user's ranking problem. All arrays are read-only.

    Parameters
    ----------
    user : int
        Number of the user in the ratings table.
    seed, group, repeat, role
        What else the task was drawn for.
    items : array of shape (n_items,)
        The items that the user rated, as numbered in the ratings table.
    reference : array of shape (n_reference,)
        The reference users, one for each feature.
    features : array of shape (n_items, n_reference)
        The reference users' ratings of the items, filled where there are none.
    scores : array of shape (n_items,)
        The user's ratings.
    train, test : int arrays
        Ascending positions among the items: together all of them, none in both.
    scored, unscored : int arrays
        The positions of `train` whose scores a method may see, and the others. In the supervised
        setting `scored` is `train`, and `unscored` is empty.
    """

    user: int
    seed: int
    group: Group
    repeat: int
    role: Role
    items: NDArray[np.int32]
    reference: NDArray[np.intp]
    features: NDArray[np.float64]
    scores: NDArray[np.float64]
    train: NDArray[np.intp]
    test: NDArray[np.intp]
    scored: NDArray[np.intp]
    unscored: NDArray[np.intp]

    def __post_init__(self) -> None:
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def generator(self, purpose: str) -> np.random.Generator:
        """Return a fresh generator for a purpose, such as ``"views"``: equal for equal purposes."""
        return _generator(self.seed, self.group, self.repeat, self.role, self.user, purpose)


def group_users(ratings: Ratings, bounds: Group) -> NDArray[np.intp]:
    """Return the users whose number of ratings is within the bounds, ends included, ascending."""
    return np.flatnonzero(_within(ratings, bounds))


def draw_users(
    ratings: Ratings, protocol: Protocol, *, seed: int, group: Group, repeat: int, role: Role
) -> NDArray[np.intp]:
    """Draw the test users, or the hold-out users, of one group and repeat.

    The possible users are put into a random order that depends on (seed, group, repeat) only. Test
    users are taken from its beginning and hold-out users from its end: no user is both, and asking
    for fewer users gives the first of those that asking for more would give.

    Parameters
    ----------
    ratings : Ratings
        The ratings table.
    protocol : Protocol
        Says how many users, and with how many ratings.
    seed, repeat : int
        Key of the draw.
    group : (low, high)
        One of the protocol's groups: the part of the key that keeps the groups' test users apart.
    role : "test" or "holdout"
        Which users.

    Returns
    -------
    array of shape (n_users,)
        Users in the order drawn, of length ``protocol.test_users`` or ``protocol.holdout_users``.

    Raises
    ------
    TooFewUsersError
        If there are not enough users for both roles.
    """
    _check_key(protocol, group, role)
    possible = group_users(ratings, protocol.test_user_bounds)
    if len(possible) < protocol.test_users + protocol.holdout_users:
        raise TooFewUsersError(_too_few_possible(ratings, protocol, len(possible)))
    order = generator(seed, *group, repeat, "users").permutation(possible)
    if role == "test":
        return order[: protocol.test_users]
    return order[::-1][: protocol.holdout_users]


def check_numbers(ratings: Ratings, protocol: Protocol, group: Group) -> None:
    """Raise a `TooFewUsersError` with all that cannot be drawn, whoever is drawn."""
    faults = []
    n_possible = len(group_users(ratings, protocol.test_user_bounds))
    if n_possible < protocol.test_users + protocol.holdout_users:
        faults.append(_too_few_possible(ratings, protocol, n_possible))
    n_reference = len(group_users(ratings, group))
    if n_reference < protocol.reference_users:
        faults.append(_too_few_reference(ratings, protocol, group, f"{n_reference} users"))
    if faults:
        raise TooFewUsersError(*faults)


def build_task(
    ratings: Ratings,
    protocol: Protocol,
    *,
    seed: int,
    group: Group,
    repeat: int,
    role: Role,
    user: int,
) -> Task:
    """Build the ranking task of one user.

    The reference users are drawn from the group without the user. For a hold-out user they are
    drawn without the repeat's test users either, so that no rating of a test user takes part in the
    choice of parameters.

    Parameters
    ----------
    ratings : Ratings
        The ratings table.
    protocol : Protocol
        How the task is made.
    seed, group, repeat, role : int, (low, high), int, "test" or "holdout"
        Key of every random choice, with the user.
    user : int
        The user, usually one of `draw_users`.

    Returns
    -------
    Task

    Raises
    ------
    TooFewUsersError
        If the group has too few users to draw the reference users from.
    ProtocolError
        If the user has too few ratings to split, or the group or role is not one of the protocol's.
    """
    _check_key(protocol, group, role)
    key = (seed, group, repeat, role, user)
    items, scores = ratings.user_items(user), ratings.user_ratings(user)
    reference = _draw_reference(ratings, protocol, *key)
    n_train, n_scored = protocol.sizes(len(items))
    shuffled = _generator(*key, "split").permutation(len(items))
    train, test = np.sort(shuffled[:n_train]), np.sort(shuffled[n_train:])
    mixed = _generator(*key, "scored").permutation(train)
    return Task(
        user=int(user),
        seed=seed,
        group=group,
        repeat=repeat,
        role=role,
        items=items,
        reference=reference,
        features=reference_ratings(ratings, items, reference, protocol),
        scores=scores,
        train=train,
        test=test,
        scored=np.sort(mixed[:n_scored]),
        unscored=np.sort(mixed[n_scored:]),
    )


def reference_ratings(
    ratings: Ratings, items: NDArray[Any], reference: NDArray[Any], protocol: Protocol
) -> NDArray[np.float64]:
    """Return how the reference users rated the items, shape (n_items, n_reference).

    Where a reference user did not rate an item stands the protocol's fill: the median or the mean
    over that reference user's own ratings, or zero.
    """
    features = np.empty((len(items), len(reference)))
    if protocol.fill == "zero":
        features[:] = 0.0
    else:
        own = ratings.medians if protocol.fill == "median" else ratings.means
        features[:] = own[reference]
    # All ratings of all reference users, end to end: `entries` says where in the table, `columns`
    # whose.
    counts = ratings.counts[reference]
    entries = np.repeat(ratings.offsets[reference] - np.cumsum(counts) + counts, counts)
    entries += np.arange(len(entries))
    columns = np.repeat(np.arange(len(reference)), counts)
    first_of_items = np.full(ratings.n_items, -1)  # where the row of an item begins
    first_of_items[items] = np.arange(0, features.size, len(reference))
    places = first_of_items.take(ratings.items.take(entries))
    shared = np.flatnonzero(places >= 0)
    places = places.take(shared) + columns.take(shared)
    features.put(places, ratings.values.take(entries.take(shared)))
    return features


def _draw_reference(
    ratings: Ratings,
    protocol: Protocol,
    seed: int,
    group: Group,
    repeat: int,
    role: Role,
    user: int,
) -> NDArray[np.intp]:
    pool = _possible_reference(ratings, protocol, seed, group, repeat, role)
    pool = pool[pool != user]
    if len(pool) < protocol.reference_users:
        without = "the task's user" + (" and the test users" if role == "holdout" else "")
        users = f"{len(pool)} users besides {without}"
        raise TooFewUsersError(_too_few_reference(ratings, protocol, group, users))
    rng = _generator(seed, group, repeat, role, user, "reference")
    return rng.choice(pool, size=protocol.reference_users, replace=False)


def _too_few_possible(ratings: Ratings, protocol: Protocol, n_users: int) -> str:
    low, high = protocol.test_user_bounds
    return (
        f"{ratings.name}: {n_users} users have {low} to {high} ratings, but {protocol.test_users} "
        f"test users and {protocol.holdout_users} hold-out users are needed: lower test_users or "
        "holdout_users, widen test_user_bounds, or use more data"
    )


def _too_few_reference(ratings: Ratings, protocol: Protocol, group: Group, users: str) -> str:
    return (
        f"{ratings.name}: group {group_name(group)} has {users}, but {protocol.reference_users} "
        "reference users are needed: lower reference_users, widen the group, or use more data"
    )


@lru_cache(maxsize=4)
def _possible_reference(
    ratings: Ratings, protocol: Protocol, seed: int, group: Group, repeat: int, role: Role
) -> NDArray[np.intp]:
    """Users of the group, without the test users for the tasks of hold-out users."""
    allowed = _within(ratings, group)
    if role == "holdout":
        tested = draw_users(ratings, protocol, seed=seed, group=group, repeat=repeat, role="test")
        allowed[tested] = False
    return np.flatnonzero(allowed)


def _within(ratings: Ratings, bounds: Group) -> NDArray[np.bool_]:
    return (ratings.counts >= bounds[0]) & (ratings.counts <= bounds[1])


def _generator(
    seed: int, group: Group, repeat: int, role: Role, user: int, purpose: str
) -> np.random.Generator:
    return generator(seed, *group, repeat, get_args(Role).index(role), user, purpose)


def _check_key(protocol: Protocol, group: Group, role: Role) -> None:
    if group not in protocol.groups:
        known = ", ".join(map(group_name, protocol.groups))
        raise ProtocolError(f"group {group}: not one of the protocol's groups {known}")
    if role not in get_args(Role):
        raise ProtocolError(f"role {role!r}: expected one of {get_args(Role)}")
