"""An interpretation differs from the paper's configs in nothing but what its title says."""

from pathlib import Path

import pytest
from studies import interpretations

from rankpursuit.experiments.config import load_experiment
from rankpursuit.experiments.registry import METHODS

ROOT = Path(__file__).parents[1]
CONFIGS = ROOT / "configs"
SIZE = {"protocol.test_users", "protocol.holdout_users", "repeats", "name"}


def resolved(path, overrides=()):
    """Options of an experiment, those of sections with a dotted key, and its algorithms."""
    config = load_experiment(path, overrides).resolved()
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


def places(interpretation):
    """Each published table that the interpretation has a run or a variant for, with its config."""
    for name in interpretations.EXPERIMENTS.values():
        yield name, CONFIGS / "interpretations" / f"{name}.yaml"


@pytest.mark.parametrize("name", interpretations.EXPERIMENTS.values())
def test_the_default_interpretation_is_the_config_of_the_paper_but_for_its_size(name):
    (paper, algorithms), (default, found) = (
        of_paper(name),
        resolved(CONFIGS / f"interpretations/{name}.yaml"),
    )
    assert set(changes(paper, default)) <= SIZE
    paper_s = {label: own for label, own in algorithms.items() if not METHODS[label].baseline}
    assert {label: found[label] for label in paper_s} == paper_s


@pytest.mark.parametrize(
    "interpretation",
    [one for one in interpretations.INTERPRETATIONS if one.variants],
    ids=lambda one: one.title,
)
def test_a_variant_differs_in_what_its_title_says_alone(interpretation):
    n_places = 0
    for name, path in places(interpretation):
        _, default = of_paper(name)
        _, found = resolved(path)
        for method, ending in interpretation.variants.items():
            if (variant := found.get(f"{method}_{ending}")) is not None:
                expected = dict(interpretation.changes)
                assert changes(default[method], variant) == expected, (path, method)
                n_places += 1
    assert n_places


@pytest.mark.parametrize(
    "interpretation",
    [one for one in interpretations.INTERPRETATIONS if one.run],
    ids=lambda one: one.title,
)
def test_a_run_differs_in_what_its_title_says_alone(interpretation):
    for number in interpretation.tables:
        name = interpretations.EXPERIMENTS[number]
        path = CONFIGS / f"{name}.yaml"
        (paper, default), (found, algorithms) = (
            of_paper(name),
            resolved(path, interpretation.overrides(number)),
        )
        changed = {key: value for key, value in changes(paper, found).items() if key not in SIZE}
        for label, own in algorithms.items():
            different = changes(default[label], own).items()
            changed |= {f"algorithms.{label}.{key}": value for key, value in different}
        assert changed == interpretation.changes
        assert set(default) - set(algorithms) == {"mean_rating", "linear_rank_rls"}


@pytest.mark.parametrize(
    "path", sorted((CONFIGS / "inferred").glob("*.yaml")), ids=lambda path: path.stem
)
def test_an_inferred_set_up_is_the_text_with_another_fill_and_a_fixed_lambda(path):
    (paper, default), (found, algorithms) = of_paper(path.stem), resolved(path)
    assert changes(paper, found) == {"protocol.fill_over": "set"}
    for label, options in algorithms.items():
        regularised = label in ("rls", "rank_rls", "sparse_rank_rls")
        assert changes(default[label], options) == ({"lambda": [1]} if regularised else {})
