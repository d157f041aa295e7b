import numpy as np
import pandas as pd
import pytest
from all_estimators import ALL, id_of
from sklearn.base import clone

from rankpursuit import groups_from_sizes, sizes_from_groups


def test_sizes_become_labels_and_labels_sizes():
    sizes = [3, 1, 2]
    labels = groups_from_sizes(sizes, n_samples=6)
    assert labels.tolist() == [0, 0, 0, 1, 2, 2]
    assert sizes_from_groups(labels).tolist() == sizes
    assert sizes_from_groups(pd.Series(["q9", "q9", "q1"])).tolist() == [2, 1]


def test_sizes_may_be_whole_floats_and_a_group_may_be_empty():
    assert groups_from_sizes(np.array([2.0, 0.0, 1.0])).tolist() == [0, 0, 2]
    assert groups_from_sizes([]).tolist() == []
    assert sizes_from_groups([]).tolist() == []


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ([4, 5], "sizes of 2 groups add up to 9, but there are 10 samples"),
        ([4, -1, 7], "sizes must not be negative; group 1 has -1"),
        ([4.5, 5.5], "sizes must be integers"),
        ([np.nan, 10.0], "sizes must be integers"),
        ([np.inf], "sizes must be integers"),
        (["4", "6"], "sizes must be integers"),
        ([True, True], "sizes must be integers"),
    ],
)
def test_wrong_sizes_are_refused_with_what_is_wrong(sizes, said):
    with pytest.raises(ValueError, match=said):
        groups_from_sizes(sizes, n_samples=10)


def test_labels_that_come_again_have_no_sizes():
    with pytest.raises(ValueError, match="'a' comes again at sample 3: sort the samples"):
        sizes_from_groups(np.array(["a", "a", "b", "a", "b"], dtype=object))


@pytest.mark.parametrize("estimator", ALL, ids=id_of)
def test_groups_need_not_be_contiguous_and_may_be_any_labels(data, estimator):
    X, y, groups = data
    order = np.random.default_rng(0).permutation(len(X))
    words = np.array(["e", "d", "c", "b", "a"])[groups]
    exact = {"tol": 1e-7} if "tol" in estimator.get_params() else {}
    one = clone(estimator).set_params(kernel="linear", **exact).fit(X, y, groups)
    other = clone(one).fit(X, y, words)
    np.testing.assert_allclose(other.predict(X), one.predict(X), atol=1e-10)
    if "random_state" not in estimator.get_params():
        moved = clone(one).fit(X[order], y[order], words[order])
        np.testing.assert_allclose(moved.predict(X), one.predict(X), atol=1e-2)


@pytest.mark.parametrize("estimator", ALL, ids=id_of)
def test_sizes_in_place_of_labels_are_refused_with_the_remedy(data, estimator):
    X, y, _ = data
    with pytest.raises(ValueError, match=r"got 5 \(groups_from_sizes makes labels of sizes\)"):
        clone(estimator).fit(X, y, [8, 8, 8, 8, 8])
