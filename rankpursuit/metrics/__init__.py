"""Errors of predictions, one file a kind; each for one prediction or for a whole stack of them."""

from rankpursuit.metrics.disagreement import Ties, disagreement_error, pairwise_accuracy
from rankpursuit.metrics.squared import sparsity, squared_error
from rankpursuit.metrics.top import ndcg_error

__all__ = [
    "Ties",
    "disagreement_error",
    "ndcg_error",
    "pairwise_accuracy",
    "sparsity",
    "squared_error",
]
