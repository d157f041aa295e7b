"""A store gives back what was saved; a damaged one gives the same results in the end, or none."""

import re
import shutil
import sqlite3
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest
from rp_run import RESULTS
from small_experiment import run_into, run_of, small_config

from rankpursuit import __version__
from rankpursuit.errors import RankpursuitError, StoreError
from rankpursuit.experiments.evaluate import choose_parameters, evaluate_unit
from rankpursuit.experiments.run import run_session
from rankpursuit.experiments.store import FORMAT, Identity, RunFolder, Store

IDENTITY = Identity("digest", "data", "metrics.py 1\nkernels.py 1")


@pytest.fixture
def path(tmp_path):
    """Give a store without results."""
    path = tmp_path / "results.sqlite"
    Store(path, IDENTITY).close()
    return path


def test_it_is_locked_while_open(path):
    with Store(path, IDENTITY):
        with pytest.raises(StoreError, match="another run is writing to"):
            Store(path, IDENTITY)
        with pytest.raises(StoreError, match="another run is writing to"):
            Store.check_unlocked(path)
    Store(path, IDENTITY).close()
    Store.check_unlocked(path)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (IDENTITY._replace(digest="other"), "holds the results of another config or plug-in"),
        (IDENTITY._replace(data="other"), "holds the results of other data"),
        (
            IDENTITY._replace(code="metrics.py 2\nkernels.py 1"),
            f"of other code, of rankpursuit {re.escape(__version__)}; since changed: metrics.py",
        ),
    ],
)
def test_results_of_something_else_are_refused(path, other, reason):
    with pytest.raises(StoreError, match=f"{reason}: use --fresh to start over, or --output"):
        Store(path, other)
    with Store(path, IDENTITY) as store:
        assert store.repeats == 0


def test_a_store_of_an_earlier_version_is_refused_and_kept(path, monkeypatch):
    before = path.read_bytes()
    monkeypatch.setattr("rankpursuit.experiments.store.FORMAT", FORMAT + 1)
    with pytest.raises(StoreError, match="another version of rankpursuit: use --fresh"):
        Store(path, IDENTITY)
    assert path.read_bytes() == before


def test_results_come_back_as_they_were(path):
    run = run_of(small_config())
    units = {role: run.plan.units[run.plan.cells[0], role][0] for role in ("holdout", "test")}
    result = evaluate_unit(run.experiment, units["holdout"], ("rls",), {})
    choices = choose_parameters(run.experiment, {"rls": result.results["rls"].sums})
    tested = evaluate_unit(run.experiment, units["test"], ("rls",), choices)
    with Store(path, IDENTITY) as store:
        assert store.load(units["test"], "rls") is None
        store.save(result, tested)
    with Store(path, IDENTITY) as store:
        for expected in (result, tested):
            loaded = store.load(expected.unit, "rls")
            for metric, sums in expected.results["rls"].sums.items():
                np.testing.assert_array_equal(loaded.sums[metric], sums)
            assert loaded.users == expected.results["rls"].users


def test_seconds_of_all_runs_are_added(path):
    for seconds, total in ((2.0, 2.0), (0.5, 2.5)):
        with Store(path, IDENTITY) as store:
            assert store.add_seconds(seconds) == total


def contents(folder):
    return {name: (folder / name).read_bytes() for name in RESULTS}


