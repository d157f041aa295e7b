"""Data frames with a column of groups, categories and missing values."""

import sqlite3
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_validate

from rankpursuit import (
    FunctionsDisplay,
    GrownDictionary,
    KernelMatchingPursuit,
    PathCV,
    RankingPursuit,
    RankingPursuitCV,
    RankRLS,
    RankSVM,
    group_scorer,
    load_model,
)

RNG = np.random.default_rng(0)
N = 600
BRANDS = RNG.choice(["Acme", "Bolt", "Core", "rare1", "rare2"], N, p=[0.4, 0.3, 0.27, 0.02, 0.01])
PRICE, STARS = RNG.lognormal(size=N), RNG.integers(1, 6, N)
GONE = RNG.random(N) < 0.2
Y = STARS + 4.0 * (BRANDS == "Acme") + 2.0 * np.char.startswith(BRANDS, "rare")
Y += np.where(GONE, -3.0, np.log(PRICE))
TABLE = pd.DataFrame(
    {
        "query": np.repeat([f"q{number}" for number in range(30)], 20),
        "brand": BRANDS,
        "price": np.where(GONE, np.nan, PRICE),
        "stars": STARS.astype(float),
        "pool": RNG.random(N) < 0.3,
    }
)
FEATURES, QUERIES = TABLE.drop(columns="query"), TABLE["query"].to_numpy()
NUMBERS = FEATURES[["stars", "pool"]]


class Polars:
    """What an estimator uses of a polars data frame, over a pandas one."""

    def __init__(self, frame):
        self.frame, self.columns, self.dtypes = frame, frame.columns.tolist(), [None] * len(frame)
        self.shape = frame.shape

    def __len__(self):
        return len(self.frame)

    def __getitem__(self, key):
        return np.asarray(self.frame[key] if isinstance(key, str) else self.frame.iloc[key])

    def drop(self, label):
        return Polars(self.frame.drop(columns=label))


@pytest.fixture(scope="module")
def model():
    return RankingPursuit(25, dictionary="grown").fit(TABLE, Y, groups="query")


def test_functions_of_levels_and_of_missing_values_are_found_and_named(model):
    assert model.score(TABLE, Y) > 0.98
    summary = model.summary()
    named = set(" x ".join(summary["function"]).split(" x "))
    assert {"brand is Acme", "price is missing"} <= named
    assert {"level", "missing"} <= set(summary["kind"])


def test_levels_have_a_function_each_the_rare_ones_together_and_unknown_ones_none(model):
    dictionary, terms = model.dictionary_, model.dictionary_.terms
    of_brand = [number for number, term in enumerate(terms) if term.features == (0,)]
    assert sorted(terms[number].kind for number in of_brand) == ["level"] * 3 + ["rare"]
    codes = np.searchsorted(["Acme", "Bolt", "Core", "rare1", "rare2"], BRANDS)
    points = np.column_stack([codes, FEATURES.to_numpy()[:, 1:].astype(float)])
    values = dictionary.columns(points, np.array(of_brand))
    np.testing.assert_array_equal(values.sum(axis=1), 1.0)
    rare = values[:, [terms[number].kind == "rare" for number in of_brand]]
    np.testing.assert_array_equal(rare[:, 0] == 1.0, np.char.startswith(BRANDS, "rare"))
    points[:, 0] = -1.0
    assert not dictionary.columns(points, np.array(of_brand)).any()


def test_where_a_value_is_missing_only_its_function_and_those_of_others_count():
    X = np.column_stack([np.where(GONE, np.nan, PRICE), STARS, GONE])
    X[:300, 2] = np.nan
    dictionary = GrownDictionary().fit(X)
    terms = dictionary.terms
    for feature in (0, 2):
        own = np.array([j for j, term in enumerate(terms) if term.features == (feature,)])
        values = dictionary.columns(X, own)
        is_missing = np.array([terms[number].kind == "missing" for number in own])
        lacks = np.isnan(X[:, feature])
        np.testing.assert_array_equal(values[:, is_missing][:, 0], lacks)
        assert not values[lacks][:, ~is_missing].any()


