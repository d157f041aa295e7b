"""What ``rp-check`` expects: tolerances, known deviations and verdicts, from ``expected.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from rankpursuit.errors import ResultsError
from rankpursuit.reporting.published import published_claims, published_tables

_OUTCOMES = ("holds", "does not hold", "undecided")


class CellKey(NamedTuple):
    """Names a cell of the paper's tables."""

    table: int
    metric: str
    algorithm: str
    group: str


@dataclass(frozen=True)
class Known:
    """A cell that is known to deviate: what was measured, and how far that may move."""

    measured: float
    tolerance: float
    reason: str


@dataclass(frozen=True)
class Expected:
    """Everything that a check expects.

    Attributes
    ----------
    tolerances : dict
        By table and metric.
    known : dict
        The known deviations by cell.
    claims : dict
        Verdicts on record by the claim's id.
    """

    tolerances: dict[tuple[int, str], float]
    known: dict[CellKey, Known]
    claims: dict[str, str]


def load_expected(path: str | Path | None = None) -> Expected:
    """Read what to expect.

    Parameters
    ----------
    path : path, optional
        A file like ``expected.yaml`` of the package, which is the default.

    Raises
    ------
    ResultsError
        If the file is missing, or is not what it should be, with the entry.
    """
    source = (
        files("rankpursuit.reporting").joinpath("expected.yaml") if path is None else Path(path)
    )
    name = path or "expected.yaml"
    try:
        found = yaml.safe_load(source.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ResultsError(f"{name}: no such file") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise ResultsError(f"{name}: not readable: {error}") from error
    try:
        return Expected(
            {
                (table, metric): float(_reasoned(entry)["tolerance"])
                for table, metrics in found["tables"].items()
                for metric, entry in metrics.items()
            },
            dict(_known(entry) for entry in found["known_deviations"]),
            {claim: _outcome(claim, outcome) for claim, outcome in found["claims"].items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ResultsError(f"{name}: {_message(error)}") from error


def _known(entry: dict[str, Any]) -> tuple[CellKey, Known]:
    key = CellKey(*(entry[name] for name in CellKey._fields))
    table = published_tables().get(key.table)
    if table is None or table.value(*key[1:]) is None:
        raise ValueError(f"known deviation {tuple(key)} is no cell of the paper")
    pin = _reasoned(entry)
    return key, Known(float(pin["measured"]), float(pin["tolerance"]), str(pin["reason"]))


def _reasoned(entry: dict[str, Any]) -> dict[str, Any]:
    if not str(entry.get("reason") or "").strip():
        raise ValueError(f"{entry} gives no reason")
    return entry


def _outcome(claim: str, outcome: str) -> str:
    if claim not in {one.id for one in published_claims()}:
        raise ValueError(f"{claim} is no claim of the paper")
    if outcome not in _OUTCOMES:
        raise ValueError(f"claim {claim}: {outcome!r} is none of {', '.join(_OUTCOMES)}")
    return outcome


def _message(error: Exception) -> str:
    return f"lacks {error}" if isinstance(error, KeyError) else str(error)
