"""The protocol: users become ranking tasks, described by the ratings of reference users.

Every random choice has its own generator, keyed by (seed, group, repeat, role, user, purpose): a
task is the same whatever else runs, in which order, and in how many processes.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from rankpursuit.datasets.ratings import Ratings
from rankpursuit.errors import ProtocolError, TooFewUsersError
from rankpursuit.experiments.grids import InvalidValue, Section, all_different
from rankpursuit.experiments.names import short_repr

Group = tuple[int, int]
Role = Literal["test", "holdout"]
_FEW = 20
"""Below this number of users, `fitting_sizes` widens a group or the bounds of test users."""


def _bounds(value: Any) -> Group:
    pair = isinstance(value, list | tuple) and len(value) == 2
    if not pair or not all(type(bound) is int and bound >= 1 for bound in value):
        raise InvalidValue(f"expected two integers of at least 1, got {short_repr(value)}")
    if value[0] > value[1]:
        raise InvalidValue(f"expected low <= high, got {short_repr(value)}")
    return value[0], value[1]


_POSITIVE_INTEGER = {"type": "integer", "minimum": 1}
Bounds = Annotated[
    Group,
    BeforeValidator(_bounds),
    WithJsonSchema(
        {"type": "array", "items": _POSITIVE_INTEGER, "minItems": 2, "maxItems": 2},
    ),
]
Fraction = Annotated[float, Field(gt=0, lt=1)]
Users = Annotated[int, Field(ge=1)]


class Protocol(Section):
    """How ratings become ranking problems; the defaults are the paper's supervised experiment."""

    groups: Annotated[
        tuple[Bounds, ...], Field(min_length=1, strict=False), AfterValidator(all_different)
    ] = ((20, 40), (40, 60), (60, 80))
    """Groups of reference users by how many items they rated; both ends belong to the group."""
    test_user_bounds: Bounds = (50, 300)
    """How many items a test or hold-out user rated; both ends included."""
    test_users: Users = 300
    """Number of test users of a repeat."""
    holdout_users: Users = 300
    """Number of further users of a repeat, on whom parameters are chosen."""
    reference_users: Users = 300
    """Number of reference users of a task, that is of its features."""
    train_share: Fraction = 0.5
    """Fraction of the user's items for training; the others are for testing."""
    scored_share: Fraction | None = None
    """Fraction of the training items that keep their score; null: all of them (supervised)."""
    fill: Literal["median", "mean", "zero"] = "median"
    """Replacement of a reference user's missing rating: over their own ratings."""

    @model_validator(mode="after")
    def _splits_every_user(self) -> Self:
        try:
            self.sizes(self.test_user_bounds[0])
        except ProtocolError as error:
            raise InvalidValue(str(error)) from error
        return self

    def sizes(self, n_items: int) -> tuple[int, int]:
        """Return how many of a user's `n_items` items train, and how many of those are scored.

        Fractions are rounded down. A ranking needs two items to learn from and two to be tested on.

        Raises
        ------
        ProtocolError
            If that leaves fewer than two.
        """
        n_train = int(n_items * self.train_share)
        n_scored = n_train if self.scored_share is None else int(n_train * self.scored_share)
        if n_scored < 2 or n_items - n_train < 2:
            raise ProtocolError(
                f"a user with {n_items} ratings would have {n_scored} scored training items and "
                f"{n_items - n_train} test items, and each must be at least 2: change train_share, "
                "scored_share or the lower bound of test_user_bounds"
            )
        return n_train, n_scored


def group_name(group: Group) -> str:
    """Return a group's name as in the paper's tables, such as ``20-40``."""
    return f"{group[0]}-{group[1]}"


def generator(*keys: int | str) -> np.random.Generator:
    """Return the random generator that belongs to the keys, independent of all others.

    Parameters
    ----------
    *keys : int or str
        Integers from 0 to 2**32 - 1; text is turned into one by its CRC-32, which, unlike ``hash``,
        is the same in every process.
    """
    # SeedSequence splits larger integers into 32-bit words: different keys could be the same words.
    words = [zlib.crc32(key.encode()) if isinstance(key, str) else int(key) for key in keys]
    for word in words:
        if not 0 <= word < 2**32:
            raise ProtocolError(f"a seed or key must be from 0 to 2**32 - 1, not {word}")
    return np.random.default_rng(np.random.SeedSequence(words))


