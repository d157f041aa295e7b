"""The protocol: users become ranking tasks, described by the ratings of reference users.

Every random choice has its own generator, keyed by (seed, group, repeat, role, user, purpose), so
that a task does not depend on what else runs, in which order and in how many processes.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from rankpursuit.datasets.ratings import Ratings
from rankpursuit.experiments.grids import InvalidValue, Section, all_different
from rankpursuit.experiments.names import short_repr

Group = tuple[int, int]
Role = Literal["test", "holdout"]


def _bounds(value: Any) -> Group:
    pair = isinstance(value, list | tuple) and len(value) == 2
    if not pair or not all(type(bound) is int for bound in value) or not 1 <= value[0] <= value[1]:
        raise InvalidValue(f"expected two integers, 1 <= low <= high, got {short_repr(value)}")
    return value[0], value[1]


_PAIR = {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 2, "maxItems": 2}
Bounds = Annotated[Group, BeforeValidator(_bounds), WithJsonSchema(_PAIR)]
Fraction = Annotated[float, Field(gt=0, lt=1)]
Users = Annotated[int, Field(ge=1)]


class Protocol(Section):
    """Rules that turn ratings into ranking problems; by default the supervised experiment."""

    groups: Annotated[
        tuple[Bounds, ...], Field(min_length=1, strict=False), AfterValidator(all_different)
    ] = ((20, 40), (40, 60), (60, 80))
    """Groups of reference users by the number of items that they rated, both ends included."""
    test_user_bounds: Bounds = (50, 300)
    """Number of items that a test or hold-out user rated, both ends included."""
    test_users: Users = 300
    """Number of test users per repeat."""
    holdout_users: Users = 300
    """Number of other users per repeat, on whom parameters are chosen."""
    reference_users: Users = 300
    """Number of reference users per task; their ratings are its features."""
    train_share: Fraction = 0.5
    """Fraction of the user's items for training; the others are for testing."""
    scored_share: Fraction | None = None
    """Fraction of the training items that keep their score; null: all of them (supervised)."""
    fill: Literal["median", "mean", "zero"] = "median"
    """Replacement of a reference user's missing rating, over the ratings of `fill_over`."""
    fill_over: Literal["user", "items", "set"] = "user"
    """Ratings of the reference user that `fill` is computed from. user: all; items: those of the
    task's items; set: those of its training items for a training item, and of its test items for a
    test item. All if there are none."""
    missing_code: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """Code of a missing rating, such as 99 in Jester, that counts as a rating where `fill` is
    computed, as if it had stayed in the data; null: missing ratings do not count."""

    @model_validator(mode="after")
    def _fills_with_the_code(self) -> Self:
        if self.missing_code is not None and self.fill == "zero":
            raise InvalidValue("missing_code has no effect if fill is zero: remove one of them")
        return self

    @model_validator(mode="after")
    def _splits_every_user(self) -> Self:
        n_items = self.test_user_bounds[0]
        if not self.can_split(n_items):
            n_train, n_scored = self.sizes(n_items)
            raise InvalidValue(
                f"a user with {n_items} ratings would have {n_scored} scored training items and "
                f"{n_items - n_train} test items, and each must be at least 2: change train_share, "
                "scored_share or the lower bound of test_user_bounds"
            )
        return self

    def sizes(self, n_items: int) -> tuple[int, int]:
        """Return the numbers of a user's training items and scored items, rounded down."""
        n_train = int(n_items * self.train_share)
        return n_train, n_train if self.scored_share is None else int(n_train * self.scored_share)

    def can_split(self, n_items: int) -> bool:
        """Return whether there are two items to learn a ranking from, and two to test it on."""
        n_train, n_scored = self.sizes(n_items)
        return n_scored >= 2 and n_items - n_train >= 2


def group_name(group: Group) -> str:
    """Return a group's name as in the paper's tables, such as ``20-40``."""
    return f"{group[0]}-{group[1]}"


def generator(*keys: int | str) -> np.random.Generator:
    """Return the random generator that belongs to the keys, independent of all others.

    Keys are integers from 0 to 2**32 - 1; text is turned into one by its CRC-32, which, unlike
    ``hash``, is the same in every process.
    """
    words = [zlib.crc32(key.encode()) if isinstance(key, str) else int(key) for key in keys]
    return np.random.default_rng(np.random.SeedSequence(words))


