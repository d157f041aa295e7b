"""The ablations ask what their configs answer, and tell it as it was measured."""

from pathlib import Path

import pages
import pandas as pd
import pytest
from small_experiment import run_into, run_of, small_config
from studies import ablations

from rankpursuit.experiments.config import load_experiment

ROOT = Path(__file__).parents[1]

CONFIGS = set((ROOT / "configs" / "ablations").glob("*.yaml"))
RUNS = {name: (config, overrides) for name, config, overrides in ablations.runs()}
QUESTIONS = [one for questions in ablations.SECTIONS.values() for one in questions]


@pytest.mark.parametrize("name", RUNS)
def test_a_run_has_the_algorithms_that_are_asked_about(name):
    data, _, run = name.partition("_")
    experiment = load_experiment(*RUNS[name])
    asked = [question for question in QUESTIONS if question[0] == run]
    assert asked
    assert (experiment.name, experiment.data.name) == (name, data)
    if run.startswith("scored_"):
        assert experiment.protocol.scored_share == int(run[-2:]) / 100
    for _, first, second, _ in asked:
        assert {first, second} <= set(experiment.algorithms)


def test_every_question_has_a_run_and_every_config_is_run():
    assert {f"jester_{question[0]}" for question in QUESTIONS} <= set(RUNS)
    assert {config for config, _ in RUNS.values()} == CONFIGS
    assert len(RUNS) == 17


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
    monkeypatch.setattr(pages, "_csv", lambda name: pd.DataFrame([answer]))
    text = pages.ablations()
    assert "**a section**" in text
    assert f"{abs(answer['difference']):.4f}" in text