@dataclass(frozen=True, eq=False)
class Task:
    """A user's ranking problem. All arrays are read-only.

    Parameters
    ----------
    user : int
        Number of the user in the ratings table.
    seed, group, repeat, role
        The rest of the key of every random choice.
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
    return np.flatnonzero(_within(ratings.counts, bounds))


def draw_users(
    ratings: Ratings, protocol: Protocol, *, seed: int, group: Group, repeat: int, role: Role
) -> NDArray[np.intp]:
    """Draw the test users, or the hold-out users, of one group and repeat.

    The possible users are put into a random order that depends on (seed, group, repeat) only. Test
    users are taken from its beginning and hold-out users from its end: no user is both, and asking
    for fewer users gives the first of those that asking for more would give.

    Returns
    -------
    array of shape (n_users,)
        Users in the order drawn, of length ``protocol.test_users`` or ``protocol.holdout_users``.

    Raises
    ------
    TooFewUsersError
        If there are not enough users for both roles.
    """
    possible = _possible_users(ratings, protocol)
    order = generator(seed, *group, repeat, "users").permutation(possible)
    if role == "test":
        return order[: protocol.test_users]
    return order[::-1][: protocol.holdout_users]


def check_numbers(ratings: Ratings, protocol: Protocol, group: Group) -> None:
    """Raise `TooFewUsersError` with all errors if there are too few users, whoever is drawn."""
    errors: list[str] = []
    try:
        _possible_users(ratings, protocol)
    except TooFewUsersError as error:
        errors.append(str(error))
    n_reference = len(group_users(ratings, group))
    if n_reference < protocol.reference_users:
        errors.append(_too_few_reference(ratings, protocol, group, f"{n_reference} users"))
    if errors:
        raise TooFewUsersError(*errors)


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

    Raises
    ------
    TooFewUsersError
        If the group has too few users to draw the reference users from.
    ProtocolError
        If the user has too few ratings to split.
    """
    key = (seed, group, repeat, role, user)
    items, scores = ratings.user_items(user), ratings.user_ratings(user)
    pool = _possible_reference(ratings, protocol, seed, group, repeat, role)
    pool = pool[pool != user]
    if len(pool) < protocol.reference_users:
        without = "the task's user" + (" and the test users" if role == "holdout" else "")
        users = f"{len(pool)} users besides {without}"
        raise TooFewUsersError(_too_few_reference(ratings, protocol, group, users))
    size = protocol.reference_users
    reference = _generator(*key, "reference").choice(pool, size=size, replace=False)
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
        features=_features(ratings, items, reference, protocol),
        scores=scores,
        train=train,
        test=test,
        scored=np.sort(mixed[:n_scored]),
        unscored=np.sort(mixed[n_scored:]),
    )


def _features(
    ratings: Ratings, items: NDArray[Any], reference: NDArray[Any], protocol: Protocol
) -> NDArray[np.float64]:
    """Return the reference users' ratings of the items, filled, of shape (n_items, n_reference)."""
    features = np.zeros((len(items), len(reference)))
    if protocol.fill != "zero":
        own = ratings.medians if protocol.fill == "median" else ratings.means
        features[:] = own[reference]
    # The ratings of all reference users end to end: their places in the table, and their columns.
    counts = ratings.counts[reference]
    entries = np.repeat(ratings.offsets[reference] - np.cumsum(counts) + counts, counts)
    entries += np.arange(len(entries))
    columns = np.repeat(np.arange(len(reference)), counts)
    row_start = np.full(ratings.n_items, -1)  # where the row of an item begins
    row_start[items] = np.arange(0, features.size, len(reference))
    places = row_start.take(ratings.items.take(entries))
    shared = np.flatnonzero(places >= 0)
    places = places.take(shared) + columns.take(shared)
    features.put(places, ratings.values.take(entries.take(shared)))
    return features


def _possible_users(ratings: Ratings, protocol: Protocol) -> NDArray[np.intp]:
    """Return the users who may be test or hold-out users, if there are enough of them."""
    possible = group_users(ratings, protocol.test_user_bounds)
    if len(possible) < protocol.test_users + protocol.holdout_users:
        low, high = protocol.test_user_bounds
        raise TooFewUsersError(
            f"{ratings.name}: {len(possible)} users have {low} to {high} ratings, but "
            f"{protocol.test_users} test users and {protocol.holdout_users} hold-out users are "
            "needed: lower test_users or holdout_users, widen test_user_bounds, or use more data"
        )
    return possible


