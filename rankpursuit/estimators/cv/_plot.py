"""A picture of scores along a path: the mean over the folds and its standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankpursuit.estimators.cv._choice import ScoreTable, Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOR, _CHOSEN = "#1f6fb2", "#c0392b"
_TITLES = {"n_basis": "number of basis functions", "alpha": "alpha (weight of the regulariser)"}


def plot_path(
    table: ScoreTable,
    chosen: tuple[int, ...],
    axis: str,
    score: str,
    selection: Selection,
    ax: Axes | None = None,
) -> Axes:
    """Draw the scores along one axis through the chosen point.

    Parameters
    ----------
    table : ScoreTable
    chosen : tuple of int
        Place of the chosen point.
    axis : str
        Name of the axis.
    score : str
        What the scores are called.
    selection : {"best", "sparsest"}
        With "sparsest", a line shows what is within one standard error of the best.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(6.0, 3.8), layout="constrained")
    number = list(table.axes).index(axis)
    through: tuple[Any, ...] = (*chosen[:number], slice(None), *chosen[number + 1 :])
    values, place = table.axes[axis], chosen[number]
    mean, error = table.mean[through], table.standard_error[through]
    band: dict[str, Any] = {
        "color": _COLOR,
        "alpha": 0.2,
        "linewidth": 0,
        "label": "one standard error",
    }
    ax.fill_between(values, mean - error, mean + error, **band)
    ax.plot(values, mean, color=_COLOR, marker="." if len(values) < 30 else "", label="mean")
    if selection == "sparsest":
        best = table.choose("best")
        least = table.mean[best] - table.standard_error[best]
        ax.axhline(
            least, color="0.5", linestyle="--", linewidth=1, label="best minus its standard error"
        )
    ax.plot(values[place], mean[place], "o", color=_CHOSEN, label=f"chosen: {values[place]:.4g}")
    if axis != "n_basis":
        ax.set_xscale("log")
    others = {name: value for name, value in table.params_at(chosen).items() if name != axis}
    ax.set_title(", ".join(f"{name} = {value:.3g}" for name, value in others.items()))
    ax.set_xlabel(_TITLES[axis])
    ax.set_ylabel(score)
    ax.grid(color="0.9")
    ax.set_axisbelow(True)
    ax.legend(frameon=False)
    return ax
