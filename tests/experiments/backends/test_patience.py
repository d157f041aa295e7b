import time

import pytest

from rankpursuit.errors import NoWorkerError
from rankpursuit.experiments.backends.patience import Patience, Waiting

SHORT = Patience(seconds=0.5, first=0.1, every=0.2)


def look_until_the_end(waiting, counts=lambda: 0):
    while True:
        waiting.look(counts())
        time.sleep(0.01)


def test_it_is_told_after_a_while_and_again_and_then_ends():
    told = []
    begun = time.monotonic()
    with pytest.raises(NoWorkerError, match=r"no worker for 0.5 seconds; what was finished is"):
        look_until_the_end(Waiting(SHORT, told.append, "start one"))
    assert time.monotonic() - begun >= SHORT.seconds
    assert [line.split(",")[0] for line in told] == ["no worker for 0 seconds"] * 2
    assert all(line.endswith("more for one: start one") for line in told)


def test_a_worker_that_comes_begins_the_time_anew():
    told = []
    waiting = Waiting(SHORT, told.append, "start one")
    deadline = time.monotonic() + 2 * SHORT.seconds
    while time.monotonic() < deadline:
        waiting.look(0)
        time.sleep(0.01)
        waiting.look(1)
    assert told == []


def test_the_default_is_ten_minutes_a_word_after_ten_seconds_and_each_minute():
    assert Patience() == Patience(seconds=600, first=10, every=60)


def test_no_patience_ends_at_once():
    with pytest.raises(NoWorkerError):
        Waiting(Patience(seconds=0), print, "start one").look(0)
