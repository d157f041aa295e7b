import io
import json
import platform
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import yaml
from rp_run import RESULTS
from small_experiment import run_into, run_of, run_small_experiment, small_config

from rankpursuit.errors import ConfigError, RunError, StoreError, TooFewUsersError
from rankpursuit.experiments import backends, evaluate, run_experiment
from rankpursuit.experiments import run as run_module
from rankpursuit.experiments.config import load_experiment, parse_experiment, ratings_of
from rankpursuit.experiments.evaluate import (
    choose_parameters,
    evaluate_unit,
)
from rankpursuit.experiments.protocol import draw_users
from rankpursuit.experiments.run import can_reuse, estimate, run_session
from rankpursuit.experiments.store import RunFolder, Store


def run_small(folder, config=None, *, part=None, n_jobs=1, **options):
    run = part or run_of(config or small_config())
    return run_session(run, RunFolder(folder), backends.Local(n_jobs).evaluate, **options)


def contents(folder):
    return {name: (folder / name).read_bytes() for name in RESULTS}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run_small_experiment(tmp_path_factory.mktemp("whole"))


def test_every_group_repeat_algorithm_and_metric_has_a_row(whole):
    repeats = pd.read_csv(whole / "repeats.csv")
    config = small_config()
    assert len(repeats) == 2 * 2 * len(config["algorithms"]) * 2
    assert not repeats.duplicated(["group", "repeat", "algorithm", "metric"]).any()
    assert (repeats["n_users"] == 12).all()
    assert repeats["test_error"].between(0, 30).all()
    users = pd.read_csv(whole / "users.csv.gz")
    means = users.groupby(["group", "repeat", "algorithm", "metric"])["error"].mean()
    rows = repeats.set_index(["group", "repeat", "algorithm", "metric"])["test_error"]
    np.testing.assert_allclose(means.loc[rows.index], rows, rtol=1e-12)
    share = users["n_basis"] / users["n_points"]
    assert share.between(0, 2).all()


def test_curves_pass_through_the_chosen_point(whole):
    repeats = pd.read_csv(whole / "repeats.csv")
    curves = pd.read_csv(whole / "curves.csv")
    key = ["group", "repeat", "algorithm", "metric"]
    for axis in ("width", "lambda", "n_basis", "nu"):
        along = curves[curves["axis"] == axis]
        both = repeats.merge(along, on=key, suffixes=("", "_curve"))
        at = both[both[axis] == both["value"]]
        assert len(at) == repeats[axis].notna().sum()
        np.testing.assert_array_equal(at["holdout_error"], at["holdout_error_curve"])
        if axis == "n_basis":
            np.testing.assert_allclose(at["test_error"], at["test_error_curve"], rtol=1e-12)


def test_the_config_as_run_gives_the_same_experiment(whole):
    again = parse_experiment(yaml.safe_load((whole / "config.yaml").read_text()))
    assert again.digest() == parse_experiment(small_config()).digest()
    facts = json.loads((whole / "provenance.json").read_text())
    assert facts["digest"] == again.digest()
    assert facts["data"] == ratings_of(again.data).checksum()
    assert facts["packages"]["numpy"] == np.__version__


def test_two_workers_give_the_bytes_of_one(whole, tmp_path):
    run_small(tmp_path, n_jobs=2)
    assert contents(tmp_path) == contents(whole)


def test_an_algorithm_alone_gives_its_rows_among_all(whole, tmp_path):
    everything = pd.read_csv(whole / "repeats.csv")
    for label in ("sparse_rank_rls", "semi_supervised_ranking_pursuit"):
        folder = tmp_path / label
        run_small(folder, part=run_of(small_config(), only=[label]))
        alone = pd.read_csv(folder / "repeats.csv")
        among = everything[everything["algorithm"] == label].reset_index(drop=True)
        pd.testing.assert_frame_equal(alone, among, check_exact=True)


