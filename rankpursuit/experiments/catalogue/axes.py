"""The axes of the methods' grids: what is called what, and which end of an axis is simpler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Axis:
    """An axis of grids.

    Attributes
    ----------
    key : str
        The attribute of a method's spec that holds the grid.
    column : str
        What the axis is called in configs and in the files of results.
    title : str
        What people call it.
    simpler : {"smaller", "larger"}
        Which values make the simpler model: of points of a grid that tie, the simplest is chosen.
    precedence : int
        Which axis decides first between points that tie: that with the smallest number.
    """

    key: str
    column: str
    title: str
    simpler: Literal["smaller", "larger"]
    precedence: int


WIDTH = Axis("width", "width", "width", "larger", 6)
"""The first axis of every grid; as the gamma of the kernel, smaller values are simpler."""

LAMBDA = Axis("lambdas", "lambda", "lambda", "larger", 2)
RIDGE = Axis("ridge", "ridge", "ridge", "larger", 3)
C = Axis("C", "C", "C", "smaller", 4)
NU = Axis("nu", "nu", "nu", "larger", 5)
BETA = Axis("beta", "beta", "beta", "larger", 7)

N_BASIS = Axis("n_basis", "n_basis", "basis functions", "smaller", 1)
"""The axis that test users are evaluated along, with the others as chosen."""

AXES: dict[str, Axis] = {axis.key: axis for axis in (WIDTH, LAMBDA, C, NU, BETA, RIDGE, N_BASIS)}
"""Every axis by its key, in the order of the columns of results."""
