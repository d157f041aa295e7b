"""The tables and claims of the paper, from ``published.yaml``, and verdicts on the claims.

A rule yields every comparison that its claim makes, in every group. All claims are judged in the
same way: a claim holds if all its comparisons agree with it, holds partly if at least half of them
do, and otherwise does not hold. It is undecided if an algorithm or a group has no results, or with
fewer than six common repeats, where no test can be significant.

Tests are Wilcoxon's over repeats, at p < 0.05 and uncorrected, as in the paper. A published saving
of basis functions agrees if the 95% interval of the measured one contains it: a larger saving
deviates like a smaller one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import yaml
from numpy.typing import ArrayLike
from pydantic import BaseModel

from rankpursuit.experiments.registry import METRICS
from rankpursuit.reporting.render import signed
from rankpursuit.reporting.results import Results, title_of
from rankpursuit.reporting.statistics import (
    MIN_PAIRS,
    Comparison,
    bootstrap_interval,
    compare,
    errors_by,
    savings,
)
from rankpursuit.text import pluralize

# The paper


class PublishedTable(NamedTuple):
    """A table of the paper."""

    number: int
    title: str
    cells: dict[str, dict[str, dict[str, float]]]
    """Published errors, ``cells[metric][algorithm][group]``."""
    printed_before: frozenset[tuple[str, str]] = frozenset()
    """Metric and algorithm of rows that repeat those of an earlier table."""

    def value(self, metric: str, label: str, group: str) -> float | None:
        """Return a published error, or None if the table has no such cell."""
        return self.cells.get(metric, {}).get(label, {}).get(group)

    def each_cell(self) -> Iterator[tuple[str, str, str, float]]:
        """Yield metric, algorithm, group and error of each cell that no earlier table has."""
        for metric, rows in self.cells.items():
            for label, row in rows.items():
                if (metric, label) not in self.printed_before:
                    for group, value in row.items():
                        yield metric, label, group, value


class Claim(BaseModel, extra="forbid", frozen=True):
    """A claim that the text makes about tables, and the rule that decides it."""

    id: str
    tables: tuple[int, ...]  # numbers of the tables that it is about
    sections: tuple[str, ...]  # sections of the paper that make it
    says: str  # a paraphrase
    between: tuple[str, str]  # the two sides that it compares, in words
    rule: str  # name in `RULES`
    options: dict[str, Any]  # keyword arguments of the rule

    def __str__(self) -> str:
        tables = " and ".join(map(str, self.tables))
        return f"Table{'s' * (len(self.tables) > 1)} {tables}: {self.says}"


class Size(BaseModel, extra="forbid", frozen=True):
    """Size of an experiment: test users of each repeat, and repeats."""

    users: int
    repeats: int

    def __str__(self) -> str:
        return f"{pluralize(self.users, 'user')}, {pluralize(self.repeats, 'repeat')}"


@cache
def _read() -> dict[str, Any]:
    text = files("rankpursuit.reporting").joinpath("published.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


@cache
def published_tables() -> dict[int, PublishedTable]:
    """Return the tables of the paper by number."""
    groups = _read()["groups"]
    tables: dict[int, PublishedTable] = {}
    for number, table in _read()["tables"].items():
        cells = {
            metric: {label: dict(zip(groups, row, strict=True)) for label, row in rows.items()}
            for metric, rows in table["cells"].items()
        }
        before = frozenset(
            (metric, label)
            for metric, earlier in table.get("printed_before", {}).items()
            for label in tables[earlier].cells[metric]
        )
        tables[number] = PublishedTable(number, table["title"], cells, before)
    return tables


@cache
def published_claims() -> tuple[Claim, ...]:
    """Return the claims of the text, in the order of the tables."""
    return tuple(Claim(**claim) for claim in _read()["claims"])


def claims_about(tables: Iterable[int | None]) -> list[Claim]:
    """Return the claims that are about at least one of these tables."""
    numbers = set(tables)
    return [claim for claim in published_claims() if numbers.intersection(claim.tables)]


def published_size() -> Size:
    """Return the size of the paper's experiments."""
    return Size(**_read()["size"])


def published_tolerance(metric: str) -> float:
    """Return the tolerance within which a measured error counts as reproduced."""
    return float(_read()["tolerance"][metric])


def is_within(difference: ArrayLike, tolerance: ArrayLike) -> Any:
    """Return whether differences are within a tolerance, limits included."""
    return np.abs(difference) <= np.add(tolerance, 1e-9)


