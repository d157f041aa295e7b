"""Explanations add up to predictions, and displays show them in the units of the data."""

from functools import partial
from html import escape

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from rankpursuit import (
    ContributionsDisplay,
    FunctionsDisplay,
    KernelMatchingPursuit,
    PathCV,
    PathDisplay,
    RankingPursuit,
    RankingPursuitCV,
    RankRLS,
    group_scorer,
)
from rankpursuit.metrics import pairwise_accuracy

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "price": np.exp(RNG.normal(4.0, 0.5, size=200)),
        "rating": RNG.uniform(1.0, 5.0, size=200),
        "breakfast": RNG.integers(0, 2, size=200).astype(float),
    },
    index=[f"hotel {i}" for i in range(200)],
)
GROUPS = np.repeat(np.arange(20), 10)
Y = (TABLE["rating"] - np.log(TABLE["price"]) * TABLE["breakfast"]).to_numpy()
SEARCH = {"ridges": [0.1], "cv": 3, "random_state": 0}


@pytest.fixture(scope="module")
def models():
    fits = {
        "pairs": RankingPursuit(6, dictionary="pairs", scale=True),
        "search": RankingPursuitCV(6, dictionary="pairs", **SEARCH),
        "kernel": RankingPursuit(6, scale=True, random_state=0),
        "kernel search": RankingPursuitCV(6, dictionary="kernel", **SEARCH),
        "regression": KernelMatchingPursuit(6, dictionary="additive"),
        "grown": RankingPursuit(12, dictionary="grown"),
        "average": RankingPursuitCV(6, dictionary="grown", average=True, **SEARCH),
    }
    return {name: model.fit(TABLE, Y, GROUPS) for name, model in fits.items()}


each = pytest.mark.parametrize(
    "name", ["pairs", "search", "kernel", "kernel search", "regression", "grown", "average"]
)


@each
def test_contributions_add_up(models, name):
    model = models[name]
    table = model.explain(TABLE.iloc[:3])
    totals = table.groupby("sample", sort=False)["contribution"].sum()
    assert list(totals.index) == ["hotel 0", "hotel 1", "hotel 2"]
    np.testing.assert_allclose(totals, model.predict(TABLE.iloc[:3]))
    over = model.explain(TABLE.iloc[:3], TABLE.iloc[[7]])["contribution"].sum()
    apart = model.predict(TABLE.iloc[:3]) - model.predict(TABLE.iloc[[7]])
    assert over == pytest.approx(apart.sum())


@each
def test_differences_from_as_many_points_are_row_by_row(models, name):
    model, X, over = models[name], TABLE.iloc[:3], TABLE.iloc[[7, 9, 11]]
    totals = model.explain(X, over).groupby("sample", sort=False)["contribution"].sum()
    np.testing.assert_allclose(totals, model.predict(X) - model.predict(over))


def test_one_point_may_be_a_vector(models):
    points, model = TABLE.to_numpy(), models["pairs"]
    with pytest.warns(UserWarning, match="valid feature names"):
        single = model.explain(points[0], over=points[7])
        both = model.explain(points[[0]], over=points[[7]])
    assert single["contribution"].equals(both["contribution"])


@pytest.mark.filterwarnings("error")
def test_the_names_of_a_series_count(models):
    model, one, two = models["pairs"], TABLE.iloc[0], TABLE.iloc[7]
    expected = model.explain(TABLE.iloc[[0]], over=TABLE.iloc[[7]])
    pd.testing.assert_frame_equal(model.explain(one, over=two), expected)
    display = ContributionsDisplay.from_estimator(model, one, two, max_functions=99)
    assert sorted(display.contributions) == sorted(expected["contribution"])
    with pytest.raises(ValueError, match="must be in the same order"):
        model.explain(one[["rating", "price", "breakfast"]])
    with pytest.raises(ValueError, match=r"(?s)over must be points like.*in the same order"):
        model.explain(one, over=two[["rating", "price", "breakfast"]])


@each
def test_functions_are_described_in_the_units_of_the_data(models, name):
    table = models[name].summary()
    assert len(table) == len(models[name].basis_)
    for kind, features, centres in zip(table.kind, table.features, table.centre, strict=True):
        assert set(features) <= set(TABLE)
        for feature, centre in zip(features, centres, strict=True):
            if kind in ("bump", "kernel"):
                assert np.isclose(TABLE[feature], centre).any()
    assert table["explained"].is_monotonic_increasing
    assert ("score" in table) == name.endswith("search")


@pytest.mark.parametrize("fitting", ["basic", "backfit"])
def test_the_summary_tells_the_cost_explained_by_the_functions_so_far(fitting):
    model = KernelMatchingPursuit(6, ridge=0.0, fitting=fitting, scale=True).fit(TABLE, Y)
    costs = [np.square(Y - prediction).sum() for prediction in model.staged_predict(TABLE)]
    expected = 1.0 - np.array(costs) / np.square(Y).sum()
    np.testing.assert_allclose(model.summary()["explained"], expected)


