"""Pursuits from blocks of rows are those from all rows at once."""

import pickle
import tracemalloc

import numpy as np
import pytest
from all_estimators import PURSUITS, id_of
from grouped_rows import assert_same_model, shuffled_groups, sorted_groups
from sklearn.base import clone

from rankpursuit import KernelMatchingPursuit
from rankpursuit.datasets import array_blocks
from rankpursuit.solvers import pursuit as blocks
from rankpursuit.solvers import pursuit as form_choice

each_pursuit = pytest.mark.parametrize("estimator", PURSUITS, ids=id_of)
RANKERS = [estimator for estimator in PURSUITS if not isinstance(estimator, KernelMatchingPursuit)]
each_ranker = pytest.mark.parametrize("estimator", RANKERS, ids=id_of)


OPTIONS = {
    "default": {},
    "ridge": {"ridge": 0.5},
    "laplacian": {"kernel": "laplacian", "gamma": "scale"},
    "indefinite": {"kernel": "sigmoid", "gamma": 0.1, "ridge": 0.01, "n_basis": 5},
    "callable": {"kernel": lambda X, Y: (1.0 + X @ Y.T) ** 2, "n_basis": 4},
    "equal": {"group_weight": "equal"},
    "weights": {"group_weight": dict.fromkeys(range(25), 2.0)},
}


@pytest.fixture
def only_sums(monkeypatch):
    """Make every problem one that does not fit into memory, by default in blocks of 40 rows."""

    def choose(flag, entries=40 * 33):
        for name in ("FEW_ENTRIES", "ROWS_ENTRIES"):
            monkeypatch.setattr(form_choice, name, 0 if flag else 2**25)
        monkeypatch.setattr(blocks, "BLOCK_ENTRIES", entries)

    return choose


@each_pursuit
@pytest.mark.parametrize("fitting", ["basic", "backfit", "prefit"])
@pytest.mark.parametrize("parameters", OPTIONS.values(), ids=OPTIONS)
def test_both_forms_of_fit_give_the_same_model(only_sums, estimator, fitting, parameters):
    if "group_weight" in parameters and "group_weight" not in estimator.get_params():
        return
    X, y, groups = shuffled_groups()
    options = {"n_candidates": 30, "n_basis": 12, "random_state": 1, **parameters}
    model = clone(estimator).set_params(fitting=fitting, **options)
    only_sums(False)
    by_rows = clone(model).fit(X, y, groups)
    only_sums(True)
    assert_same_model(clone(model).fit(X, y, groups), by_rows, 1e-7)


@each_pursuit
@pytest.mark.parametrize("gamma", [1.0, 1e-4])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sums_that_are_not_exact_give_way_to_rows(monkeypatch, estimator, gamma):
    X, y, groups = shuffled_groups()
    model = clone(estimator).set_params(n_candidates=30, n_basis=12, fitting="backfit", gamma=gamma)
    by_rows = clone(model).fit(X, y, groups)
    monkeypatch.setattr(form_choice, "FEW_ENTRIES", 0)
    followed = []
    usual = type(model)._follow_rows
    monkeypatch.setattr(
        type(model), "_follow_rows", lambda *given: followed.append(1) or usual(*given)
    )
    found = clone(model).fit(X, y, groups)
    assert_same_model(found, by_rows, 1e-8 if gamma == 1.0 else 0.0)
    assert bool(followed) == (gamma < 1.0)


@each_pursuit
def test_one_group_larger_than_a_block_gives_the_same_model(only_sums, estimator):
    X, y, _ = shuffled_groups()
    model = clone(estimator).set_params(n_candidates=30, n_basis=12, fitting="backfit")
    by_rows = clone(model).fit(X, y)
    only_sums(True)
    assert_same_model(clone(model).fit(X, y), by_rows)


@each_pursuit
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_memory_map_is_never_in_memory_as_a_whole(tmp_path, only_sums, estimator, dtype):
    only_sums(True, 2**18)
    shape = 60_000, 100
    X = np.memmap(tmp_path / "X", dtype=dtype, mode="w+", shape=shape)
    X[:] = np.random.default_rng(0).random(shape, dtype=dtype)
    y, groups = np.asarray(X[:, 0], dtype=np.float64), np.arange(shape[0]) // 20
    model = clone(estimator).set_params(n_candidates=10, n_basis=3, gamma="scale")
    tracemalloc.start()
    model.fit(X, y, groups)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * X.size * 8


