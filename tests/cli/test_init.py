"""``rp-init``: from a file of ratings to an experiment that runs."""

import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rankpursuit.cli import init
from rankpursuit.cli import run as run_command
from rankpursuit.experiments.config import load_experiment
from rankpursuit.experiments.run import Run


def write_ratings(path, *, n_users=200, separator=",", header=("user_id", "item_id", "stars")):
    """Write ratings of 200 users of 20 to 89 items each."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        if header:
            file.write(separator.join(header) + "\n")
        for user in range(n_users):
            for item in rng.choice(150, rng.integers(20, 90), replace=False):
                file.write(separator.join([str(user), str(item), str(rng.integers(1, 6))]) + "\n")
    return path


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(command, *arguments):
    return CliRunner().invoke(command.main, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("ratings.csv", {}),
        ("u.data", {"separator": "\t", "header": None}),
        ("semi.csv", {"separator": ";", "header": ("who", "item", "grade")}),
    ],
)
def test_the_config_it_writes_runs(name, layout, here):
    write_ratings(here / name, **layout)
    written = invoke(init, "mine", name)
    assert written.exit_code == 0, written.output
    assert "200 users" in written.output
    experiment = load_experiment("mine.yaml")
    assert experiment.name == "mine"
    assert Run.of(experiment).plan.cells
    assert experiment.data.path == str(here / name)


def test_paths_are_relative_to_the_config(here):
    (here / "data").mkdir()
    write_ratings(here / "data" / "ratings.csv")
    assert invoke(init, "mine", here / "data" / "ratings.csv").exit_code == 0
    text = (here / "mine.yaml").read_text()
    assert 'path: "data/ratings.csv"' in text
    schema = text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    assert not Path(schema).is_absolute() and (here / schema).is_file()


def test_a_config_has_only_what_is_not_a_default(here):
    write_ratings(here / "ratings.csv", header=("user", "item", "rating"))
    assert invoke(init, "mine", "ratings.csv").exit_code == 0
    text = (here / "mine.yaml").read_text()
    assert not any(f"  {key}:" in text for key in ("separator", "header", "decimal"))


def test_a_first_run_ends_with_a_table(here):
    write_ratings(here / "ratings.csv")
    assert invoke(init, "mine", "ratings.csv").exit_code == 0
    small = ["--set", "protocol.test_users=3", "--set", "protocol.holdout_users=3"]
    ended = invoke(run_command, "mine.yaml", *small, "--repeats", 1, "-j", 1, "--only", "rank_rls")
    assert ended.exit_code == 0, ended.output
    assert "RankRLS" in ended.output


def test_without_ratings_it_writes_what_to_fill_in():
    assert invoke(init, "mine").exit_code == 0
    experiment = load_experiment("mine.yaml")
    assert experiment.data.path.endswith("ratings.csv")
    assert experiment.protocol == load_experiment("jester_supervised").protocol


@pytest.mark.parametrize("word", ['a "b"', "x: y", "# c", "naïve", "'", "null"])
def test_columns_of_any_name_are_written_so_that_they_are_read_again(word, here):
    write_ratings(
        here / "ratings.csv", header=(f"user {word}", f"item {word}", word), separator=";"
    )
    assert invoke(init, "mine", "ratings.csv").exit_code == 0
    assert Run.of(load_experiment("mine.yaml")).plan.cells


def test_a_config_that_is_there_is_not_overwritten(here):
    (here / "mine.yaml").write_text("precious")
    result = invoke(init, "mine")
    assert result.exit_code == 1
    assert "already exists" in result.output
    assert (here / "mine.yaml").read_text() == "precious"


@pytest.mark.parametrize("name", ["a/b", "../x", "", "a b", "-x.y"])
def test_a_name_that_no_folder_can_have_is_refused(name, here):
    assert invoke(init, "--", name).exit_code == 2
    assert list(here.iterdir()) == []


def test_too_few_users_are_told_and_nothing_is_written(here):
    write_ratings(here / "ratings.csv", n_users=1)
    result = invoke(init, "mine", "ratings.csv")
    assert result.exit_code == 1
    assert "too few users" in result.output
    assert not (here / "mine.yaml").exists()


def test_a_run_with_too_few_users_says_what_sizes_would_work(here):
    write_ratings(here / "ratings.csv", header=("user", "item", "rating"))
    (here / "mine.yaml").write_text(
        "extends: paper\nname: mine\ndata: {name: ratings, path: ratings.csv}\n"
        "algorithms: {semi_supervised_ranking_pursuit: null}"
    )
    refused = invoke(run_command, "mine.yaml", "--dry-run")
    assert refused.exit_code == 2
    *_, attempt = refused.output.splitlines()
    assert attempt.startswith("try: rp-run mine.yaml --set ")
    words = shlex.split(attempt.removeprefix("try: rp-run "))
    assert Run.of(load_experiment(words[0], words[2::2])).plan.cells


def test_columns_that_it_cannot_guess_are_told_and_can_be_given(here):
    rows = [f"{user},d{item % 5},{item},{user % 5}" for user in range(60) for item in range(60)]
    (here / "log.csv").write_text("\n".join(["who,when,what,score", *rows]))
    refused = invoke(init, "mine", "log.csv")
    assert refused.exit_code == 1
    assert "columns: user who, item when, rating score" in refused.stderr
    written = invoke(
        init, "mine", "log.csv", "--user", "who", "--item", "what", "--rating", "score"
    )
    assert "60 users, 60 items" in written.output
    assert load_experiment("mine.yaml").data.item == "what"


def test_columns_without_a_header_are_given_by_number(here):
    write_ratings(here / "u.data", separator="\t", header=None)
    given = invoke(init, "mine", "u.data", "--user", 2, "--item", 1)
    assert "150 users, 200 items" in given.output


def test_a_mistyped_file_is_told_with_the_one_that_may_be_meant(here):
    write_ratings(here / "ratings.csv")
    refused = invoke(init, "mine", "rating.csv")
    assert refused.stderr == "error: rating.csv: no such file; did you mean ratings.csv?\n"


def test_items_that_are_all_rated_once_are_refused_with_the_columns(here):
    write_ratings(here / "log.csv", header=("who", "session", "score"))
    rows = (here / "log.csv").read_text().splitlines()
    numbered = [f"{row},{place or 'item'}" for place, row in enumerate(rows)]
    (here / "log.csv").write_text("\n".join(numbered))
    result = invoke(init, "mine", "log.csv")
    assert result.exit_code == 1
    assert "no item has two ratings; columns: user who, item item, rating score" in result.output
    assert not (here / "mine.yaml").exists()