def test_a_run_in_parts_gives_the_bytes_of_one_run(whole, tmp_path):
    config = small_config()
    run_small(tmp_path, part=run_of(config, only=["rls", "rank_svm"], repeats=1))
    run_small(tmp_path, part=run_of(config, groups=["31-60"]))
    partial = pd.read_csv(tmp_path / "repeats.csv")
    assert 0 < len(partial) < len(pd.read_csv(whole / "repeats.csv"))
    assert not run_small(tmp_path).was_finished
    assert contents(tmp_path) == contents(whole)


def test_a_finished_run_has_nothing_left_to_do(whole, monkeypatch):
    monkeypatch.setattr(backends, "evaluate_unit", None)
    before = contents(whole)
    assert run_small(whole).was_finished
    assert contents(whole) == before


def test_each_result_is_read_and_each_choice_made_once(tmp_path, monkeypatch):
    loaded, chosen = [], []

    def load(store, unit, label, real=Store.load):
        loaded.append((unit, label))
        return real(store, unit, label)

    def choose(experiment, errors):
        chosen.append(1)
        return choose_parameters(experiment, errors)

    monkeypatch.setattr(Store, "load", load)
    monkeypatch.setattr(run_module, "choose_parameters", choose)
    part = run_of(small_config(), only=["rls", "rank_rls"])
    run_small(tmp_path, part=part)
    assert {(unit, label) for unit in part.plan.all() for label in part.labels} <= set(loaded)
    assert len(loaded) == len(set(loaded))
    assert len(chosen) == len(part.plan.cells)


def test_the_estimate_is_that_of_users_who_take_longer_the_more_they_rated(monkeypatch):
    run, clock = run_of(small_config()), [0.0]
    counts = ratings_of(run.experiment.data).counts

    def evaluate(experiment, unit, labels, choices):
        clock[0] += sum(float(counts[user]) ** 3 for user in unit.users)
        return evaluate_unit(experiment, unit, ("rls",), choices)

    every = [user for unit in run.plan.all() for user in unit.users]
    monkeypatch.setattr(run_module, "evaluate_unit", evaluate)
    monkeypatch.setattr(run_module, "choose_parameters", lambda *_: {"rls": {}})
    monkeypatch.setattr(run_module.time, "perf_counter", lambda: clock[0])
    seconds = estimate(run)
    assert 1 / 1.5 < seconds / (counts[every].astype(float) ** 3).sum() < 1.5


def test_seconds_do_not_depend_on_the_clock_of_the_machine(tmp_path, monkeypatch):
    monkeypatch.setattr("time.time", iter(range(10**9, 0, -3600)).__next__)
    run_small(tmp_path, part=run_of(small_config(), only=["rls"], repeats=1))
    assert 0 <= json.loads((tmp_path / "provenance.json").read_text())["seconds"] < 600


def test_a_failure_names_user_and_algorithm_and_spares_the_others(whole, tmp_path, monkeypatch):
    experiment = parse_experiment(small_config())
    group = experiment.protocol.groups[0]
    user = int(
        draw_users(
            ratings_of(experiment.data),
            experiment.protocol,
            seed=experiment.seed,
            group=group,
            repeat=0,
            role="test",
        )[3]
    )
    real = evaluate.predict_grid

    stacked = []

    def broken(problem, spec, rows):
        for task in problem.tasks:
            if spec.method == "rank_rls" and task.key == (experiment.seed, *group, 0, 0, user):
                stacked.extend(str(task.user) for task in problem.tasks)
                raise FloatingPointError("made up")
        return real(problem, spec, rows)

    monkeypatch.setattr(evaluate, "predict_grid", broken)
    failures = run_small(tmp_path).failures
    who = "user" if len(stacked) == 1 else "one of the users"
    assert failures == [
        f"rank_rls failed, group 15-30, repeat 1, test {who} {', '.join(stacked)}: "
        "FloatingPointError: made up"
    ]
    found, expected = (pd.read_csv(f / "repeats.csv") for f in (tmp_path, whole))
    lost = (expected["algorithm"] == "rank_rls") & (expected["group"] == "15-30")
    lost &= expected["repeat"] == 1
    pd.testing.assert_frame_equal(found, expected[~lost].reset_index(drop=True), check_exact=True)
    monkeypatch.setattr(evaluate, "predict_grid", real)
    assert run_small(tmp_path).failures == []
    assert contents(tmp_path) == contents(whole)


