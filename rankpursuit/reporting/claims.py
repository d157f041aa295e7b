"""Verdicts on the claims of the paper, with the comparisons behind them.

A rule yields every comparison that its claim makes, in every group. A test is Wilcoxon's over
repeats, at p < 0.05 and uncorrected, as in the paper.

A claim holds if all its comparisons agree with it. It holds partly if at least half of them do; if
they all do, but are of means alone and may be chance together; or if it says that there is no
difference and those found are small, as ``published.yaml`` declares. Otherwise it does not hold. It
is undecided if an algorithm or a group has no results, or with fewer than six common repeats, where
no test can be significant.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd

from rankpursuit.experiments.methods import METRICS
from rankpursuit.reporting.published import Claim, claims_about, small_difference
from rankpursuit.reporting.render import signed
from rankpursuit.reporting.results import Results, title_of
from rankpursuit.reporting.statistics import LEAST_PAIRS, Comparison, compare, errors_by
from rankpursuit.reporting.statistics import saving as basis_saving

Outcome = Literal["holds", "partly", "does not hold", "undecided"]
Rule = Callable[..., Iterator["Evidence"]]

BASIS = "basis functions"  # in place of a metric where numbers of basis functions are compared


class Undecided(Exception):
    """Raised by a rule if the results do not suffice."""


@dataclass(frozen=True)
class Evidence:
    """A comparison of a claim, and whether it came out as the claim says."""

    agrees: bool
    text: str
    metric: str  # the error that was compared, or `BASIS`
    differences: dict[int, float]
    """For each repeat, the figure of the first side minus that of the second."""


@dataclass(frozen=True)
class ClaimSize:
    """Size of a claim's difference: the mean over its comparisons, with a 95% interval."""

    metric: str
    mean: float
    interval: tuple[float, float]

    def __str__(self) -> str:
        if self.metric == BASIS:
            mean, low, high = (f"{signed(100 * x, 0)}%" for x in (self.mean, *self.interval))
        else:
            digits = METRICS[self.metric].decimals + 1
            mean, low, high = (signed(x, digits) for x in (self.mean, *self.interval))
        return f"{mean} ({low} to {high})"

    @property
    def side(self) -> int:
        """-1 if the first side's figure is lower, 1 if it is higher, 0 if chance may decide."""
        low, high = self.interval
        return int(low > 0) - int(high < 0)

    @property
    def small(self) -> bool:
        """Whether it counts as small."""
        return self.metric != BASIS and abs(self.mean) < small_difference(self.metric)


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim."""

    claim: Claim
    outcome: Outcome
    evidence: tuple[Evidence, ...]
    reason: str  # why it is undecided; otherwise how many of the comparisons agree
    runs: tuple[Results, ...]  # the results that it was judged from

    @property
    def absent(self) -> list[int]:
        """Numbers of the claim's tables that have no results."""
        there = {run.table for run in self.runs}
        return [number for number in self.claim.tables if number not in there]

    @property
    def sizes(self) -> list[ClaimSize]:
        """Size of the difference, for each metric."""
        return _sizes(self.evidence)

    @property
    def size(self) -> str:
        """Size of the difference, for each metric, as text."""
        return "; ".join(_by_task(self.sizes, str))

    @property
    def sentence(self) -> str:
        """The finding in a plain sentence."""
        if not self.evidence:
            return f"It cannot be judged: {self.reason}."
        text = " ".join(_by_task(self.sizes, partial(_sentence, self.claim)))
        return text[:1].upper() + text[1:]


def _by_task(sizes: Sequence[ClaimSize], write: Callable[[ClaimSize], str]) -> list[str]:
    """Return a text for each metric, after the name of its task if there are several."""
    if len(sizes) == 1:
        return [write(sizes[0])]
    return [f"{METRICS[one.metric].task}: {write(one)}" for one in sizes]


def judge_claims(runs: Sequence[Results], *, others: Sequence[Results] = ()) -> list[Verdict]:
    """Judge every claim about a table of the runs, the first of each; `others` help with it."""
    by_table: dict[int, Results] = {}
    for run in (*runs, *others):
        if run.table is not None:
            by_table.setdefault(run.table, run)
    return [judge(claim, by_table) for claim in claims_about(run.table for run in runs)]


