"""Configs by name, from any folder."""

from pathlib import Path

import pytest

from rankpursuit.experiments import syntax as shipped
from rankpursuit.experiments.config import load_experiment

CONFIGS = Path(__file__).parents[3] / "configs"


def test_the_experiments_are_the_demo_and_the_tables_of_the_paper_in_order():
    assert list(shipped.shipped_experiments()) == [
        "demo",
        "jester_supervised",
        "jester_semi_supervised",
        "movielens_supervised",
        "movielens_semi_supervised",
        "jester_crrp",
    ]


def test_every_config_that_has_a_name_says_in_one_line_what_it_is():
    for name, path in shipped.shipped_configs().items():
        assert 20 <= len(shipped.summary_line(path)) <= 80 - len("  movielens_semi_supervised  "), (
            name
        )


def test_a_name_means_the_same_in_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    assert load_experiment("demo") == load_experiment(CONFIGS / "demo.yaml")


def test_a_config_may_extend_one_of_the_package_by_name(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("extends: jester_supervised\nname: mine\n")
    paper = load_experiment("jester_supervised")
    assert load_experiment(path) == paper.model_copy(update={"name": "mine"})


@pytest.mark.parametrize("word", ["./demo", "demo.yaml", "nothing", "sub/demo"])
def test_what_is_no_name_is_a_path(word, tmp_path):
    assert shipped.resolve_path(word, tmp_path) == tmp_path / word


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("configs/demo.yaml", "demo"),
        ("jester_suprvised", "jester_supervised"),
        ("movielens_supervised.yml", "movielens_supervised"),
    ],
)
def test_a_missing_file_suggests_the_config_that_may_be_meant(path, meant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shipped.no_such_file(Path(path)).endswith(
        f"no such file; did you mean {meant}, which comes with rankpursuit?"
    )


def test_a_file_beside_the_missing_one_is_suggested_first(tmp_path):
    (tmp_path / "dem0.yaml").write_text("")
    missing = shipped.no_such_file(tmp_path / "dem.yaml")
    assert missing.endswith(f"did you mean {tmp_path / 'dem0.yaml'}?")
