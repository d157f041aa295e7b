"""Ratings tables: Jester, MovieLens, files of one's own, and synthetic ratings."""
