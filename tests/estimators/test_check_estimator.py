import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

import rankpursuit
from rankpursuit import (
    RLS,
    CombinedRankingRegressionPursuit,
    KernelMatchingPursuit,
    PathCV,
    RankingPursuit,
    RankingPursuitCV,
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
ESTIMATORS = [
    RLS(kernel="linear"),
    RankRLS(),
    SparseRankRLS(random_state=0),
    RankSVM(loss="squared_hinge"),
    KernelMatchingPursuit(kernel="laplacian", gamma="scale"),
    RankingPursuit(dictionary="additive", scale=True),
    RankingPursuit(dictionary="grown", tol=0.1),
    CombinedRankingRegressionPursuit(n_candidates=20, random_state=0),
    SemiSupervisedRankingPursuit(fitting="backfit", views=["rbf", "linear"]),
    RankingPursuitCV(cv=3, n_basis=3, ridges=[0.1, 1.0]),
    PathCV(RankRLS(), {"alpha": [0.1, 1.0], "gamma": [0.1, 0.5]}, cv=3),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_passes_the_checks_of_scikit_learn(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(estimator, expected_failed_checks=WEIGHTED)
    skipped = {result["check_name"] for result in results if result["status"] != "passed"}
    assert skipped <= {"check_array_api_input", *WEIGHTED}


def test_the_package_names_every_estimator():
    for name in rankpursuit.__all__:
        assert getattr(rankpursuit, name).__module__.startswith("rankpursuit.")
    with pytest.raises(AttributeError, match="no_such_name"):
        rankpursuit.no_such_name  # noqa: B018
