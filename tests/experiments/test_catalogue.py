"""Whatever is in the catalogue works everywhere."""

import inspect

import numpy as np
import pandas as pd
import pytest
from small_experiment import run_into, run_of, small_config

from rankpursuit.experiments import methods
from rankpursuit.experiments.config import parse_experiment
from rankpursuit.experiments.methods import AXES, METHODS, METRICS, Metric
from rankpursuit.metrics import squared_error
from rankpursuit.reporting.documents import all_tables
from rankpursuit.reporting.figures import draw_figures
from rankpursuit.reporting.render import to_markdown
from rankpursuit.reporting.results import load_results

SCORES = np.array([[3.0, 1.0, 2.0, 2.0], [1.0, 2.0, 4.0, 0.0]])


def test_axes_decide_in_an_order_without_ties():
    assert len({axis.precedence for axis in AXES.values()}) == len(AXES)
    assert len({axis.column for axis in AXES.values()}) == len(AXES)


@pytest.mark.parametrize("name", METHODS)
def test_the_axes_of_a_method_are_grids_of_its_spec(name):
    method = METHODS[name]
    fields = method.spec.model_fields
    for axis in method.axes:
        assert (fields[axis.key].alias or axis.key) == axis.column
    assert set(method.own) <= set(METRICS)
    assert name in methods._METHODS


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_takes_rows_of_scores_beside_stacks_of_predictions(name):
    metric = METRICS[name]
    stack = np.stack([np.stack([row, -row, 0.0 * row]) for row in SCORES])
    errors = metric.function(SCORES, stack)
    assert errors.shape == (2, 3)
    assert (errors[:, 0] < errors[:, 2]).all()
    assert (errors[:, 2] < errors[:, 1]).all()
    shifted = metric.function(SCORES, stack + 1.0)
    assert np.allclose(errors, shifted) == (not metric.of_level)


@pytest.mark.parametrize("name", METRICS)
def test_the_options_of_a_metric_are_keys_of_the_experiment(name):
    experiment = parse_experiment(small_config())
    for option in METRICS[name].options:
        assert option in inspect.signature(METRICS[name].function).parameters
        assert hasattr(experiment, option)


@pytest.fixture
def absolute(monkeypatch):
    """Add a metric to the catalogue, as a developer would, for one test."""
    metric = Metric(
        name="root",
        function=lambda scores, predictions: np.sqrt(squared_error(scores, predictions)),
        title="root mean squared error",
        label="root mean squared error (rating points)",
        task="Root task",
        decimals=2,
        of_level=True,
    )
    monkeypatch.setitem(METRICS, metric.name, metric)
    return metric.name


def test_metrics_appear_in_all_tables_and_figures(tmp_path, absolute):
    names = ("disagreement", "ndcg", absolute)
    run = run_of(small_config(metrics=list(names)), only=["rls", "ranking_pursuit"])
    assert run_into(run, tmp_path) == []
    found = pd.read_csv(tmp_path / "repeats.csv")
    assert set(found["metric"]) == set(names)
    assert found.loc[found["metric"] == "ndcg", "test_error"].between(0, 1).all()
    results = load_results(tmp_path)
    text = to_markdown(all_tables([results]))
    for name in names:
        assert METRICS[name].task in text
        assert METRICS[name].title in text
    drawn = {figure.name for figure in draw_figures(results)}
    assert {f"sparsity-{name}" for name in names} <= drawn


def test_a_user_without_an_untied_pair_counts_one_half():
    """With NaN for that user, the error of all users of a unit would be none."""
    scores, predictions = np.array([[1.0, 2.0], [3.0, 3.0]]), np.array([[[1.0, 2.0]], [[0.0, 1.0]]])
    function = METRICS["disagreement"].function
    np.testing.assert_array_equal(function(scores, predictions, ties="untied"), [[0.0], [0.5]])
    predictions[1, 0, 0] = np.nan
    assert np.isnan(function(scores, predictions, ties="untied")[1, 0])
