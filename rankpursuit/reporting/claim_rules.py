"""The rules of the paper's claims: each yields every comparison that its claim makes.

A test is Wilcoxon's over repeats, at p < 0.05 and uncorrected, as in the paper.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pandas as pd

from rankpursuit.reporting.comparisons import errors_by
from rankpursuit.reporting.results import Results, title_of
from rankpursuit.reporting.statistics import LEAST_PAIRS, Comparison, compare
from rankpursuit.reporting.tables import saving, signed

BASIS = "basis functions"
"""What stands in the place of a metric where numbers of basis functions are compared."""

_ROUNDING = 0.025
"""The paper's percentages of sparsity are multiples of five: half a step less still counts."""


@dataclass(frozen=True)
class Evidence:
    """One comparison: whether it came out as the claim says, and its numbers.

    Attributes
    ----------
    agrees : bool
    text : str
        The numbers in words.
    metric : str
        The error that was compared, or `BASIS`.
    differences : dict of int to float
        For each repeat, by how much the first side's figure is larger than the second's.
    """

    agrees: bool
    text: str
    metric: str = "disagreement"
    differences: dict[int, float] = field(default_factory=dict)


class Undecided(Exception):
    """The results do not suffice."""


def outperforms(
    run: Results, *, first: list[str], second: list[str], metric: str = "disagreement"
) -> Iterator[Evidence]:
    """Each of the first has a lower error than each of the second, significantly, in each group."""
    for group, one, two in itertools.product(run.groups, first, second):
        found = _compare(run, metric, group, one, two)
        yield found.evidence(found.significant and found.mean < 0)


def comparable(
    run: Results, *, first: list[str], second: list[str], metric: str = "disagreement"
) -> Iterator[Evidence]:
    """None of the first is significantly worse than one of the second, in any group."""
    for group, one, two in itertools.product(run.groups, first, second):
        found = _compare(run, metric, group, one, two)
        yield found.evidence(not (found.significant and found.mean > 0))


def indistinguishable(
    run: Results, *, families: list[list[str]], metric: str = "disagreement"
) -> Iterator[Evidence]:
    """No two of a family differ significantly, in any group."""
    for group, family in itertools.product(run.groups, families):
        for one, two in itertools.combinations(family, 2):
            means = _means(run, metric, group, [one, two])
            worse, better = sorted((one, two), key=means.__getitem__, reverse=True)
            found = _compare(run, metric, group, worse, better)
            yield found.evidence(not found.significant)


def lower_mean(
    run: Results, *, first: list[str], second: list[str], metric: str = "disagreement"
) -> Iterator[Evidence]:
    """Each of the first has a lower mean error than each of the second, in each group."""
    for group, one, two in itertools.product(run.groups, first, second):
        found = _compare(run, metric, group, one, two)
        yield found.evidence(found.mean < 0)


def does_not_outperform(
    run: Results, *, label: str, specialists: dict[str, list[str]]
) -> Iterator[Evidence]:
    """On each metric, the algorithm is not significantly better than the best specialist."""
    for (metric, others), group in itertools.product(specialists.items(), run.groups):
        best = _best(run, metric, group, others, label)
        found = _compare(run, metric, group, label, best)
        yield found.evidence(not (found.significant and found.mean < 0))


def near_specialists(
    run: Results, *, label: str, specialists: dict[str, list[str]]
) -> Iterator[Evidence]:
    """On each metric, the algorithm is nearer to the best specialist than to the best other.

    "Almost as well" has no number in the paper; this rule needs none, and the published figures
    pass it.
    """
    for metric, group in itertools.product(specialists, run.groups):
        rest = [other for key in specialists if key != metric for other in specialists[key]]
        best = _best(run, metric, group, specialists[metric], label)
        means = _means(run, metric, group, [label, best, *rest])
        other = min(means[name] for name in rest)
        text = (
            f"{group}, {metric}: {means[label]:.4g}; specialists {means[best]:.4g}, "
            f"others {other:.4g}"
        )
        agrees = means[label] - means[best] < other - means[label]
        yield Evidence(agrees, text, metric, _compare(run, metric, group, label, best).by_repeat)


