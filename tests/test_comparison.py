"""The program that compares rankers with boosting: what it keeps, resumes and concludes."""

from types import SimpleNamespace

import numpy as np
import pytest
from studies import letor
from studies.rankings import DATA_SETS, Fold, Queries, pairwise_error, per_query

rng = np.random.default_rng(0)


def fit_of(ndcg, about="ridge 1"):
    """A finished fit of sixty queries with such NDCG@10."""
    measured = ("fit_seconds", "predict_ms", "memory_mb", "size_kb", "functions", "features")
    values = (ndcg + 0.01 * np.sin(np.arange(60.0))).tolist()
    return dict.fromkeys(measured, 2.0) | {"about": about, "ndcg": values}


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


def fits(data, **figures):
    folds = range(DATA_SETS[data][0])
    names = {name.replace("_", "-"): ndcg for name, ndcg in figures.items()}
    about = "dictionary pairs, ridge 1"
    return {
        f"{data}/{fold}/{name}": fit_of(ndcg, about)
        for fold in folds
        for name, ndcg in names.items()
    }


def test_the_page_says_who_is_ahead_of_boosting_and_who_behind_defeats_first():
    kept = fits("steps", nothing_set=0.8, lightgbm=0.7)
    kept |= fits("plane", nothing_set=0.6, lightgbm=0.7, linear=0.9)
    kept |= fits("smooth", nothing_set=0.7, lightgbm=0.7)
    measured = letor.finished(kept)
    assert list(measured) == ["plane", "smooth", "steps"]
    text = letor.verdict(measured)
    assert "**LightGBM is ahead** of `RankingPursuitCV()` on: linear (-0.100)." in text
    assert "**It is behind** on: steps (+0.100). **Level**, by the intervals: smooth." in text
    assert "+0.200 (+0.200 to +0.200)" in letor.differences(measured)
    assert "**0.900**" in letor.means(measured)


def test_methods_with_missing_folds_are_left_out():
    kept = fits("smooth", nothing_set=0.7, lightgbm=0.7) | {"smooth/0/linear": fit_of(0.9)}
    measured = letor.finished(kept)
    assert set(measured["smooth"]) == {"nothing-set", "lightgbm"}
    assert "0.900" not in letor.means(measured)


def test_a_data_set_without_boosting_is_left_out():
    assert letor.finished(fits("smooth", nothing_set=0.7, linear=0.7)) == {}


def test_the_page_says_which_dictionary_was_chosen_and_which_is_best():
    figures = {"kernel": 0.6, "additive": 0.7, "pairs": 0.8, "screened": 0.9}
    measured = letor.finished(fits("smooth", nothing_set=0.8, lightgbm=0.7, **figures))
    row = letor.auto(measured).splitlines()[-1]
    assert [cell.strip() for cell in row.strip("|").split("|")][:3] == [
        "smooth",
        "pairs 3",
        "pairs",
    ]
    assert "+0.100 (+0.100 to +0.100)" in letor.screening(measured)


def test_queries_of_one_grade_are_not_judged():
    test = Queries(np.zeros((5, 1)), np.array([0, 1, 2, 1, 1.0]), np.array([0, 0, 0, 1, 1]))
    assert per_query(test, np.array([3.0, 2.0, 1.0, 1.0, 2.0]), pairwise_error).tolist() == [1.0]


def test_boosting_has_the_parameters_that_are_best_over_the_folds(monkeypatch):
    class Directed:
        """Follows the only feature if its sign is positive, and only with forty trees."""

        model = SimpleNamespace(feature_importances_=np.ones(1))
        size = 0

        def __init__(self, sign, learning_rate, n_estimators):
            self.sign = sign

        def fit(self, X, y, groups):
            return self

        def predict(self, X):
            return self.sign * X[:, 0]

        def staged(self, X, stages):
            return [self.predict(X) if stage == 40 else 0.0 * X[:, 0] for stage in stages]

    monkeypatch.setattr(letor, "RATES", (0.1,))
    X, groups = rng.normal(size=(60, 1)), np.repeat(np.arange(10), 6)
    train = Queries(X, (X[:, 0] > 0).astype(float), groups)
    fitted = letor.boosted(Directed, "sign", (-1, 1), train)
    assert fitted.about == "sign 1, learning_rate 0.1, n_estimators 40"
    assert (fitted.n_functions, fitted.n_features) == (40, 1)
