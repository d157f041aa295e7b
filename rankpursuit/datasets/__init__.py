"""Ratings tables: Jester, MovieLens, one's own, and synthetic ones; and learning-to-rank files."""

from rankpursuit.datasets.files import load_ratings
from rankpursuit.datasets.jester import load_jester
from rankpursuit.datasets.letor import Letor, letor_blocks, load_letor
from rankpursuit.datasets.movielens import load_movielens
from rankpursuit.datasets.named import load_named
from rankpursuit.datasets.ratings import Ratings
from rankpursuit.datasets.synthetic import make_ratings

__all__ = [
    "Letor",
    "Ratings",
    "letor_blocks",
    "load_jester",
    "load_letor",
    "load_movielens",
    "load_named",
    "load_ratings",
    "make_ratings",
]
