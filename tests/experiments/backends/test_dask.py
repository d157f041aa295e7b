"""What a client asks of a cluster: real schedulers and workers, checked before they are used."""

import socket

import pandas as pd
import pytest
from dask_cluster import DaskCluster, wait_until
from small_experiment import run_of, small_config

from rankpursuit.datasets import make_ratings
from rankpursuit.errors import ClusterError, RunError
from rankpursuit.experiments.backends import dask as client_side
from rankpursuit.experiments.backends.dask import Dask
from rankpursuit.experiments.config import ratings_of
from rankpursuit.experiments.run.evaluate import evaluate_unit


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
    "import scipy, rankpursuit.experiments.backends.dask_worker",
    "scipy.__version__ = '1.0'",
    "rankpursuit.__version__ = '0.0.1'",
    "rankpursuit.experiments.backends.dask_worker._blas = lambda: 'of another kind'",
)
WITHOUT_PACKAGE = ("import sys", "sys.modules['rankpursuit'] = None")


def faults(cluster, data):
    with pytest.raises(ClusterError) as refused:
        cluster.check(data)
    return refused.value.faults


def few_jobs(run, number):
    units = list(run.plan.of(run.plan.cells, "holdout"))[:number]
    return [(unit, ("rls",), {}) for unit in units]


def sums(results):
    return {result.unit: result.results["rls"].sums["disagreement"].tolist() for result in results}


def test_it_waits_for_a_first_worker_and_tells_so(dask):
    dask.end_workers()
    told = []

    def tell(line):
        told.append(line)
        if line.startswith("no worker yet"):
            dask.add_worker()

    with Dask(dask.address, tell) as cluster:
        assert cluster.count() == 1
    assert told[0].startswith("dashboard: http://127.0.0.1:")
    assert told[1:] == [f"no worker yet, waiting for one: dask worker --nthreads 1 {dask.address}"]


def test_workers_that_cannot_take_part_are_refused_with_the_list(dask, tmp_path):
    (good,) = dask.workers()
    _, old = dask.add_worker(*preload(tmp_path, *OTHER_VERSIONS))
    _, bare = dask.add_worker(*preload(tmp_path, *WITHOUT_PACKAGE))
    with Dask(dask.address, print) as cluster:
        found = faults(cluster, run_of(small_config()).experiment.data)
    assert not any(good in line for line in found)
    assert [line.split(",")[0] for line in found if old in line] == [
        f"worker {old}: rankpursuit 0.0.1",
        f"worker {old}: scipy 1.0",
        f"worker {old}: BLAS of another kind",
    ]
    (line,) = [line for line in found if bare in line]
    assert "'rankpursuit' is not a package" in line
    assert "pip install 'rankpursuit[dask]==" in line


def test_a_scheduler_without_the_package_is_refused(tmp_path):
    with DaskCluster(tmp_path, *preload(tmp_path, *WITHOUT_PACKAGE)) as dask:
        dask.add_worker()
        with Dask(dask.address, print) as cluster:
            (line,) = faults(cluster, run_of(small_config()).experiment.data)
    assert line.startswith("the scheduler: ")
    assert "pip install 'rankpursuit[dask]==" in line


def test_a_worker_without_the_data_or_with_other_data_is_refused(dask, own_ratings):
    path, run = own_ratings
    (address,) = dask.workers()
    ours = path.read_text()
    with Dask(dask.address, print) as cluster:
        cluster.check(run.experiment.data)
        path.write_text(ours + "999,1,1.5\n")
        (other,) = faults(cluster, run.experiment.data)
        path.unlink()
        (missing,) = faults(cluster, run.experiment.data)
        path.write_text(ours)
        cluster.check(run.experiment.data)
    assert other.startswith(f"worker {address}: data ")
    assert missing.startswith(f"worker {address}: {path}: no such file")
    for line in (other, missing):
        assert line.endswith("set RANKPURSUIT_DATA on the worker to where it is")


def test_a_worker_may_have_the_data_elsewhere(dask, own_ratings, tmp_path):
    path, run = own_ratings
    dask.end_workers()
    (tmp_path / "elsewhere").mkdir()
    path.rename(tmp_path / "elsewhere" / path.name)
    dask.add_worker(RANKPURSUIT_DATA=str(tmp_path / "elsewhere"))
    jobs = few_jobs(run, 2)
    with Dask(dask.address, print) as cluster:
        cluster.check(run.experiment.data)
        found = sums(cluster.evaluate(run.experiment, jobs))
    assert found == sums(evaluate_unit(run.experiment, *job) for job in jobs)


def test_a_worker_that_joins_unlike_the_others_ends_the_run_by_name(dask, tmp_path, monkeypatch):
    monkeypatch.setattr(client_side, "OUTSTANDING", 20)
    run = run_of(small_config())
    with Dask(dask.address, print) as cluster:
        results = cluster.evaluate(run.experiment, few_jobs(run, 4) * 100)
        next(results)
        _, address = dask.add_worker(*preload(tmp_path, *OTHER_VERSIONS))
        with pytest.raises(ClusterError, match=f"worker {address}: scipy 1.0, here"):
            list(results)


def test_units_go_out_in_parts_and_all_come_back(dask, monkeypatch):
    monkeypatch.setattr(client_side, "OUTSTANDING", 4)
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


def test_a_unit_that_is_lost_with_too_many_workers_ends_the_run(tmp_path, monkeypatch):
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    run = run_of(small_config())
    with DaskCluster(tmp_path) as dask:
        worker, _ = dask.add_worker()
        with Dask(dask.address, print) as cluster:
            results = cluster.evaluate(run.experiment, few_jobs(run, 4) * 100)
            next(results)
            worker.kill()
            dask.add_worker()  # else units whose results are lost would wait for one
            with pytest.raises(RunError, match="killed or ran out of memory, several in turn"):
                list(results)


def test_an_address_without_a_scheduler_is_refused(monkeypatch):
    monkeypatch.setattr(client_side, "_CONNECT_SECONDS", 0.5)
    with socket.socket() as nobody:  # bound, and not listening
        nobody.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(RunError, match=f"no Dask scheduler answers at {address}: "):
            Dask(address, print)
