"""Time every method at the paper's full grid beside what a user would write instead.

Run it as ``make bench`` or ``python scripts/bench.py [--markdown FILE]``. All timings are of one
run on the same tasks with one BLAS thread, in alternating rounds; ratios are medians over the
rounds. The real ratings are used when they are at hand, synthetic ratings otherwise. The exit
status is 1 if a ratio misses its goal; stopped, it is 130, and what was finished is in the file.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import joblib
from bench_baselines import (
    kernel_ridge_grid,
    kernel_ridge_on_pairs_grid,
    loop_over_pairs,
    orthogonal_mp_grid,
    svc_grid,
)
from bench_cv import cross_validation_rows
from bench_field import TABLE as FIELD
from bench_field import field_rows
from bench_file import environment, exit_if_missed, is_met, write_section
from bench_objectives import loosest_tolerance
from bench_parallel import parallel_row
from bench_shares import share_rows
from bench_small_fit import HEADERS as SMALL_HEADERS
from bench_small_fit import small_fit_rows
from bench_steps import Step, Tables, measured
from bench_timing import HEADERS, alternate, load, problems_of, row
from tabulate import tabulate
from threadpoolctl import threadpool_limits

from rankpursuit.experiments.config import Experiment
from rankpursuit.experiments.methods import predict_grid
from rankpursuit.experiments.problem import Problem

SAME_OBJECTIVE = 1e-3
INSTEAD, PARTS, CHECK = "ours / instead", "part / whole", "check"
NOTE = (
    "Hold-out tasks of the paper's data, or synthetic ratings where that is not at hand, at the "
    "full grids; median of {rounds} alternating rounds, of 3 where a round is long; one BLAS "
    "thread. Ours and what is instead get one task at a time; the parts of a whole are those of "
    "units of ten users, as in a run. The floor is the LAPACK, BLAS and exp calls on the same "
    "shapes. Of SS ranking pursuit, which is in the semi-supervised tasks only, it holds little, "
    "and nothing of the metric: comparisons are no such calls."
)


def compare(
    title: str,
    goal: str,
    problems: list[Problem],
    spec: Any,
    other: Callable[[Problem], Any],
    rounds: int,
) -> list[Any]:
    """Return a row: our time a task, the other's, their ratio with its spread, the goal."""

    def ours() -> None:
        for problem in problems:
            predict_grid(problem, spec, slice(problem.n_train, None))

    def theirs() -> None:
        for problem in problems:
            other(problem)

    own, others = alternate(rounds, ours, theirs)
    return row(title, own, others, others / own, len(problems), goal)


def least_squares_rows(supervised: Experiment, rounds: int) -> list[list[Any]]:
    """Compare RLS and RankRLS with kernel ridge regression."""
    problems, widths = problems_of(supervised, 3), supervised.kernel.widths
    rows = []
    for title, label, grid in (
        ("RLS / KernelRidge", "rls", kernel_ridge_grid),
        ("RankRLS / KernelRidge on centred scores", "rank_rls", kernel_ridge_on_pairs_grid),
    ):
        spec = supervised.algorithms[label]
        other = partial(grid, widths=widths, lambdas=spec.lambdas)
        rows.append(compare(title, "at least 100", problems, spec, other, rounds))
    return rows


def pursuit_rows(supervised: Experiment, rounds: int) -> list[list[Any]]:
    """Compare the pursuits with scikit-learn's."""
    problems, widths = problems_of(supervised, 3), supervised.kernel.widths
    algorithms = load("jester_crrp").algorithms
    rows = []
    for title, label, form in (
        ("matching pursuit / orthogonal_mp", "kernel_matching_pursuit", "points"),
        ("ranking pursuit / orthogonal_mp", "ranking_pursuit", "pairs"),
        ("CRRP / orthogonal_mp", "combined_ranking_regression_pursuit", "both"),
    ):
        spec = algorithms[label].model_copy(update={"fitting": "backfit"})
        other = partial(orthogonal_mp_grid, widths=widths, form=form)
        rows.append(compare(title, "at least 8", problems, spec, other, rounds))
    return rows


