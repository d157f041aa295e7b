"""
Learn from unscored items
=========================
Scores are expensive, items are not. Semi-supervised ranking pursuit learns two functions that must
agree on items without a score. A missing score is a NaN in ``y``.
"""

# %%
# One person has scored a few of 120 songs. We compare ranking pursuit, which sees the scored
# songs only, with the semi-supervised one, which also sees the others, and do so for thirty
# people, because the result for one person says little.
import matplotlib.pyplot as plt
import numpy as np

from rankpursuit import RankingPursuit, SemiSupervisedRankingPursuit

N_SONGS, N_PERSONS = 120, 30


def a_person(seed):
    """Return songs of a person, noisy scores, and how much they are really liked."""
    rng = np.random.default_rng(seed)
    songs = rng.normal(size=(N_SONGS, 3))
    liking = np.sin(songs @ rng.normal(size=3)) + 0.5 * songs[:, 0]
    return songs, liking + rng.normal(scale=0.3, size=N_SONGS), liking


def scores_of_models(seed, n_scored):
    """Return how well each model orders the songs that have no score."""
    songs, scores, liking = a_person(seed)
    partly = np.where(np.arange(N_SONGS) < n_scored, scores, np.nan)
    new = slice(n_scored, None)
    common = {"n_basis": 0.5, "gamma": 0.2, "fitting": "backfit", "ridge": 1.0}
    supervised = RankingPursuit(**common).fit(songs[:n_scored], scores[:n_scored])
    agreeing = SemiSupervisedRankingPursuit(nu=1.0, random_state=0, **common).fit(
        songs, partly
    )
    apart = SemiSupervisedRankingPursuit(nu=0.0, random_state=0, **common).fit(
        songs, partly
    )
    return [
        model.score(songs[new], liking[new]) for model in (supervised, apart, agreeing)
    ]


names = ("ranking pursuit", "two functions, nu = 0", "two functions that agree, nu = 1")
scored = (8, 16, 32, 60)
found = np.array(
    [[scores_of_models(seed, n) for seed in range(N_PERSONS)] for n in scored]
)

# %%
# The mean over these people, and the gain of each model over ranking pursuit on the same person.
for n, means in zip(scored, found.mean(axis=1), strict=True):
    print(f"{n} songs scored")
    for name, mean in zip(names, means, strict=True):
        print(f"   {mean:.3f} {name}")

gain = found - found[:, :, :1]
interval = 1.96 * gain.std(axis=1, ddof=1) / np.sqrt(N_PERSONS)
_, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for place, (name, style) in enumerate(zip(names, ("o-", "s--", "D:"), strict=True)):
    axes[0].plot(scored, found.mean(axis=1)[:, place], style, label=name)
    if place:
        shift = np.array(scored) * (0.97 + 0.06 * (place - 1))  # side by side
        axes[1].errorbar(
            *(shift, gain.mean(axis=1)[:, place], interval[:, place]),
            fmt=style,
            capsize=4,
            color=f"C{place}",
        )
axes[0].set(
    ylabel="fraction of pairs in the right order", title="Songs without a score"
)
axes[0].legend()
axes[1].axhline(0, color="black", linewidth=1)
axes[1].set(
    ylabel="gain over ranking pursuit, 95% interval", title="On the same person"
)
for ax in axes:
    ax.set_xscale("log")
    ax.set_xticks(scored, [str(n) for n in scored])
    ax.minorticks_off()
    ax.set_xlabel("number of songs with a score")

# %%
# Look at the right panel before you use unscored items. A gain with ``nu = 0`` comes from basis
# functions on unscored points and from averaging two functions. Only what ``nu = 1`` adds to it is
# due to agreement on unscored items. Here that is almost nothing, and most intervals include zero.
plt.show()
