"""``rp-run --scheduler`` with real schedulers and workers, killed at bad moments."""

import os
import signal
import sys

import pytest
from click.testing import CliRunner
from dask_cluster import DaskCluster, wait_until
from rp_run import contents, finish, on, run, start, wait_for_store, write_config

from rankpursuit.cli.run import main

SOME = 18_000
"""Bytes of a store with all units of the first round, some of the second and none of the others."""


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    return write_config(tmp_path_factory.mktemp("configs"), "rls", "rank_svm", repeats=4)


@pytest.fixture(scope="module")
def local(config, tmp_path_factory):
    folder = tmp_path_factory.mktemp("local")
    finished = run(config, folder, "--quiet")
    assert finished.returncode == 0, finished.stderr
    return contents(folder)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with DaskCluster(tmp_path_factory.mktemp("shared")) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared):
    """Give a cluster with a worker or two."""
    if not shared.workers():
        shared.add_worker()
    return shared


@pytest.fixture
def started(config, tmp_path):
    """Return a function that starts a run; end it in any case."""
    runs = []

    def start_on(cluster, *options):
        runs.append(start(config, tmp_path, *on(cluster.address), *options))
        return runs[-1]

    yield start_on
    for process in runs:
        process.kill()
        process.communicate()


def test_a_cluster_gives_the_bytes_of_a_local_run(cluster, config, local, tmp_path):
    cluster.add_worker("--nthreads", "2")
    finished = run(config, tmp_path, workers=on(cluster.address))
    assert finished.returncode == 0, finished.stderr
    assert contents(tmp_path) == local
    first, *progress = finished.stderr.splitlines()
    assert first.startswith("dashboard: http://127.0.0.1:")
    assert "100%" in progress[-1]


def test_workers_come_and_go_and_the_bytes_stay(cluster, started, local, tmp_path):
    cluster.end_workers()
    first, _ = cluster.add_worker()
    process = started(cluster)
    wait_for_store(process, tmp_path, SOME)
    os.kill(first.pid, signal.SIGSTOP)  # it holds units, and will never end them
    cluster.add_worker()
    first.kill()
    status, errors = finish(process)
    assert status == 0, errors
    assert contents(tmp_path) == local


def test_a_killed_scheduler_ends_the_run_in_one_line_and_another_goes_on(
    cluster, started, config, local, tmp_path, tmp_path_factory
):
    with DaskCluster(tmp_path_factory.mktemp("killed")) as other:
        other.add_worker()
        process = started(other)
        wait_for_store(process, tmp_path, SOME)
        other.scheduler.kill()
        status, errors = finish(process)
    assert status == 1
    (error,) = [line for line in errors.splitlines() if line.startswith("error: ")]
    assert error.startswith(f"error: the scheduler at {other.address} is gone")
    assert "finished units are kept" in error
    resumed = run(config, tmp_path, "--quiet", workers=on(cluster.address))
    assert resumed.returncode == 0, resumed.stderr
    assert contents(tmp_path) == local


def test_a_killed_client_leaves_nothing_behind_and_resumes(
    cluster, started, config, local, tmp_path
):
    process = started(cluster)
    wait_for_store(process, tmp_path, SOME)
    process.kill()
    process.wait()
    wait_until(lambda: not cluster.units(), "the scheduler drops the units")
    resumed = run(config, tmp_path, "--quiet", workers=on(cluster.address))
    assert resumed.returncode == 0
    assert resumed.stdout == resumed.stderr == ""
    assert contents(tmp_path) == local


def test_ctrl_c_keeps_what_is_finished_and_the_run_can_go_on_locally(
    cluster, started, config, local, tmp_path
):
    process = started(cluster)
    wait_for_store(process, tmp_path, SOME)
    os.killpg(process.pid, signal.SIGINT)
    status, errors = finish(process)
    assert status == 130
    assert "stopped; finished units are kept. To resume: rp-run" in errors
    wait_until(lambda: not cluster.units(), "the scheduler drops the units")
    assert run(config, tmp_path, "--quiet").returncode == 0
    assert contents(tmp_path) == local


def invoke(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_a_number_of_processes_is_refused_for_a_cluster(config):
    result = invoke(config, *on("tcp://host:8786"), "-j", "2")
    assert result.exit_code == 2
    assert (
        result.output
        == "error: --n-jobs: not allowed with --scheduler; the cluster has its own workers\n"
    )


def test_without_dask_the_command_to_install_it_is_told(config, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = invoke(config, *on("tcp://host:8786"))
    assert result.exit_code == 1
    assert result.output.startswith("error: ")
    assert "pip install 'rankpursuit[dask]'" in result.output
    assert result.output.count("\n") == 1
