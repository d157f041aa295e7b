"""Rows in groups of all sizes, and the comparison of two models of them."""

import numpy as np
import pytest


def shuffled_groups(n_points=300, n_groups=25, seed=0):
    """Points in groups of all sizes that do not stand together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_points, 3))
    groups = rng.integers(n_groups, size=n_points)
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n_points) + 3.0 * groups
    return X, y, groups


def sorted_groups(**options):
    X, y, groups = shuffled_groups(**options)
    order = np.argsort(groups, kind="stable")
    return X[order], y[order], groups[order]


def assert_same_model(found, expected, tolerance=1e-8):
    np.testing.assert_array_equal(found.basis_, expected.basis_)
    np.testing.assert_array_equal(found.X_basis_, expected.X_basis_)
    scale = np.abs(expected.staged_coef_).max()
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=tolerance * scale)
    np.testing.assert_allclose(found.staged_coef_, expected.staged_coef_, atol=tolerance * scale)
    np.testing.assert_allclose(found.cost_, expected.cost_, atol=tolerance * expected.cost_[0])
    assert found.gamma_ == pytest.approx(expected.gamma_)
