import numpy as np

from rankpursuit.solvers.coregularised import split_features, split_points


def test_points_are_dealt_out_evenly():
    scored = np.arange(23) < 10
    parts = split_points(scored, 3, np.random.default_rng(0))
    assert sorted(np.concatenate(parts)) == list(range(23))
    assert {len(part) for part in parts} <= {7, 8}
    assert {int(scored[part].sum()) for part in parts} <= {3, 4}


def test_features_are_dealt_out_evenly():
    parts = split_features(7, 2, np.random.default_rng(0))
    assert sorted(np.concatenate(parts)) == list(range(7))
    assert [len(part) for part in parts] == [4, 3]
