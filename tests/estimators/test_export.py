"""Models as SQL, Python and JSON predict what they predict here, without this package."""

import json
import runpy
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pyarrow
import pytest
from sklearn.exceptions import NotFittedError

from rankpursuit import (
    GrownDictionary,
    KernelDictionary,
    KernelMatchingPursuit,
    RankingPursuit,
    RankingPursuitCV,
)

RNG = np.random.default_rng(0)
N = 400
TABLE = pd.DataFrame(
    {
        'pri"ce': np.exp(RNG.normal(4.0, 0.6, size=N)),
        "rat`ing": RNG.integers(2, 11, size=N) / 2.0,
        "dist's": RNG.gamma(2.0, 3.0, size=N),
        "pool": RNG.integers(0, 2, size=N).astype(float),
        "value of pool": 1e9 + RNG.normal(size=N),
    }
)
PRICE, RATING, DISTANCE, POOL, YEAR = TABLE.to_numpy().T
Y = (
    RATING
    - np.log(PRICE) * (DISTANCE > 5.0)
    + POOL * np.sin(RATING)
    + (YEAR - 1e9) ** 2
    + 9.0 * np.exp(-((RATING - 3) ** 2) - (DISTANCE - 5.0) ** 2 / 9.0)
)
GROUPS = np.repeat(np.arange(N // 20), 20)
MODELS = {
    "grown": RankingPursuit(50, dictionary="grown"),
    "scaled": RankingPursuit(20, dictionary="grown", scale=True),
    "average": RankingPursuitCV(6, dictionary="grown", ridges=[0.1], cv=3, average=True),
    "regression": KernelMatchingPursuit(6, dictionary="additive"),
    "constant": KernelMatchingPursuit(1, dictionary="additive"),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    y = np.ones(N) if request.param == "constant" else Y
    return MODELS[request.param].fit(TABLE, y, GROUPS)


@pytest.fixture(scope="module")
def points():
    """10,000 points near those of the training, at them, and far outside."""
    near = TABLE.sample(10_000, replace=True, random_state=0, ignore_index=True)
    near.iloc[1000:] *= 1.0 + 0.01 * RNG.normal(size=(9000, TABLE.shape[1]))
    far = RNG.choice([-1e300, -1.0, 0.0, 1e300], size=(500, TABLE.shape[1]))
    near.iloc[-500:] = np.where(RNG.random(far.shape) < 0.5, far, near.iloc[-500:])
    return near


@pytest.fixture(scope="module")
def missing(model, points):
    """200 points with missing values; functions of these are zero."""
    points = points[:200]
    gone = pd.DataFrame(RNG.random(points.shape) < 0.3, columns=points.columns)
    table = model.explain(points)
    names = gone.apply(lambda row: set(row[row].index), axis=1)
    kept = [not names[i] & set(f) for i, f in zip(table["sample"], table["features"], strict=True)]
    expected = table["contribution"].where(kept, 0.0).groupby(table["sample"]).sum()
    return points.mask(gone), expected.to_numpy()


def in_sqlite(model, points):
    connection = sqlite3.connect(":memory:")
    points.to_sql("points", connection, index_label="row")
    query = f"SELECT {model.to_sql()} FROM points ORDER BY row"
    return np.array(connection.execute(query).fetchall())[:, 0]


def in_duckdb(model, points):
    connection = duckdb.connect()
    table = points.assign(row=range(len(points)))
    # DuckDB reads NaN in data frames as NULL.
    connection.register("points", pyarrow.table({c: v.to_numpy() for c, v in table.items()}))
    query = f"SELECT {model.to_sql('duckdb')} FROM points ORDER BY row"
    return np.array(connection.execute(query).fetchall())[:, 0]


@pytest.fixture
def in_python(tmp_path):
    def utilities(model, points):
        path = tmp_path / "utility.py"
        path.write_text(model.to_python(), encoding="utf-8")
        utility = runpy.run_path(str(path))["utility"]
        return np.array([utility(row) for row in points.to_dict("records")])

    return utilities


@pytest.mark.parametrize("language", [in_sqlite, in_duckdb, "in_python"])
def test_exported_models_predict_the_same(model, points, missing, language, request):
    utilities = request.getfixturevalue(language) if isinstance(language, str) else language
    np.testing.assert_allclose(utilities(model, points), model.predict(points), rtol=0, atol=1e-9)
    incomplete, expected = missing
    np.testing.assert_allclose(utilities(model, incomplete), expected, rtol=0, atol=1e-9)


def test_sql_of_postgres_differs_in_what_is_an_error_there(model):
    # The result was compared by hand: there is no server in the tests.
    written = model.to_sql("postgres").replace("EXP(GREATEST(-200, ", "EXP((")
    connection = duckdb.connect()
    connection.register("points", TABLE)
    values = np.array(connection.execute(f"SELECT {written} FROM points").fetchall())[:, 0]
    np.testing.assert_allclose(values, model.predict(TABLE), rtol=0, atol=1e-9)


def test_an_unknown_column_is_an_error_in_sqlite():
    model = MODELS["grown"].fit(TABLE, Y, GROUPS)
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        in_sqlite(model, TABLE.rename(columns={"dist's": "distance"}))


def test_features_without_names_are_numbered():
    model = RankingPursuit(3, dictionary="additive").fit(TABLE.to_numpy(), Y, GROUPS)
    points = TABLE.set_axis([f"x{j}" for j in range(5)], axis=1)
    expected = model.predict(TABLE.to_numpy())
    np.testing.assert_allclose(in_duckdb(model, points), expected, rtol=0, atol=1e-9)


def test_json_names_version_and_features_in_use(model):
    described = json.loads(model.to_json())
    assert (described["format"], described["version"]) == ("rankpursuit functions", 1)
    used = {factor["feature"] for f in described["functions"] for factor in f["factors"]}
    assert {feature["name"] for feature in described["features"]} == used
    assert [f["coef"] for f in described["functions"]] == model.coef_.tolist()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RankingPursuit(3), "kernels or functions of your own: fit it with dictionary='additive'"),
        (RankingPursuit(3, dictionary=KernelDictionary()), "kernels or functions of your own"),
        (RankingPursuit(3, dictionary="pairs", scale="group"), "scale='group' cannot be exported"),
    ],
)
@pytest.mark.parametrize("method", ["to_sql", "to_json", "to_python"])
def test_models_of_other_functions_are_not_exported(model, message, method):
    with pytest.raises(ValueError, match=message):
        getattr(model.fit(TABLE.iloc[:, :4], Y, GROUPS), method)()


