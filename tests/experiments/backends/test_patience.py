import pytest
from rankpursuit.experiments.backends.patience import Patience, Waiting

from rankpursuit.errors import NoWorkerError
from rankpursuit.experiments.backends import patience


@pytest.fixture
def clock(monkeypatch):
    """Give a list whose last entry is the time."""
    times = [1000.0]
    monkeypatch.setattr(patience.time, "monotonic", lambda: times[-1])
    return times


def test_it_is_told_after_a_while_and_again_and_then_ends(clock):
    told = []
    waiting = Waiting(Patience(seconds=150, first=10, every=60), told.append, "start one")
    for seconds in range(150):
        clock.append(1000.0 + seconds)
        waiting.look(0)
    assert told == [
        "no worker for 10 seconds, waiting 140 more for one: start one",
        "no worker for 70 seconds, waiting 80 more for one: start one",
        "no worker for 130 seconds, waiting 20 more for one: start one",
    ]
    clock.append(1150.0)
    with pytest.raises(NoWorkerError, match="no worker for 150 seconds; what was finished is kept"):
        waiting.look(0)


def test_a_worker_that_comes_begins_the_time_anew(clock):
    told = []
    waiting = Waiting(Patience(seconds=20, first=10), told.append, "start one")
    for seconds in range(100):
        clock.append(1000.0 + seconds)
        waiting.look(0 if seconds % 10 else 1)
    assert told == []


def test_the_default_is_ten_minutes_a_word_after_ten_seconds_and_each_minute():
    assert Patience() == Patience(seconds=600, first=10, every=60)


def test_no_patience_ends_at_once():
    with pytest.raises(NoWorkerError):
        Waiting(Patience(seconds=0), print, "start one").look(0)
