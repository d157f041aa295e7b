"""Docstrings name every parameter and every fitted attribute, and nothing else."""

import inspect
import re

import pandas as pd
import pytest
from all_estimators import BY_NAME, CLASSES, grouped_data

from rankpursuit import (
    PathCV,
    RankRLS,
    group_scorer,
    kendall_scorer,
    map_scorer,
    mrr_scorer,
    ndcg_scorer,
)

each_class = pytest.mark.parametrize("cls", [*CLASSES, PathCV], ids=lambda cls: cls.__name__)
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", flags=re.M)
SCORERS = (group_scorer, kendall_scorer, map_scorer, mrr_scorer, ndcg_scorer)


def sections(docstring):
    """Text of each section of a numpydoc docstring, by its title."""
    _, *parts = SECTION.split(inspect.cleandoc(docstring))
    return dict(zip(parts[::2], parts[1::2], strict=True))


def entries(section):
    """Names of the entries of a section, each with its type; several may share an entry."""
    heads = re.findall(r"^\**(\w[\w, ]*?)(?: : (.+))?$", section, flags=re.M)
    found = [(name, kind) for names, kind in heads for name in names.split(", ")]
    assert len(dict(found)) == len(found), "an entry stands there twice"
    return dict(found)


@each_class
def test_every_section_of_a_class_is_there(cls):
    assert max(map(len, cls.__doc__.splitlines())) <= 100
    expected = {"Parameters", "Attributes", "See Also", "Examples"}
    assert set(sections(cls.__doc__)) - {"Notes"} == expected


@each_class
def test_documented_parameters_are_those_of_the_constructor(cls):
    documented = entries(sections(cls.__doc__)["Parameters"])
    parameters = inspect.signature(cls).parameters
    assert set(documented) == set(parameters)
    for name, parameter in parameters.items():
        if documented[name] == "optional" or parameter.default is parameter.empty:
            continue
        described = documented[name].partition("default ")[2]
        default = parameter.default
        if isinstance(default, str):
            assert described == f'"{default}"'
        elif isinstance(default, float) and not isinstance(default, bool):
            assert float(described) == default
        else:
            assert described == repr(default)


@each_class
def test_documented_attributes_are_those_of_a_fitted_model(cls):
    X, y, groups = grouped_data()
    model = (PathCV(RankRLS()) if cls is PathCV else cls()).fit(
        pd.DataFrame(X, columns=["a", "b", "c"]), y, groups
    )
    documented = entries(sections(cls.__doc__)["Attributes"])
    fitted = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert set(documented) == fitted


@each_class
def test_classes_to_see_also_exist(cls):
    others = entries(sections(cls.__doc__)["See Also"])
    assert set(others) <= set(BY_NAME) - {cls.__name__}
    assert others


@each_class
def test_documented_parameters_of_methods_are_those_of_their_signatures(cls):
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if name.startswith("_") or not method.__module__.startswith("rankpursuit"):
            continue
        parts = sections(method.__doc__)
        signature = inspect.signature(method)
        heads = re.findall(r"^\**(\w+) : ", parts.get("Parameters", ""), flags=re.M)
        assert heads == list(signature.parameters)[1:], name
        assert signature.return_annotation == "None" or {"Returns", "Yields"} & set(parts), name


@each_class
def test_the_first_parameters_may_go_without_their_names(cls):
    parameters = inspect.signature(cls).parameters.values()
    positional = [x.name for x in parameters if x.kind is x.POSITIONAL_OR_KEYWORD]
    expected = {"RankSVM": ["C"], "RLS": ["alpha"], "RankRLS": ["alpha"]}
    expected |= {"SparseRankRLS": ["n_basis", "alpha"], "PathCV": ["estimator", "grid"]}
    assert positional == expected.get(cls.__name__, ["n_basis"])


@pytest.mark.parametrize("scorer", SCORERS, ids=lambda scorer: scorer.__name__)
def test_documented_parameters_of_scorers_are_those_of_their_signatures(scorer):
    documented = entries(sections(scorer.__doc__)["Parameters"])
    assert list(documented) == list(inspect.signature(scorer).parameters)
