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
from made_up import write_results
from rp_run import contents, finish, run, start, wait_for_store, write_config

from rankpursuit.cli._signals import Terminated, terminable

STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143}
SIGNALS = list(STATUS)


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    labels = ("rls", "rank_svm", "sparse_rank_rls", "semi_supervised_ranking_pursuit")
    return write_config(tmp_path_factory.mktemp("configs"), *labels)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("to_all", [False, True])
def test_a_terminated_run_keeps_what_is_finished_and_resumes(config, tmp_path, n_jobs, to_all):
    process = start(config, tmp_path, "-j", n_jobs, "--quiet")
    wait_for_store(process, tmp_path, 30_000)
    if to_all:
        os.killpg(process.pid, signal.SIGTERM)
    else:
        process.terminate()
    status, errors = finish(process, timeout=60)
    assert status == 143
    assert errors.startswith("stopped; what was finished is kept. To go on: rp-run")
    assert errors.count("\n") == 1
    assert (tmp_path / "small" / "provenance.json").exists()
    assert run(config, tmp_path).returncode == 0
    whole = tmp_path / "whole"
    assert run(config, whole).returncode == 0
    assert contents(tmp_path) == contents(whole)


SLOW = """
import sys, time
import {module} as slow
def wait(*arguments, **options):
    print("waiting", flush=True)
    time.sleep(60)
slow.{function} = wait
from rankpursuit.cli.{command} import main
main(prog_name="rp-{command}")
"""


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize(
    ("command", "module", "function", "words"),
    [
        ("run", "rankpursuit.experiments.config", "load_experiment", ["demo"]),
        ("tables", "rankpursuit.cli._results", "load_all", ["x"]),
        ("report", "rankpursuit.cli._results", "load_all", ["x"]),
        ("check", "rankpursuit.cli._results", "load_all", ["x"]),
        ("data", "rankpursuit.datasets", "load_ratings", ["describe", "x.csv"]),
    ],
)
def test_a_command_stopped_while_it_loads_says_so_in_one_line(
    tmp_path, command, module, function, words, number
):
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


@pytest.mark.parametrize("name", ["check", "report", "tables"])
def test_ctrl_c_is_told_in_the_process_too(name, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("rankpursuit.reporting.results.load_results", stop)
    folder = write_results(tmp_path / "one", repeats=2)
    command = importlib.import_module(f"rankpursuit.cli.{name}").main
    result = CliRunner().invoke(command, [str(folder)])
    assert result.exit_code == 130
    assert result.stderr == "stopped; give the same command again\n"


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
