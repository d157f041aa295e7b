"""Pursuits from blocks are those from all rows; a refused block leaves the model as it was."""

import pickle
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from all_estimators import PURSUITS, id_of
from grouped_rows import assert_same_model, shuffled_groups, sorted_groups
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rankpursuit import KernelMatchingPursuit, RankingPursuit
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


@pytest.mark.parametrize(
    ("estimator", "dtype"),
    list(zip(PURSUITS, (np.float64, np.float32, np.float64), strict=True)),
    ids=id_of,
)
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
def test_weights_of_further_groups_may_be_added_between_blocks(estimator):
    if "group_weight" not in estimator.get_params():
        return
    X, y, groups = sorted_groups()
    one, two = array_blocks(X, y, groups, rows=200)
    weights = {label: 1.0 + label for label in range(25)}
    model = clone(estimator).set_params(n_candidates=20, n_basis=5, random_state=0)
    first = {label: weights[label] for label in set(one[2])}
    model.set_params(group_weight=first).partial_fit(*one)
    model.set_params(group_weight=weights).partial_fit(*two)
    same = clone(model).partial_fit(*one).partial_fit(*two)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))


@each_ranker
def test_a_gram_matrix_of_other_weights_of_its_groups_is_refused(estimator):
    X, y, groups = sorted_groups()
    one, two = array_blocks(X, y, groups, rows=200)
    weights = {label: 1.0 + label for label in range(25)}
    model = clone(estimator).set_params(group_weight=weights)
    gram = sum(model.block_gram(*block, candidates=X[:9]) for block in (one, two))
    for block in (one, two):
        changed = weights | {block[2][0]: 0.5}
        with pytest.raises(ValueError, match="differ in group_weight"):
            clone(model).set_params(group_weight=changed).fit_gram(gram, X[:9])


@each_pursuit
def test_gram_matrices_of_blocks_add_up_to_the_model_of_all_rows(estimator):
    X, y, groups = sorted_groups()
    model = clone(estimator).set_params(n_basis=10, ridge=0.1)
    expected = clone(model).fit_blocks([(X, y, groups)], candidates=X[::9])
    blocks = list(array_blocks(X, y, groups, rows=50))
    found = clone(model).fit_gram(
        sum(model.block_gram(*block, candidates=X[::9]) for block in blocks), X[::9]
    )
    assert_same_model(found, expected)
    assert getattr(found, "n_groups_", None) == getattr(expected, "n_groups_", None)
    assert not hasattr(model, "coef_")


def times(X, Y, *, weights):
    return (X * weights) @ Y.T


CHANGES = {
    "kernel": {"kernel": "laplacian"},
    "function": {"kernel": lambda X, Y: X @ Y.T},
    "gamma": {"gamma": 0.5},
    "beta": {"beta": 0.4},
    "group_weight": {"group_weight": "pairs"},
}


@each_pursuit
@pytest.mark.parametrize("name", CHANGES)
def test_a_gram_matrix_of_other_parameters_is_refused(estimator, name):
    model, changed = clone(estimator), CHANGES[name]
    if not changed.keys() <= model.get_params().keys():
        return
    X, y, groups = sorted_groups()
    one, two = array_blocks(X, y, groups, rows=200)
    gram, candidates = model.block_gram(*one, candidates=X[::9]), X[::9]
    other, message = clone(model).set_params(**changed), f"differ in {next(iter(changed))}"
    with pytest.raises(ValueError, match=message):
        other.fit_gram(gram, candidates)
    assert not hasattr(other, "coef_")
    with pytest.raises(ValueError, match=message):
        gram + other.block_gram(*two, candidates=candidates)
    model.partial_fit(*one, candidates=candidates).set_params(**changed)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(*two)


@each_pursuit
def test_a_gram_matrix_of_other_candidates_or_of_another_method_is_refused(estimator):
    X, y, groups = sorted_groups()
    one, two = array_blocks(X, y, groups, rows=200)
    model, candidates = clone(estimator), X[::9]
    gram = model.block_gram(*one, candidates=candidates)
    another = PURSUITS[PURSUITS.index(estimator) - 1]
    with pytest.raises(ValueError, match="differ in estimator"):
        clone(another).fit_gram(gram, candidates)
    nearly = np.nextafter(candidates, np.inf)
    for others in (candidates[:-1], candidates[::-1], nearly):
        with pytest.raises(ValueError, match="differ in candidates"):
            model.fit_gram(gram, others)
        with pytest.raises(ValueError, match="differ in candidates"):
            gram + model.block_gram(*two, candidates=others)


