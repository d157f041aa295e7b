"""
Choose the size of the model
============================
How many basis functions, which width of the kernel, which ridge? ``RankingPursuitCV`` answers by
cross-validation over whole groups. Since one path contains all sizes, choosing the number of
functions costs nothing extra.
"""

# %%
# Documents of 40 queries; what makes one relevant is the same for all queries.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rankpursuit import RankingPursuitCV

rng = np.random.default_rng(1)
queries = np.repeat(np.arange(40), 15)
documents = rng.normal(size=(len(queries), 4))
relevance = (
    documents[:, 0]
    + np.sin(2 * documents[:, 1])
    + rng.normal(scale=0.5, size=len(queries))
)

train = queries < 30
known = documents[train], relevance[train], queries[train]
fresh = documents[~train], relevance[~train], queries[~train]

# %%
# With ``selection="best"`` the best mean score over the folds decides. With ``"sparsest"`` it is
# the smallest model within one standard error of that: fewer functions for a little accuracy.
models = {
    selection: RankingPursuitCV(60, dictionary="kernel", selection=selection).fit(
        *known
    )
    for selection in ("best", "sparsest")
}
for selection, model in models.items():
    n_basis, score = model.best_params_["n_basis"], model.score(*fresh)
    print(f"{selection}: {n_basis} functions, {score:.3f} of new pairs in order")

# %%
# The scores along the path, at the chosen width and ridge.
_, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for ax, (selection, model) in zip(axes, models.items(), strict=True):
    model.plot(ax=ax)
    ax.set_title(f'selection="{selection}"')

# %%
# Everything that was tried is in ``cv_results_``, as with scikit-learn's ``GridSearchCV``. Here,
# the best mean score of each width.
tried = pd.DataFrame(models["best"].cv_results_)
by_width = tried.groupby("param_gamma")["mean_test_score"].max()
_, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.semilogx(by_width.index, by_width, "o-")
ax.set(
    xlabel="gamma of the kernel",
    ylabel="best mean score over folds",
    title=f"{len(tried):,} models compared",
)
plt.show()
