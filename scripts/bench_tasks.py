"""Measure how long it takes to build a ranking task.

    python scripts/bench_tasks.py [--tasks 300]

Uses Jester and MovieLens where they are found (set RANKPURSUIT_DATA), and synthetic ratings in any
case.
"""

from __future__ import annotations

import time

import click
import numpy as np

from rankpursuit.datasets import Ratings, load_named
from rankpursuit.datasets.named import NAMES
from rankpursuit.errors import DataNotFoundError
from rankpursuit.experiments.config import Group, Protocol, Role, group_name
from rankpursuit.experiments.protocol import build_task, draw_users


@click.command()
@click.option("--tasks", default=300, show_default=True, help="Tasks to build in each cell.")
def main(tasks: int) -> None:
    """Print the milliseconds that a task takes, for each data set, group and role."""
    click.echo(f"{'data':<11}{'group':<8}{'role':<9}{'items':>6}{'mean ms':>9}{'95% ms':>9}")
    for name in NAMES:
        try:
            ratings = load_named(name)
        except DataNotFoundError:
            click.echo(f"{name:<11}absent: set RANKPURSUIT_DATA, or run `rp-data fetch {name}`")
            continue
        for group in Protocol().groups:
            for role in ("test", "holdout"):
                _measure(ratings, group, role, tasks)


def _measure(ratings: Ratings, group: Group, role: Role, tasks: int) -> None:
    protocol = Protocol(scored_share=0.5)
    users = draw_users(ratings, protocol, seed=1, group=group, repeat=0, role=role)
    seconds, items = [], []
    for user in [users[0], *users[:tasks]]:  # the first warms up: it computes the medians
        start = time.perf_counter()
        task = build_task(
            ratings, protocol, seed=1, group=group, repeat=0, role=role, user=int(user)
        )
        seconds.append(time.perf_counter() - start)
        items.append(len(task.items))
    times = 1000 * np.array(seconds[1:])
    click.echo(
        f"{ratings.name:<11}{group_name(group):<8}{role:<9}{np.mean(items[1:]):>6.0f}"
        f"{times.mean():>9.2f}{np.quantile(times, 0.95):>9.2f}"
    )


if __name__ == "__main__":
    main()
