import numpy as np
import pytest

from rankpursuit import RankingPursuit, SemiSupervisedRankingPursuit


@pytest.fixture
def data():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(36, 4))
    y = X[:, 0] + X[:, 1]
    unscored = np.arange(36) % 3 == 0
    return X, np.where(unscored, np.nan, y), y


def disagreement(model, X):
    views = model.view_predict(X)
    views = views - views.mean(axis=0)
    return np.abs(views[:, 0] - views[:, 1]).max() / np.abs(views).max()


@pytest.mark.parametrize("views", ["points", "features", ["rbf", "linear"]])
@pytest.mark.parametrize("fitting", ["basic", "backfit"])
def test_agreement_on_unscored_points_brings_the_views_together(data, views, fitting):
    X, y, _ = data
    apart, close = (
        SemiSupervisedRankingPursuit(
            n_basis=4, nu=nu, views=views, fitting=fitting, random_state=0
        ).fit(X, y)
        for nu in (0.0, 100.0)
    )
    unscored = np.isnan(y)
    assert disagreement(close, X[unscored]) < 0.5 * disagreement(apart, X[unscored])


def test_prediction_is_the_mean_of_the_views(data):
    X, y, _ = data
    model = SemiSupervisedRankingPursuit(n_views=3, random_state=0).fit(X, y)
    views = model.view_predict(X)
    assert views.shape == (36, 3)
    np.testing.assert_allclose(model.predict(X), views.mean(axis=1))
    np.testing.assert_allclose(list(model.staged_predict(X))[-1], model.predict(X))


def test_one_view_is_ranking_pursuit(data):
    X, _, y = data
    model = SemiSupervisedRankingPursuit(n_basis=9, n_views=1).fit(X, y)
    supervised = RankingPursuit(n_basis=9).fit(X, y)
    np.testing.assert_array_equal(model.basis_[0], supervised.basis_)
    np.testing.assert_allclose(model.predict(X), supervised.predict(X), rtol=1e-9, atol=1e-12)


def test_views_of_points_have_no_point_in_common_and_use_unscored_ones(data):
    X, y, _ = data
    model = SemiSupervisedRankingPursuit(n_basis=1.0, random_state=0).fit(X, y)
    assert not set(model.basis_[0]) & set(model.basis_[1])
    assert np.isnan(y[np.concatenate(model.basis_)]).any()


def test_shared_basis_chooses_the_same_points_for_all_views(data):
    X, y, _ = data
    model = SemiSupervisedRankingPursuit(
        n_basis=5, views="features", shared_basis=True, random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(model.basis_[0], model.basis_[1])
    assert not np.allclose(model.coef_[0], model.coef_[1])


def test_without_unscored_points_the_views_agree_on_the_scored_ones(data):
    X, _, y = data
    apart, close = (
        SemiSupervisedRankingPursuit(n_basis=6, nu=nu, random_state=0).fit(X, y)
        for nu in (0.0, 100.0)
    )
    assert disagreement(close, X) < 0.5 * disagreement(apart, X)


def test_score_passes_over_unscored_points(data):
    X, y, truth = data
    model = SemiSupervisedRankingPursuit(random_state=0).fit(X, y)
    scored = ~np.isnan(y)
    assert model.score(X, y) == model.score(X[scored], truth[scored])
    groups = np.arange(36) % 2
    assert model.score(X, y, groups) == model.score(X[scored], truth[scored], groups[scored])


def test_scores_that_cannot_be_learned_from_are_refused(data):
    X, y, _ = data
    model = SemiSupervisedRankingPursuit()
    few = np.full(36, np.nan)
    few[0] = 1.0
    with pytest.raises(ValueError, match="y must hold at least two scores"):
        model.fit(X, few)
    with pytest.raises(ValueError, match="y contains infinity"):
        model.fit(X, np.where(np.isnan(y), np.inf, y))
