"""A run that is killed or stopped at any moment leaves no process and no noise behind."""

import os
import signal
import time

import psutil
import pytest
import yaml
from marked import alive, new_mark, still_alive
from rp_run import finish, start, wait_for_store, workers_of
from small_experiment import small_config

GONE = 10
"""Seconds within which workers end. Left alone, they would end after five minutes."""


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    """A config whose first round lasts for a while: workers have units from their start."""
    path = tmp_path_factory.mktemp("config") / "long.yaml"
    config = small_config(repeats=1)
    config["data"]["n_users"] = 4000
    config["protocol"]["holdout_users"] = 800
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.fixture
def mark():
    """Give a mark; end all that is left of it."""
    mark = new_mark()
    yield mark
    for process in alive(mark):
        process.kill()


def start_marked(config, folder, mark, n_jobs):
    return start(config, folder, "-j", n_jobs, "--quiet", env=os.environ | mark)


def wait_for_first_worker(process):
    while process.poll() is None and not workers_of(process):
        time.sleep(0.001)
    assert process.poll() is None, process.stderr.read()


@pytest.mark.parametrize(("n_jobs", "seconds"), [(4, 0.0), (2, 1.5)])
def test_no_process_outlives_a_run_that_is_killed_in_its_first_seconds(
    config, tmp_path, mark, n_jobs, seconds
):
    process = start_marked(config, tmp_path, mark, n_jobs)
    wait_for_first_worker(process)
    time.sleep(seconds)
    process.kill()
    process.communicate()
    assert still_alive(mark, GONE) == []


@pytest.mark.parametrize(
    ("number", "n_jobs", "seconds"),
    [(signal.SIGINT, 4, 0.0), (signal.SIGTERM, 2, 0.3)],
)
def test_a_run_that_is_stopped_while_workers_start_ends_all_of_them_without_noise(
    config, tmp_path, mark, number, n_jobs, seconds
):
    process = start_marked(config, tmp_path, mark, n_jobs)
    wait_for_first_worker(process)
    time.sleep(seconds)
    os.killpg(process.pid, number)  # as a terminal or a queue does
    printed, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert errors.startswith("stopped; ")
    assert errors.count("\n") == 1
    assert printed == ""
    assert still_alive(mark, GONE) == []


def test_a_worker_takes_no_notice_of_signals_that_are_for_the_run(config, tmp_path, mark):
    process = start_marked(config, tmp_path, mark, 2)
    wait_for_store(process, tmp_path, 40_000)
    (worker, *_) = workers_of(process)
    for number in (signal.SIGINT, signal.SIGTERM):
        worker.send_signal(number)
    time.sleep(0.2)
    assert worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE
    process.kill()
    process.communicate()
    assert still_alive(mark, GONE) == []


@pytest.mark.parametrize(
    ("number", "to_all"),
    [(signal.SIGHUP, False), (signal.SIGQUIT, True), (signal.SIGUSR1, False)],
)
def test_a_run_ended_by_another_signal_says_one_line_at_most(
    config, tmp_path, mark, number, to_all
):
    process = start_marked(config, tmp_path, mark, 2)
    wait_for_store(process, tmp_path, 40_000)
    (os.killpg if to_all else os.kill)(process.pid, number)
    _, errors = process.communicate(timeout=60)
    assert errors == "" or (errors.startswith("stopped; ") and errors.count("\n") == 1)
    assert still_alive(mark, GONE) == []


def test_a_worker_that_is_killed_ends_the_run_in_one_line_and_no_process_is_left(
    config, tmp_path, mark
):
    process = start_marked(config, tmp_path, mark, 2)
    wait_for_store(process, tmp_path, 40_000)
    workers_of(process)[0].kill()
    status, errors = finish(process, timeout=30)
    assert status == 1
    (line,) = [line for line in errors.splitlines() if line.startswith("error: ")]
    assert line == (
        "error: a worker process was killed or ran out of memory; finished units are kept: re-run "
        "the same command to resume"
    )
    assert (tmp_path / "small" / "provenance.json").exists()
    assert still_alive(mark, GONE) == []
