"""Words that YAML 1.1 takes for numbers or truth, and YAML 1.2 for text, are text."""

import pytest
import yaml
from small_experiment import small_config

from rankpursuit.errors import ConfigError
from rankpursuit.experiments.config import dump_yaml, load_experiment, parse_experiment
from rankpursuit.experiments.syntax import parse_yaml

WORDS = (
    "1:30 1:30.5 010 0o10 0x1F 0b11 1_000 1,000 2001-01-01 +-1 00.5 yes No on OFF y n = 1e e5 "
    "infinity nan"
)


@pytest.mark.parametrize(
    "word",
    WORDS.split(),
)
def test_it_is_text(word):
    assert parse_yaml(f"a: {word}", "here") == {"a": word}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("10", 10),
        ("-3", -3),
        ("+7", 7),
        ("0", 0),
        ("0.5", 0.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e-3", 0.001),
        ("1.5E+3", 1500.0),
        ("-.inf", float("-inf")),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("!!float 3", 3.0),
        ("!!str 3", "3"),
        ("'3'", "3"),
    ],
)
def test_it_is_a_value(word, value):
    found = parse_yaml(f"a: {word}", "here")["a"]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize("word", ["1:30", "010", "0x1F", "1_000", "yes"])
def test_as_a_number_of_repeats_it_is_refused(tmp_path, word):
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(small_config()))
    with pytest.raises(ConfigError) as refused:
        load_experiment(path, [f"repeats={word}"])
    assert refused.value.faults == [f'repeats: expected a whole number, got "{word}"']


@pytest.mark.parametrize("name", ["1e5", "010", "yes", "1_000", "null", "2"])
def test_a_name_that_looks_like_a_number_can_be_read_back(name):
    experiment = parse_experiment(small_config(name=name))
    for again in (parse_yaml(dump_yaml(experiment), "x"), yaml.safe_load(dump_yaml(experiment))):
        assert parse_experiment(again).name == name
