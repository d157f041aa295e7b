"""Experiments: configs, tasks, methods, plan, runner and store."""
