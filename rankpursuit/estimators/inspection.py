"""Explanations of pursuits: a model is a sum of functions, so their contributions are exact.

Tables are pandas data frames. Displays follow those of scikit-learn: `from_estimator` computes and
`plot` draws, with matplotlib imported on demand.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from rankpursuit.estimators._checks import Array, evenly
from rankpursuit.estimators.dictionaries import Term, describe_functions
from rankpursuit.text import pluralize

if TYPE_CHECKING:
    import pandas as pd

BLUE, RED, GREY = "#1f6fb2", "#c0392b", "0.6"
PATH_AXES = {
    "n_basis": "number of basis functions",
    "alpha": "alpha (weight of the regulariser)",
    "C": "C (weight of the loss)",
    "ridge": "ridge (weight of the penalty)",
    "gamma": "gamma",
}
"""Axes that a path may be drawn along, the first that was searched, with their labels."""
_GRID = 100
"""Grid points of a curve; heat maps have half as many per axis."""
_FEW_VALUES = 30
"""Features with at most as many values are drawn at these, others on a grid."""
_SAMPLE = 2000
"""Maximum number of points used for density and importance."""
_SHOWN, _LINE = 10, 80
"""Maximum number of functions in the text of a model, and length of its lines."""
_WORDS = {
    "bump": "{0} near {1:.3g}",
    "centred bump": "({0} near {1:.3g}, centred)",
    "above": "{0} > {1:.4g}",
    "at most": "{0} <= {1:.4g}",
    "level": "{0} is {1}",
    "rare": "{0} is a rare level",
    "missing": "{0} is missing",
    "present": "{0} is present",
}
"""How functions of a kind are written, with the name of the feature and its centre."""


def _inner(model: Any) -> Any:
    check_is_fitted(model)
    if not hasattr(model, "explain"):
        raise ValueError(
            "estimator must be a pursuit with one function, such as RankingPursuit, or a search "
            f"for one, such as RankingPursuitCV; got {type(model).__name__}"
        )
    return getattr(model, "best_estimator_", model)


def feature_names(model: Any) -> list[str]:
    """Return the names of the features, x0, x1, ... if they have none."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(model.n_features_in_)] if names is None else list(names)


def feature_units(model: Any) -> tuple[Array, Array]:
    """Return what is zero, and what is one, for the functions of each feature, in units of `X`."""
    zeros = np.zeros(model.n_features_in_)
    if model.scaler_ is None:
        return zeros, zeros + 1.0
    return model.scaler_.inverse_transform(zeros[None])[0], model.scaler_.scale_


def chosen_terms(model: Any) -> list[Term]:
    """Return a description of each function of a pursuit, its centres in the units of `X`."""
    inner = _inner(model)
    if inner.dictionary_ is not None:
        terms = describe_functions(inner.dictionary_, inner.basis_)
    elif inner.X_basis_ is None:
        return [Term("kernel", (), (), ()) for _ in inner.basis_]
    else:
        features = tuple(range(inner.X_basis_.shape[1]))
        width = np.nan if inner.gamma_ is None else float(inner.gamma_)
        terms = [Term("kernel", features, tuple(x), (width,)) for x in inner.X_basis_.tolist()]
    origin, scale = feature_units(model)
    categories = vars(inner).get("categories_", {})

    def in_units(kind: str, feature: int, centre: float) -> Any:
        if kind == "level" and feature in categories:
            return categories[feature][int(centre)]
        return float(centre * scale[feature] + origin[feature])

    return [
        term._replace(
            centres=tuple(map(in_units, _kinds(term), term.features, term.centres)),
        )
        for term in terms
    ]


def _kinds(term: Term) -> list[str]:
    """Return the kind of each feature of a function."""
    kinds = term.kind.split(" x ")
    return kinds if len(kinds) == len(term.features) else [term.kind] * len(term.features)


