import warnings

import pytest
from all_estimators import CROSS_VALIDATED, id_of
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

import rankpursuit
from rankpursuit import (
    RLS,
    CombinedRankingRegressionPursuit,
    KernelMatchingPursuit,
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
UNWEIGHTED = {
    f"check_{kind}": "the semi-supervised search takes no weights"
    for kind in (
        "all_zero_sample_weights_error",
        "sample_weights_list",
        "sample_weights_not_an_array",
        "sample_weights_not_overwritten",
        "sample_weights_pandas_series",
        "sample_weights_shape",
    )
}
ALLOWED = {"check_array_api_input", *WEIGHTED, *UNWEIGHTED}
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
    RankingPursuit(dictionary="grown", tol=0.1),
    KernelMatchingPursuit(dictionary="pairs"),
    CombinedRankingRegressionPursuit(dictionary="additive"),
    RankingPursuitCV(dictionary="auto", cv=3, n_basis=3, ridges=[0.1, 1.0]),
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


@pytest.mark.parametrize("estimator", CROSS_VALIDATED, ids=id_of)
def test_cross_validated_ones_pass_the_checks_of_scikit_learn(estimator):
    small = {"gammas": [0.1, 0.5], "cv": 3}
    failing = WEIGHTED
    if "nus" in estimator.get_params():
        failing = WEIGHTED | UNWEIGHTED
        small |= {"nus": [1.0], "ridges": [1.0], "n_candidates": 20}
    if "betas" in estimator.get_params():
        small["betas"] = [0.5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(
            clone(estimator).set_params(**small), expected_failed_checks=failing
        )
    skipped = {result["check_name"] for result in results if result["status"] != "passed"}
    assert skipped <= ALLOWED
