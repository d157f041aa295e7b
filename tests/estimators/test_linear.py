"""A linear kernel gives a linear model: weights of features, sparse points, small files."""

import numpy as np
import pytest
import scipy.sparse as sp
from all_estimators import ALL, PURSUITS, grouped_data, id_of, made
from sklearn.base import clone

from rankpursuit import RankSVM, load_model
from rankpursuit.estimators import rank_svm

LINEAR_MODELS = [
    model.set_params(kernel="linear")
    for model in made("RLS", "RankRLS", "SparseRankRLS", "RankSVM")
]
LINEAR_MODELS.append(RankSVM(kernel="linear", loss="squared_hinge"))
each_model = pytest.mark.parametrize("estimator", LINEAR_MODELS, ids=repr)
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(params=["weights", "points"], autouse=True)
def solved_in(request, monkeypatch):
    """Let RankSVM solve in the weights of the features, too, where points are few."""
    if request.param == "weights":
        monkeypatch.setattr(rank_svm, "_FEWEST_POINTS", 0)


@pytest.fixture
def data():
    return grouped_data()


@each_model
def test_linear_models_fit_as_well_as_with_the_same_kernel_as_a_function(data, estimator):
    X, y, groups = data
    tight = {"tol": 1e-6} if "tol" in estimator.get_params() else {}
    ours = clone(estimator).set_params(**tight).fit(X, y, groups)
    other = clone(ours).set_params(kernel=lambda X, Y: X @ Y.T).fit(X, y, groups)
    close = 1e-2 if tight else 1e-8  # a gap of 1e-6 is this much of a function
    scale = np.abs(other.predict(X)).max()
    np.testing.assert_allclose(ours.predict(X), other.predict(X), atol=close * scale)


@each_model
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_sparse_points_are_as_good_as_dense_ones(data, estimator, kind):
    X, y, groups = data
    X[np.abs(X) < 0.5] = 0.0
    dense = clone(estimator).fit(X, y, groups)
    model = clone(estimator).fit(kind(X), y, groups)
    close = 1e-2 if "tol" in estimator.get_params() else 1e-9  # a gap of 1e-3
    np.testing.assert_allclose(model.coef_, dense.coef_, atol=close * np.abs(dense.coef_).max())
    expected = X @ model.coef_
    np.testing.assert_allclose(model.predict(kind(X)), expected, atol=1e-12)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-12)
    assert model.score(kind(X), y, groups) == model.score(X, y, groups)


@pytest.mark.parametrize("estimator", ALL, ids=id_of)
def test_sparse_points_are_refused_in_one_line_where_the_model_is_not_linear(data, estimator):
    X, y, groups = data
    linear = id_of(estimator) in ("RLS", "RankRLS", "SparseRankRLS", "RankSVM")
    for kernel in ["rbf"] if linear else ["rbf", "linear"]:
        model = clone(estimator).set_params(kernel=kernel)
        with pytest.raises(TypeError, match=r"Sparse data was passed.*kernel='linear'") as refused:
            model.fit(sp.csr_array(X), y, groups)
        assert "\n" not in str(refused.value)
        with pytest.raises(TypeError, match=r"pass X\.toarray\(\)"):
            model.fit(X, y, groups).predict(sp.csr_array(X))


@each_model
def test_a_saved_linear_model_is_its_weights(data, estimator, tmp_path):
    X, y, groups = data
    model = clone(estimator).fit(np.tile(X, (20, 1)), np.tile(y, 20), np.tile(groups, 20))
    model.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 10_000
    again = load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.predict(sp.csr_array(X)), model.predict(sp.csr_array(X)))


@pytest.mark.parametrize("estimator", PURSUITS, ids=id_of)
@quiet
def test_pursuits_keep_their_points_and_predict_by_weights(data, estimator, monkeypatch):
    X, y, groups = data
    model = clone(estimator).set_params(kernel="linear", n_basis=2).fit(X, y, groups)
    assert model.coef_.shape == model.basis_.shape == (2,)
    assert model.X_basis_.shape == (2, 3)
    monkeypatch.setattr(model, "_basis_values", None)  # no kernel of the new points
    np.testing.assert_allclose(model.predict(X), X @ model.X_basis_.T @ model.coef_, atol=1e-12)
