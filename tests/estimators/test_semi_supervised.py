import numpy as np
import pytest

from rankpursuit import RankingPursuit, SemiSupervisedRankingPursuit
from rankpursuit.kernels import gaussian_stack, squared_distances
from rankpursuit.solvers.coregularised import split_points


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


@pytest.mark.parametrize("views", ["points", "loss", "features", ["rbf", "linear"]])
@pytest.mark.parametrize("fitting", ["basic", "backfit"])
def test_agreement_on_unscored_points_brings_the_views_together(data, views, fitting):
    X, y, _ = data
    apart, close = (
        SemiSupervisedRankingPursuit(
            n_basis=4, nu=nu, views=views, fitting=fitting, gamma=None, random_state=0
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


def test_views_of_points_have_no_point_in_common_and_use_unscored_ones(data):
    X, y, _ = data
    model = SemiSupervisedRankingPursuit(n_basis=1.0, random_state=0).fit(X, y)
    assert not set(model.basis_[0]) & set(model.basis_[1])
    assert np.isnan(y[np.concatenate(model.basis_)]).any()


@pytest.mark.parametrize("n_candidates", [None, 10])
def test_without_agreement_a_view_of_the_loss_is_ranking_pursuit_on_its_own_points(
    data, n_candidates
):
    X, _, y = data
    model = SemiSupervisedRankingPursuit(
        n_basis=4, nu=0.0, views="loss", n_candidates=n_candidates, gamma=0.25, random_state=0
    ).fit(X, y)
    generator = np.random.RandomState(0)
    candidates = np.arange(36)
    if n_candidates:
        candidates = np.sort(np.argsort(generator.random(36))[:n_candidates])
    own = [candidates[part] for part in split_points(y[candidates] > -9, 2, generator)]
    others = np.setdiff1d(np.arange(36), candidates)
    rest = [others[part] for part in split_points(y[others] > -9, 2, generator)]
    for view in range(2):
        loss = np.sort(np.concatenate([own[view], rest[view]]))
        assert set(model.basis_[view]) <= set(own[view])
        alone = RankingPursuit(n_basis=4, fitting="basic", ridge=0.0, kernel="precomputed")
        kernel = gaussian_stack(squared_distances(X, X), [0.25])[0]
        dictionary = np.flatnonzero(np.isin(loss, own[view]))
        square = np.zeros((len(loss), len(loss)))  # no function but those of the dictionary
        square[:, dictionary] = kernel[np.ix_(loss, own[view])]
        alone.fit(square, y[loss])
        np.testing.assert_array_equal(loss[alone.basis_], model.basis_[view])
        np.testing.assert_allclose(alone.coef_, model.coef_[view], rtol=1e-8)


def test_a_view_without_a_pair_in_its_loss_is_refused(data):
    X, _, _ = data
    few = np.full(36, np.nan)
    few[:3] = [1.0, 2.0, 3.0]
    message = "views='loss' leaves view 1 without a pair of scored points"
    with pytest.raises(ValueError, match=message):
        SemiSupervisedRankingPursuit(views="loss").fit(X, few)
    few[3] = 4.0
    SemiSupervisedRankingPursuit(views="loss", n_basis=2).fit(X, few)
    with pytest.raises(ValueError, match="views='loss' leaves view 0 without a pair"):
        SemiSupervisedRankingPursuit(views="loss", random_state=1).fit(X, few, np.arange(36) // 2)


def test_shared_basis_chooses_the_same_points_for_all_views(data):
    X, y, _ = data
    model = SemiSupervisedRankingPursuit(
        n_basis=5, views="features", shared_basis=True, random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(model.basis_[0], model.basis_[1])
    assert not np.allclose(model.coef_[0], model.coef_[1])


def test_scores_that_cannot_be_learned_from_are_refused(data):
    X, y, _ = data
    model = SemiSupervisedRankingPursuit()
    few = np.full(36, np.nan)
    few[0] = 1.0
    with pytest.raises(ValueError, match="y must hold at least two scores"):
        model.fit(X, few)
    with pytest.raises(ValueError, match="y contains infinity"):
        model.fit(X, np.where(np.isnan(y), np.inf, y))


@pytest.mark.parametrize("views", ["points", [lambda X, Y: X @ Y.T + X[:, :1], "rbf"]])
def test_a_penalty_needs_a_symmetric_kernel(data, views):
    X, y, _ = data
    kernel = "rbf" if isinstance(views, list) else "precomputed"
    X = X if isinstance(views, list) else np.random.default_rng(0).normal(size=(36, 36))
    model = SemiSupervisedRankingPursuit(n_basis=3, views=views, kernel=kernel, random_state=0)
    model.fit(X, y)
    with pytest.raises(ValueError, match="kernel must be symmetric"):
        model.set_params(ridge=1.0).fit(X, y)


def test_more_memory_than_allowed_is_refused_before_any_is_taken(data):
    X, y, _ = data
    many = np.tile(X, (600, 1))
    with pytest.raises(ValueError, match=r"21600 samples with 21600 candidates take about 21 GB"):
        SemiSupervisedRankingPursuit().fit(many, np.tile(y, 600))
    with pytest.raises(ValueError, match=r"100000 views of .* lower n_candidates or n_views"):
        SemiSupervisedRankingPursuit(n_views=10**5, views=["rbf"] * 10**5).fit(X, y)


def test_score_passes_over_unscored_points(data):
    X, y, truth = data
    model = SemiSupervisedRankingPursuit(random_state=0).fit(X, y)
    scored = ~np.isnan(y)
    assert model.score(X, y) == model.score(X[scored], truth[scored])
    groups = np.arange(36) % 2
    model.fit(X, y, groups)
    assert model.score(X, y, groups) == model.score(X[scored], truth[scored], groups[scored])
