"""A method and a metric for ``rp-run --plugin smoothing.py``."""

import numpy as np

from rankpursuit.experiments.grids import PositiveGrid
from rankpursuit.experiments.registry import Axis, MethodOptions, register_method, register_metric


class Options(MethodOptions):
    power: PositiveGrid = (1.0, 2.0)


@register_method("smoothing", title="Smoothing", options=Options, axes=(Axis("power"),))
def predict_grid(problem, options, rows):
    kernel = problem.kernel[:, rows, : problem.n_scored]
    weights = np.stack([kernel**power for power in options.power], axis=1)
    sums = weights @ problem.scored_scores[:, None, :, None]
    return sums[..., 0] / (weights.sum(axis=-1) + 1e-300)


@register_metric("root", title="root mean squared error", offset_sensitive=True)
def root(scores, predictions):
    differences = predictions - np.expand_dims(scores, tuple(range(1, predictions.ndim - 1)))
    return np.sqrt(np.mean(differences**2, axis=-1))