def test_a_custom_kernel_is_told_from_others_by_its_values():
    X, y, groups = sorted_groups()
    weights = np.array([1.0, 2.0, 3.0])
    gram = RankingPursuit(kernel=times, kernel_params={"weights": weights}).block_gram(
        X, y, groups, candidates=X[:9]
    )
    # A function of a notebook is another object in each process, and arrays are compared by value.
    same = RankingPursuit(kernel=partial(times), kernel_params={"weights": weights.copy()})
    same.fit_gram(gram, X[:9])
    with pytest.raises(ValueError, match="differ in kernel"):
        same.set_params(kernel_params={"weights": weights[::-1]}).fit_gram(gram, X[:9])


@each_pursuit
def test_fit_begins_anew(estimator):
    X, y, groups = sorted_groups()
    one, two = array_blocks(X, y, groups, rows=200)
    model = clone(estimator).set_params(n_candidates=20, n_basis=5).partial_fit(*one)
    assert_same_model(model.fit(*two), clone(model).fit(*two))
    assert_same_model(model.partial_fit(*one), clone(model).partial_fit(*one))
    model.fit_blocks([one, two])
    assert_same_model(model.partial_fit(*one), clone(model).partial_fit(*one))


@each_ranker
def test_a_block_without_labels_is_a_group_of_its_own(estimator):
    X, y, _ = shuffled_groups()
    halves = [(X[:150], y[:150]), (X[150:], y[150:])]
    model = clone(estimator).set_params(n_candidates=20, n_basis=5)
    found = clone(model).fit_blocks(halves)
    assert_same_model(found, clone(model).fit(X, y, np.arange(300) // 150))


def refusals():
    """Blocks that cannot follow the first one, each with what is wrong."""
    X, y, groups = sorted_groups()
    _, (X, y, groups) = array_blocks(X, y, groups, rows=200)
    spoilt, scores = X.copy(), y.copy()
    spoilt[2, 1], scores[4] = np.nan, np.inf
    return {
        "features": ((X[:, :2], y, groups), "X has 2 features"),
        "nan": ((spoilt, y, groups), "X contains NaN"),
        "inf": ((X, scores, groups), "y contains infinity"),
        "lengths": ((X, y[1:], groups), "inconsistent numbers of samples"),
        "labels": ((X, y, groups[1:]), "groups must have one label"),
        "rows": ((X[:0], y[:0], groups[:0]), "0 sample"),
    }


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ("train.txt", "letor_blocks"),
        (Path("train.parquet"), "parquet_blocks"),
        (None, "iterable of .* got NoneType"),
        (sorted_groups(), "block 1: .* pass a single block as a list"),
        ([], "there are no blocks"),
        ([5], "block 1: a block must be .X, y, groups.; got int"),
        ([(1, 2, 3, 4)], "block 1: a block must be .X, y, groups.; got tuple"),
    ],
)
def test_what_is_no_blocks_is_told_how_to_make_some(blocks, message):
    for candidates in (None, np.eye(3)):
        with pytest.raises(ValueError, match=message):
            RankingPursuit().fit_blocks(blocks, candidates=candidates)


@each_pursuit
@pytest.mark.parametrize("case", refusals())
def test_a_refused_block_leaves_the_model_as_it_was(estimator, case):
    block, message = refusals()[case]
    X, y, groups = sorted_groups()
    one, two = array_blocks(X, y, groups, rows=200)
    model = clone(estimator).set_params(n_candidates=20, n_basis=5).partial_fit(*one)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(*block)
    assert_same_model(model, clone(model).partial_fit(*one), 1e-12)
    with pytest.raises(ValueError, match=f"block 2: .*{message}"):
        model.fit_blocks([one, block])
    assert_same_model(
        model.partial_fit(*two), clone(model).partial_fit(*one).partial_fit(*two), 1e-12
    )


