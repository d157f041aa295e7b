"""Tables, tests, claims and figures of what was measured, beside what was published."""
