"""
Ranking and regression at once
==============================
A ranker orders items well but ignores the level of their scores; a regression learns the level
but may order items worse. Combined ranking and regression pursuit (CRRP) minimises a blend of
both losses: ``beta`` is the weight of regression.
"""

# %%
# Eight critics rate 40 films each, each critic on a different scale. We want one function for all
# critics: a utility that orders the films of a critic, and is also close to the ratings.
import matplotlib.pyplot as plt
import numpy as np

from rankpursuit import CombinedRankingRegressionPursuit
from rankpursuit.metrics import disagreement_error, squared_error

rng = np.random.default_rng(2)
critics = np.repeat(np.arange(8), 40)
films = rng.normal(size=(len(critics), 3))
liking = np.tanh(films[:, 0]) + 0.5 * films[:, 1] * films[:, 2]
severity = rng.normal(scale=0.7, size=8)[critics]
ratings = 6 + 2 * liking + severity + rng.normal(scale=0.7, size=len(critics))
train = np.arange(len(critics)) % 2 == 0

# %%
# ``beta`` goes from 0, ranking alone, to 1, regression alone; everything else is fixed.
betas = np.array([0, 0.01, 0.03, 0.1, 0.3, 0.5, 0.8, 1])
order, level = [], []
for beta in betas:
    model = CombinedRankingRegressionPursuit(
        n_basis=40, beta=beta, ridge=1.0, gamma=0.1
    )
    model.fit(films[train], ratings[train], groups=critics[train])
    predicted = model.predict(films[~train])
    order.append(disagreement_error(ratings[~train], predicted, critics[~train]))
    level.append(squared_error(ratings[~train], predicted))
    print(
        f"beta {beta:4.2f}: disagreement {order[-1]:.3f}, squared error {level[-1]:6.2f}"
    )

# %%
# The order is best at ``beta = 0``, where the level of the function is arbitrary; the level is best
# at ``beta = 1``. Values in between trade one for the other.
figure, axes = plt.subplots(figsize=(7, 4.3), layout="constrained")
places = np.arange(len(betas))
(one,) = axes.plot(
    places, order, "o-", color="#1b74b3", label="disagreement error (left)"
)
axes.set(xlabel="beta", ylabel="fraction of pairs in the wrong order", xticks=places)
axes.set_xticklabels([f"{beta:g}" for beta in betas])
right = axes.twinx()
(two,) = right.semilogy(
    places, level, "s--", color="#d1500a", label="squared error (right)"
)
right.set(ylabel="squared error (squared rating points)", yticks=[2, 5, 10, 20])
right.set_yticklabels(["2", "5", "10", "20"])
right.minorticks_off()
figure.legend(handles=[one, two], loc="outside upper center", ncols=2)
plt.show()