@each_ranker
def test_a_split_group_is_refused_by_its_label(estimator):
    X, y, groups = sorted_groups()
    names = np.array([f"query {label}" for label in groups])
    middle = int(np.flatnonzero(groups == 12)[2])
    one, two = (X[:middle], y[:middle], names[:middle]), (X[middle:], y[middle:], names[middle:])
    model = clone(estimator).set_params(n_candidates=20, n_basis=5).partial_fit(*one)
    with pytest.raises(ValueError, match=r"^group 'query 12' is split: an earlier block has rows"):
        model.partial_fit(*two)
    whole = names[middle:] != "query 12"
    model.partial_fit(*(part[whole] for part in two))
    with pytest.raises(ValueError, match=r"^block 2: group 'query 12' is split"):
        model.fit_blocks([one, two])


@each_ranker
def test_a_block_without_a_pair_is_refused_alone_but_not_among_others(estimator):
    X, y, groups = sorted_groups()
    alone = X[:3], y[:3], [100, 101, 102]
    model = clone(estimator).set_params(n_candidates=20, n_basis=5)
    with pytest.raises(ValueError, match="no comparable pairs"):
        model.partial_fit(*alone)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(ValueError, match="no comparable pairs"):
        model.fit_blocks([alone])
    model.fit_blocks([alone, (X, y, groups)]).predict(X)
    model.partial_fit(X, y, groups + 200).predict(X)


def test_blocks_that_can_be_read_once_need_candidates():
    X, y, groups = sorted_groups()
    model = RankingPursuit(5, n_candidates=20)
    with pytest.raises(ValueError, match="blocks can be read only once"):
        model.fit_blocks(iter(array_blocks(X, y, groups)))
    model.fit_blocks(iter(array_blocks(X, y, groups)), candidates=X[:20])
    by_function = RankingPursuit(5, n_candidates=20, random_state=0)
    by_function.fit_blocks(lambda: iter(array_blocks(X, y, groups, rows=70)))
    assert_same_model(by_function, clone(by_function).fit(X, y, groups))


@each_pursuit
def test_candidates_that_do_not_fit_are_refused(estimator):
    X, y, groups = sorted_groups()
    model = clone(estimator).set_params(n_basis=5)
    with pytest.raises(ValueError, match="X has 3 features, but the candidates have 2"):
        model.partial_fit(X, y, groups, candidates=X[:, :2])
    with pytest.raises(ValueError, match="candidates contains NaN"):
        model.partial_fit(X, y, groups, candidates=np.full((2, 3), np.nan))
    model.partial_fit(X, y, groups, candidates=X[:9])
    with pytest.raises(ValueError, match="candidates can be passed with the first block only"):
        model.partial_fit(X, y, groups + 100, candidates=X[:9])


@each_pursuit
def test_a_precomputed_kernel_has_no_blocks(estimator):
    model = clone(estimator).set_params(kernel="precomputed")
    for learn in (model.partial_fit, lambda X, y: model.fit_blocks([(X, y)])):
        with pytest.raises(ValueError, match=r"kernel='precomputed' .* cannot be learned from"):
            learn(np.eye(3), np.ones(3))


@each_pursuit
def test_columns_in_another_order_than_the_candidates_are_refused(estimator):
    X, y, groups = sorted_groups()
    table, model = pd.DataFrame(X, columns=["a", "b", "c"]), clone(estimator)
    others = table.iloc[:30][["a", "c", "b"]]
    message = "feature 2 is 'b' in .* 'c' in"
    for learn in (
        lambda: model.block_gram(table, y, groups, candidates=others),
        lambda: model.partial_fit(table, y, groups, candidates=others),
        lambda: model.fit_blocks([(table, y, groups)], candidates=others),
        lambda: model.fit_gram(model.block_gram(table, y, groups, candidates=X[:30]), others),
        lambda: (
            model.block_gram(table, y, groups, candidates=X[:30])
            + model.block_gram(table[["a", "c", "b"]], y, groups + 100, candidates=X[:30])
        ),
    ):
        with pytest.raises(ValueError, match=message):
            learn()
    assert not hasattr(model, "coef_")


def test_a_callable_that_opens_the_blocks_only_once_is_refused():
    X, y, groups = sorted_groups()
    opened = iter(array_blocks(X, y, groups))
    with pytest.raises(ValueError, match="300 rows when they were first read and 0 the second"):
        RankingPursuit(5).fit_blocks(lambda: opened)


def test_kernel_values_that_are_not_finite_are_refused():
    X, y, _ = sorted_groups()
    with pytest.raises(ValueError, match="values of the kernel 'poly' must be finite"):
        KernelMatchingPursuit(kernel="poly", degree=99, gamma=1.0).partial_fit(1e9 * X, y)
