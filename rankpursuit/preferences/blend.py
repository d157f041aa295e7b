"""Ranking and regression in one form."""

from __future__ import annotations

import numpy as np

from rankpursuit.preferences.form import Array, DenseRoot, Preferences


class Blend(Preferences):
    """The combined ranking and regression form ``beta I + (1 - beta) L`` of CRRP.

    Its root stacks ``sqrt(beta) x`` over ``sqrt(1 - beta) B x``.

    Parameters
    ----------
    preferences : Preferences
        The ranking part.
    beta : float in [0, 1]
        1 is regression alone, 0 is ranking alone.
    """

    def __init__(self, preferences: Preferences, beta: float) -> None:
        if not 0.0 <= beta <= 1.0:
            raise ValueError(f"beta: expected a number from 0 to 1, got {beta}")
        self.n_points = preferences.n_points
        self.preferences = preferences
        self.beta = float(beta)

    def root(self, x: Array) -> Array:
        """``sqrt(beta) x`` over ``sqrt(1 - beta) B x``."""
        ranking = np.sqrt(1.0 - self.beta) * self.preferences.root(x)
        return np.concatenate([np.sqrt(self.beta) * x, ranking], axis=-1 if x.ndim == 1 else -2)

    def root_transpose(self, x: Array) -> Array:
        """Transpose of :meth:`root`, applied."""
        regression, ranking = np.split(x, [self.n_points], axis=-1 if x.ndim == 1 else -2)
        ranking = self.preferences.root_transpose(ranking)
        return np.sqrt(self.beta) * regression + np.sqrt(1.0 - self.beta) * ranking

    def compact(self) -> Preferences:
        """Return the same form with n rows: the square root of the dense blend."""
        return DenseRoot(self.laplacian(np.eye(self.n_points)))
