"""Subjects of ``scripts/bench.py``."""