@each_pursuit
def test_a_share_is_one_of_the_candidates(data, estimator):
    X, y, groups = data
    model = clone(estimator).set_params(n_basis=0.25, n_candidates=12).fit(X, y, groups)
    assert len(model.basis_) == 3


@each_pursuit
@pytest.mark.parametrize("rows", [15, 60, 1000])
@pytest.mark.parametrize("n_candidates", [None, 30])
def test_blocks_give_the_model_of_all_rows_however_they_are_cut(estimator, rows, n_candidates):
    X, y, groups = sorted_groups()
    model = clone(estimator).set_params(n_candidates=n_candidates, n_basis=10, fitting="backfit")
    expected = clone(model).fit(X, y, groups)
    found = clone(model).fit_blocks(array_blocks(X, y, groups, rows=rows))
    assert_same_model(found, expected)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), atol=1e-7)
    assert found.score(X, y, groups) == pytest.approx(expected.score(X, y, groups))


@each_pursuit
def test_blocks_one_at_a_time_give_the_model_of_all_rows(estimator):
    X, y, groups = sorted_groups()
    candidates = X[::9]
    model = clone(estimator).set_params(n_basis=10, fitting="backfit", ridge=0.1)
    at_once = clone(model).fit_blocks([(X, y, groups)], candidates=candidates)
    blocks = list(array_blocks(X, y, groups, rows=50))
    one_by_one = clone(model).partial_fit(*blocks[0], candidates=candidates)
    for block in blocks[1:]:
        one_by_one.predict(X)
        one_by_one.partial_fit(*block)
    assert_same_model(one_by_one, at_once)
    np.testing.assert_array_equal(at_once.X_basis_, candidates[at_once.basis_])


@each_pursuit
def test_the_first_block_gives_the_candidates(estimator):
    X, y, groups = sorted_groups()
    blocks = list(array_blocks(X, y, groups, rows=100))
    model = clone(estimator).set_params(n_candidates=20, n_basis=0.5)
    model.partial_fit(*blocks[0]).partial_fit(*blocks[1])
    assert len(model.basis_) == 10
    np.testing.assert_array_equal(model.X_basis_, X[model.basis_])
    assert model.basis_.max() < len(blocks[0][1])


@each_pursuit
def test_a_model_of_blocks_survives_a_pickle_and_goes_on(estimator):
    X, y, groups = sorted_groups()
    one, two = array_blocks(X, y, groups, rows=200)
    model = clone(estimator).set_params(n_candidates=20, n_basis=5).partial_fit(*one)
    assert_same_model(
        pickle.loads(pickle.dumps(model)).partial_fit(*two), model.partial_fit(*two), 1e-12
    )


@each_pursuit
def test_path_parameters_may_change_between_blocks(estimator):
    X, y, groups = sorted_groups()
    one, two = array_blocks(X, y, groups, rows=200)
    model = clone(estimator).set_params(n_candidates=20, n_basis=5, ridge=1.0, gamma=0.3)
    model.partial_fit(*one)
    model.set_params(n_basis=7, ridge=0.2, fitting="prefit").partial_fit(*two)
    whole = clone(model).fit_blocks([one, two], candidates=model._tally.dictionary.points)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)


@each_pursuit
def test_fit_begins_anew(estimator):
    X, y, groups = sorted_groups()
    one, two = array_blocks(X, y, groups, rows=200)
    model = clone(estimator).set_params(n_candidates=20, n_basis=5).partial_fit(*one)
    assert_same_model(model.fit(*two), clone(model).fit(*two))
    assert_same_model(model.partial_fit(*one), clone(model).partial_fit(*one))


@each_ranker
def test_a_block_without_labels_is_a_group_of_its_own(estimator):
    X, y, _ = shuffled_groups()
    halves = [(X[:150], y[:150]), (X[150:], y[150:])]
    model = clone(estimator).set_params(n_candidates=20, n_basis=5)
    found = clone(model).fit_blocks(halves)
    assert_same_model(found, clone(model).fit(X, y, np.arange(300) // 150))


def test_regression_takes_rows_of_a_group_in_any_block():
    X, y, groups = shuffled_groups()
    model = KernelMatchingPursuit(8, n_candidates=20, random_state=0)
    found = clone(model).fit_blocks([(X[:99], y[:99], groups[:99]), (X[99:], y[99:], groups[99:])])
    assert_same_model(found, clone(model).fit(X, y))
