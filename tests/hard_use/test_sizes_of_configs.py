"""Configs that ask for too much are refused before anything is built."""

import os
import time

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from made_up import write_results
from rankpursuit.experiments.syntax.faults import shown
from rankpursuit.experiments.syntax.files import LARGEST_FILE
from rankpursuit.experiments.syntax.safe_yaml import MOST_VALUES
from small_experiment import small_config

from rankpursuit.cli.run import main
from rankpursuit.datasets import make_ratings
from rankpursuit.errors import ConfigError, DataError, ResultsError
from rankpursuit.experiments.config import data as config_data
from rankpursuit.experiments.config import dump_yaml, load_experiment, parse_experiment
from rankpursuit.experiments.run import Run
from rankpursuit.experiments.syntax import parse_yaml
from rankpursuit.reporting.expected import load_expected
from rankpursuit.reporting.results import load_results

LAUGHS = "a0: &a0 [x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)
SS = "algorithms.semi_supervised_ranking_pursuit"


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(small_config()))
    return path


def faults_of(path, *overrides):
    with pytest.raises(ConfigError) as refused:
        load_experiment(path, overrides)
    return refused.value.faults


@pytest.mark.parametrize(
    ("override", "fault"),
    [
        ("repeats=1000000000000", "repeats: expected a number of at most 1000, got 1000000000000"),
        (
            "protocol.test_users=1000000",
            "repeats: 2 repeats of 2 groups with 1000012 test and hold-out users make 4,000,048 "
            "tasks, and 2,000,000 is the most: lower repeats, test_users or holdout_users",
        ),
        (
            "data.n_users=10000000",
            "data: n_users 10000000 times n_items 60 is 600,000,000, and 10,000,000 is the most",
        ),
        (
            "data.n_tastes=1000000",
            "data: n_tastes 1000000 times n_users, n_items or n_tastes is 1,000,000,000,000, and "
            "10,000,000 is the most",
        ),
        ("data.noise=1e308", "data.noise: expected a number of at most 1000000, got 1e+308"),
        (f"{SS}.n_views=100000", f"{SS}.n_views: expected a number of at most 50, got 100000"),
        (
            f"{SS}.n_views=11",
            f"{SS}.n_views: expected at most 10, since each view needs one of the 10 training "
            "items of a user with 20 ratings, the fewest in protocol.test_user_bounds, got 11",
        ),
        (
            f"{SS}={{n_basis: 1, nu: 1, views: loss, n_views: 3}}",
            f"{SS}.n_views: expected at most 2, since each view needs two of the 5 scored training "
            "items of a user with 20 ratings, the fewest in protocol.test_user_bounds, got 3",
        ),
        (
            f"{SS}={{n_basis: 1, nu: 1, views: features, n_views: 11}}",
            f"{SS}.n_views: expected at most 10, since each view needs one of "
            "protocol.reference_users, got 11",
        ),
        (
            "algorithms.x={method: combined_ranking_regression_pursuit, "
            "n_basis: {from: 1, to: 1000, step: 1}, beta: {from: 0.01, to: 1.0, step: 0.01}}",
            "algorithms.x: 4 x 100 x 1 x 1000, widths first, make a grid of 400,000 points, and "
            "100,000 is the most: shorten a grid or kernel.widths",
        ),
        (
            "algorithms.ranking_pursuit.n_basis=1000000000",
            "algorithms.ranking_pursuit.n_basis: expected numbers of at most 10000, got 1000000000",
        ),
        (
            "kernel.widths=[1e-308, 1e308]",
            "kernel.widths: expected numbers from 1e-100 to 1e+100, got [1e-308, 1e+308]",
        ),
        (
            "protocol.groups=[[1, 99999999999]]",
            "protocol.groups[0]: expected numbers of at most 4294967295, got [1, 99999999999]",
        ),
        ("name=" + "x" * 101, f'name: expected at most 100 characters, got "{"x" * 66}...'),
    ],
)
def test_what_is_too_large_is_refused_with_its_number_and_the_limit(small, override, fault):
    assert faults_of(small, override) == [fault]


@pytest.mark.parametrize(("views", "most"), [("points", 10), ("loss", 2), ("features", 10)])
def test_as_many_views_as_the_smallest_task_can_fill_run(small, views, most):
    overrides = [f"{SS}.views={views}", f"{SS}.n_views={most}", "protocol.test_user_bounds=[20,40]"]
    load_experiment(small, overrides)


def test_too_many_grid_numbers_in_all_are_refused(small):
    grid = "{n_basis: {from: 1, to: 900, step: 1}, method: ranking_pursuit}"
    overrides = [f"algorithms.x{i}={grid}" for i in range(12)]
    assert faults_of(small, *overrides) == [
        "algorithms: the grids have 10,853 numbers together, and 10,000 is the most"
    ]


