"""The ablations ask what their configs answer, and tell it as it was measured."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_experiment import run_into, run_of, small_config
from studies import ablations

from rankpursuit.experiments.config import load_experiment

ROOT = Path(__file__).parents[1]

CONFIGS = {path.stem: path for path in (ROOT / "configs" / "ablations").glob("*.yaml")}
QUESTIONS = [one for questions in ablations.SECTIONS.values() for one in questions]


@pytest.mark.parametrize("name", CONFIGS)
def test_a_config_has_the_algorithms_that_are_asked_about(name):
    data, _, run = name.partition("_")
    experiment = load_experiment(CONFIGS[name])
    asked = [one for one in QUESTIONS if one[0] == run]
    assert asked
    assert experiment.data.name == data
    for _, first, second, _ in asked:
        assert {first, second} <= set(experiment.algorithms)


def test_every_question_has_a_config():
    assert {f"jester_{one[0]}" for one in QUESTIONS} <= set(CONFIGS)


def test_differences_are_paired_over_test_users(tmp_path, monkeypatch):
    run_into(run_of(small_config(name="jester_small")), tmp_path / "jester_small")
    question = ("small", "rank_rls", "ranking_pursuit", "one less other")
    monkeypatch.setattr(ablations, "SECTIONS", {"a section": [question]})
    (answer,) = ablations.answers(tmp_path)
    users = pd.read_csv(tmp_path / "jester_small" / "users.csv.gz")
    users = users[users["metric"] == "disagreement"]
    errors = users.pivot_table(
        index=["group", "repeat", "user"], columns="algorithm", values="error"
    )
    differences = errors["rank_rls"] - errors["ranking_pursuit"]
    assert answer["users"] == len(differences) == 48
    assert answer["difference"] == pytest.approx(differences.mean())
    assert answer["low"] < answer["difference"] < answer["high"]
    own = users[users["algorithm"] == "rank_rls"]
    assert answer["first_share"] == pytest.approx((own["n_basis"] / own["n_points"]).mean())
    text = ablations.to_markdown(pd.DataFrame([answer]))
    assert "### a section" in text
    assert f"{abs(answer['difference']):.4f}" in text
    assert np.isfinite(answer["low"])
