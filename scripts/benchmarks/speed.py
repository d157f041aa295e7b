"""Time our methods next to what a user would write instead, and to other rankers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import sklearn
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import orthogonal_mp
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.svm import SVC

from benchmarks import floor
from benchmarks.harness import Entries, Options, Subject, alternate, goal_row, load, ratio_row
from benchmarks.runs import CHECK, INSTEAD, worker_rows
from rankpursuit import (
    RLS,
    KernelMatchingPursuit,
    RankingPursuit,
    RankingPursuitCV,
    RankRLS,
    RankSVM,
)
from rankpursuit.experiments.config import Experiment, ratings_of
from rankpursuit.experiments.methods import predict_grid
from rankpursuit.experiments.problem import Problem
from rankpursuit.experiments.protocol import build_task, draw_users
from rankpursuit.kernels import function_values, gamma_from_width, gaussian_stack, squared_distances
from rankpursuit.preferences import Blend, GroupPreferences
from rankpursuit.solvers import OrderedPairs, count_basis, rank_svm_path

SMALL = ("fit of 50 points", "ms, fastest tenth", "median", "goal", "met")
NOTE = """\
Hold-out tasks of the paper's data (synthetic ratings without them), at the full grids; medians over
alternating rounds; one BLAS thread. Ours and the alternative get one task at a time; the parts of a
whole are those of units of ten users, as in a run."""


def rows(options: Options) -> Entries:
    """Measure everything; what is far above its goal in at most three rounds."""
    few = replace(options, rounds=min(options.rounds, 3))
    supervised = load("jester_supervised")
    yield from pursuit_rows(supervised, options)
    yield from semi_supervised_rows(load("jester_semi_supervised"), few)
    yield from floor.rows(few)
    yield from least_squares_rows(supervised, few)
    yield from svm_rows(supervised, few)
    yield from cross_validation_rows(few)
    yield from small_fit_rows(options)
    yield from worker_rows(few)


class Task:
    """One hold-out task of the middle group: as a problem, and as the arrays of its points."""

    def __init__(self, experiment: Experiment, key: dict[str, Any], user: int) -> None:
        ratings, self.widths = ratings_of(experiment.data), experiment.kernel.widths
        task = build_task(ratings, experiment.protocol, user=user, **key)
        self.problem = Problem.of([task], self.widths, experiment.kernel.parameter)
        self.n, self.n_train = self.problem.n_scored, self.problem.n_train
        self.X, _, self.X_test = np.split(self.problem.features[0], [self.n, self.n_train])
        self.y = self.problem.scores[0, : self.n]
        self.better, self.worse = np.nonzero(self.y[:, None] > self.y[None, :])

    def kernels(self, X: np.ndarray) -> np.ndarray:
        """Return the kernel of points with the scored points at each width."""
        gammas = [gamma_from_width(width) for width in self.widths]
        return gaussian_stack(squared_distances(X, self.X), gammas)


def holdout_tasks(experiment: Experiment, number: int) -> list[Task]:
    """Return the first hold-out tasks of the middle group."""
    group = experiment.protocol.groups[1]
    key = {"seed": experiment.seed, "group": group, "repeat": 0, "role": "holdout"}
    users = draw_users(ratings_of(experiment.data), experiment.protocol, **key)[:number]
    return [Task(experiment, key, int(user)) for user in users]


def compare(
    title: str, goal: str, tasks: list[Task], spec: Any, other: Callable[[Task], Any], rounds: int
) -> tuple[tuple[str, ...], list[Any]]:
    """Time our grid of a task next to another way to compute it."""

    def ours() -> None:
        for task in tasks:
            predict_grid(task.problem, spec, slice(task.n_train, None))

    own, others = alternate(rounds, ours, lambda: [other(task) for task in tasks])
    return INSTEAD, ratio_row(title, own, others, others / own, 1e3 / len(tasks), goal)


def least_squares_rows(supervised: Experiment, options: Options) -> Entries:
    """Compare RLS and RankRLS with a kernel ridge regression for each width and lambda."""
    tasks = holdout_tasks(supervised, 1 if options.small else 3)
    rls, rank_rls = supervised.algorithms["rls"], supervised.algorithms["rank_rls"]

    def ridge(task: Task) -> None:
        for width in task.widths:
            for weight in rls.lambdas:
                model = KernelRidge(alpha=weight, kernel="rbf", gamma=gamma_from_width(width))
                model.fit(task.X, task.y).predict(task.X_test)

    def centred_ridge(task: Task) -> None:
        centre = np.sqrt(task.n) * (np.eye(task.n) - 1.0 / task.n)
        for kernel, new in zip(task.kernels(task.X), task.kernels(task.X_test), strict=True):
            for weight in rank_rls.lambdas:
                model = KernelRidge(alpha=weight, kernel="precomputed")
                model.fit(centre @ kernel @ centre, centre @ task.y).predict(new @ centre)

    title = "RankRLS / KernelRidge on centred scores"
    yield compare("RLS / KernelRidge", "at least 100", tasks, rls, ridge, options.rounds)
    yield compare(title, "at least 100", tasks, rank_rls, centred_ridge, options.rounds)


def pursuit_rows(supervised: Experiment, options: Options) -> Entries:
    """Compare back-fitted pursuits with the path of scikit-learn's orthogonal matching pursuit."""

    def path(task: Task, make_root: Callable[[int], Callable[..., np.ndarray]]) -> None:
        root = make_root(task.n)
        for kernel, new in zip(task.kernels(task.X), task.kernels(task.X_test), strict=True):
            columns = root(kernel)
            norms = np.sqrt(np.einsum("ij,ij->j", columns, columns))
            norms[norms == 0.0] = 1.0
            options = {"n_nonzero_coefs": task.n, "return_path": True}
            _ = (new / norms) @ orthogonal_mp(columns / norms, root(task.y), **options)

    warnings.simplefilter("ignore", RuntimeWarning)  # of orthogonal_mp, if it ends early
    tasks = holdout_tasks(supervised, 1 if options.small else 3)
    algorithms, single = load("jester_crrp").algorithms, GroupPreferences.single
    for title, label, make_root in (
        ("matching pursuit", "kernel_matching_pursuit", lambda n: np.asarray),
        ("ranking pursuit", "ranking_pursuit", lambda n: single(n).root),
        ("CRRP", "combined_ranking_regression_pursuit", lambda n: Blend(single(n), 0.5).root),
    ):
        spec = algorithms[label].model_copy(update={"fitting": "backfit"})
        other = partial(path, make_root=make_root)
        yield compare(f"{title} / orthogonal_mp", "at least 8", tasks, spec, other, options.rounds)


