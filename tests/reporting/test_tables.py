from dataclasses import replace

import pytest
from made_up import GROUPS, seal, write_results

from rankpursuit.experiments.config import load_experiment
from rankpursuit.reporting.claims import judge_claims
from rankpursuit.reporting.figures import draw_figures
from rankpursuit.reporting.notes import (
    SYNTHETIC_NOTE,
    config_changes,
    is_full_size,
    missing_notes,
    size_note,
)
from rankpursuit.reporting.render import to_text
from rankpursuit.reporting.results import load_results
from rankpursuit.reporting.tables import (
    all_tables,
    claims_table,
    error_table,
    parameter_table,
    significance_table,
    significance_tables,
    sparsity_table,
)


@pytest.fixture
def run(tmp_path):
    def make(**options):
        return load_results(write_results(tmp_path / "run", **options))

    return make


def texts(row):
    return [f"{value.text}{value.spread}" for value in row]


def block(table, at=0):
    """Return the rows of a block."""
    return list(table.blocks.values())[at]


def test_errors_are_means_and_deviations_over_repeats(run):
    table = error_table(run(noise=0))
    rows = block(table)
    assert table.columns == GROUPS
    # five repeats 0.002 above, five below: the sample deviation is 0.002 * sqrt(10 / 9)
    assert texts(rows["RankRLS"]) == ["0.409 ± 0.002", "0.407 ± 0.002", "0.374 ± 0.002"]
    assert rows["RankRLS"][0].numbers["standard_deviation"] == pytest.approx(0.0021082, abs=1e-6)
    best = {title for title, row in rows.items() if row[1].best}
    assert best == {"RankSVM", "Ranking Pursuit"}


def test_rows_stand_in_the_order_of_the_paper_and_table_5_has_two_blocks(run):
    table = error_table(run(table=5))
    assert list(table.blocks) == ["Ranking task", "Regression task"]
    names = ["RLS", "Matching Pursuit", "RankSVM", "RankRLS", "Sparse RankRLS", "Ranking Pursuit"]
    assert all(list(rows) == [*names, "CRRP"] for rows in table.blocks.values())
    assert block(table, 1)["CRRP"][2].text == "17.3"


def test_published_figures_and_differences_stand_beside_errors(run):
    table = error_table(run(noise=0, errors={"rls": 0.42}), compare=True)
    assert table.columns[:4] == ("20-40", "paper", "diff.", "40-60")
    cells = block(table)["RLS"]
    assert texts(cells) == [
        *("0.420 ± 0.002", "0.425", "−0.005"),  # noqa: RUF001
        *("0.420 ± 0.002", "0.419", "+0.001"),
        *("0.420 ± 0.002", "0.383", "+0.037"),
    ]


def test_a_full_run_and_a_small_one_cannot_be_mistaken(run):
    full, small = run(), run(n_users=299, repeats=9)
    assert is_full_size(full)
    assert not is_full_size(small)
    for make in (error_table, sparsity_table, parameter_table):
        assert not any("NOT the paper's size" in note for note in make(full).notes)
        assert "only 299 users, 9 repeats" in make(small).caption
        assert any("NOT the paper's size: 299 users" in note for note in make(small).notes)


def test_at_least_is_said_only_where_cells_differ(run):
    def gone(row):
        return row["repeat"] == 3 and row["algorithm"] == "rls"

    even, uneven = run(repeats=3), run(repeats=3, leave_out=gone)
    assert size_note(even) == "NOT the paper's size: 3 repeats (paper: 10)."
    assert size_note(uneven) == "NOT the paper's size: at least 2 repeats (paper: 10)."


def test_one_repeat_has_no_standard_deviation_and_does_not_speak_of_one(run):
    for make in (error_table, sparsity_table):
        assert "±" in make(run(repeats=2)).notes[0]
        table = make(run(repeats=1))
        assert "±" not in table.notes[0]
        assert "only 1 repeat," in table.caption  # 300 users are the paper's
        assert "1 repeats" not in " ".join(table.notes)


