"""Errors and scores of predictions, one file a kind; each for one prediction or a whole stack."""

from rankpursuit.metrics.disagreement import Ties, disagreement_error, pairwise_accuracy
from rankpursuit.metrics.kendall import Variant, kendall_tau
from rankpursuit.metrics.relevance import mean_average_precision, mean_reciprocal_rank
from rankpursuit.metrics.squared import sparsity, squared_error
from rankpursuit.metrics.top import Discount, Gain, ndcg_error

__all__ = [
    "Discount",
    "Gain",
    "Ties",
    "Variant",
    "disagreement_error",
    "kendall_tau",
    "mean_average_precision",
    "mean_reciprocal_rank",
    "ndcg_error",
    "pairwise_accuracy",
    "sparsity",
    "squared_error",
]
