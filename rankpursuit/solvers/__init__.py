"""The algorithms of the paper as pure functions on arrays."""
