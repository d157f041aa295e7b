"""Draw how accurate rankers are against the number of pictures that show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pages import save_figure, write_csv
from studies.boosting import RATES, STAGES, LightGBM
from studies.rankings import Queries, ndcg, per_query

from rankpursuit import RankingPursuit
from rankpursuit.datasets import load_letor
from rankpursuit.metrics import Array

PICTURES = (5, 10, 20, 50, 100)
RIDGES = (0.0, 0.1, 1.0, 10.0)
PARTS = ("train", "vali", "test")
DEPTHS = {1: "LightGBM, depth 1", 2: "LightGBM, depth 2", -1: "LightGBM"}
FEATURES_OF_DEPTH = {1: 1, 2: 2}


def load_parts(folder: Path) -> dict[str, Queries]:
    """Load the three files of a fold; missing trailing features are zero."""
    missing = [name for name in PARTS if not (folder / f"{name}.txt").is_file()]
    if missing:
        raise click.ClickException(
            f"{folder} has no {missing[0]}.txt: pass a folder of LETOR folds"
        )
    parts = {name: Queries(*load_letor(folder / f"{name}.txt")) for name in PARTS}
    width = max(part.X.shape[1] for part in parts.values())
    return {
        name: part._replace(X=np.pad(part.X, [(0, 0), (0, width - part.X.shape[1])]))
        for name, part in parts.items()
    }


def pursuit_stages(parts: dict[str, Queries]) -> Iterator[tuple[Array, dict[str, Array]]]:
    """Yield the pictures of each prefix of a path, and its predictions, for each ridge."""
    for ridge in RIDGES:
        model = RankingPursuit(2 * max(PICTURES), dictionary="grown", ridge=ridge)
        pictures = model.fit(*parts["train"]).summary()["pictures"].to_numpy()
        staged = {name: np.array([*model.staged_predict(parts[name].X)]) for name in PARTS[1:]}
        yield pictures, staged


def pictures_of_trees(booster: Any, depth: int, stages: Sequence[int]) -> Array:
    """Return the number of sets of features of the trees up to each stage."""
    if depth not in FEATURES_OF_DEPTH:
        return np.full(len(stages), np.nan)
    trees = booster.trees_to_dataframe().dropna(subset="split_feature")
    sets = trees.groupby("tree_index")["split_feature"].agg(lambda x: tuple(sorted(set(x))))
    return np.array([sets[sets.index < stage].nunique() for stage in stages], dtype=float)


def boosting_stages(
    parts: dict[str, Queries], depth: int
) -> Iterator[tuple[Array, dict[str, Array]]]:
    """Yield the same for boosted trees of a depth, for each rate."""
    leaves = 2**depth if depth > 0 else 31
    for rate in RATES:
        options = {"max_depth": depth, "num_leaves": leaves, "learning_rate": rate}
        model = LightGBM(n_estimators=max(STAGES), **options).fit(*parts["train"])
        staged = {name: np.array(model.staged(parts[name].X, STAGES)) for name in PARTS[1:]}
        yield pictures_of_trees(model.model.booster_, depth, STAGES), staged


def frontier(parts: dict[str, Queries], stages: Any) -> dict[float, float]:
    """Return NDCG@10 on the test queries with at most so many pictures, as validation chooses."""
    rows = []
    for pictures, staged in stages:
        scores = [per_query(parts[name], staged[name], ndcg).mean(axis=0) for name in PARTS[1:]]
        rows += [*zip(pictures, *scores, strict=True)]
    table, found = np.array(rows), {}
    for most in PICTURES if np.isfinite(table[:, 0]).all() else (np.nan,):
        allowed = table[~(table[:, 0] > most)]
        if len(allowed):
            found[most] = float(allowed[allowed[:, 1].argmax(), 2])
    return found


def measure_fold(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield NDCG@10 of each method and number of pictures on a fold."""
    parts = load_parts(folder)
    methods = {"grown": pursuit_stages(parts)}
    methods |= {title: boosting_stages(parts, depth) for depth, title in DEPTHS.items()}
    for title, stages in methods.items():
        try:
            found = frontier(parts, stages)
        except ImportError:
            click.echo(f"{title}: not installed (pip install '.[bench]')")
            continue
        for pictures, score in found.items():
            yield {"fold": folder.name, "method": title, "pictures": pictures, "ndcg": score}


def draw(table: pd.DataFrame) -> Figure:
    """Draw the mean over the folds; a model without pictures is a line."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    ax = figure.subplots()
    for title, rows in table.groupby("method"):
        means = rows.groupby("pictures", dropna=False)["ndcg"].mean()
        if means.index.isna().all():
            ax.axhline(means.iloc[0], color="0.5", linestyle="--", label=title)
        else:
            ax.plot(means.index, means, marker="o", label=title)
    ax.set_xscale("log")
    ax.set_xticks(PICTURES, map(str, PICTURES))
    ax.set(xlabel="pictures: features, pairs and triples", ylabel="NDCG@10")
    ax.grid(color="0.9")
    ax.legend(frameon=False)
    return figure


@click.command("frontier")
@click.option("--data", type=click.Path(path_type=Path), required=True, help="Folder of folds.")
@click.option("--output", type=click.Path(path_type=Path), default=Path(), help="For the results.")
def main(data: Path, output: Path) -> None:
    """Measure NDCG@10 against the number of pictures of a model, on your own LETOR folds.

    DATA has train.txt, vali.txt and test.txt, or folders with them, as MSLR-WEB and LETOR 4.0 do.
    Writes frontier.csv and frontier.svg. A picture is a feature, a pair or a triple of features
    that functions, or trees of depth one or two, depend on; sizes are chosen on vali.txt.
    """
    folders = sorted(path.parent for path in data.glob("*/train.txt")) or [data]
    table = pd.DataFrame([row for folder in folders for row in measure_fold(folder)])
    output.mkdir(parents=True, exist_ok=True)
    write_csv(output / "frontier.csv", table)
    save_figure(draw(table), output / "frontier.svg")
    means = table.groupby(["method", "pictures"], dropna=False)["ndcg"].mean().unstack()
    click.echo(means.round(4).to_string())