def function_table(model: Any) -> pd.DataFrame:
    """Return a row for each function of a pursuit, in the order chosen."""
    import pandas as pd

    inner, names, terms = _inner(model), feature_names(model), chosen_terms(model)
    features = [tuple(names[j] for j in term.features) for term in terms]
    labels = []
    for number, term, own in zip(inner.basis_.tolist(), terms, features, strict=True):
        if "kernel" in term.kind:
            at = f"function {number}" if inner.dictionary_ is not None else f"point {number}"
            labels.append(f"kernel at {at}")
            continue
        factors = zip(term.kind.split(" x "), own, term.centres, strict=False)
        written = [
            _WORDS.get(kind, f"{kind} of {{0}}").format(name, _level(kind, centre))
            for kind, name, centre in factors
        ]
        labels.append(" x ".join(written) or term.kind)
    return pd.DataFrame(
        {
            "function": labels,
            "kind": [term.kind for term in terms],
            "features": features,
            "centre": [term.centres for term in terms],
            "coef": inner.coef_,
        }
    )


def _level(kind: str, centre: Any) -> Any:
    """Return a centre to be written; a level that is a number as text."""
    return f"{centre:.4g}" if kind == "level" and not isinstance(centre, str) else centre


def explain(model: Any, X: Any, over: Any, groups: ArrayLike | None) -> pd.DataFrame:
    """Return the contributions of functions to predictions; see `RankingPursuit.explain`."""
    import pandas as pd

    model, X, over = _inner(model), _as_rows(X), _as_rows(over)
    if over is not None and isinstance(model.scale, str):
        raise ValueError(
            "over cannot be used with scale='group'; explain all points of the group, and "
            "subtract the contributions of one from those of another"
        )
    values = _function_values(model, X, groups)
    if over is not None:
        try:
            others = _function_values(model, over, None)
        except ValueError as error:
            raise ValueError(f"over must be points like those of X: {error}") from error
        if len(others) not in (1, len(values)):
            raise ValueError(
                f"over must have one row, or as many rows as X ({len(values)}); got {len(others)}"
            )
        values = values - others
    table, coef = function_table(model), model.coef_
    samples = X.index if hasattr(X, "iloc") else np.arange(len(values))
    found = pd.concat([table.drop(columns="coef")] * len(values), ignore_index=True)
    found.insert(0, "sample", np.repeat(np.asarray(samples), len(table)))
    found["contribution"] = (values * coef).ravel()
    return found


def _as_rows(points: Any) -> Any:
    """Return points, a single one as one row; a pandas series keeps its names."""
    if np.ndim(points) != 1:
        return points
    return points.to_frame().T if hasattr(points, "iloc") else np.reshape(points, (1, -1))


def _function_values(model: Any, X: ArrayLike, groups: ArrayLike | None) -> Array:
    """Return the values (m, n_basis) of the chosen functions at points."""
    points = model._new_points(X, groups).astype(np.float64, copy=False)
    return model._basis_values(model._scaled(points))


def summarise(model: Any) -> pd.DataFrame:
    """Return the functions and their contributions to the fit; see `RankingPursuit.summary`."""
    table, inner = function_table(model), _inner(model)
    if len(inner.cost_) == len(table) + 1:  # unless functions were chosen repeatedly
        table["explained"] = 1.0 - inner.cost_[1:] / inner.cost_[0]
    table["pictures"] = np.cumsum(~table["features"].duplicated())
    if inner is not model and not model.average:
        _, numbers, scores, _ = path_scores(model)
        at = dict(zip(numbers.tolist(), scores.tolist(), strict=True))
        table["score"] = [at.get(number, np.nan) for number in range(1, len(table) + 1)]
        table["added"] = table["score"].diff()
    return table


def importances(model: Any, X: ArrayLike, groups: ArrayLike | None) -> pd.DataFrame:
    """Return the contributions of sets of features; see `RankingPursuit.importances`."""
    import pandas as pd

    inner, table = _inner(model), function_table(model)
    values = _function_values(model, X, groups) * inner.coef_
    rows = []
    for features, numbers in table.groupby("features", sort=False).indices.items():
        contribution = values[:, numbers].sum(axis=1)
        spread = np.abs(contribution - contribution.mean()).mean()
        rows.append((features, len(numbers), spread))
    found = pd.DataFrame(rows, columns=["features", "functions", "importance"])
    return found.sort_values("importance", ascending=False, kind="stable", ignore_index=True)