def tiny_run(**changes):
    config = small_config(repeats=1, metrics=["disagreement"], kernel={"widths": [4, 16]})
    config["protocol"] |= {"groups": [[15, 30]], "test_users": 2, "holdout_users": 2}
    config["algorithms"] = {"rls": {"lambda": [1, 8]}}
    return run_of(config | changes)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A finished run whose store is a few kilobytes, and how to resume it quickly."""
    folder, whole, known = tmp_path_factory.mktemp("tiny"), tiny_run(), {}
    run_into(whole, folder)
    connection = sqlite3.connect(folder / "results.sqlite", isolation_level=None)
    connection.execute("PRAGMA page_size = 512")
    connection.execute("VACUUM")
    connection.close()

    def evaluate(experiment, jobs):
        for job in jobs:
            if repr(job) not in known:
                known[repr(job)] = evaluate_unit(experiment, *job)
            yield known[repr(job)]

    def resume(where, report=lambda line: None):
        return run_session(whole, RunFolder(where), evaluate, report=report).failures

    store = (folder / "results.sqlite").read_bytes()
    return SimpleNamespace(folder=folder, store=store, results=contents(folder), resume=resume)


@pytest.fixture
def damaged(tiny, tmp_path, monkeypatch):
    """A copy of the finished run whose store a test damages."""
    for name in (*RESULTS, "results.sqlite"):
        shutil.copy(tiny.folder / name, tmp_path)
    return tmp_path


def outcome_of(tiny, folder):
    """Resume with a damaged store; return what happened, and fail if it is not right."""
    told = []
    try:
        assert tiny.resume(folder, told.append) == []
    except RankpursuitError as error:
        assert "\n" not in str(error)
        return "refused"
    return "computed again" if told else "unharmed"


@pytest.mark.parametrize("quarter", range(4))
def test_no_flipped_byte_changes_a_result(tiny, damaged, monkeypatch, quarter):
    written, connect = {}, sqlite3.connect

    def hasty(*arguments, **options):
        connection = connect(*arguments, **options)
        with suppress(sqlite3.Error, UnicodeDecodeError):
            connection.execute("PRAGMA synchronous = OFF")
        return connection

    monkeypatch.setattr(sqlite3, "connect", hasty)
    monkeypatch.setattr("rankpursuit.experiments.run.dump_yaml", lambda experiment: "")
    for module in ("store", "run"):
        name = f"rankpursuit.experiments.{module}.write_atomically"
        monkeypatch.setattr(name, lambda path, content: written.update({path.name: content}))
    masks = np.random.default_rng(0).integers(1, 256, size=len(tiny.store))
    outcomes = set()
    for position in range(quarter, len(tiny.store), 4):
        written.clear()
        (damaged / "results.sqlite-journal").unlink(missing_ok=True)
        flipped = bytearray(tiny.store)
        flipped[position] ^= int(masks[position])
        (damaged / "results.sqlite").write_bytes(flipped)
        outcome = outcome_of(tiny, damaged)
        found = {name: written[name] for name in RESULTS if name in written}
        assert found == ({} if outcome == "refused" else tiny.results), f"byte {position}"
        outcomes.add(outcome)
    assert outcomes == {"refused", "computed again", "unharmed"}


def edit(folder, *statements):
    connection = sqlite3.connect(folder / "results.sqlite", isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE results SET content = x'00' WHERE role = 'holdout'",
        "UPDATE results SET content = 'no bytes'",
        "UPDATE results SET content = (SELECT max(content) FROM results) WHERE role = 'test'",
        "UPDATE results SET algorithm = 'rlss' WHERE algorithm = 'rls'",
        "UPDATE results SET chunk = 7 WHERE role = 'test'",
    ],
)
def test_a_row_changed_by_hand_is_reported_once_and_computed_again(tiny, damaged, change):
    edit(damaged, change)
    told = []
    for _ in range(2):
        assert tiny.resume(damaged, told.append) == []
        assert contents(damaged) == tiny.results
    assert [line.split(" damaged")[0][:-1] for line in told] == [f"{damaged}/results.sqlite: "]


def test_rows_of_another_experiment_do_not_count(tiny, damaged, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    run_into(tiny_run(seed=8), other)
    edit(
        damaged,
        f"ATTACH '{other / 'results.sqlite'}' AS other",
        "DELETE FROM results",
        "INSERT INTO results SELECT * FROM other.results",
    )
    assert outcome_of(tiny, damaged) == "computed again"
    assert contents(damaged) == tiny.results


@pytest.mark.parametrize("change", ["DELETE FROM meta", "DROP TABLE results"])
def test_a_store_without_its_tables_is_refused(tiny, damaged, change):
    edit(damaged, change)
    with pytest.raises(StoreError):
        tiny.resume(damaged)
    assert contents(damaged) == tiny.results
