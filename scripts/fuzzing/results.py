"""Damaged files of a run: tables are made of the numbers that it wrote, or not at all."""

from __future__ import annotations

import gzip
import json
import math
import random
import tempfile
import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from fuzzing.finished_run import finished_run
from rankpursuit.errors import RankpursuitError
from rankpursuit.experiments.export import RunFolder
from rankpursuit.reporting.documents import main_tables
from rankpursuit.reporting.render import to_markdown
from rankpursuit.reporting.results import load_results
from rankpursuit.reporting.table import Table
from rankpursuit.reporting.tables import parameter_table

_CELLS = (
    "",
    "nan",
    "NaN",
    "NA",
    "inf",
    "-inf",
    "-1",
    "0",
    "1e999",
    "abc",
    "0x10",
    "1,5",
    '"',
    "1_0",
)
_VALUES: tuple[Any, ...] = (
    None,
    [],
    {},
    "",
    0,
    -1,
    9,
    1e300,
    True,
    "../..",
    "a\nb",
    [[]],
    {"a": 1},
)


def attack(seed: int, folder: Path) -> str | None:
    """Damage the files of a run and make its tables; return what is wrong with the outcome.

    Half of the cases have no checksums in the provenance, as runs of before.

    Parameters
    ----------
    seed : int
    folder : Path
        An empty folder.
    """
    rng = random.Random(seed)
    run = finished_run().copy_to(folder)
    sealed = rng.random() < 0.5
    if not sealed:
        _change_json(run, lambda facts: facts.pop("files"))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice(_DAMAGES)(rng, run)
    try:
        made = _tables(folder)
        text = to_markdown(made)
    except RankpursuitError as error:
        return f"not one line: {error}" if "\n" in str(error) or not str(error) else None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if sealed and "files" in json.loads(run.provenance.read_bytes()) and text != _untouched():
        return "other tables than those of the run"
    numbers = [
        n
        for table in made
        for part in table.parts
        for row in part.rows.values()
        for cell in row
        for n in cell.numbers.values()
    ]
    return None if all(map(math.isfinite, numbers)) else "a number in the tables is not finite"


def _all_finite(tables: list[Table]) -> bool:
    rows = (row for table in tables for part in table.parts for row in part.rows.values())
    return all(math.isfinite(n) for row in rows for cell in row for n in cell.numbers.values())


def _tables(folder: Path) -> list[Table]:
    results = load_results(folder)
    return [*main_tables(results, compare=True), parameter_table(results)]


@lru_cache(maxsize=1)
def _untouched() -> str:
    """Return the tables of the run that nobody touched."""
    with tempfile.TemporaryDirectory() as folder:
        finished_run().copy_to(Path(folder))
        return to_markdown(_tables(Path(folder)))


def _any_table(rng: random.Random, run: RunFolder) -> Path:
    return rng.choice(run.tables)


def _change_lines(path: Path, change: Callable[[list[str]], list[str]]) -> None:
    """Change the lines of a table, if earlier damage leaves it to be changed."""
    packed = path.suffix == ".gz"
    try:
        content = gzip.decompress(path.read_bytes()) if packed else path.read_bytes()
        text = "".join(f"{line}\n" for line in change(content.decode().split("\n")[:-1])).encode()
    except (OSError, EOFError, ValueError, IndexError, zlib.error):
        return
    path.write_bytes(gzip.compress(text) if packed else text)


def _spoil_cell(rng: random.Random, run: RunFolder) -> None:
    def change(lines: list[str]) -> list[str]:
        at = rng.randrange(len(lines))
        cells = lines[at].split(",")
        cells[rng.randrange(len(cells))] = rng.choice(_CELLS)
        return [*lines[:at], ",".join(cells), *lines[at + 1 :]]

    _change_lines(_any_table(rng, run), change)


def _spoil_column(rng: random.Random, run: RunFolder) -> None:
    """Put one value into all cells of a column, or leave the column out."""

    def change(lines: list[str]) -> list[str]:
        at = rng.randrange(len(lines[0].split(",")))
        value = rng.choice((*_CELLS, None))
        rows = [line.split(",") for line in lines]
        if value is None:
            return [",".join(row[:at] + row[at + 1 :]) for row in rows]
        return [lines[0], *(",".join([*row[:at], value, *row[at + 1 :]]) for row in rows[1:])]

    _change_lines(_any_table(rng, run), change)


def _move_lines(rng: random.Random, run: RunFolder) -> None:
    def change(lines: list[str]) -> list[str]:
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        kind = rng.choice(("lose", "twice", "blank", "cut", "swap", "none"))
        if kind == "lose":
            return lines[:at] + lines[at + 1 :]
        if kind == "twice":
            return [*lines[:at], lines[other], *lines[at:]]
        if kind == "blank":
            return [*lines[:at], rng.choice(("", ",", "\0", " ")), *lines[at:]]
        if kind == "cut":
            return lines[:at]
        if kind == "swap":
            lines[at], lines[other] = lines[other], lines[at]
            return lines
        return []

    _change_lines(_any_table(rng, run), change)


def _spoil_bytes(rng: random.Random, run: RunFolder) -> None:
    path = rng.choice((*run.tables, run.config, run.provenance))
    if not path.is_file():
        return
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 5)) if content else 0):
        content[rng.randrange(len(content))] = rng.randrange(256)
    path.write_bytes(content[: rng.choice((len(content), rng.randint(0, len(content))))])


def _replace_file(rng: random.Random, run: RunFolder) -> None:
    path = rng.choice((*run.tables, run.config, run.provenance))
    if path.is_dir() or not path.exists():
        return
    path.unlink()
    kind = rng.choice(("gone", "folder", "loop", "empty", "deep"))
    if kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind != "gone":
        path.write_bytes(b"" if kind == "empty" else b"[" * 5000)


def _spoil_config(rng: random.Random, run: RunFolder) -> None:
    try:
        config = yaml.safe_load(run.config.read_bytes())
        place, key = rng.choice([(config, key) for key in config] + _inner(config))
        place[rng.choice((key, key, key, "unknown"))] = rng.choice(_VALUES)
        run.config.write_text(yaml.safe_dump(config), encoding="utf-8")
    except (OSError, ValueError, TypeError, AttributeError, RecursionError, yaml.YAMLError):
        return


def _inner(config: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    return [(part, key) for part in config.values() if isinstance(part, dict) for key in part]


def _spoil_provenance(rng: random.Random, run: RunFolder) -> None:
    def change(facts: dict[str, Any]) -> None:
        below = [facts, *(part for part in facts.values() if isinstance(part, dict))]
        place = rng.choice(below)
        key = rng.choice([*place, "unknown"])
        place[key] = rng.choice(_VALUES)

    _change_json(run, change)


def _change_json(run: RunFolder, change: Callable[[dict[str, Any]], Any]) -> None:
    try:
        facts = json.loads(run.provenance.read_bytes())
        change(facts)
        run.provenance.write_text(json.dumps(facts), encoding="utf-8")
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return


_DAMAGES: tuple[Callable[[random.Random, RunFolder], None], ...] = (
    _spoil_cell,
    _spoil_cell,
    _spoil_cell,
    _spoil_column,
    _move_lines,
    _move_lines,
    _spoil_bytes,
    _spoil_bytes,
    _replace_file,
    _spoil_config,
    _spoil_provenance,
)
