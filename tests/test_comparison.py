"""The program that compares rankers with boosting: what it keeps, resumes and concludes."""

import numpy as np
import pages
import pandas as pd
import pytest
from click.testing import CliRunner
from studies import boosting, frontier
from studies.rankings import DATA_SETS, Queries, pairwise_error, per_query

rng = np.random.default_rng(0)


def fit_of(ndcg, chosen="pairs"):
    """A finished fit of sixty queries with such NDCG@10."""
    values = (ndcg + 0.01 * np.sin(np.arange(60.0))).tolist()
    costs = dict.fromkeys(boosting.COST_COLUMNS, 2.0)
    return costs | {"chosen": {"dictionary": chosen}, "ndcg": values}


OURS = "RankingPursuitCV()"


def fits(data, figures, folds=None):
    folds = folds or DATA_SETS[data][0]
    return {
        f"{data}/{fold}/{name}": fit_of(ndcg)
        for fold in range(folds)
        for name, ndcg in figures.items()
    }


@pytest.fixture
def page_of(monkeypatch):
    """The parts of the page about finished fits."""

    def make(kept):
        monkeypatch.setattr(pages, "_csv", lambda name: boosting.summary(kept))
        return pages.boosting_verdict(), pages.boosting_differences(), pages.boosting_costs()

    return make


def test_the_page_says_who_is_ahead_of_boosting_and_who_behind_defeats_first(page_of):
    kept = fits("steps", {OURS: 0.8, "LightGBM": 0.7})
    kept |= fits("plane", {OURS: 0.6, "LightGBM": 0.7, "linear": 0.9})
    kept |= fits("letor", {OURS: 0.7, "LightGBM": 0.7})
    verdict, differences, costs = page_of(kept)
    assert f"**LightGBM is ahead** of ``{OURS}`` on: linear (-0.100)." in verdict
    assert (
        "**It is behind** on: steps (+0.100). **Level**, by the intervals: LETOR MQ2008." in verdict
    )
    assert [line.split("  ")[0] for line in differences.splitlines()[3:-1]] == [
        "linear",
        "LETOR MQ2008",
        "steps",
    ]
    assert "+0.200 (+0.200 to +0.200)" in differences
    assert "pairs 3" in differences
    assert "LETOR MQ2008" in costs and "steps" not in costs


def test_methods_with_missing_folds_are_left_out():
    kept = fits("smooth", {OURS: 0.7, "LightGBM": 0.7}) | fits("smooth", {"linear": 0.9}, folds=1)
    assert list(boosting.summary(kept)["method"]) == [OURS, "LightGBM"]


def test_queries_of_one_grade_are_not_judged():
    test = Queries(np.zeros((5, 1)), np.array([0, 1, 2, 1, 1.0]), np.array([0, 0, 0, 1, 1]))
    assert per_query(test, np.array([3.0, 2.0, 1.0, 1.0, 2.0]), pairwise_error).tolist() == [1.0]


def letor_lines(n_queries, first):
    """Lines of a LETOR file, graded by the first of three features."""
    rows = np.random.default_rng(first).uniform(size=(n_queries * 8, 3))
    for number, row in enumerate(rows):
        values = " ".join(f"{j + 1}:{value:.4f}" for j, value in enumerate(row))
        yield f"{int(4 * row[0])} qid:{first + number // 8} {values}\n"


def test_accuracy_against_pictures_of_own_folds(tmp_path):
    fold, output = tmp_path / "Fold1", tmp_path / "found"
    fold.mkdir()
    options = ["--data", str(tmp_path), "--output", str(output)]
    for place, name in enumerate(("train", "vali", "test")):
        missing = CliRunner().invoke(frontier.main, ["--data", str(fold)])
        assert missing.exit_code == 1
        assert f"Fold1 has no {name}.txt" in missing.output
        (fold / f"{name}.txt").write_text("".join(letor_lines(30, 100 * place)))
    assert CliRunner().invoke(frontier.main, options, catch_exceptions=False).exit_code == 0
    table = pd.read_csv(output / "frontier.csv").set_index("method")
    assert table.loc["grown", "pictures"].tolist() == [5, 10, 20, 50, 100]
    assert table.loc["grown", "ndcg"].min() > 0.9
    assert b"NDCG@10" in (output / "frontier.svg").read_bytes()
