"""One of each estimator, and data that all of them can learn from."""

import inspect

import numpy as np

import rankpursuit

BY_NAME = {
    name: cls
    for name in rankpursuit.__all__
    if hasattr(cls := getattr(rankpursuit, name), "predict")
}
CLASSES = [cls for name, cls in BY_NAME.items() if name != "PathCV"]


def made(*names):
    """One of each of these classes, with a fixed seed where it draws."""
    return [
        BY_NAME[name](**({"random_state": 0} if "random_state" in parameters(name) else {}))
        for name in names
    ]


def parameters(name):
    return inspect.signature(BY_NAME[name]).parameters


def id_of(estimator):
    return type(estimator).__name__


ALL = made(*(name for name in BY_NAME if not name.endswith("CV")))
SEARCHES = [
    rankpursuit.PathCV(rankpursuit.RankRLS()),
    rankpursuit.PathCV(rankpursuit.KernelMatchingPursuit(8, random_state=0)),
    *made("RankingPursuitCV"),
]
SQUARED_LOSS_RANKERS = made("RankRLS", "SparseRankRLS", "RankingPursuit")
RANK_ONLY = [*SQUARED_LOSS_RANKERS, *made("RankSVM", "SemiSupervisedRankingPursuit")]
PURSUITS = made("KernelMatchingPursuit", "RankingPursuit", "CombinedRankingRegressionPursuit")


def grouped_data():
    """Forty points of three features in five groups, with scores at a level of their group's."""
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(5), 8)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] - 0.5 * X[:, 1] ** 2 + 0.1 * rng.normal(size=40) + 3.0 * groups
    return X, y, groups