def small_difference(metric: str) -> float:
    """Return the threshold below which a difference of errors is called small.

    It is NaN for a metric that the paper does not have.
    """
    return float(_read()["small"].get(metric, np.nan))


# Verdicts

Outcome = Literal["holds", "partly", "does not hold", "undecided"]
MARKS: dict[Outcome, str] = {"holds": "✓", "partly": "≈", "does not hold": "✗", "undecided": "?"}
REPLICATED: dict[Outcome, str] = {  # in the words of ReScience
    "holds": "replicated",
    "partly": "partly replicated",
    "does not hold": "not replicated",
    "undecided": "not attempted",
}
Rule = Callable[..., Iterator["Evidence"]]
Agrees = Callable[[Comparison, str], bool]  # whether a comparison, on a metric, agrees

RELATIONS = ("significantly better than", "significantly worse than", "not told apart from")
BASIS = "basis functions"  # in place of a metric where numbers of basis functions are compared


class Undecided(Exception):
    """Raised by a rule if results are missing or too few."""


@dataclass(frozen=True)
class Evidence:
    """A comparison of a claim, and whether it agrees with the claim."""

    agrees: bool
    text: str
    sides: tuple[str, str]  # what is compared, in words
    group: str
    metric: str  # the error that was compared, or `BASIS`
    differences: dict[int, float]
    """For each repeat, the figure of the first side minus that of the second."""

    @cached_property
    def comparison(self) -> Comparison:
        """The differences, for tests."""
        return Comparison(np.asarray(list(self.differences.values()), dtype=float))

    @property
    def relation(self) -> str:
        """How the errors of the first side relate to those of the second, one of `RELATIONS`."""
        if not self.comparison.significant:
            return RELATIONS[-1]
        return RELATIONS[int(self.comparison.mean > 0)]


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
    def sizes(self) -> dict[str, Comparison]:
        """Size of the difference by metric: the mean over the comparisons in each repeat."""
        sizes = {}
        for metric in dict.fromkeys(one.metric for one in self.evidence):
            differences = [one.differences for one in self.evidence if one.metric == metric]
            by_repeat = pd.DataFrame(differences).dropna(axis=1).mean()
            sizes[metric] = Comparison(np.asarray(by_repeat, dtype=float))
        return sizes

    @property
    def size(self) -> str:
        """Mean difference with its 95% interval, for each metric, as text."""
        sizes = self.sizes
        return "; ".join(self._by_task(lambda metric: _size_text(metric, sizes[metric])))

    @property
    def sentence(self) -> str:
        """The finding in words: who is better than whom, worse, and not told apart."""
        if not self.evidence:
            return f"It cannot be judged: {self.reason}."
        text = " ".join(self._by_task(self._sentence))
        return text[:1].upper() + text[1:]

    def _sentence(self, metric: str) -> str:
        evidence = [one for one in self.evidence if one.metric == metric]
        if metric == BASIS:
            return f"{'; '.join(one.text for one in evidence)}."
        relations = {one.relation for one in evidence}
        if len(relations) > 1:
            return _mixed_findings(evidence)
        (first, second), (relation,) = self.claim.between, relations
        if relation == RELATIONS[-1]:
            return (
                f"the errors of {first} and {second} do not differ significantly in any comparison."
            )
        word = "lower" if relation == RELATIONS[0] else "higher"
        return (
            f"the error of {first} is significantly {word} than that of {second} in every "
            f"comparison, {_range_text(evidence)}."
        )

    def _by_task(self, write: Callable[[str], str]) -> list[str]:
        """Return a text for each metric, after the name of its task if there are several."""
        texts = {metric: write(metric) for metric in self.sizes}
        if len(texts) == 1:
            return list(texts.values())
        return [f"{METRICS[metric].task}: {text}" for metric, text in texts.items()]


def judge_claims(runs: Sequence[Results], *, others: Sequence[Results] = ()) -> list[Verdict]:
    """Judge every claim about a table of the runs, by the first run of each table.

    Claims about several tables may also use `others`.
    """
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
        evidence = tuple(RULES[claim.rule][0](*runs, **claim.options))
    except Undecided as error:
        return Verdict(claim, "undecided", (), str(error), runs)
    agreeing, number = sum(one.agrees for one in evidence), len(evidence)
    outcome: Outcome = "partly" if 2 * agreeing >= number else "does not hold"
    outcome = "holds" if agreeing == number else outcome
    return Verdict(claim, outcome, evidence, f"{agreeing} of {number} comparisons agree", runs)


