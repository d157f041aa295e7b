"""A reading differs from the paper's configs in what its title says, and in nothing else."""

from pathlib import Path

import pytest
from studies import readings

from rankpursuit.experiments.config import load_experiment

ROOT = Path(__file__).parents[1]
CONFIGS = ROOT / "configs"
SIZE = {"protocol.test_users", "protocol.holdout_users", "repeats", "name"}


def resolved(path):
    """Options of an experiment, those of sections with a dotted key, and its algorithms."""
    config = load_experiment(path).resolved()
    algorithms = config.pop("algorithms")
    flat = {}
    for key, value in config.items():
        inner = value.items() if isinstance(value, dict) else ()
        flat |= {f"{key}.{name}": one for name, one in inner} or {key: value}
    return flat, algorithms


def changes(default, other):
    return {key: other[key] for key in default if other[key] != default[key]}


def of_paper(name):
    return resolved(CONFIGS / f"{name}.yaml")


def places(reading):
    """Each published table that the reading has a run or a variant for, with its config."""
    for name in readings.EXPERIMENTS.values():
        path = (
            CONFIGS / "readings" / (f"{name}-{reading.run}.yaml" if reading.run else f"{name}.yaml")
        )
        if path.exists():
            yield name, path


@pytest.mark.parametrize("name", readings.EXPERIMENTS.values())
def test_the_default_reading_is_the_config_of_the_paper_but_for_its_size(name):
    (paper, algorithms), (default, found) = (
        of_paper(name),
        resolved(CONFIGS / f"readings/{name}.yaml"),
    )
    assert set(changes(paper, default)) <= SIZE
    assert {label: found[label] for label in algorithms} == algorithms


@pytest.mark.parametrize(
    "reading", [one for one in readings.READINGS if one.variants], ids=lambda one: one.title
)
def test_a_variant_differs_in_what_its_title_says_alone(reading):
    n_places = 0
    for name, path in places(reading):
        _, default = of_paper(name)
        _, found = resolved(path)
        for method, ending in reading.variants.items():
            if (variant := found.get(f"{method}_{ending}")) is not None:
                expected = dict(reading.changes)
                assert changes(default[method], variant) == expected, (path, method)
                n_places += 1
    assert n_places


@pytest.mark.parametrize(
    "reading", [one for one in readings.READINGS if one.run], ids=lambda one: one.title
)
def test_a_run_differs_in_what_its_title_says_alone(reading):
    paths = list(places(reading))
    assert paths
    for name, path in paths:
        (paper, default), (found, algorithms) = of_paper(name), resolved(path)
        changed = changes(paper, found)
        assert {key: changed[key] for key in changed if key not in SIZE} == reading.changes
        assert algorithms == {label: default[label] for label in algorithms}


@pytest.mark.parametrize(
    "path", sorted((CONFIGS / "inferred").glob("*.yaml")), ids=lambda path: path.stem
)
def test_an_inferred_set_up_is_the_text_with_other_reference_users(path):
    (paper, default), (found, algorithms) = of_paper(path.stem), resolved(path)
    assert set(changes(paper, found)) == {"protocol.reference_users"}
    assert algorithms == default
