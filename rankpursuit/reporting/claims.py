"""The claims of the paper as rules over results, each with a verdict and the numbers behind it.

A rule looks at every comparison that its claim makes, in every group. The claim holds if all of
them come out as it says. A test is Wilcoxon's over repeats, at p < 0.05 and uncorrected, as in the
paper. With fewer than six common repeats no such test can be significant, and the verdict is that
the claim is undecided; so it is if an algorithm or a group has no results.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from rankpursuit.reporting.comparisons import errors_by
from rankpursuit.reporting.published import Claim, claims_about
from rankpursuit.reporting.results import Results, title_of
from rankpursuit.reporting.statistics import LEAST_PAIRS, SIGNIFICANT, Comparison, compare
from rankpursuit.reporting.table import Cell, Part, Table
from rankpursuit.reporting.tables import saving, signed

Outcome = Literal["holds", "does not hold", "undecided"]

_ROUNDING = 0.025
"""The paper's percentages of sparsity are multiples of five: half a step less still counts."""


@dataclass(frozen=True)
class Evidence:
    """One comparison: whether it came out as the claim says, and its numbers in words."""

    agrees: bool
    text: str


@dataclass(frozen=True)
class Verdict:
    """What the results say about a claim.

    Attributes
    ----------
    claim : Claim
    outcome : {"holds", "does not hold", "undecided"}
    evidence : tuple of Evidence
    reason : str
        Why it is undecided; otherwise how many of the comparisons agree.
    runs : tuple of Results
        What it was judged from.
    """

    claim: Claim
    outcome: Outcome
    evidence: tuple[Evidence, ...]
    reason: str
    runs: tuple[Results, ...]

    @property
    def absent(self) -> list[int]:
        """Numbers of the tables that the claim is about and that there are no results of."""
        there = {run.table for run in self.runs}
        return [number for number in self.claim.tables if number not in there]


class _Undecided(Exception):
    """The results do not suffice."""


def judge_claims(runs: Sequence[Results], *, beside: Sequence[Results] = ()) -> list[Verdict]:
    """Judge every claim that is about the table of one of the runs.

    Parameters
    ----------
    runs : sequence of Results
        At most one for each published table counts: the first.
    beside : sequence of Results
        Further runs, for claims that are about two tables.
    """
    by_table: dict[int, Results] = {}
    for run in (*runs, *beside):
        if run.table is not None:
            by_table.setdefault(run.table, run)
    return [judge(claim, by_table) for claim in claims_about(run.table for run in runs)]


def judge(claim: Claim, by_table: dict[int, Results]) -> Verdict:
    """Judge one claim from the runs of the tables that it is about."""
    runs = tuple(by_table[number] for number in claim.tables if number in by_table)
    try:
        if len(runs) < len(claim.tables):
            absent = (f"Table {number}" for number in claim.tables if number not in by_table)
            raise _Undecided(f"needs results of {' and '.join(absent)} too")
        evidence = tuple(RULES[claim.rule](*runs, **claim.options))
    except _Undecided as error:
        return Verdict(claim, "undecided", (), str(error), runs)
    agreeing = sum(one.agrees for one in evidence)
    outcome: Outcome = "holds" if agreeing == len(evidence) else "does not hold"
    reason = f"{agreeing} of {len(evidence)} comparisons agree"
    return Verdict(claim, outcome, evidence, reason, runs)


def outperforms(
    run: Results, *, first: list[str], second: list[str], metric: str = "disagreement"
) -> Iterator[Evidence]:
    """Each of the first has a lower error than each of the second, significantly, in each group."""
    for group, one, two in itertools.product(run.groups, first, second):
        found = _compare(run, metric, group, one, two)
        yield Evidence(found.significant and found.mean < 0, _words(group, one, two, found))


def comparable(
    run: Results, *, first: list[str], second: list[str], metric: str = "disagreement"
) -> Iterator[Evidence]:
    """None of the first is significantly worse than one of the second, in any group."""
    for group, one, two in itertools.product(run.groups, first, second):
        found = _compare(run, metric, group, one, two)
        yield Evidence(not (found.significant and found.mean > 0), _words(group, one, two, found))


def indistinguishable(
    run: Results, *, families: list[list[str]], metric: str = "disagreement"
) -> Iterator[Evidence]:
    """No two of a family differ significantly, in any group."""
    for group, family in itertools.product(run.groups, families):
        for one, two in itertools.combinations(family, 2):
            found = _compare(run, metric, group, one, two)
            yield Evidence(not found.significant, _words(group, one, two, found))