def _too_few_reference(ratings: Ratings, protocol: Protocol, group: Group, users: str) -> str:
    return (
        f"{ratings.name}: group {group_name(group)} has {users}, but {protocol.reference_users} "
        "reference users are needed: lower reference_users, widen the group, or use more data"
    )


@lru_cache(maxsize=4)
def _possible_reference(
    ratings: Ratings, protocol: Protocol, seed: int, group: Group, repeat: int, role: Role
) -> NDArray[np.intp]:
    """Return the users of the group, for tasks of hold-out users without the test users."""
    allowed = _within(ratings.counts, group)
    if role == "holdout":
        tested = draw_users(ratings, protocol, seed=seed, group=group, repeat=repeat, role="test")
        allowed[tested] = False
    return np.flatnonzero(allowed)


def _generator(
    seed: int, group: Group, repeat: int, role: Role, user: int, purpose: str
) -> np.random.Generator:
    return generator(seed, *group, repeat, get_args(Role).index(role), user, purpose)


def _within(counts: NDArray[Any], bounds: Group) -> NDArray[np.bool_]:
    return (counts >= bounds[0]) & (counts <= bounds[1])


def fitting_sizes(counts: NDArray[np.int64], protocol: Protocol) -> dict[str, Any] | None:
    """Return the changes to a protocol with which a ratings table has enough users for it.

    Bounds and groups change only if they contain next to nobody. Test, hold-out and reference users
    are lowered by the same fraction, and rounded down.

    Parameters
    ----------
    counts : array of shape (n_users,)
        Number of ratings of each user.
    protocol : Protocol

    Returns
    -------
    dict or None
        Keys of the protocol with their new values, as in a config; None if the table is too small
        for any.
    """
    bounds = _fitting_bounds(counts, protocol)
    if bounds is None:
        return None
    groups = _fitting_groups(counts, protocol)
    keys = ("test_users", "holdout_users", "reference_users")
    asked = [getattr(protocol, key) for key in keys]
    for reference in range(min(asked[2], len(counts)), 0, -1):
        lowered = [max(1, n * reference // asked[2]) for n in asked]
        sizes = [n - n % 5 if 20 < n < most else n for n, most in zip(lowered, asked, strict=True)]
        if _are_enough(counts, bounds, groups, *sizes):
            found = {"groups": [list(group) for group in groups], "test_user_bounds": list(bounds)}
            found |= dict(zip(keys, sizes, strict=True))
            given = protocol.model_dump(mode="json")
            return {key: value for key, value in found.items() if value != given[key]}
    return None


def _are_enough(
    counts: NDArray[Any],
    bounds: Group,
    groups: list[Group],
    test: int,
    holdout: int,
    reference: int,
) -> bool:
    """Return whether there are enough users, whoever is drawn."""
    possible = _within(counts, bounds)
    members = [_within(counts, group) for group in groups]
    return bool(possible.sum() >= test + holdout) and all(
        own.sum() - min(test, (own & possible).sum()) - 1 >= reference for own in members
    )


def _fitting_bounds(counts: NDArray[Any], protocol: Protocol) -> Group | None:
    """Return bounds on the ratings of test users that contain enough users, the narrowest first."""

    def can_split(n_items: int) -> bool:
        try:
            return bool(protocol.sizes(n_items))
        except ProtocolError:
            return False

    low, high = protocol.test_user_bounds
    if _within(counts, (low, high)).sum() >= _FEW:
        return low, high
    high = max(high, int(counts.max()))
    fewest = next(n for n in range(4, low + 1) if can_split(n))
    for lower in (30, 20, 10, fewest):
        if fewest <= lower < low and _within(counts, (lower, high)).sum() >= _FEW:
            return lower, high
    return (fewest, high) if _within(counts, (fewest, high)).sum() >= 2 else None


def _fitting_groups(counts: NDArray[Any], protocol: Protocol) -> list[Group]:
    """Return the groups that contain enough users, or else thirds of all users."""

    def are_large(groups: list[Group]) -> list[bool]:
        return [low <= high and _within(counts, (low, high)).sum() >= _FEW for low, high in groups]

    kept = [group for group in protocol.groups if are_large([group])[0]]
    if kept:
        return kept
    least, most = int(counts.min()), int(counts.max())
    first, second = (int(np.quantile(counts, q, method="lower")) for q in (1 / 3, 2 / 3))
    thirds = [(least, first), (first + 1, second), (second + 1, most)]
    return thirds if all(are_large(thirds)) else [(least, most)]
