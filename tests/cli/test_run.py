"""``rp-run`` as its users run it: in a process of its own, stopped and killed at bad moments."""

import json
import os
import resource
import signal
import time
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from rp_run import contents, finish, one_line, run, start, wait_for_store, write_config
from small_experiment import small_config

from rankpursuit.cli.run import main
from rankpursuit.experiments.run import evaluate
from rankpursuit.reporting.results import load_results


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    kept = ("rls", "rank_svm", "sparse_rank_rls", "semi_supervised_ranking_pursuit")
    return write_config(tmp_path_factory.mktemp("configs"), *kept)


@pytest.fixture(scope="module")
def uninterrupted(config, tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    finished = run(config, folder)
    assert finished.returncode == 0, finished.stderr
    return contents(folder)


def workers_of(process):
    """Return the processes that evaluate units."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            session = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[3])
            command = (folder / "cmdline").read_bytes()
        except (OSError, IndexError, ValueError):
            continue
        if session == process.pid and b"popen_loky" in command:
            found.append(int(folder.name))
    return found


@pytest.mark.parametrize(("n_jobs", "size"), [(1, 1), (1, 40_000), (2, 60_000)])
def test_a_killed_run_resumes_to_the_same_bytes(config, uninterrupted, tmp_path, n_jobs, size):
    process = start(config, tmp_path, "-j", n_jobs)
    wait_for_store(process, tmp_path, size)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    finished = run(config, tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert contents(tmp_path) == uninterrupted


def test_workers_end_with_a_run_that_was_killed(config, tmp_path):
    process = start(config, tmp_path, "-j", 2)
    wait_for_store(process, tmp_path, 30_000)
    assert len(workers_of(process)) == 2
    process.kill()
    process.wait()
    deadline = time.monotonic() + 30
    while workers_of(process) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert workers_of(process) == []


def test_a_killed_worker_ends_the_run_in_one_line_and_it_resumes(config, uninterrupted, tmp_path):
    process = start(config, tmp_path, "-j", 2)
    wait_for_store(process, tmp_path, 30_000)
    os.kill(workers_of(process)[0], signal.SIGKILL)
    status, errors = finish(process, timeout=60)
    assert status == 1
    assert "error: a worker process was killed or ran out of memory" in errors
    assert run(config, tmp_path).returncode == 0
    assert contents(tmp_path) == uninterrupted


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_what_is_finished_and_tells_how_to_go_on(
    config, uninterrupted, tmp_path, n_jobs
):
    process = start(config, tmp_path, "-j", n_jobs)
    wait_for_store(process, tmp_path, 30_000)
    os.killpg(process.pid, signal.SIGINT)
    status, errors = finish(process, timeout=30)
    assert status == 130
    assert "stopped; what was finished is kept. To go on: rp-run" in errors
    assert run(config, tmp_path).returncode == 0
    assert contents(tmp_path) == uninterrupted


def test_a_second_run_into_the_same_folder_is_refused(config, tmp_path):
    process = start(config, tmp_path, "-j", 1)
    wait_for_store(process, tmp_path, 1)
    os.kill(process.pid, signal.SIGSTOP)
    try:
        for extra in ([], ["--fresh"]):
            second = run(config, tmp_path, *extra)
            assert second.returncode == 1
            assert second.stderr.startswith("error: another run is writing to")
            assert len(second.stderr.splitlines()) == 1
    finally:
        os.kill(process.pid, signal.SIGCONT)
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_results_of_another_config_are_not_mixed_but_replaced_on_demand(config, tmp_path):
    small = ("--set", "protocol.test_users=2", "--set", "protocol.holdout_users=2")
    assert run(config, tmp_path, "--only", "rls", *small).returncode == 0
    before = contents(tmp_path)
    seed = ("--only", "rls", *small, "--set", "seed=8")
    one_line(run(config, tmp_path, *seed), 1, "another config", "--fresh")
    assert contents(tmp_path) == before
    assert run(config, tmp_path, *seed, "--fresh").returncode == 0
    assert contents(tmp_path) != before


def test_an_unreadable_store_is_told_and_replaced_on_demand(config, tmp_path):
    store = tmp_path / "small" / "results.sqlite"
    store.parent.mkdir()
    store.write_bytes(b"\x00garbage" * 2000)
    one_line(run(config, tmp_path), 1, "is not a readable store", "--fresh")
    small = ("--set", "protocol.test_users=2", "--set", "protocol.holdout_users=2")
    assert run(config, tmp_path, "--fresh", "--only", "rls", *small).returncode == 0


def test_a_folder_that_cannot_be_written_is_told(config, tmp_path):
    (tmp_path / "small").write_text("in the way")
    one_line(run(config, tmp_path), 1, "cannot write", "small")


def test_a_full_disk_is_told_and_loses_nothing(config, uninterrupted, tmp_path):
    def no_more_than_60_kilobytes():
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    full = run(config, tmp_path, preexec_fn=no_more_than_60_kilobytes)
    one_line(full, 1, "cannot write")
    assert run(config, tmp_path).returncode == 0
    assert contents(tmp_path) == uninterrupted


def test_it_prints_a_table_and_where_the_results_are(config, tmp_path):
    small = ("--set", "protocol.test_users=2", "--set", "protocol.holdout_users=2")
    finished = run(config, tmp_path, "--only", "rank_svm", "--only", "rls", *small)
    assert finished.returncode == 0
    assert "disagreement error" in finished.stdout
    assert "RankSVM" in finished.stdout
    assert str(tmp_path / "small") in finished.stdout
    assert "100%" in finished.stderr
    assert "SYNTHETIC" in finished.stdout
    again = run(config, tmp_path, "--only", "rank_svm", "--only", "rls", *small)
    assert again.stderr == ""
    assert again.stdout == (
        f"small: already finished, results in {tmp_path / 'small'}; --fresh runs it again\n"
    )
    quiet = run(config, tmp_path, "--only", "rank_svm", "--only", "rls", *small, "--quiet")
    assert quiet.stdout == quiet.stderr == ""


def invoke(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_a_dry_run_prints_the_plan_and_writes_nothing(config, tmp_path):
    result = invoke(config, "--output", tmp_path / "out", "--dry-run")
    assert result.exit_code == 0
    assert "small (SYNTHETIC ratings): groups 15-30, 31-60; 2 repeats" in result.output
    assert "48 hold-out users and 48 test users" in result.output
    assert "rls: 12 points of the grid, 576 hold-out fits" in result.output
    assert "about" in result.output
    assert not (tmp_path / "out").exists()


def test_one_of_anything_is_told_in_the_singular(config, tmp_path):
    result = invoke(config, "--dry-run", "--repeats", 1, "-j", 1, "--only", "rls")
    assert "; 1 repeat\n" in result.output
    assert "with 1 worker," in result.output


def test_a_quick_run_is_small_has_a_folder_of_its_own_and_says_so(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    large = ["--set", "protocol.test_users=40", "--set", "data.n_users=300", "--set", "repeats=5"]
    result = invoke(config, *large, "--quick", "--only", "rls", "-j", 1)
    assert result.exit_code == 0, result.output
    results = load_results(tmp_path / "results" / "quick" / "small")
    assert results.repeats["n_users"].unique().tolist() == [30]
    assert sorted(results.repeats["repeat"].unique()) == [1, 2]
    assert results.experiment.protocol.holdout_users == 12
    assert "only 30 users, 2 repeats" in result.output


def test_the_schema_needs_no_config():
    result = invoke("--schema")
    assert result.exit_code == 0
    assert "algorithms" in json.loads(result.output)["properties"]


def test_several_configs_run_in_turn(config, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(yaml.safe_dump(small_config(name="other")))
    options = ["--only", "rls", "--set", "protocol.test_users=2", "--repeats", "1"]
    options += ["--output", tmp_path, "-j", "1", "--groups", "15-30"]
    assert invoke(config, other, *options).exit_code == 0
    for name in ("small", "other"):
        assert (tmp_path / name / "repeats.csv").read_text().count("\n") == 1 + 2


def test_a_failing_algorithm_gives_status_1_and_is_named(config, tmp_path, monkeypatch):
    def broken(problem, spec, rows):
        raise FloatingPointError("made up")

    monkeypatch.setattr(evaluate, "predict_grid", broken)
    result = invoke(config, "--output", tmp_path, "-j", "1", "--only", "rls", "--repeats", "1")
    assert result.exit_code == 1
    assert "error: rls failed, group 15-30, repeat 1, holdout " in result.output
    assert not (tmp_path / "small" / "repeats.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "faults"),
    [
        (["--set", "protocol.test_usrs=3"], ["protocol.test_usrs: unknown key", "test_users"]),
        (["--set", "repeats=0"], ["repeats: "]),
        (["--set", "repeats=0", "--set", "seed=-1"], ["repeats: ", "seed: "]),
        (["--only", "rlss"], ["--only rlss: small has no such algorithm"]),
        (["--groups", "1-2"], ["--groups 1-2: small has no such group"]),
        (["--set", "protocol.reference_users=5000"], ["5000 reference users are needed"]),
        (["--set", "protocol.test_users=5000"], ["5000 test users"]),
    ],
)
def test_what_cannot_run_is_refused_with_status_2_before_any_work(
    config, tmp_path, arguments, faults
):
    result = invoke(config, "--output", tmp_path / "out", *arguments)
    assert result.exit_code == 2
    for fault in faults:
        assert fault in result.output
    attempt = (f"error: {config}: ", f"this would work: rp-run {config} --set ")
    assert all(line.startswith(attempt) for line in result.output.splitlines())
    assert not (tmp_path / "out").exists()


def test_two_configs_of_one_name_are_refused(config, tmp_path):
    result = invoke(config, config, "--output", tmp_path / "out")
    assert result.exit_code == 2
    assert "two configs of this name" in result.output


def test_a_missing_data_set_is_told_with_what_to_do(config, tmp_path):
    result = invoke(config, "--set", "data={name: jester}", "--output", tmp_path / "out")
    assert result.exit_code == 1
    assert "rp-data fetch jester" in result.output
