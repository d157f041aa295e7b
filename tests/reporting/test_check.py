import pytest
import yaml
from made_up import write_results

from rankpursuit.errors import ResultsError
from rankpursuit.reporting.check import check_results, check_tables
from rankpursuit.reporting.expected import CellKey, Deviation, Expected, Tolerance, load_expected
from rankpursuit.reporting.published import published_claims, published_tables
from rankpursuit.reporting.results import load_results

CELL = CellKey(1, "disagreement", "rls", "20-40")
TOLERANCE = 0.007


def expecting(known=(), claims=None):
    tolerance = Tolerance(tolerance=TOLERANCE, reason="a test")
    tables = {1: {"disagreement": tolerance}}
    return Expected(tables=tables, known_deviations=known, claims=claims or {})


@pytest.fixture
def checked(tmp_path):
    def make(expected, *, allow_small=False, **options):
        run = load_results(write_results(tmp_path / "run", **options))
        return check_results([run], expected, allow_small=allow_small)

    return make


def status(check, cell=CELL):
    return next(one.status for one in check.cells if one.cell == cell)


def moved(by):
    return {"errors": {CELL[1:]: 0.425 + by}}


def test_every_cell_of_the_table_is_checked(checked):
    check = checked(expecting())
    assert check.passed
    assert len(check.cells) == 18
    assert {one.status for one in check.cells} == {"within tolerance"}


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_cell_out_of_tolerance_fails_in_either_direction(checked, sign):
    assert checked(expecting(), **moved(sign * 0.99 * TOLERANCE)).passed
    check = checked(expecting(), **moved(sign * 1.01 * TOLERANCE))
    assert not check.passed
    assert status(check) == "unexpected"
    assert sum(not one.passed for one in check.cells) == 1


@pytest.mark.parametrize(
    ("by", "passed"),
    [(0.05, True), (0.0509, True), (0.0512, False), (0.0488, False), (0.0, False)],
)
def test_a_known_deviation_is_pinned_even_against_the_published_figure(checked, by, passed):
    known = Deviation(**CELL._asdict(), measured=0.475, tolerance=0.001, reason="why")
    check = checked(expecting([known]), **moved(by))
    assert check.passed == passed
    assert status(check) == ("known deviation" if passed else "unexpected")


def test_a_missing_cell_fails(checked):
    check = checked(
        expecting(), leave_out=lambda row: row["algorithm"] == "rls" and row["group"] == "20-40"
    )
    assert not check.passed
    assert status(check) == "missing"


@pytest.mark.parametrize("small", [{"repeats": 9}, {"n_users": 299}])
def test_a_small_run_fails_unless_allowed_and_its_cells_are_only_listed(checked, small):
    for by in (0.0, 0.05):
        check = checked(expecting(), **small, **moved(by))
        assert not check.passed
        assert status(check) == "too small"
        assert "too small to check" in check.notes[0]
        assert checked(expecting(), allow_small=True, **small, **moved(by)).passed


@pytest.mark.parametrize(("on_record", "passed"), [("holds", True), ("does not hold", False)])
def test_a_verdict_that_is_not_the_one_on_record_fails(checked, on_record, passed):
    claims = {"jester-pursuit-beats-regression": on_record}
    assert checked(expecting(claims=claims)).passed == passed


def test_a_claim_without_a_verdict_on_record_cannot_fail_and_says_so(checked):
    check = checked(expecting())
    assert any(one.verdict.outcome == "does not hold" for one in check.claims)
    assert "not on record" in {
        row[1].text for row in check_tables(check)[-1].blocks["claim"].values()
    }


def test_claims_about_tables_that_were_not_given_are_left_out(checked):
    ids = {one.verdict.claim.id for one in checked(expecting()).claims}
    assert "jester-families-alike" in ids
    assert "jester-fewer-scores-cost" not in ids


def test_two_runs_of_one_table_are_refused(tmp_path):
    runs = [load_results(write_results(tmp_path / name)) for name in "ab"]
    with pytest.raises(ResultsError, match="both of Table 1"):
        check_results(runs, expecting())


def test_a_run_of_no_table_is_noted_beside_others_and_refused_alone(tmp_path):
    other = load_results(write_results(tmp_path / "demo", table=None))
    one = load_results(write_results(tmp_path / "one"))
    assert (
        "demo: reproduces no published table" in check_results([other, one], expecting()).notes[0]
    )
    with pytest.raises(ResultsError, match="nothing to check"):
        check_results([other], expecting())


