import math

import numpy as np
import pandas as pd
import pytest
from made_up import write_results
from small_experiment import small_config

from rankpursuit.errors import ResultsError
from rankpursuit.experiments import methods, run_experiment
from rankpursuit.reporting.check import (
    Expectation,
    check_results,
    compare_repeats,
    expectation_folder,
    load_expectations,
)
from rankpursuit.reporting.claims import (
    claims_about,
    published_claims,
    published_tables,
    published_tolerance,
)
from rankpursuit.reporting.results import load_results

CELL = ("disagreement", "rls", "20-40")
TOLERANCE = published_tolerance("disagreement")
CLAIMS = {claim.id: "holds" for claim in claims_about([1]) if claim.tables == (1,)}


def expecting(known=(), claims=None, **changes):
    content = {
        "config": "jester_supervised",
        "table": 1,
        "known_deviations": {"disagreement": {"rls": {"20-40": known}}} if known else {},
        "claims": CLAIMS if claims is None else claims,
    }
    return {1: Expectation.model_validate(content | changes)}


@pytest.fixture
def checked(tmp_path):
    def make(expected, **options):
        write_results(tmp_path / "jester_supervised", **options)
        return check_results(tmp_path, expected)

    return make


def status(check):
    return check.cells.set_index(["metric", "algorithm", "group"]).loc[CELL, "status"]


def moved(by):
    return {"errors": {CELL: 0.425 + by}}


def test_every_cell_of_the_table_is_checked(checked):
    check = checked(expecting())
    assert len(check.cells) == 18
    assert set(check.cells["status"]) == {"within tolerance"}
    assert not check.problems


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_cell_out_of_tolerance_fails_in_either_direction(checked, sign):
    assert status(checked(expecting(), **moved(sign * 0.99 * TOLERANCE))) == "within tolerance"
    check = checked(expecting(), **moved(sign * 1.01 * TOLERANCE))
    assert not check.passed
    assert status(check) == "unexpected"
    assert (~check.cells["passed"]).sum() == 1


@pytest.mark.parametrize(
    ("by", "passed"),
    [(0.05, True), (0.0509, True), (0.0512, False), (0.0488, False), (0.0, False)],
)
def test_a_known_deviation_is_pinned_even_against_the_published_figure(checked, by, passed):
    check = checked(expecting(known=0.475), **moved(by))
    assert status(check) == ("known deviation" if passed else "unexpected")


def test_a_missing_table_fails(tmp_path):
    check = check_results(tmp_path, expecting())
    assert not check.passed
    assert "Table 1: no results in" in check.problems[0]


def test_a_claim_without_a_verdict_on_record_fails(checked):
    check = checked(expecting(claims={}))
    assert not check.passed
    lacking = {line for line in check.problems if line.endswith("no verdict on record")}
    assert len(lacking) == len(CLAIMS)


@pytest.mark.parametrize(("on_record", "passed"), [("holds", True), ("does not hold", False)])
def test_a_verdict_that_is_not_the_one_on_record_fails(checked, on_record, passed):
    name = "jester-pursuit-beats-regression"
    check = checked(expecting(claims=CLAIMS | {name: on_record}))
    assert check.claims.set_index("id").loc[name, "passed"] == passed


@pytest.mark.parametrize("small", [{"repeats": 9}, {"n_users": 299}])
def test_a_run_that_is_too_small_fails(checked, small):
    check = checked(expecting(), **small)
    assert "too small to check" in check.problems[0]


def test_only_narrows_on_purpose_and_refuses_other_names(tmp_path):
    write_results(tmp_path / "jester_supervised")
    both = expecting() | {5: expecting(config="jester_crrp", table=5, claims={})[1]}
    assert len(check_results(tmp_path, both, only=["jester_supervised"]).cells) == 18
    assert any("Table 5" in line for line in check_results(tmp_path, both).problems)
    with pytest.raises(ResultsError, match="no such table; did you mean jester_crrp"):
        check_results(tmp_path, both, only=["jester"])


PAIR = 1 / math.comb(25, 2) / 300
"""What a pair of a user with 25 test items is worth in a mean over 300 users."""


def compared(tmp_path, again, at_record=None):
    """Compare the first repeat of a run of Table 1 with `again`, a function of its rows."""
    run = load_results(write_results(tmp_path / "jester_supervised"))
    first = run.repeats.query("repeat == 1").reset_index(drop=True)
    return compare_repeats(run, again(first.copy()), 1, at_record).set_index(["algorithm", "group"])