def svm_rows(supervised: Experiment, options: Options) -> Entries:
    """Compare RankSVM with SVC on the smallest task and on one of median size."""
    tasks = sorted(holdout_tasks(supervised, 3 if options.small else 40), key=lambda task: task.n)
    spec = supervised.algorithms["rank_svm"].model_copy(update={"loss": "hinge"})
    for task in (tasks[0], tasks[len(tasks) // 2])[: 1 if options.small else 2]:
        title = f"RankSVM / SVC on the kernel of pairs, {task.n} points"
        other = partial(svc_grid, Cs=spec.C)
        yield compare(title, "at least 40", [task], spec, other, options.rounds)
        pairs = OrderedPairs.of_scores(task.y, GroupPreferences.single(task.n).pairs())
        path = rank_svm_path(task.kernels(task.X), pairs, spec.C, loss="hinge")
        ours = objectives(task, spec.C, path.coefficients)
        theirs = objectives(task, spec.C, svc_grid(task, spec.C))
        difference = float(np.max(np.abs(theirs - ours) / np.minimum(theirs, ours)))
        check = f"{title}: largest relative difference of the objectives"
        yield CHECK, goal_row(check, difference, "at most 0.001", ".1e")


def svc_grid(task: Task, Cs: Sequence[float]) -> np.ndarray:
    """Fit SVC to the kernel of the pairs' differences; return coefficients, (widths, C, n)."""
    # SVC wants two classes and fits an intercept: every pair in both directions makes it vanish.
    first, second = np.hstack([[task.better, task.worse], [task.worse, task.better]])
    labels = np.repeat([1, -1], len(task.better))
    coefficients = np.zeros((len(task.widths), len(Cs), task.n))
    kernels, news = task.kernels(task.X), task.kernels(task.X_test)
    for kernel, new, by_C in zip(kernels, news, coefficients, strict=True):
        differences = kernel[first] - kernel[second]
        pair_kernel = differences[:, first] - differences[:, second]
        for weights, C in zip(by_C, Cs, strict=True):
            model = SVC(C=C / 2, kernel="precomputed").fit(pair_kernel, labels)
            np.add.at(weights, first[model.support_], model.dual_coef_[0])
            np.subtract.at(weights, second[model.support_], model.dual_coef_[0])
            _ = new @ weights
    return coefficients


def objectives(task: Task, Cs: Sequence[float], coefficients: np.ndarray) -> np.ndarray:
    """Return ``a' K a / 2 + C sum max(0, 1 - (f_i - f_j))`` for a of shape (widths, C, n)."""
    values = function_values(task.kernels(task.X), coefficients)
    margins = values[..., task.better] - values[..., task.worse]
    slack = np.maximum(1.0 - margins, 0.0).sum(axis=2)
    return 0.5 * np.einsum("wci,wci->wc", coefficients, values) + np.asarray(Cs) * slack


def semi_supervised_rows(semi: Experiment, options: Options) -> Entries:
    """Compare SS ranking pursuit with the paper's 2 x 2 system for every pair, in a loop."""
    spec = semi.algorithms["semi_supervised_ranking_pursuit"]

    def loop(task: Task) -> None:
        halves = np.array_split(np.random.default_rng(0).permutation(task.n_train), 2)
        scored = GroupPreferences.single(task.n).root
        unscored = GroupPreferences.single(task.n_train - task.n).root
        n_steps = count_basis(max(spec.n_basis), min(map(len, halves)))
        for kernel in task.problem.kernel:
            known = [scored(kernel[: task.n, half]) for half in halves]
            unknown = [unscored(kernel[task.n : task.n_train, half]) for half in halves]
            for nu in spec.nu:
                loop_over_pairs(known, unknown, scored(task.y), nu, n_steps)

    title = "SS ranking pursuit / loop over pairs"
    yield compare(title, "at least 50", holdout_tasks(semi, 1), spec, loop, options.rounds)


def loop_over_pairs(
    known: list[np.ndarray], unknown: list[np.ndarray], target: np.ndarray, nu: float, n_steps: int
) -> None:
    """Add the pair of functions that lowers the joint cost most, step after step."""
    residues, apart = [target.copy(), target.copy()], np.zeros(len(unknown[0]))
    left = [list(range(part.shape[1])) for part in known]
    for _ in range(n_steps):
        best: tuple[float, Any] = (-np.inf, None)
        for i in left[0]:
            for j in left[1]:
                k, h, p, q = known[0][:, i], known[1][:, j], unknown[0][:, i], unknown[1][:, j]
                off = -2.0 * nu * (p @ q)
                system = [[k @ k + 2.0 * nu * (p @ p), off], [off, h @ h + 2.0 * nu * (q @ q)]]
                right = np.array([k @ residues[0], h @ residues[1]])
                right += 2.0 * nu * np.array([-(p @ apart), q @ apart])
                try:
                    steps = np.linalg.solve(system, right)
                except np.linalg.LinAlgError:
                    continue
                if right @ steps > best[0]:
                    best = (right @ steps, (i, j, steps))
        i, j, steps = best[1]
        left[0].remove(i)
        left[1].remove(j)
        residues[0] -= steps[0] * known[0][:, i]
        residues[1] -= steps[1] * known[1][:, j]
        apart += steps[0] * unknown[0][:, i] - steps[1] * unknown[1][:, j]


def cross_validation_rows(options: Options) -> Entries:
    """Compare RankingPursuitCV with GridSearchCV on 300 points in 30 groups."""
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(300, 10)), np.repeat(np.arange(30), 10)
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.normal(size=300)
    gammas, ridges, most = (0.05, 0.2), (1.0, 10.0), 5 if options.small else 20
    ours = RankingPursuitCV(most, gammas=gammas, ridges=ridges, scale=False, n_candidates=None)
    shared = {name: getattr(ours, name) for name in ("fitting", "group_weight", "n_candidates")}
    grid = {"gamma": gammas, "ridge": ridges, "n_basis": range(1, most + 1)}
    theirs = GridSearchCV(RankingPursuit(**shared), grid, cv=GroupKFold(5))
    with sklearn.config_context(enable_metadata_routing=True):
        own, others = alternate(
            options.rounds,
            lambda: ours.fit(X, y, groups),
            lambda: theirs.fit(X, y, groups=groups),
        )
    means = []
    for found in (ours.cv_results_, theirs.cv_results_):
        keys = [np.asarray(found[f"param_{name}"], float) for name in ("n_basis", "ridge", "gamma")]
        means.append(np.asarray(found["mean_test_score"])[np.lexsort(keys)])
    title = f"RankingPursuitCV / GridSearchCV, {len(means[0])} models in 5 folds"
    yield INSTEAD, ratio_row(title, own, others, others / own, 1e3, "at least 20")
    same = ours.best_params_ == theirs.best_params_
    difference = float(np.abs(means[0] - means[1]).max()) if same else float("inf")
    check = f"{title}: largest difference of the mean scores, if both choose the same"
    yield CHECK, goal_row(check, difference, "at most 1e-08", ".1e")


def small_fit_rows(options: Options) -> Entries:
    """Time fits of 50 points, whose checks and calls take longer than the arithmetic.

    A fit is shorter than the time slice of another program, so the goal is for the fastest tenth.
    """
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(50, 10)), np.repeat(np.arange(5), 10)
    y = X[:, 0] + np.sin(X[:, 1])
    models = {
        "RLS": RLS(),
        "RLS, linear": RLS(kernel="linear"),
        "RankRLS": RankRLS(),
        "RankSVM, squared hinge": RankSVM(loss="squared_hinge"),
        "matching pursuit, basic": KernelMatchingPursuit(fitting="basic", ridge=0.0),
        "ranking pursuit, basic": RankingPursuit(fitting="basic", ridge=0.0),
        "ranking pursuit, back-fitted": RankingPursuit(fitting="backfit", ridge=0.0),
        "ranking pursuit, pre-fitted": RankingPursuit(fitting="prefit", ridge=0.0),
        "ranking pursuit, back-fitted with a ridge": RankingPursuit(fitting="backfit", ridge=1.0),
    }
    fits = [partial(model.fit, X, y, groups) for model in models.values()]
    for name, seconds in zip(models, alternate(15 if options.small else 105, *fits), strict=True):
        fast, median = (float(1e3 * x) for x in np.quantile(seconds[5:], [0.1, 0.5]))
        yield SMALL, [name, fast, median, "at most 2", fast <= 2.0]


SUBJECT = Subject("Speed", NOTE, rows)