def _overview(model: Any) -> tuple[str, pd.DataFrame | None]:
    """Return the size and the score of a model in words, and the functions of a pursuit."""
    words, table = [], None
    if hasattr(model, "summary") and hasattr(model, "coef_"):
        table = summarise(model)
        words.append(pluralize(len(table), "function"))
        n_features = len({name for features in table["features"] for name in features})
        if n_features:
            words[0] += f" of {pluralize(n_features, 'feature')}"
        cost = _inner(model).cost_
        if not hasattr(model, "best_score_") and cost[0] > 0.0:
            words.append(f"{1.0 - cost[-1] / cost[0]:.1%} of the training cost explained")
        columns = [name for name in ("function", "coef", "explained", "score") if name in table]
        table = table[columns]
    if hasattr(model, "best_score_"):
        metric = model._metric()
        name = metric if isinstance(metric, str) else getattr(metric, "__name__", "score")
        words.append(f"{name.replace('_', ' ')} {model.best_score_:.4g} in cross-validation")
    return ", ".join(words), table


def represent(self: Any, N_CHAR_MAX: int = 700) -> str:
    """Return the parameters, and what is known of a fitted model."""
    text = BaseEstimator.__repr__(self, N_CHAR_MAX)
    if len(text) > _LINE and "\n" not in text:  # scikit-learn breaks the lines of its own only
        indent = " " * (text.index("(") + 1)
        text = fill(text, _LINE, subsequent_indent=indent, break_long_words=False)
    words, table = _overview(self)
    lines = [text, words]
    if table is not None and len(table):
        names = table["function"].str.ljust(table["function"].str.len().max())
        title = "function".ljust(len(names.iloc[0]))
        shown = table.assign(function=names).rename(columns={"function": title}).head(_SHOWN)
        lines.append(shown.to_string(index=False, float_format="{:.3g}".format))
        lines.append(_others(table))
    return "\n".join(filter(None, lines))


def represent_html(self: Any) -> str:
    """Return scikit-learn's diagram, and what is known of a fitted model."""
    words, table = _overview(self)
    parts = [estimator_html_repr(self), f"<p>{escape(words)}</p>" if words else ""]
    if table is not None and len(table):
        shown = table.head(_SHOWN)
        parts.append(shown.to_html(index=False, border=0, float_format="{:.3g}".format))
        parts.append(f"<p>{_others(table)}</p>")
    return "".join(parts)


def _others(table: pd.DataFrame) -> str:
    return f"the first {_SHOWN}; see summary()" if len(table) > _SHOWN else ""


def path_scores(model: Any) -> tuple[str, NDArray[Any], Array, Array]:
    """Return the axis of the chosen path, its values, mean scores and standard errors."""
    table, chosen = model.cv_results_, model.best_params_
    axes = [name for name in PATH_AXES if name in chosen]
    if not axes:
        raise ValueError(f"there is no path to draw: the grid has none of {', '.join(PATH_AXES)}")
    axis, rows = axes[0], np.full(len(table["mean_test_score"]), True)
    for name, column in table.items():
        if name.startswith("param_") and name != f"param_{axis}":
            best = column[model.best_index_]
            same = [x == best or (x != x and best != best) for x in column]
            rows &= np.array(same)
    values, mean, error = (
        table[column][rows] for column in (f"param_{axis}", "mean_test_score", "standard_error")
    )
    return axis, values, mean, error


