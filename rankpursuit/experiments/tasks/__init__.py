"""Ranking tasks of users, and stacks of them with their kernels."""

from rankpursuit.experiments.tasks.problem import Problem, in_stacks
from rankpursuit.experiments.tasks.sizes import fitting_sizes
from rankpursuit.experiments.tasks.task import (
    Task,
    build_task,
    check_numbers,
    draw_users,
    group_users,
)

__all__ = [
    "Problem",
    "Task",
    "build_task",
    "check_numbers",
    "draw_users",
    "fitting_sizes",
    "group_users",
    "in_stacks",
]