def sparser(
    run: Results, *, first: list[str], second: list[str], saving: float
) -> Iterator[Evidence]:
    """Each of the first has fewer basis functions than each of the second, by at least this share.

    The mean over groups counts, and 2.5 percentage points less pass as rounding.
    """
    for one, two in itertools.product(first, second):
        for group in run.groups:
            _means(run, "disagreement", group, [one, two])  # undecided if there is too little
        found = _saving(run, one, two)
        text = f"{title_of(one)} has {signed(-100 * found, 1)}% basis functions to {title_of(two)}"
        yield Evidence(
            found >= saving - _ROUNDING,
            f"{text}; said: {signed(-100 * saving, 0)}%",
            BASIS,
            _savings(run, one, two),
        )


def costs_more(
    all_scores: Results, fewer_scores: Results, *, labels: list[str], metric: str = "disagreement"
) -> Iterator[Evidence]:
    """Each algorithm has a higher mean error in the second run than in the first, in each group."""
    for group, label in itertools.product(all_scores.groups, labels):
        full = _errors(all_scores, metric, group, [label])[label]
        half = _errors(fewer_scores, metric, group, [label])[label]
        text = (
            f"{group}: {title_of(label)} {full.mean():.4f} with all scores, {half.mean():.4f} with "
            "half of them"
        )
        differences = (half - full).dropna().to_dict()
        yield Evidence(bool(half.mean() > full.mean()), text, metric, differences)


RULES: dict[str, Callable[..., Iterator[Evidence]]] = {
    rule.__name__: rule
    for rule in (
        outperforms,
        comparable,
        indistinguishable,
        lower_mean,
        does_not_outperform,
        near_specialists,
        sparser,
        costs_more,
    )
}
"""Every rule by the name that ``published.yaml`` gives it."""

OF_NO_DIFFERENCE = {"comparable", "indistinguishable", "does_not_outperform"}
"""Rules that a difference speaks against, and a small one little."""


@dataclass(frozen=True, eq=False)
class _Compared(Comparison):
    """Two algorithms of a group over repeats."""

    by_repeat: dict[int, float]
    metric: str
    text: str

    def evidence(self, agrees: bool) -> Evidence:
        return Evidence(agrees, self.text, self.metric, self.by_repeat)


def _compare(run: Results, metric: str, group: str, one: str, two: str) -> _Compared:
    errors = _errors(run, metric, group, [one, two])
    found = compare(errors[one], errors[two])
    words = f"{group}: {title_of(one)} minus {title_of(two)}"
    prefix = "" if metric == "disagreement" else f"{metric}, "
    text = f"{prefix}{words} {found.mean:+.4f}, p = {found.p_value:.3f}"
    by_repeat = (errors[one] - errors[two]).to_dict()
    return _Compared(found.differences, by_repeat, metric, text)


def _best(run: Results, metric: str, group: str, labels: list[str], beside: str) -> str:
    means = _means(run, metric, group, [beside, *labels])
    return min(labels, key=means.__getitem__)


def _means(run: Results, metric: str, group: str, labels: list[str]) -> dict[str, float]:
    """Return mean errors over the repeats that all these algorithms have."""
    return {
        str(label): float(mean)
        for label, mean in _errors(run, metric, group, labels).mean().items()
    }


def _errors(run: Results, metric: str, group: str, labels: list[str]) -> pd.DataFrame:
    errors = errors_by(run, metric, group)
    absent = [title_of(label) for label in labels if label not in errors]
    if absent:
        raise Undecided(f"{group} lacks {' and '.join(absent)}")
    common = errors[labels].dropna()
    if len(common) < LEAST_PAIRS:
        raise Undecided(f"{len(common)} repeats; tests need {LEAST_PAIRS}")
    return common


def _saving(run: Results, one: str, two: str) -> float:
    found = saving(run, "disagreement", one, two)
    if found is None:
        raise Undecided(f"{title_of(two)} has no basis functions to compare with")
    return found


def _savings(run: Results, one: str, two: str) -> dict[int, float]:
    """For each repeat, the share of basis functions more (+) or fewer (-), mean over groups."""
    rows = run.repeats[run.repeats["metric"] == "disagreement"]
    table = rows.pivot_table(
        index=["repeat", "group"], columns="algorithm", values="basis_functions"
    )
    more = (table[one] / table[two] - 1).dropna()
    return {int(repeat): float(mean) for repeat, mean in more.groupby("repeat").mean().items()}
