"""
Explain a ranker
================
Gradient boosting ranks well with hundreds of trees, which nobody can read. A pursuit over functions
of one or two features can be as accurate with a dozen of them, and each can be drawn.
"""

# %%
# A hundred queries of twenty documents with thirty features, of which six matter: one through a
# sine, two through their product, one through its absolute value, and two through their sum. The
# grades 0 to 4 are the fifths of each query. The data is **synthetic** and suits such functions:
# :doc:`/guide/choosing` has data on which boosting wins.
import numpy as np
import pandas as pd

from rankpursuit import (
    ContributionsDisplay,
    FunctionsDisplay,
    PathDisplay,
    RankingPursuitCV,
    sizes_from_groups,
)

rng = np.random.default_rng(0)
names = [
    "freshness",
    "clicks",
    "match",
    "length",
    "links",
    "title",
    *(f"noise {i}" for i in range(24)),
]
documents = pd.DataFrame(rng.normal(size=(4000, 30)), columns=names)
queries = np.repeat(np.arange(200), 20)
utility = (
    np.sin(2 * documents["freshness"])
    + documents["clicks"] * documents["match"]
    + documents["length"].abs()
    + (documents["links"] + documents["title"]) / 2
)
noisy = utility + 0.4 * rng.normal(size=len(documents))
grades = noisy.groupby(queries).rank().sub(1).floordiv(4).to_numpy()
train = queries < 100
known = documents[train], grades[train]

# %%
# Functions, their number and the ridge are chosen by cross-validation over queries.
# ``selection="sparsest"`` takes the smallest model within one standard error of the best.
model = RankingPursuitCV(
    40, dictionary="pairs", ridges=[0.01, 0.1, 1.0], selection="sparsest"
)
model.fit(*known, qid=queries[train])
score = model.score(documents[~train], grades[~train], queries[~train])
print(f"{len(model.basis_)} functions: {score:.3f} of pairs in order")

# %%
# LightGBM's ranker, with its defaults:
try:
    from lightgbm import LGBMRanker

    from rankpursuit.metrics import pairwise_accuracy

    boosted = LGBMRanker(n_jobs=1, verbose=-1)
    boosted.fit(*known, group=sizes_from_groups(queries[train]))
    found = boosted.predict(documents[~train])
    score = pairwise_accuracy(grades[~train], found, queries[~train])
    print(f"{boosted.n_estimators_} trees: {score:.3f}")
except ImportError:
    print("LightGBM is not installed")

# %%
# The functions in the order of their choice, with the score after each of them.
print(model.summary()[["function", "coef", "score"]].round(3).to_string())
PathDisplay.from_estimator(model)

# %%
# A curve for each feature and a heat map for each pair, with the density of the data.
FunctionsDisplay.from_estimator(model, documents[train], max_panels=8)

# %%
# Why is the first document of a new query above the second? The contributions of the functions add
# up to the difference of the two utilities.
first = documents[~train].iloc[:20]
order = np.argsort(-model.predict(first))
display = ContributionsDisplay.from_estimator(
    model, first.iloc[order[[0]]], first.iloc[order[[1]]]
)
