"""Parameters and attributes of the estimators that choose by cross-validation, described once."""

from __future__ import annotations

from rankpursuit.estimators._docs import SHARED, Documented, entries_by_name, put_in

_ENTRIES = """\
n_basis : int or None, default None
    Largest number of basis functions: every number up to it is tried. None: 100, or as many as
    the smallest training part has candidates.
ridges : list of float, default (0.01, 0.1, 1.0, 10.0, 100.0)
    Weights to try of a penalty ``a' K a`` in the least-squares problem.
alphas : list of float, default (0.01, 0.1, 1.0, 10.0, 100.0)
    Weights of the regulariser to try; positive.
fitting : {"basic", "backfit", "prefit"}, default "backfit"
    "basic" never touches an earlier coefficient, "backfit" refits all of them after every
    step, "prefit" chooses each function by the cost after the refit.
group_weight : {"pairs", "equal"} or mapping, default "equal"
    What the pairs of a group (a user, a query) weigh: "pairs" 1 each, so that large groups
    dominate; "equal" 1 over the size of the group, so that each point counts alike; or a
    positive number for each label of `groups`.
n_candidates : int or None, default 1000
    Number of training points, drawn at random, whose functions make up the dictionary; in a
    fold, those of them that it does not hold out. Memory grows as samples times candidates.
    None: all points.
gammas : list of float or None, default None
    Values to try of the kernel's gamma, of the features as `scale` leaves them. None: the
    powers of 4 from 1/64 to 16 times ``1 / (number of features times the variance of all
    entries)``. Ignored by kernels without a gamma.
scale : bool, default True
    Whether each feature is first divided by its standard deviation in the training data, and
    centred unless the kernel is one of histograms. Features of very different size, or far
    from 1, would otherwise leave a kernel nothing to learn. A precomputed kernel is taken as
    it is.
cv : int, splitter or iterable, default 5
    A number of folds, the same in every fit: ``GroupKFold`` if there are groups, and
    otherwise ``KFold`` of points in a random order with the seed 0. Or a splitter of
    scikit-learn, or pairs of training and test indices. A split that cuts a group is refused.
random_state : int, Generator, RandomState or None, default None
    Draws the candidates.
selection : {"best", "sparsest"}, default "best"
    "best" takes the highest mean score over the folds. "sparsest" takes, of all whose mean
    is within one standard error of it, the one with the fewest functions, then with the
    largest penalty, then with the smallest gamma.
cv_results_ : dict of ndarray
    A table, for ``pandas.DataFrame``, with a row for each point of the grid: its parameters as
    ``param_`` and their name, ``mean_test_score``, ``std_test_score`` and ``standard_error``
    over the folds, ``rank_test_score``, and the score of each fold.
best_params_ : dict
    The chosen parameters.
best_score_ : float
    Their mean score over the folds.
best_index_ : int
    Their row in ``cv_results_``.
best_estimator_ : estimator
    The model that was fitted to all training data, with scaled features, with them.
scaler_ : StandardScaler or None
    What scales the features; None where nothing is scaled.
basis_ : ndarray of shape (n_basis,)
    The training points of the model's basis functions, in the order in which they were chosen.
coef_ : ndarray of shape (n_basis,)
    Their coefficients.
"""

_SCORING = """\
    What is to be high: "pairwise_accuracy", "disagreement" (minus the disagreement error),
    "kendall", "ndcg", "map" or "mrr", also of the first places only ("ndcg@10"), "r2",
    "neg_mean_squared_error"; a scorer of scikit-learn or of this package, such as
    ``ndcg_scorer(gain="exponential")``; or a function of scores, predictions and groups (None
    if there are none). A function that takes a stack of predictions, of shape (g, m), and
    returns g scores is called once a fold, anything else once for each point of the grid.
"""

_NOTES = {
    "honest_note": """\
Nothing of a held-out fold takes part in a fold's model: neither its scores nor, as centres of
basis functions, its points. Only the standard deviations of the features and the unit of the
default gammas are those of all training points. A fold in which the metric has no value, since
no scores differ there, does not count.""",
}

_OWN = {
    **SHARED,
    **entries_by_name(_ENTRIES),
    **_NOTES,
    "scoring": 'scoring : str or callable, default "pairwise_accuracy"\n' + _SCORING.rstrip(),
    "scoring_regression": 'scoring : str or callable, default "neg_mean_squared_error"\n'
    + _SCORING.rstrip(),
}
_GROUPS = {
    "kernel_parameters": ("kernel", "gammas", "degree", "coef0", "kernel_params"),
    "search": ("scale", "cv", "scoring", "selection"),
    "search_regression": ("scale", "cv", "scoring_regression", "selection"),
    "found": ("cv_results_", "best_params_", "best_score_", "best_index_", "best_estimator_"),
    "input_attributes": ("scaler_", "n_features_in_", "feature_names_in_"),
}


def documented(described: Documented) -> Documented:
    """Put the shared entries into the docstring of a class or a function."""
    return put_in(described, _OWN, _GROUPS)