def test_one_repeat_is_not_tested(run):
    results = run(repeats=1)
    assert not any("tests-repeats" in table.id for table in all_tables([results]))
    over_users = significance_table(results, "disagreement", "users")
    assert all(row[0].numbers["pairs"] > 1 for row in block(over_users).values())


def test_own_ratings_are_not_told_as_a_failed_reproduction(run):
    results = run(table=None, data="ratings", repeats=3, baselines={"mean_rating": 0.35})
    tables = all_tables([results])
    assert "paper" not in to_text(tables)
    assert error_table(results).heading == "Normalised disagreement error on run"
    assert list(error_table(results).blocks) == ["Method", "Baseline"]
    assert list(sparsity_table(results).blocks) == ["Method"]  # baselines have no basis functions
    remarks = error_table(results).notes
    assert "Size: 300 users, 3 repeats." in remarks
    assert any(note.startswith("RLS: regularised least squares; ") for note in remarks)


def test_every_table_of_synthetic_ratings_says_so_in_its_title_and_below(run):
    tables = all_tables([run(data="synthetic")])
    assert len(tables) == 6
    for table in tables:
        assert "SYNTHETIC ratings" in table.caption
        assert SYNTHETIC_NOTE in table.notes
    assert not any("SYNTHETIC" in to_text([table]) for table in all_tables([run()]))


def shipped(*overrides):
    """Return the config of Table 1 as shipped, with overrides, as plain values."""
    return load_experiment("jester_supervised", overrides).resolved()


def test_a_run_of_the_shipped_config_says_so_and_nothing_else(run):
    table = error_table(run(config=shipped()))
    assert "changed" not in table.heading
    assert any(note.startswith("Config: jester_supervised, as shipped;") for note in table.notes)
    assert not any("NOT" in note for note in table.notes)
    notes = " ".join(error_table(run(config=shipped("repeats=1"), repeats=1)).notes)
    assert "Config: jester_supervised, as shipped but for its size;" in notes


@pytest.mark.parametrize(
    ("override", "key", "change"),
    [
        ("algorithms.ranking_pursuit.ridge=[0, 1]", "ridge", "[0] -> [0, 1]"),
        ("algorithms.rls.lambda=[1.5]", "algorithms.rls.lambda", "from 2^-15 to 2^15 -> [1.5]"),
        ("protocol.holdout_users=20", "protocol.holdout_users", "300 -> 20"),
        ("algorithms.rank_svm.loss=hinge", "algorithms.rank_svm.loss", "squared_hinge -> hinge"),
        ("algorithms.mean_rating=null", "algorithms.mean_rating", "dropped"),
        ("seed=7", "seed", "1 -> 7"),
    ],
)
def test_what_differs_from_the_shipped_config_stands_in_title_and_notes(run, override, key, change):
    results = run(config=shipped(override))
    (changed,) = config_changes(results)
    assert changed.endswith(key)
    for table in (error_table(results), parameter_table(results)):
        assert f", changed: {changed} (Table 1 of the paper)" in table.heading
        assert f"changed: {changed}" in table.caption
        (note,) = (note for note in table.notes if note.startswith("NOT the config as shipped"))
        assert f"{changed}: " in note
        assert note.endswith(f"{change}.")


def test_size_and_name_are_no_changes_and_the_table_decides_what_is_compared(run):
    overrides = ("name=mine", "repeats=3", "protocol.test_users=30", "data.path=/elsewhere")
    results = run(config=shipped(*overrides), n_users=30, repeats=3)
    assert config_changes(results) == {}
    assert "only 30 users, 3 repeats (Table 1 of the paper)" in error_table(results).heading


BASELINES = {"mean_rating": 0.35, "linear_rank_rls": 0.45}


def test_baselines_stand_below_the_methods_and_are_marked(run):
    results = run(baselines=BASELINES)
    methods, baselines = error_table(results).blocks.items()
    assert methods[0] == "Method"
    assert list(methods[1])[-1] == "Ranking Pursuit"
    assert baselines[0] == "Baseline, not in the paper"
    assert list(baselines[1]) == ["Mean rating", "Linear RankRLS"]
    below = block(error_table(results, compare=True), 1)
    assert below["Mean rating"][1].text == "–"  # noqa: RUF001
    assert list(parameter_table(results).blocks) == ["Parameter", "Baseline, not in the paper"]
    assert list(error_table(run(table=5, baselines=BASELINES)).blocks) == [
        *("Ranking task", "Ranking task: baseline, not in the paper"),
        *("Regression task", "Regression task: baseline, not in the paper"),
    ]
    assert list(error_table(run()).blocks) == ["Method"]