@dataclass(frozen=True, eq=False)
class Task:
    """A user's ranking problem. All arrays are read-only."""

    user: int
    """Number of the user in the ratings table."""
    key: tuple[int, ...]
    """Key of its random choices: seed, group, repeat, role and user."""
    items: NDArray[np.int32]
    """The n items that the user rated, as numbered in the ratings table."""
    reference: NDArray[np.intp]
    """The d reference users, one for each feature."""
    features: NDArray[np.float64]
    """The reference users' ratings of the items, filled where there are none, shape (n, d)."""
    mean_ratings: NDArray[np.float64]
    """The mean rating of each item over the reference users who rated it, shape (n,); if nobody
    did, the mean of all their ratings."""
    scores: NDArray[np.float64]
    """The user's ratings of the items."""
    train: NDArray[np.intp]
    """Ascending positions among the items."""
    test: NDArray[np.intp]
    """The other positions."""
    scored: NDArray[np.intp]
    """The positions of `train` whose scores a method may see: all of them if supervised."""
    unscored: NDArray[np.intp]
    """The other positions of `train`."""

    def __post_init__(self) -> None:
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def generator(self, purpose: str) -> np.random.Generator:
        """Return a new generator, always the same for a purpose such as ``"views"``."""
        return generator(*self.key, purpose)

    def folds(self, n_folds: int) -> list[Self]:
        """Return tasks that each test a random part of the scored items and train on the others."""
        parts = np.array_split(self.generator("folds").permutation(self.scored), n_folds)
        return [
            replace(
                self,
                train=np.setdiff1d(self.train, tested),
                test=np.sort(tested),
                scored=np.setdiff1d(self.scored, tested),
            )
            for tested in parts
        ]


def group_users(ratings: Ratings, bounds: Group) -> NDArray[np.intp]:
    """Return the users whose number of ratings is within the bounds, ends included, ascending."""
    return np.flatnonzero(_within(ratings.counts, bounds))


def draw_users(
    ratings: Ratings, protocol: Protocol, *, seed: int, group: Group, repeat: int, role: Role
) -> NDArray[np.intp]:
    """Draw the test users, or the hold-out users, of one group and repeat.

    The eligible users are shuffled in an order that depends on (seed, group, repeat) only. Test
    users are taken from its beginning and hold-out users from its end: no user is both, and a
    smaller sample is a prefix of a larger one.
    """
    possible = group_users(ratings, protocol.test_user_bounds)
    order = generator(seed, *group, repeat, "users").permutation(possible)
    if role == "test":
        return order[: protocol.test_users]
    return order[::-1][: protocol.holdout_users]


def too_few_users(counts: NDArray[Any], protocol: Protocol, groups: Sequence[Group]) -> list[str]:
    """Return a message for each number of users that is too small, whoever is drawn.

    `counts` has the number of ratings of each user.
    """
    problems = []
    possible = _within(counts, protocol.test_user_bounds)
    if possible.sum() < protocol.test_users + protocol.holdout_users:
        low, high = protocol.test_user_bounds
        problems.append(
            f"{possible.sum()} users have {low} to {high} ratings, but {protocol.test_users} test "
            f"users and {protocol.holdout_users} hold-out users are needed: lower test_users or "
            "holdout_users, widen test_user_bounds, or use more data"
        )
    for group in groups:
        members = _within(counts, group)
        # Neither the test users nor the user of a task are reference users.
        left = members.sum() - min(protocol.test_users + 1, (members & possible).sum())
        if left < protocol.reference_users:
            problems.append(
                f"group {group_name(group)} has {members.sum()} users; {left} remain without "
                f"test users and the task's own user, but {protocol.reference_users} reference "
                "users are needed: lower reference_users, widen the group, or use more data"
            )
    return problems


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

    The reference users are drawn from the group, excluding the user. For a hold-out user, the test
    users of the repeat are excluded too, so that parameters are chosen without their ratings.
    """
    key = (seed, *group, repeat, get_args(Role).index(role), user)
    items, scores = ratings.user_items(user), ratings.user_ratings(user)
    pool = _possible_reference(ratings, protocol, seed, group, repeat, role)
    pool = pool[pool != user]
    size = protocol.reference_users
    reference = generator(*key, "reference").choice(pool, size=size, replace=False)
    n_train, n_scored = protocol.sizes(len(items))
    shuffled = generator(*key, "split").permutation(len(items))
    train, test = np.sort(shuffled[:n_train]), np.sort(shuffled[n_train:])
    mixed = generator(*key, "scored").permutation(train)
    features, mean_ratings = _describe_items(ratings, protocol, items, reference, test)
    return Task(
        user=int(user),
        key=key,
        items=items,
        reference=reference,
        features=features,
        mean_ratings=mean_ratings,
        scores=scores,
        train=train,
        test=test,
        scored=np.sort(mixed[:n_scored]),
        unscored=np.sort(mixed[n_scored:]),
    )


def unrated_task(
    ratings: Ratings, protocol: Protocol, *, seed: int, group: Group, user: int
) -> Task:
    """Build the task of ranking the items that a user has not rated.

    The features are those of `build_task`. All rated items are scored training items, and the
    others are test items, whose scores are NaN.
    """
    task = build_task(ratings, protocol, seed=seed, group=group, repeat=1, role="test", user=user)
    unrated = np.setdiff1d(np.arange(ratings.n_items), task.items)
    items = np.append(task.items, unrated).astype(np.int32)
    train, test = np.split(np.arange(len(items)), [len(task.items)])
    features, means = _describe_items(ratings, protocol, items, task.reference, test)
    scores = np.append(task.scores, np.full(len(unrated), np.nan))
    return replace(
        task,
        items=items,
        features=features,
        mean_ratings=means,
        scores=scores,
        train=train,
        test=test,
        scored=train,
        unscored=test[:0],
    )


def _describe_items(
    ratings: Ratings,
    protocol: Protocol,
    items: NDArray[np.int32],
    reference: NDArray[np.intp],
    test: NDArray[np.intp],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the `features` and `mean_ratings` of the task of some items."""
    rated = _rated(ratings, items, reference)
    own = _fill_values(ratings, protocol.fill, protocol.missing_code)
    counts = np.count_nonzero(~np.isnan(rated), axis=1)
    overall = ratings.means[reference] @ ratings.counts[reference] / ratings.counts[reference].sum()
    sums = np.nansum(rated, axis=1)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), overall)
    return _filled(rated, own[reference], test, protocol), means


