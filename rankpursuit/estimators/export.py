"""Fitted models as SQL, JSON and Python: sums of products of functions of one feature.

`describe` returns the functions of a model as a mapping of numbers and text, in the units of the
data. JSON is that mapping, and SQL and Python are two ways of writing it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

from sklearn.utils.validation import check_is_fitted

from rankpursuit.estimators.dictionaries import GrownDictionary
from rankpursuit.estimators.inspection import feature_names, feature_units

Dialect = Literal["sqlite", "postgres", "duckdb"]
FORMAT, VERSION = "rankpursuit functions", 1
_MOST_TERMS = 100
"""Terms of a sum in SQL, and sums of them: SQLite refuses expressions above 1,000 levels deep."""


def describe(model: Any) -> dict[str, Any]:
    """Return the functions of a fitted pursuit, in the units of `X`.

    The mapping has the `features` that the functions depend on, with the `values` between whose
    `scores` the rank of the feature is interpolated, if it is used; and the `functions`, each with
    its `coef` and its `factors`. The page `export` of the guide describes all keys.
    """
    check_is_fitted(model)
    dictionary = model.dictionary_
    if not isinstance(dictionary, GrownDictionary):
        raise ValueError(
            "only functions of one feature and their products can be exported, but this model has "
            "kernels or functions of your own: fit it with dictionary='additive', 'pairs' or "
            "'grown', or save it with save()"
        )
    if isinstance(model.scale, str):
        raise ValueError(
            "a model with scale='group' cannot be exported, since the value of a point depends on "
            "the other points of its group: fit it with scale=False"
        )
    if model.categories_:
        name = feature_names(model)[min(model.categories_)]
        raise ValueError(
            f"a model with categories cannot be exported, such as of column {name!r}: encode them "
            "as numbers first, for instance by sklearn.preprocessing.OneHotEncoder, or save the "
            "model with save()"
        )
    names, (origin, scale) = feature_names(model), feature_units(model)
    products = dictionary.factors(model.basis_)
    ranked = {f.feature for factors in products for f in factors if f.kind in _OF_RANKS}
    features = []
    for j in sorted({factor.feature for factors in products for factor in factors}):
        entry: dict[str, Any] = {"name": names[j]}
        if j in ranked:
            values, scores = dictionary.scores_[j]
            entry |= {"values": (values * scale[j] + origin[j]).tolist(), "scores": scores.tolist()}
        features.append(entry)
    functions = []
    for coef, factors in zip(model.coef_.tolist(), products, strict=True):
        described = []
        for factor in factors:
            j = factor.feature
            entry = {"kind": factor.kind, "feature": names[j]}
            at = partial(_threshold, origin=float(origin[j]), scale=float(scale[j]))
            if factor.kind == "bump":
                entry |= {"centre": factor.centre, "width": factor.width, "mean": factor.mean}
            elif factor.kind == "level":  # an interval, since scaling back rounds
                below = at(math.nextafter(factor.centre, -math.inf))
                described.append({**entry, "kind": "above", "threshold": below})
                entry |= {"kind": "at most", "threshold": at(factor.centre)}
            elif factor.kind in ("above", "at most"):
                entry["threshold"] = at(factor.centre)
            described.append(entry)
        functions.append({"coef": coef, "factors": described})
    return {"format": FORMAT, "version": VERSION, "features": features, "functions": functions}


def _threshold(centre: float, origin: float, scale: float) -> float:
    """Return the largest number that is not above a threshold once it is scaled.

    Values at a threshold, half stars between whole ones, are then on the same side as in `predict`.
    """
    threshold = centre * scale + origin
    room = 8.0 * math.ulp(max(abs(threshold), abs(origin)))
    low, high = threshold - room, threshold + room
    while low < (middle := low + (high - low) / 2.0) < high:
        if (middle - origin) / scale > centre:
            high = middle
        else:
            low = middle
    return low


_OF_RANKS = ("rank", "bump")


class _Language(NamedTuple):
    """How products of factors are written; {x} and {r} are a value and its rank.

    Every factor but that of missing values is zero where its value is missing. The conditions of a
    product say where it is not zero, and the others are its values there.
    """

    conditions: dict[str, str]
    conjunction: str
    choice: str
    bump: str


_SQL_CONDITIONS = {
    "rank": "{x} IS NOT NULL",
    "bump": "{x} IS NOT NULL",
    "above": "{x} > {threshold}",
    "at most": "{x} <= {threshold}",
    "missing": "{x} IS NULL",
    "present": "{x} IS NOT NULL",
}
_SQL_CHOICE = "CASE WHEN {conditions} THEN {product} ELSE 0 END"
_SQL = _Language(_SQL_CONDITIONS, " AND ", _SQL_CHOICE, "EXP({exponent})")
_POSTGRES = _SQL._replace(bump="EXP(GREATEST(-200, {exponent}))")  # underflow is an error there
_PYTHON_CONDITIONS = _SQL_CONDITIONS | dict.fromkeys((*_OF_RANKS, "present"), "{x} == {x}")
_PYTHON_CONDITIONS |= {"missing": "{x} != {x}"}
_PYTHON = _Language(
    _PYTHON_CONDITIONS, " and ", "({product} if {conditions} else 0.0)", "exp({exponent})"
)


def _write_function(
    function: dict[str, Any],
    variables: dict[str, tuple[str, str]],
    language: _Language,
    number: Callable[[float], str],
) -> str:
    """Return a function times its coefficient; `variables` are value and rank of each feature."""
    conditions, product = [], [number(function["coef"])]
    for factor in function["factors"]:
        x, r = variables[factor["feature"]]
        threshold = number(factor.get("threshold", 0.0))
        conditions.append(language.conditions[factor["kind"]].format(x=x, threshold=threshold))
        if factor["kind"] == "rank":
            product.append(r)
        elif factor["kind"] == "bump":
            distance = f"({r} - {number(factor['centre'])})"
            rate = number(-0.5 / factor["width"] ** 2)
            bump = language.bump.format(exponent=f"{rate} * {distance} * {distance}")
            mean = factor["mean"]
            product.append(f"({bump} - {number(mean)})" if mean else bump)
    written = " * ".join(product)
    if not conditions:
        return written
    together = language.conjunction.join(dict.fromkeys(conditions))
    return language.choice.format(product=written, conditions=together)


def _slopes(feature: dict[str, Any]) -> list[tuple[float, float, float, float]]:
    """Return the end of each interval between values, and its start, score there and slope."""
    values, scores = feature["values"], feature["scores"]
    return [
        (high, low, score, (above - score) / (high - low))
        for low, high, score, above in zip(values, values[1:], scores, scores[1:], strict=False)
    ]


def to_json(model: Any) -> str:
    """Return the functions of a model as JSON; see `RankingPursuit.to_json`."""
    return json.dumps(describe(model), ensure_ascii=False)


def to_sql(model: Any, dialect: Dialect) -> str:
    """Return a model as an expression of SQL; see `RankingPursuit.to_sql`."""
    if dialect not in ("sqlite", "postgres", "duckdb"):
        raise ValueError(f"dialect must be 'sqlite', 'postgres' or 'duckdb'; got {dialect!r:.100}")
    described = describe(model)
    language = _POSTGRES if dialect == "postgres" else _SQL
    real = "REAL" if dialect == "sqlite" else "DOUBLE PRECISION"

    def quote(name: str) -> str:
        # An unknown name in double quotes is a string to SQLite.
        mark = "`" if dialect == "sqlite" else '"'
        return mark + name.replace(mark, 2 * mark) + mark

    def number(value: float) -> str:
        # DuckDB converts decimal numbers without an exponent by a division, which rounds.
        return f"{value!r}e0" if dialect == "duckdb" and "e" not in repr(value) else repr(value)

    prefix = "value of"
    while any(feature["name"].lower().startswith(prefix) for feature in described["features"]):
        prefix = f"the {prefix}"
    values, ranks, variables = [], ["*"], {}
    for feature in described["features"]:
        name = feature["name"]
        x, r = quote(f"{prefix} {name}"), quote(f"rank of {name}")
        variables[name] = x, r
        column = f"CAST({quote(name)} AS {real})"
        if dialect != "sqlite":  # which has no NaN
            column = f"NULLIF({column}, CAST('NaN' AS {real}))"
        values.append(f"{column} AS {x}")
        if "values" in feature:
            first, last = feature["values"][0], feature["values"][-1]
            cases = [f"WHEN {x} <= {number(first)} THEN {number(feature['scores'][0])}"]
            cases += [
                f"WHEN {x} <= {number(high)} THEN "
                f"{number(score)} + {number(slope)} * ({x} - {number(low)})"
                for high, low, score, slope in _slopes(feature)
            ]
            cases.append(f"WHEN {x} > {number(last)} THEN {number(feature['scores'][-1])}")
            lines = "\n    ".join(cases)
            ranks.append(f"CASE\n    {lines}\n    END AS {r}")
    terms = [
        _write_function(function, variables, language, number)
        for function in described["functions"]
    ]
    while len(terms) > _MOST_TERMS:
        batches = [terms[at : at + _MOST_TERMS] for at in range(0, len(terms), _MOST_TERMS)]
        terms = ["(" + "\n  + ".join(batch) + ")" for batch in batches]
    total = "\n  + ".join(terms) or "0.0"
    written = f"CAST(\n    {total}\n  AS {real})"
    if not values:
        return written
    # LIMIT keeps PostgreSQL and SQLite from writing out a rank wherever it is used.
    return (
        f"(SELECT {written}\n  FROM (SELECT {', '.join(ranks)}\n  FROM (SELECT\n    "
        + ",\n    ".join(values)
        + "\n  LIMIT 1) AS feature_values LIMIT 1) AS feature_ranks)"
    )


_PYTHON_RANK = """
def _rank(x, values, scores, slopes):
    if x <= values[0]:
        return scores[0]
    if x > values[-1]:
        return scores[-1]
    place = bisect_left(values, x) - 1
    return scores[place] + slopes[place] * (x - values[place])
