"""Put the reference on record: ``python scripts/record.py --why "..."``.

Writes ``configs/expected/NAME.yaml`` for each table in ``results/reference``, and
``configs/inferred/expected/NAME.yaml`` for those in ``results/reference/inferred``: every distinct
cell beyond the tolerance as a known deviation, and the verdict on every claim. Appends when and why
to ``results/reference/log.yaml``. Only after results were changed on purpose; `scripts/pages.py`
then writes the pages.
"""

from __future__ import annotations

import argparse
import datetime
from pathlib import Path
from typing import Any

import yaml
from pages import INFERRED, LOG, REFERENCE, ROOT, runs

from rankpursuit.experiments.methods import METRICS
from rankpursuit.reporting.check import load_expectations
from rankpursuit.reporting.claims import (
    is_within,
    judge_claims,
    published_tables,
    published_tolerance,
)
from rankpursuit.reporting.results import Results
from rankpursuit.writing import write_atomically

HEAD = """\
# What rp-check expects of the results of {config}.yaml. Written by scripts/record.py.
#
# known_deviations: measured values of the cells outside the tolerance of published.yaml. They may
#   move by one unit of the last digit that the paper prints; more in either direction fails, also
#   towards the paper.
# recomputed: relative tolerance of a single repeat that is computed again (results/exact.md). It is
#   set by hand and kept.
# claims: verdicts on record for the claims of published.yaml.
"""


def expectation(run: Results, config: str, verdicts: dict[str, str], recomputed: Any) -> str:
    """Return the text of the file of one table."""
    table = published_tables()[run.table or 0]
    means = run.repeats.groupby(["metric", "algorithm", "group"])["test_error"].mean()
    known: dict[str, dict[str, dict[str, float]]] = {}
    for metric, label, group, published in table.each_cell():
        measured = round(means[metric, label, group], METRICS[metric].decimals + 1)
        off = means[metric, label, group] - published
        if not is_within(off, published_tolerance(metric)):
            known.setdefault(metric, {}).setdefault(label, {})[group] = float(measured)
    content: dict[str, Any] = {
        "config": config,
        "table": table.number,
        "recomputed": recomputed,
        "known_deviations": known,
    }
    body = yaml.safe_dump(content, sort_keys=False, width=120, default_flow_style=None)
    body += yaml.safe_dump({"claims": verdicts}, sort_keys=False)
    return f"{HEAD.format(config=config)}\n{body}"


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--why", required=True, help="why the numbers moved, for the log")
    why = parser.parse_args().why
    for folder, place in ((REFERENCE, ""), (INFERRED, "inferred/")):
        found, target = runs(folder), ROOT / "configs" / place / "expected"
        before = load_expectations(target)
        verdicts = judge_claims(list(found.values()))
        for number, run in found.items():
            own = {v.claim.id: v.outcome for v in verdicts if v.claim.tables[-1] == number}
            text = expectation(run, f"{place}{run.name}", own, before[number].recomputed)
            write_atomically(target / f"{run.name}.yaml", text.encode())
            print(f"wrote {(target / run.name).relative_to(ROOT)}.yaml")
    log = yaml.safe_load(LOG.read_text(encoding="utf-8"))
    commits = sorted({run.provenance["commit"] for run in runs(REFERENCE).values()})
    log.append({"date": str(datetime.date.today()), "commit": ", ".join(commits), "why": why})
    write_atomically(LOG, yaml.safe_dump(log, sort_keys=False, width=100).encode())
    print(f"wrote {Path(LOG).relative_to(ROOT)}")


if __name__ == "__main__":
    main()
