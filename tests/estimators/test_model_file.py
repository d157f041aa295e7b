"""Models kept in files predict as they did; damaged files are refused."""

import numpy as np
import pytest
from all_estimators import CROSS_VALIDATED
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold

import rankpursuit
from rankpursuit.errors import ModelFileError
from rankpursuit.estimators import _predictions

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


def test_features_that_are_scaled_but_not_centred_stay_so_in_a_file(tmp_path):
    X, y, groups = data()
    model = rankpursuit.RankRLSCV(kernel="chi2", cv=2).fit(np.abs(X), y, groups)
    model.save(tmp_path / "model")
    again = rankpursuit.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(np.abs(X)), model.predict(np.abs(X)))


def test_precomputed_kernels_are_saved_without_points(tmp_path):
    X, y, _ = data()
    model = rankpursuit.RankRLS(kernel="precomputed").fit(X @ X.T, y)
    model.save(tmp_path / "model")
    again = rankpursuit.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X @ X.T), model.predict(X @ X.T))


def test_every_flipped_byte_is_refused(tmp_path):
    X, y, _ = data()
    path = tmp_path / "model"
    rankpursuit.RankingPursuit(n_basis=2).fit(X, y).save(path)
    content = path.read_bytes()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0b101
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            rankpursuit.load_model(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a model"),
        (b"rankpursuit model 99\n", "newer version of rankpursuit .format 99"),
        (b"rankpursuit model 1\nabc\n", "damaged"),
        (b"PK\x03\x04", "not a model"),
    ],
)
def test_other_files_are_refused_in_one_line(content, said, tmp_path):
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ModelFileError, match=said) as refused:
        rankpursuit.load_model(tmp_path / "model")
    assert "\n" not in str(refused.value)


def test_missing_files_and_folders_are_refused(tmp_path):
    with pytest.raises(ModelFileError, match="cannot be read"):
        rankpursuit.load_model(tmp_path / "none")
    X, y, _ = data()
    with pytest.raises(ModelFileError, match="cannot be written"):
        rankpursuit.RankRLS().fit(X, y).save(tmp_path / "no folder" / "model")


def test_kernels_of_ones_own_cannot_be_saved(tmp_path):
    X, y, _ = data()
    model = rankpursuit.RankRLS(kernel=lambda X, Y: X @ Y.T).fit(X, y)
    with pytest.raises(ModelFileError, match="callable"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@EACH
def test_predictions_in_blocks_are_those_of_all_rows(estimator, monkeypatch):
    X, y, groups = data()
    estimator.fit(X, y, groups)
    whole = estimator.predict(X)
    monkeypatch.setattr(_predictions, "_BLOCK", 40)
    np.testing.assert_allclose(estimator.predict(X), whole, atol=1e-12 * np.abs(whole).max())


@EACH
def test_a_loaded_model_tells_that_it_has_nothing_of_its_fit(estimator, tmp_path):
    X, y, groups = data()
    estimator.fit(X, y, groups).save(tmp_path / "model")
    again = rankpursuit.load_model(tmp_path / "model")
    for name, arguments in {"staged_predict": (X,), "plot": ()}.items():
        if hasattr(again, name):
            with pytest.raises(NotFittedError, match="read from a file"):
                list(getattr(again, name)(*arguments))


@EACH
def test_predictions_have_the_precision_of_the_points(estimator):
    X, y, groups = data()
    estimator.fit(X, y, groups)
    single = estimator.predict(X.astype(np.float32))
    assert (single.dtype, estimator.predict(X).dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(single, estimator.predict(X), atol=1e-4 * np.abs(single).max())


@EACH
def test_onnx_gives_the_same_scores(estimator):
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    X, y, groups = data()
    estimator.fit(X, y, groups)
    session = runtime.InferenceSession(rankpursuit.to_onnx(estimator).SerializeToString())
    (found,) = session.run(None, {"X": X})
    expected = estimator.predict(X)
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-9 * np.abs(expected).max())


def test_onnx_takes_a_pipeline(tmp_path):
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y, _ = data()
    model = make_pipeline(StandardScaler(), rankpursuit.RankingPursuit(n_basis=5)).fit(X, y)
    rankpursuit.to_onnx(model, tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    (found,) = session.run(None, {"X": X})
    np.testing.assert_allclose(found[:, 0], model.predict(X), atol=1e-9)


def test_what_onnx_cannot_be_made_of_or_written_to_is_refused(tmp_path):
    pytest.importorskip("skl2onnx")
    X, y, _ = data()
    with pytest.raises(NotFittedError):
        rankpursuit.to_onnx(rankpursuit.RankRLS())
    with pytest.raises(ModelFileError, match="cannot be written: No such file"):
        rankpursuit.to_onnx(rankpursuit.RankRLS().fit(X, y), tmp_path / "none" / "model.onnx")


def test_kernels_without_a_form_in_onnx_are_refused():
    pytest.importorskip("skl2onnx")
    X, y, _ = data()
    model = rankpursuit.RankRLS(kernel="chi2").fit(np.abs(X), y)
    with pytest.raises(ModelFileError, match="'chi2' has no form in ONNX"):
        rankpursuit.to_onnx(model)
