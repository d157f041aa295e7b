"""Random training data of every kind that people pass, good and bad."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

Random = np.random.Generator

EXPONENTS = (-320, -300, -160, -100, -30, -8, 8, 30, 75, 100, 150, 160, 300, 307)


def one_of(rng: Random, *options: Any) -> Any:
    """Return one of some objects."""
    return options[rng.integers(len(options))]


def magnitude(rng: Random) -> float:
    """Return a power of ten, often 1, sometimes one that overflows when it is squared."""
    return 1.0 if rng.random() < 0.6 else 10.0 ** one_of(rng, *EXPONENTS)


def features(rng: Random, n_points: int, n_features: int) -> np.ndarray:
    """Return a matrix of points: some are equal, constant, collinear, tiny, huge or far away."""
    shape = (n_points, n_features)
    X = one_of(
        rng,
        rng.normal(size=shape),
        rng.normal(size=shape),
        rng.integers(0, 3, size=shape).astype(float),
        np.full(shape, rng.normal()),
        rng.normal(size=(n_points, 1)) * np.ones(n_features),
        rng.normal(size=shape)[rng.integers(0, n_points, size=n_points)],
        np.zeros(shape),
        1e8 + rng.normal(size=shape),
        rng.normal(size=shape) * 10.0 ** rng.integers(-12, 12, size=n_features),
        np.abs(rng.normal(size=shape)),
        5e-324 * rng.integers(0, 9, size=shape),
    )
    X = X * magnitude(rng)
    if rng.random() < 0.05:
        X[rng.integers(n_points), rng.integers(n_features)] = one_of(
            rng, 1e300, 1e12, np.nan, np.inf
        )
    return X


def kernel_matrix(rng: Random, n_points: int) -> np.ndarray:
    """Return a precomputed kernel: definite, singular, indefinite, asymmetric, tiny or huge."""
    X = rng.normal(size=(n_points, 2))
    noise = rng.normal(size=(n_points, n_points))
    return magnitude(rng) * one_of(
        rng,
        np.exp(-np.square(X[:, None] - X).sum(axis=2)),
        X @ X.T,
        noise + noise.T,
        noise,
        np.zeros((n_points, n_points)),
        np.ones((n_points, n_points)),
        -np.eye(n_points),
    )


def scores(rng: Random, n_points: int) -> np.ndarray:
    """Return scores: with and without ties, tiny and huge, some of them missing."""
    y = one_of(
        rng,
        rng.normal(size=n_points),
        rng.normal(size=n_points),
        rng.integers(0, 3, size=n_points).astype(float),
        np.full(n_points, 2.5),
        1e9 + rng.normal(size=n_points),
        5e-324 * rng.integers(0, 9, size=n_points),
    )
    y = y * magnitude(rng)
    if rng.random() < 0.2:
        y[rng.random(n_points) < 0.4] = np.nan
    elif rng.random() < 0.03:
        y[rng.integers(n_points)] = one_of(rng, np.inf, 1e300)
    return y


def labels(rng: Random, n_points: int) -> Any:
    """Return labels of groups: none, good ones, missing ones, of mixed types, of a wrong length."""
    if rng.random() < 0.6:
        return None
    numbers = rng.integers(0, one_of(rng, 1, 2, 4), size=n_points)
    if rng.random() < 0.5:
        return numbers
    return one_of(
        rng,
        numbers.tolist(),
        numbers.astype(float),
        numbers.astype(str),
        numbers[:, None],
        pd.Series(numbers),
        pd.Categorical(numbers.astype(str)),
        np.arange(n_points),
        np.where(numbers == 0, np.nan, numbers),
        [None if number == 0 else number for number in numbers],
        [str(number) if number else number for number in numbers],
        numbers[1:],
        "one",
        7,
    )


def comparisons(rng: Random, n_points: int) -> dict[str, Any]:
    """Return the arguments `pairs` and `weights`: repeated, contradicting, uneven, or bad."""
    size = int(rng.integers(1, 3 * n_points + 1))
    first = rng.integers(0, n_points, size=size)
    pairs = np.column_stack([first, (first + rng.integers(1, max(n_points, 2), size)) % n_points])
    weights = one_of(
        rng,
        None,
        None,
        rng.uniform(0.1, 3.0, size=size),
        10.0 ** rng.integers(-9, 9, size=size),
        10.0 ** rng.integers(-300, 300, size=size),
        np.full(size, magnitude(rng)),
        rng.normal(size=size),
        ["a"] * size,
        np.ones(size + 1),
        np.full(size, np.nan),
    )
    pairs = one_of(
        rng,
        pairs,
        pairs,
        pairs.tolist(),
        pairs.astype(np.uint8),
        pd.DataFrame(pairs),
        pairs.astype(float),
        pairs[:0],
        pairs[:, :1],
        pairs + 1,
        [[0, 1], [1]],
        "ab",
    )
    return {"pairs": pairs} | ({} if weights is None else {"weights": weights})


def contained(rng: Random, X: np.ndarray) -> Any:
    """Return a matrix in one of the containers and types that people pass, good and bad."""
    return one_of(rng, *(_BAD_POINTS if rng.random() < 0.05 else _POINTS))(X)


def contained_scores(rng: Random, y: np.ndarray) -> Any:
    """Return scores in one of the containers and types that people pass, good and bad."""
    return one_of(rng, *(_BAD_SCORES if rng.random() < 0.05 else _SCORES))(y)


def _read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def _strided(X: np.ndarray) -> np.ndarray:
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _whole(X: np.ndarray) -> np.ndarray:
    return np.nan_to_num(np.clip(X, -1e9, 1e9)).astype(int)


_POINTS = (
    *[lambda X: X] * 6,
    np.asfortranarray,
    lambda X: X.astype(np.float32),
    lambda X: X.astype(np.float16),
    lambda X: X.astype(np.longdouble),
    lambda X: X.astype(object),
    _whole,
    lambda X: X > 0.0,
    lambda X: X.tolist(),
    lambda X: pd.DataFrame(X),
    lambda X: pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]),
    _read_only,
    _strided,
    lambda X: X[::-1].copy()[::-1],
)
_BAD_POINTS = (
    sp.csr_array,
    lambda X: X + 1j,
    lambda X: X.astype(str),
    lambda X: np.full(X.shape, 10**400, dtype=object),
    lambda X: X[:, 0],
    lambda X: X[None],
    lambda X: X[:0],
    lambda X: None,
    lambda X: "points",
)
_SCORES = (
    *[lambda y: y] * 6,
    lambda y: y.astype(np.float32),
    lambda y: y.astype(object),
    lambda y: _whole(y[:, None])[:, 0],
    lambda y: y > 0.0,
    lambda y: y.tolist(),
    lambda y: pd.Series(y),
    lambda y: y[:, None],
    lambda y: _read_only(y[:, None])[:, 0],
    lambda y: _strided(y[:, None])[:, 0],
)
_BAD_SCORES = (
    lambda y: np.column_stack([y, y]),
    lambda y: y[1:],
    lambda y: y + 1j,
    lambda y: y.astype(str),
    lambda y: np.where(y > 0.0, "good", "bad"),
    lambda y: None,
    lambda y: 3.0,
)
