"""What a client asks of a cluster: real schedulers and workers, checked before they are used."""

import socket

import pandas as pd
import pytest
import scipy
from dask_cluster import DaskCluster, wait_until
from small_experiment import few_jobs, run_of, small_config, sums

import rankpursuit
from rankpursuit.datasets import make_ratings
from rankpursuit.errors import ClusterError, RunError
from rankpursuit.experiments import backends
from rankpursuit.experiments.backends import Dask
from rankpursuit.experiments.config import ratings_of
from rankpursuit.experiments.evaluate import evaluate_unit


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with DaskCluster(tmp_path_factory.mktemp("shared")) as cluster:
        yield cluster


@pytest.fixture
def dask(shared):
    """Give a cluster with one worker; end those that a test adds."""
    if not shared.workers():
        shared.add_worker()
    yield shared
    shared.end_workers(but=1)


@pytest.fixture
def own_ratings(tmp_path):
    """Write a file of ratings; return it and a run on it, which has loaded it."""
    table = make_ratings(n_users=120, n_items=60, seed=3)
    users = table.user_ids.repeat(table.counts)
    path = tmp_path / "ratings.csv"
    columns = {"user": users, "item": table.item_ids[table.items], "rating": table.values}
    pd.DataFrame(columns).to_csv(path, index=False)
    yield path, run_of(small_config(data={"name": "ratings", "path": str(path)}))
    ratings_of.cache_clear()


def preload(folder, *statements):
    """Return the options of a worker or scheduler that runs some Python statements first."""
    file = folder / "preload.py"
    file.write_text("\n".join(statements))
    return ("--preload", str(file))


OTHER_VERSIONS = (
    "import scipy, rankpursuit.experiments.store",
    "scipy.__version__ = '1.0'",
    "rankpursuit.__version__ = '0.0.1'",
)
WITHOUT_PACKAGE = ("import sys", "sys.modules['rankpursuit'] = None")


def problems(cluster, data):
    """Return the lines about workers; the last one says what to do."""
    with pytest.raises(ClusterError) as refused:
        cluster.check(data)
    *lines, remedy = refused.value.problems
    assert remedy.startswith("install 'rankpursuit[dask]==")
    assert remedy.endswith("set RANKPURSUIT_DATA on the worker")
    return lines


def test_it_waits_for_a_first_worker_and_tells_so(dask):
    dask.end_workers()
    told = []

    def report(line):
        told.append(line)
        if line.startswith("no worker; "):
            dask.add_worker()

    with Dask(dask.address, report) as cluster:
        cluster.check(run_of(small_config()).experiment.data)
        assert cluster.count() == 1
    assert told[0].startswith("dashboard: http://127.0.0.1:")
    remedy = f"dask worker --nthreads 1 {dask.address}"
    assert told[1] == f"no worker; waiting 600 seconds for one. Start it with: {remedy}"


def test_workers_that_are_all_gone_are_told_of_and_what_was_finished_comes_first(dask):
    run, told = run_of(small_config()), []
    dask.end_workers()
    worker, _ = dask.add_worker()
    with Dask(dask.address, told.append, 1) as cluster:
        results = cluster.evaluate(run.experiment, few_jobs(run, 4) * 100)
        found = [next(results)]
        worker.kill()
        with pytest.raises(RunError, match="no worker for 1 seconds; start one"):
            found.extend(results)
    assert told[1].startswith("no worker; ")
    assert (
        sums(found).items()
        <= sums(evaluate_unit(run.experiment, *x) for x in few_jobs(run, 4)).items()
    )


def test_workers_that_cannot_take_part_are_refused_with_the_list(dask, tmp_path):
    (good,) = dask.workers()
    _, old = dask.add_worker(*preload(tmp_path, *OTHER_VERSIONS))
    _, bare = dask.add_worker(*preload(tmp_path, *WITHOUT_PACKAGE))
    with Dask(dask.address, print) as cluster:
        found = problems(cluster, run_of(small_config()).experiment.data)
    assert not any(good in line for line in found)
    (line,) = [line for line in found if old in line]
    here = f"here {rankpursuit.__version__}; scipy 1.0, here {scipy.__version__}"
    assert line == f"worker {old}: rankpursuit 0.0.1, {here}"
    (line,) = [line for line in found if bare in line]
    assert "'rankpursuit' is not a package" in line


def test_a_scheduler_without_the_package_is_refused(tmp_path):
    with DaskCluster(tmp_path, *preload(tmp_path, *WITHOUT_PACKAGE)) as dask:
        dask.add_worker()
        with Dask(dask.address, print) as cluster:
            (line,) = problems(cluster, run_of(small_config()).experiment.data)
    assert line.startswith("the scheduler: ")


def test_a_worker_without_the_data_or_with_other_data_is_refused(dask, own_ratings):
    path, run = own_ratings
    (address,) = dask.workers()
    ours = path.read_text()
    with Dask(dask.address, print) as cluster:
        cluster.check(run.experiment.data)
        path.write_text(ours + "999,1,1.5\n")
        (other,) = problems(cluster, run.experiment.data)
        path.unlink()
        (missing,) = problems(cluster, run.experiment.data)
        path.write_text(ours)
        cluster.check(run.experiment.data)
    assert other.startswith(f"worker {address}: data ")
    assert missing.startswith(f"worker {address}: {path}: no such file")


