"""Small arrays of double precision take a short way through the checks, to the same end."""

import numpy as np
import pandas as pd
import pytest

from rankpursuit import RankingPursuit, RankRLS

RNG = np.random.default_rng(0)
X, Y = RNG.integers(-9, 10, size=(20, 3)) / 2.0, RNG.normal(size=20)


def message(X, y):
    with pytest.raises((TypeError, ValueError)) as caught:
        RankRLS().fit(X, y)
    return str(caught.value)


def test_arrays_give_the_model_of_lists():
    short, long = RankingPursuit().fit(X, Y), RankingPursuit().fit(X.tolist(), Y.tolist())
    assert vars(short).keys() == vars(long).keys()
    assert short.n_features_in_ == long.n_features_in_ == 3
    assert np.array_equal(short.predict(X), long.predict(X))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("of_scores", [False, True])
def test_arrays_are_refused_as_lists_are(value, of_scores):
    points, scores = X.copy(), Y.copy()
    (scores if of_scores else points)[7] = value
    assert message(points, scores) == message(points.tolist(), scores.tolist())


@pytest.mark.parametrize(
    ("points", "scores"),
    [
        (X[:1], Y[:1]),
        (X, Y[1:]),
        (X[:, 0], Y),
        (X[:, :0], Y),
        (X[:0], Y[:0]),
        (X, np.stack([Y, Y], axis=1)),
        (X[None], Y),
    ],
)
def test_arrays_of_a_wrong_shape_are_refused_as_scikit_learn_does(points, scores):
    single = points.astype(np.float32), scores.astype(np.float32)
    assert message(points, scores) == message(*single)


def test_arrays_make_an_estimator_forget_the_names_of_features():
    model = RankRLS().fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert not hasattr(model.fit(X, Y), "feature_names_in_")


def test_a_block_with_other_features_is_refused():
    model = RankingPursuit(n_candidates=5, random_state=0).partial_fit(X, Y, np.zeros(20))
    with pytest.raises(ValueError, match="2 features"):
        model.partial_fit(X[:, :2], Y, np.ones(20))
