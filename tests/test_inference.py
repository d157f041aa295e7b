"""Rules of choice are judged from errors over grids as a run with that rule would judge them."""

import itertools

import numpy as np
import pytest
from studies import inference
from studies.inference import Features, Grid, Rule, cells_of

from rankpursuit.reporting.claims import published_tables

WIDTHS, LAMBDAS = (1.0, 2.0, 4.0), tuple(2.0**power for power in (-4, -2, 0, 2, 4, 6))
N_UNITS = 6
AXES = {
    "rls": {"width": WIDTHS, "lambdas": LAMBDAS},
    "sparse_rank_rls": {"width": WIDTHS, "n_basis": (0.1, 0.5, 0.9), "lambdas": LAMBDAS},
    "ranking_pursuit": {"width": WIDTHS, "ridge": (0.0,), "n_basis": (0.05, 0.4, 0.95)},
}


@pytest.fixture
def grids():
    rng = np.random.default_rng(0)
    return {
        ("disagreement", group, label): Grid(axes, rng.random((N_UNITS, *map(len, axes.values()))))
        for group in ("20-40", "40-60")
        for label, axes in AXES.items()
    }


def by_hand(grids, rule, group):
    """Choose for each unit by going through all points of all grids."""
    here = {key[2]: grid for key, grid in grids.items() if key[1] == group}
    found = {label: [] for label in here}
    for unit in range(N_UNITS):
        others = [u for u in range(N_UNITS) if u != unit]
        if rule.holdout:
            others = [(unit + step) % N_UNITS for step in range(1, rule.holdout + 1)]
        sums = {label: sum(grid.errors[u] for u in others) for label, grid in here.items()}
        allowed = {label: set(itertools.product(*map(range, s.shape))) for label, s in sums.items()}
        if rule.power is not None:
            at = LAMBDAS.index(2.0**rule.power)
            for label in ("rls", "sparse_rank_rls"):
                allowed[label] = {point for point in allowed[label] if point[-1] == at}
        if rule.shared != "none":
            lowest = {
                label: [min(sums[label][p] for p in points if p[0] == w) for w in range(3)]
                for label, points in allowed.items()
                if rule.shared == "all" or label != "rls"
            }
            total = [sum(one[w] / min(one) for one in lowest.values()) for w in range(3)]
            width = int(np.argmin(total))
            allowed = {k: {p for p in points if p[0] == width} for k, points in allowed.items()}
        best = {label: min(points, key=sums[label].item) for label, points in allowed.items()}
        if rule.size == "pursuit":
            own = {0: 0, 1: 1, 2: 2}[best["ranking_pursuit"][-1]]  # 0.05, 0.4, 0.95: 0.1, 0.5, 0.9
            of_size = {p for p in allowed["sparse_rank_rls"] if p[1] == own}
            best["sparse_rank_rls"] = min(of_size, key=sums["sparse_rank_rls"].item)
        for label, point in best.items():
            found[label].append(here[label].errors[(unit, *point)])
    return found


@pytest.mark.parametrize(
    "rule",
    [
        Rule(),
        Rule(holdout=1),
        Rule(holdout=3, shared="all"),
        Rule(shared="ranking"),
        Rule(power=2),
        Rule(size="pursuit"),
        Rule(2, 0, shared="all", size="pursuit"),
    ],
    ids=str,
)
def test_a_rule_chooses_as_one_would_by_hand(grids, rule):
    found = dict(inference.tested(grids, rule))
    for group in ("20-40", "40-60"):
        for label, expected in by_hand(grids, rule, group).items():
            np.testing.assert_array_equal(found["disagreement", group, label], expected)


def errors_around(table, shift, spread=0.01, n_units=8):
    turn = spread * np.where(np.arange(n_units) % 2, 1, -1)
    return {
        (metric, group, label): value + shift + turn
        for metric, label, group, value in published_tables()[table].each_cell()
    }


def test_chi_square_is_in_standard_errors_of_both_means_and_of_rounding():
    cells = cells_of(1, errors_around(1, 0.005))
    users = inference.runs()[1].users
    total = 0.0
    for metric, group, label in cells.keys:
        own = users[(users["group"] == group) & (users["algorithm"] == label)]["error"]
        total += 0.005**2 / (own.var() * (1 / 400 + 1 / 3000) + 0.001**2 / 12)
        assert metric == "disagreement"
    assert cells.chi_square() == pytest.approx(total)
    assert cells_of(1, errors_around(1, 0.0)).chi_square() == pytest.approx(0, abs=1e-20)


def test_the_features_that_made_the_cells_are_found():
    shifts = {("user", 10): 0.03, ("user", 20): 0.0, ("set", 20): -0.04}
    setups = {
        (Features(*features), Rule()): {3: cells_of(3, errors_around(3, shift))}
        for features, shift in shifts.items()
    }
    found = inference.best_in_samples(setups, 3)
    assert found == {("user", 10): 0.0, ("user", 20): 1.0, ("set", 20): 0.0}
