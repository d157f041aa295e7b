"""What of an experiment was run, and what is missing."""

from __future__ import annotations

from itertools import product

from rankpursuit.reporting.results import Results

PAPER_USERS, PAPER_REPEATS = 300, 10
"""Size of the paper's experiments: test users of a repeat, and repeats."""


def size_run(results: Results) -> tuple[int, int]:
    """Return the test users of a repeat, and the repeats that at least one algorithm has."""
    repeats = results.repeats
    return int(repeats["n_users"].min()), int(repeats["repeat"].nunique())


def smaller_than_paper(results: Results) -> str | None:
    """Say that a run is smaller than the paper's, or return None if it is not."""
    users, repeats = size_run(results)
    if users >= PAPER_USERS and repeats >= PAPER_REPEATS:
        return None
    return (
        f"Smaller than the paper's experiment: {users} test users and {repeats} "
        f"{'repeat' if repeats == 1 else 'repeats'}, "
        f"not {PAPER_USERS} and {PAPER_REPEATS}. Read these numbers as a trial run."
    )


def missing(results: Results) -> list[str]:
    """Say what the config declares and the results do not have, one line for each kind of gap.

    Whole groups and algorithms come first, then the repeats that the others lack.
    """
    rows = results.repeats
    declared = int(results.config.get("repeats", 1))
    groups, names = results.groups, results.algorithms
    there = {
        cell: set(part["repeat"]) for cell, part in rows.groupby(["algorithm", "group"], sort=False)
    }
    no_group = [g for g in groups if not any((a, g) in there for a in names)]
    no_algorithm = [a for a in names if not any((a, g) in there for g in groups)]
    said = [f"Nothing of the group {group}." for group in no_group]
    said += [f"Nothing of {names[label]}." for label in no_algorithm]
    gaps: dict[tuple[int, ...], list[tuple[str, str]]] = {}
    cells = [
        (a, g) for a, g in product(names, groups) if a not in no_algorithm and g not in no_group
    ]
    for cell in cells:
        lacking = tuple(r for r in range(1, declared + 1) if r not in there.get(cell, set()))
        if lacking:
            gaps.setdefault(lacking, []).append(cell)
    for lacking, of in gaps.items():
        which = (
            "all algorithms and groups that were run"
            if len(of) == len(cells)
            else "; ".join(f"{names[label]}, {group}" for label, group in of)
        )
        number = "repeat" if len(lacking) == 1 else "repeats"
        said.append(f"Missing {number} {spans(lacking)} of {declared}: {which}.")
    return said


def spans(numbers: tuple[int, ...]) -> str:
    """Return sorted numbers in few words.

    Examples
    --------
    >>> spans((1, 4, 5, 6))
    '1, 4-6'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
