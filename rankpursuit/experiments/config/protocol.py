"""The protocol: who is tested, whose ratings are the features, what is known in training."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from rankpursuit.errors import ProtocolError
from rankpursuit.experiments.syntax.faults import Faults, shown
from rankpursuit.experiments.syntax.sections import Section, all_different

Group = tuple[int, int]
Fill = Literal["median", "mean", "zero"]
Role = Literal["test", "holdout"]


_LARGEST_BOUND = 2**32 - 1
"""Bounds are keys of random generators."""


def _bounds(value: Any) -> Group:
    pair = isinstance(value, list | tuple) and len(value) == 2
    if not pair or not all(type(bound) is int and bound >= 1 for bound in value):
        raise Faults(f"expected two whole numbers of at least 1, got {shown(value)}")
    low, high = value
    if high > _LARGEST_BOUND:
        raise Faults(f"expected numbers of at most {_LARGEST_BOUND}, got {shown(value)}")
    if low > high:
        raise Faults(f"expected low <= high, got {shown(value)}")
    return low, high


Bounds = Annotated[
    Group,
    BeforeValidator(_bounds),
    WithJsonSchema(
        {
            "type": "array",
            "items": {"type": "integer", "minimum": 1, "maximum": _LARGEST_BOUND},
            "minItems": 2,
            "maxItems": 2,
        }
    ),
]
MOST_GROUPS = 20
"""Groups of a protocol."""
Share = Annotated[float, Field(gt=0, lt=1)]
Users = Annotated[int, Field(ge=1)]


class Protocol(Section):
    """How ratings become ranking problems; the defaults are the paper's supervised experiment."""

    groups: Annotated[
        tuple[Bounds, ...],
        Field(min_length=1, max_length=MOST_GROUPS, strict=False),
        AfterValidator(all_different),
    ] = ((20, 40), (40, 60), (60, 80))
    """Groups of reference users by how many items they rated; both ends belong to the group."""
    test_user_bounds: Bounds = (50, 300)
    """How many items a test or hold-out user rated; both ends included."""
    test_users: Users = 300
    """Number of test users of a repeat."""
    holdout_users: Users = 300
    """Number of further users of a repeat, on whom parameters are chosen."""
    reference_users: Users = 300
    """Number of reference users of a task, that is of its features."""
    train_share: Share = 0.5
    """Share of the user's items that train; the others test."""
    scored_share: Share | None = None
    """Share of the training items that keep their score; null: all of them (supervised)."""
    fill: Fill = "median"
    """What stands for a rating that a reference user did not give: over their own ratings."""

    @model_validator(mode="after")
    def _splits_every_user(self) -> Self:
        try:
            self.sizes(self.test_user_bounds[0])
        except ProtocolError as error:
            raise Faults(str(error)) from error
        return self

    def sizes(self, n_items: int) -> tuple[int, int]:
        """Return how many of a user's `n_items` items train, and how many of those are scored.

        Shares are rounded down. A ranking needs two items to learn from and two to be tested on.

        Raises
        ------
        ProtocolError
            If that leaves fewer than two.
        """
        n_train = int(n_items * self.train_share)
        n_scored = n_train if self.scored_share is None else int(n_train * self.scored_share)
        if n_scored < 2 or n_items - n_train < 2:
            raise ProtocolError(
                f"a user with {n_items} ratings would have {n_scored} scored training items and "
                f"{n_items - n_train} test items, and each must be at least 2: change train_share, "
                "scored_share or the lower bound of test_user_bounds"
            )
        return n_train, n_scored


def group_name(group: Group) -> str:
    """Return a group's name as in the paper's tables, such as ``20-40``."""
    return f"{group[0]}-{group[1]}"
