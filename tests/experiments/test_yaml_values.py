"""Values of configs follow YAML 1.2; a file or a plan that is too large is refused."""

import pytest
import yaml
from small_experiment import small_config

from rankpursuit.errors import ConfigError
from rankpursuit.experiments.config import dump_yaml, load_experiment


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(small_config()))
    return path


@pytest.mark.parametrize("word", ["010", "0x1F", "1_000", "yes", "No", "on", "1e", "nan"])
def test_words_that_only_yaml_1_1_takes_for_values_are_text(small, word):
    experiment = load_experiment(small, [f"name={word}"])
    assert experiment.name == word
    small.write_text(dump_yaml(experiment))
    assert load_experiment(small).name == word
    assert yaml.safe_load(small.read_text())["name"] == word


@pytest.mark.parametrize("word", ["1:30", "010", "0x1F", "1_000", "yes", "1.5"])
def test_they_are_no_integers(small, word):
    with pytest.raises(ConfigError, match=r"^repeats: expected .*, got "):
        load_experiment(small, [f"repeats={word}"])


@pytest.mark.parametrize(
    ("word", "value"),
    [("10", 10.0), ("+7", 7.0), (".5", 0.5), ("5.", 5.0), ("1e-3", 0.001), ("1.5E+3", 1500.0)],
)
def test_numbers_need_no_sign_or_dot(small, word, value):
    assert load_experiment(small, [f"data.noise={word}"]).data.noise == value


@pytest.mark.parametrize("word", ["null", "~"])
def test_null_is_no_text(small, word):
    override = f"protocol.scored_share={word}"
    only = "algorithms={rls: {lambda: [1]}}"
    assert load_experiment(small, [override, only]).protocol.scored_share is None


@pytest.mark.parametrize("override", ["repeats=1000000000000", "protocol.test_users=1000000000"])
def test_more_work_than_can_be_planned_is_refused(small, override):
    with pytest.raises(ConfigError, match=r"at most|is the most"):
        load_experiment(small, [override])
