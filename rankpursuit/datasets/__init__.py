"""Ratings tables (public, your own, synthetic), learning-to-rank files, and blocks of rows."""

from rankpursuit.datasets.blocks import Blocks, array_blocks, parquet_blocks
from rankpursuit.datasets.fetch import load_jester, load_movielens, load_named
from rankpursuit.datasets.files import load_ratings
from rankpursuit.datasets.letor import Letor, letor_blocks, load_letor
from rankpursuit.datasets.ratings import Ratings
from rankpursuit.datasets.synthetic import make_ratings

__all__ = [
    "Blocks",
    "Letor",
    "Ratings",
    "array_blocks",
    "letor_blocks",
    "load_jester",
    "load_letor",
    "load_movielens",
    "load_named",
    "load_ratings",
    "make_ratings",
    "parquet_blocks",
]
