"""Ratings tables: Jester, MovieLens, files of one's own, synthetic ratings; blocks of rows."""

from rankpursuit.datasets.blocks import Blocks, array_blocks
from rankpursuit.datasets.files import load_ratings
from rankpursuit.datasets.jester import load_jester
from rankpursuit.datasets.movielens import load_movielens
from rankpursuit.datasets.named import load_named
from rankpursuit.datasets.parquet import parquet_blocks
from rankpursuit.datasets.ratings import Ratings
from rankpursuit.datasets.synthetic import make_ratings

__all__ = [
    "Blocks",
    "Ratings",
    "array_blocks",
    "load_jester",
    "load_movielens",
    "load_named",
    "load_ratings",
    "make_ratings",
    "parquet_blocks",
]
