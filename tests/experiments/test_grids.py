from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from small_experiment import small_config

from rankpursuit.errors import ConfigError
from rankpursuit.experiments import names
from rankpursuit.experiments.config import dump_yaml, load_experiment, parse_experiment, parse_yaml
from rankpursuit.experiments.grids import (
    BasisGrid,
    FractionGrid,
    InvalidValue,
    PositiveGrid,
    WeightGrid,
    expand,
)


@pytest.mark.parametrize(
    ("grid", "numbers"),
    [
        ([2, 0.5, 1], (0.5, 1, 2)),
        (3, (3,)),
        (0.25, (0.25,)),
        ({"base": 2, "from": -2, "to": 1}, (0.25, 0.5, 1, 2)),
        ({"base": 10, "from": -3, "to": 3, "step": 3}, (0.001, 1, 1000)),
        ({"base": 0.5, "from": 0, "to": 2}, (0.25, 0.5, 1)),
        ({"from": 1, "to": 6, "step": 2}, (1, 3, 5)),
        ({"from": 0, "to": 0}, (0,)),
    ],
)
def test_every_notation_becomes_rising_numbers(grid, numbers):
    assert expand(grid) == numbers


@given(st.integers(-500, 500), st.integers(1, 200), st.integers(0, 60))
def test_a_range_of_decimals_is_exact(low, step, count):
    grid = {"from": low / 100, "to": (low + count * step) / 100, "step": step / 100}
    assert expand(grid) == tuple((low + i * step) / 100 for i in range(count + 1))


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ([], "a list of numbers"),
        ([1, 2, 1.0], "distinct values"),
        ([1, "2"], "a list of numbers"),
        ([1, True], "a list of numbers"),
        ([float("nan")], "a list of numbers"),
        ([float("inf")], "a list of numbers"),
        ([10**400], "a list of numbers"),
        ("1, 2", "a list of numbers"),
        ({}, "required, but not given"),
        ({"base": 2, "from": 3, "to": 1}, "expected from <= to, got from 3 to 1"),
        ({"base": 1, "from": 0, "to": 1}, "distinct values"),
        ({"base": -2, "from": 0, "to": 1}, "expected greater than 0, got -2"),
        ({"base": 2, "from": 0, "to": 1, "step": 0}, "expected greater than 0, got 0"),
        ({"from": 0, "to": 1, "step": 1e-9}, "at most 10,000 numbers, got 1,000,000,001"),
        ({"base": 2, "from": 0, "to": 5000, "step": 1000}, "2 to the power of 5000 is too large"),
        ({"base": "2", "from": 0, "to": 1}, 'expected a number, got "2"'),
    ],
)
def test_what_is_not_a_grid_is_refused(grid, said):
    with pytest.raises(InvalidValue) as refused:
        expand(grid)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "allowed", "refused"),
    [
        (PositiveGrid, [1, 2], [0, 1]),
        (WeightGrid, [0, 1], [-1, 1]),
        (FractionGrid, [0, 0.5, 1], [0.5, 1.5]),
        (BasisGrid, [0.5, 1.0], [0.5, 1]),
        (BasisGrid, [1, 50], [0, 1]),
        (BasisGrid, [0.01], [1.5]),
        (BasisGrid, {"base": 2, "from": -3, "to": 0}, {"base": 2, "from": -3, "to": 1}),
        (BasisGrid, {"base": 2, "from": 0, "to": 3}, {"from": 0.5, "to": 1.5, "step": 0.5}),
    ],
)
def test_each_kind_of_grid_has_its_range(kind, allowed, refused):
    adapter = TypeAdapter(kind)
    assert adapter.validate_python(allowed) == expand(allowed)
    with pytest.raises(ValueError, match="expected a list of"):
        adapter.validate_python(refused)


def test_counts_are_ints_and_shares_are_floats():
    adapter = TypeAdapter(BasisGrid)
    assert type(adapter.validate_python(1)[0]) is int
    assert type(adapter.validate_python(1.0)[0]) is float


CONFIGS = Path(__file__).parents[2] / "configs"


def test_the_experiments_are_the_demo_and_the_tables_of_the_paper_in_order():
    assert list(names.shipped_experiments()) == [
        "demo",
        "jester_supervised",
        "jester_semi_supervised",
        "movielens_supervised",
        "movielens_semi_supervised",
        "jester_crrp",
    ]


def test_every_config_that_has_a_name_says_in_one_line_what_it_is():
    for name, path in names.shipped_configs().items():
        assert 20 <= len(names.summary_line(path)) <= 80 - len("  movielens_semi_supervised  "), (
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
    assert names.no_such_file(Path(path)).endswith(
        f"no such file; did you mean {meant}, which comes with rankpursuit?"
    )


def test_a_file_beside_the_missing_one_is_suggested_first(tmp_path):
    (tmp_path / "dem0.yaml").write_text("")
    missing = names.no_such_file(tmp_path / "dem.yaml")
    assert missing.endswith(f"did you mean {tmp_path / 'dem0.yaml'}?")


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("10", 10),
        ("-3", -3),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1e-3", 0.001),
        ("1.5E+3", 1500.0),
        ("-.inf", float("-inf")),
        ("true", True),
        ("null", None),
        ("", None),
        ("!!str 3", "3"),
    ],
)
def test_it_is_a_value(word, value):
    found = parse_yaml(f"a: {word}", "here")["a"]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize("name", ["1e5", "010", "yes", "1_000", "null", "2"])
def test_a_name_that_looks_like_a_number_can_be_read_back(name):
    experiment = parse_experiment(small_config(name=name))
    for again in (parse_yaml(dump_yaml(experiment), "x"), yaml.safe_load(dump_yaml(experiment))):
        assert parse_experiment(again).name == name


NESTED = "a0: &a0 [x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)


@pytest.mark.parametrize("text", [NESTED, NESTED + "repeats: *a11\n", "a: &a [*a]\n"])
def test_anchors_that_stand_for_more_than_memory_are_refused_at_once(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="unknown key"):
        load_experiment(path)


@pytest.mark.parametrize("word", ["./demo", "demo.yaml", "nothing", "sub/demo"])
def test_what_is_no_name_is_a_path(word, tmp_path):
    assert names.resolve_path(word, tmp_path) == tmp_path / word


def test_a_mapping_may_be_merged_and_changed(tmp_path):
    text = "a: &a {x: 1, y: 2}\nb:\n  c: &c {<<: *a, x: 3}\nd: {<<: *c, z: 4}\n"
    assert parse_yaml(text, "here")["d"] == {"x": 3, "y": 2, "z": 4}