def test_a_worker_that_joins_unlike_the_others_ends_the_run_by_name(dask, tmp_path, monkeypatch):
    monkeypatch.setattr(backends, "OUTSTANDING", 20)
    run = run_of(small_config())
    with Dask(dask.address, print) as cluster:
        results = cluster.evaluate(run.experiment, few_jobs(run, 4) * 100)
        next(results)
        _, address = dask.add_worker(*preload(tmp_path, *OTHER_VERSIONS))
        with pytest.raises(ClusterError, match=f"worker {address}: rankpursuit 0.0.1, here"):
            list(results)


def test_units_go_out_in_parts_and_all_come_back(dask, monkeypatch):
    monkeypatch.setattr(backends, "OUTSTANDING", 4)
    run = run_of(small_config(repeats=5))
    taken = []

    def jobs():
        for job in few_jobs(run, 20):
            taken.append(job)
            yield job

    with Dask(dask.address, print) as cluster:
        results = cluster.evaluate(run.experiment, jobs())
        found = [next(results)]
        assert len(taken) == 4
        found += results
    assert sums(found) == sums(evaluate_unit(run.experiment, *job) for job in taken)
    assert len(taken) == 20


def test_results_that_are_lost_with_their_worker_are_computed_again(dask):
    run = run_of(small_config())
    dask.end_workers()
    worker, _ = dask.add_worker()
    jobs = few_jobs(run, 4)
    with Dask(dask.address, print) as cluster:
        results = cluster.evaluate(run.experiment, jobs)
        found = [next(results)]
        wait_until(lambda: set(dask.units().values()) <= {"memory"}, "all units are done")
        worker.kill()
        worker.wait()
        dask.add_worker()
        found += results
    assert sums(found) == sums(evaluate_unit(run.experiment, *job) for job in jobs)


def test_a_fault_of_the_program_keeps_its_own_error(dask):
    run = run_of(small_config())
    ((unit, _, choices),) = few_jobs(run, 1)
    with Dask(dask.address, print) as cluster, pytest.raises(TypeError, match="NoneType"):
        list(cluster.evaluate(run.experiment, [(unit, None, choices)]))


HOLD_MORE_AND_MORE = "held = [bytearray(10**7) for _ in range(100) if not time.sleep(0.02)]"


@pytest.mark.parametrize(("end", "failures"), [("os._exit(1)", "1"), (HOLD_MORE_AND_MORE, "0")])
def test_a_unit_on_which_workers_die_again_and_again_ends_the_run(
    tmp_path, monkeypatch, end, failures
):
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", failures)
    run = run_of(small_config())
    deadly = (
        *("import os, time", "import rankpursuit.experiments.evaluate as worker"),
        *("def evaluate(*job):", f"    {end}", "    raise TypeError('it did not die')"),
        "worker.evaluate_unit = evaluate",
    )
    options = ("--nanny", "--memory-limit", "600MB", *preload(tmp_path, *deadly))
    with DaskCluster(tmp_path) as dask:
        dask.add_worker(*options)
        with Dask(dask.address, print) as cluster:
            results = cluster.evaluate(run.experiment, few_jobs(run, 1))
            with pytest.raises(
                RunError, match="several workers in turn were killed or ran out of memory"
            ):
                list(results)
        dask.end_workers()


@pytest.fixture
def mute():
    """Give the port of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.fixture
def hasty(monkeypatch):
    """Make a client wait for the answer of a server for a second."""
    monkeypatch.setattr(backends, "_CONNECT_SECONDS", 1)


def refusal(address):
    with pytest.raises(RunError) as refused:
        Dask(address, print).__enter__()
    assert str(refused.value).startswith(f"no Dask scheduler answers at {address}: start one")
    return str(refused.value)


def test_a_server_that_never_answers_is_refused(mute, hasty):
    assert "no answer in 1 seconds" in refusal(f"tcp://127.0.0.1:{mute}")


def test_a_scheduler_with_certificates_needs_certificates(mute):
    assert "TLS" in refusal(f"tls://127.0.0.1:{mute}")


@pytest.mark.parametrize(
    "address",
    [
        *("tcp://127.0.0.1:99999", "tcp://127.0.0.1:port", "tcp://127.0.0.1", "nowhere", "tcp://"),
        *("tcp://no-such-host.invalid:8786", "http://127.0.0.1:8786", "inproc://x", "tcp://[::1"),
    ],
)
def test_a_bad_address_is_refused(address, hasty):
    refusal(address)


def test_the_address_of_a_worker_is_refused(dask):
    (address,) = dask.workers()
    assert "this is the address of a worker" in refusal(address)


def test_an_address_without_a_scheduler_is_refused(hasty):
    with socket.socket() as nobody:  # bound, and not listening
        nobody.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(RunError, match=f"no Dask scheduler answers at {address}: "):
            Dask(address, print).__enter__()
