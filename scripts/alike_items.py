"""Tell how many items of a test user look the same: ``python scripts/alike_items.py CONFIG...``.

Items that no reference user rated have the same features, and no method can tell them apart. Prints
for each group the share of a test user's items in the largest class of equals, and of items with
any equal, as means over the test users of one repeat.
"""

from __future__ import annotations

import argparse

import numpy as np
from tabulate import tabulate

from rankpursuit.experiments.config import group_name, load_experiment
from rankpursuit.experiments.evaluate import tasks_of
from rankpursuit.experiments.run.run import Run


def shares(config: str) -> list[list[object]]:
    """Return a row for each group of reference users."""
    experiment = load_experiment(config)
    rows: list[list[object]] = []
    for (cell, role), units in Run.of(experiment, 1).plan.units.items():
        if role == "test":
            of_users = []
            for task in (task for unit in units for task in tasks_of(experiment, unit)):
                _, sizes = np.unique(task.features, axis=0, return_counts=True)
                of_users.append([sizes.max(), sizes[sizes > 1].sum()] / sizes.sum())
            largest, equal = np.mean(of_users, axis=0)
            users = experiment.protocol.reference_users
            rows.append([config, users, group_name(cell.group), f"{largest:.0%}", f"{equal:.0%}"])
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("configs", nargs="+", metavar="CONFIG")
    rows = [row for config in parser.parse_args().configs for row in shares(config)]
    headers = ["config", "reference users", "group", "largest class of equals", "with an equal"]
    print(tabulate(rows, headers))


if __name__ == "__main__":
    main()
