import warnings

import pytest
from all_estimators import CROSS_VALIDATED, id_of
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator


@pytest.mark.parametrize("estimator", CROSS_VALIDATED, ids=id_of)
def test_passes_the_checks_of_scikit_learn(estimator):
    small = {"gammas": [0.1, 0.5], "cv": 3}
    if "nus" in estimator.get_params():
        small |= {"nus": [1.0], "ridges": [1.0], "n_candidates": 20}
    if "betas" in estimator.get_params():
        small["betas"] = [0.5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(clone(estimator).set_params(**small))
    skipped = {result["check_name"] for result in results if result["status"] != "passed"}
    assert skipped <= {"check_array_api_input"}
