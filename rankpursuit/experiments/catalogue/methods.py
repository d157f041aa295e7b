"""The methods: the options of each, as a config declares them, and what all else needs to know.

Every grid is a tuple of distinct numbers in rising order; see `rankpursuit.experiments.syntax`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from rankpursuit.experiments.catalogue.axes import BETA, LAMBDA, N_BASIS, NU, RIDGE, Axis, C
from rankpursuit.experiments.syntax.faults import Faults
from rankpursuit.experiments.syntax.grids import (
    BasisGrid,
    PositiveGrid,
    ShareGrid,
    WeightGrid,
)
from rankpursuit.experiments.syntax.sections import Section
from rankpursuit.solvers.coregularised import Aggregation, Agreement, JointFitting, Views
from rankpursuit.solvers.pursuit import Fitting
from rankpursuit.solvers.rank_svm import Loss

MOST_VIEWS = 50
"""Each view has kernels of its own."""


class RLSSpec(Section):
    """Regularised least squares on the scores."""

    method: Literal["rls"] = "rls"
    lambdas: PositiveGrid = Field(alias="lambda")
    """Weights of the regulariser."""


class RankRLSSpec(Section):
    """Regularised least squares on the differences of all pairs."""

    method: Literal["rank_rls"] = "rank_rls"
    lambdas: PositiveGrid = Field(alias="lambda")
    """Weights of the regulariser."""


class SparseRankRLSSpec(Section):
    """RankRLS on a random subset of the points."""

    method: Literal["sparse_rank_rls"] = "sparse_rank_rls"
    n_basis: BasisGrid
    """Sizes of the subset."""
    lambdas: PositiveGrid = Field(alias="lambda")
    """Weights of the regulariser."""


class RankSVMSpec(Section):
    """RankSVM."""

    method: Literal["rank_svm"] = "rank_svm"
    C: PositiveGrid
    """Weights of the loss."""
    loss: Loss = "hinge"
    """Loss on a pair: hinge, as in the textbook, or its square, which is solved faster."""


class _Pursuit(Section):
    """What the pursuits with one function share."""

    method: str
    n_basis: BasisGrid
    """Numbers P of basis functions at which the pursuit may stop."""
    fitting: Fitting = "basic"
    """What a step refits: nothing, everything, or everything already when it is chosen."""
    repeat: bool = False
    """Whether basic fitting may choose a function again."""
    ridge: WeightGrid = (0.0,)
    """Weights of a ridge term in the least-squares problem."""

    @model_validator(mode="after")
    def _only_basic_fitting_repeats(self) -> Self:
        if self.repeat and self.fitting != "basic":
            raise Faults(f"expected false with {self.fitting} fitting, got true", at="repeat")
        return self


class KernelMatchingPursuitSpec(_Pursuit):
    """Kernel matching pursuit on the scores."""

    method: Literal["kernel_matching_pursuit"] = "kernel_matching_pursuit"


class RankingPursuitSpec(_Pursuit):
    """Ranking pursuit."""

    method: Literal["ranking_pursuit"] = "ranking_pursuit"


class CombinedSpec(_Pursuit):
    """Combined ranking and regression pursuit (CRRP)."""

    method: Literal["combined_ranking_regression_pursuit"] = "combined_ranking_regression_pursuit"
    beta: ShareGrid = (0.5,)
    """Weights of the regression part."""


class SemiSupervisedSpec(Section):
    """Semi-supervised ranking pursuit."""

    method: Literal["semi_supervised_ranking_pursuit"] = "semi_supervised_ranking_pursuit"
    n_basis: BasisGrid
    """Numbers P of basis functions of each view, or shares of its dictionary."""
    nu: WeightGrid
    """Weights of the agreement on the unscored points."""
    ridge: WeightGrid = (0.0,)
    """Weights of a ridge term in the least-squares problem of each view."""
    fitting: JointFitting = "basic"
    """Whether a step refits the coefficients of all views."""
    agreement: Agreement = "cumulative"
    """What a step brings together: the whole functions so far, or only its increments."""
    views: Views = "points"
    """What is split into views: the dictionary, the dictionary and the loss, or the features."""
    n_views: Annotated[int, Field(ge=1, le=MOST_VIEWS)] = 2
    """Number of views."""
    dictionary: Literal["training", "scored"] = "training"
    """What basis functions sit on: all training points, or the scored ones only."""
    agreed: Literal["unscored", "scored"] = "unscored"
    """On which points the views are made to agree."""
    aggregation: Aggregation = "mean"
    """How the functions of the views become one."""

    @model_validator(mode="after")
    def _has_points_to_weigh_views_on(self) -> Self:
        if self.aggregation == "weighted" and (self.views != "loss" or self.n_views < 2):
            message = "expected views: loss and two views or more with weighted: a view is weighed"
            raise Faults(f"{message} on scored points that others are fitted to", at="aggregation")
        return self


AlgorithmSpec = (
    RLSSpec
    | KernelMatchingPursuitSpec
    | RankSVMSpec
    | RankRLSSpec
    | SparseRankRLSSpec
    | RankingPursuitSpec
    | SemiSupervisedSpec
    | CombinedSpec
)


@dataclass(frozen=True)
class Look:
    """How a method is drawn: a colour, a marker, and the dashes of its line (none: solid).

    No two methods share any of the three.
    """

    color: str
    marker: str
    dashes: tuple[float, ...] = ()

    @property
    def line(self) -> Literal["-"] | tuple[float, tuple[float, ...]]:
        """The line, as matplotlib writes it."""
        return (0, self.dashes) if self.dashes else "-"


@dataclass(frozen=True)
class Method:
    """A method.

    Attributes
    ----------
    spec : type
        Its options in a config.
    title : str
        The paper's name for it.
    axes : tuple of Axis
        The axes of its grid behind the width.
    look : Look
    own : tuple of str
        The metrics that it minimises itself, by which `tuning: own` chooses its parameters.
    rank_only : bool
        Whether it learns an order only: a constant added to its predictions changes nothing.
    """

    spec: type[Section]
    title: str
    axes: tuple[Axis, ...]
    look: Look
    own: tuple[str, ...] = ("disagreement",)
    rank_only: bool = True

    @property
    def name(self) -> str:
        """What configs call it."""
        return str(self.spec.model_fields["method"].default)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            RLSSpec,
            "RLS",
            (LAMBDA,),
            Look("#6f7782", "o", (1, 1)),
            own=("squared_error",),
            rank_only=False,
        ),
        Method(
            KernelMatchingPursuitSpec,
            "Matching Pursuit",
            (RIDGE, N_BASIS),
            Look("#bd8000", "s", (5, 2)),
            own=("squared_error",),
            rank_only=False,
        ),
        Method(RankSVMSpec, "RankSVM", (C,), Look("#2f96cc", "^", (6, 1.5, 1, 1.5))),
        Method(RankRLSSpec, "RankRLS", (LAMBDA,), Look("#1b74b3", "D", (10, 2))),
        Method(
            SparseRankRLSSpec, "Sparse RankRLS", (N_BASIS, LAMBDA), Look("#c4659b", "v", (1, 2.5))
        ),
        Method(RankingPursuitSpec, "Ranking Pursuit", (RIDGE, N_BASIS), Look("#d1500a", "P")),
        Method(
            SemiSupervisedSpec,
            "SS Ranking Pursuit",
            (RIDGE, NU, N_BASIS),
            Look("#00906a", "X", (3, 1)),
        ),
        Method(
            CombinedSpec,
            "CRRP",
            (BETA, RIDGE, N_BASIS),
            Look("#8a5cb5", "*", (6, 1, 1, 1, 1, 1)),
            own=("disagreement", "squared_error"),
            rank_only=False,
        ),
    )
}
"""Every method by its name, in the order of the paper's tables."""


def with_methods(algorithms: Any) -> Any:
    """Write out the method of each algorithm, which is its label where none is given."""
    if not isinstance(algorithms, dict):
        return algorithms
    return {
        label: {"method": label, **options} if isinstance(options, dict) else options
        for label, options in algorithms.items()
    }


def check_labels(algorithms: dict[str, AlgorithmSpec]) -> dict[str, AlgorithmSpec]:
    """Refuse a label that is the name of another method than its own."""
    for label, spec in algorithms.items():
        if label in METHODS and spec.method != label:
            message = f"{label} is a method: use another label for {spec.method}"
            raise Faults((label, message))
    return algorithms