def lower_mean(
    run: Results, *, first: list[str], second: list[str], metric: str = "disagreement"
) -> Iterator[Evidence]:
    """Each of the first has a lower mean error than each of the second, in each group."""
    for group, one, two in itertools.product(run.groups, first, second):
        found = _compare(run, metric, group, one, two)
        yield Evidence(found.mean < 0, _words(group, one, two, found))


def does_not_outperform(
    run: Results, *, label: str, specialists: dict[str, list[str]]
) -> Iterator[Evidence]:
    """On each metric, the algorithm is not significantly better than the best specialist."""
    for (metric, others), group in itertools.product(specialists.items(), run.groups):
        means = _means(run, metric, group, [label, *others])
        best = min(others, key=means.__getitem__)
        found = _compare(run, metric, group, label, best)
        yield Evidence(
            not (found.significant and found.mean < 0),
            f"{metric}, {_words(group, label, best, found)}",
        )


def near_specialists(
    run: Results, *, label: str, specialists: dict[str, list[str]]
) -> Iterator[Evidence]:
    """On each metric, the algorithm is nearer to the best specialist than to the best other.

    "Almost as well" has no number in the paper; this rule needs none, and the published figures
    pass it.
    """
    for metric, group in itertools.product(specialists, run.groups):
        means = _means(run, metric, group, [label, *itertools.chain(*specialists.values())])
        best = min(means[other] for other in specialists[metric])
        rest = min(
            means[other] for key in specialists if key != metric for other in specialists[key]
        )
        text = f"{group}, {metric}: {means[label]:.4g}; specialists {best:.4g}, others {rest:.4g}"
        yield Evidence(means[label] - best < rest - means[label], text)


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
        yield Evidence(found >= saving - _ROUNDING, f"{text}; said: {signed(-100 * saving, 0)}%")


def costs_more(
    all_scores: Results, fewer_scores: Results, *, labels: list[str], metric: str = "disagreement"
) -> Iterator[Evidence]:
    """Each algorithm has a higher mean error in the second run than in the first, in each group."""
    for group, label in itertools.product(all_scores.groups, labels):
        full = _means(all_scores, metric, group, [label])[label]
        half = _means(fewer_scores, metric, group, [label])[label]
        text = (
            f"{group}: {title_of(label)} {full:.4f} with all scores, {half:.4f} with half of them"
        )
        yield Evidence(half > full, text)


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


def claims_table(verdicts: Sequence[Verdict], *, brief: bool = False) -> Table:
    """Return the verdicts as a table; the brief one leaves out what the paper says."""
    rows: dict[str, tuple[Cell, ...]] = {}
    for one in verdicts:
        cells = (Cell(one.outcome), Cell(one.reason), Cell(one.claim.says))
        rows[one.claim.id] = cells[:2] if brief else cells
    notes = (
        "A claim holds if all its comparisons, in every group, come out as it says. Tests are "
        f"Wilcoxon's over repeats, p < {SIGNIFICANT}, uncorrected, as in the paper; undecided: "
        f"something is missing, or there are fewer than {LEAST_PAIRS} repeats, which cannot reach "
        f"p < {SIGNIFICANT}.",
    )
    columns = ("verdict", "because", "the paper says")[: 2 if brief else 3]
    return Table("claims", "Claims of the paper", columns, (Part("claim", rows),), notes, "l")


def _compare(run: Results, metric: str, group: str, one: str, two: str) -> Comparison:
    errors = _errors(run, metric, group, [one, two])
    return compare(errors[one], errors[two])


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
        raise _Undecided(f"{group} lacks {' and '.join(absent)}")
    common = errors[labels].dropna()
    if len(common) < LEAST_PAIRS:
        raise _Undecided(f"{len(common)} repeats; tests need {LEAST_PAIRS}")
    return common


def _saving(run: Results, one: str, two: str) -> float:
    found = saving(run, "disagreement", one, two)
    if found is None:
        raise _Undecided(f"{title_of(two)} has no basis functions to compare with")
    return found


def _words(group: str, one: str, two: str, found: Comparison) -> str:
    difference = f"{found.mean:+.4f}, p = {found.p_value:.3f}"
    return f"{group}: {title_of(one)} less {title_of(two)} {difference}"