def test_only_fitted_models_and_known_dialects_are_exported():
    with pytest.raises(NotFittedError):
        RankingPursuit(dictionary="grown").to_json()
    with pytest.raises(ValueError, match="'sqlite', 'postgres' or 'duckdb'; got 'mysql'"):
        RankingPursuit(2, dictionary="additive").fit(TABLE, Y).to_sql("mysql")


@pytest.mark.parametrize("scale", [False, True])
def test_values_at_thresholds_are_on_the_same_side(scale):
    model = RankingPursuit(30, dictionary=GrownDictionary(1, knots=0), scale=scale)
    model.fit(TABLE.iloc[:, :4], Y, GROUPS)
    factors = [
        f for function in json.loads(model.to_json())["functions"] for f in function["factors"]
    ]
    at = TABLE.iloc[np.zeros(len(factors), dtype=int), :4].reset_index(drop=True)
    for row, factor in enumerate(factors):
        at.loc[row, factor["feature"]] = factor.get("threshold", 1.0)
    np.testing.assert_allclose(in_sqlite(model, at), model.predict(at), rtol=0, atol=1e-9)


def test_sums_of_many_functions_are_not_too_deep_for_sqlite():
    model = RankingPursuit(3, dictionary="additive").fit(TABLE, Y, GROUPS)
    expected = model.predict(TABLE)
    model.basis_, model.coef_ = np.tile(model.basis_, 400), np.tile(model.coef_, 400) / 400.0
    np.testing.assert_allclose(in_sqlite(model, TABLE), expected, rtol=0, atol=1e-9)