def _grid(column: Array, n_features: int, is_category: bool) -> Array:
    """Return the values at which the functions of a feature are drawn: all, if there are few."""
    values = np.unique(column[~np.isnan(column)])
    if is_category:
        return values[values >= 0]
    if len(values) <= _FEW_VALUES:
        return values
    low, high = np.nanpercentile(column, [1, 99])
    return np.linspace(low, high, _GRID // n_features)


def _new_axes(ax: Any, width: float = 6.0, height: float = 3.8) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


@dataclass
class PathDisplay:
    """Score, or training cost, against the number of functions or the weight of the regulariser.

    Parameters
    ----------
    values, mean : ndarrays of shape (k,)
    error : ndarray of shape (k,) or None
        Standard error of the mean.
    chosen : float
        The value that was chosen.
    labels : tuple of str
        Labels of both axes, and the title.
    threshold : float or None
        The lowest score within one standard error of the best, if used in the choice.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    """

    values: NDArray[Any]
    mean: Array
    error: Array | None
    chosen: float
    labels: tuple[str, str, str]
    threshold: float | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the path of a fitted pursuit, or of any estimator with cross-validation."""
        check_is_fitted(estimator)
        if hasattr(estimator, "cost_"):
            cost = estimator.cost_
            labels = ("number of functions", "training cost", "")
            return cls(np.arange(len(cost)), cost, None, len(cost) - 1, labels).plot(ax)
        if not hasattr(estimator, "selection"):
            raise ValueError(
                "estimator must have a path to draw: pass a pursuit, such as RankingPursuit, or a "
                f"search, such as PathCV; got {type(estimator).__name__}"
            )
        axis, values, mean, error = path_scores(estimator)
        others, scoring, threshold = dict(estimator.best_params_), estimator._metric(), None
        chosen = others.pop(axis)
        title = ", ".join(
            f"{name} = {format(value, '.3g') if isinstance(value, float) else value}"
            for name, value in others.items()
        )
        if not isinstance(scoring, str):
            scoring = getattr(scoring, "__name__", "score").replace("_", " ")
        if estimator.selection == "sparsest":
            table = estimator.cv_results_
            best = np.nanargmax(table["mean_test_score"])
            threshold = table["mean_test_score"][best] - table["standard_error"][best]
        labels = (PATH_AXES[axis], scoring, title)
        return cls(values, mean, error, chosen, labels, threshold).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the path to `ax`, by default axes of a new figure."""
        ax = _new_axes(ax)
        if self.error is not None:
            low, high = self.mean - self.error, self.mean + self.error
            band: dict[str, Any] = {"color": BLUE, "alpha": 0.2, "linewidth": 0}
            ax.fill_between(self.values, low, high, label="one standard error", **band)
        marker = "." if len(self.values) < 30 else ""
        label = "training" if self.error is None else "mean"
        ax.plot(self.values, self.mean, color=BLUE, marker=marker, label=label)
        if self.threshold is not None:
            line: dict[str, Any] = {"color": "0.5", "linestyle": "--", "linewidth": 1}
            ax.axhline(self.threshold, label="best minus its standard error", **line)
        at = self.mean[np.flatnonzero(self.values == self.chosen)[0]]
        ax.plot(self.chosen, at, "o", color=RED, label=f"chosen: {self.chosen:.4g}")
        if "weight" in self.labels[0]:
            ax.set_xscale("log")
        ax.set_xlabel(self.labels[0])
        ax.set_ylabel(self.labels[1])
        ax.set_title(self.labels[2])
        ax.grid(color="0.9")
        ax.set_axisbelow(True)
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass
class ContributionsDisplay:
    """Contribution of each function to a prediction, or to the difference of two predictions.

    Parameters
    ----------
    functions : list of str
    contributions : ndarray of shape (n_functions,)
    label : str
        Label of the axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    """

    functions: list[str]
    contributions: Array
    label: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        x: ArrayLike,
        over: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        row: int | None = None,
        max_functions: int = 10,
        ax: Any = None,
    ) -> Self:
        """Draw the largest contributions to f(x), or to f(x) - f(over), and the sum of the others.

        `x` and `over` are of the shape (n_features,) or (1, n_features), or data frames of one row.
        With ``scale="group"`` a point is scaled by its group: pass all points of its group as `x`,
        their labels as `groups`, and the position of the point to draw as `row`.
        """
        inner = _inner(estimator)
        if row is None and isinstance(inner.scale, str):
            raise ValueError(
                "scale='group' scales a point by its group: pass all points of the group as x, "
                "their labels as groups=, and the position of the point to draw as row="
            )
        table = explain(estimator, x, over, groups)
        n_functions = len(inner.basis_)
        n_points = len(table) // max(1, n_functions)
        if row is None and n_points > 1:
            raise ValueError(
                "x must be one point, of the shape (1, n_features); or pass its position as row="
            )
        if row is not None and not 0 <= row < n_points:
            raise ValueError(f"row must be from 0 to {n_points - 1}, a position in x; got {row}")
        table = table[(row or 0) * n_functions :][:n_functions]
        table = table.sort_values("contribution", key=np.abs, ascending=False)
        functions = table["function"].tolist()
        contributions = table["contribution"].to_numpy()
        if len(functions) > max_functions:
            others = contributions[max_functions - 1 :]
            functions = [*functions[: max_functions - 1], f"{len(others)} others"]
            contributions = np.append(contributions[: max_functions - 1], others.sum())
        name = "f(x)" if over is None else "f(x) - f(z)"
        label = f"contribution to {name} = {contributions.sum():.3g}"
        return cls(functions, contributions, label).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the contributions to `ax`, by default axes of a new figure."""
        ax = _new_axes(ax, 6.4, 1.0 + 0.3 * len(self.functions))
        places = np.arange(len(self.functions))
        colors = np.where(self.contributions < 0.0, RED, BLUE)
        ax.barh(places, self.contributions, color=colors)
        ax.set_yticks(places, self.functions)
        ax.invert_yaxis()
        ax.axvline(0.0, color="0.3", linewidth=1)
        ax.set_xlabel(self.label)
        ax.grid(axis="x", color="0.9")
        ax.set_axisbelow(True)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass
class FunctionsDisplay:
    """The functions of a pursuit by their features: a curve for each, a heat map for each pair.

    The panel of a feature has the sum of all functions of it alone. That of a pair has all
    functions of both features or of one of them, as a curve for each value of a feature with two.
    Functions of three features are listed in a last panel, by the standard deviation of their
    contributions. Kernels depend on all features: their coefficients are drawn instead. A category
    has a bar for each level, and missing values of a feature a dashed line.

    Parameters
    ----------
    panels : list of dict
        For each panel the names of its `features`, the `grid` of each, the `values` over the grid,
        the names of its `levels` or None, the value where one feature is `missing` or None, and the
        `points` of the data, (m, number of features); for a list, the `features` of each row, its
        `values` and a `label`.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
    figure_ : matplotlib Figure
    """

    panels: list[dict[str, Any]]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        max_panels: int = 12,
    ) -> Self:
        """Draw the functions with the largest standard deviation over the points of `X`.

        With ``scale="group"`` pass the `groups` of the points too. The features are then drawn in
        standard deviations from the means of their groups, not in the units of `X`.
        """
        terms, inner = chosen_terms(estimator), _inner(estimator)
        points = inner._new_points(X, groups).astype(np.float64, copy=False)
        points = points[evenly(len(points), _SAMPLE)]
        if any("kernel" in term.kind for term in terms):
            table = function_table(estimator)
            order = np.argsort(-np.abs(inner.coef_), kind="stable")[:max_panels]
            names, coef = table["function"].iloc[order].tolist(), inner.coef_[order]
            return cls([{"features": names, "values": coef, "label": "coefficient"}]).plot()
        values = inner._basis_values(inner._scaled(points)) * inner.coef_
        sets: dict[tuple[int, ...], list[int]] = {}
        for number, term in enumerate(terms):
            if term.features:
                sets.setdefault(tuple(sorted(term.features)), []).append(number)
        spread = {drawn: values[:, numbers].sum(axis=1).std() for drawn, numbers in sets.items()}
        best = sorted(sets, key=lambda drawn: -spread[drawn])
        names, levels = feature_names(estimator), vars(inner).get("categories_", {})
        panels = []
        for drawn in [features for features in best if len(features) < 3][:max_panels]:
            grid = [_grid(points[:, j], len(drawn), j in levels) for j in drawn]
            mesh = np.meshgrid(*grid, indexing="ij")
            at = np.tile(np.nanmedian(points, axis=0), (mesh[0].size + 1, 1))
            at[:-1, drawn] = np.stack([axis.ravel() for axis in mesh], axis=1)
            at[-1, drawn] = np.nan
            inside = [j for features in sets if set(features) <= set(drawn) for j in sets[features]]
            total = inner._basis_values(inner._scaled(at))[:, inside] @ inner.coef_[inside]
            lacks = len(drawn) == 1 and inner.missing_[drawn[0]]
            panel: dict[str, Any] = {"features": [names[j] for j in drawn], "grid": grid}
            panel["values"] = total[:-1].reshape(mesh[0].shape)
            panel["missing"] = float(total[-1]) if lacks else None
            panel["levels"] = [
                [str(levels[j][int(code)]) for code in codes] if j in levels else None
                for j, codes in zip(drawn, grid, strict=True)
            ]
            panels.append({**panel, "points": points[:, drawn]})
        triples = [features for features in best if len(features) > 2][:max_panels]
        if triples:
            listed = [" x ".join(names[j] for j in features) for features in triples]
            sizes = np.array([spread[features] for features in triples])
            panels.append({"features": listed, "values": sizes, "label": "standard deviation"})
        return cls(panels).plot()

    def plot(self) -> Self:
        """Draw all panels to a new figure."""
        import matplotlib.pyplot as plt

        n_columns = min(4, max(1, len(self.panels)))
        n_rows = -(-max(1, len(self.panels)) // n_columns)
        size = (3.4 * n_columns, 2.7 * n_rows)
        if len(self.panels) == 1 and "grid" not in self.panels[0]:
            size = (6.4, 1.0 + 0.3 * len(self.panels[0]["values"]))
        figure, axes = plt.subplots(
            n_rows, n_columns, squeeze=False, figsize=size, layout="constrained"
        )
        for ax in axes.ravel()[len(self.panels) :]:
            ax.set_axis_off()
        for ax, panel in zip(axes.ravel(), self.panels, strict=False):
            if "grid" not in panel:
                ContributionsDisplay(panel["features"], panel["values"], panel["label"]).plot(ax)
            elif len(panel["grid"]) == 1 and panel["levels"][0]:
                self._bars(ax, panel)
            elif len(panel["grid"]) == 1:
                self._curve(ax, panel)
            elif min(map(len, panel["grid"])) == 2:
                self._two_curves(ax, panel)
            else:
                self._heat_map(ax, panel)
        self.axes_, self.figure_ = axes, figure
        return self

    @staticmethod
    def _bars(ax: Any, panel: dict[str, Any]) -> None:
        levels, values = panel["levels"][0], panel["values"]
        if panel["missing"] is not None:
            levels, values = [*levels, "(missing)"], np.append(values, panel["missing"])
        ContributionsDisplay(levels, values, "contribution").plot(ax)
        ax.set_ylabel(panel["features"][0])

    @staticmethod
    def _curve(ax: Any, panel: dict[str, Any]) -> None:
        (grid,), values = panel["grid"], panel["values"]
        ax.axhline(0.0, color="0.8", linewidth=1)
        ax.plot(grid, values, color=BLUE)
        if panel["missing"] is not None:
            ax.axhline(panel["missing"], color=RED, linestyle="--", label="missing")
            ax.legend(frameon=False, fontsize="small")
        counts, edges = np.histogram(panel["points"], bins=20, range=(grid[0], grid[-1]))
        density = ax.twinx()
        density.stairs(counts, edges, fill=True, color=GREY, alpha=0.3)
        density.set_ylim(0, 5 * max(1, counts.max()))
        density.set_yticks([])
        ax.set_xlabel(panel["features"][0])
        ax.set_ylabel("contribution")

    @staticmethod
    def _two_curves(ax: Any, panel: dict[str, Any]) -> None:
        first, values = len(panel["grid"][0]) != 2, panel["values"]
        along, other = (0, 1) if first else (1, 0)
        levels = panel["levels"][other] or [f"{level:.4g}" for level in panel["grid"][other]]
        for curve, level, color in zip(
            values.T if first else values, levels, (BLUE, RED), strict=True
        ):
            label = f"{panel['features'][other]} is {level}"
            ax.plot(panel["grid"][along], curve, color=color, label=label)
        ax.legend(frameon=False, fontsize="small")
        if panel["levels"][along]:
            ax.set_xticks(panel["grid"][along], panel["levels"][along])
        ax.set_xlabel(panel["features"][along])
        ax.set_ylabel("contribution")

    @staticmethod
    def _heat_map(ax: Any, panel: dict[str, Any]) -> None:
        (one, two), values = panel["grid"], panel["values"]
        most = np.abs(values).max() or 1.0
        mesh = ax.pcolormesh(one, two, values.T, cmap="RdBu", vmin=-most, vmax=most)
        ax.figure.colorbar(mesh, ax=ax, label="contribution")
        some = panel["points"][evenly(len(panel["points"]), 400)]
        inside = ((some >= [one[0], two[0]]) & (some <= [one[-1], two[-1]])).all(axis=1)
        dots: dict[str, Any] = {"s": 4, "color": "black", "alpha": 0.35, "linewidths": 0}
        ax.scatter(*some[inside].T, clip_on=False, **dots)  # binary features are on the edge
        ax.set_xlim(one[0], one[-1])
        ax.set_ylim(two[0], two[-1])
        for set_ticks, codes, levels in zip(
            (ax.set_xticks, ax.set_yticks), panel["grid"], panel["levels"], strict=True
        ):
            if levels:
                set_ticks(codes, levels)
        ax.set_xlabel(panel["features"][0])
        ax.set_ylabel(panel["features"][1])
