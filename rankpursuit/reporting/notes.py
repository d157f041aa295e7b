"""Notes on a run: its size, its differences from the shipped config, and its title."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pandas as pd

from rankpursuit.experiments.config import Experiment, load_experiment
from rankpursuit.experiments.names import shipped_experiments
from rankpursuit.reporting.claims import PublishedTable, Size, published_size, published_tables
from rankpursuit.reporting.results import Results

SYNTHETIC_NOTE = (
    "SYNTHETIC ratings, drawn from a model, not given by users: the errors are not comparable with "
    "the paper's."
)
_DATA_TITLES = {"jester": "Jester", "movielens": "MovieLens"}

# Size


def repeats_of_cells(results: Results) -> pd.Series:
    """Return the number of repeats of each cell that has results."""
    return results.repeats.groupby(["metric", "group", "algorithm"])["repeat"].nunique()


def measured_size(results: Results) -> Size:
    """Return the fewest users and repeats of any cell that has results."""
    users, repeats = results.repeats["n_users"].min(), repeats_of_cells(results).min()
    return Size(users=int(users), repeats=int(repeats))


def is_full_size(results: Results) -> bool:
    """Return whether every cell with results has at least the paper's users and repeats."""
    size, wanted = measured_size(results), published_size()
    return size.users >= wanted.users and size.repeats >= wanted.repeats


def size_note(results: Results) -> str:
    """Return a line on the size of a run, with a warning if it is smaller than the paper's."""
    size = measured_size(results)
    if is_full_size(results):
        return f"Size: {size}, no smaller than in the paper."
    least = "" if repeats_of_cells(results).nunique() == 1 else "at least "
    return f"NOT the paper's size: {least}{size} (paper: {published_size()})."


def missing_notes(results: Results) -> tuple[str, ...]:
    """Return notes on missing algorithms, groups and repeats; none if the results are complete."""
    run, notes = results.algorithms, []
    not_run = [title for label, title in results.declared.items() if label not in run]
    if not_run:
        notes.append(f"Not run: {', '.join(not_run)}.")
    n_cells = len(results.groups) * results.experiment.repeats
    done = results.repeats.drop_duplicates(["algorithm", "group", "repeat"])["algorithm"]
    missing = {title: n_cells - int((done == label).sum()) for label, title in run.items()}
    if any(missing.values()):
        parts = (f"{title} lacks {number}" for title, number in missing.items() if number)
        notes.append(f"Incomplete: of {n_cells} cells (group and repeat), {', '.join(parts)}.")
    return tuple(notes)


def run_notes(results: Results) -> tuple[list[str], list[str]]:
    """Return warnings about a run, and remarks, on its size, its config and its ratings."""
    warnings: list[str] = []
    remarks: list[str] = []
    (remarks if is_full_size(results) else warnings).append(size_note(results))
    if changes := config_changes(results):
        listed = "; ".join(f"{key}: {change}" for key, change in changes.items())
        warnings.append(f"NOT the config as shipped: {listed}.")
    elif shipped := shipped_experiment(results.experiment):
        about = "as shipped; configs/README.md documents our interpretations of the paper"
        remarks.append(f"Config: {shipped.name}, {about}.")
    else:
        remarks.append("Config: config.yaml in the folder of the results.")
    warnings += [SYNTHETIC_NOTE] * results.is_synthetic
    return [*warnings, *missing_notes(results)], remarks


# Differences from the shipped config


@lru_cache(maxsize=32)
def _load_shipped(name: str) -> Experiment:
    return load_experiment(shipped_experiments()[name])


def shipped_experiment(experiment: Experiment) -> Experiment | None:
    """Return the shipped experiment of the same table or, without a table, of the same name."""
    names = sorted(shipped_experiments(), key=lambda name: name != experiment.name)
    if experiment.table is None:
        names = [name for name in names if name == experiment.name]
    found = map(_load_shipped, names)
    return next((one for one in found if one.table == experiment.table), None)


@lru_cache(maxsize=32)
def config_changes(results: Results) -> dict[str, str]:
    """Return differences from the shipped config, ``{key: "shipped -> run"}``.

    The name, the path of the data and the size are excluded: `size_note` has the size.
    """
    shipped = shipped_experiment(results.experiment)
    if shipped is None:
        return {}
    return dict(_differences(shipped.resolved(), results.experiment.resolved()))


_NOT_COMPARED = ("name", "data.path", "repeats", "protocol.test_users")


def _differences(
    shipped: dict[str, Any], run: dict[str, Any], prefix: str = ""
) -> Iterator[tuple[str, str]]:
    for key in shipped | run:
        name, old, new = prefix + key, shipped.get(key), run.get(key)
        if old == new or name in _NOT_COMPARED:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _differences(old, new, f"{name}.")
        elif key in shipped and key in run:
            yield name, f"{short_value(old)} -> {short_value(new)}"
        else:
            yield name, "added" if key in run else "dropped"


def short_value(value: Any) -> str:
    """Return a value of a config as text; long grids by their length and ends."""
    if isinstance(value, list) and len(value) > 4:
        return f"{len(value)} values from {short_value(value[0])} to {short_value(value[-1])}"
    if isinstance(value, list):
        return f"[{', '.join(map(short_value, value))}]"
    return number_text(value) if isinstance(value, float) else json.dumps(value).strip('"')


def number_text(number: float) -> str:
    """Return a number as text; very large and small powers of two as powers."""
    exponent = math.log2(number) if number > 0 else 0.5
    power = exponent.is_integer() and not 0.25 <= number <= 16
    return f"2^{int(exponent)}" if power else f"{number:.3g}"


# Titles


def published_table(results: Results) -> PublishedTable | None:
    """Return the published table that a run reproduces, if any."""
    return None if results.table is None else published_tables()[results.table]


def data_title(results: Results) -> str:
    """Return the name of the data of a run."""
    return _DATA_TITLES.get(results.experiment.data.name, results.experiment.data.name)


def subject_of(results: Results) -> str:
    """Return the data of a run for captions, with deviations of size and config."""
    published = published_table(results)
    title = f"{data_title(results)}, experiment {results.name}"
    if published is not None:
        title = published.title
    elif results.is_synthetic:
        title = results.name
    size = "" if is_full_size(results) else f", only {measured_size(results)}"
    keys = list(config_changes(results))
    more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
    changed = f", changed: {', '.join(keys[:3])}{more}" if keys else ""
    return title + ", SYNTHETIC ratings" * results.is_synthetic + size + changed


def run_title(results: Results) -> str:
    """Return the subject of a run with the number of the published table."""
    return subject_of(results) + f" (Table {results.table} of the paper)" * bool(results.table)
