"""The config of an experiment: YAML to frozen typed objects, every fault found before any work.

`load_experiment` reads a file. ``configs/README.md`` documents the keys.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from rankpursuit.errors import ConfigError
from rankpursuit.experiments.catalogue import METHODS, METRICS, AlgorithmSpec
from rankpursuit.experiments.catalogue.methods import check_labels, with_methods
from rankpursuit.experiments.config.data import DATA_SPECS, DataSpec
from rankpursuit.experiments.config.limits import (
    MOST_ALGORITHMS,
    MOST_REPEATS,
    algorithm_faults,
    excess_of_tasks,
)
from rankpursuit.experiments.config.protocol import Protocol
from rankpursuit.experiments.syntax import safe_yaml
from rankpursuit.experiments.syntax.faults import Faults, Location, plain_faults
from rankpursuit.experiments.syntax.files import read_config
from rankpursuit.experiments.syntax.grids import PositiveGrid, expand
from rankpursuit.experiments.syntax.sections import Label, Section, all_different, one_of
from rankpursuit.experiments.syntax.shipped import located
from rankpursuit.metrics import Ties

Tuning = Literal["reported", "own"]
WidthParameter = Literal["sigma", "gamma"]
MetricName = Annotated[
    str,
    AfterValidator(one_of(METRICS)),
    WithJsonSchema({"type": "string", "enum": list(METRICS)}),
]

_USERS = ("test_users", "holdout_users")
PAPER_WIDTHS = expand({"base": 2, "from": -15, "to": 15})


class KernelSpec(Section):
    """The Gaussian kernel."""

    parameter: WidthParameter = "sigma"
    """What a width is: sigma in exp(-d^2 / (2 sigma^2)), or gamma in exp(-gamma d^2)."""
    widths: PositiveGrid = PAPER_WIDTHS
    """The widths to choose from."""


class Experiment(Section):
    """An experiment: data, protocol, readings of the paper, algorithms with their grids."""

    name: Label
    """Name of the experiment, and of its folder of results."""
    table: Annotated[int, Field(ge=1, le=5)] | None = None
    """The published table that it reproduces."""
    data: Annotated[DataSpec, Field(discriminator="name")]
    """The ratings."""
    protocol: Protocol = Protocol()
    """How ratings become ranking problems."""
    kernel: KernelSpec = KernelSpec()
    """The Gaussian kernel."""
    ties: Ties = "half"
    """Tied pairs in the disagreement error: half wrong, as formula (1) has them, or left out."""
    metrics: Annotated[
        tuple[MetricName, ...], Field(min_length=1, strict=False), AfterValidator(all_different)
    ] = ("disagreement",)
    """The errors to report."""
    tuning: Tuning = "reported"
    """By which hold-out error parameters are chosen: the reported one, or the method's own."""
    offset: Literal["raw", "training_mean"] = "raw"
    """What the squared error of a rank-only method is of: f, or f shifted to the training mean."""
    repeats: Annotated[int, Field(ge=1, le=MOST_REPEATS)] = 10
    """Number of repeats, each with other users."""
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = 1
    """Seed of every random choice."""
    algorithms: Annotated[
        dict[Label, Annotated[AlgorithmSpec, Field(discriminator="method")]],
        Field(min_length=1, max_length=MOST_ALGORITHMS),
        BeforeValidator(with_methods),
        AfterValidator(check_labels),
    ]
    """The algorithms by label; the label is the method unless another one is given."""

    @model_validator(mode="after")
    def _is_of_a_size_to_run(self) -> Self:
        protocol = self.protocol
        faults = list(algorithm_faults(self.algorithms, len(self.kernel.widths), protocol))
        excess = excess_of_tasks(protocol, len(protocol.groups), self.repeats)
        if excess:
            faults.append((("repeats",), excess))
        if faults:
            raise Faults(*faults)
        return self

    def at_most(self, users: int, repeats: int) -> Self:
        """Return the experiment with at most so many test users, hold-out users and repeats."""
        lower = {key: min(users, getattr(self.protocol, key)) for key in _USERS}
        protocol = self.protocol.model_copy(update=lower)
        changes = {"protocol": protocol, "repeats": min(repeats, self.repeats)}
        return self.model_copy(update=changes)

    def resolved(self) -> dict[str, Any]:
        """Return the config as plain values, with every default and every grid written out."""
        return self.model_dump(mode="json", by_alias=True)

    def digest(self) -> str:
        """Return the SHA-256, 64 hex digits, of all that the measured numbers depend on.

        Not of `name`, `table` and `repeats`, since a run with more repeats extends an earlier one,
        nor of `data.path`: the contents of a file have a checksum of their own,
        `Ratings.checksum`.
        """
        config = self.resolved()
        for key in ("name", "table", "repeats"):
            del config[key]
        config["data"].pop("path", None)
        canonical = json.dumps(config, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(canonical.encode()).hexdigest()


def load_experiment(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> Experiment:
    """Load the config of an experiment.

    Parameters
    ----------
    path : path
        A YAML file, or the name of a config that comes with the package, such as ``demo``.
    overrides : sequence of str
        ``key=value`` each: a dotted key, such as ``protocol.test_users``, and a value in YAML.
        ``algorithms.LABEL=null`` drops an algorithm.

    Returns
    -------
    Experiment

    Raises
    ------
    ConfigError
        With all faults at once, each with its key.
    """
    return parse_experiment(read_config(located(path), overrides))


def parse_experiment(config: Mapping[str, Any]) -> Experiment:
    """Return the experiment that a mapping declares; raise `ConfigError` with all faults."""
    try:
        return Experiment.model_validate(config, by_alias=True, by_name=False)
    except ValidationError as error:
        faults = plain_faults(error.errors(include_url=False), _key_of, _known_keys)
        raise ConfigError(faults) from error


def dump_yaml(experiment: Experiment) -> str:
    """Return the resolved config as YAML: a file that loads as an experiment of the same digest."""
    return safe_yaml.dump_yaml(experiment.resolved())


def _key_of(location: Location) -> Location:
    """Leave out the tags that pydantic puts between ``data`` or ``algorithms.LABEL`` and a key."""
    if location[:1] == ("data",):
        return location[:1] + location[2:]
    if location[:1] == ("algorithms",):
        label = location[:2]
        return label if location[2:] == ("[key]",) else label + location[3:]
    return location


def _known_keys(location: Location) -> list[str]:
    match location:
        case ("protocol",):
            return Protocol.keys()
        case ("kernel",):
            return KernelSpec.keys()
        case ("data", str(name)):
            return DATA_SPECS[name].keys()
        case ("algorithms", _, str(method)):
            return METHODS[method].spec.keys()
    return [*Experiment.keys(), "extends"]