def test_the_summary_of_a_search_has_the_scores_of_the_path(models):
    model = models["search"]
    table = model.summary()
    assert table["score"].iloc[-1] == pytest.approx(model.best_score_)
    np.testing.assert_allclose(table["added"].iloc[1:], np.diff(table["score"]))


def test_bad_points_are_refused(models):
    model = models["pairs"]
    with pytest.raises(ValueError, match=r"over must be points like those of X: .*2 features"):
        model.explain(TABLE.to_numpy()[:1], np.ones((1, 2)))
    with pytest.raises(
        ValueError, match=r"over must have one row, or as many rows as X \(3\); got 2"
    ):
        model.explain(TABLE.iloc[:3], TABLE.iloc[:2])
    with pytest.raises(ValueError, match="feature names should match"):
        model.explain(TABLE.iloc[:1].rename(columns={"price": "cost"}))
    with pytest.raises(ValueError, match=r"over must be points like.*feature names should match"):
        model.explain(TABLE.iloc[:1], TABLE.iloc[:1].rename(columns={"price": "cost"}))
    grouped = RankingPursuit(3, dictionary="pairs", scale="group").fit(TABLE, Y, GROUPS)
    with pytest.raises(ValueError, match="explain all points of the group"):
        grouped.explain(TABLE.iloc[:1], TABLE.iloc[:1])
    assert len(grouped.explain(TABLE, groups=GROUPS)) == 200 * len(grouped.basis_)


def test_features_without_names_are_numbered():
    model = RankingPursuit(2, dictionary="additive").fit(TABLE.to_numpy(), Y, GROUPS)
    assert {name for names in model.summary().features for name in names} <= {"x0", "x1", "x2"}


def test_a_precomputed_kernel_is_explained_by_points():
    kernel = TABLE.to_numpy() @ TABLE.to_numpy().T / 1e4
    model = RankingPursuit(2, kernel="precomputed").fit(kernel, Y, GROUPS)
    assert model.summary().function.str.startswith("kernel at point").all()


def test_curves_and_heat_maps_are_labelled_in_original_units(models):
    display = FunctionsDisplay.from_estimator(models["search"], TABLE)
    assert isinstance(display.figure_, Figure)
    shown = [ax for ax in display.axes_.ravel() if ax.get_xlabel()]
    assert len(shown) == len(display.panels)
    assert any(len(panel["features"]) == 2 for panel in display.panels)
    for ax, panel in zip(shown, display.panels, strict=True):
        legend = ax.get_legend()
        curves = [] if legend is None else [text.get_text() for text in legend.get_texts()]
        labels = {ax.get_xlabel(), ax.get_ylabel()} - {"contribution"}
        if curves:  # of a feature with two values
            assert curves == ["breakfast is 0", "breakfast is 1"]
            labels |= {"breakfast"}
        assert labels == set(panel["features"])
        for name, grid in zip(panel["features"], panel["grid"], strict=True):
            assert TABLE[name].min() <= grid[0] < grid[-1] <= TABLE[name].max()


