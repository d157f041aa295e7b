"""Views of semi-supervised ranking pursuit: what they sit on, where they agree, how they join."""

from dataclasses import replace

import numpy as np
import pytest
from small_experiment import small_config

from rankpursuit.errors import ConfigError
from rankpursuit.experiments.config import parse_experiment, ratings_of
from rankpursuit.experiments.methods import predict_grid
from rankpursuit.experiments.tasks import Problem, build_task, draw_users
from rankpursuit.experiments.views import Views
from rankpursuit.metrics import disagreement_error
from rankpursuit.preferences import GroupPreferences
from rankpursuit.solvers import pursue
from rankpursuit.solvers.coregularised import split_points

SS = "semi_supervised_ranking_pursuit"
WIDTHS = (8.0, 40.0)


def task_and_spec(**options):
    algorithms = {SS: {"n_basis": [2, 3], "nu": [0, 1.5]} | options}
    experiment = parse_experiment(small_config(algorithms=algorithms))
    ratings, protocol = ratings_of(experiment.data), experiment.protocol
    key = {"seed": 3, "group": protocol.groups[1], "repeat": 0, "role": "test"}
    user = int(draw_users(ratings, protocol, **key)[0])
    return build_task(ratings, protocol, user=user, **key), experiment.algorithms[SS]


def predictions(task, spec):
    problem = Problem.of([task], WIDTHS, "sigma")
    return predict_grid(problem, spec, slice(problem.n_train, None))


def test_halves_of_the_scored_dictionary_without_agreement_are_the_mean_of_two_pursuits():
    task, spec = task_and_spec(dictionary="scored")
    problem = Problem.of([task], WIDTHS, "sigma")
    form, n = GroupPreferences.single(problem.n_scored), problem.n_scored
    halves = split_points(np.ones(n, dtype=bool), 2, task.generator("views"))
    parts = []
    for half in halves:
        rows = form.root(problem.scored_kernel[:, :, half])
        path = pursue(rows, form.root_vectors(problem.scored_scores), 3)
        parts.append(path.predict(problem.kernel[:, problem.n_train :, half], np.array([2, 3])))
    found = predictions(task, spec)
    np.testing.assert_allclose(found.values[:, 0, 0], np.mean(parts, axis=0), atol=1e-9)
    assert found.n_points == n


def test_scored_dictionary_and_agreement_see_nothing_of_unscored_points():
    task, spec = task_and_spec(dictionary="scored", agreed="scored", ridge=[0, 0.3])
    without = replace(task, train=task.scored, unscored=task.unscored[:0])
    _, plain = task_and_spec(ridge=[0, 0.3])
    found, expected = predictions(task, spec), predictions(without, plain)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-9)
    np.testing.assert_array_equal(found.n_basis, expected.n_basis)


@pytest.mark.parametrize("views", ["points", "loss", "features"])
def test_where_views_agree_matters_with_a_weight_and_only_then(views):
    task, spec = task_and_spec(views=views)
    values = predictions(task, spec).values
    elsewhere = predictions(task, spec.model_copy(update={"agreed": "scored"})).values
    np.testing.assert_array_equal(values[:, :, 0], elsewhere[:, :, 0])
    assert not np.allclose(values[:, :, 1], elsewhere[:, :, 1])


@pytest.mark.parametrize("n_views", [2, 3])
def test_median_of_two_views_is_their_mean_and_of_three_is_not(n_views):
    task, spec = task_and_spec(n_views=n_views)
    mean = predictions(task, spec).values
    median = predictions(task, spec.model_copy(update={"aggregation": "median"})).values
    assert np.allclose(mean, median, rtol=1e-9) == (n_views == 2)


def test_borda_counts_are_ranks_of_the_test_points():
    task, spec = task_and_spec(n_views=3, aggregation="borda")
    values = predictions(task, spec).values
    n_test = len(task.test)
    np.testing.assert_allclose(values.mean(axis=-1), (n_test + 1) / 2)
    assert values.min() >= 1
    assert values.max() <= n_test


def test_skill_of_a_view_is_measured_on_the_scored_points_of_the_others():
    task, spec = task_and_spec(views="loss", n_views=2, aggregation="weighted")
    problem = Problem.of([task], WIDTHS, "sigma")
    views = Views(problem, spec)
    rng = np.random.default_rng(0)
    shape = (len(problem.gammas), 2, 3, problem.n_scored)
    values = [rng.normal(size=shape) for _ in range(2)]
    found = views.skills(values)
    is_scored = np.arange(problem.n_train) < problem.n_scored
    for view, points in enumerate(split_points(is_scored, 2, task.generator("views"))):
        others = np.setdiff1d(np.arange(problem.n_scored), points)
        scores = problem.scores[0, others]
        expected = disagreement_error(scores, values[view][..., others], ties="half")
        np.testing.assert_allclose(found[view], 0.5 - expected)


def test_views_without_skill_weigh_the_same_and_skill_makes_a_difference(monkeypatch):
    task, spec = task_and_spec(views="loss", aggregation="weighted", ridge=[0, 1])
    mean = predictions(task, spec.model_copy(update={"aggregation": "mean"})).values
    assert not np.allclose(predictions(task, spec).values, mean)
    monkeypatch.setattr(Views, "skills", lambda self, values: np.zeros_like(values)[..., 0])
    np.testing.assert_allclose(predictions(task, spec).values, mean, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", [{"views": "points"}, {"views": "loss", "n_views": 1}])
def test_weighted_aggregation_without_points_to_weigh_on_is_refused(options):
    with pytest.raises(ConfigError, match=r"aggregation: expected views: loss and two views"):
        task_and_spec(aggregation="weighted", **options)


def test_a_scored_dictionary_bounds_the_number_of_views():
    with pytest.raises(
        ConfigError, match=r"n_views: expected at most 5, since each view needs one"
    ):
        task_and_spec(dictionary="scored", n_views=6)