def test_the_best_method_is_tested_against_each_baseline(run):
    results = run(baselines=BASELINES, noise=1e-6)
    assert [table.id for table in significance_tables(results)] == [
        "run-disagreement-tests-repeats",
        "run-disagreement-tests-users",
    ]
    table = significance_table(results, "disagreement")
    rows = block(table)
    assert list(rows)[-2:] == ["RankRLS - Mean rating", "RankRLS - Linear RankRLS"]
    pairs, difference, _, effect, p_value, *_ = rows["RankRLS - Mean rating"]
    assert effect.text == "+1.00"
    assert pairs.text == "10"
    assert difference.numbers["difference"] == pytest.approx(0.409 - 0.35, abs=1e-4)
    assert p_value.numbers["p"] < 0.01
    assert list(table.blocks) == list(GROUPS)


def test_a_choice_that_is_mostly_on_the_edge_of_its_grid_is_named_with_the_grid(run):
    results = run()
    rows = results.repeats
    edge = rows["algorithm"].eq("sparse_rank_rls") & rows["repeat"].lt(10)
    rows = rows.assign(on_edge=rows["on_edge"].mask(edge, "width n_basis"))
    notes = parameter_table(replace(results, repeats=rows)).notes
    (note,) = (note for note in notes if note.startswith("Mostly on an edge of the grid"))
    assert "Sparse RankRLS: basis functions, 27 of 30 (0.25 to 0.5)" in note
    assert "RLS: lambda" not in note
    assert not any("Mostly" in note for note in parameter_table(results).notes)


@pytest.mark.parametrize(
    ("leave_out", "said"),
    [
        (lambda row: row["algorithm"] == "rank_svm", "Not run: RankSVM."),
        (
            lambda row: row["repeat"] == 4,
            "Incomplete: of 30 cells (group and repeat), RLS lacks 3, Matching Pursuit lacks 3, "
            "RankSVM lacks 3, RankRLS lacks 3, Sparse RankRLS lacks 3, Ranking Pursuit lacks 3.",
        ),
        (
            lambda row: row["algorithm"] == "rls" and row["group"] == "40-60" and row["repeat"] > 7,
            "Incomplete: of 30 cells (group and repeat), RLS lacks 3.",
        ),
    ],
)
def test_what_is_missing_is_said(run, leave_out, said):
    results = run(leave_out=leave_out)
    assert missing_notes(results) == (said,)
    assert said in error_table(results).notes


def test_a_partial_run_shows_what_there_is(run):
    results = run(leave_out=lambda row: row["algorithm"] == "rls" and row["group"] == "20-40")
    cells = block(error_table(results, compare=True))["RLS"]
    assert [cell.text for cell in cells[:4]] == ["–", "0.425", "–", "0.419"]  # noqa: RUF001
    assert len(all_tables([results])) == 6


def test_algorithms_that_were_not_run_have_no_rows(run):
    results = run(leave_out=lambda row: row["algorithm"] not in ("rls", "rank_rls"))
    for make in (error_table, sparsity_table):
        assert list(block(make(results))) == ["RLS", "RankRLS"]
        note = "Not run: Matching Pursuit, RankSVM, Sparse RankRLS, Ranking Pursuit."
        assert note in make(results).notes
    assert list(block(significance_table(results, "disagreement"))) == ["RankRLS - RLS"]


def test_sparsity_is_the_share_and_what_is_saved(run):
    table = sparsity_table(run(basis={"ranking_pursuit": 28, "rank_svm": 35}))
    assert table.columns == (*GROUPS, "vs RankRLS", "vs RankSVM")
    cells = block(table)["Ranking Pursuit"]
    assert texts(cells) == [*["70% ± 0%"] * 3, "−30%", "−20%"]  # noqa: RUF001
    assert block(table)["RankRLS"][4].text == "+14%"


