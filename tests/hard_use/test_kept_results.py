"""Results that a run could not give back are never overwritten without a word."""

import json
import shutil

import pytest
import yaml
from click.testing import CliRunner
from made_up import write_results
from rp_run import write_config
from small_experiment import small_config

from rankpursuit.cli import report, tables
from rankpursuit.cli.run import main
from rankpursuit.experiments.export import RunFolder

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
    """The same as in a clone: without the store, and with a table that was made of it."""
    (results / "results.sqlite").unlink()
    (results / "tables.md").write_text("old numbers")
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


@pytest.mark.parametrize(
    ("options", "whose"),
    [((*SMALLER, "--repeats", "1"), "another config"), (SMALL, "this config")],
)
def test_results_without_their_store_are_not_touched(config, clone, options, whose):
    before = files_in(clone.parent)
    result = invoke(config, clone.parent, *options)
    assert_refused(result, str(clone), f"of {whose} (2 repeats, 2 test users)", "results.sqlite")
    assert files_in(clone.parent) == before


def test_an_empty_store_is_none(config, clone):
    (clone / "results.sqlite").touch()
    before = files_in(clone.parent)
    assert_refused(invoke(config, clone.parent, *SMALL), "without their store")
    assert files_in(clone.parent) == before


@pytest.mark.parametrize("left", ["users.csv.gz", "curves.csv"])
def test_part_of_the_results_is_kept_too(config, clone, left):
    for name in {"repeats.csv", "users.csv.gz", "curves.csv"} - {left}:
        (clone / name).unlink()
    assert_refused(invoke(config, clone.parent, *SMALL), "without their store")


def test_it_is_refused_even_if_nothing_beside_the_results_can_be_read(config, clone):
    (clone / "config.yaml").write_text("{")
    (clone / "provenance.json").write_text("[")
    assert_refused(invoke(config, clone.parent, *SMALL), "holds results without their store")


def test_nothing_is_run_if_one_of_several_is_refused(config, clone, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(yaml.safe_dump(small_config(name="other")))
    assert_refused(invoke(other, clone.parent, config, *SMALL), str(clone))
    assert not (clone.parent / "other").exists()


def test_a_dry_run_and_another_output_are_not_refused(config, clone, tmp_path):
    before = files_in(clone)
    assert invoke(config, clone.parent, *SMALL, "--dry-run").exit_code == 0
    assert invoke(config, tmp_path / "elsewhere", *SMALL, "--only", "rls").exit_code == 0
    assert files_in(clone) == before


def test_fresh_replaces_results_with_all_that_was_made_of_them_and_nothing_else(config, clone):
    for name in ("tables.tex", "basis-disagreement.svg", "ranks-squared_error.png", "notes.txt"):
        (clone / name).write_text("mine")
    assert invoke(config, clone.parent, *SMALLER, "--fresh").exit_code == 0
    assert sorted(path.name for path in clone.iterdir()) == [
        "config.yaml",
        "curves.csv",
        "notes.txt",
        "provenance.json",
        "repeats.csv",
        "results.sqlite",
        "timings.csv",
        "users.csv.gz",
    ]
    assert (clone / "repeats.csv").read_text().count(",1,") > 0


def test_all_that_other_commands_write_beside_results_is_known_to_be_derived(tmp_path):
    folder = write_results(tmp_path / "one", repeats=2)
    before = set(folder.iterdir())
    for command, words in (
        (tables.main, [folder]),
        (tables.main, [folder, "--format", "text", "--output", folder]),
        (report.main, [folder, "-o", tmp_path / "report.html", "--figures", tmp_path]),
    ):
        assert CliRunner().invoke(command, [str(word) for word in words]).exit_code == 0
    written = {path for path in folder.rglob("*") if path.is_file()} - before
    assert written <= set(RunFolder(folder).derived)
    assert {path.name.split("-")[0] for path in written} >= {
        "paired",
        "published",
        "tables.txt",
        "one",
    }
    assert folder / "tables" / "one-claims.tex" in written


def test_fresh_does_not_remove_a_folder_in_the_place_of_the_store(config, clone):
    (clone / "results.sqlite").mkdir()
    before = files_in(clone)
    result = invoke(config, clone.parent, *SMALL, "--fresh")
    assert result.exit_code == 1
    assert result.output == (
        f"error: {clone / 'results.sqlite'} is a folder, which --fresh does not remove: move it "
        "away\n"
    )
    assert files_in(clone) == before


def test_a_folder_in_the_place_of_the_store_is_one_line(config, tmp_path):
    (tmp_path / "small" / "results.sqlite").mkdir(parents=True)
    result = invoke(config, tmp_path, *SMALL)
    assert result.exit_code == 1
    assert "it is a folder, not a regular file" in result.output
    assert result.output.count("\n") == 1


def test_results_of_another_config_beside_a_store_are_kept(config, results):
    facts = json.loads((results / "provenance.json").read_text())
    (results / "provenance.json").write_text(json.dumps(facts | {"digest": "0" * 64}))
    before = files_in(results)
    assert_refused(invoke(config, results.parent, *SMALL), "of another config than its store")
    assert files_in(results) == before


def test_more_results_than_the_store_has_are_kept(config, results, tmp_path):
    less = tmp_path / "less"
    assert invoke(config, less, *SMALL, "--repeats", "1", "--only", "rls").exit_code == 0
    shutil.copy(less / "small" / "results.sqlite", results)
    before = files_in(results)
    assert_refused(
        invoke(config, results.parent, *SMALL),
        "repeats.csv holds results that the store, results.sqlite, lacks",
        "ranking_pursuit, group 15-30, repeat 1 and 5 more",
    )
    assert files_in(results) == before


def test_a_part_of_a_finished_run_leaves_all_of_its_results(config, results):
    before = files_in(results)
    for part in (("--only", "rls"), ("--groups", "15-30"), ("--repeats", "1")):
        assert invoke(config, results.parent, *SMALL, *part).exit_code == 0
    for name in ("repeats.csv", "users.csv.gz", "curves.csv"):
        assert (results / name).read_bytes() == before[results / name]


def test_repeats_beyond_those_declared_stay_when_fewer_are_run_again(config, results):
    assert invoke(config, results.parent, *SMALL, "--repeats", "3").exit_code == 0
    before = (results / "repeats.csv").read_bytes()
    assert invoke(config, results.parent, *SMALL).exit_code == 0
    assert (results / "repeats.csv").read_bytes() == before


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
