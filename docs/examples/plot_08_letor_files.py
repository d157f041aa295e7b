"""
LETOR files, a pipeline and LightGBM
====================================
Learning-to-rank data usually comes as svmlight files with query ids. This page reads one, builds
pipelines, cross-validates them over whole queries, and runs LightGBM on the same folds.
"""

# %%
# One line per document: its grade, its query, and the features that are not zero. The queries here
# are **synthetic**, so that the page needs no download; ``load_letor`` reads LETOR, MSLR or Yahoo
# files in the same way.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.datasets import dump_svmlight_file
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankpursuit import RankingPursuit, RankRLS, ndcg_scorer, sizes_from_groups
from rankpursuit.datasets import load_letor
from rankpursuit.metrics import ndcg_error

rng = np.random.default_rng(0)
X = rng.gamma(2.0, size=(1500, 10)) * 10.0 ** np.arange(-2, 3).repeat(2)
queries = np.repeat(np.arange(100), 15)
scaled = StandardScaler().fit_transform(X)
utility = scaled[:, 0] + np.sin(2 * scaled[:, 1]) + scaled[:, 2] * scaled[:, 3]
utility += rng.normal(scale=0.7, size=len(X))
grades = np.digitize(utility, np.quantile(utility, [0.6, 0.9]))  # 0, 1 or 2

path = Path(tempfile.mkdtemp()) / "train.txt"
dump_svmlight_file(X, grades, str(path), query_id=queries, zero_based=False)
print(path.read_text().splitlines()[0][:75])
data = load_letor(path)
print(data)

# %%
# The features have different scales, so a scaler comes first. scikit-learn passes the queries on to
# the ranker, to the folds and to the scorer if its metadata routing is on; ``params`` has them.
# Both pursuits have 50 functions: kernels of all features, or functions of one feature and products
# of two.
folds = GroupKFold(5)
rankers = {
    "linear RankRLS": RankRLS(kernel="linear"),
    "RankRLS": RankRLS(gamma=0.05),
    "pursuit,\nkernels": RankingPursuit(50, gamma=0.05, random_state=0),
    "pursuit,\npairs": RankingPursuit(50, dictionary="pairs", random_state=0),
}
scores = {}
with sklearn.config_context(enable_metadata_routing=True):
    for name, ranker in rankers.items():
        found = cross_validate(
            make_pipeline(StandardScaler(), ranker),
            *(data.X, data.y),
            scoring=ndcg_scorer(k=10),
            cv=folds,
            params={"groups": data.groups},
        )
        scores[name] = found["test_score"]

# %%
# LightGBM takes the sizes of the queries instead of their ids.
try:
    from lightgbm import LGBMRanker

    scores["LightGBM"] = []
    for train, test in folds.split(data.X, data.y, data.groups):
        boosted = LGBMRanker(n_jobs=1, verbose=-1, random_state=0)
        sizes = sizes_from_groups(data.groups[train])
        boosted.fit(data.X[train], data.y[train], group=sizes)
        error = ndcg_error(
            data.y[test], boosted.predict(data.X[test]), data.groups[test], k=10
        )
        scores["LightGBM"].append(1 - error)
except ImportError:
    print("LightGBM is not installed")

for name, values in scores.items():
    print(f"{np.mean(values):.3f} {name}".replace("\n", " "))

# %%
# One line per fold. This decides nothing: parameters are defaults or rough guesses, and the utility
# was made of single features and one product, which suits a dictionary of pairs.
# :doc:`/guide/choosing` compares the methods with tuned parameters on several data sets.
_, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(list(scores), np.array(list(scores.values())), "o-", color="C0", alpha=0.5)
axes.plot(list(scores), [np.mean(values) for values in scores.values()], "_k", ms=30)
axes.set(ylabel="NDCG@10", title="Five folds of queries; black: their mean")
plt.show()
