from dataclasses import replace

import pytest
from made_up import write_results

from rankpursuit.reporting.claims import (
    REPLICATED,
    RULES,
    judge_claims,
    published_claims,
    published_tables,
)
from rankpursuit.reporting.results import load_results
from rankpursuit.reporting.statistics import bootstrap_interval
from rankpursuit.reporting.tables import artifact_table, claims_table

CRRP = "combined_ranking_regression_pursuit"
SS = "semi_supervised_ranking_pursuit"
SPARSER = "jester-pursuit-sparser"
ALIKE = {"rank_svm": 0.4, "rank_rls": 0.4, "sparse_rank_rls": 0.4, "ranking_pursuit": 0.4}
ALIKE |= {"rls": 0.5, "kernel_matching_pursuit": 0.5}


def alike(**changed):
    """Methods of a family with the same errors, but for those that are given."""
    return {"errors": ALIKE | changed}


def cell(metric, label, group, error):
    return {"errors": {(metric, label, group): error}}


def basis(**sizes):
    return {"basis": sizes}


PARTLY, FAILS = "partly", "does not hold"
COMPARABLE = "jester-pursuit-comparable"
CASES = [
    # claim, what makes it hold, what makes it fail, and how far
    ("jester-ranking-beats-regression", alike(), alike(rls=0.4), PARTLY),
    ("jester-ranking-beats-regression", {}, {"noise": 0.05}, FAILS),
    ("jester-families-alike", alike(), alike(rls=0.6), PARTLY),
    ("jester-families-alike", alike(), alike(rank_svm=0.401, rank_rls=0.402, rls=0.504), FAILS),
    ("jester-pursuit-beats-regression", {}, {"errors": {"ranking_pursuit": 0.5}}, FAILS),
    (COMPARABLE, alike(ranking_pursuit=0.3), alike(ranking_pursuit=0.41), FAILS),
    # worse by a small difference is comparable
    (COMPARABLE, alike(ranking_pursuit=0.404), alike(ranking_pursuit=0.404, rank_svm=0.39), PARTLY),
    # 29.75% fewer than 40 is 30% fewer; 75% fewer is not
    (SPARSER, basis(ranking_pursuit=28.1), basis(ranking_pursuit=29), FAILS),
    (SPARSER, basis(ranking_pursuit=28), basis(ranking_pursuit=10), FAILS),
    (SPARSER, basis(ranking_pursuit=28), basis(ranking_pursuit=28, rank_svm=30), PARTLY),
    ("jester-chosen-beats-random", {"noise": 1e-4}, {"errors": {"ranking_pursuit": 0.42}}, FAILS),
    ("jester-semi-supervised-best", {}, cell("disagreement", SS, "60-80", 0.392), PARTLY),
    ("crrp-near-specialists", {}, cell("squared_error", CRRP, "20-40", 27.5), PARTLY),
    ("crrp-near-specialists", {}, cell("disagreement", CRRP, "40-60", 0.412), PARTLY),
    ("crrp-no-better-than-specialists", {}, cell("squared_error", CRRP, "60-80", 14.0), PARTLY),
    ("crrp-beats-ranking-at-regression", {}, cell("squared_error", CRRP, "20-40", 34.5), PARTLY),
    ("crrp-beats-regression-at-ranking", {}, cell("disagreement", CRRP, "60-80", 0.382), PARTLY),
]


def verdict(folder, claim_id, **options):
    (claim,) = (claim for claim in published_claims() if claim.id == claim_id)
    run = load_results(write_results(folder, table=claim.tables[0], **options))
    return next(one for one in judge_claims([run]) if one.claim.id == claim_id)


@pytest.mark.parametrize(("claim", "holding", "failing", "outcome"), CASES)
def test_a_claim_holds_partly_or_not_as_the_numbers_say(tmp_path, claim, holding, failing, outcome):
    found = verdict(tmp_path / "a", claim, **holding)
    assert found.outcome == "holds", [one.text for one in found.evidence if not one.agrees]
    assert all(one.agrees for one in found.evidence)
    found = verdict(tmp_path / "b", claim, **failing)
    assert found.outcome == outcome
    assert not all(one.agrees for one in found.evidence)


@pytest.mark.parametrize(("noise", "outcome"), [(1e-6, "holds"), (0.01, "does not hold")])
def test_means_that_are_lower_by_chance_prove_nothing(tmp_path, noise, outcome):
    errors = ALIKE | {"ranking_pursuit": 0.3999}
    found = verdict(tmp_path / "a", "jester-chosen-beats-random", errors=errors, noise=noise)
    assert found.outcome == outcome
    assert ("do not differ significantly" in found.sentence) == (outcome != "holds")