def _size_text(metric: str, size: Comparison) -> str:
    figures = (size.mean, *size.interval)
    if metric == BASIS:
        mean, low, high = (f"{signed(100 * x, 0)}%" for x in figures)
    else:
        mean, low, high = (signed(x, METRICS[metric].decimals + 1) for x in figures)
    return f"{mean} ({low} to {high})"


def _mixed_findings(evidence: Sequence[Evidence]) -> str:
    """Return who is better than whom, worse, and not told apart, with groups in brackets."""
    by_findings: dict[tuple[Any, ...], dict[str, list[Evidence]]] = {}  # by first side
    for first in dict.fromkeys(one.sides[0] for one in evidence):
        of_first = [one for one in evidence if one.sides[0] == first]
        findings = tuple(sorted((one.sides[1], one.group, one.relation) for one in of_first))
        by_findings.setdefault(findings, {})[first] = of_first
    all_groups = tuple(dict.fromkeys(one.group for one in evidence))
    sentences = []
    for by_first in by_findings.values():
        parts = []
        for relation in RELATIONS:
            related = [x for rows in by_first.values() for x in rows if x.relation == relation]
            if related:
                by = f", {_range_text(related)}" if relation != RELATIONS[-1] else ""
                parts.append(f"{relation} {_others_text(related, all_groups)}{by}")
        verb = "is" if len(by_first) == 1 else "are"
        sentences.append(f"{_enumerated(list(by_first))} {verb} {'; '.join(parts)}.")
    return " ".join(sentences)


def _others_text(evidence: Sequence[Evidence], all_groups: tuple[str, ...]) -> str:
    """Return the second sides, each with its groups unless all have all groups."""
    by_groups: dict[tuple[str, ...], list[str]] = {}
    for second in dict.fromkeys(one.sides[1] for one in evidence):
        groups = tuple(dict.fromkeys(one.group for one in evidence if one.sides[1] == second))
        by_groups.setdefault(groups, []).append(second)
    if list(by_groups) == [all_groups]:
        return _enumerated(by_groups[all_groups])
    return _enumerated(
        [
            f"{_enumerated(others)} ({'all' if groups == all_groups else ', '.join(groups)})"
            for groups, others in by_groups.items()
        ]
    )


def _range_text(evidence: Sequence[Evidence]) -> str:
    """Return the sizes of mean differences on one metric, such as ``by 0.0012 to 0.0034``."""
    sizes, metric = [abs(one.comparison.mean) for one in evidence], evidence[0].metric
    limits = (f"{size:.{METRICS[metric].decimals + 1}f}" for size in (min(sizes), max(sizes)))
    is_small = max(sizes) < small_difference(metric)
    small = is_small * (", a small difference" if len(sizes) == 1 else ", small differences")
    return f"by {' to '.join(dict.fromkeys(limits))}{small}"