@pytest.mark.parametrize("offset", ["raw", "training_mean"])
def test_users_evaluated_together_have_the_errors_that_each_has_alone(offset):
    run = run_of(small_config(offset=offset))
    cell = run.plan.cells[1]
    choices = {}
    for role in ("holdout", "test"):
        unit = max(run.plan.units[cell, role], key=lambda unit: len(unit.users))
        together = evaluate_unit(run.experiment, unit, run.labels, choices)
        each = [
            evaluate_unit(run.experiment, replace(unit, users=(user,)), run.labels, choices)
            for user in unit.users
        ]
        assert not together.failures
        for label, result in together.results.items():
            alone = [part.results[label] for part in each]
            for metric, sums in result.sums.items():
                expected = np.sum([part.sums[metric] for part in alone], axis=0)
                np.testing.assert_allclose(sums, expected, rtol=1e-9)
            found = [(u.user, u.metric, u.n_basis, u.n_points, u.n_test) for u in result.users]
            expected = [
                (u.user, u.metric, u.n_basis, u.n_points, u.n_test)
                for part in alone
                for u in part.users
            ]
            assert sorted(found) == sorted(expected)
        if role == "holdout":
            errors = {label: result.sums for label, result in together.results.items()}
            choices = choose_parameters(run.experiment, errors)


def test_a_shift_to_the_training_mean_changes_squared_errors_of_rank_only_methods(whole):
    config = small_config(offset="training_mean")
    raw, shifted = (
        evaluate_unit(
            parse_experiment(each),
            run_of(each).plan.units[run_of(each).plan.cells[0], "holdout"][0],
            ("rank_rls", "rls"),
            {},
        ).results
        for each in (small_config(), config)
    )
    for label, same in (("rls", True), ("rank_rls", False)):
        for metric in ("disagreement", "squared_error"):
            equal = np.array_equal(raw[label].sums[metric], shifted[label].sums[metric])
            assert equal == (same or metric == "disagreement")
    better = shifted["rank_rls"].sums["squared_error"].min()
    assert better < raw["rank_rls"].sums["squared_error"].min()


def test_tuned_by_its_own_error_a_method_has_one_model_for_both_metrics(whole, tmp_path):
    run = run_of(small_config(tuning="own"), only=("rls", "rank_rls"), repeats=1)
    assert run_into(run, tmp_path) == []
    own, reported = (pd.read_csv(folder / "repeats.csv") for folder in (tmp_path, whole))
    parameters = ["width", "lambda", "basis_functions"]
    for _, rows in own.groupby(["group", "algorithm"]):
        assert len(rows) == 2
        assert (rows[parameters].nunique() == 1).all()
    key = ["group", "repeat", "algorithm", "metric"]
    for algorithm, metric in (("rls", "squared_error"), ("rank_rls", "disagreement")):
        rows = own[(own.algorithm == algorithm) & (own.metric == metric)]
        merged = rows.merge(reported, on=key)
        assert len(merged) == 2
        assert (merged["test_error_x"] == merged["test_error_y"]).all()


def test_a_smaller_run_leaves_config_and_provenance_true_to_the_tables(tmp_path):
    run_small(tmp_path, part=run_of(small_config(), only=["rls"], repeats=3))
    for smaller in (run_of(small_config(repeats=1), only=["rls"]), run_of(small_config())):
        run_small(tmp_path, part=smaller)
        assert load_experiment(tmp_path / "config.yaml").repeats == 3
        assert json.loads((tmp_path / "provenance.json").read_text())["repeats"] == 3
        assert pd.read_csv(tmp_path / "repeats.csv")["repeat"].max() == 3


def test_the_provenance_names_processor_blas_and_packages(whole):
    facts = json.loads((whole / "provenance.json").read_text())
    assert facts["packages"]["numpy"] == np.__version__
    assert list(facts["packages"]) == sorted(facts["packages"])
    assert facts["machine"]["architecture"] == platform.machine()
    assert facts["machine"]["processor"]
    assert "blas" in facts["machine"]["blas"].lower()


