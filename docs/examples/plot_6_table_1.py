"""
Reproduce Table 1
=================
Table 1 of the paper is the supervised experiment on Jester: six methods, three groups of users.
At full size, ``rp-run jester_supervised`` takes a few minutes. This page runs the
same protocol **at a small size**, which shows how it is done and decides nothing: 12 users
instead of 300, 2 repeats instead of 10, and smaller grids.
"""

# %%
# The real data is used if it is at hand (``rp-data fetch jester``, or the variable
# ``RANKPURSUIT_DATA``). Otherwise synthetic ratings stand in, and the figures below say so: they
# are then not comparable with the paper's in any way.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from rankpursuit.datasets import load_jester
from rankpursuit.errors import RankpursuitError
from rankpursuit.experiments import run_experiment
from rankpursuit.reporting.claims import published_tables
from rankpursuit.reporting.render import to_text
from rankpursuit.reporting.results import load_results
from rankpursuit.reporting.tables import error_table

try:
    load_jester()
    data, what = "{name: jester}", "Jester"
except RankpursuitError:
    data, what = (
        "{name: synthetic, n_users: 2500, seed: 0}",
        "SYNTHETIC ratings, not Jester",
    )
print("Ratings:", what)

# %%
# The config. Its protocol is the paper's, except for the sizes.
folder = Path(tempfile.mkdtemp())
(folder / "small.yaml").write_text(f"""\
name: small_table_1
data: {data}
protocol: {{test_users: 12, holdout_users: 12}}
kernel: {{widths: {{base: 2, from: 3, to: 9, step: 2}}}}
repeats: 2
algorithms:
  rls: {{lambda: &lambdas {{base: 2, from: -9, to: 9, step: 3}}}}
  kernel_matching_pursuit:
    n_basis: &shares {{from: 0.1, to: 1.0, step: 0.1}}
    fitting: prefit
  rank_svm: {{C: {{base: 2, from: -14, to: -2, step: 4}}, loss: squared_hinge}}
  rank_rls: {{lambda: *lambdas}}
  sparse_rank_rls: {{n_basis: [0.5, 0.9], lambda: *lambdas}}
  ranking_pursuit: {{n_basis: *shares}}
""")
run_experiment(folder / "small.yaml", output=folder)
results = load_results(folder / "small_table_1")
print(to_text([error_table(results)], width=80))

# %%
# Beside the published errors. Each mean is over 24 users, 12 in each repeat; the bars are two
# standard errors to each side: this size cannot tell apart what the full size can.
published = published_tables()[1]
errors = results.users.groupby(["group", "algorithm"])["error"].agg(
    ["mean", "std", "count"]
)
figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained", sharey=True)
for ax, group in zip(axes, results.groups, strict=True):
    for place, label in enumerate(reversed(list(results.algorithms))):
        mean, spread, count = errors.loc[(group, label)]
        ax.errorbar(
            mean,
            place + 0.12,
            xerr=2 * spread / np.sqrt(count),
            fmt="o",
            color="C0",
            capsize=4,
        )
        known = published.value("disagreement", label, group)
        ax.plot(known, place - 0.12, "D", mfc="none", color="C1")
    ax.set_title(f"{group} ratings")
axes[0].set_yticks(
    range(len(results.algorithms)), list(results.algorithms.values())[::-1]
)
axes[0].plot([], [], "o", color="C0", label=f"measured at a small size: {what}")
axes[0].plot([], [], "D", mfc="none", color="C1", label="published: Jester")
figure.legend(loc="outside upper center", ncols=2)
figure.supxlabel("test disagreement error (share of pairs)")
plt.show()