@pytest.mark.parametrize("dictionary", ["additive", "grown"])
def test_a_value_that_was_never_missing_takes_the_mean_of_each_function(dictionary):
    model = RankingPursuit(8, dictionary=dictionary).fit(TABLE, Y, groups="query")
    spoilt, told = TABLE.assign(stars=TABLE["stars"].where(np.arange(N) != 3)), "column 'stars'"
    with pytest.warns(UserWarning, match=f"missing values in {told}, which had none") as warned:
        found = model.predict(spoilt)
    assert len(warned) == 1
    np.testing.assert_array_equal(np.delete(found, 3), np.delete(model.predict(TABLE), 3))
    fitted = GrownDictionary().fit(STARS[:, None].astype(float))
    every = np.arange(len(fitted.terms))
    means = fitted.columns(STARS[:, None].astype(float), every).mean(axis=0)
    np.testing.assert_allclose(fitted.columns([[np.nan]], every)[0], means)


def test_categories_are_drawn_by_their_levels_and_missing_values_as_a_line(model):
    display = FunctionsDisplay.from_estimator(model, TABLE)
    of = {
        panel["features"][0]: ax
        for panel, ax in zip(display.panels, display.axes_.flat, strict=False)
        if len(panel["features"]) == 1
    }
    bars, curve = of["brand"], of["price"]
    assert [text.get_text() for text in bars.get_yticklabels()][:2] == ["Acme", "Bolt"]
    assert [text.get_text() for text in curve.get_legend().get_texts()] == ["missing"]


def test_unknown_levels_are_counted_in_one_warning(model):
    strange = TABLE.assign(brand=TABLE["brand"].replace({"Bolt": "Zeta"}))
    n_strange = int((BRANDS == "Bolt").sum())
    with pytest.warns(UserWarning, match=f"{n_strange} of 'brand', such as 'Zeta'") as told:
        model.predict(strange)
    assert len(told) == 1


@pytest.mark.parametrize("dtype", ["category", "string", object])
def test_categories_of_all_types_give_the_same_model(model, dtype):
    table = TABLE.astype({"brand": dtype})
    other = clone(model).fit(table, Y, groups="query")
    np.testing.assert_array_equal(other.predict(table), model.predict(TABLE))


@pytest.mark.parametrize("marked", [[0], [True, False, False, False], ["brand"]], ids=str)
def test_numbers_may_be_codes_of_categories(model, marked):
    codes = np.searchsorted(np.unique(BRANDS), BRANDS) * 7.0
    coded = FEATURES.assign(brand=codes)
    points = coded if marked == ["brand"] else coded.to_numpy(dtype=float)
    other = clone(model).set_params(categorical_features=marked).fit(points, Y, QUERIES)
    np.testing.assert_array_equal(other.predict(points), model.predict(TABLE))
    assert any("is 0" in function for function in other.summary()["function"])
    with pytest.raises(ValueError, match=r"categorical_features must be .* got '?no"):
        clone(other).set_params(categorical_features=["no such"]).fit(points, Y, QUERIES)


def test_a_polars_frame_gives_the_same_model(model):
    frame = Polars(TABLE.astype({"brand": object}))
    other = clone(model).fit(frame, Y, groups="query")
    np.testing.assert_array_equal(other.predict(frame), model.predict(TABLE))


def test_a_search_with_gaps_chooses_among_dictionaries_of_functions(tmp_path):
    search = RankingPursuitCV(10, cv=3).fit(TABLE, Y, groups="query")
    assert set(search.cv_results_["param_dictionary"]) == {"grown"}
    assert search.score(TABLE, Y) == search.score(FEATURES, Y, QUERIES) > 0.95
    assert "brand is Acme" in " ".join(search.summary()["function"])
    pytest.importorskip("skops")
    search.save(tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(TABLE), search.predict(TABLE))
    with pytest.raises(ValueError, match="has categories in column 'brand'"):
        PathCV(RankRLS(), cv=3).fit(TABLE, Y, groups="query")


DAYS = FEATURES.assign(day=pd.date_range("2026-01-01", periods=N))
BAD = [
    (RankRLS(), FEATURES, "categories in column 'brand'.*dictionary='grown'.*OneHotEncoder"),
    (RankSVM(), FEATURES[["price", "stars"]], "NaN in column 'price'.*SimpleImputer"),
    (RankingPursuit(), FEATURES[["price", "stars"]], "NaN in column 'price'.*SimpleImputer"),
    (RankingPursuit(dictionary="grown", scale="group"), FEATURES, "column 'brand'.*scale='group'"),
    (RankingPursuit(dictionary="grown"), DAYS, "column 'day' of X holds values of type datetime64"),
    (
        RankingPursuit(dictionary="grown"),
        FEATURES.assign(price=np.nan),
        "'price', which has no value",
    ),
]


