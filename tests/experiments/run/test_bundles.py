import pytest
from rp_run import RESULTS
from small_experiment import run_into, run_of, small_config

from rankpursuit.experiments.evaluate import AlgorithmResult, UnitResult
from rankpursuit.experiments.run import bundles
from rankpursuit.experiments.run.bundles import SECONDS, Pace, in_bundles


@pytest.fixture(scope="module")
def run():
    labels = ("rls", "ranking_pursuit")
    algorithms = {label: small_config()["algorithms"][label] for label in labels}
    protocol = small_config()["protocol"] | {"test_users": 35, "holdout_users": 25}
    return run_of(small_config(algorithms=algorithms, protocol=protocol, repeats=1))


def jobs_of(run):
    return [((unit,), ("rls",), {}) for part in run.plan.units.values() for unit in part]


def pace_of(unit, seconds):
    pace = Pace()
    pace.add(UnitResult(unit, {"rls": AlgorithmResult(seconds=seconds)}, {}))
    return pace


def test_units_of_unknown_length_are_jobs_of_their_own(run, monkeypatch):
    monkeypatch.setattr(bundles, "_TAIL", 1)
    assert list(in_bundles(jobs_of(run), Pace())) == jobs_of(run)


def test_neighbours_of_a_cell_and_role_make_jobs_of_about_a_second(run, monkeypatch):
    monkeypatch.setattr(bundles, "_TAIL", 1)
    jobs = jobs_of(run)
    unit = jobs[0][0][0]
    found = list(in_bundles(jobs, pace_of(unit, SECONDS / 2)))
    assert [unit for units, _, _ in found for unit in units] == [unit for (unit,), _, _ in jobs]
    assert {len(units) for units, _, _ in found if units[0].role == unit.role} == {1, 2}
    assert all(len(units) == 1 for units, _, _ in found if units[0].role != unit.role)
    for units, _, _ in found:
        assert len({(unit.cell, unit.role) for unit in units}) == 1


def test_small_plans_have_one_unit_a_job(run):
    jobs = jobs_of(run)
    assert list(in_bundles(jobs, pace_of(jobs[0][0][0], 1e-6))) == jobs


def test_bundles_give_the_bytes_of_single_units(run, tmp_path, monkeypatch):
    sizes = []

    def noted(jobs, pace):
        for job in in_bundles(jobs, pace):
            sizes.append(len(job[0]))
            yield job

    monkeypatch.setattr("rankpursuit.experiments.run.runner.in_bundles", noted)
    assert run_into(run, tmp_path / "single") == []
    assert set(sizes) == {1}
    monkeypatch.setattr(bundles, "_TAIL", 1)
    assert run_into(run, tmp_path / "bundles") == []
    assert max(sizes) > 1
    for name in RESULTS:
        assert (tmp_path / "bundles" / name).read_bytes() == (
            tmp_path / "single" / name
        ).read_bytes()
