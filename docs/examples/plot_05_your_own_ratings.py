"""
Your own ratings, end to end
============================
From a file of ratings to a comparison of methods and a list of recommendations. In a terminal the
same takes four commands: ``rp-init ratings.csv``, ``rp-run ratings.yaml``,
``rp-tables results/ratings`` and ``rp-report results/ratings``.
"""

# %%
# A file with a reader, a book and stars in each row. The ratings of these 250 readers are
# **synthetic**; any CSV file works, whatever its columns are called.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import PercentFormatter

from rankpursuit import RankingPursuit
from rankpursuit.datasets import load_ratings, make_ratings
from rankpursuit.experiments import run_experiment
from rankpursuit.reporting.render import to_text
from rankpursuit.reporting.results import load_results
from rankpursuit.reporting.tables import error_table, sparsity_table

folder = Path(tempfile.mkdtemp())
drawn = make_ratings(250, 60, scale="stars", noise=0.8, seed=3)
pd.DataFrame(
    {
        "reader": drawn.user_ids[np.repeat(np.arange(drawn.n_users), drawn.counts)],
        "book": drawn.item_ids[drawn.items],
        "stars": drawn.values,
    }
).to_csv(folder / "ratings.csv", index=False)
print((folder / "ratings.csv").read_text()[:60])

# %%
# A config names the columns, the readers, and the methods with their grids. The features of a book
# are the ratings of reference readers, in two groups by how many books they rated. We predict the
# order of the books of readers with 30 to 60 ratings. Parameters are chosen on hold-out readers,
# and errors are reported for others.
(folder / "mine.yaml").write_text("""\
name: mine
data: {name: ratings, path: ratings.csv, user: reader, item: book, rating: stars}
protocol:
  groups: [[15, 30], [30, 60]]
  test_user_bounds: [30, 60]
  test_users: 30
  holdout_users: 30
  reference_users: 60
kernel: {widths: {base: 2, from: 0, to: 6, step: 2}}
repeats: 3
algorithms:
  rls: {lambda: {base: 2, from: -4, to: 8, step: 4}}
  rank_rls: {lambda: {base: 2, from: -4, to: 8, step: 4}}
  ranking_pursuit: {n_basis: {from: 0.1, to: 1.0, step: 0.1}}
""")
repeats = run_experiment(folder / "mine.yaml", output=folder)
print(repeats.groupby(["algorithm", "group"])["test_error"].mean())

# %%
# The errors are fractions of pairs in the wrong order. A coin toss gets 0.5.
results = load_results(folder / "mine")
print(to_text([error_table(results), sparsity_table(results)], width=80))

# %%
# How much does the number of basis functions matter? The path of ranking pursuit, on readers that
# were not used to choose parameters:
path = results.curves[results.curves["axis"] == "n_basis"]
_, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for (group, of_group), style in zip(path.groupby("group"), ("o-", "s--"), strict=True):
    mean = of_group.groupby("value")["test_error"].mean()
    axes.plot(mean.index, mean, style, label=f"reference readers with {group} ratings")
axes.set(
    xlabel="fraction of training books used as basis functions",
    ylabel="disagreement error (fraction of pairs)",
    title="Ranking pursuit on new readers",
)
axes.xaxis.set_major_formatter(PercentFormatter(1))
axes.legend()

# %%
# What should a reader read next? The features of a book are the ratings of all other readers, or
# their medians where they did not rate it. We train on the books that this reader rated, and rank
# the rest.
table = load_ratings(folder / "ratings.csv", user="reader", item="book", rating="stars")
reader = int(np.argmin(np.abs(table.counts - 40)))
others = [user for user in range(table.n_users) if user != reader]
books = np.tile(table.medians[others], (table.n_items, 1))
for column, user in enumerate(others):
    books[table.user_items(user), column] = table.user_ratings(user)

read = table.user_items(reader)
model = RankingPursuit(n_basis=0.7, gamma=1 / 2000).fit(
    books[read], table.user_ratings(reader)
)
unread = np.setdiff1d(np.arange(table.n_items), read)
utility = model.predict(books[unread])
for place in np.argsort(-utility)[:5]:
    print(f"book {table.item_ids[unread[place]]}: utility {utility[place]:+.2f}")
plt.show()
