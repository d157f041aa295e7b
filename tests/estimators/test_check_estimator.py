import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

import rankpursuit
from rankpursuit import (
    RLS,
    AdditiveDictionary,
    CombinedRankingRegressionPursuit,
    KernelMatchingPursuit,
    PathCV,
    RankingPursuit,
    RankingPursuitCV,
    RankRLS,
    RankSVM,
    SemiSupervisedRankingPursuit,
    SparseRankRLS,
    UnionDictionary,
)

WEIGHTED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "zero weights are refused, gamma='scale' "
    "and the places of functions do not weigh the points"
    for kind in ("dense", "sparse")
}
ALLOWED = {"check_array_api_input", *WEIGHTED}
ESTIMATORS = [
    RLS(alpha=0.1),
    RLS(kernel="linear"),
    RankSVM(kernel="linear"),
    SparseRankRLS(kernel="linear", random_state=0),
    RankRLS(),
    KernelMatchingPursuit(kernel="laplacian", gamma="scale"),
    KernelMatchingPursuit(fitting="backfit", n_basis=5),
    RankRLS(kernel="chi2"),
    SparseRankRLS(random_state=0),
    RankSVM(),
    RankSVM(loss="squared_hinge"),
    RankingPursuit(),
    RankingPursuit(fitting="prefit", n_candidates=20, random_state=0),
    SemiSupervisedRankingPursuit(random_state=0),
    SemiSupervisedRankingPursuit(fitting="backfit", views=["rbf", "linear"]),
    CombinedRankingRegressionPursuit(),
    RankingPursuit(dictionary="additive", scale=True),
    RankingPursuit(dictionary="pairs", tol=0.1),
    KernelMatchingPursuit(dictionary="pairs"),
    CombinedRankingRegressionPursuit(dictionary=UnionDictionary([AdditiveDictionary()])),
    RankingPursuitCV(cv=3, n_basis=3, ridges=[0.1, 1.0]),
    PathCV(RankRLS(), {"alpha": [0.1, 1.0], "gamma": [0.1, 0.5]}, cv=3),
    PathCV(KernelMatchingPursuit(3), cv=3),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_passes_the_checks_of_scikit_learn(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(estimator, expected_failed_checks=WEIGHTED)
    skipped = {result["check_name"] for result in results if result["status"] != "passed"}
    assert skipped <= ALLOWED


def test_the_package_names_every_estimator():
    for name in rankpursuit.__all__:
        assert getattr(rankpursuit, name).__module__.startswith("rankpursuit.")
    with pytest.raises(AttributeError, match="no_such_name"):
        rankpursuit.no_such_name  # noqa: B018
