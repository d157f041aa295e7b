"""Sparse preference learning by pursuit."""

__version__ = "0.1.0"
