"""What ``rp-run --dry-run`` tells: the plan of a run, and how long it would take."""

from __future__ import annotations

from rankpursuit.experiments.run.estimate import TIMED_USERS, Estimate
from rankpursuit.experiments.run.run import Run
from rankpursuit.wording import counted, duration


def described(run: Run, plan: Estimate, workers: int) -> str:
    """Tell what a run would do.

    Parameters
    ----------
    run : Run
    plan : Estimate
    workers : int
        How many evaluate units at the same time.
    """
    holdout, test = plan.users["holdout"], plan.users["test"]
    data = run.experiment.data.name
    data = {"synthetic": "SYNTHETIC", "ratings": "own"}.get(data, data)
    return "\n".join(
        [
            f"{run.experiment.name} ({data} ratings): groups {', '.join(plan.groups)}; "
            f"{counted(plan.repeats, 'repeat')}",
            f"  {counted(holdout, 'hold-out user')} and {counted(test, 'test user')} in "
            f"{counted(plan.units, 'unit')}",
            *(
                f"  {label}: {size:,} points of the grid, {size * holdout:,} hold-out fits"
                for label, size in plan.grids.items()
            ),
            f"  about {duration(plan.seconds / workers)} with {counted(workers, 'worker')}, going "
            f"by {TIMED_USERS} users a group",
        ]
    )