def with_savings(folder, savings):
    """Return the verdict on 30% fewer basis functions with these savings in turn over repeats."""
    results = load_results(write_results(folder))
    rows = results.repeats.astype({"basis_functions": float})
    own = rows["algorithm"] == "ranking_pursuit"
    turns = rows.loc[own, "repeat"].map(lambda repeat: savings[repeat % len(savings)])
    rows.loc[own, "basis_functions"] = 40 * (1 - turns)
    judged = judge_claims([replace(results, repeats=rows)])
    return next(one for one in judged if one.claim.id == SPARSER)


@pytest.mark.parametrize(
    ("savings", "outcome"),
    [
        ([0.05, 0.43], "holds"),  # 24%, with an interval of 12 to 36%
        ([0.23, 0.25], "does not hold"),  # 24%, with an interval of 23 to 25%
        ([0.17, 0.55], "holds"),  # 36%
        ([0.71, 0.75], "does not hold"),  # 73%
    ],
)
def test_a_saving_agrees_if_its_interval_contains_the_published_one(tmp_path, savings, outcome):
    assert with_savings(tmp_path / "a", savings).outcome == outcome


@pytest.mark.parametrize(
    "claim", [claim for claim in published_claims() if len(claim.tables) == 1], ids=lambda c: c.id
)
def test_a_claim_is_undecided_from_five_repeats_and_decided_from_six(tmp_path, claim):
    few = verdict(tmp_path / "a", claim.id, repeats=5)
    assert (few.outcome, few.reason) == ("undecided", "5 repeats; tests need 6")
    assert verdict(tmp_path / "b", claim.id, repeats=6).outcome != "undecided"


def test_a_claim_is_undecided_without_an_algorithm(tmp_path):
    found = verdict(
        tmp_path / "a",
        "jester-pursuit-comparable",
        leave_out=lambda row: row["algorithm"] == "rank_svm" and row["group"] == "40-60",
    )
    assert (found.outcome, found.reason) == ("undecided", "40-60 lacks RankSVM")


def test_sparser_than_nothing_is_undecided(tmp_path):
    found = verdict(tmp_path / "a", SPARSER, basis={"rank_svm": 0})
    assert found.outcome == "undecided"
    assert "RankSVM has no basis functions" in found.reason


@pytest.mark.parametrize(("errors", "outcome"), [({}, "holds"), ({"rls": 0.3}, "partly")])
def test_a_claim_about_two_tables_needs_both(tmp_path, errors, outcome):
    full = load_results(write_results(tmp_path / "a", table=1))
    half = load_results(write_results(tmp_path / "b", table=2, errors=errors))

    def judged(*runs):
        return next(v for v in judge_claims(runs) if v.claim.id == "jester-fewer-scores-cost")

    assert judged(full, half).outcome == outcome
    assert (judged(full, half).runs, judged(full, half).absent) == ((full, half), [])
    assert judged(half).absent == [1]
    assert judged(half).reason == "needs results of Table 1 too"


def test_other_runs_decide_claims_about_two_tables_and_add_none(tmp_path):
    runs = [load_results(write_results(tmp_path / str(n), table=n)) for n in (1, 2)]
    both, first = judge_claims(runs), judge_claims(runs[:1], others=runs[1:])
    about_first = [one for one in both if 1 in one.claim.tables]
    assert [(v.claim.id, v.outcome) for v in first] == [
        (v.claim.id, v.outcome) for v in about_first
    ]
    assert len(about_first) < len(both)


def test_a_verdict_has_a_size_with_an_interval_and_a_sentence(tmp_path):
    found = verdict(tmp_path / "a", "jester-pursuit-beats-regression", noise=0)
    assert found.size.replace("\u2212", "-") == "-0.0132 (-0.0132 to -0.0132)"
    assert found.sentence == (
        "The error of ranking pursuit is significantly lower than that of regression methods in "
        "every comparison, by 0.0080 to 0.0180."
    )
    found = verdict(tmp_path / "b", "crrp-near-specialists", noise=0)
    assert found.size.startswith("Ranking task: +0.0030 (+0.0030 to +0.0030); Regression task: ")
    assert "Ranking task: the error of CRRP is significantly higher than that" in found.sentence
    assert "by 0.0010 to 0.0040, small differences. Regression task: " in found.sentence


