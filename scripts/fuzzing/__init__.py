"""Attacks on the package with random hostile input, one module a subject."""
