"""The joint least-squares problem of all views.

Its rows are those of the views on the scored points, one block each, followed by
``sqrt(2 nu) B' (f_v - f_u)`` on the unscored points for each pair of views v < u.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]
Agreement = Literal["cumulative", "incremental"]


@dataclass(frozen=True)
class JointProblem:
    """Dictionaries and targets of M views, for b problems and k values of nu.

    Attributes
    ----------
    scored : sequence of M ndarrays of shape (b, N_v, m_v)
        For each view, its functions in the rows of the scored points.
    unscored : sequence of M ndarrays of shape (b, N_v, l)
        For each view, its functions in the rows of the unscored points.
    targets : sequence of M ndarrays of shape (m_v,) or (b, m_v)
    nu : ndarray of shape (k,)
    agreement : {"cumulative", "incremental"}
        Whether a step is chosen by the whole residue, or by its rows on the scored points alone.
    """

    scored: Sequence[Array]
    unscored: Sequence[Array]
    targets: Sequence[Array]
    nu: Array
    agreement: Agreement

    @property
    def n_views(self) -> int:
        """Number of views M."""
        return len(self.scored)

    @property
    def sizes(self) -> list[int]:
        """For each view, the number N_v of its functions."""
        return [functions.shape[1] for functions in self.scored]

    @property
    def batch(self) -> tuple[int, int]:
        """The numbers b and k."""
        return len(self.scored[0]), len(self.nu)