def judge(claim: Claim, by_table: dict[int, Results]) -> Verdict:
    """Judge one claim from the runs of its tables."""
    runs = tuple(by_table[number] for number in claim.tables if number in by_table)
    try:
        if len(runs) < len(claim.tables):
            absent = (f"Table {number}" for number in claim.tables if number not in by_table)
            raise Undecided(f"needs results of {' and '.join(absent)} too")
        evidence = tuple(RULES[claim.rule](*runs, **claim.options))
    except Undecided as error:
        return Verdict(claim, "undecided", (), str(error), runs)
    agreeing = sum(one.agrees for one in evidence)
    reason = f"{agreeing} of {len(evidence)} comparisons agree"
    return Verdict(claim, _outcome(claim, evidence), evidence, reason, runs)


def _outcome(claim: Claim, evidence: Sequence[Evidence]) -> Outcome:
    against = [one for one in evidence if not one.agrees]
    if not against:
        # Means may all be lower by chance: then the sentence says that nothing differs.
        by_chance = claim.rule == "lower_mean" and not any(s.side for s in _sizes(evidence))
        return "partly" if by_chance else "holds"
    all_small = claim.rule in OF_NO_DIFFERENCE and all(_sizes([one])[0].small for one in against)
    return "partly" if all_small or 2 * len(against) <= len(evidence) else "does not hold"


def _sizes(evidence: Sequence[Evidence]) -> list[ClaimSize]:
    """Return the size for each metric: the mean in each repeat that has all its comparisons."""
    sizes = []
    for metric in dict.fromkeys(one.metric for one in evidence):
        differences = [one.differences for one in evidence if one.metric == metric]
        by_repeat = pd.DataFrame(differences).dropna(axis=1).mean()
        found = Comparison(np.asarray(by_repeat, dtype=float))
        sizes.append(ClaimSize(metric, found.mean, found.interval))
    return sizes


def _sentence(claim: Claim, size: ClaimSize) -> str:
    first, second = claim.between
    if claim.rule == "sparser":
        fraction = f"{abs(size.mean):.0%} {'more' if size.mean > 0 else 'fewer'}"
        said = f"the paper says {claim.options['saving']:.0%} fewer"
        return f"{first} has {fraction} basis functions than {second}; {said}."
    if not size.side:
        return f"the errors of {first} and {second} do not differ beyond chance."
    word = "lower" if size.side < 0 else "higher"
    by = "which is small" if size.small else "which is not small"
    figure = f"{abs(size.mean):.{METRICS[size.metric].decimals + 1}f}"
    return f"the error of {first} is {word} than that of {second} by {figure}, {by}."


def _pairwise(agrees: Callable[[Comparison], bool]) -> Rule:
    """Return a rule that compares each of `first` with each of `second`, in each group."""

    def rule(
        run: Results, *, first: list[str], second: list[str], metric: str = "disagreement"
    ) -> Iterator[Evidence]:
        for group, one, two in itertools.product(run.groups, first, second):
            yield _compare(run, metric, group, one, two, agrees)

    return rule


def _significantly_lower(found: Comparison) -> bool:
    return found.significant and found.mean < 0


def indistinguishable(
    run: Results, *, families: list[list[str]], metric: str = "disagreement"
) -> Iterator[Evidence]:
    """No two of a family differ significantly, in any group."""
    for group, family in itertools.product(run.groups, families):
        for pair in itertools.combinations(family, 2):
            means = _common_errors(run, metric, group, pair).mean()
            worse, better = sorted(pair, key=means.__getitem__, reverse=True)
            yield _compare(run, metric, group, worse, better, lambda found: not found.significant)


def does_not_outperform(
    run: Results, *, label: str, specialists: dict[str, list[str]]
) -> Iterator[Evidence]:
    """On each metric, the algorithm is not significantly better than the best specialist."""
    for (metric, others), group in itertools.product(specialists.items(), run.groups):
        best = str(_common_errors(run, metric, group, [label, *others])[others].mean().idxmin())
        yield _compare(
            run, metric, group, label, best, lambda found: not _significantly_lower(found)
        )


