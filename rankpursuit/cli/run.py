"""``rp-run``: run the experiments that configs declare."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankpursuit.cli._common import Command, Failure, Stopped, echo, terminal_width
from rankpursuit.cli._configs import complete, list_option, schema_option
from rankpursuit.experiments.backends import BACKENDS, Options, check_options, connect
from rankpursuit.experiments.names import no_such_file, resolve_path
from rankpursuit.visible import one_line

if TYPE_CHECKING:
    from rankpursuit.experiments.backends import Backend
    from rankpursuit.experiments.run.folder import RunFolder
    from rankpursuit.experiments.run.run import Run


_QUICK_USERS, _QUICK_REPEATS = 30, 2


@click.command(cls=Command)
@click.argument(
    "configs",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    metavar="CONFIG...",
    shell_complete=complete,
)
@click.option("--n-jobs", "-j", type=int, help="Worker processes; -1, the default: one a core.")
@click.option(
    "--backend",
    type=click.Choice(list(BACKENDS)),
    default=next(iter(BACKENDS)),
    show_default=True,
    help="; ".join(f"{name}: {where}" for name, where in BACKENDS.items()) + ".",
)
@click.option("--scheduler", metavar="ADDRESS", help="Of the cluster, e.g. tcp://HOST:8786.")
@click.option(
    "--wait",
    type=click.IntRange(min=0),
    metavar="SECONDS",
    help="Wait so long for a cluster without workers; default: 600.",
)
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
    "--quick",
    is_flag=True,
    help=f"A small run: at most {_QUICK_USERS} test and hold-out users, {_QUICK_REPEATS} repeats.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder that gets a folder for each experiment; default: results, or results/quick.",
)
@click.option("--fresh", is_flag=True, help="Throw away earlier results of the same name.")
@click.option("--dry-run", is_flag=True, help="Print the plan and an estimate of the time.")
@click.option("--quiet", "-q", is_flag=True, help="No progress, no table.")
@list_option
@schema_option
def main(configs: tuple[Path, ...], **options: Any) -> None:
    r"""Run the experiments that CONFIGs declare.

    A CONFIG is a YAML file, or the name of an experiment that comes with rankpursuit: --list shows
    them.

    Results go to results/NAME/: repeats.csv (a row for each group, repeat, algorithm and metric),
    users.csv.gz (each test user), curves.csv (errors along the grids), timings.csv, config.yaml
    (as run) and provenance.json.

    A run that was stopped or killed goes on where it was: give the same command again. The
    results do not depend on the number of workers, nor on where they are, nor on what else is run.
    Results that lie in the folder without results.sqlite, as in a clone, are not overwritten
    without --fresh, which also removes the tables and figures made of them.

    Experiments of one command that have tasks and algorithms in common compute them once, with the
    same results as when they run apart: those with more metrics run first.

    \b
    Examples:
      rp-run demo
      rp-run jester_supervised --dry-run
      rp-run jester_supervised --quick
      rp-run jester_supervised --only rank_rls --only ranking_pursuit
      rp-run jester_supervised --set protocol.fill=zero --output results/zero
      rp-run mine.yaml
      rp-run jester_supervised --backend dask --scheduler tcp://HOST:8786
    """
    options["output"] = options["output"] or Path(
        "results/quick" if options["quick"] else "results"
    )
    try:
        all_done = _run_all(configs, options)
    except KeyboardInterrupt as stop:
        again = _command([word for word in sys.argv if word != "--fresh"])
        raise Stopped(stop, f"what was finished is kept. To go on: {again}") from None
    if not all_done:
        raise SystemExit(1)


def _run_all(configs: tuple[Path, ...], options: dict[str, Any]) -> bool:
    """Run each config; return whether nothing failed."""
    missing = [no_such_file(path) for path in configs if not os.path.lexists(resolve_path(path))]
    if missing:  # told at once: the imports below take a second
        raise Failure(*missing, exit_code=2)
    from rankpursuit.errors import ConfigError

    backend = _backend_options(options)
    try:
        check_options(options["backend"], backend)
    except ConfigError as error:
        raise Failure(*error.faults, exit_code=2) from error
    runs = [_prepare(path, options) for path in configs]
    names = [run.experiment.name for run in runs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Failure(f"{twice[0]}: two configs of this name would share a folder", exit_code=2)
    if not options["dry_run"] and not options["fresh"]:
        _check_folders(runs, options)
    with connect(options["backend"], backend) as workers:
        for run in runs:
            workers.check(run.experiment.data)
        # What has more metrics can serve what has fewer, and so comes first.
        runs.sort(key=lambda run: -len(run.experiment.metrics))
        done = [_run(run, workers, options, runs[:place]) for place, run in enumerate(runs)]
    return all(done)


def _check_folders(runs: list[Run], options: dict[str, Any]) -> None:
    """Refuse all that would overwrite results before anything runs."""
    from rankpursuit.experiments.run.kept import check_store_is_there

    for run in runs:
        check_store_is_there(_folder(run, options), run.experiment)


def _folder(run: Run, options: dict[str, Any]) -> RunFolder:
    from rankpursuit.experiments.run.folder import RunFolder

    return RunFolder(options["output"] / run.experiment.name)


def _backend_options(options: dict[str, Any]) -> Options:
    def tell(line: str) -> None:
        if not options["quiet"]:
            echo(line, err=True)

    names = ("n_jobs", "scheduler", "wait")
    return Options(**{name: options[name] for name in names}, tell=tell)


def _prepare(path: Path, options: dict[str, Any]) -> Run:
    """Return what to run of an experiment; refuse all that cannot run."""
    from rankpursuit.cli._advice import advice
    from rankpursuit.cli._patience import telling
    from rankpursuit.errors import ConfigError, DataError, TooFewUsersError
    from rankpursuit.experiments.config import load_experiment
    from rankpursuit.experiments.run.run import Run

    try:
        experiment = load_experiment(path, options["overrides"])
        if options["quick"]:
            experiment = experiment.at_most(_QUICK_USERS, _QUICK_REPEATS)
    except ConfigError as error:
        own = (f"{path}:", f"{path},")
        faults = (x if x.startswith(own) else f"{path}: {x}" for x in error.faults)
        raise Failure(*faults, exit_code=2) from error
    try:
        with telling(f"{path}: reading the ratings, which takes longest the first time"):
            return Run.of(experiment, options["repeats"], options["only"], options["groups"])
    except ConfigError as error:
        raise Failure(*(f"{path}: {fault}" for fault in error.faults), exit_code=2) from error
    except DataError as error:
        faults = error.faults if isinstance(error, TooFewUsersError) else [str(error)]
        enough = advice(experiment)
        raise Failure(
            *(f"{path}: {fault}" for fault in faults),
            exit_code=2 if isinstance(error, TooFewUsersError) else 1,
            attempt=f"rp-run {path} {enough}" if enough else None,
        ) from error


def _run(run: Run, workers: Backend, options: dict[str, Any], earlier: list[Run]) -> bool:
    """Run one experiment after others; return whether nothing failed."""
    from rankpursuit.cli._patience import telling
    from rankpursuit.cli._progress import make_progress
    from rankpursuit.experiments.run.session import run_session
    from rankpursuit.experiments.run.sharing import Lender

    if options["dry_run"]:
        from rankpursuit.cli._plan import described
        from rankpursuit.experiments.run.estimate import estimate

        with telling(f"{run.experiment.name}: timing a few users of each group"):
            plan = estimate(run)
        echo(described(run, plan, workers.count()))
        return True
    folder = _folder(run, options)
    progress = make_progress(run.experiment.name, quiet=options["quiet"])
    failures = run_session(
        run,
        folder,
        workers.evaluate,
        progress,
        fresh=options["fresh"],
        command=_command(sys.argv),
        tell=lambda line: echo(line, err=True),
        lenders=[Lender(other, _folder(other, options)) for other in earlier],
    )
    for failure in failures:
        echo(f"error: {one_line(failure)}", err=True)
    if options["quiet"]:
        return not failures
    if progress.was_finished:
        echo(
            f"{run.experiment.name}: already finished, results in {folder.path}; --fresh runs it "
            "again"
        )
    else:
        echo(summary(folder))
        echo(f"results: {folder.path}")
    return not failures


def _command(arguments: list[str]) -> str:
    import shlex

    return shlex.join(["rp-run", *arguments[1:]])


def summary(folder: RunFolder) -> str:
    """Return the mean test errors of a run as a table for the terminal."""
    from rankpursuit.reporting.render import to_text
    from rankpursuit.reporting.results import load_results
    from rankpursuit.reporting.tables import error_table

    if not folder.has_results:
        return "no group, repeat and algorithm is complete yet"
    return to_text([error_table(load_results(folder.path))], terminal_width()).rstrip()