def _rated(ratings: Ratings, items: NDArray[Any], reference: NDArray[Any]) -> NDArray[np.float64]:
    """Return the reference users' ratings of the items, shape (n, d); NaN where there are none."""
    given = ratings.table[reference]
    place = np.full(ratings.n_items, -1)
    place[items] = np.arange(len(items))
    place = place[given.indices]
    shared = np.flatnonzero(place >= 0)
    user = np.repeat(np.arange(len(reference)), np.diff(given.indptr))
    rated = np.full((len(items), len(reference)), np.nan)
    rated[place[shared], user[shared]] = given.data[shared]
    return rated


def _filled(
    rated: NDArray[np.float64], own: NDArray[np.float64], test: NDArray[np.intp], protocol: Protocol
) -> NDArray[np.float64]:
    """Fill missing ratings; `own` has the median or mean of all ratings of each user."""
    if protocol.fill == "zero":
        return np.nan_to_num(rated)
    if protocol.fill_over != "user":
        sets = np.zeros(len(rated))
        sets[test] = protocol.fill_over == "set"
        code = np.nan if protocol.missing_code is None else protocol.missing_code
        coded = pd.DataFrame(np.where(np.isnan(rated), code, rated))
        over = coded.groupby(sets).transform(protocol.fill).to_numpy()
        own = np.where(np.isnan(over), own, over)
    return np.where(np.isnan(rated), own, rated)


@lru_cache(maxsize=4)
def _fill_values(
    ratings: Ratings, fill: Literal["median", "mean", "zero"], code: float | None
) -> NDArray[np.float64]:
    """Return the median or mean of all ratings of each user; a code counts for missing ones."""
    if code is None:
        return ratings.medians if fill == "median" else ratings.means
    coded = np.full((ratings.n_users, ratings.n_items), code)
    coded[np.repeat(np.arange(ratings.n_users), ratings.counts), ratings.items] = ratings.values
    return np.median(coded, axis=1) if fill == "median" else np.mean(coded, axis=1)


@lru_cache(maxsize=4)
def _possible_reference(
    ratings: Ratings, protocol: Protocol, seed: int, group: Group, repeat: int, role: Role
) -> NDArray[np.intp]:
    """Return the users of the group; for hold-out tasks, without the test users."""
    allowed = _within(ratings.counts, group)
    if role == "holdout":
        tested = draw_users(ratings, protocol, seed=seed, group=group, repeat=repeat, role="test")
        allowed[tested] = False
    return np.flatnonzero(allowed)


def _within(counts: NDArray[Any], bounds: Group) -> NDArray[np.bool_]:
    return (counts >= bounds[0]) & (counts <= bounds[1])


def fitting_sizes(counts: NDArray[np.int64], protocol: Protocol) -> dict[str, Any] | None:
    """Return changes that fit a protocol to the users of a ratings table, None if it is too small.

    Bounds and groups change only if they contain almost no users. The numbers of test, hold-out and
    reference users are lowered by the same factor, and rounded down. `counts` has the number of
    ratings of each user.
    """

    def has_many(bounds: Group, many: int = 20) -> bool:
        return bool(_within(counts, bounds).sum() >= many)

    least, most = int(counts.min()), int(counts.max())
    low, high = protocol.test_user_bounds
    if not has_many((low, high)):
        high = max(high, most)
        fewest = next(n for n in range(4, low + 1) if protocol.can_split(n))
        lower = [n for n in (30, 20, 10) if fewest <= n < low and has_many((n, high))]
        low = (lower or [fewest])[0]
    groups = tuple(group for group in protocol.groups if has_many(group)) or ((least, most),)
    keys = ("test_users", "holdout_users", "reference_users")
    given = protocol.model_dump(mode="json")
    for reference in range(protocol.reference_users, 0, -1):
        sizes: dict[str, Any] = {"groups": groups, "test_user_bounds": (low, high)}
        for key in keys:
            size = max(1, given[key] * reference // protocol.reference_users)
            sizes[key] = size - size % 5 if 20 < size < given[key] else size
        fitted = protocol.model_copy(update=sizes)
        if not too_few_users(counts, fitted, groups):
            changed = fitted.model_dump(mode="json")
            return {key: changed[key] for key in sizes if changed[key] != given[key]}
    return None
