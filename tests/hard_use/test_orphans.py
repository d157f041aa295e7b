"""A run that is killed or stopped at any moment leaves no process and no noise behind."""

import os
import signal
import subprocess
import time

import psutil
import pytest
import yaml
from marked import alive, new_mark, still_alive
from rp_run import RP_RUN, start
from small_experiment import small_config

FORBIDDEN = ("Traceback", "Warning", "resource_tracker", "leaked", "semaphore", "Exception ignored")


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "small.yaml"
    path.write_text(yaml.safe_dump(small_config(repeats=50)))
    return path


@pytest.fixture
def mark():
    """Give a mark; end all that is left of it."""
    mark = new_mark()
    yield mark
    for process in alive(mark):
        process.kill()


def workers_of(process):
    """Return the processes that evaluate units, not joblib's own helpers."""
    children = psutil.Process(process.pid).children()
    return [child for child in children if "popen_loky" in " ".join(child.cmdline())]


def is_alive(process):
    """Say whether a process runs; one that nobody has waited for does not."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def start_marked(config, folder, mark, n_jobs):
    return start(config, folder, "-j", n_jobs, env=os.environ | mark)


def wait_for_first_worker(process, mark):
    while process.poll() is None and len(alive(mark)) < 2:
        time.sleep(0.005)
    assert process.poll() is None, process.stderr.read()


@pytest.mark.parametrize("n_jobs", [2, 4])
@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.2, 0.6, 1.5])
def test_no_process_outlives_a_run_that_is_killed_while_its_workers_start(
    config, tmp_path, mark, n_jobs, seconds
):
    process = start_marked(config, tmp_path, mark, n_jobs)
    wait_for_first_worker(process, mark)
    time.sleep(seconds)
    process.kill()
    process.communicate()
    assert still_alive(mark, 10) == []


@pytest.mark.parametrize("seconds", [0.5, 1.0, 1.5, 2.0, 2.5, 3.0])
def test_no_process_outlives_a_run_that_is_killed_in_its_first_seconds(
    config, tmp_path, mark, seconds
):
    process = start_marked(config, tmp_path, mark, 2)
    time.sleep(seconds)
    process.kill()
    process.communicate()
    assert still_alive(mark, 10) == []


@pytest.mark.parametrize("n_jobs", [2, 4])
@pytest.mark.parametrize("seconds", [0.2, 0.5])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_while_workers_start_ends_all_of_them_without_noise(
    config, tmp_path, mark, number, seconds, n_jobs
):
    process = start_alone(config, tmp_path, mark, n_jobs)
    wait_for_first_worker(process, mark)
    time.sleep(seconds)
    check_stop(process, mark, number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_run_that_is_stopped_in_the_middle_ends_without_noise(
    config, tmp_path, mark, number, n_jobs
):
    process = start_alone(config, tmp_path, mark, n_jobs)
    store = tmp_path / "small" / "results.sqlite"
    while process.poll() is None and not (store.exists() and store.stat().st_size > 20_000):
        time.sleep(0.005)
    check_stop(process, mark, number)


def start_alone(config, folder, mark, n_jobs):
    return subprocess.Popen(
        [*RP_RUN, str(config), "--output", str(folder), "-j", str(n_jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env=os.environ | mark,
    )


def check_stop(process, mark, number):
    """Signal the whole group, as a terminal or a queue does."""
    workers = workers_of(process)
    os.killpg(process.pid, number)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert not any(map(is_alive, workers))
    assert still_alive(mark, 10) == []
    assert not [line for line in said.splitlines() if any(w in line for w in FORBIDDEN)], said


def test_a_worker_takes_no_notice_of_signals_that_are_for_the_run(config, tmp_path, mark):
    process = start_marked(config, tmp_path, mark, 2)
    wait_for_first_worker(process, mark)
    time.sleep(2)
    (worker, *_) = workers_of(process)
    for number in (signal.SIGINT, signal.SIGTERM):
        worker.send_signal(number)
    time.sleep(0.5)
    assert is_alive(worker)
    process.kill()
    process.communicate()
    assert still_alive(mark, 10) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_worker_that_is_killed_ends_the_run_in_one_line_and_no_process_is_left(
    config, tmp_path, mark, number
):
    process = start_marked(config, tmp_path, mark, 2)
    wait_for_first_worker(process, mark)
    time.sleep(1)
    workers_of(process)[0].send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    (line,) = [line for line in errors.splitlines() if line.startswith("error: ")]
    assert "Traceback" not in errors
    assert line == (
        "error: a worker process was killed or ran out of memory; what was finished is kept: give "
        "the same command to go on"
    )
    assert still_alive(mark, 10) == []
