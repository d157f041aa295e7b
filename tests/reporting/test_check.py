import pandas as pd
import pytest
from made_up import write_results

from rankpursuit.errors import ResultsError
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

CELL = ("disagreement", "rls", "20-40")
TOLERANCE = published_tolerance("disagreement")
CLAIMS = {claim.id: "holds" for claim in claims_about([1]) if claim.tables == (1,)}


def expecting(known=(), claims=None, **changes):
    content = {
        "config": "jester_supervised",
        "table": 1,
        "recomputed": {"default": 1e-6, "rls": 1e-3},
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


def test_a_missing_cell_fails(checked):
    check = checked(
        expecting(), leave_out=lambda row: row["algorithm"] == "rls" and row["group"] == "20-40"
    )
    assert not check.passed


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


def test_cells_that_an_earlier_table_has_are_counted_there(tmp_path):
    write_results(tmp_path / "jester_crrp", table=5)
    expected = {5: expecting(config="jester_crrp", table=5, claims={})[1]}
    cells = check_results(tmp_path, expected).cells
    assert len(cells) == 24
    assert set(cells.loc[cells["metric"] == "disagreement", "algorithm"]) == {
        "combined_ranking_regression_pursuit"
    }
    assert sum(len(list(table.each_cell())) for table in published_tables().values()) == 102


def test_only_narrows_on_purpose_and_refuses_other_names(tmp_path):
    write_results(tmp_path / "jester_supervised")
    both = expecting() | {5: expecting(config="jester_crrp", table=5, claims={})[1]}
    assert len(check_results(tmp_path, both, only=["jester_supervised"]).cells) == 18
    assert any("Table 5" in line for line in check_results(tmp_path, both).problems)
    with pytest.raises(ResultsError, match="no such table; did you mean jester_crrp"):
        check_results(tmp_path, both, only=["jester"])


def repeats(change=0.0, label="rank_rls"):
    frame = pd.DataFrame(
        [
            {
                "metric": "disagreement",
                "algorithm": name,
                "group": "20-40",
                "repeat": repeat,
                "test_error": 0.4,
                "lambda": 2.0,
                "C": None,
            }
            for name in ("rls", "rank_rls")
            for repeat in (1, 2)
        ]
    )
    frame.loc[(frame["algorithm"] == label) & (frame["repeat"] == 1), "test_error"] *= 1 + change
    return frame


@pytest.mark.parametrize(
    ("label", "change", "passed"),
    [
        ("rank_rls", 0.9e-6, True),
        ("rank_rls", 1.1e-6, False),
        ("rank_rls", -1.1e-6, False),
        ("rls", 0.9e-3, True),
        ("rls", 1.1e-3, False),
    ],
)
def test_a_recomputed_repeat_must_agree_to_the_tolerance_of_its_algorithm(label, change, passed):
    (expected,) = expecting().values()
    frame = compare_repeats(repeats(), repeats(change, label), expected, 1)
    assert len(frame) == 2 + 2  # of the second repeat, the reference's rows are left out
    assert frame.loc[frame["repeat"] == 1, "passed"].all() == passed


@pytest.mark.parametrize(("label", "passed"), [("rank_rls", False), ("rls", True)])
def test_another_choice_fails_unless_the_algorithm_has_a_tolerance_of_its_own(label, passed):
    (expected,) = expecting().values()
    again = repeats()
    again.loc[again["algorithm"] == label, "lambda"] = 1.0
    frame = compare_repeats(repeats(), again, expected, 2)
    assert frame["difference"].max() == 0.0
    assert frame["passed"].all() == passed


def test_a_cell_that_was_not_computed_again_fails():
    (expected,) = expecting().values()
    again = repeats().query("algorithm == 'rls' and repeat == 1")
    frame = compare_repeats(repeats(), again, expected, 1)
    assert dict(zip(frame["algorithm"], frame["passed"], strict=True)) == {
        "rls": True,
        "rank_rls": False,
    }


def test_the_package_expects_all_five_tables_with_a_verdict_on_every_claim():
    found = load_expectations(expectation_folder())
    assert set(found) == set(published_tables())
    verdicts = [name for one in found.values() for name in one.claims]
    assert sorted(verdicts) == sorted(claim.id for claim in published_claims())


def test_a_folder_without_expectations_is_refused(tmp_path):
    with pytest.raises(ResultsError, match="no expected results"):
        load_expectations(tmp_path)
