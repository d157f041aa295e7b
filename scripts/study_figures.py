"""The two figures of ``results/README.md``, and how figures of programs are written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from rankpursuit.experiments.methods import METHODS
from rankpursuit.reporting.figures.style import LOOKS, figure_style, metric_title
from rankpursuit.writing import replacing

TITLES = {"jester": "Jester, supervised (Table 1)", "movielens": "MovieLens, supervised (Table 3)"}


def draw_reference_users(path: Path, curves: Mapping[str, Mapping[int, Any]]) -> None:
    """Write errors against the number of reference users, with the published levels as lines.

    Parameters
    ----------
    path : Path
    curves : mapping
        For each data set and number of reference users the cells, see ``inference.Cells``.
    """
    with figure_style():
        figure = Figure(figsize=(10.5, 4.4))
        panels = figure.subplots(1, len(curves), squeeze=False)[0]
        for axes, (data, by_number) in zip(panels, curves.items(), strict=True):
            numbers = sorted(by_number)
            first = by_number[numbers[0]]
            for label in dict.fromkeys(key[2] for key in first.keys):
                look, own = LOOKS[label], [key[2] == label for key in first.keys]
                values = [by_number[number].measured[own].mean() for number in numbers]
                axes.plot(
                    numbers,
                    values,
                    color=look.color,
                    marker=look.marker,
                    ms=5,
                    label=METHODS[label].title,
                )
                axes.axhline(first.published[own].mean(), color=look.color, ls=":", lw=1.2)
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(FixedLocator(numbers))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.set(title=TITLES[data], xlabel="reference users (dotted: published)")
        panels[0].set_ylabel(metric_title("disagreement", lines=2))
        panels[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        save_figure(figure, path)


def draw_basis_functions(
    path: Path,
    curves: Mapping[str, Mapping[str, Mapping[float, float]]],
    level: Mapping[str, float],
) -> None:
    """Write errors against the share of basis functions, chosen and random, with ridge or not.

    Parameters
    ----------
    path : Path
    curves : mapping
        For each title of a panel, and each way to choose, the mean error at each share.
    level : mapping
        For each title of a panel, the error of RankRLS, on all points.
    """
    looks = {
        "chosen, no ridge": ("#d1500a", "P", "-"),
        "chosen, ridge": ("#00906a", "X", "-"),
        "random, no ridge": ("#c4659b", "v", ":"),
        "random, ridge": ("#8a5cb5", "*", ":"),
    }
    with figure_style():
        figure = Figure(figsize=(10.5, 4.0))
        panels = figure.subplots(1, len(curves), squeeze=False)[0]
        for axes, (title, ways) in zip(panels, curves.items(), strict=True):
            for way, points in ways.items():
                color, marker, line = looks[way]
                shares = np.array(sorted(points))
                errors = [points[share] for share in shares]
                axes.plot(100 * shares, errors, color=color, marker=marker, ls=line, label=way)
            axes.axhline(level[title], color="#1b74b3", ls="--", label="RankRLS, all points")
            axes.set(title=title, xlabel="basis functions (% of the training points)")
        panels[0].set_ylabel(metric_title("disagreement", lines=2))
        panels[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        save_figure(figure, path)


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the path's ending; the same bytes for the same figure."""
    with replacing(path) as file:
        figure.savefig(
            file,
            format=path.suffix[1:],
            facecolor="white",
            bbox_inches="tight",
            metadata={"Date": None},
        )
