"""
Gram matrices from many machines
================================
A pursuit over a fixed set of candidates needs only a Gram matrix of the candidates' functions, and
that is a sum over blocks of rows. Each worker of a cluster computes the matrix of its own rows; the
rows never leave it.
"""

# %%
# Forty files with 100 queries each would lie on the machines of a cluster. Here they are
# **synthetic**: a function draws the rows of a file, where a real one would read them with
# ``load_letor`` or pandas. A file holds whole queries, since only documents of one query are
# compared.
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

import matplotlib.pyplot as plt
import numpy as np

from rankpursuit import RankingPursuit
from rankpursuit.metrics import pairwise_accuracy

N_FILES = 40


def read_file(number):
    """Return features, scores and queries of one file."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(1000, 5))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(scale=0.5, size=1000)
    return X, y, 100 * number + np.arange(1000) // 10


def gram_of_file(number, model, candidates):
    """Return the Gram matrix of one file; this runs on a worker."""
    return model.block_gram(*read_file(number), candidates=candidates)


# %%
# All workers need the same parameters and the same candidates, here rows of the first file. With
# Dask, pass the address of the scheduler to ``Client``; without Dask, threads do the same work.
model = RankingPursuit(n_basis=60, gamma=0.2)
candidates = read_file(0)[0][:300]
with ExitStack() as stack:
    try:
        from distributed import Client

        client = stack.enter_context(Client(processes=False, dashboard_address=None))
        executor, where = client.get_executor(), "Dask"
    except ImportError:
        executor, where = stack.enter_context(ThreadPoolExecutor()), "threads"
    task = partial(gram_of_file, model=model, candidates=candidates)
    grams = list(executor.map(task, range(N_FILES)))
print(
    f"{len(grams)} Gram matrices of {len(candidates)} candidates, computed by {where}"
)

# %%
# The sum of the first matrices is the matrix of the first files, so models of different amounts of
# data cost one solve each. They are scored on files that no worker has seen.
X, y, queries = (
    np.concatenate(parts) for parts in zip(*map(read_file, (90, 91)), strict=True)
)
n_files = [1, 2, 5, 10, 20, N_FILES]
sizes = [5, 15, 60]
scores = []
for n in n_files:
    model.fit_gram(sum(grams[1:n], start=grams[0]), candidates)
    path = list(model.staged_predict(X))
    scores.append([pairwise_accuracy(y, path[size - 1], queries) for size in sizes])
    print(f"{1000 * n:6,} rows: {scores[-1][-1]:.3f} of new pairs in order")

# %%
# More rows help large models and hardly help small ones. The result is that of ``fit`` on all rows
# with the same candidates, up to rounding.
_, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for column, (size, style) in enumerate(zip(sizes, ("o-", "s--", "D:"), strict=True)):
    rows = 1000 * np.array(n_files)
    axes.semilogx(rows, np.array(scores)[:, column], style, label=f"{size} functions")
axes.set(
    xlabel="number of training rows", ylabel="fraction of pairs in the right order"
)
axes.set_title("New queries")
axes.legend()
plt.show()
