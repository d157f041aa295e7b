"""Pursuits on a Dask cluster of real processes choose the functions that one machine chooses."""

import os
from functools import partial

import numpy as np
import pandas as pd
import pytest
from all_estimators import PURSUITS, id_of
from dask import delayed
from dask_cluster import DaskCluster
from distributed import Client
from sklearn.base import clone

from rankpursuit import KernelMatchingPursuit, RankingPursuit, load_model
from rankpursuit.datasets import load_letor, load_ratings
from rankpursuit.errors import ClusterError, DataNotFoundError
from rankpursuit.estimators import _cluster

N_PARTS = 6


def rows(number=None):
    """Points in groups, or those of one part."""
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(600, 4)), np.arange(600) // 10
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 2.0 * groups
    part = slice(None) if number is None else slice(100 * number, 100 * number + 100)
    return X[part], y[part], groups[part]


def loader(*block):
    """Return a function that makes a block where it is called."""
    return partial(tuple, block)


def loaders():
    return [loader(*rows(number)) for number in range(N_PARTS)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with DaskCluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """Connect to a cluster with two workers."""
    while len(cluster.workers()) < 2:
        cluster.add_worker()
    with Client(cluster.address, set_as_default=False) as client:
        yield client


def assert_same_model(found, expected):
    np.testing.assert_array_equal(found.basis_, expected.basis_)
    np.testing.assert_array_equal(found.X_basis_, expected.X_basis_)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)
    np.testing.assert_allclose(found.cost_, expected.cost_, rtol=1e-9)


@pytest.mark.parametrize("kind", ["loaders", "futures", "delayeds"])
@pytest.mark.parametrize("estimator", PURSUITS, ids=id_of)
def test_a_cluster_chooses_the_functions_of_one_machine(client, estimator, kind):
    model = clone(estimator).set_params(n_basis=15, n_candidates=50, fitting="backfit", ridge=0.1)
    expected = clone(model).fit(*rows())
    parts = loaders()
    if kind == "futures":
        parts = [client.submit(tuple, rows(number)) for number in range(N_PARTS)]
    if kind == "delayeds":
        parts = [delayed(tuple)(rows(number)) for number in range(N_PARTS)]
    found = clone(model).fit_on_cluster(client, parts)
    assert_same_model(found, expected)
    again = clone(model).fit_on_cluster(client, parts)
    np.testing.assert_array_equal(again.coef_, found.coef_)  # whatever came first


def test_files_are_read_on_the_workers(client, real_letor):
    model = RankingPursuit(20, n_candidates=100, fitting="backfit", ridge=1.0, random_state=0)
    found = clone(model).set_params(gamma="scale")
    found.fit_on_cluster(client, [partial(load_letor, file) for file in real_letor])
    expected = clone(found).fit(*load_letor(real_letor))
    np.testing.assert_array_equal(found.basis_, expected.basis_)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-7)
    assert (found.n_groups_, found.n_features_in_) == (471, 46)


def test_tables_keep_the_names_of_their_features(client, tmp_path):
    names = ["a", "b", "c", "d"]
    tables = [(pd.DataFrame(X, columns=names), y, g) for X, y, g in map(rows, range(N_PARTS))]
    model = RankingPursuit(5, n_candidates=30, random_state=0)
    model.fit_on_cluster(client, [loader(*table) for table in tables])
    assert model.feature_names_in_.tolist() == names
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(
        load_model(tmp_path / "model").predict(tables[0][0]), model.predict(tables[0][0])
    )


def test_given_candidates_and_further_blocks_are_those_of_one_machine(client):
    X, y, groups = rows()
    model = RankingPursuit(15, fitting="backfit", gamma="scale")
    found = clone(model).fit_on_cluster(client, loaders()[:5], candidates=X[::11])
    found.partial_fit(*rows(5))
    assert_same_model(found, clone(model).fit_blocks([(X, y, groups)], candidates=X[::11]))


def test_a_kernel_may_be_a_function_of_the_users(client):
    model = KernelMatchingPursuit(4, kernel=lambda X, Y: (1.0 + X @ Y.T) ** 2, n_candidates=30)
    model.set_params(random_state=3)
    assert_same_model(clone(model).fit_on_cluster(client, loaders()), clone(model).fit(*rows()))


def test_work_of_a_worker_that_dies_is_done_by_another(client, cluster, monkeypatch):
    usual, killed = _cluster.Cluster._result, []

    def result(self, future, number):
        if number == 2 and not killed:
            cluster.end_workers(but=1)
            killed.append(number)
        return usual(self, future, number)

    monkeypatch.setattr(_cluster.Cluster, "_result", result)
    model = RankingPursuit(10, n_candidates=50, random_state=0)
    assert_same_model(clone(model).fit_on_cluster(client, loaders()), clone(model).fit(*rows()))
    assert killed


def faulty_parts():
    X, y, groups = rows(3)
    spoilt = X.copy()
    spoilt[7, 1] = np.nan
    return {
        "split": (loader(X, y, groups - 1), "^part 4: group 29 is split"),
        "features": (loader(X[:, :3], y, groups), "^part 4: X has 3 features, but"),
        "nan": (loader(spoilt, y, groups), "^part 4: Input X contains NaN"),
        "no block": (loader(X), r"^part 4: a block must be \(X, y, groups\)"),
    }


@pytest.mark.parametrize("case", faulty_parts())
def test_a_faulty_part_is_named_and_leaves_the_model_as_it_was(client, case):
    fault, message = faulty_parts()[case]
    model = RankingPursuit(5, n_candidates=20, random_state=0).fit(*rows())
    before = model.predict(rows(0)[0])
    parts = loaders()
    parts[3] = fault
    for candidates in (rows(0)[0], None):
        with pytest.raises(ValueError, match=message):
            model.fit_on_cluster(client, parts, candidates=candidates)
    np.testing.assert_array_equal(model.predict(rows(0)[0]), before)


def test_what_a_loader_cannot_find_is_its_own_error(client, tmp_path):
    parts = [*loaders(), partial(load_ratings, tmp_path / "ratings.csv")]
    with pytest.raises(DataNotFoundError, match="no such file"):
        RankingPursuit(5).fit_on_cluster(client, parts)


def test_no_parts_and_parts_without_a_pair_are_refused(client):
    with pytest.raises(ValueError, match="there are no parts"):
        RankingPursuit(5).fit_on_cluster(client, [])
    X, y, _ = rows(0)
    with pytest.raises(ValueError, match="groups leave no pair"):
        RankingPursuit(5).fit_on_cluster(client, [loader(X, y, np.arange(100))])


def test_a_part_that_kills_its_workers_is_one_error(tmp_path, monkeypatch):
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    with DaskCluster(tmp_path) as cluster:
        cluster.add_worker()
        with (
            Client(cluster.address, set_as_default=False) as client,
            pytest.raises(ClusterError, match="part 1: workers were killed or ran out of memory"),
        ):
            RankingPursuit(5).fit_on_cluster(client, [partial(os._exit, 1)])


def test_a_lost_scheduler_is_one_error(tmp_path):
    with DaskCluster(tmp_path) as cluster:
        cluster.add_worker()
        with Client(cluster.address, set_as_default=False, timeout=1) as client:
            held = client.submit(tuple, rows())
            held.result()
            cluster.scheduler.kill()
            cluster.scheduler.wait()
            with pytest.raises(ClusterError, match="the scheduler is gone"):
                RankingPursuit(5).fit_on_cluster(client, [held])
