"""Notes on a run: its size, its differences from the shipped config, and its title."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pandas as pd

from rankpursuit.experiments.config import Experiment, load_experiment
from rankpursuit.experiments.names import shipped_experiments
from rankpursuit.reporting.claims import PublishedTable, Size, published_size, published_tables
from rankpursuit.reporting.results import Results
from rankpursuit.text import pluralize

SYNTHETIC_NOTE = (
    "SYNTHETIC ratings, drawn from a model, not given by users: the errors are not comparable with "
    "the paper's."
)
_ABBREVIATIONS = {  # in the names of methods
    "RLS": "regularised least squares",
    "RankRLS": "regularised least squares on pairs",
    "RankSVM": "support vector machine on pairs",
    "SS": "semi-supervised",
    "CRRP": "combined ranking and regression pursuit",
}
_DATA_TITLES = {"jester": "Jester", "movielens": "MovieLens"}

# Size


def repeats_of_cells(results: Results) -> pd.Series:
    """Return the number of repeats of each cell that has results."""
    return results.repeats.groupby(["metric", "group", "algorithm"])["repeat"].nunique()


def measured_size(results: Results) -> Size:
    """Return the fewest users and repeats of any cell that has results."""
    users, repeats = results.repeats["n_users"].min(), repeats_of_cells(results).min()
    return Size(users=int(users), repeats=int(repeats))


def _smaller_than_paper(results: Results) -> dict[str, int]:
    """Return the users and repeats that are fewer than the paper's, with the paper's number."""
    measured, wanted = measured_size(results).model_dump(), published_size().model_dump()
    return {
        pluralize(measured[key], key.removesuffix("s")): number
        for key, number in wanted.items()
        if measured[key] < number
    }


def is_full_size(results: Results) -> bool:
    """Return whether every cell with results has at least the paper's users and repeats."""
    return not _smaller_than_paper(results)


def size_note(results: Results) -> str:
    """Return a line on the size of a run, with a warning if it is smaller than the paper's.

    Runs of other ratings than the paper's have a size, and nothing to compare it with.
    """
    smaller = _smaller_than_paper(results)
    if not results.is_of_paper or not smaller:
        comparison = ", no smaller than in the paper" * results.is_of_paper
        return f"Size: {measured_size(results)}{comparison}."
    least = "" if repeats_of_cells(results).nunique() == 1 else "at least "
    listed = ", ".join(f"{number} (paper: {paper})" for number, paper in smaller.items())
    return f"NOT the paper's size: {least}{listed}."


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
    is_small = results.is_of_paper and not is_full_size(results)
    (warnings if is_small else remarks).append(size_note(results))
    if changes := config_changes(results):
        listed = "; ".join(f"{key}: {change}" for key, change in changes.items())
        warnings.append(f"NOT the config as shipped: {listed}.")
    elif shipped := shipped_experiment(results.experiment):
        sizes = [(one.protocol.test_users, one.repeats) for one in (results.experiment, shipped)]
        smaller = " but for its size" * (sizes[0] != sizes[1])
        about = "; configs/README.md documents our interpretations of the paper"
        remarks.append(f"Config: {shipped.name}, as shipped{smaller}{about * results.is_of_paper}.")
    else:
        remarks.append("Config: config.yaml in the folder of the results.")
    warnings += [SYNTHETIC_NOTE] * results.is_synthetic
    return [*warnings, *missing_notes(results)], remarks


def abbreviations(results: Results) -> tuple[str, ...]:
    """Return a note that spells out the names of methods, for those who do not know the paper."""
    words = re.findall(r"\w+", " ".join(results.algorithms.values()))
    known = [f"{word}: {long}" for word, long in _ABBREVIATIONS.items() if word in words]
    return (f"{'; '.join(known)}.",) if known and not results.is_of_paper else ()


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
    """Return differences from the shipped config, as `config_differences`."""
    shipped = shipped_experiment(results.experiment)
    return {} if shipped is None else config_differences(shipped, results.experiment)


def config_differences(first: Experiment, second: Experiment) -> dict[str, str]:
    """Return differences of two configs, ``{key: "first -> second"}``.

    The name, the path of the data and the size are excluded: `size_note` has the size.
    """
    return dict(_differences(first.resolved(), second.resolved()))


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
    if published is not None:
        title = published.title
    else:
        data = f"{data_title(results)}, experiment " * results.is_of_paper
        title = data + results.name
    smaller = list(_smaller_than_paper(results)) if results.is_of_paper else []
    size = f", only {', '.join(smaller)}" if smaller else ""
    keys = list(config_changes(results))
    more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
    changed = f", changed: {', '.join(keys[:3])}{more}" if keys else ""
    return title + ", SYNTHETIC ratings" * results.is_synthetic + size + changed


def run_title(results: Results) -> str:
    """Return the subject of a run with the number of the published table."""
    return subject_of(results) + f" (Table {results.table} of the paper)" * bool(results.table)
