import warnings

import pytest
from all_estimators import CROSS_VALIDATED
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

import rankpursuit
from rankpursuit import (
    RLS,
    CombinedRankingRegressionPursuit,
    KernelMatchingPursuit,
    RankingPursuit,
    RankRLS,
    RankSVM,
    SemiSupervisedRankingPursuit,
    SparseRankRLS,
)

WEIGHTED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "zero weights are refused, gamma='scale' "
    "and the places of functions do not weigh the points"
    for kind in ("dense", "sparse")
}
NAMES = ("s_list", "s_not_an_array", "s_not_overwritten", "s_pandas_series", "s_shape")
UNWEIGHTED = dict.fromkeys(
    ("check_all_zero_sample_weights_error", *(f"check_sample_weight{name}" for name in NAMES)),
    "the semi-supervised search takes no weights",
)
SMALL = {"gammas": [0.1, 0.5], "cv": 3, "nus": [1.0], "ridges": [1.0], "betas": [0.5]}
SEARCHES = [
    clone(search).set_params(**{key: SMALL[key] for key in search.get_params() if key in SMALL})
    for search in CROSS_VALIDATED
]
ESTIMATORS = [
    RLS(kernel="linear"),
    RankRLS(),
    SparseRankRLS(random_state=0),
    RankSVM(loss="squared_hinge"),
    KernelMatchingPursuit(kernel="laplacian", gamma="scale"),
    RankingPursuit(dictionary="pairs", scale=True),
    CombinedRankingRegressionPursuit(n_candidates=20, random_state=0),
    SemiSupervisedRankingPursuit(fitting="backfit", views=["rbf", "linear"]),
    *SEARCHES,
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_passes_the_checks_of_scikit_learn(estimator):
    failing = WEIGHTED | (UNWEIGHTED if "nus" in estimator.get_params() else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(estimator, expected_failed_checks=failing)
    skipped = {result["check_name"] for result in results if result["status"] != "passed"}
    assert skipped <= {"check_array_api_input", *failing}


def test_the_package_names_every_estimator():
    for name in rankpursuit.__all__:
        assert getattr(rankpursuit, name).__module__.startswith("rankpursuit.")
    with pytest.raises(AttributeError, match="no_such_name"):
        rankpursuit.no_such_name  # noqa: B018
