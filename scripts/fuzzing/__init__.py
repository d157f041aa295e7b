"""Hostile input, made from a seed: one module a kind, each with ``attack(seed, folder)``.

``attack`` builds one case from the seed, inside an empty folder, runs it in this process, and
returns None if the outcome is right (accepted, or refused by an error of the package in one line),
or else says what is wrong. Its first seeds are cases with a name: what was once found.
"""

NAMES = ("configs", "options", "tables", "stores", "results", "estimators")
"""Every kind."""