@pytest.mark.parametrize(("estimator", "table", "message"), BAD)
def test_what_a_model_has_no_function_for_is_refused_with_its_column(estimator, table, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(table, Y, QUERIES)


def test_text_in_a_column_of_numbers_is_refused_with_its_name(model):
    with pytest.raises(ValueError, match=r"column 'stars' of X holds .* such as many; it held num"):
        model.predict(TABLE.assign(stars="many"))


RANKERS = [RankRLS(), RankSVM(), RankingPursuit(5, scale="group")]


@pytest.mark.parametrize("estimator", RANKERS, ids=repr)
def test_groups_may_be_the_label_of_a_column_which_is_no_feature(estimator):
    table = NUMBERS.assign(query=QUERIES)
    model, expected = clone(estimator), clone(estimator).fit(NUMBERS, Y, QUERIES)
    model.fit(table, Y, groups="query")
    assert (model.n_features_in_, model.group_column_) == (2, "query")
    for points, groups in ((table, None), (NUMBERS, QUERIES)):
        found = model.predict(points, groups)
        np.testing.assert_array_equal(found, expected.predict(NUMBERS, QUERIES))
    assert model.score(table, Y) == expected.score(NUMBERS, Y, QUERIES)
    assert expected.score(table, Y, groups="query") == model.score(table, Y, qid="query")
    assert group_scorer()(model, table, Y) == model.score(table, Y)
    with pytest.raises(ValueError, match=r"groups='user' .* X has columns stars, pool, query"):
        model.fit(table, Y, groups="user")


def test_searches_of_scikit_learn_pass_the_label_without_routing():
    table, cv = NUMBERS.assign(query=QUERIES), GroupKFold(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(RankRLS(), {"alpha": [0.1, 10.0]}, cv=cv)
        search.fit(table, Y, groups=QUERIES, qid="query")
        options = {"groups": QUERIES, "cv": cv, "params": {"qid": "query"}}
        scores = cross_validate(RankRLS(), table, Y, **options)["test_score"]
    assert search.best_estimator_.n_groups_ == 30
    for score, (train, test) in zip(scores, cv.split(table, Y, QUERIES), strict=True):
        model = RankRLS().fit(NUMBERS.iloc[train], Y[train], QUERIES[train])
        assert score == model.score(NUMBERS.iloc[test], Y[test], QUERIES[test])


def test_a_search_that_loses_the_groups_is_told_what_to_write():
    X, cv = NUMBERS.to_numpy(dtype=float), GroupKFold(3)
    for fit in (
        lambda: cross_validate(RankRLS(), X, Y, groups=QUERIES, cv=cv),
        lambda: GridSearchCV(RankRLS(), {"alpha": [1.0]}, cv=cv).fit(X, Y, groups=QUERIES),
    ):
        with pytest.warns(UserWarning, match="RankRLS got no groups.*qid='query'"):
            fit()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross_validate(RankRLS(), X, Y, cv=KFold(3))
        cross_validate(KernelMatchingPursuit(3), X, Y, groups=QUERIES, cv=cv)


def test_functions_of_missing_values_are_exported():
    table = TABLE[["price"]].assign(pool=np.where(GONE, 0.0, TABLE["pool"]))
    table.loc[:200, "pool"] = np.nan
    scores = 3.0 * table["pool"].fillna(2.0) + np.where(GONE, 5.0, np.log(PRICE))
    model = RankingPursuit(12, dictionary="grown").fit(table, scores, QUERIES)
    assert "missing" in " ".join(model.summary()["kind"])
    space = {}
    exec(model.to_python(), space)
    found = [space["utility"](row) for row in table.to_dict("records")]
    np.testing.assert_allclose(found, model.predict(table), atol=1e-9)
    with sqlite3.connect(":memory:") as base:
        table.to_sql("points", base)
        query = f'SELECT {model.to_sql()} FROM points ORDER BY "index"'
        rows = base.execute(query).fetchall()
    np.testing.assert_allclose(np.ravel(rows), model.predict(table), atol=1e-9)
    with pytest.raises(
        ValueError, match="categories cannot be exported, such as of column 'brand'"
    ):
        RankingPursuit(3, dictionary="grown").fit(FEATURES, Y).to_sql()
