"""The figures: what they draw, of complete and of partial results."""

import re
from dataclasses import replace

import numpy as np
import pytest
from made_up_runs import write_run
from matplotlib.colors import to_rgb

from rankpursuit.experiments.registry import METHODS
from rankpursuit.reporting.figures import (
    draw_figures,
    error_against_basis,
    error_against_sparsity,
    error_against_width,
    looks,
    save,
    to_svg,
)
from rankpursuit.reporting.results import load_results
from rankpursuit.reporting.statistics import proposed_algorithm

METRIC = "disagreement"
DRAW = {
    "sparsity": error_against_sparsity,
    "basis": error_against_basis,
    "width": error_against_width,
}
LABELS = {
    "sparsity": ["Training points used as basis functions (%)", "(fraction of pairs)", "RankRLS"],
    "basis": ["Basis functions (% of points)", "20-40 ratings", "60-80 ratings"],
    "width": ["Kernel width sigma (log2 scale)", "own pursuit"],
}


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return load_results(write_run(tmp_path_factory.mktemp("full"), table=1))


@pytest.fixture(scope="module")
def partial(tmp_path_factory):
    leave_out = (("rls", "20-40"), *((label, "60-80") for label in ("own_pursuit", "rank_rls")))
    folder = tmp_path_factory.mktemp("partial")
    return load_results(write_run(folder, table=1, repeats=1, leave_out=leave_out))


def texts(figure):
    return re.findall(r"<text[^>]*>([^<]*)</text>", to_svg(figure))


@pytest.mark.parametrize("name", DRAW)
def test_figure_has_its_labels(full, name):
    said = " | ".join(texts(DRAW[name](full, METRIC)))
    assert [label for label in LABELS[name] if label not in said] == []


@pytest.mark.parametrize("name", DRAW)
def test_figure_of_partial_results_draws_what_there_is(partial, name):
    figure = DRAW[name](partial, METRIC)
    groups = {title.removesuffix(" ratings")[-5:] for title in texts(figure) if "ratings" in title}
    assert groups == {"20-40", "60-80"}


def test_files_are_svg_and_png_and_the_same_each_time(full, tmp_path):
    for name in ("a", "b"):
        save(error_against_width(full, METRIC), tmp_path / name)
    svg, png = ((tmp_path / f"a.{kind}").read_bytes() for kind in ("svg", "png"))
    assert svg.startswith(b"<?xml")
    assert png.startswith(b"\x89PNG")
    assert svg == (tmp_path / "b.svg").read_bytes()
    assert png == (tmp_path / "b.png").read_bytes()


def test_all_figures_of_all_metrics_are_drawn(tmp_path):
    metrics = ("disagreement", "squared_error")
    results = load_results(write_run(tmp_path, table=1, metrics=metrics))
    names = [drawn.name for drawn in draw_figures(results)]
    assert len(names) == len(set(names)) == 8


def test_errors_that_blow_up_do_not_flatten_the_others(full):
    curves = full.curves.copy()
    curves.loc[(curves["value"] == 4) & (curves["axis"] == "width"), "holdout_error"] = 1e12
    figure = error_against_width(replace(full, curves=curves), METRIC)
    assert figure.axes[0].get_ylim()[1] < 1


def test_ring_marks_where_the_holdout_error_is_lowest(full):
    curves = full.curves.copy()
    at_half = (curves["axis"] == "n_basis") & (curves["value"] == 0.5)
    curves.loc[at_half, "holdout_error"] = 0.1
    axes = error_against_basis(replace(full, curves=curves), METRIC).axes
    rings = [line for axis in axes for line in axis.lines if line.get_markerfacecolor() == "none"]
    assert len(rings) == 4  # two pursuits, two groups
    assert {float(ring.get_xdata()[0]) for ring in rings} == {50.0}


def test_control_is_the_last_of_the_paper_that_has_results(full):
    assert proposed_algorithm(full) == "own_pursuit"
    rows = full.repeats[full.repeats["algorithm"] != "own_pursuit"]
    assert proposed_algorithm(replace(full, repeats=rows)) == "ranking_pursuit"


def test_every_method_of_the_paper_has_its_own_colour_marker_and_look(full):
    of_paper = [name for name in METHODS if name != "estimator"]
    found = looks(with_methods(full, of_paper))
    assert len({look.color for look in found.values()}) == len(of_paper)
    assert len({look.marker for look in found.values()}) == len(of_paper)
    assert len({look.line for look in found.values()}) == len(of_paper)
    assert found["rank_rls"] == looks(full)["rank_rls"]
    assert looks(full)["own_pursuit"] not in [looks(full)[label] for label in ("rls", "rank_rls")]


def with_methods(results, labels):
    """Return results that declare algorithms of these labels."""
    spec = results.experiment.algorithms["rls"]
    methods = {
        label: spec.model_copy(update={"method": label if label in METHODS else "rls"})
        for label in labels
    }
    experiment = results.experiment.model_copy(update={"algorithms": methods})
    return replace(results, experiment=experiment)


@pytest.mark.parametrize(
    "label", ["semi_supervised_ranking_pursuit", "a_name_longer_than_usual_ones"]
)
@pytest.mark.parametrize("name", DRAW)
def test_names_in_the_legend_are_not_cut(full, name, label):
    rename = {"own_pursuit": label}
    results = replace(
        with_methods(full, ["rls", "rank_rls", "kernel_matching_pursuit", label]),
        repeats=full.repeats.replace({"algorithm": rename}),
        curves=full.curves.replace({"algorithm": rename}),
    )
    figure = DRAW[name](results, METRIC)
    to_svg(figure)  # places everything
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width


def test_colours_stand_out_from_light_and_dark(full):
    for look in looks(with_methods(full, METHODS)).values():
        assert contrast(look.color, "#ffffff") > 3
        assert contrast(look.color, "#14181d") > 3


def contrast(one, two):
    lights = sorted(luminance(color) for color in (one, two))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(color):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def test_points_stand_where_they_are_and_bars_end_at_100_percent(full):
    share = 1 - 0.1 * (full.repeats["repeat"] == 1)
    results = replace(full, repeats=full.repeats.assign(basis_share=share))
    axis = error_against_sparsity(results, METRIC).axes[0]
    centres = [line.get_xdata()[0] for line in axis.lines if line.get_marker() in "oDP"]
    assert centres == pytest.approx([100 * 2.9 / 3] * 3)
    bars = [bar.get_segments()[0] for bar in axis.collections]
    assert max(x for bar in bars for x, _ in bar) == pytest.approx(100)
    assert min(x for bar in bars for x, _ in bar) < 93


@pytest.mark.parametrize("name", DRAW)
def test_metric_that_was_not_measured_has_no_figure(full, name):
    assert DRAW[name](full, "squared_error") is None
