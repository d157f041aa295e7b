"""``rp-run``: run the experiments that configs declare."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankpursuit.cli._common import Command, Failure

if TYPE_CHECKING:
    from rankpursuit.experiments.cluster import Cluster
    from rankpursuit.experiments.config import Experiment
    from rankpursuit.experiments.local import Local
    from rankpursuit.experiments.runner import Run


def _print_schema(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        import json

        from rankpursuit.experiments.config import json_schema

        click.echo(json.dumps(json_schema(), indent=2))
        ctx.exit()


@click.command(cls=Command)
@click.argument("configs", nargs=-1, required=True, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--n-jobs", "-j", type=int, help="Worker processes; -1, the default: one a core.")
@click.option(
    "--backend",
    type=click.Choice(["loky", "dask"]),
    default="loky",
    show_default=True,
    help="Processes of this machine, or a Dask cluster.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Of the cluster, e.g. tcp://HOST:8786.")
@click.option("--only", multiple=True, metavar="ALGORITHM", help="Run this algorithm; repeatable.")
@click.option("--groups", multiple=True, metavar="LOW-HIGH", help="Run this group; repeatable.")
@click.option("--repeats", type=click.IntRange(min=1), help="Run the first so many repeats.")
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set any key of the config, e.g. protocol.test_users=50; repeatable.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Folder that gets a folder for each experiment.",
)
@click.option("--fresh", is_flag=True, help="Throw away earlier results of the same name.")
@click.option("--dry-run", is_flag=True, help="Print the plan and an estimate of the time.")
@click.option("--quiet", "-q", is_flag=True, help="No progress, no table.")
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON Schema of configs, for editors.",
)
@click.version_option(package_name="rankpursuit")
def main(configs: tuple[Path, ...], **options: Any) -> None:
    r"""Run the experiments that CONFIGS declare.

    Results go to results/NAME/: repeats.csv (a row for each group, repeat, algorithm and metric),
    users.csv.gz (each test user), curves.csv (errors along the grids), timings.csv, config.yaml
    (as run) and provenance.json.

    A run that was stopped or killed goes on where it was: give the same command again. The
    results do not depend on the number of workers, nor on where they are, nor on what else is run.

    \b
    Examples:
      rp-run configs/demo.yaml
      rp-run configs/jester_supervised.yaml --dry-run
      rp-run configs/jester_supervised.yaml --only rank_rls --only ranking_pursuit
      rp-run configs/jester_*.yaml --set protocol.test_users=30 --repeats 2 --output quick
      rp-run configs/jester_supervised.yaml --backend dask --scheduler tcp://HOST:8786
    """
    _check_backend(options)
    prepared = [_prepare(path, options) for path in configs]
    names = [run.experiment.name for run, _ in prepared]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Failure(f"{twice[0]}: two configs of this name would share a folder", exit_code=2)
    try:
        with _workers(options) as workers:
            for run, _ in prepared:
                workers.check(run.experiment.data)
            done = [_run(run, everything, workers, options) for run, everything in prepared]
    except KeyboardInterrupt:
        again = _command([word for word in sys.argv if word != "--fresh"])
        click.echo(f"stopped; what was finished is kept. To go on: {again}", err=True)
        raise SystemExit(130) from None
    if not all(done):
        raise SystemExit(1)


def _check_backend(options: dict[str, Any]) -> None:
    """Refuse options that contradict each other."""
    if options["backend"] == "dask" and not options["scheduler"]:
        raise Failure("--backend dask needs --scheduler, e.g. tcp://HOST:8786", exit_code=2)
    if options["backend"] == "dask" and options["n_jobs"] is not None:
        raise Failure(
            "--n-jobs is for this machine; a cluster has the workers that were started for it",
            exit_code=2,
        )
    if options["backend"] != "dask" and options["scheduler"]:
        raise Failure("--scheduler needs --backend dask", exit_code=2)


def _workers(options: dict[str, Any]) -> Local | Cluster:
    """Return what evaluates the units."""
    if options["backend"] == "loky":
        from rankpursuit.experiments.local import Local

        return Local(-1 if options["n_jobs"] is None else options["n_jobs"])
    from rankpursuit.experiments.cluster import Cluster

    def tell(line: str) -> None:
        if not options["quiet"]:
            click.echo(line, err=True)

    return Cluster(options["scheduler"], tell)


def _prepare(path: Path, options: dict[str, Any]) -> tuple[Run, Run]:
    """Return what to run of an experiment, and the whole of it; refuse all that cannot run."""
    from rankpursuit.errors import ConfigError, TooFewUsersError
    from rankpursuit.experiments.config import load_experiment

    try:
        experiment = load_experiment(path, options["overrides"])
        _check_selection(experiment, options)
        return _plan(experiment, options)
    except ConfigError as error:
        raise Failure(*(f"{path}: {fault}" for fault in error.faults), exit_code=2) from error
    except TooFewUsersError as error:
        raise Failure(f"{path}: {error}", exit_code=2) from error


def _check_selection(experiment: Experiment, options: dict[str, Any]) -> None:
    """Refuse algorithms and groups that the experiment does not have."""
    from rankpursuit.errors import ConfigError
    from rankpursuit.experiments.protocol import group_name

    known = [group_name(group) for group in experiment.protocol.groups]
    faults = [
        f"--only {label}: {experiment.name} has no such algorithm; it has "
        + ", ".join(experiment.algorithms)
        for label in options["only"]
        if label not in experiment.algorithms
    ]
    faults += [
        f"--groups {group}: {experiment.name} has no such group; it has {', '.join(known)}"
        for group in options["groups"]
        if group not in known
    ]
    if faults:
        raise ConfigError(faults)


def _plan(experiment: Experiment, options: dict[str, Any]) -> tuple[Run, Run]:
    from rankpursuit.experiments.evaluate import ratings_of
    from rankpursuit.experiments.plan import make_plan
    from rankpursuit.experiments.protocol import group_name
    from rankpursuit.experiments.runner import Run

    def planned(repeats: int, only: tuple[str, ...], names: tuple[str, ...]) -> Run:
        groups = [g for g in experiment.protocol.groups if not names or group_name(g) in names]
        labels = [label for label in experiment.algorithms if not only or label in only]
        plan = make_plan(
            ratings, experiment.protocol, seed=experiment.seed, repeats=repeats, groups=groups
        )
        return Run(experiment, plan, tuple(labels))

    ratings = ratings_of(experiment.data)
    repeats = options["repeats"] or experiment.repeats
    everything = planned(max(repeats, experiment.repeats), (), ())
    return planned(repeats, options["only"], options["groups"]), everything


def _run(run: Run, everything: Run, workers: Local | Cluster, options: dict[str, Any]) -> bool:
    """Run one experiment; return whether nothing failed."""
    from rankpursuit.cli._progress import make_progress
    from rankpursuit.experiments.evaluate import ratings_of
    from rankpursuit.experiments.session import run_session

    if options["dry_run"]:
        from rankpursuit.cli._estimate import describe_plan

        describe_plan(run, workers.count())
        return True
    folder = options["output"] / run.experiment.name
    failures = run_session(
        run,
        everything,
        folder,
        data_checksum=ratings_of(run.experiment.data).checksum(),
        progress=make_progress(run.experiment.name, quiet=options["quiet"]),
        evaluate=workers.evaluate,
        fresh=options["fresh"],
        command=_command(sys.argv),
    )
    for failure in failures:
        click.echo(f"error: {failure}", err=True)
    if not options["quiet"]:
        click.echo(summary(folder))
        click.echo(f"results: {folder}")
    return not failures


def _command(arguments: list[str]) -> str:
    import shlex

    return shlex.join(["rp-run", *arguments[1:]])


def summary(folder: Path) -> str:
    """Return the mean test errors of a run as a table for the terminal."""
    from rankpursuit.reporting import documents
    from rankpursuit.reporting.results import load_results

    if not (folder / "repeats.csv").exists():
        return "no group, repeat and algorithm is complete yet"
    return documents.summary(load_results(folder))
