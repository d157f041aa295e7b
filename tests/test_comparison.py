"""The program that compares rankers with boosting: what it keeps, resumes and concludes."""

from types import SimpleNamespace

import numpy as np
import pages
import pytest
from studies import boosting
from studies.rankings import DATA_SETS, Fold, Queries, pairwise_error, per_query

rng = np.random.default_rng(0)


def fit_of(ndcg, chosen="pairs"):
    """A finished fit of sixty queries with such NDCG@10."""
    values = (ndcg + 0.01 * np.sin(np.arange(60.0))).tolist()
    costs = dict.fromkeys(boosting.COST_COLUMNS, 2.0)
    return costs | {"chosen": {"dictionary": chosen}, "ndcg": values}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(boosting, "KEPT", tmp_path / "boosting.json")
    part = Queries(np.zeros((4, 1)), np.arange(4.0), np.zeros(4, dtype=int))
    monkeypatch.setitem(DATA_SETS, "smooth", (1, lambda _: [Fold("0", part, part)]))
    asked = []

    def measure(method, data, fold):
        asked.append(method)
        return None if method == "XGBoost" else fit_of(0.7)

    monkeypatch.setattr(boosting, "measure", measure)
    monkeypatch.setattr(boosting, "in_new_process", lambda function, *words: function(*words))
    return asked


def test_finished_fits_are_not_measured_again(kept):
    boosting.measure_all(["smooth"], ["linear"], fresh=False)
    boosting.measure_all(["smooth"], ["linear", "LightGBM"], fresh=False)
    assert kept == ["linear", "LightGBM"]
    boosting.measure_all(["smooth"], ["linear"], fresh=True)
    assert kept == ["linear", "LightGBM", "linear"]
    assert set(boosting.kept_fits()) == {"smooth/0/linear", "smooth/0/LightGBM"}


def test_a_method_whose_package_is_not_installed_is_left_out_with_a_word(kept, capsys):
    boosting.measure_all(["smooth"], ["XGBoost", "linear"], fresh=False)
    assert "skipped: its package is not installed (pip install '.[bench]')" in (
        capsys.readouterr().out
    )
    assert set(boosting.kept_fits()) == {"smooth/0/linear"}


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


def test_a_data_set_without_boosting_is_left_out():
    assert boosting.summary(fits("smooth", {OURS: 0.7, "linear": 0.7})).empty


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

    monkeypatch.setattr(boosting, "RATES", (0.1,))
    X, groups = rng.normal(size=(60, 1)), np.repeat(np.arange(10), 6)
    train = Queries(X, (X[:, 0] > 0).astype(float), groups)
    fitted = boosting.boosted(Directed, "sign", (-1, 1), train)
    assert fitted.chosen == {"sign": 1, "learning_rate": 0.1, "n_estimators": 40}
    assert (fitted.n_functions, fitted.n_features) == (40, 1)