def near_specialists(
    run: Results, *, label: str, specialists: dict[str, list[str]]
) -> Iterator[Evidence]:
    """On each metric, the algorithm is nearer to the best specialist than to the best other."""
    # "Almost as well" has no number in the paper; this rule needs none.
    for metric, group in itertools.product(specialists, run.groups):
        rest = [other for key in specialists if key != metric for other in specialists[key]]
        own = specialists[metric]
        best = str(_common_errors(run, metric, group, [label, *own])[own].mean().idxmin())
        means = _common_errors(run, metric, group, [label, best, *rest]).mean()
        other = means[rest].min()
        text = (
            f"{group}, {metric}: {means[label]:.4g}; specialists {means[best]:.4g}, "
            f"others {other:.4g}"
        )
        agrees = bool(means[label] - means[best] < other - means[label])
        pair = _common_errors(run, metric, group, [label, best])
        yield Evidence(agrees, text, metric, (pair[label] - pair[best]).to_dict())


def sparser(
    run: Results, *, first: list[str], second: list[str], saving: float
) -> Iterator[Evidence]:
    """Each of the first has fewer basis functions than each of the second: the mean over groups."""
    rows = run.repeats[run.repeats["metric"] == "disagreement"]
    numbers = rows.pivot_table(
        index=["repeat", "group"], columns="algorithm", values="basis_functions"
    )
    for one, two in itertools.product(first, second):
        for group in run.groups:
            _common_errors(run, "disagreement", group, [one, two])  # raises if there are too few
        found = basis_saving(run, "disagreement", one, two)
        if found is None:
            raise Undecided(f"{title_of(two)} has no basis functions to compare with")
        text = (
            f"{title_of(one)} has {signed(-100 * found, 1)}% basis functions to {title_of(two)}; "
            f"said: {signed(-100 * saving, 0)}%"
        )
        more = (numbers[one] / numbers[two] - 1).dropna().groupby("repeat").mean()
        by_repeat = {int(repeat): float(mean) for repeat, mean in more.items()}
        # The paper's percentages are multiples of five: half a step less still counts.
        yield Evidence(found >= saving - 0.025, text, BASIS, by_repeat)


def costs_more(
    all_scores: Results, fewer_scores: Results, *, labels: list[str], metric: str = "disagreement"
) -> Iterator[Evidence]:
    """Each algorithm has a higher mean error in the second run than in the first, in each group."""
    for group, label in itertools.product(all_scores.groups, labels):
        full = _common_errors(all_scores, metric, group, [label])[label]
        half = _common_errors(fewer_scores, metric, group, [label])[label]
        text = (
            f"{group}: {title_of(label)} {full.mean():.4f} with all scores, {half.mean():.4f} with "
            "half of them"
        )
        differences = (half - full).dropna().to_dict()
        yield Evidence(bool(half.mean() > full.mean()), text, metric, differences)


RULES: dict[str, Rule] = {  # by their names in published.yaml
    "outperforms": _pairwise(_significantly_lower),
    "comparable": _pairwise(lambda found: not (found.significant and found.mean > 0)),
    "lower_mean": _pairwise(lambda found: found.mean < 0),
    "indistinguishable": indistinguishable,
    "does_not_outperform": does_not_outperform,
    "near_specialists": near_specialists,
    "sparser": sparser,
    "costs_more": costs_more,
}
OF_NO_DIFFERENCE = {"comparable", "indistinguishable", "does_not_outperform"}


def _compare(
    run: Results,
    metric: str,
    group: str,
    one: str,
    two: str,
    agrees: Callable[[Comparison], bool],
) -> Evidence:
    """Compare two algorithms of a group over repeats."""
    errors = _common_errors(run, metric, group, [one, two])
    found = compare(errors[one], errors[two])
    prefix = "" if metric == "disagreement" else f"{metric}, "
    text = (
        f"{prefix}{group}: {title_of(one)} minus {title_of(two)} {found.mean:+.4f}, "
        f"p = {found.p_value:.3f}"
    )
    return Evidence(agrees(found), text, metric, (errors[one] - errors[two]).to_dict())


def _common_errors(run: Results, metric: str, group: str, labels: Sequence[str]) -> pd.DataFrame:
    """Return errors in the repeats that all these algorithms have; raise if there are too few."""
    errors = errors_by(run, metric, group)
    absent = [title_of(label) for label in labels if label not in errors]
    if absent:
        raise Undecided(f"{group} lacks {' and '.join(absent)}")
    common = errors[list(labels)].dropna()
    if len(common) < LEAST_PAIRS:
        raise Undecided(f"{len(common)} repeats; tests need {LEAST_PAIRS}")
    return common
