"""Tables, tests, claims and figures: measured results next to published ones."""
