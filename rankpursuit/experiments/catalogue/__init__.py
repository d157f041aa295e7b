"""The catalogue: every method, axis and metric, once. All else derives from it."""

from rankpursuit.experiments.catalogue.axes import AXES, N_BASIS, WIDTH, Axis
from rankpursuit.experiments.catalogue.methods import METHODS, AlgorithmSpec, Look, Method
from rankpursuit.experiments.catalogue.metrics import METRICS, Metric

__all__ = [
    "AXES",
    "METHODS",
    "METRICS",
    "N_BASIS",
    "WIDTH",
    "AlgorithmSpec",
    "Axis",
    "Look",
    "Method",
    "Metric",
]
