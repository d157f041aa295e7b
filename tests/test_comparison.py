"""The program that compares rankers with boosting: what it keeps, resumes and concludes."""

import numpy as np
import pytest
from studies import letor
from studies.letor import searched, section
from studies.rankings import DATA_SETS, Fold, Queries, per_query

rng = np.random.default_rng(0)


def fit_of(ndcg):
    """A finished fit of sixty queries with such NDCG@10."""
    values = (ndcg + 0.01 * np.sin(np.arange(60.0))).tolist()
    return {
        "fit_seconds": 2.0,
        "predict_seconds": 0.01,
        "predicted": 1000,
        "memory_mb": 50.0,
        "size_kb": 7.0,
        "about": "ridge 1",
        "queries": {"ndcg": values, "map": values, "error": values},
    }


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(letor, "KEPT", tmp_path / "letor.json")
    part = Queries(np.zeros((4, 1)), np.arange(4.0), np.zeros(4, dtype=int))
    monkeypatch.setitem(DATA_SETS, "smooth", (1, lambda _: [Fold("0", part, part)]))
    asked = []

    def measure(method, data, fold):
        asked.append(method)
        return None if method == "xgboost" else fit_of(0.7)

    monkeypatch.setattr(letor, "measure", measure)
    monkeypatch.setattr(letor, "in_new_process", lambda function, *words: function(*words))
    return asked


def test_finished_fits_are_not_measured_again(kept):
    letor.measure_all(["smooth"], ["ridge"], fresh=False)
    letor.measure_all(["smooth"], ["ridge", "lightgbm"], fresh=False)
    assert kept == ["ridge", "lightgbm"]
    letor.measure_all(["smooth"], ["ridge"], fresh=True)
    assert kept == ["ridge", "lightgbm", "ridge"]
    assert set(letor.kept_fits()) == {"smooth/0/ridge", "smooth/0/lightgbm"}


def test_a_method_whose_package_is_not_installed_is_left_out_with_a_word(kept, capsys):
    letor.measure_all(["smooth"], ["xgboost", "ridge"], fresh=False)
    assert "skipped: its package is not installed (pip install '.[bench]')" in (
        capsys.readouterr().out
    )
    assert set(letor.kept_fits()) == {"smooth/0/ridge"}


def test_the_page_says_who_is_ahead_of_boosting_and_who_behind():
    figures = {"pursuit-100": 0.8, "random-100": 0.6, "lightgbm": 0.7, "ridge": 0.7}
    text = section({f"large/0/{name}": fit_of(ndcg) for name, ndcg in figures.items()}, "large")
    assert "ahead of LightGBM: ranking pursuit, at most 100 functions. Behind it: " in text
    assert "Behind it: sparse RankRLS, 100 random points. Any others are level" in text
    assert "|         100 | +0.200 (+0.200 to +0.200) |" in text


def test_the_page_says_where_boosting_wins():
    figures = {"pursuit-100": 0.6, "ridge": 0.5, "lightgbm": 0.7, "xgboost": 0.8}
    text = section({f"large/0/{name}": fit_of(ndcg) for name, ndcg in figures.items()}, "large")
    assert "Boosting wins: by the intervals over 60 queries" in text
    assert "(ranking pursuit, at most 100 functions) by 0.100." in text


def test_methods_with_missing_folds_are_left_out_and_named():
    kept = {f"smooth/{fold}/lightgbm": fit_of(0.7) for fold in (0, 1, 2)}
    text = section(kept | {"smooth/0/ridge": fit_of(0.7)}, "smooth")
    assert "| LightGBM lambdarank" in text
    assert "| linear ridge" not in text
    missing = next(line for line in text.splitlines() if line.startswith("Not measured"))
    assert "linear ridge on centred scores" in missing and "LightGBM" not in missing
    assert "RankRLS, all points (given at most 10,000 rows)" in missing


def test_a_data_set_without_finished_fits_keeps_its_part_of_the_page():
    assert section({"smooth/0/ridge": fit_of(0.7)}, "smooth") == ""


def test_queries_of_one_grade_are_not_judged():
    test = Queries(np.zeros((5, 1)), np.array([0, 1, 2, 1, 1.0]), np.array([0, 0, 0, 1, 1]))
    found = per_query(test, np.array([3.0, 2.0, 1.0, 1.0, 2.0]))
    assert found["error"] == [1.0]
    assert {name: len(values) for name, values in found.items()} == dict.fromkeys(found, 1)


def test_the_search_takes_what_is_best_over_the_folds():
    class Directed:
        def __init__(self, sign, n_estimators=None):
            self.sign, self.n_estimators = sign, n_estimators

        def fit(self, X, y, groups):
            return self

        def predict(self, X):
            return self.sign * X[:, 0]

        def staged(self, X, stages):
            return [self.predict(X) if stage == 40 else 0.0 * X[:, 0] for stage in stages]

    X, groups = rng.normal(size=(60, 1)), np.repeat(np.arange(10), 6)
    train = Queries(X, (X[:, 0] > 0).astype(float), groups)
    grid = [{"sign": -1.0}, {"sign": 1.0}]
    assert searched(train, Directed, grid).about == "sign 1"
    assert searched(train, Directed, grid, [20, 40, 60]).about == "sign 1, n_estimators 40"
