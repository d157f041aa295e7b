"""Put the committed results on record: ``python scripts/record.py [--inferred]``.

Writes ``rankpursuit/reporting/expected.yaml``, what ``rp-check`` expects: tolerances from the
measured spread over users, every cell beyond them as a known deviation, and the verdict on every
claim; with ``--inferred``, ``results/inferred/expected.yaml`` of the runs beside it. Only after a
deliberate change of results; say in the commit why they changed.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator

from pages import INFERRED, ROOT
from pages import runs as committed_runs

from rankpursuit.experiments.methods import METRICS
from rankpursuit.reporting.check import check_results
from rankpursuit.reporting.claims import judge_claims
from rankpursuit.reporting.expected import Expected, Tolerance
from rankpursuit.reporting.results import Results
from rankpursuit.writing import write_atomically

FILE = ROOT / "rankpursuit" / "reporting" / "expected.yaml"
N_USERS = 3000

HEAD = """\
# What rp-check expects of results of the paper's size. Written by scripts/record.py.
#
# tables: how far a measured cell may lie from the published one. Two means of 3,000 users each, the
#   paper's and ours, differ by chance by up to three standard errors, 3 * sqrt(2 / 3000) times the
#   standard deviation over users; to that comes half of the last digit that the paper prints.
# known_deviations: cells that lie further off, and are known to. Each pins the measured value. A
#   change in either direction fails, also one towards the paper: then this file is out of date.
# claims: the verdict on record for a claim of published.yaml (holds, partly, does not
#   hold, undecided).
"""

REASONS = {
    "disagreement": "see results/README.md",
    "squared_error": "see results/readings.md, squared errors",
}


def tolerances(run: Results) -> Iterator[tuple[str, float, str]]:
    """Yield each metric of a run with its tolerance and where that comes from."""
    for metric, rows in run.users.groupby("metric", sort=False):
        spread = rows.groupby(["algorithm", "group"])["error"].std().max()
        chance, half = (
            3 * math.sqrt(2 / N_USERS) * spread,
            0.5 * 10.0 ** -METRICS[str(metric)].decimals,
        )
        digits = METRICS[str(metric)].decimals
        tolerance = math.ceil((chance + half) * 10**digits) / 10**digits
        reason = (
            f"standard deviation over users up to {spread:.{digits}f}, so {chance:.{digits + 1}f}, "
            f"and {half:g} for rounding"
        )
        yield str(metric), tolerance, reason


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inferred", action="store_true", help="of results/inferred")
    inferred = parser.parse_args().inferred
    file = INFERRED / "expected.yaml" if inferred else FILE
    runs = committed_runs(INFERRED) if inferred else committed_runs()
    lines = [HEAD, "tables:"]
    found: dict[int, dict[str, Tolerance]] = {}
    for number, run in runs.items():
        lines.append(f"  {number}:")
        for metric, tolerance, reason in tolerances(run):
            entry = Tolerance(tolerance=tolerance, reason=reason)
            found.setdefault(number, {})[metric] = entry
            lines += [
                f"    {metric}:",
                f"      tolerance: {tolerance:g}",
                f"      reason: {reason}",
            ]
    lines += ["", "known_deviations:"]
    expected = Expected(tables=found, known_deviations=(), claims={})
    for one in check_results(list(runs.values()), expected).cells:
        if one.status == "unexpected" and one.measured is not None:
            digits = METRICS[one.cell.metric].decimals
            side = "lower" if one.measured < one.published else "higher"
            reason = f"{side} than published; {REASONS[one.cell.metric]}"
            lines += [
                f"  - {{table: {one.cell.table}, metric: {one.cell.metric}, "
                f"algorithm: {one.cell.algorithm}, group: {one.cell.group},",
                f"     measured: {one.measured:.{digits + 1}f}, "
                f'tolerance: {10.0**-digits:g}, reason: "{reason}"}}',
            ]
    lines += ["", "claims:"]
    lines += [
        f"  {verdict.claim.id}: {verdict.outcome}" for verdict in judge_claims(list(runs.values()))
    ]
    write_atomically(file, ("\n".join(lines) + "\n").encode())
    print(f"wrote {file.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
