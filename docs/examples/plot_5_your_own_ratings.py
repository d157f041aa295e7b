"""
Your own ratings, end to end
============================
From a file of ratings to a comparison of methods, and to a list of what to recommend. In a
terminal the same takes four commands: ``rp-init mine ratings.csv``, ``rp-run mine.yaml``,
``rp-tables results/mine`` and ``rp-report results/mine``.
"""

# %%
# A file with a reader, a book and stars in each row. Here 250 readers are drawn from a model; any
# CSV will do, whatever its columns are called.
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
# A config says which columns, which readers, and which methods with which grids. Reference
# readers, of two groups by how much they rated, describe the books; readers with 30 to 60 ratings
# are those whose order we try to predict. Parameters are chosen on other readers than
# those that the errors are reported for.
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
# The errors: the share of pairs in the wrong order. A coin toss gets 0.5.
results = load_results(folder / "mine")
print(to_text([error_table(results), sparsity_table(results)], width=80))

# %%
# How much does it matter how many basis functions there are? Here is the path of ranking pursuit,
# on readers that took no part in choosing parameters.
path = results.curves[results.curves["axis"] == "n_basis"]
_, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for (group, of_group), style in zip(path.groupby("group"), ("o-", "s--"), strict=True):
    mean = of_group.groupby("value")["test_error"].mean()
    axes.plot(mean.index, mean, style, label=f"reference readers with {group} ratings")
axes.set(
    xlabel="share of training books used as basis functions",
    ylabel="disagreement error (share of pairs)",
    title="Ranking pursuit on new readers",
)
axes.xaxis.set_major_formatter(PercentFormatter(1))
axes.legend()

# %%
# And what should a reader read next? A book is described by what the other readers gave it, with
# their median where they gave nothing. We learn from what this reader rated, and rank the rest.
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