LABELS = ("rls", "rank_rls", "ranking_pursuit")
ALGORITHMS = {label: small_config()["algorithms"][label] for label in LABELS}


SHARED_WIDTH = {"widths": [4, 16], "shared": "all"}


def shared(*metrics, **changes):
    return small_config(metrics=list(metrics), algorithms=ALGORITHMS, repeats=1) | changes


@pytest.mark.parametrize("tuning", ["reported", "own"])
@pytest.mark.parametrize("metric", ["disagreement", "squared_error"])
def test_shared_results_are_the_bytes_of_a_run_apart(metric, tuning, tmp_path, monkeypatch):
    wide, narrow = (
        run_of(shared(*metrics, tuning=tuning))
        for metrics in (["squared_error", "disagreement"], [metric])
    )
    for run, name in ((wide, "wide"), (narrow, "apart")):
        assert run_into(run, tmp_path / name) == []
    monkeypatch.setattr(evaluate, "predict_grid", None)  # nothing is computed again
    reusable = [(wide, RunFolder(tmp_path / "wide"))]
    assert run_into(narrow, tmp_path / "shared", reusable=reusable) == []
    assert contents(tmp_path / "shared") == contents(tmp_path / "apart")


def test_a_shared_width_is_not_chosen_while_an_algorithm_lacks_its_hold_out_errors(
    tmp_path, monkeypatch
):
    run, predict_grid = run_of(shared("disagreement", kernel=SHARED_WIDTH)), evaluate.predict_grid

    def broken(problem, options, rows):
        assert options.method != "rank_rls"
        return predict_grid(problem, options, rows)

    monkeypatch.setattr(evaluate, "predict_grid", broken)
    failures = run_into(run, tmp_path)
    assert failures and all("rank_rls failed" in line and "holdout" in line for line in failures)
    assert not (tmp_path / "repeats.csv").exists()


def test_results_that_cannot_be_reused_are_computed(tmp_path):
    both = run_of(shared("disagreement", "squared_error"))
    assert run_into(both, tmp_path / "both") == []
    more = {"algorithms": ALGORITHMS | {"rank_svm": small_config()["algorithms"]["rank_svm"]}}
    run, lines = run_of(shared("disagreement", **more), repeats=2), []
    reusable = [(both, RunFolder(tmp_path / "both"))]
    assert run_into(run, tmp_path / "shared", reusable=reusable, report=lines.append) == []
    assert run_into(run, tmp_path / "apart") == []
    assert contents(tmp_path / "shared") == contents(tmp_path / "apart")
    assert lines == ["reused: 48 users of small"]


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 8},
        {"ties": "all"},
        {"tuning": "own"},
        {"kernel": {"widths": [4]}},
        {"metrics": ["disagreement", "ndcg"]},
        {"algorithms": {"rls": {"lambda": [1]}}},
    ],
)
def test_nothing_is_reused_from_an_experiment_that_differs(changes):
    wide = parse_experiment(shared("disagreement", "squared_error"))
    assert can_reuse(parse_experiment(shared("disagreement")), wide, "rls")
    assert not can_reuse(parse_experiment(shared("disagreement") | changes), wide, "rls")


PART = {"only": ["rls"], "groups": ["15-30"], "repeats": 1}


