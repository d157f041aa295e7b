"""Synthetic ratings for the demo and the tests, drawn from a model of users with tastes.

Results on them are not comparable with the paper's.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from rankpursuit.datasets.ratings import Ratings
from rankpursuit.errors import DataError

LARGEST_TABLE = 10_000_000  # pairs of a user and an item, each of about 70 bytes of memory
_TASTE, _QUALITY = 1.0, 0.5  # standard deviation of the two parts of an item's appeal


def make_ratings(
    n_users: int = 2000,
    n_items: int = 100,
    *,
    seed: int = 0,
    scale: Literal["jokes", "stars"] = "jokes",
    n_tastes: int = 6,
    noise: float = 1.6,
    min_ratings: int = 15,
    max_ratings: int | None = None,
    name: str = "synthetic",
) -> Ratings:
    """Draw synthetic ratings.

    The appeal of an item to a user is the item's quality, plus the match of its position in the
    space of tastes with the user's taste, plus noise; users also differ in the mean and spread of
    their ratings. Popular items, and those that a user likes, are rated more often; some users rate
    few items, some nearly all.

    Parameters
    ----------
    n_users, n_items : int
        Size of the table. Items without any rating do not appear in it.
    seed : int
        The same seed gives the same table.
    scale : "jokes" or "stars"
        Real numbers from -10 to 10, or integers from 1 to 5.
    n_tastes : int
        Number of tastes, and dimension of their space.
    noise : float
        Standard deviation of the noise; that of a taste is 1. With the default, the paper's tasks
        are about as hard as on Jester.
    min_ratings, max_ratings : int
        Minimum and maximum number of ratings per user; the default maximum is 300, or all items.
    name : str
        Name of the table.

    Returns
    -------
    Ratings
        The defaults give enough users for the paper's groups and numbers of test users.
    """
    most = min(n_items, 300) if max_ratings is None else max_ratings
    if scale not in ("jokes", "stars"):
        raise DataError(f"scale must be 'jokes' or 'stars', not {scale!r}")
    if not (n_users >= 1 and n_tastes >= 1 and noise >= 0 and 1 <= min_ratings <= most <= n_items):
        raise DataError(
            "make_ratings needs n_users >= 1, n_tastes >= 1, noise >= 0 and 1 <= min_ratings <= "
            f"max_ratings <= n_items; got {(n_users, n_tastes, noise, min_ratings, most, n_items)}"
        )
    if max(n_users, n_tastes) * max(n_items, n_tastes) > LARGEST_TABLE:
        raise DataError(
            f"make_ratings draws at most {LARGEST_TABLE:,} pairs of a user and an item; "
            "lower n_users or n_items"
        )
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    # Appeal without noise.
    places = rng.standard_normal((n_items, n_tastes))
    tastes = rng.standard_normal((n_tastes, n_tastes))
    own = rng.standard_normal((n_users, n_tastes))
    people = 0.8 * tastes[rng.integers(n_tastes, size=n_users)] + 0.6 * own
    people *= _TASTE / np.linalg.norm(people, axis=1, keepdims=True)
    liking = _QUALITY * rng.standard_normal(n_items) + people @ places.T
    # Rated items: those with the largest Gumbel-perturbed log-weights are a weighted draw without
    # replacement.
    fractions = rng.beta(1.0, 1.2, size=n_users)
    counts = min_ratings + np.floor((most - min_ratings + 1) * fractions).astype(int)
    popularity = -0.7 * np.log1p(rng.permutation(n_items))
    keys = popularity + 0.3 * liking + rng.gumbel(size=liking.shape)
    ranks = np.argsort(np.argsort(-keys, axis=1), axis=1)
    users, items = np.nonzero(ranks < counts[:, None])

    appeal = liking + noise * rng.standard_normal(liking.shape)
    appeal /= np.sqrt(_TASTE**2 + _QUALITY**2 + noise**2)
    generosity = 0.35 * rng.standard_normal((n_users, 1))
    temperament = np.exp(0.3 * rng.standard_normal((n_users, 1)))
    opinion = generosity + temperament * appeal  # of about unit variance
    if scale == "jokes":
        values = np.round(10 * np.tanh(0.1 + 0.55 * opinion), 2)
    else:
        values = np.clip(np.round(3.6 + 1.1 * opinion), 1, 5)
    return Ratings.from_arrays(users, items, values[users, items], name=name)
