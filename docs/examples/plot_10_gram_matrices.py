"""
Gram matrices from many machines
================================
A pursuit over a fixed set of candidates needs only a Gram matrix of the candidates' functions, and
that is a sum over blocks of rows. Each worker of a cluster computes the matrix of its own rows; the
rows never leave it.
"""

# %%
# Imagine forty files of 20 queries each, on the machines of a cluster. Here they are **synthetic**:
# a function draws the rows of a file, where a real one would read them with ``load_letor`` or
# pandas. A file holds whole queries, since only documents of one query are compared.
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

import matplotlib.pyplot as plt
import numpy as np

from rankpursuit import RankingPursuit
from rankpursuit.metrics import pairwise_accuracy

N_FILES, N_ROWS = 40, 200


def read_file(number):
    """Return features, scores and queries of one file."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(N_ROWS, 5))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(scale=0.5, size=N_ROWS)
    return X, y, 20 * number + np.arange(N_ROWS) // 10


def gram_of_file(number, model, candidates):
    """Return the Gram matrix of one file; this runs on a worker."""
    return model.block_gram(*read_file(number), candidates=candidates)


# %%
# All workers need the same parameters and the same candidates, here the rows of the first file.
# With Dask, pass the address of the scheduler to ``Client``; without it, threads do the same work.
model = RankingPursuit(n_basis=100, gamma=0.2, ridge=0.01)
candidates = read_file(0)[0]
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
# The sum of the first matrices is the matrix of the first files, so that a model of more rows costs
# one solve. It is scored on files that were not used.
new = [read_file(number) for number in range(100, 120)]
X, y, queries = (np.concatenate(parts) for parts in zip(*new, strict=True))
n_files, sizes = [1, 2, 5, 10, 20, N_FILES], [10, 30, 100]
scores = []
for n in n_files:
    model.fit_gram(sum(grams[:n]), candidates)
    path = list(model.staged_predict(X))
    scores.append([pairwise_accuracy(y, path[size - 1], queries) for size in sizes])
    print(f"{n * N_ROWS:,} rows: {scores[-1][-1]:.3f} of new pairs in order")

# %%
# The model is that of ``fit_blocks`` on one machine, up to rounding.
alone = RankingPursuit(**model.get_params())
alone.fit_blocks(map(read_file, range(N_FILES)), candidates=candidates)
print(f"largest difference: {np.abs(alone.predict(X) - model.predict(X)).max():.0e}")

# %%
# Larger models gain more from more rows.
_, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for column, (size, style) in enumerate(zip(sizes, ("o-", "s--", "D:"), strict=True)):
    rows = N_ROWS * np.array(n_files)
    axes.semilogx(rows, np.array(scores)[:, column], style, label=f"{size} functions")
axes.set(xlabel="training rows", ylabel="fraction of pairs in the right order")
axes.set_title("Queries of new files")
axes.set_xticks(rows, [f"{n:,}" for n in rows])
axes.minorticks_off()
axes.legend()
plt.show()