@pytest.mark.parametrize("name", ["regression", "grown"])
def test_a_panel_is_the_sum_of_the_functions_of_its_features(models, name):
    model = models[name]
    panels = FunctionsDisplay.from_estimator(model, TABLE).panels
    middle, shown = TABLE.median().to_frame().T, set()
    for panel in panels:
        if "grid" not in panel:
            assert all(feature.count(" x ") == 2 for feature in panel["features"])
            continue
        shown |= {len(panel["features"])}
        places, at = [len(grid) // 2 for grid in panel["grid"]], middle.copy()
        for feature, grid, place in zip(panel["features"], panel["grid"], places, strict=True):
            at[feature] = grid[place]
        table = model.explain(at)
        inside = [
            len(names) > 0 and set(names) <= set(panel["features"]) for names in table.features
        ]
        expected = table["contribution"][inside].sum()
        assert panel["values"][tuple(places)] == pytest.approx(expected)
    assert shown == ({1} if name == "regression" else {1, 2})


def test_importances_are_deviations_of_contributions(models):
    model = models["grown"]
    table, contributions = model.importances(TABLE), model.explain(TABLE)
    assert table["importance"].is_monotonic_decreasing
    assert table["functions"].sum() == len(model.basis_)
    assert len(table) == model.summary()["pictures"].iloc[-1]
    for features, importance in zip(table["features"], table["importance"], strict=True):
        drawn = contributions[contributions["features"] == features]
        sums = drawn.groupby("sample", sort=False)["contribution"].sum()
        assert importance == pytest.approx((sums - sums.mean()).abs().mean())


def test_kernels_are_drawn_by_their_points(models):
    display = FunctionsDisplay.from_estimator(models["kernel"], TABLE)
    assert display.axes_[0, 0].get_xlabel() == "coefficient"


@pytest.mark.parametrize("name", ["pairs", "search"])
def test_paths_are_drawn(models, name):
    ax = Figure().subplots()
    display = PathDisplay.from_estimator(models[name], ax=ax)
    assert display.ax_ is ax
    assert ax.get_xlabel().startswith("number of")
    assert (display.error is None) == (name == "pairs")
    assert (
        PathDisplay.from_estimator(PathCV(RankRLS(), cv=2).fit(TABLE, Y)).ax_.get_xscale() == "log"
    )


@pytest.mark.parametrize("estimator", [RankRLS(), GridSearchCV(RankRLS(), {"alpha": [1.0, 2.0]})])
def test_a_model_without_a_path_is_refused(estimator):
    estimator.fit(TABLE, Y)
    name = type(estimator).__name__
    with pytest.raises(ValueError, match=f"estimator must have a path.*; got {name}"):
        PathDisplay.from_estimator(estimator)


@pytest.mark.parametrize("display", [FunctionsDisplay, ContributionsDisplay])
@pytest.mark.parametrize("model", [RankRLS(), LinearRegression()])
def test_a_model_without_chosen_functions_is_refused(display, model):
    model.fit(TABLE, Y)
    with pytest.raises(ValueError, match=r"estimator must be a pursuit.*; got [RL]"):
        display.from_estimator(model, TABLE)


def test_the_label_of_a_path_is_the_name_of_its_score():
    def share_in_order(scores, predictions, groups):
        return pairwise_accuracy(scores, predictions, groups)

    labels = {
        "r2": "r2",
        share_in_order: "share in order",
        partial(share_in_order): "score",
        group_scorer(grouped=False): "score",
    }
    for scoring, label in labels.items():
        model = PathCV(RankRLS(), cv=2, scoring=scoring).fit(TABLE, Y)
        assert PathDisplay.from_estimator(model).ax_.get_ylabel() == label


def test_contributions_are_drawn_largest_first(models):
    model = models["pairs"]
    display = ContributionsDisplay.from_estimator(
        model, TABLE.iloc[[3]], TABLE.iloc[[7]], max_functions=4
    )
    assert display.functions[-1] == "3 others"
    apart = model.predict(TABLE.iloc[[3]]) - model.predict(TABLE.iloc[[7]])
    assert display.contributions.sum() == pytest.approx(apart[0])
    assert (np.diff(np.abs(display.contributions[:-1])) <= 0.0).all()
    assert display.ax_.get_xlabel().startswith("contribution to f(x) - f(z)")
    with pytest.raises(ValueError, match="x must be one point"):
        ContributionsDisplay.from_estimator(model, TABLE.iloc[:2])
    alike = TABLE.iloc[:2].set_axis(["hotel", "hotel"])
    with pytest.raises(ValueError, match="x must be one point"):
        ContributionsDisplay.from_estimator(model, alike)


def test_contributions_to_a_point_that_is_scaled_by_its_group():
    model = RankingPursuit(4, dictionary="additive", scale="group").fit(TABLE, Y, GROUPS)
    draw, shown = ContributionsDisplay.from_estimator, {"groups": GROUPS[:20]}
    for row in (3, 17):
        display = draw(model, TABLE[:20], row=row, **shown)
        expected = model.predict(TABLE[:20], GROUPS[:20])[row]
        assert display.contributions.sum() == pytest.approx(expected)
    for options in ({}, {"groups": GROUPS[:1]}):
        with pytest.raises(ValueError, match=r"pass all points of the group as x, .* as row="):
            draw(model, TABLE[:1], **options)
    with pytest.raises(ValueError, match=r"row must be from 0 to 19, a position in x; got 20"):
        draw(model, TABLE[:20], row=20, **shown)
    panels = FunctionsDisplay.from_estimator(model, TABLE, groups=GROUPS).panels
    assert all(np.abs(panel["points"].mean()) < 1e-9 for panel in panels)


@each
def test_text_and_html_of_a_fitted_model_show_its_functions_and_score(models, name):
    model, plain = models[name], repr(clone(models[name]))
    table = model.summary()
    text, html = repr(model), model._repr_mimebundle_()["text/html"]
    assert text.startswith(plain + "\n")
    assert str(make_pipeline(model)).count("\n") <= plain.count("\n") + 1  # nothing but parameters
    score = f"pairwise accuracy {getattr(model, 'best_score_', np.nan):.4g} in cross-validation"
    cost = f"{1.0 - model.cost_[-1] / model.cost_[0]:.1%}" if hasattr(model, "cost_") else score
    assert all(function in text for function in table["function"][:10])
    assert all(escape(function) in html for function in table["function"][:10])
    for shown in (text, html):
        assert f"{len(table)} functions of " in shown
        assert cost in shown
        assert ("the first 10; see summary()" in shown) == (len(table) > 10)


def test_html_of_a_model_escapes_names():
    model = RankingPursuit(3, dictionary="additive").fit(TABLE.add_prefix("<script>"), Y, GROUPS)
    assert "<script>price" not in model._repr_html_()
    assert "&lt;script&gt;" in model._repr_html_()


def test_text_of_other_searches_shows_the_score_alone():
    model = PathCV(RankRLS(), {"alpha": [0.1]}, cv=2)
    assert repr(model) == repr(model).splitlines()[0]
    model.fit(TABLE, Y, GROUPS)
    score = f"pairwise accuracy {model.best_score_:.4g} in cross-validation"
    assert repr(model).splitlines()[1:] == [score]
    assert score in model._repr_html_()