def test_a_sentence_says_against_whom_it_is_better_worse_and_not_told_apart(tmp_path):
    """As many comparisons are better as worse, so that their mean says nothing."""
    errors = dict.fromkeys(published_tables()[2].cells["disagreement"], 0.42)
    errors |= {"kernel_matching_pursuit": 0.43, "rank_svm": 0.416, "rank_rls": 0.4142}
    errors |= {("disagreement", "rank_rls", "60-80"): 0.42, ("disagreement", "rls", "20-40"): 0.43}
    found = verdict(tmp_path / "a", "jester-semi-supervised-best", errors=errors, noise=1e-7)
    assert found.sizes["disagreement"].mean == pytest.approx(0, abs=1e-3)
    assert found.sentence == (
        "SS Ranking Pursuit is significantly better than RLS (20-40) and Matching Pursuit (all), "
        "by 0.0100; significantly worse than RankSVM (all) and RankRLS (20-40, 40-60), by 0.0040 "
        "to 0.0058; not told apart from Sparse RankRLS and Ranking Pursuit (all), RLS (40-60, "
        "60-80) and RankRLS (60-80)."
    )


def test_methods_with_the_same_findings_share_a_sentence(tmp_path):
    errors = ALIKE | {"rls": 0.402, "sparse_rank_rls": 0.401, "ranking_pursuit": 0.405}
    found = verdict(tmp_path / "a", "jester-ranking-beats-regression", errors=errors, noise=0)
    assert found.sentence == (
        "RankSVM, RankRLS and Sparse RankRLS are significantly better than RLS and Matching "
        "Pursuit, by 0.0010 to 0.1000. Ranking Pursuit is significantly better than Matching "
        "Pursuit, by 0.0950; significantly worse than RLS, by 0.0030, small differences."
    )


def test_the_size_is_that_of_the_mean_over_comparisons_of_each_repeat(tmp_path):
    found = verdict(tmp_path / "a", "jester-pursuit-beats-regression", noise=0.003)
    by_hand = found.runs[0].repeats.pivot_table(
        index="repeat", columns="algorithm", values="test_error"
    )
    second = by_hand[["rls", "kernel_matching_pursuit"]].mean(axis=1)
    differences = (by_hand["ranking_pursuit"] - second).to_numpy()
    (size,) = found.sizes.values()
    assert size.mean == pytest.approx(differences.mean())
    assert size.interval == pytest.approx(bootstrap_interval(differences))


def test_a_sparsity_is_told_in_percent(tmp_path):
    found = verdict(tmp_path / "a", SPARSER, basis={"ranking_pursuit": 30})
    assert found.size.replace("\u2212", "-") == "-25% (-25% to -25%)"
    interval = "(95% interval of the saving: 25% to 25%; paper: 30%)"
    assert found.sentence == (
        f"Ranking Pursuit uses 25.0% fewer basis functions than RankSVM {interval}; "
        f"Ranking Pursuit uses 25.0% fewer basis functions than RankRLS {interval}."
    )


def test_more_basis_functions_than_one_and_fewer_than_another_do_not_cancel(tmp_path):
    sizes = {"ranking_pursuit": 30, "rank_svm": 20, "rank_rls": 60}
    found = verdict(tmp_path / "a", SPARSER, basis=sizes)
    assert "uses 50.0% more basis functions than RankSVM" in found.sentence
    assert "uses 50.0% fewer basis functions than RankRLS" in found.sentence


def test_every_rule_is_used_and_every_one_has_a_case_that_fails():
    rules = {claim.id: claim.rule for claim in published_claims()}
    assert set(rules.values()) == set(RULES)
    assert {rules[case[0]] for case in CASES} | {"costs_more"} == set(RULES)


def test_table_of_claims_has_a_row_for_each_sentence_of_the_paper(tmp_path):
    verdicts = judge_claims([load_results(write_results(tmp_path / "a", table=3))])
    full, brief = claims_table(verdicts, verdicts[0].runs[0]), claims_table(verdicts)
    assert [len(row) for row in full.blocks["the paper says"].values()] == [4] * 4
    assert [len(row) for row in brief.blocks["the paper says"].values()] == [2] * 4
    assert list(full.blocks["the paper says"]) == [f"Table 3: {one.claim.says}" for one in verdicts]


def test_a_reviewer_gets_command_minutes_tolerance_and_outcome_of_each_claim(tmp_path):
    folder = write_results(tmp_path / "jester_supervised", table=1)
    (folder / "timings.csv").write_text("seconds\n90\n90\n")
    table = artifact_table(judge_claims([load_results(folder)]))
    rows = {name: [x.text for x in cells] for name, cells in table.blocks["the paper says"].items()}
    sparser = next(row for name, row in rows.items() if "30% sparser" in name)
    assert sparser[:2] == ["rp-run jester_supervised", "3"]
    assert sparser[2] == "in the 95% interval of the measured saving"
    assert {row[3] for row in rows.values()} <= set(REPLICATED.values())
    two_tables = next(row for name, row in rows.items() if name.startswith("Tables 1 and 2"))
    assert two_tables[3] == "not attempted"
