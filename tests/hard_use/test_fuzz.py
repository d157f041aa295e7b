"""A few hundred cases of every fuzzer, and the program that runs them."""

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from fuzz import run_case
from fuzzing import NAMES
from fuzzing.guard import Hang, attempt, time_limit

from rankpursuit.errors import ConfigError, DataError

PROGRAM = Path(__file__).parents[2] / "scripts" / "fuzz.py"
TOGETHER = 25
N_CASES = 200


@pytest.mark.parametrize("first", range(0, N_CASES, TOGETHER))
@pytest.mark.parametrize("name", [name for name in NAMES if find_spec(f"fuzzing.{name}")])
def test_hostile_input_is_accepted_or_refused_in_one_line(name, first):
    found = {seed: run_case(name, seed) for seed in range(first, first + TOGETHER)}
    assert {seed: words for seed, words in found.items() if words} == {}


def fuzz(*options, **settings):
    command = [sys.executable, str(PROGRAM), *options]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings
    )


def test_the_program_prints_a_table_and_has_status_zero_if_nothing_is_wrong():
    process = fuzz("--only", "tables", "--cases", "30", "--jobs", "1")
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert printed.split()[:5] == ["kind", "cases", "accepted", "refused", "wrong"]
    assert printed.split()[-5::4] == ["tables", "0"]


def test_ctrl_c_ends_the_program_with_what_was_finished():
    process = fuzz("--only", "tables", "--cases", "1000000", start_new_session=True)
    seen = ""
    while "cases/s]" not in seen:
        seen += process.stderr.read(1)
    os.killpg(process.pid, signal.SIGINT)
    printed, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped" in errors and "Traceback" not in errors
    assert printed.startswith("  kind")


def test_a_case_that_takes_too_long_is_ended():
    with pytest.raises(Hang), time_limit(0.05):
        while True:
            pass


@pytest.mark.parametrize(
    ("error", "right"),
    [
        (DataError("one line"), True),
        (ConfigError(["a: one", "b: two"]), True),
        (ConfigError([]), False),
        (DataError("x" * 100_000), False),
        (KeyError("bug"), False),
        (MemoryError(), False),
    ],
)
def test_only_an_error_of_the_package_with_a_short_message_is_right(error, right):
    def refuse():
        raise error

    assert (attempt(refuse)[1] is None) == right
