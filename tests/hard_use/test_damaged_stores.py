"""A store that was damaged gives the same results in the end, or none; never others."""

import shutil
import sqlite3
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest
from rp_run import RESULTS, one_line, run, write_config
from small_experiment import run_into, run_of, small_config

from rankpursuit.errors import RankpursuitError, StoreError
from rankpursuit.experiments.evaluate import evaluate_units
from rankpursuit.experiments.run import export, session
from rankpursuit.experiments.run.folder import RunFolder
from rankpursuit.experiments.run.progress import Silent
from rankpursuit.experiments.run.session import run_session


def tiny_run():
    config = small_config(repeats=1, metrics=["disagreement"], kernel={"widths": [4, 16]})
    config["protocol"] |= {"groups": [[15, 30]], "test_users": 2, "holdout_users": 2}
    config["algorithms"] = {"rls": {"lambda": [1, 8]}}
    return run_of(config)


def contents(folder):
    return {name: (folder / name).read_bytes() for name in RESULTS}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A finished run whose store is a few kilobytes, and how to go on with it quickly."""
    folder, whole, known = tmp_path_factory.mktemp("tiny"), tiny_run(), {}
    run_into(whole, folder)
    connection = sqlite3.connect(folder / "results.sqlite", isolation_level=None)
    connection.execute("PRAGMA page_size = 512")
    connection.execute("VACUUM")
    connection.close()

    def evaluate(experiment, jobs):
        for units, labels, choices in jobs:
            key = (units, labels, repr(choices))
            if key not in known:
                known[key] = evaluate_units(experiment, units, labels, choices)
            yield known[key]

    def go_on(where, tell=lambda line: None):
        return run_session(whole, RunFolder(where), evaluate, Silent(), tell=tell)

    return SimpleNamespace(
        folder=folder,
        store=(folder / "results.sqlite").read_bytes(),
        results=contents(folder),
        go_on=go_on,
    )


@pytest.fixture
def damaged(tiny, tmp_path, monkeypatch):
    """A copy of the finished run whose store a test damages."""
    monkeypatch.setattr(session, "provenance", dict)  # asks git for the commit, which takes long
    for name in (*RESULTS, "results.sqlite"):
        shutil.copy(tiny.folder / name, tmp_path)
    return tmp_path


def outcome_of(tiny, folder):
    """Go on with a damaged store; return what happened, and fail if it is not right."""
    told = []
    try:
        failures = tiny.go_on(folder, told.append)
    except RankpursuitError as error:
        assert "\n" not in str(error)
        assert contents(folder) == tiny.results
        return "refused"
    assert failures == []
    assert contents(folder) == tiny.results
    return "computed again" if told else "unharmed"


@pytest.fixture
def without_disk(monkeypatch):
    """Save time: SQLite does not wait for the disk, and what is written is kept here."""
    written, connect = {}, sqlite3.connect

    def hasty(*arguments, **options):
        connection = connect(*arguments, **options)
        with suppress(sqlite3.Error, UnicodeDecodeError):
            connection.execute("PRAGMA synchronous = OFF")
        return connection

    def keep(path, content):
        written[path.name] = content

    monkeypatch.setattr(sqlite3, "connect", hasty)
    monkeypatch.setattr(session, "dump_yaml", lambda experiment: "")
    monkeypatch.setattr(session, "write_atomically", keep)
    monkeypatch.setattr(export, "write_atomically", keep)
    return written


@pytest.mark.parametrize("quarter", range(4))
def test_no_flipped_byte_changes_a_result(tiny, damaged, without_disk, quarter):
    masks = np.random.default_rng(0).integers(1, 256, size=len(tiny.store))
    outcomes = set()
    for position in range(quarter, len(tiny.store), 4):
        without_disk.clear()
        for left in damaged.glob("results.sqlite-*"):
            left.unlink()
        flipped = bytearray(tiny.store)
        flipped[position] ^= int(masks[position])
        (damaged / "results.sqlite").write_bytes(flipped)
        outcome = outcome_of(tiny, damaged)
        written = {name: without_disk[name] for name in RESULTS if name in without_disk}
        assert written == ({} if outcome == "refused" else tiny.results), f"byte {position}"
        outcomes.add(outcome)
    assert outcomes == {"refused", "computed again", "unharmed"}


def test_flipped_bytes_through_the_command_end_in_one_line_or_the_same_results(tmp_path):
    config = write_config(tmp_path, "rls")
    small = ("--set", "protocol.test_users=2", "--set", "protocol.holdout_users=2", "--quiet")
    assert run(config, tmp_path, *small).returncode == 0
    folder = tmp_path / "small"
    results, store = contents(folder), (folder / "results.sqlite").read_bytes()
    for position in np.random.default_rng(0).integers(len(store), size=3):
        flipped = bytearray(store)
        flipped[position] ^= 0xFF
        (folder / "results.sqlite").write_bytes(flipped)
        finished = run(config, tmp_path, *small)
        if finished.returncode:
            one_line(finished, 1, "results.sqlite", "--fresh")
        assert "Traceback" not in finished.stderr
        assert contents(folder) == results


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE results SET users = '[]' WHERE role = 'test'",
        "UPDATE results SET users = 'no list' WHERE role = 'test'",
        "UPDATE results SET sums = x'00' WHERE role = 'holdout'",
        "UPDATE results SET seconds = 'long'",
        "UPDATE results SET users = (SELECT max(users) FROM results) WHERE role = 'test'",
        "UPDATE results SET algorithm = 'rlss' WHERE algorithm = 'rls'",
        "UPDATE results SET chunk = 7 WHERE role = 'test'",
        "UPDATE results SET grp = x'fffe' WHERE algorithm = 'rls'",
    ],
)
def test_a_row_changed_by_hand_is_named_and_computed_again(tiny, damaged, change):
    edit(damaged, change)
    told = []
    assert tiny.go_on(damaged, told.append) == []
    assert contents(damaged) == tiny.results
    assert told
    for line in told:
        assert line.startswith(f"{damaged / 'results.sqlite'}: a damaged row is set aside")
        assert "group" in line
    assert tiny.go_on(damaged, told.append) == []
    again = [line for line in told if told.count(line) > 1]
    assert again == [], "what was set aside is named once"


def edit(folder, *statements):
    connection = sqlite3.connect(folder / "results.sqlite", isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_damage_found_by_a_run_that_was_killed_is_still_mended_by_the_next(
    tiny, damaged, monkeypatch
):
    edit(damaged, "UPDATE results SET users = '[]' WHERE role = 'test'")

    def killed(*_):
        raise MemoryError  # stands for the end of the process: nothing is written after it

    with monkeypatch.context() as patch:
        patch.setattr(session, "execute", killed)
        patch.setattr(session, "_write", lambda *_: None)
        with pytest.raises(MemoryError):
            tiny.go_on(damaged)
    assert outcome_of(tiny, damaged) == "computed again"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE meta SET value = 'x' WHERE key = 'digest'", "the row digest of its table meta"),
        ("UPDATE meta SET value = '2' WHERE key = 'format'", "the row format of its table meta"),
        ("DELETE FROM meta WHERE key = 'data'", "the row data of its table meta"),
        ("DELETE FROM meta", "of its table meta"),
        ("DROP TABLE results", "its tables are not those of a store"),
        ("DROP TABLE meta", "no such table: meta"),
        (
            "CREATE TRIGGER t AFTER INSERT ON results BEGIN DELETE FROM results; END",
            "its tables are not those of a store",
        ),
    ],
)
def test_a_store_that_cannot_be_trusted_as_a_whole_is_refused(tiny, damaged, change, said):
    edit(damaged, change)
    with pytest.raises(StoreError, match="is not a readable store") as caught:
        tiny.go_on(damaged)
    assert said in str(caught.value)
    assert "use --fresh to start over" in str(caught.value)
    assert contents(damaged) == tiny.results


def test_rows_out_of_order_are_refused_before_anything_is_written(tiny, damaged):
    store = damaged / "results.sqlite"
    content = store.read_bytes()
    assert content.count(b"15-30test") == content.count(b"15-30holdout") == 1
    store.write_bytes(content.replace(b"15-30test", b"15-30aest"))
    with pytest.raises(StoreError, match="its rows are out of order"):
        tiny.go_on(damaged)
    assert contents(damaged) == tiny.results


def test_a_damaged_time_is_told_and_the_results_stand(tiny, damaged):
    edit(damaged, "UPDATE meta SET value = 'long' WHERE key = 'seconds'")
    told = []
    assert tiny.go_on(damaged, told.append) == []
    assert [line.partition(": ")[2] for line in told] == [
        "how long earlier runs took is lost to damage"
    ]
    assert contents(damaged) == tiny.results


def test_a_store_of_the_version_before_says_so(tiny, damaged):
    edit(
        damaged,
        "DROP TABLE meta",
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        "INSERT INTO meta VALUES ('format', '2')",
    )
    with pytest.raises(StoreError, match="was written by another version of rankpursuit"):
        tiny.go_on(damaged)


def test_rows_of_another_experiment_do_not_count(tiny, damaged, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    run_into(run_of(tiny_run().experiment.model_copy(update={"seed": 8}).resolved()), other)
    edit(
        damaged,
        f"ATTACH '{other / 'results.sqlite'}' AS other",
        "DELETE FROM results",
        "INSERT INTO results SELECT * FROM other.results",
    )
    assert outcome_of(tiny, damaged) == "computed again"
