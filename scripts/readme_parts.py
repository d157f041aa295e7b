"""The generated parts of README.md that no other page has, from the committed runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from rankpursuit.experiments.methods import METHODS, METRICS
from rankpursuit.experiments.names import shipped_experiments
from rankpursuit.reporting.claims import Outcome, judge_claims
from rankpursuit.reporting.columns import markdown_columns
from rankpursuit.reporting.published import published_tables
from rankpursuit.reporting.results import Results
from rankpursuit.wording import duration

Runs = Mapping[int, Results]
"""The committed runs by the number of their table."""


def times(runs: Runs) -> str:
    """Return what each experiment is called, what it runs and how long that took."""
    of_name = {run.name: (number, run) for number, run in runs.items()}
    rows = []
    for name in shipped_experiments():
        if name in of_name:
            number, run = of_name[name]
            title = published_tables()[number].full_title
            cores = run.provenance["machine"]["cores"]
            rows.append(
                [f"`{name}`", title, f"{duration(run.provenance['seconds'])} on {cores} cores"]
            )
    return markdown_columns(["experiment", "what it is", "time"], rows, "llr")


def headline_of_both_tasks(runs: Runs) -> str:
    """Return the mean errors over the groups of Table 5, at ranking and at regression."""
    run, published = runs[5], published_tables()[5].cells
    rows = []
    for label in published["disagreement"]:
        row = [METHODS[label].title]
        for metric in run.metrics:
            chosen = (run.repeats["algorithm"] == label) & (run.repeats["metric"] == metric)
            digits, figures = METRICS[metric].decimals, published[metric][label].values()
            mean = sum(figures) / len(figures)
            measured = run.repeats.loc[chosen, "test_error"].mean()
            row.append(f"{measured:.{digits}f} ({mean:.{digits}f})")
        rows.append(row)
    headers = ["", *(METRICS[metric].title for metric in run.metrics)]
    return markdown_columns(headers, rows, "l" + "r" * len(run.metrics))


def verdicts(runs: Runs) -> str:
    """Return how many claims of the paper have each verdict, and what they say."""
    judged = judge_claims(list(runs.values()))
    found = {
        outcome: [one.claim for one in judged if one.outcome == outcome]
        for outcome in get_args(Outcome)
        if any(one.outcome == outcome for one in judged)
    }
    counts = ", ".join(f"{outcome}: {len(claims)}" for outcome, claims in found.items())
    lines = [f"**Of the paper's {len(judged)} claims about these tables: {counts}.**"]
    for outcome, claims in found.items():
        lines += ["", f"<details><summary>{outcome.capitalize()}</summary>", ""]
        for claim in claims:
            lines.append(f"- {claim}")
        lines += ["", "</details>"]
    return "\n".join(lines)