class TestRunExperiment:
    def test_it_returns_the_rows_of_the_file_that_it_writes(self, tmp_path):
        found = run_experiment(small_config(), output=tmp_path, **PART)
        written = pd.read_csv(tmp_path / "small" / "repeats.csv")
        pd.testing.assert_frame_equal(found, written, check_exact=True)
        assert found["algorithm"].unique().tolist() == ["rls"]

    def test_without_output_nothing_is_kept(self, tmp_path, monkeypatch, capfd):
        monkeypatch.chdir(tmp_path)
        path = tmp_path / "small.yaml"
        path.write_text(yaml.safe_dump(small_config()))
        found = run_experiment(path, overrides=["protocol.test_users=3"], **PART)
        assert found["n_users"].unique().tolist() == [3]
        assert list(tmp_path.iterdir()) == [path]
        assert capfd.readouterr() == ("", "")

    def test_a_mapping_extends_a_config_as_a_file_does(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "small.yaml").write_text(yaml.safe_dump(small_config()))
        options = {"output": tmp_path, "only": ["rls"], "repeats": 1}
        mine = {"extends": "small.yaml", "name": "mine", "protocol": {"groups": [[15, 30]]}}
        rows = run_experiment(mine, **options)
        expected = run_experiment("small.yaml", groups=["15-30"], **options)
        pd.testing.assert_frame_equal(rows, expected, check_exact=True)
        assert mine["extends"] == "small.yaml"
        with pytest.raises(ConfigError, match=r"name: .*") as caught:
            run_experiment({"extends": "demo", "name": "not/a name"})
        assert "extends" not in str(caught.value)

    def test_progress_is_shown_on_demand(self, capfd):
        run_experiment(small_config(), quiet=False, **PART)
        assert "24/24" in capfd.readouterr().err

    def test_errors_are_exceptions(self, tmp_path, monkeypatch):
        with pytest.raises(ConfigError, match="--only rsl: no such algorithm; did you mean rls"):
            run_experiment(small_config(), only=["rsl"])
        with pytest.raises(ConfigError, match="overrides: not allowed with a mapping"):
            run_experiment(small_config(), overrides=["repeats=1"])
        with pytest.raises(ConfigError, match="n-jobs"):
            run_experiment(small_config(), n_jobs=0)
        run_experiment(small_config(), output=tmp_path, **PART)
        with pytest.raises(StoreError, match="another config"):
            run_experiment(small_config(seed=8), output=tmp_path, **PART)
        monkeypatch.setattr(evaluate, "predict_grid", None)
        with pytest.raises(RunError, match="rls failed"):
            run_experiment(small_config(), **PART)


class Terminal(io.StringIO):
    def isatty(self):
        return True


class TestProgress:
    def run_on(self, stream, folder):
        run_small(folder, part=run_of(small_config(), only=["rls"]), progress=stream)
        return stream.getvalue().replace("\r", "\n").splitlines()

    def test_lines_end_with_all_users(self, tmp_path):
        for stream in (io.StringIO(), Terminal()):
            shown = self.run_on(stream, tmp_path / str(stream.isatty()))
            assert shown[1].startswith("small:   0% |")
            assert "100% |" in shown[-1]
            assert "| 96/96 users [00:0" in shown[-1]
            assert shown[-1].endswith(", 00:00 left]")

    def test_nothing_is_shown_of_a_run_that_was_finished(self, tmp_path):
        self.run_on(io.StringIO(), tmp_path)
        assert self.run_on(Terminal(), tmp_path) == []


def test_a_group_runs_though_another_has_too_few_users(tmp_path):
    config = small_config(repeats=1, algorithms={"rls": {"lambda": 1}})
    config["protocol"]["groups"] = [[15, 30], [59, 60]]
    with pytest.raises(TooFewUsersError, match="group 59-60 has"):
        run_of(config)
    assert run_into(run_of(config, groups=["15-30"]), tmp_path) == []
    assert set(pd.read_csv(tmp_path / "repeats.csv")["group"]) == {"15-30"}


def test_units_that_a_run_lacks_are_computed_next_to_reused_ones(tmp_path):
    both, one = run_of(shared("disagreement", "squared_error")), run_of(shared("disagreement"))
    for run, name in ((both, "both"), (one, "apart")):
        assert run_into(run, tmp_path / name) == []
    with closing(sqlite3.connect(tmp_path / "both" / "results.sqlite")) as store, store:
        store.execute("DELETE FROM results WHERE chunk = 1")
    assert run_into(one, tmp_path / "shared", reusable=[(both, RunFolder(tmp_path / "both"))]) == []
    assert contents(tmp_path / "shared") == contents(tmp_path / "apart")
