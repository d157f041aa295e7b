"""Models kept in files predict as they did; damaged files are refused."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import skops.io
from all_estimators import CROSS_VALIDATED
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

import rankpursuit
from rankpursuit.errors import ModelFileError
from rankpursuit.estimators import _base

ESTIMATORS = [
    rankpursuit.RLS(),
    rankpursuit.KernelMatchingPursuit(n_basis=5, kernel="poly", degree=2),
    rankpursuit.RankRLS(kernel="linear"),
    rankpursuit.SparseRankRLS(n_basis=7, random_state=np.random.default_rng(0)),
    rankpursuit.RankSVM(gamma="scale"),
    rankpursuit.RankingPursuit(n_basis=6, fitting="backfit", group_weight={0: 1.0, 1: 2.0}),
    rankpursuit.CombinedRankingRegressionPursuit(n_basis=6, kernel="laplacian"),
    rankpursuit.SemiSupervisedRankingPursuit(n_basis=4, random_state=0),
    rankpursuit.SemiSupervisedRankingPursuit(n_basis=4, views="features", random_state=0),
    rankpursuit.SemiSupervisedRankingPursuit(n_basis=4, views=["rbf", "linear"], random_state=0),
    *(clone(one).set_params(cv=2) for one in CROSS_VALIDATED),
    rankpursuit.RankingPursuitCV(n_basis=3, gammas=np.array([0.1, 1.0]), cv=GroupKFold(2)),
    rankpursuit.SparseRankRLSCV(n_basis=[np.int64(3)], kernel="linear", scale=False, cv=2),
]
EACH = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: str(one)[:60])


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, np.sin(X[:, 0]) + X[:, 1], np.repeat([0, 1], 20)


@EACH
def test_loaded_model_predicts_the_same_bits(estimator, tmp_path):
    X, y, groups = data()
    estimator.fit(X, y, groups)
    estimator.save(tmp_path / "model")
    again = rankpursuit.load_model(tmp_path / "model")
    assert type(again) is type(estimator)
    np.testing.assert_array_equal(again.predict(X), estimator.predict(X))
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert again.get_params().keys() == estimator.get_params().keys()
    if hasattr(again, "staged_predict"):
        staged = zip(again.staged_predict(X), estimator.staged_predict(X), strict=True)
        assert all(np.array_equal(one, other) for one, other in staged)
    if hasattr(again, "plot"):
        again.plot(Figure().subplots())


def test_what_a_cross_validation_chose_is_kept_with_its_model(tmp_path):
    X, y, groups = data()
    model = rankpursuit.RankingPursuitCV(n_basis=5, cv=2, random_state=3)
    model.fit(100.0 * X + 7.0, y, groups).save(tmp_path / "model")
    again = rankpursuit.load_model(tmp_path / "model")
    assert again.best_params_ == model.best_params_
    assert again.best_score_ == model.best_score_
    assert again.best_estimator_.get_params() == model.best_estimator_.get_params()
    assert again.score(100.0 * X + 7.0, y, groups) == model.score(100.0 * X + 7.0, y, groups)
    np.testing.assert_array_equal(again.basis_, model.basis_)


def test_precomputed_kernels_are_saved_without_points(tmp_path):
    X, y, _ = data()
    model = rankpursuit.RankRLS(kernel="precomputed").fit(X @ X.T, y)
    model.save(tmp_path / "model")
    again = rankpursuit.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X @ X.T), model.predict(X @ X.T))


@EACH
def test_predictions_in_blocks_are_those_of_all_rows(estimator, monkeypatch):
    X, y, groups = data()
    estimator.fit(X, y, groups)
    whole = estimator.predict(X)
    monkeypatch.setattr(_base, "_BLOCK", 40)
    np.testing.assert_allclose(estimator.predict(X), whole, atol=1e-12 * np.abs(whole).max())


@EACH
def test_predictions_have_the_precision_of_the_points(estimator):
    X, y, groups = data()
    estimator.fit(X, y, groups)
    single = estimator.predict(X.astype(np.float32))
    assert (single.dtype, estimator.predict(X).dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(single, estimator.predict(X), atol=1e-4 * np.abs(single).max())


def test_damaged_and_other_files_are_refused_in_one_line(tmp_path):
    X, y, _ = data()
    path = tmp_path / "model"
    rankpursuit.RankingPursuit(n_basis=2).fit(X, y).save(path)
    content = path.read_bytes()
    halves = content[: len(content) // 2], content[len(content) // 2 :]
    for damaged in (
        b"",
        b"PK\x03\x04",
        *halves,
        content.replace(b"RankingPursuit", b"RankedPursuit_"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError, match="model") as refused:
            rankpursuit.load_model(path)
        assert "\n" not in str(refused.value)
    with pytest.raises(ModelFileError, match="cannot be read: No such file"):
        rankpursuit.load_model(tmp_path / "none")


@pytest.mark.parametrize("other", [{"a": print}, StandardScaler(), [Path("/etc/passwd")]])
def test_files_of_other_types_are_refused(other, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(skops.io.dumps(other))
    with pytest.raises(ModelFileError, match="of this package"):
        rankpursuit.load_model(path)


def test_a_file_that_cannot_be_written_is_one_error_and_leaves_nothing(tmp_path):
    X, y, _ = data()
    model = rankpursuit.RankRLS().fit(X, y)
    with pytest.raises(ModelFileError, match="cannot write"):
        model.save(tmp_path / "no folder" / "model")
    with pytest.raises(NotFittedError):
        rankpursuit.RankRLS().save(tmp_path / "model")
    own = rankpursuit.RankRLS(kernel=lambda X, Y: X @ Y.T).fit(X, y)
    with pytest.raises(ModelFileError, match="kernel is a custom callable"):
        own.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_saves_at_the_same_time_leave_a_whole_file(tmp_path):
    X, y, _ = data()
    model = rankpursuit.RankRLS().fit(X, y)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(model.save, [tmp_path / "model"] * 40))
    np.testing.assert_array_equal(
        rankpursuit.load_model(tmp_path / "model").predict(X), model.predict(X)
    )
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_weights_of_groups_are_kept(tmp_path):
    X, y, groups = data()
    model = rankpursuit.RankingPursuit(group_weight={0: 1.0, 1: 2.0}).fit(X, y, groups)
    model.save(tmp_path / "model")
    assert rankpursuit.load_model(tmp_path / "model").group_weight == {0: 1.0, 1: 2.0}
