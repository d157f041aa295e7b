"""What ``rp-check`` expects: tolerances, known deviations and verdicts, from ``expected.yaml``."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from rankpursuit.errors import ConfigError, ResultsError
from rankpursuit.experiments.config import parse_yaml, read_text
from rankpursuit.experiments.grids import InvalidValue, Section, parse_section, prefix_errors
from rankpursuit.experiments.names import suggestion
from rankpursuit.reporting.claims import Outcome
from rankpursuit.reporting.published import published_claims, published_tables


def _known_table(number: int) -> int:
    if number not in published_tables():
        raise InvalidValue(
            f"no table of the paper; it has {', '.join(map(str, published_tables()))}"
        )
    return number


def _known_metric(metric: str) -> str:
    metrics = {name for table in published_tables().values() for name in table.cells}
    return _one_of(metric, metrics, "metric")


def _known_claim(claim: str) -> str:
    return _one_of(claim, (one.id for one in published_claims()), "claim")


def _one_of(word: str, known: Iterable[str], kind: str) -> str:
    names = sorted(known)
    if word not in names:
        raise InvalidValue(f"no {kind} of the paper; {suggestion(word, names)}")
    return word


Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
TableNumber = Annotated[int, AfterValidator(_known_table)]
MetricName = Annotated[str, AfterValidator(_known_metric)]
ClaimId = Annotated[str, AfterValidator(_known_claim)]


class CellKey(NamedTuple):
    """Names a cell of the paper's tables."""

    table: int
    metric: str
    algorithm: str
    group: str


class Tolerance(Section):
    """How far the cells of a table may lie from the published ones."""

    tolerance: Annotated[float, Field(ge=0)]
    reason: Reason
    """Where the number comes from."""


class Deviation(Section):
    """A cell that is known to deviate: what was measured, and how far that may move."""

    table: int
    metric: str
    algorithm: str
    group: str
    measured: float
    tolerance: Annotated[float, Field(ge=0)]
    reason: Reason

    @property
    def cell(self) -> CellKey:
        """The cell."""
        return CellKey(self.table, self.metric, self.algorithm, self.group)

    @model_validator(mode="after")
    def _is_published(self) -> Deviation:
        table = published_tables().get(self.table)
        if table is None or table.value(*self.cell[1:]) is None:
            raise InvalidValue(f"{tuple(self.cell)} is no cell of the paper")
        return self


class Expected(Section):
    """Everything that a check expects."""

    tables: dict[TableNumber, dict[MetricName, Tolerance]]
    """The tolerance of each table and metric."""
    known_deviations: Annotated[tuple[Deviation, ...], Field(strict=False)]
    """Cells that lie further off."""
    claims: dict[ClaimId, Outcome]
    """Verdicts on record by the claim's id."""

    @property
    def tolerances(self) -> dict[tuple[int, str], float]:
        """The tolerances by table and metric."""
        return {
            (table, metric): entry.tolerance
            for table, metrics in self.tables.items()
            for metric, entry in metrics.items()
        }

    @property
    def known(self) -> dict[CellKey, Deviation]:
        """The known deviations by cell."""
        return {one.cell: one for one in self.known_deviations}


def load_expected(path: str | Path | None = None) -> Expected:
    """Read what to expect.

    Parameters
    ----------
    path : path, optional
        A file like ``expected.yaml`` of the package, which is the default.

    Raises
    ------
    ResultsError
        If the file is missing or is not what it should be, with all faults, each with its key.
    """
    name = path or "expected.yaml"
    try:
        text = _of_the_package() if path is None else read_text(Path(path))
        found = parse_yaml(text, str(name))
    except ConfigError as error:
        raise ResultsError(str(error)) from error
    if not isinstance(found, dict):
        raise ResultsError(f"{name}: expected a mapping with {', '.join(Expected.keys())}")
    try:
        return parse_section(Expected, found)
    except InvalidValue as error:
        for at, (key, message) in enumerate(error.errors):
            if key[:1] == ("tables",):  # their numbers are keys
                error.errors[at] = tuple(map(str, key)), message
        raise ResultsError(f"{name}: {'; '.join(prefix_errors(error))}") from error


def _of_the_package() -> str:
    return files("rankpursuit.reporting").joinpath("expected.yaml").read_text(encoding="utf-8")