"""


def to_python(model: Any) -> str:
    """Return the source of a function in Python; see `RankingPursuit.to_python`."""
    described = describe(model)
    tables, lines, variables = [], [], {}
    for place, feature in enumerate(described["features"]):
        name, x, r = feature["name"], f"x{place}", f"r{place}"
        variables[name] = x, r
        lines += [f"{x} = row[{name!r}]", f"{x} = nan if {x} is None else float({x})"]
        if "values" in feature:
            slopes = [slope for *_, slope in _slopes(feature)]
            table = [feature["values"], feature["scores"], slopes]
            rows = "".join(f"    {tuple(row)!r},\n" for row in table)
            tables.append(f"{r.upper()} = (\n{rows})\n")
            lines.append(f"{r} = _rank({x}, *{r.upper()})")
    terms = [
        _write_function(function, variables, _PYTHON, repr) for function in described["functions"]
    ]
    total = "\n        + ".join(terms) or "0.0"
    body = "\n    ".join([*lines, f"return (\n        {total}\n    )"])
    return (
        '"""A sum of functions, written by rankpursuit."""\n\n'
        "from bisect import bisect_left\nfrom math import exp, nan\n\n"
        + "".join(tables)
        + "\n"
        + _PYTHON_RANK
        + '\n\ndef utility(row):\n    """Return the utility of a row: a mapping from features to '
        f'numbers, or None."""\n    {body}\n'
    )