def test_the_package_has_a_tolerance_for_every_table_and_a_verdict_on_every_claim():
    expected = load_expected()
    every = {(n, metric) for n, table in published_tables().items() for metric in table.cells}
    assert set(expected.tolerances) == every
    assert set(expected.claims) == {claim.id for claim in published_claims()}
    for cell, known in expected.known.items():
        published = published_tables()[cell.table].value(*cell[1:])
        assert abs(known.measured - published) > expected.tolerances[cell.table, cell.metric] - 1e-3


DEVIATION = {**CELL._asdict(), "measured": 0.4, "tolerance": 0.001, "reason": "why"}
GOOD = {
    "tables": {1: {"disagreement": {"tolerance": 0.01, "reason": "spread"}}},
    "known_deviations": [DEVIATION],
    "claims": {"jester-families-alike": "holds"},
}


def test_expectations_are_read_from_a_file(tmp_path):
    (tmp_path / "e.yaml").write_text(yaml.safe_dump(GOOD))
    expected = load_expected(tmp_path / "e.yaml")
    assert expected.tolerances == {(1, "disagreement"): 0.01}
    assert expected.known == {CELL: Deviation(**DEVIATION)}
    assert expected.claims == {"jester-families-alike": "holds"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"claims": {"no-such": "holds"}}, "claims.no-such: no claim of the paper; known are crrp"),
        (
            {"claims": {"jester-family-alike": "holds"}},
            "claims.jester-family-alike: no claim .* did you mean jester-families-alike",
        ),
        (
            {"claims": {"jester-families-alike": "maybe"}},
            "claims.jester-families-alike: expected holds, partly, does not hold or undecided, got "
            '"maybe"',
        ),
        (
            {"tables": {1: {"disagreement": {"tolerance": 0.1}}}},
            "tables.1.disagreement.reason: required, but not given",
        ),
        (
            {"tables": {1: {"disagreement": {"reason": "none"}}}},
            "tables.1.disagreement.tolerance: required, but not given",
        ),
        (
            {"tables": {1: {"disagreement": {"tolerance": -1, "reason": "x"}}}},
            "tables.1.disagreement.tolerance: expected a number of at least 0, got -1",
        ),
        (
            {"tables": {1: {"disagreement": {"tolerance": 1, "reason": "x", "reasons": "y"}}}},
            "tables.1.disagreement.reasons: unknown key; did you mean reason",
        ),
        ({"tables": {6: {}}}, "tables.6: no table of the paper; it has 1, 2, 3, 4, 5"),
        ({"tables": {1: {"error": {}}}}, "tables.1.error: no metric of the paper"),
        (
            {"known_deviations": [DEVIATION | {"group": "0-1"}]},
            r"known_deviations\[0\]: .*'0-1'\) is no cell of the paper",
        ),
        (
            {"known_deviations": [DEVIATION, DEVIATION | {"reason": " "}]},
            r'known_deviations\[1\].reason: expected text, got " "',
        ),
        (
            {"known_deviations": [DEVIATION | {"measured": "x"}]},
            r'known_deviations\[0\].measured: expected a number, got "x"',
        ),
        ({"tables": 3}, "tables: expected a mapping, got 3"),
        ({"more": 3}, "more: unknown key; known are tables, known_deviations, claims"),
    ],
)
def test_wrong_expectations_are_refused_with_their_key(tmp_path, change, said):
    (tmp_path / "e.yaml").write_text(yaml.safe_dump(GOOD | change))
    with pytest.raises(ResultsError, match=f"e.yaml: {said}"):
        load_expected(tmp_path / "e.yaml")


def test_all_faults_of_a_file_are_told_at_once(tmp_path):
    wrong = {"tables": {1: {"disagreement": {}}}, "claims": {"no-such": "holds"}}
    (tmp_path / "e.yaml").write_text(yaml.safe_dump(wrong))
    with pytest.raises(ResultsError) as caught:
        load_expected(tmp_path / "e.yaml")
    for key in ("tolerance", "reason"):
        assert f"tables.1.disagreement.{key}: required, but not given; " in str(caught.value)
    assert "; known_deviations: required, but not given; " in str(caught.value)
    assert "; claims.no-such: no claim of the paper" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such file"),
        ("a: [", "line 1: expected the node content"),
        ("- a", "expected a mapping with tables"),
    ],
)
def test_an_unreadable_file_of_expectations_is_refused(tmp_path, content, said):
    if content:
        (tmp_path / "e.yaml").write_text(content)
    with pytest.raises(ResultsError, match=said):
        load_expected(tmp_path / "e.yaml")
