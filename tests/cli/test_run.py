"""``rp-run`` as its users run it; `tests/hard_use` kills and stops it."""

import os
import shutil
import signal
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from rp_run import contents, one_line, run, start, wait_for_store, write_config
from small_experiment import small_config

import rankpursuit
from rankpursuit.cli.run import main
from rankpursuit.experiments import evaluate
from rankpursuit.reporting.results import load_results


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    kept = ("rls", "rank_svm", "sparse_rank_rls", "semi_supervised_ranking_pursuit")
    return write_config(tmp_path_factory.mktemp("configs"), *kept, repeats=4)


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


SMALL = ("--set", "protocol.test_users=2", "--set", "protocol.holdout_users=2")


def invoke(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def run_here(config, output, *options):
    return invoke(config, "--output", output, "-j", 1, *options)


def assert_refused(result, *parts):
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    for part in parts:
        assert part in line


def test_results_of_another_config_are_not_mixed_but_replaced_on_demand(config, tmp_path):
    assert run_here(config, tmp_path, "--only", "rls", *SMALL).exit_code == 0
    before = contents(tmp_path)
    seed = ("--only", "rls", *SMALL, "--set", "seed=8")
    assert_refused(run_here(config, tmp_path, *seed), "another config", "--fresh")
    assert contents(tmp_path) == before
    assert run_here(config, tmp_path, *seed, "--fresh").exit_code == 0
    assert contents(tmp_path) != before


def test_an_edited_package_does_not_resume_what_it_did_not_compute(config, tmp_path):
    shutil.copytree(Path(rankpursuit.__file__).parent, tmp_path / "rankpursuit")
    settings = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(tmp_path)}}
    options = ("--only", "rls", "--repeats", 1, *SMALL)
    assert run(config, tmp_path, *options, "--groups", "15-30", **settings).returncode == 0
    before = contents(tmp_path)
    edited = {name: tmp_path / "rankpursuit" / name for name in ("metrics.py", "kernels.py")}
    for path in edited.values():
        path.write_text(f"{path.read_text('utf-8')}\n_NEW = 1\n", "utf-8")
    refused = run(config, tmp_path, *options, **settings)
    files = "rankpursuit/kernels.py, rankpursuit/metrics.py"
    one_line(refused, 1, "other code, of rankpursuit", f"since changed: {files}: use --fresh")
    assert contents(tmp_path) == before
    for path in edited.values():
        path.write_text(path.read_text("utf-8").replace("_NEW = 1", "# nothing new"), "utf-8")
    assert run(config, tmp_path, *options, **settings).returncode == 0


def test_it_prints_a_table_and_where_the_results_are(config, tmp_path):
    finished = run(config, tmp_path, "--only", "rank_svm", "--only", "rls", *SMALL)
    assert finished.returncode == 0
    assert "disagreement error" in finished.stdout
    assert "RankSVM" in finished.stdout
    assert "Not run: Sparse RankRLS" in finished.stdout
    assert str(tmp_path / "small") in finished.stdout
    assert "100%" in finished.stderr
    assert "SYNTHETIC" in finished.stdout
    again = run_here(config, tmp_path, "--only", "rank_svm", "--only", "rls", *SMALL)
    assert again.stderr == ""
    assert again.stdout == (
        f"small: already finished, results in {tmp_path / 'small'}; --fresh runs it again\n"
    )
    quiet = run_here(config, tmp_path, "--only", "rank_svm", "--only", "rls", *SMALL, "--quiet")
    assert quiet.stdout == quiet.stderr == ""


def test_a_dry_run_prints_the_plan_and_writes_nothing(config, tmp_path):
    result = invoke(config, "--output", tmp_path / "out", "--dry-run")
    assert result.exit_code == 0
    assert "small (SYNTHETIC ratings): groups 15-30, 31-60; 4 repeats" in result.output
    assert "96 hold-out users and 96 test users" in result.output
    assert "; rank_svm, rls, semi_supervised_ranking_pursuit, sparse_rank_rls\n" in result.output
    assert "about" in result.output
    assert not (tmp_path / "out").exists()


def test_a_quick_run_is_small_has_a_folder_of_its_own_and_says_so(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    large = ["--set", "protocol.test_users=40", "--set", "data.n_users=300", "--set", "repeats=5"]
    result = invoke(config, *large, "--quick", "--only", "rls", "-j", 1)
    assert result.exit_code == 0, result.output
    results = load_results(tmp_path / "results" / "quick" / "small")
    assert results.repeats["n_users"].unique().tolist() == [30]
    assert sorted(results.repeats["repeat"].unique()) == [1, 2]
    assert results.experiment.protocol.holdout_users == 12
    assert "Size: 30 users, 2 repeats." in result.output


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
    ("arguments", "problems"),
    [
        (["--set", "protocol.test_usrs=3"], ["protocol.test_usrs: unknown key", "test_users"]),
        (["--set", "repeats=0"], ["repeats: "]),
        (["--set", "repeats=0", "--set", "seed=-1"], ["repeats: ", "seed: "]),
        (["--only", "rlss"], ["--only rlss: no such algorithm; did you mean rls?"]),
        (["--groups", "1-2"], ["--groups 1-2: no such group; choose from 15-30, 31-60"]),
        (["--set", "protocol.reference_users=5000"], ["5000 reference users are needed"]),
        (["--set", "protocol.test_users=5000"], ["5000 test users"]),
    ],
)
def test_what_cannot_run_is_refused_with_status_2_before_any_work(
    config, tmp_path, arguments, problems
):
    result = invoke(config, "--output", tmp_path / "out", *arguments)
    assert result.exit_code == 2
    for problem in problems:
        assert problem in result.output
    attempt = (f"error: {config}: ", f"try: rp-run {config} --set ")
    assert all(line.startswith(attempt) for line in result.output.splitlines())
    assert not (tmp_path / "out").exists()


def test_two_configs_of_one_name_are_refused(config, tmp_path):
    result = invoke(config, config, "--output", tmp_path / "out")
    assert result.exit_code == 2
    assert "two configs have this name" in result.output


def test_a_missing_data_set_is_told_with_what_to_do(config, tmp_path):
    result = invoke(config, "--set", "data={name: jester}", "--output", tmp_path / "out")
    assert result.exit_code == 1
    assert "rp-data fetch jester" in result.output
