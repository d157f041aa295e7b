"""Ranking tasks of users, and stacks of them with their kernels."""

from rankpursuit.experiments.tasks.problem import Problem, in_stacks
from rankpursuit.experiments.tasks.task import Task, build_task, draw_users, group_users

__all__ = ["Problem", "Task", "build_task", "draw_users", "group_users", "in_stacks"]