def test_the_largest_config_can_be_read_back():
    grid = {"method": "ranking_pursuit", "n_basis": {"from": 1, "to": 98, "step": 1}}
    config = small_config(algorithms={f"x{i}": grid for i in range(100)})
    experiment = parse_experiment(config)
    again = parse_experiment(parse_yaml(dump_yaml(experiment), "again"))
    assert again.digest() == experiment.digest()


def test_more_repeats_than_can_be_are_refused_before_a_plan_is_made(small):
    with pytest.raises(ConfigError, match="--repeats: expected a number of at most 1000"):
        Run.of(load_experiment(small), repeats=10**12)


def test_synthetic_ratings_that_are_too_large_or_noisy_are_refused():
    with pytest.raises(DataError, match=r"n_users 10000000 times .* 10,000,000 is the most"):
        make_ratings(10_000_000, 100)
    for noise in (1e308, float("nan")):
        with pytest.raises(DataError, match="noise from 0 to 1e"):
            make_ratings(noise=noise)


@pytest.mark.parametrize(
    "text",
    [
        LAUGHS,
        LAUGHS + "repeats: *a11\n",
        "a0: &a0 {k: 1}\n"
        + "".join(
            f"a{i}: &a{i} {{k{i}: 1, <<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n"
            for i in range(1, 12)
        ),
        "repeats: [" + "1," * 30_000 + "1]",
    ],
    ids=["anchors", "a value of anchors", "merged keys", "a long list"],
)
def test_what_stands_for_too_many_values_is_refused_at_once(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    [fault] = faults_of(path)
    assert f"too large: more than {MOST_VALUES:,} keys and values" in fault
    assert fault.startswith(f"{path}, line ")


def test_results_and_expectations_with_such_yaml_are_refused(tmp_path, made_up_run):
    (made_up_run / "config.yaml").write_text(LAUGHS)
    with pytest.raises(ResultsError, match=r"config\.yaml, line .*too large"):
        load_results(made_up_run)
    (tmp_path / "expected.yaml").write_text(LAUGHS)
    with pytest.raises(ResultsError, match=r"expected\.yaml, line .*too large"):
        load_expected(tmp_path / "expected.yaml")


@pytest.fixture
def made_up_run(tmp_path):
    return write_results(tmp_path / "run")


def test_a_large_file_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_bytes(b"#" * (LARGEST_FILE + 1))
    assert faults_of(path) == [f"{path}: too large: more than 1,000,000 bytes"]


@pytest.mark.parametrize("base", ["/dev/zero", "fifo"])
def test_what_is_no_regular_file_is_refused(tmp_path, base):
    os.mkfifo(tmp_path / "fifo")
    path = tmp_path / "config.yaml"
    path.write_text(f"extends: {base}\n")
    assert faults_of(path) == [f"{tmp_path / base}: cannot be read: not a regular file"]


def test_a_loop_of_links_is_refused(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    assert faults_of(tmp_path / "loop") == [
        f"{tmp_path}/loop: cannot be read: Too many levels of symbolic links"
    ]


def test_a_tower_of_files_is_refused(tmp_path):
    for number in range(30):
        (tmp_path / f"{number}.yaml").write_text(f"extends: {number + 1}.yaml\n")
    assert faults_of(tmp_path / "0.yaml") == [
        f"{tmp_path}/19.yaml: extends puts more than 20 files on each other"
    ]


def test_of_many_faults_the_first_are_told_and_the_others_counted(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("".join(f"k{i}: 1\n" for i in range(3000)))
    faults = faults_of(path)
    assert len(faults) == 51
    assert faults[-1] == "and so on: 2,953 more faults"


def test_a_value_is_shown_without_looking_at_all_of_it():
    class Endless(list):
        def __iter__(self):
            while True:
                yield 1

    assert shown(Endless([1])) == "[" + "1, " * 22 + "..."
    assert len(shown("x" * 10**7)) == 70
    assert shown(10**5000) == "a number of 16,610 bits"
    deep = current = []
    for _ in range(10_000):
        current.append([])
        current = current[0]
    assert shown(deep) == "[" * 67 + "..."


def test_memory_that_cannot_be_had_is_one_line(small, tmp_path, monkeypatch):
    monkeypatch.setattr(
        config_data,
        "make_ratings",
        lambda **options: np.empty((10**9, 10**6)),  # petabytes
    )
    config_data.ratings_of.cache_clear()
    result = CliRunner().invoke(main, [str(small), "--output", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert result.output.startswith("error: out of memory (Unable to allocate ")
    assert len(result.output.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_config_of_anchors_is_refused_within_seconds(tmp_path):
    (tmp_path / "a.yaml").write_text(LAUGHS)
    begun = time.process_time()
    faults_of(tmp_path / "a.yaml")
    assert time.process_time() - begun < 5
