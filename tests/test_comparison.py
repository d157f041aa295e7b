"""The program that compares rankers with boosting: what it keeps, resumes and concludes."""

import numpy as np
import pytest
from studies import letor
from studies.letor import finished, searched, verdict
from studies.rankings import DATA_SETS, Fold, Queries, per_query

rng = np.random.default_rng(0)


def fit_of(ndcg):
    """A finished fit, with such NDCG@10 on average over sixty queries."""
    values = (ndcg + 0.01 * np.sin(np.arange(60.0))).tolist()
    sizes = dict.fromkeys(("fit_seconds", "predict_ms", "memory_mb", "size_kb"), 2.0)
    return sizes | {"functions": 7, "features": 3, "about": "dictionary pairs", "ndcg": values}


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
    letor.measure_all(["smooth"], ["linear"], fresh=False)
    letor.measure_all(["smooth"], ["linear", "lightgbm"], fresh=False)
    assert kept == ["linear", "lightgbm"]
    letor.measure_all(["smooth"], ["linear"], fresh=True)
    assert kept == ["linear", "lightgbm", "linear"]
    assert set(letor.kept_fits()) == {"smooth/0/linear", "smooth/0/lightgbm"}


def test_a_method_whose_package_is_not_installed_is_left_out_with_a_word(kept, capsys):
    letor.measure_all(["smooth"], ["xgboost", "linear"], fresh=False)
    assert "skipped: its package is not installed (pip install '.[bench]')" in (
        capsys.readouterr().out
    )
    assert set(letor.kept_fits()) == {"smooth/0/linear"}


def test_the_page_says_where_boosting_is_ahead_and_where_behind():
    own = {"smooth": 0.8, "steps": 0.6, "plane": 0.7}
    kept = {f"{data}/{fold}/lightgbm": fit_of(0.7) for data in own for fold in range(3)}
    kept |= {f"{data}/{fold}/nothing-set": fit_of(own[data]) for data in own for fold in range(3)}
    kept = {key: kept[key] for key in kept if key.startswith("smooth") or "/2/" not in key}
    text = verdict(finished(kept))
    assert "**LightGBM is ahead** of `RankingPursuitCV()` on: steps (-0.100). " in text
    assert "**It is behind** on: smooth (+0.100). **Level**, by the intervals: linear." in text


def test_methods_with_missing_folds_and_data_without_lightgbm_are_left_out():
    kept = {f"smooth/{fold}/lightgbm": fit_of(0.7) for fold in (0, 1, 2)}
    kept |= {"smooth/0/linear": fit_of(0.7), "large/0/linear": fit_of(0.7)}
    assert {data: list(found) for data, found in finished(kept).items()} == {"smooth": ["lightgbm"]}


@pytest.mark.parametrize("make", [letor.differences, letor.means, letor.costs, letor.auto])
def test_every_part_of_the_page_has_the_finished_data(make):
    names = ("nothing-set", "kernel", "additive", "pairs", "lightgbm")
    kept = {f"large/0/{name}": fit_of(0.7 + 0.1 * (name == "pairs")) for name in names}
    text = make(finished(kept))
    assert "| smooth, 40,000 rows" in text


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
    assert searched(train, Directed, grid, [20, 40, 60])[1] == "sign 1, n_estimators 40"
