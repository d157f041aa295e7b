"""Runs killed at random moments; as many as RANKPURSUIT_KILLS says, by default a few."""

import os

from kill_loop import kill_loop

KILLS = int(os.environ.get("RANKPURSUIT_KILLS", "5"))


def test_runs_killed_at_any_moment_end_with_the_same_bytes(tmp_path):
    kills, errors = kill_loop(tmp_path, KILLS, seed=KILLS)
    assert errors == []
    assert kills.total() == KILLS