def _enumerated(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _pairwise(agrees: Agrees) -> Rule:
    """Return a rule that compares each of `first` with each of `second`, in each group."""

    def rule(
        run: Results, *, first: list[str], second: list[str], metric: str = "disagreement"
    ) -> Iterator[Evidence]:
        for group, one, two in itertools.product(run.groups, first, second):
            yield _compare(run, metric, group, one, two, agrees)

    return rule


def _significantly_lower(found: Comparison, _: str) -> bool:
    return found.significant and found.mean < 0


def _comparable(found: Comparison, metric: str) -> bool:
    """Return whether the first is not significantly worse, or only by a small difference."""
    worse = found.significant and found.mean > 0
    return not worse or found.mean < small_difference(metric)


def indistinguishable(
    run: Results, *, families: list[list[str]], metric: str = "disagreement"
) -> Iterator[Evidence]:
    """No two of a family differ significantly, in any group."""
    for group, family in itertools.product(run.groups, families):
        for pair in itertools.combinations(family, 2):
            means = _common_errors(run, metric, group, pair).mean()
            worse, better = sorted(pair, key=means.__getitem__, reverse=True)
            yield _compare(run, metric, group, worse, better, lambda one, _: not one.significant)


def does_not_outperform(
    run: Results, *, label: str, specialists: dict[str, list[str]]
) -> Iterator[Evidence]:
    """On each metric, the algorithm is not significantly better than the best specialist."""
    for (metric, others), group in itertools.product(specialists.items(), run.groups):
        best = _best(run, metric, group, label, others)
        yield _compare(run, metric, group, label, best, lambda *one: not _significantly_lower(*one))


def near_specialists(
    run: Results, *, label: str, specialists: dict[str, list[str]]
) -> Iterator[Evidence]:
    """On each metric, the algorithm is nearer to the best specialist than to the best other."""
    # The paper gives no number for "almost as well"; this rule needs none.
    for metric, group in itertools.product(specialists, run.groups):
        rest = [other for key in specialists if key != metric for other in specialists[key]]
        best = _best(run, metric, group, label, specialists[metric])
        errors = _common_errors(run, metric, group, [label, best, *rest])
        own, nearest = errors[label].mean(), errors[best].mean()
        other = errors[rest].mean().min()
        text = f"{group}, {metric}: {own:.4g}; specialists {nearest:.4g}, others {other:.4g}"
        differences = (errors[label] - errors[best]).to_dict()
        agrees, sides = bool(own - nearest < other - own), (title_of(label), title_of(best))
        yield Evidence(agrees, text, sides, group, metric, differences)


def sparser(
    run: Results, *, first: list[str], second: list[str], saving: float
) -> Iterator[Evidence]:
    """Each of the first has the published saving of basis functions over each of the second."""
    for one, two in itertools.product(first, second):
        for group in run.groups:
            _common_errors(run, "disagreement", group, [one, two])  # raises if there are too few
        saved = savings(run, "disagreement", one, two)
        if saved is None:
            raise Undecided(f"{title_of(two)} has no basis functions to compare with")
        low, high = bootstrap_interval(saved)
        sides = title_of(one), title_of(two)
        text = (
            f"{sides[0]} uses {abs(saved.mean()):.1%} {'more' if saved.mean() < 0 else 'fewer'} "
            f"basis functions than {sides[1]} (95% interval of the saving: {low:.0%} to "
            f"{high:.0%}; paper: {saving:.0%})"
        )
        agrees = round(low, 2) <= saving <= round(high, 2)  # the paper prints whole percent
        yield Evidence(agrees, text, sides, "all groups", BASIS, (-saved).to_dict())


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
        sides = f"{title_of(label)} with half of the scores", "the same with all scores"
        yield Evidence(bool(half.mean() > full.mean()), text, sides, group, metric, differences)


RULES: dict[str, tuple[Rule, str]] = {  # by their names in published.yaml, with the tolerance
    "outperforms": (_pairwise(_significantly_lower), "better at p < 0.05"),
    "comparable": (_pairwise(_comparable), "not worse at p < 0.05, or by a small difference"),
    "indistinguishable": (indistinguishable, "p >= 0.05"),
    "does_not_outperform": (does_not_outperform, "not better at p < 0.05"),
    "near_specialists": (near_specialists, "nearer to the best specialist than to the others"),
    "sparser": (sparser, "in the 95% interval of the measured saving"),
    "costs_more": (costs_more, "sign of the mean difference"),
}


def _compare(run: Results, metric: str, group: str, one: str, two: str, agrees: Agrees) -> Evidence:
    """Compare two algorithms of a group over repeats."""
    errors = _common_errors(run, metric, group, [one, two])
    found = compare(errors[one], errors[two])
    prefix = "" if metric == "disagreement" else f"{metric}, "
    low, high = found.equivalence_interval
    text = (
        f"{prefix}{group}: {title_of(one)} minus {title_of(two)} {found.mean:+.4f}, "
        f"p = {found.p_value:.3f}, effect {found.effect:+.2f}, 90% interval {low:+.4f} to "
        f"{high:+.4f}"
    )
    differences, sides = (errors[one] - errors[two]).to_dict(), (title_of(one), title_of(two))
    return Evidence(agrees(found, metric), text, sides, group, metric, differences)


def _best(run: Results, metric: str, group: str, label: str, others: list[str]) -> str:
    """Return which of the others has the lowest error in the repeats that all have."""
    return str(_common_errors(run, metric, group, [label, *others])[others].mean().idxmin())


def _common_errors(run: Results, metric: str, group: str, labels: Sequence[str]) -> pd.DataFrame:
    """Return errors in the repeats that all these algorithms have; raise if there are too few."""
    errors = errors_by(run, metric, group)
    absent = [title_of(label) for label in labels if label not in errors]
    if absent:
        raise Undecided(f"{group} lacks {' and '.join(absent)}")
    common = errors[list(labels)].dropna()
    if len(common) < MIN_PAIRS:
        raise Undecided(f"{len(common)} repeats; tests need {MIN_PAIRS}")
    return common