def svm_rows(supervised: Experiment, rounds: int) -> tuple[list[list[Any]], list[list[Any]]]:
    """Compare RankSVM with SVC on the smallest task and on one of median size.

    Returns
    -------
    ratios, checks : list of list
        A row for each task: of the times, and of the objectives that both reach.
    """
    problems = sorted(problems_of(supervised, 40), key=lambda problem: problem.n_scored)
    spec = supervised.algorithms["rank_svm"].model_copy(update={"loss": "hinge"})
    widths, goal = supervised.kernel.widths, f"at most {SAME_OBJECTIVE:g}"
    ratios, checks = [], []
    for problem in (problems[0], problems[len(problems) // 2]):
        size = f"{problem.n_scored} points"
        tol, difference = loosest_tolerance(problem, widths, spec.C, SAME_OBJECTIVE)
        other = partial(svc_grid, widths=widths, Cs=spec.C, tol=tol)
        title = f"RankSVM / SVC on the kernel of pairs, {size}"
        ratios.append(compare(title, "at least 40", [problem], spec, other, rounds))
        checked = (
            f"RankSVM and SVC (tol={tol:g}), {size}: largest relative difference of the "
            f"objectives over {len(widths)} widths x {len(spec.C)} C"
        )
        checks.append([checked, f"{difference:.1e}", goal, is_met(goal, difference)])
    return ratios, checks


def semi_supervised_row(semi: Experiment, rounds: int) -> list[Any]:
    """Compare SS ranking pursuit with a loop over the pairs of candidates."""
    spec = semi.algorithms["semi_supervised_ranking_pursuit"]
    title, other = "SS ranking pursuit / loop over pairs", partial(loop_over_pairs, spec=spec)
    return compare(title, "at least 50", problems_of(semi, 1), spec, other, rounds)


def steps_of(rounds: int) -> list[Step]:
    """Return all that is measured, step by step; what is far above its goal in fewer rounds."""
    supervised, semi = load("jester_supervised"), load("jester_semi_supervised")
    kinds = [supervised, semi, load("movielens_supervised"), load("movielens_semi_supervised")]
    few = min(rounds, 3)

    def svm() -> Tables:
        ratios, checks = svm_rows(supervised, few)
        return {INSTEAD: ratios, CHECK: checks}

    def cross_validation() -> Tables:
        ratio, check = cross_validation_rows(few)
        return {INSTEAD: [ratio], CHECK: [check]}

    def parallel() -> Tables:
        speed_up, starting = parallel_row(few)
        return {
            INSTEAD: [speed_up],
            CHECK: [["starting two workers, once a run", f"{starting:.1f} s", "", ""]],
        }

    steps = [
        Step("pursuits", lambda: {INSTEAD: pursuit_rows(supervised, rounds)}),
        Step("SS ranking pursuit", lambda: {INSTEAD: [semi_supervised_row(semi, few)]}),
        *(
            Step(f"floor of {kind.name}", lambda kind=kind: {PARTS: share_rows(kind, few)})
            for kind in kinds
        ),
        Step("other rankers", lambda: field_rows(rounds)),
        Step("RLS and RankRLS", lambda: {INSTEAD: least_squares_rows(supervised, few)}),
        Step("RankSVM", svm),
        Step("cross-validation", cross_validation),
        Step("fits of 50 points", lambda: {SMALL_HEADERS[0]: small_fit_rows()}),
    ]
    return [*steps, Step("two workers", parallel)] if joblib.cpu_count() > 1 else steps


def render(found: Tables, style: str) -> str:
    """Return the tables as text."""
    headers = {
        PARTS: ["part, ms a task", "whole, ms", *HEADERS[2:]],
        CHECK: ["value", "goal", "met"],
        FIELD: ["ours, ms", "theirs, ms", *HEADERS[2:]],
        SMALL_HEADERS[0]: SMALL_HEADERS[1:],
    }
    return "\n\n".join(
        tabulate(
            rows,
            headers=[first, *headers.get(first, HEADERS)],
            tablefmt=style,
            floatfmt=("", ".2f", ".1f", ".2f"),
            disable_numparse=first == CHECK,
        )
        for first, rows in found.items()
    )


def main() -> None:
    """Measure, print, and exit with 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    note = NOTE.format(rounds=arguments.rounds)

    def keep(found: Tables, missing: str) -> None:
        if arguments.markdown:
            parts = [note, missing, render(found, "pipe")]
            write_section(arguments.markdown, "Speed", "\n\n".join(filter(None, parts)))

    print(f"{environment()}\n{note}\n", flush=True)
    with threadpool_limits(limits=1):
        found = measured(steps_of(arguments.rounds), keep)
    print(render(found, "simple"))
    exit_if_missed(row[0] for rows in found.values() for row in rows if row[-1] is False)


if __name__ == "__main__":
    main()
