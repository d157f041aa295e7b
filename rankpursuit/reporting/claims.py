"""Verdicts on the claims of the paper, with their size and the numbers behind them.

A claim holds if all its comparisons, in every group, come out as it says. It holds partly if at
least half of them do; if they all do, but are of means alone and may be chance together; or if it
says that there is no difference and those found are small. What is small is declared in
``published.yaml``. Otherwise it does not hold. With fewer than six common repeats no test can be
significant, and the verdict is that the claim is undecided; so it is if an algorithm or a group has
no results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from rankpursuit.experiments.methods import METRICS
from rankpursuit.reporting.claim_rules import (
    BASIS,
    OF_NO_DIFFERENCE,
    RULES,
    Evidence,
    Undecided,
)
from rankpursuit.reporting.published import Claim, claims_about, small_difference
from rankpursuit.reporting.results import Results
from rankpursuit.reporting.statistics import LEAST_PAIRS, SIGNIFICANT, Comparison
from rankpursuit.reporting.table import Cell, Part, Table
from rankpursuit.reporting.tables import signed

Outcome = Literal["holds", "partly", "does not hold", "undecided"]


@dataclass(frozen=True)
class ClaimSize:
    """How large a claim's difference is: the mean over its comparisons, with a 95% interval."""

    metric: str
    mean: float
    interval: tuple[float, float]

    def __str__(self) -> str:
        low, high = (self._figure(end) for end in self.interval)
        return f"{self._figure(self.mean)} ({low} to {high})"

    def _figure(self, value: float) -> str:
        if self.metric == BASIS:
            return f"{signed(100 * value, 0)}%"
        return signed(value, METRICS[self.metric].decimals + 1)

    @property
    def side(self) -> int:
        """-1 if the first side's figure is lower, 1 if it is higher, 0 if chance may decide."""
        low, high = self.interval
        return int(low > 0) - int(high < 0)

    @property
    def small(self) -> bool:
        """Whether it is told as small."""
        return self.metric != BASIS and abs(self.mean) < small_difference(self.metric)


@dataclass(frozen=True)
class Verdict:
    """What the results say about a claim.

    Attributes
    ----------
    claim : Claim
    outcome : {"holds", "partly", "does not hold", "undecided"}
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

    @property
    def sizes(self) -> list[ClaimSize]:
        """The size of the difference, for each metric."""
        return _sizes(self.evidence)

    @property
    def size(self) -> str:
        """The size of the difference, for each metric, in figures."""
        named = len(self.sizes) > 1
        return "; ".join(f"{METRICS[s.metric].task}: {s}" if named else str(s) for s in self.sizes)

    @property
    def sentence(self) -> str:
        """What was found, in a plain sentence."""
        if not self.evidence:
            return f"It cannot be judged: {self.reason}."
        return " ".join(
            _sentence(self.claim, size, named=len(self.sizes) > 1) for size in self.sizes
        )


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
    all_small = claim.rule in OF_NO_DIFFERENCE and all(
        _size(one.metric, [one.differences]).small for one in against
    )
    return "partly" if all_small or 2 * len(against) <= len(evidence) else "does not hold"


def _sizes(evidence: Sequence[Evidence]) -> list[ClaimSize]:
    """Size of all comparisons of each metric."""
    return [
        _size(metric, [one.differences for one in evidence if one.metric == metric])
        for metric in dict.fromkeys(one.metric for one in evidence)
    ]


def _size(metric: str, differences: Sequence[dict[int, float]]) -> ClaimSize:
    """Size of several comparisons: their mean in each repeat that has them all."""
    by_repeat = pd.DataFrame(differences).dropna(axis=1).mean()
    found = Comparison(np.asarray(by_repeat, dtype=float))
    return ClaimSize(metric, found.mean, found.interval)


def _sentence(claim: Claim, size: ClaimSize, *, named: bool) -> str:
    first, second = claim.between
    if claim.rule == "sparser":
        share = f"{abs(size.mean):.0%} {'more' if size.mean > 0 else 'fewer'}"
        said = f"the paper says {claim.options['saving']:.0%} fewer"
        return f"{_capital(first)} has {share} basis functions than {second}; {said}."
    where = f"{METRICS[size.metric].task}: " if named else ""
    if not size.side:
        text = f"the errors of {first} and {second} do not differ beyond chance."
    else:
        word = "lower" if size.side < 0 else "higher"
        by = "which is small" if size.small else "which is not small"
        figure = f"{abs(size.mean):.{METRICS[size.metric].decimals + 1}f}"
        text = f"the error of {first} is {word} than that of {second} by {figure}, {by}."
    return where + (text if where else _capital(text))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def claims_table(verdicts: Sequence[Verdict], *, brief: bool = False) -> Table:
    """Return the verdicts as a table; the brief one leaves out what was found in words."""
    columns = ("verdict", "because", "mean difference", "in words")[: 3 if brief else 4]
    rows: dict[str, tuple[Cell, ...]] = {}
    for one in verdicts:
        cells = (one.outcome, one.reason, one.size, one.sentence)
        rows[str(one.claim)] = tuple(map(Cell, cells[: len(columns)]))
    small = ", ".join(
        f"{small_difference(metric):g} for the {METRICS[metric].title}"
        for metric in ("disagreement", "squared_error")
    )
    notes = (
        "A claim holds if all its comparisons, in every group, come out as it says; partly, if at "
        "least half of them do, if they are of means that may differ by chance, or if it says that "
        f"there is no difference and those found are small: below {small}, as declared with the "
        "claims. Tests are Wilcoxon's over repeats, "
        f"p < {SIGNIFICANT}, uncorrected, as in the paper; undecided: something is missing, or "
        f"there are fewer than {LEAST_PAIRS} repeats, which cannot reach p < {SIGNIFICANT}.",
        "Mean difference: over all comparisons of the claim, of the side named first minus the "
        "other, with a 95% bootstrap interval over repeats.",
    )
    parts = (Part("the paper says", rows),)
    return Table("claims", "Claims of the paper", columns, parts, notes, "l")
