"""Ratings tables: Jester, MovieLens, files of one's own, and synthetic ratings."""

from rankpursuit.datasets.files import load_ratings
from rankpursuit.datasets.jester import load_jester
from rankpursuit.datasets.movielens import load_movielens
from rankpursuit.datasets.named import load_named
from rankpursuit.datasets.ratings import Ratings
from rankpursuit.datasets.synthetic import make_ratings

__all__ = ["Ratings", "load_jester", "load_movielens", "load_named", "load_ratings", "make_ratings"]
