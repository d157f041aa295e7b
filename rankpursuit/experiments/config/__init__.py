"""What a config declares: an experiment with its data, protocol and algorithms."""

from rankpursuit.experiments.config.data import DataSpec, ratings_of
from rankpursuit.experiments.config.experiment import (
    Experiment,
    KernelSpec,
    Tuning,
    WidthParameter,
    dump_yaml,
    load_experiment,
    parse_experiment,
)
from rankpursuit.experiments.config.protocol import Group, Protocol, Role, group_name
from rankpursuit.experiments.config.schema import json_schema

__all__ = [
    "DataSpec",
    "Experiment",
    "Group",
    "KernelSpec",
    "Protocol",
    "Role",
    "Tuning",
    "WidthParameter",
    "dump_yaml",
    "group_name",
    "json_schema",
    "load_experiment",
    "parse_experiment",
    "ratings_of",
]
