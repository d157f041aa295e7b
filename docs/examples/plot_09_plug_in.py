"""
Your own method in an experiment
================================
A plug-in is one Python file. It registers a method, which ``rp-run --plugin FILE`` then runs and
tunes with the paper's protocol, next to the paper's methods, without any change to the package.
"""

# %%
# The method here needs no training: it predicts the mean score of the training items, weighted by a
# power of their similarity to the new item. Its options are checked like those of any method, and
# every combination of a kernel width and a power is one point of its grid. This is the file
# ``docs/guide/smoothing.py``, up to a metric that is not used here:
#
# .. literalinclude:: /guide/smoothing.py
#    :end-before: @register_metric
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import rankpursuit
from rankpursuit.experiments import run_experiment
from rankpursuit.reporting.render import to_text
from rankpursuit.reporting.results import load_results
from rankpursuit.reporting.tables import error_table, parameter_table

repository = Path(rankpursuit.__file__).parents[1]  # a clone, with pip install -e
plugin = repository / "docs" / "guide" / "smoothing.py"
folder = Path(tempfile.mkdtemp())

# %%
# The config names the method like one of the package. The ratings are **synthetic**, so the page
# needs no download. In a terminal: ``rp-run mine.yaml --plugin smoothing.py``.
config = {
    "name": "mine",
    "data": {"name": "synthetic", "n_users": 1500, "seed": 0},
    "protocol": {"test_users": 30, "holdout_users": 30, "reference_users": 100},
    "kernel": {"widths": {"base": 2, "from": 0, "to": 8}},
    "repeats": 2,
    "algorithms": {
        "smoothing": {"power": [1, 2, 4, 8]},
        "rank_rls": {"lambda": {"base": 2, "from": -6, "to": 6, "step": 3}},
        "ranking_pursuit": {"n_basis": {"from": 0.1, "to": 1.0, "step": 0.1}},
    },
}
run_experiment(config, output=folder, plugins=[plugin])
results = load_results(folder / "mine")
print(to_text([error_table(results), parameter_table(results)], width=80))

# %%
# Errors along the grids are kept too, for the plug-in as for the paper's methods. Here is the mean
# error of the hold-out users at each width, with the other parameters as chosen.
path = results.curves.query("axis == 'width'")
_, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for label, style in zip(results.algorithms, ("o-", "s--", "D:"), strict=True):
    mean = path[path["algorithm"] == label].groupby("value")["holdout_error"].mean()
    axes.plot(mean.index, mean, style, label=results.algorithms[label])
axes.set_xscale("log", base=2)
axes.set(
    xlabel="width of the kernel",
    ylabel="disagreement error (fraction of pairs)",
    title="Hold-out users, synthetic ratings",
)
axes.legend()
plt.show()
