"""LightGBM's ranker for ``rp-run --plugin boosting.py``, on five grades of the ratings."""

import numpy as np
from lightgbm import LGBMRanker

from rankpursuit.experiments.registry import register_estimator


@register_estimator
class Ranker(LGBMRanker):
    def fit(self, X, y, group):
        grades = np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y)
        return super().fit(X, grades, group=group)
