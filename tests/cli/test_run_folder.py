"""The folder of a run: earlier results are extended, refused or replaced, never mixed."""

import shutil

import pytest
import yaml
from click.testing import CliRunner
from rp_run import write_config
from small_experiment import small_config

from rankpursuit.cli.run import main

SMALL = ("--set", "protocol.test_users=2", "--set", "protocol.holdout_users=2")
SMALLER = ("--set", "protocol.test_users=1", "--set", "protocol.holdout_users=2")


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    return write_config(tmp_path_factory.mktemp("configs"), "rls", "ranking_pursuit")


@pytest.fixture(scope="module")
def finished(config, tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    assert invoke(config, folder, *SMALL).exit_code == 0
    return folder


@pytest.fixture
def results(finished, tmp_path):
    """A folder with a finished run, as its store left it."""
    return shutil.copytree(finished / "small", tmp_path / "small")


@pytest.fixture
def clone(results):
    """The same without the store, and with tables that were made of it."""
    (results / "results.sqlite").unlink()
    (results / "tables.md").write_text("old numbers")
    (results / "tables").mkdir()
    (results / "tables" / "small-errors.tex").write_text("old numbers")
    return results


def invoke(config, output, *options):
    words = [config, "--output", output, "-j", 1, "--quiet", *options]
    return CliRunner().invoke(main, [str(word) for word in words])


def files_in(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_refused(result, *parts):
    assert result.exit_code == 1, result.output
    assert result.output.count("\n") == 1
    for part in ("error: ", "--fresh", "--output", *parts):
        assert part in result.output


@pytest.mark.parametrize("left", ["all", "users.csv.gz", "curves.csv", "an empty store"])
def test_results_without_their_store_are_not_touched(config, clone, left):
    if left == "an empty store":
        (clone / "results.sqlite").touch()
    elif left != "all":
        for name in {"repeats.csv", "users.csv.gz", "curves.csv"} - {left}:
            (clone / name).unlink()
    before = files_in(clone.parent)
    result = invoke(config, clone.parent, *SMALL)
    assert_refused(result, f"{clone} holds results without their store, results.sqlite")
    assert files_in(clone.parent) == before


@pytest.mark.parametrize("reason", ["without their store", "another config"])
def test_nothing_is_run_if_one_of_several_is_refused(config, results, tmp_path, reason):
    if reason == "without their store":
        (results / "results.sqlite").unlink()
    other = tmp_path / "other.yaml"
    other.write_text(yaml.safe_dump(small_config(name="other")))
    assert_refused(invoke(other, results.parent, config, *SMALLER), reason)
    assert not (results.parent / "other").exists()


def test_fresh_replaces_the_files_of_the_run_and_its_tables_and_nothing_else(config, clone):
    for name in ("basis-disagreement.svg", "notes.txt"):
        (clone / name).write_text("mine")
    assert invoke(config, clone.parent, *SMALLER, "--fresh").exit_code == 0
    assert sorted(path.name for path in clone.iterdir()) == [
        "basis-disagreement.svg",
        "config.yaml",
        "curves.csv",
        "notes.txt",
        "provenance.json",
        "repeats.csv",
        "results.sqlite",
        "timings.csv",
        "users.csv.gz",
    ]
    assert "test_users: 1" in (clone / "config.yaml").read_text()


def test_a_folder_in_the_place_of_the_store_is_one_line(config, clone):
    (clone / "results.sqlite").mkdir()
    before = files_in(clone)
    for options, said in (
        (["--fresh"], f"cannot write {clone}/results.sqlite: unable to open"),
        ([], "a link, folder or device, not a regular file"),
    ):
        result = invoke(config, clone.parent, *SMALL, *options)
        assert result.exit_code == 1
        assert said in result.output
        assert result.output.count("\n") == 1
    assert files_in(clone) == before


def test_a_part_of_a_finished_run_leaves_all_of_its_results(config, results):
    before = files_in(results)
    for part in (("--only", "rls"), ("--groups", "15-30"), ("--repeats", "1")):
        assert invoke(config, results.parent, *SMALL, *part).exit_code == 0
    for name in ("repeats.csv", "users.csv.gz", "curves.csv"):
        assert (results / name).read_bytes() == before[results / name]


@pytest.mark.parametrize("whole", [True, False])
def test_of_a_damaged_store_it_is_told_whether_the_results_are_complete(config, results, whole):
    (results / "results.sqlite").write_bytes(b"damaged" * 1000)
    if not whole:
        (results / "users.csv.gz").write_bytes(b"other")
    before = files_in(results)
    result = invoke(config, results.parent, *SMALL)
    assert_refused(result, "is not a readable store")
    kept = f"or keep the results in {results}: they are complete"
    assert (kept in result.output) == whole
    assert files_in(results) == before


def test_a_damaged_table_is_written_again_from_its_store(config, results):
    before = (results / "repeats.csv").read_bytes()
    for damage in (before + before, before[:99], b"\xff", b""):
        (results / "repeats.csv").write_bytes(damage)
        assert invoke(config, results.parent, *SMALL).exit_code == 0
        assert (results / "repeats.csv").read_bytes() == before


def test_a_folder_in_which_nothing_is_complete_can_be_used(config, finished, tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    for name in ("config.yaml", "provenance.json"):
        shutil.copy(finished / "small" / name, folder)
    assert invoke(config, tmp_path, *SMALL, "--only", "rls").exit_code == 0
