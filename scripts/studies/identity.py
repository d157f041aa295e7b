"""An identity between two errors, and whether published and measured cells obey it.

If scores and predictions of a user are jointly normal with correlation r, a pair of items is in the
wrong order with probability arccos(r) / pi, and the best squared error of a multiple of the
predictions is the variance of the scores times 1 - r^2. A disagreement and a squared error of
one method therefore imply the variance of the scores: the same for all methods of a table.
"""

from __future__ import annotations

from collections.abc import Iterator

import click
import numpy as np
import pandas as pd
from pages import EXPERIMENTS, REFERENCE, RESULTS, write_csv, write_pages
from sklearn.metrics.pairwise import rbf_kernel

from rankpursuit.experiments.config import ratings_of
from rankpursuit.experiments.protocol import Task, build_task, draw_users
from rankpursuit.kernels import gamma_from_width
from rankpursuit.metrics import disagreement_error
from rankpursuit.reporting.claims import published_tables
from rankpursuit.reporting.results import Results, load_results

TABLE = 5
REGRESSION = ["rls", "kernel_matching_pursuit"]  # their predictions have the scale of the scores
METRICS = ["disagreement", "squared_error"]
ROUNDING = {"disagreement": 0.0005, "squared_error": 0.05}  # half of the last printed digit


def implied_variance(disagreement: np.ndarray, squared_error: np.ndarray) -> np.ndarray:
    """Return the variance of the scores with which both errors obey the identity."""
    return squared_error / np.sin(np.pi * disagreement) ** 2


def resampled_errors(run: Results, group: str) -> np.ndarray:
    """Return mean errors in 1,000 bootstrap samples of the users: (1000, methods, metrics)."""
    users = run.users.query("group == @group and algorithm in @REGRESSION")
    errors = users.pivot_table("error", ["repeat", "user"], ["algorithm", "metric"])
    columns = [errors[method][METRICS].to_numpy() for method in REGRESSION]
    drawn = np.random.default_rng(0).integers(len(errors), size=(1000, len(errors)))
    return np.stack([[column[rows].mean(axis=0) for column in columns] for rows in drawn])


def implied_rows(run: Results) -> Iterator[dict[str, object]]:
    """Yield the variances that the two methods' cells imply, published and measured.

    Intervals of published ones have the sampling errors of our users, and the rounding. Rows of
    the ``difference`` subtract matching pursuit from RLS, both in the same samples.
    """
    table = published_tables()[TABLE]
    for group in run.groups:
        samples = resampled_errors(run, group)
        measured = samples.mean(axis=0)
        published = np.array([[table.value(m, one, group) for m in METRICS] for one in REGRESSION])
        rounding = np.random.default_rng(1).uniform(-1, 1, samples.shape) * list(ROUNDING.values())
        for source, errors, extra in (
            ("measured", measured, 0),
            ("published", published, rounding),
        ):
            around = implied_variance(*np.moveaxis(samples - measured + errors + extra, 2, 0)).T
            variances = [*implied_variance(*errors.T)]
            around, variances = (
                [*around, around[0] - around[1]],
                [*variances, -np.diff(variances)[0]],
            )
            for method, value, sample in zip(
                [*REGRESSION, "difference"], variances, around, strict=True
            ):
                low, high = np.quantile(sample, [0.025, 0.975])
                row = {"what": source, "group": group, "method": method}
                yield row | {"implied": value, "low": low, "high": high}


def test_tasks(run: Results, group: str, repeat: int) -> Iterator[Task]:
    """Yield the tasks of the test users of a repeat."""
    low, high = map(int, group.split("-"))
    key = {"seed": run.experiment.seed, "group": (low, high), "repeat": repeat - 1, "role": "test"}
    ratings, protocol = ratings_of(run.experiment.data), run.experiment.protocol
    for user in draw_users(ratings, protocol, **key):
        yield build_task(ratings, protocol, **key, user=int(user))


def rls_rows(run: Results) -> Iterator[dict[str, object]]:
    """Yield what the identity relates for RLS, means over all test users of each group.

    Both errors are of the same predictions, with the parameters that the squared error chose.
    `shift` is the squared difference of the means of scores and predictions: the identity is about
    what is left without it. `by_user` is the mean of each user's arccos(r) / pi.
    """
    for group in run.groups:
        rows = []
        for repeat in run.repeats["repeat"].unique():
            chosen = run.repeats.query(
                "group == @group and repeat == @repeat and algorithm == 'rls' "
                "and metric == 'squared_error'"
            ).iloc[0]
            gamma = float(gamma_from_width(chosen["width"]))
            for task in test_tasks(run, group, repeat):
                train, test = task.features[task.train], task.features[task.test]
                kernel = rbf_kernel(train, gamma=gamma) + chosen["lambda"] * np.eye(len(train))
                coefficients = np.linalg.solve(kernel, task.scores[task.train])
                predictions = rbf_kernel(test, train, gamma=gamma) @ coefficients
                scores = task.scores[task.test]
                moments = np.cov(scores, predictions, ddof=0)
                r = moments[0, 1] / np.sqrt(max(moments[0, 0] * moments[1, 1], 1e-12))
                rows.append(
                    {
                        "zero": np.mean(scores**2),
                        "variance": moments[0, 0],
                        "correlation": r,
                        "by_user": np.arccos(r) / np.pi,
                        "disagreement": disagreement_error(scores, predictions),
                        "squared_error": np.mean((scores - predictions) ** 2),
                        "shift": np.mean(scores - predictions) ** 2,
                    }
                )
        means = pd.DataFrame(rows).mean()
        left = means["squared_error"] - means["shift"]
        implied = implied_variance(means["disagreement"], left)
        yield (
            {"what": "again", "group": group, "method": "rls"} | dict(means) | {"implied": implied}
        )


@click.command("identity")
def main() -> None:
    """Compare the variance that two errors of a method imply, published and measured.

    Writes results/identity.csv. Jester is needed.
    """
    run = load_results(REFERENCE / EXPERIMENTS[TABLE])
    frame = pd.DataFrame([*implied_rows(run), *rls_rows(run)])
    write_csv(RESULTS / "identity.csv", frame)
    write_pages()
