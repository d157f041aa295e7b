"""The protocol: who is tested, whose ratings are the features, what is known in training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from rankpursuit.errors import ProtocolError

Group = tuple[int, int]
Fill = Literal["median", "mean", "zero"]
Role = Literal["test", "holdout"]


@dataclass(frozen=True)
class Protocol:
    """How ratings become ranking problems; the defaults are the paper's supervised experiment.

    Raises
    ------
    ProtocolError
        If the numbers contradict each other.
    """

    groups: tuple[Group, ...] = ((20, 40), (40, 60), (60, 80))
    """Groups of reference users by how many items they rated; both ends belong to the group."""
    test_user_bounds: Group = (50, 300)
    """How many items a test or hold-out user rated; both ends included."""
    reference_users: int = 300
    """Number of reference users of a task, that is of its features."""
    train_share: float = 0.5
    """Share of the user's items that train; the others test."""
    scored_share: float | None = None
    """Share of the training items that keep their score; None: all of them (supervised)."""
    fill: Fill = "median"
    """What stands for a rating that a reference user did not give: over their own ratings."""
    test_users: int = 300
    """Number of test users of a repeat."""
    holdout_users: int = 300
    """Number of further users of a repeat, on whom parameters are chosen."""

    def __post_init__(self) -> None:
        if not self.groups:
            raise ProtocolError("groups: at least one group is needed")
        for low, high in (*self.groups, self.test_user_bounds):
            if not 1 <= low <= high:
                raise ProtocolError(f"bounds {low}-{high}: expected 1 <= low <= high")
        if self.fill not in get_args(Fill):
            raise ProtocolError(f"fill: expected one of {get_args(Fill)}, not {self.fill!r}")
        for field in ("reference_users", "test_users"):
            if getattr(self, field) < 1:
                raise ProtocolError(f"{field}: expected at least 1, not {getattr(self, field)}")
        if self.holdout_users < 0:
            raise ProtocolError(f"holdout_users: expected at least 0, not {self.holdout_users}")
        if not 0 < self.train_share < 1:
            raise ProtocolError(f"train_share: expected between 0 and 1, not {self.train_share}")
        if self.scored_share is not None and not 0 < self.scored_share < 1:
            raise ProtocolError(
                f"scored_share: expected between 0 and 1, or none at all, not {self.scored_share}"
            )
        self.sizes(self.test_user_bounds[0])

    def sizes(self, n_items: int) -> tuple[int, int]:
        """Return how many of a user's `n_items` items train, and how many of those are scored.

        Shares are rounded down. A ranking needs two items to learn from and two to be tested on.
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