def test_chosen_parameters_are_medians_and_edges_are_counted(run):
    rows = block(parameter_table(run()))
    assert texts(rows["RLS: width"]) == ["2^6 (1 of 10)"] * 3
    assert texts(rows["RLS: lambda"]) == ["0.3 (0 of 10)"] * 3
    assert texts(rows["Ranking Pursuit: basis functions"]) == ["0.5 (0 of 10)"] * 3
    assert "RLS: basis functions" not in rows


def test_control_is_the_proposed_method_and_the_sign_is_its_advantage(run):
    table = significance_table(run(table=2, noise=1e-5), "disagreement")
    assert "SS Ranking Pursuit is compared with every other method" in table.notes[0]
    pairs, difference, _, _, p_value, corrected, narrow = block(table)["SS Ranking Pursuit - RLS"]
    assert not narrow.best  # 0.03 is not within 0.005
    assert pairs.text == "10"
    assert difference.numbers["difference"] == pytest.approx(0.419 - 0.449)
    assert corrected.best
    assert corrected.numbers["p_holm"] > p_value.numbers["p"]


def test_claims_that_need_a_table_without_results_are_named_in_a_note(run):
    table = claims_table(judge_claims([run()]))
    assert [name for name in block(table) if name.startswith("Tables 1 and 2")] == []
    assert len(block(table)) == 6
    assert table.notes[-1] == (
        "Not judged, since it needs results of Table 2 too: Tables 1 and 2: Supervised methods do "
        "worse with half of the scores (Table 2) than with all (Table 1)."
    )


def test_each_run_has_the_claims_about_it_under_a_name_of_its_own(tmp_path):
    runs = [load_results(write_results(tmp_path / f"t{n}", table=n)) for n in (1, 2)]
    verdicts = judge_claims(runs)
    claims = {one.id: one for one in all_tables(runs) if one.id.endswith("claims")}
    assert list(claims) == ["t1-claims", "t2-claims"]
    told = [name for one in claims.values() for name in block(one)]
    assert sorted(told) == sorted(str(one.claim) for one in verdicts)


def test_a_method_without_a_width_shows_none_and_is_not_on_its_edge(run):
    results = run()
    rows = results.repeats.assign(on_edge="width")
    rows.loc[rows["algorithm"] == "rls", "width"] = float("nan")
    rows.loc[(rows["algorithm"] == "rank_rls") & (rows["repeat"] < 4), "width"] = float("nan")
    found = block(parameter_table(replace(results, repeats=rows)))
    assert "RLS: width" not in found
    assert found["RankRLS: width"][0].numbers["on_edge"] == 7


def test_a_method_without_basis_functions_has_no_sparsity(tmp_path):
    folder = write_results(tmp_path / "run", basis={"rls": float("nan")})
    text = (folder / "repeats.csv").read_text(encoding="utf-8")
    (folder / "repeats.csv").write_text(text.replace("nan", ""), encoding="utf-8")
    results = load_results(seal(folder))
    assert texts(block(sparsity_table(results))["RLS"]) == ["–"] * 5  # noqa: RUF001
    assert results.repeats["basis_share"].isna().sum() == 30
    assert "sparsity-disagreement" in [drawn.name for drawn in draw_figures(results)]


def test_a_run_that_chooses_parameters_for_each_user_has_no_table_of_them(run):
    results = run()
    repeats = results.repeats.assign(holdout_error=None, on_edge=None)
    repeats[["width", "lambda", "n_basis"]] = None
    curves = results.curves.assign(axis="n_basis", holdout_error=None, test_error=0.4)
    results = replace(results, repeats=repeats, curves=curves)
    ids = [table.id for table in all_tables([results])]
    assert "run-errors" in ids
    assert "run-parameters" not in ids
    drawn = [figure.name for figure in draw_figures(results)]
    assert drawn == [f"{name}-disagreement" for name in ("sparsity", "ranks", "basis")]


def test_a_run_of_no_shipped_experiment_is_compared_with_none(run):
    results = run(table=None)
    assert config_changes(results) == {}
    assert "Config: config.yaml in the folder of the results." in error_table(results).notes
