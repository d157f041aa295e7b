"""Time our methods next to what a user would write instead, and to other rankers."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import sklearn
from benchmarks.harness import Entries, Options, Subject, alternate, load, ratio_row
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import orthogonal_mp
from sklearn.model_selection import GridSearchCV, GroupKFold

from rankpursuit import RankingPursuit, RankingPursuitCV
from rankpursuit.experiments.config import Experiment, ratings_of
from rankpursuit.experiments.problem import Problem
from rankpursuit.experiments.protocol import build_task, draw_users
from rankpursuit.experiments.registry import predict_grid
from rankpursuit.kernels import gamma_from_width, gaussian_stack, squared_distances
from rankpursuit.preferences import GroupPreferences

INSTEAD = ("ours / instead", "ours, ms per task", "instead, ms", "ratio", "spread", "goal", "met")
WAIT = ("wait", "seconds", "import numpy", "ratio", "spread", "goal", "met")
RP_RUN = "from rankpursuit.cli.run import main; main(prog_name='rp-run')"
ONE_UNIT = ["demo", "--fresh", "--only", "rls", "--repeats", "1", "--groups", "20-40"]
ONE_UNIT += ["--set", "protocol.test_users=10", "--set", "protocol.holdout_users=10"]
WAITS = {
    "rp-run --help": (["--help"], "at most 2.3"),
    "rp-run of a mistyped config": (["dmo.yaml"], "at most 3.8"),
    "rp-run of one algorithm and ten users": (ONE_UNIT, "at most 23"),
    "rp-run demo": (["demo", "--fresh"], "at most 61"),
}
"""Words after ``rp-run``, and the goal: 0.3, 0.5, 3 and 8 s where numpy's import takes 0.13 s."""
NOTE = """\
Hold-out tasks of the paper's data (synthetic ratings without them), at the full grids; medians over
alternating rounds; one BLAS thread. Ours and the alternative get one task at a time."""


def rows(options: Options) -> Entries:
    """Measure everything; what is far above its goal in at most three rounds."""
    few = options._replace(rounds=min(options.rounds, 3))
    supervised = load("jester_supervised")
    yield from pursuit_rows(supervised, options)
    yield from least_squares_rows(supervised, few)
    yield from cross_validation_rows(few)


class Task:
    """One hold-out task of the middle group: as a problem, and as the arrays of its points."""

    def __init__(self, experiment: Experiment, key: dict[str, Any], user: int) -> None:
        ratings, self.widths = ratings_of(experiment.data), experiment.kernel.widths
        task = build_task(ratings, experiment.protocol, user=user, **key)
        self.problem = Problem.of([task], self.widths, experiment.kernel.parameter)
        self.n, self.n_train = self.problem.n_scored, self.problem.n_train
        self.X, _, self.X_test = np.split(self.problem.features[0], [self.n, self.n_train])
        self.y = self.problem.scores[0, : self.n]

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
    ours, others = alternate(
        rounds,
        lambda: [predict_grid(task.problem, spec, slice(task.n_train, None)) for task in tasks],
        lambda: [other(task) for task in tasks],
    )
    return INSTEAD, ratio_row(title, ours, others, others / ours, 1e3 / len(tasks), goal)


def least_squares_rows(supervised: Experiment, options: Options) -> Entries:
    """Compare RLS with a kernel ridge regression for each width and lambda."""
    spec = supervised.algorithms["rls"]

    def ridge(task: Task) -> None:
        for width in task.widths:
            for weight in spec.lambdas:
                model = KernelRidge(alpha=weight, kernel="rbf", gamma=gamma_from_width(width))
                model.fit(task.X, task.y).predict(task.X_test)

    tasks = holdout_tasks(supervised, 1 if options.small else 3)
    yield compare("RLS / KernelRidge", "at least 100", tasks, spec, ridge, options.rounds)


def pursuit_rows(supervised: Experiment, options: Options) -> Entries:
    """Compare back-fitted ranking pursuit with the path of orthogonal matching pursuit."""

    def path(task: Task) -> None:
        root = GroupPreferences.single(task.n).root
        for kernel, new in zip(task.kernels(task.X), task.kernels(task.X_test), strict=True):
            columns = root(kernel)
            norms = np.sqrt(np.einsum("ij,ij->j", columns, columns))
            norms[norms == 0.0] = 1.0
            options = {"n_nonzero_coefs": task.n, "return_path": True}
            _ = (new / norms) @ orthogonal_mp(columns / norms, root(task.y), **options)

    warnings.simplefilter("ignore", RuntimeWarning)  # of orthogonal_mp, if it ends early
    tasks = holdout_tasks(supervised, 1 if options.small else 3)
    spec = supervised.algorithms["ranking_pursuit"].model_copy(update={"fitting": "backfit"})
    title = "ranking pursuit / orthogonal_mp"
    yield compare(title, "at least 8", tasks, spec, path, options.rounds)


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
    title = f"RankingPursuitCV / GridSearchCV, {4 * most} models in 5 folds"
    yield INSTEAD, ratio_row(title, own, others, others / own, 1e3, "at least 20")


def startup_rows(options: Options) -> Entries:
    """Time what a newcomer waits for next to ``python -c "import numpy"``, in new processes."""
    with tempfile.TemporaryDirectory() as folder:

        def start(*words: str) -> None:
            command = [sys.executable, "-c", *words]
            subprocess.run(command, cwd=folder, capture_output=True, check=False)

        for title, (words, goal) in WAITS.items():
            waits = partial(start, RP_RUN, *words), partial(start, "import numpy")
            own, numpy = alternate(options.rounds, *waits)
            yield WAIT, ratio_row(title, own, numpy, own / numpy, 1.0, goal)


STARTUP = Subject("Start-up", "", startup_rows)
SUBJECT = Subject("Speed", NOTE, rows)
