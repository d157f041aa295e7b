"""
Rank with few functions
=======================
A kernel ranker keeps every training point. Ranking pursuit keeps the few that lower the error
most, one after the other, and one path contains the models of all sizes.
"""

# %%
# Sixty readers rate twenty articles each. What they like depends on two features in the same way
# for all, but some readers are generous and some are strict: only the order *within* the ratings
# of one reader is meaningful. ``groups`` names the reader of each rating.
import matplotlib.pyplot as plt
import numpy as np

from rankpursuit import RankingPursuit, RankRLS, SparseRankRLS
from rankpursuit.metrics import pairwise_accuracy

rng = np.random.default_rng(0)
readers = np.repeat(np.arange(60), 20)
articles = rng.uniform(-2, 2, size=(len(readers), 2))
appeal = np.sin(2 * articles[:, 0]) + np.exp(-(articles[:, 1] ** 2))
generosity = rng.normal(scale=5, size=60)[readers]
ratings = appeal + generosity + rng.normal(scale=0.3, size=len(readers))

train = readers < 40
known = articles[train], ratings[train], readers[train]
fresh = articles[~train], ratings[~train], readers[~train]

# %%
# RankRLS uses all 800 training points. Ranking pursuit chooses 60; ``staged_predict`` yields the
# predictions with 1, 2, ... of them. Sparse RankRLS draws as many points at random.
kernel = {"kernel": "rbf", "gamma": 1.0}
dense = RankRLS(alpha=1.0, **kernel).fit(*known)
sparse = RankingPursuit(n_basis=60, fitting="backfit", ridge=0.1, **kernel).fit(*known)

sizes = np.arange(5, 61, 5)
of_random = [
    SparseRankRLS(n_basis=int(size), alpha=1.0, random_state=0, **kernel)
    .fit(*known)
    .score(*fresh)
    for size in sizes
]

of_path = [
    pairwise_accuracy(fresh[1], utility, fresh[2])
    for utility in sparse.staged_predict(fresh[0])
]
print(
    f"RankRLS, {len(dense.basis_)} functions: {dense.score(*fresh):.3f} of pairs in order"
)
for size in (5, 10, 20, 40):
    print(f"Ranking pursuit, {size} functions: {of_path[size - 1]:.3f}")

# %%
# A few dozen well-chosen functions come close to all 800.
_, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.axhline(
    dense.score(*fresh), color="black", linewidth=1, label="RankRLS, all 800 points"
)
axes.plot(np.arange(1, 61), of_path, color="#d1500a", label="ranking pursuit")
axes.plot(
    sizes, of_random, "v:", color="#c4659b", label="sparse RankRLS, random points"
)
axes.set(
    xlabel="number of basis functions",
    ylabel="fraction of pairs in the right order",
    title="Readers that were not used for training",
)
axes.legend()

# %%
# The chosen points are spread over the plane: at maxima, at minima and along the edges.
grid = np.linspace(-2, 2, 80)
plane = np.stack(np.meshgrid(grid, grid), axis=-1)
utility = sparse.predict(plane.reshape(-1, 2)).reshape(80, 80)
figure, axes = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
drawn = axes.contourf(grid, grid, utility, levels=12, cmap="cividis")
axes.plot(
    *sparse.X_basis_[:20].T,
    "o",
    mfc="white",
    mec="black",
    label="first 20 basis points",
)
axes.set(xlabel="first feature", ylabel="second feature", title="The learned utility")
axes.legend(loc="upper left")
figure.colorbar(drawn, label="utility (no unit)")
plt.show()