def with_values(**values):
    def change(rows):
        for column, value in values.items():
            rows.loc[0, column] = value(rows.loc[0, column]) if callable(value) else value
        return rows

    return change


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(("pairs", "passed"), [(0.0, True), (0.9, True), (1.1, False)])
def test_an_error_computed_again_may_differ_by_one_pair_of_one_user(tmp_path, sign, pairs, passed):
    frame = compared(tmp_path, with_values(test_error=lambda error: error + sign * pairs * PAIR))
    assert frame.iloc[0]["passed"] == passed
    assert frame.iloc[0]["difference"] == pytest.approx(pairs * PAIR, abs=1e-12)
    assert frame["passed"].iloc[1:].all()


def test_a_squared_error_computed_again_may_differ_by_rounding_only(tmp_path):
    run = load_results(write_results(tmp_path / "jester_crrp", table=5))
    again = run.repeats.assign(test_error=run.repeats["test_error"] * (1 + 2e-6))
    frame = compare_repeats(run, again, 1, None)
    assert not frame.loc[frame["metric"] == "squared_error", "passed"].any()
    assert frame.loc[frame["metric"] == "disagreement", "passed"].all()


@pytest.mark.parametrize(
    ("error", "holdout", "passed"),
    [(0.0, 0.0, True), (0.9, 0.9, True), (1.1, 0.0, False), (0.0, 1.1, False)],
)
def test_other_parameters_pass_if_those_on_record_are_as_good_to_a_pair(
    tmp_path, error, holdout, passed
):
    asked = []

    def at_record(cell):
        asked.append((cell["algorithm"], cell["group"], cell["width"]))
        change = {"test_error": error * PAIR, "holdout_error": holdout * PAIR}
        return pd.DataFrame([cell | {key: cell[key] + by for key, by in change.items()}])

    other = with_values(width=256.0, test_error=0.9)
    frame = compared(tmp_path, other, at_record)
    assert asked == [(*frame.index[0], 64.0)]
    assert frame.iloc[0]["choice"].startswith("width 256 instead of 64")
    assert frame.iloc[0]["passed"] == passed


def test_a_cell_that_was_not_computed_again_fails(tmp_path):
    frame = compared(tmp_path, lambda rows: rows.query("algorithm == 'rls'"))
    assert frame.loc["rls", "passed"].all()
    assert not frame.drop(index="rls", level=0)["passed"].any()


def wrong_factor(solve):
    def solve_wrongly(kernel, scores, preferences, grid):
        return solve(kernel, scores, preferences, {"alpha": 2.0 * np.asarray(grid["alpha"])})

    return solve_wrongly


def test_a_solver_with_a_wrong_factor_fails(tmp_path, monkeypatch):
    config = small_config(algorithms={"rank_rls": {"lambda": [0.125, 0.25, 0.5, 1, 2, 4, 8]}})
    run_experiment(config, output=tmp_path)
    run = load_results(tmp_path / config["name"])

    def at_record(cell):
        grids = {"lambda": [cell["lambda"]]}
        fixed = small_config(algorithms={"rank_rls": grids})
        fixed["kernel"]["widths"] = [cell["width"]]
        return run_experiment(fixed)

    assert compare_repeats(run, run_experiment(config), 2, at_record)["passed"].all()
    wrong = wrong_factor(methods.least_squares_grid)
    monkeypatch.setattr(methods, "least_squares_grid", wrong)
    frame = compare_repeats(run, run_experiment(config), 2, at_record)
    assert not frame["passed"].all()


def test_the_package_expects_all_five_tables_with_a_verdict_on_every_claim():
    found = load_expectations(expectation_folder())
    assert set(found) == set(published_tables())
    verdicts = [name for one in found.values() for name in one.claims]
    assert sorted(verdicts) == sorted(claim.id for claim in published_claims())


def test_a_missing_cell_fails(checked):
    check = checked(
        expecting(), leave_out=lambda row: row["algorithm"] == "rls" and row["group"] == "20-40"
    )
    assert not check.passed


def test_a_folder_without_expectations_is_refused(tmp_path):
    with pytest.raises(ResultsError, match="no expected results"):
        load_expectations(tmp_path)
