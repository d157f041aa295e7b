"""The protocol as a config declares it: every fault with its key."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from rankpursuit.errors import ProtocolError
from rankpursuit.experiments.faults import Faults, shown
from rankpursuit.experiments.protocol import Fill, Group, Protocol
from rankpursuit.experiments.sections import Section


def _bounds(value: Any) -> Group:
    pair = isinstance(value, list | tuple) and len(value) == 2
    if not pair or not all(type(bound) is int and bound >= 1 for bound in value):
        raise Faults(f"expected two whole numbers of at least 1, got {shown(value)}")
    low, high = value
    if low > high:
        raise Faults(f"expected low <= high, got {shown(value)}")
    return low, high


def _distinct(groups: tuple[Group, ...]) -> tuple[Group, ...]:
    if len(set(groups)) < len(groups):
        raise Faults(f"expected different groups, got {shown(groups)}")
    return groups


Bounds = Annotated[
    Group,
    BeforeValidator(_bounds),
    WithJsonSchema(
        {
            "type": "array",
            "items": {"type": "integer", "minimum": 1},
            "minItems": 2,
            "maxItems": 2,
        }
    ),
]
Share = Annotated[float, Field(gt=0, lt=1)]
Users = Annotated[int, Field(ge=1)]


class ProtocolSpec(Section):
    """How ratings become ranking problems; the defaults are the paper's supervised experiment."""

    groups: Annotated[
        tuple[Bounds, ...], Field(min_length=1, strict=False), AfterValidator(_distinct)
    ] = Protocol.groups
    """Groups of reference users by how many items they rated; both ends belong to the group."""
    test_user_bounds: Bounds = Protocol.test_user_bounds
    """How many items a test or hold-out user rated; both ends included."""
    test_users: Users = Protocol.test_users
    """Number of test users of a repeat."""
    holdout_users: Users = Protocol.holdout_users
    """Number of further users of a repeat, on whom parameters are chosen."""
    reference_users: Users = Protocol.reference_users
    """Number of reference users of a task, that is of its features."""
    train_share: Share = Protocol.train_share
    """Share of the user's items that train; the others test."""
    scored_share: Share | None = Protocol.scored_share
    """Share of the training items that keep their score; null: all of them (supervised)."""
    fill: Fill = Protocol.fill
    """What stands for a rating that a reference user did not give: over their own ratings."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        try:
            self.protocol()
        except ProtocolError as error:
            raise Faults(str(error)) from error
        return self

    def protocol(self) -> Protocol:
        """Return the protocol that the tasks are built by."""
        return Protocol(**self.model_dump())
