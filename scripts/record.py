"""Put the reference on record: ``python scripts/record.py --why "..."``.

Writes ``configs/expected/NAME.yaml`` for each table in ``results/reference``, and
``configs/inferred/expected/NAME.yaml`` for those in ``results/reference/inferred``: every distinct
cell beyond the tolerance as a known deviation, and the verdict on every claim. Appends when and why
to ``results/reference/log.yaml``. Only after results were changed on purpose; `scripts/pages.py`
then writes the pages.
"""

from __future__ import annotations

import datetime

import click
import yaml
from pages import INFERRED, LOG, REFERENCE, ROOT, runs

from rankpursuit.experiments.registry import METRICS
from rankpursuit.reporting.claims import judge_claims
from rankpursuit.reporting.results import Results
from rankpursuit.reporting.tables import published_cells
from rankpursuit.writing import write_atomically

HEAD = """\
# What rp-check expects of the results of {config}.yaml. Written by scripts/record.py.
#
# known_deviations: measured values of the cells outside the tolerance of published.yaml. They may
#   move by one unit of the last digit that the paper prints; more in either direction fails, also
#   towards the paper.
# claims: verdicts on record for the claims of published.yaml.
"""


def expectation(run: Results, config: str, verdicts: dict[str, str]) -> str:
    """Return the text of the file of one table."""
    known: dict[str, dict[str, dict[str, float]]] = {}
    for cell in published_cells(run).query("not within").itertuples():
        measured = round(cell.measured, METRICS[cell.metric].decimals + 1)
        known.setdefault(cell.metric, {}).setdefault(cell.algorithm, {})[cell.group] = measured
    content = {"config": config, "table": run.table, "known_deviations": known}
    body = yaml.safe_dump(content, sort_keys=False, width=120, default_flow_style=None)
    body += yaml.safe_dump({"claims": verdicts}, sort_keys=False)
    return f"{HEAD.format(config=config)}\n{body}"


@click.command(help=__doc__)
@click.option("--why", required=True, help="Why the numbers moved, for the log.")
def main(why: str) -> None:
    """Write the files."""
    for folder, place in ((REFERENCE, ""), (INFERRED, "inferred/")):
        found, target = runs(folder), ROOT / "configs" / place / "expected"
        verdicts = judge_claims(list(found.values()))
        for number, run in found.items():
            own = {v.claim.id: v.outcome for v in verdicts if v.claim.tables[-1] == number}
            text = expectation(run, f"{place}{run.name}", own)
            write_atomically(target / f"{run.name}.yaml", text.encode())
            print(f"wrote {(target / run.name).relative_to(ROOT)}.yaml")
    log = yaml.safe_load(LOG.read_text(encoding="utf-8"))
    commits = sorted({run.provenance["commit"] for run in runs(REFERENCE).values()})
    log.append({"date": str(datetime.date.today()), "commit": ", ".join(commits), "why": why})
    write_atomically(LOG, yaml.safe_dump(log, sort_keys=False, width=100).encode())
    print(f"wrote {LOG.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
