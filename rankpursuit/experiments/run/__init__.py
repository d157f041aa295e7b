"""A run: its plan, its evaluation, its store and the files that it leaves."""
