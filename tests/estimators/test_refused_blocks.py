"""Blocks that cannot be learned from are one clear error, and the model is as it was before."""

from pathlib import Path

import numpy as np
import pytest
from all_estimators import PURSUITS, id_of
from grouped_rows import assert_same_model, sorted_groups
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from rankpursuit import KernelMatchingPursuit, RankingPursuit
from rankpursuit.datasets import array_blocks

each_pursuit = pytest.mark.parametrize("estimator", PURSUITS, ids=id_of)
RANKERS = [estimator for estimator in PURSUITS if not isinstance(estimator, KernelMatchingPursuit)]
each_ranker = pytest.mark.parametrize("estimator", RANKERS, ids=id_of)


def refusals():
    """Blocks that cannot follow the first one, each with what is wrong."""
    X, y, groups = sorted_groups()
    _, (X, y, groups) = array_blocks(X, y, groups, rows=200)
    spoilt, scores = X.copy(), y.copy()
    spoilt[2, 1], scores[4] = np.nan, np.inf
    return {
        "features": ((X[:, :2], y, groups), "X has 2 features, but .* is expecting 3"),
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
        (sorted_groups(), "block 1: .* goes into a list"),
        ([5], "block 1: a block must be .* got int"),
    ],
)
def test_what_is_no_blocks_is_told_how_to_make_some(blocks, message):
    with pytest.raises(ValueError, match=message):
        RankingPursuit().fit_blocks(blocks)


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
    with pytest.raises(ValueError, match="groups leave no pair"):
        model.partial_fit(*alone)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(ValueError, match="groups leave no pair"):
        model.fit_blocks([alone])
    model.fit_blocks([alone, (X, y, groups)]).predict(X)
    model.partial_fit(X, y, groups + 200).predict(X)


@each_ranker
def test_a_group_without_a_weight_is_refused(estimator):
    X, y, groups = sorted_groups()
    weights = dict.fromkeys(range(24), 1.0)
    model = clone(estimator).set_params(group_weight=weights)
    with pytest.raises(ValueError, match="has none for 24"):
        model.partial_fit(X, y, groups)


def test_blocks_that_can_be_read_once_need_candidates():
    X, y, groups = sorted_groups()
    model = RankingPursuit(5, n_candidates=20)
    with pytest.raises(ValueError, match="blocks can be read only once"):
        model.fit_blocks(iter(array_blocks(X, y, groups)))
    model.fit_blocks(iter(array_blocks(X, y, groups)), candidates=X[:20])
    by_function = RankingPursuit(5, n_candidates=20, random_state=0)
    by_function.fit_blocks(lambda: iter(array_blocks(X, y, groups, rows=70)))
    assert_same_model(by_function, clone(by_function).fit(X, y, groups))


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([], "there are no blocks"),
        ([1], "block 1: a block must be .X, y, groups.; got int"),
        ([(1, 2, 3, 4)], "block 1: a block must be .X, y, groups.; got tuple"),
    ],
)
def test_what_is_no_block_is_refused(blocks, message):
    with pytest.raises(ValueError, match=message):
        RankingPursuit().fit_blocks(blocks)
    with pytest.raises(ValueError, match=message):
        RankingPursuit().fit_blocks(blocks, candidates=np.eye(3))


def test_a_callable_that_opens_the_blocks_only_once_is_refused():
    X, y, groups = sorted_groups()
    opened = iter(array_blocks(X, y, groups))
    with pytest.raises(ValueError, match="300 rows when they were first read and 0 the second"):
        RankingPursuit(5).fit_blocks(lambda: opened)


@each_pursuit
def test_candidates_that_do_not_fit_are_refused(estimator):
    X, y, groups = sorted_groups()
    model = clone(estimator).set_params(n_basis=5)
    with pytest.raises(ValueError, match="X has 3 features, but the candidates have 2"):
        model.partial_fit(X, y, groups, candidates=X[:, :2])
    with pytest.raises(ValueError, match="candidates contains NaN"):
        model.partial_fit(X, y, groups, candidates=np.full((2, 3), np.nan))
    model.partial_fit(X, y, groups, candidates=X[:9])
    with pytest.raises(ValueError, match="candidates are chosen with the first block"):
        model.partial_fit(X, y, groups + 100, candidates=X[:9])


@each_pursuit
def test_a_precomputed_kernel_has_no_blocks(estimator):
    model = clone(estimator).set_params(kernel="precomputed")
    for learn in (model.partial_fit, lambda X, y: model.fit_blocks([(X, y)])):
        with pytest.raises(ValueError, match=r"kernel='precomputed' .* cannot be learned from"):
            learn(np.eye(3), np.ones(3))


def test_kernel_values_that_are_not_finite_are_refused():
    X, y, _ = sorted_groups()
    with pytest.raises(ValueError, match="values of the kernel 'poly' that are not"):
        KernelMatchingPursuit(kernel="poly", degree=99, gamma=1.0).partial_fit(1e9 * X, y)


def test_a_dictionary_that_runs_out_warns_where_the_user_called():
    X, y = np.repeat(np.eye(3), 4, axis=0), np.repeat([1.0, 3.0, 2.0], 4)
    with pytest.warns(ConvergenceWarning, match="ran out after . of 6") as caught:
        RankingPursuit(6, fitting="backfit").partial_fit(X, y)
    assert caught[0].filename == __file__
