"""Ctrl-C and SIGTERM end every command in one line, with the status of the signal."""

import importlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from click.testing import CliRunner
from marked import new_mark, still_alive
from rp_run import contents, run, start, wait_for_store, write_config

from rankpursuit.cli._common import Terminated, terminable

STATUS = {signal.SIGHUP: 129, signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    labels = ("rls", "rank_svm", "sparse_rank_rls", "semi_supervised_ranking_pursuit")
    return write_config(tmp_path_factory.mktemp("configs"), *labels, repeats=4)


@pytest.fixture(scope="module")
def uninterrupted(config, tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    assert run(config, folder).returncode == 0
    return contents(folder)


@pytest.mark.parametrize(
    ("number", "n_jobs", "to_all"),
    [
        (signal.SIGINT, 1, True),
        (signal.SIGTERM, 2, False),
        (signal.SIGHUP, 2, True),
    ],
)
def test_a_stopped_run_keeps_what_is_finished_and_resumes(
    config, uninterrupted, tmp_path, number, n_jobs, to_all
):
    mark = new_mark()
    process = start(config, tmp_path, "-j", n_jobs, "--quiet", env=os.environ | mark)
    wait_for_store(process, tmp_path, 20_000)
    if to_all:  # as a terminal or a queue does
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    printed, errors = process.communicate(timeout=60)
    assert process.returncode == STATUS[number]
    assert errors.startswith("stopped; finished units are kept. To resume: rp-run")
    assert errors.count("\n") == 1
    assert printed == ""
    assert still_alive(mark, 10) == []
    assert (tmp_path / "small" / "provenance.json").exists()
    assert run(config, tmp_path).returncode == 0
    assert contents(tmp_path) == uninterrupted


SLOW = """
import sys, time
import {module} as slow
def wait(*arguments, **options):
    print("waiting", flush=True)
    for _ in range(600):  # a signal that comes before a sleep begins does not end it
        time.sleep(0.1)
slow.{function} = wait
from rankpursuit.cli.{command} import main
main(prog_name="rp-{command}")
"""


LOADING = {
    "run": ("rankpursuit.experiments.config", "load_experiment", ["demo"]),
    "tables": ("rankpursuit.cli._common", "load_all", ["."]),
    "report": ("rankpursuit.cli._common", "load_all", ["."]),
    "check": ("rankpursuit.reporting.check", "load_expectations", ["."]),
    "data": ("rankpursuit.datasets.files", "guess_layout", ["describe", "ratings.csv"]),
}


@pytest.mark.parametrize(
    ("command", "number"),
    [*((command, signal.SIGINT) for command in LOADING), ("run", signal.SIGTERM)],
)
def test_a_command_stopped_while_it_loads_says_so_in_one_line(tmp_path, command, number):
    module, function, words = LOADING[command]
    (tmp_path / "ratings.csv").touch()
    program = SLOW.format(module=module, function=function, command=command)
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == STATUS[number]
    assert errors.startswith("stopped; ")
    assert errors.count("\n") == 1


def test_sigterm_is_an_exception_only_inside():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Terminated), terminable():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_that_is_ignored_stays_ignored():
    own = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with terminable():
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, own)


def test_a_command_can_be_called_from_a_thread(tmp_path):
    said = []
    command = importlib.import_module("rankpursuit.cli.tables").main
    thread = threading.Thread(
        target=lambda: said.append(CliRunner().invoke(command, [str(tmp_path / "none")]))
    )
    thread.start()
    thread.join()
    assert said[0].exit_code == 1
    assert "no such folder of results" in said[0].stderr
