"""Processes found by a mark in their environment, which all descendants of a process inherit."""

import time
from uuid import uuid4

import psutil

VARIABLE = "RANKPURSUIT_TEST_MARK"


def new_mark():
    """Return variables for the environment of a process that is to be found with all of its own."""
    return {VARIABLE: uuid4().hex}


def alive(mark):
    """Return the processes with a mark."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(VARIABLE) == mark[VARIABLE]:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def still_alive(mark, seconds):
    """Return the processes with a mark that are left after so many seconds, or none before."""
    deadline = time.monotonic() + seconds
    while (found := alive(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found
