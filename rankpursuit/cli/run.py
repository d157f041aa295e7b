"""``rp-run``: run the experiments that configs declare."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankpursuit.cli._common import (
    Command,
    Failure,
    Stopped,
    echo,
    terminal_width,
    typed_command,
)
from rankpursuit.experiments.names import (
    no_such_file,
    resolve_path,
    shipped_configs,
    summary_line,
)
from rankpursuit.text import duration, one_line, pluralize

if TYPE_CHECKING:
    from rankpursuit.experiments.backends import Dask, Local
    from rankpursuit.experiments.run import Run
    from rankpursuit.experiments.store import RunFolder

_QUICK_USERS, _QUICK_REPEATS = 30, 2
_LISTED = 3  # errors of units printed


def _show_list(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        echo("Configs that come with rankpursuit (rp-run NAME, or extends: NAME in your own):")
        for name, path in shipped_configs().items():
            echo(f"  {name:<27}{summary_line(path)}")
        ctx.exit()


def _show_schema(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        import json

        from rankpursuit.experiments.config import json_schema

        echo(json.dumps(json_schema(), indent=2))
        ctx.exit()


_SHOW: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False}


@click.command(cls=Command)
@click.argument(
    "configs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="CONFIG..."
)
@click.option("--n-jobs", "-j", type=int, help="Worker processes; default: -1, one per core.")
@click.option("--scheduler", metavar="ADDRESS", help="Run on a Dask cluster, e.g. tcp://HOST:8786.")
@click.option(
    "--only", multiple=True, metavar="ALGORITHM", help="Run only this algorithm; repeatable."
)
@click.option(
    "--groups",
    multiple=True,
    metavar="LOW-HIGH",
    help="Run only this group of reference users, e.g. 20-40; repeatable.",
)
@click.option(
    "--repeats", type=click.IntRange(min=1), help="Number of repeats; default: as in the config."
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set any key of the config, e.g. protocol.test_users=50; repeatable.",
)
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="FILE",
    help="Load methods and metrics from a Python file; repeatable.",
)
@click.option(
    "--quick",
    is_flag=True,
    help=f"A small run: at most {_QUICK_USERS} test and hold-out users, {_QUICK_REPEATS} repeats.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Parent of the folders of results; default: results, with --quick results/quick.",
)
@click.option("--fresh", is_flag=True, help="Delete earlier results of the same name first.")
@click.option("--dry-run", is_flag=True, help="Run nothing; print the plan and the estimated time.")
@click.option("--quiet", "-q", is_flag=True, help="Print neither progress nor tables.")
@click.option(
    "--list", callback=_show_list, **_SHOW, help="List the configs that come with rankpursuit."
)
@click.option("--schema", callback=_show_schema, **_SHOW, help="Print the JSON Schema of configs.")
def main(configs: tuple[Path, ...], **options: Any) -> None:
    r"""Run the experiments that CONFIGs declare.

    A CONFIG is a YAML file, or the name of an experiment that comes with rankpursuit; see --list.

    Results go to results/NAME/: repeats.csv (a row for each group, repeat, algorithm and metric),
    users.csv.gz (each test user), curves.csv (errors along the grids), timings.csv, config.yaml
    (as run) and provenance.json.

    Re-run the same command to resume a run that was stopped or killed. Results do not depend on the
    number and location of the workers, nor on other experiments. Results of another config, data
    set or version of the code are not overwritten without --fresh.

    Several experiments in one command compute common tasks and algorithms only once, with the same
    results as if run separately. Experiments with more metrics run first, so that others can reuse
    their results.

    \b
    Examples:
      rp-run demo
      rp-run jester_supervised --dry-run
      rp-run jester_supervised --quick
      rp-run jester_supervised --only rank_rls --only ranking_pursuit
      rp-run jester_supervised --set protocol.fill=zero --output results/zero
      rp-run mine.yaml --plugin my_methods.py
      rp-run jester_supervised --scheduler tcp://HOST:8786
    """
    default = "results/quick" if options["quick"] else "results"
    options["output"] = options["output"] or Path(default)
    try:
        succeeded = _run_all(configs, options)
    except KeyboardInterrupt as stop:
        again = typed_command("rp-run", without="--fresh")
        raise Stopped(stop, f"finished units are kept. To resume: {again}") from None
    if not succeeded:
        raise SystemExit(1)


def _run_all(configs: tuple[Path, ...], options: dict[str, Any]) -> bool:
    """Run each config; return whether nothing failed."""
    missing = [no_such_file(path) for path in configs if not os.path.lexists(resolve_path(path))]
    if missing:  # reported before the imports below, which take a second
        raise Failure(*missing, exit_code=2)
    from tqdm import tqdm

    from rankpursuit.experiments.backends import make_backend
    from rankpursuit.experiments.plugins import load_plugins
    from rankpursuit.experiments.run import open_store

    backend = make_backend(
        n_jobs=options["n_jobs"],
        scheduler=options["scheduler"],
        report=lambda line: options["quiet"] or tqdm.write(one_line(line), file=sys.stderr),
    )
    load_plugins(options["plugins"])
    runs = [_prepare(path, options) for path in configs]
    names = [run.experiment.name for run in runs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise Failure(
            f"{twice[0]}: two configs have this name and would share a folder: rename one",
            exit_code=2,
        )
    if not options["dry_run"] and not options["fresh"]:
        for run in runs:  # before anything runs
            folder = _folder(run, options)
            folder.check_store()
            if folder.has_store:
                open_store(run, folder).close()
    with backend as workers:
        for run in runs:
            workers.check(run.experiment.data)
        # Those with fewer metrics can reuse results of those with more.
        runs.sort(key=lambda run: -len(run.experiment.metrics))
        done = [_run(run, workers, options, runs[:place]) for place, run in enumerate(runs)]
    return all(done)


def _folder(run: Run, options: dict[str, Any]) -> RunFolder:
    from rankpursuit.experiments.store import RunFolder

    return RunFolder(options["output"] / run.experiment.name)


def _prepare(path: Path, options: dict[str, Any]) -> Run:
    """Plan the run of a config; raise a `Failure` if it cannot run."""
    from rankpursuit.errors import ConfigError, DataError, DataNotFoundError, TooFewUsersError
    from rankpursuit.experiments.config import load_experiment, ratings_of
    from rankpursuit.experiments.protocol import fitting_sizes
    from rankpursuit.experiments.run import Run

    attempt = None
    try:
        experiment = load_experiment(path, options["overrides"])
        if options["quick"]:
            experiment = experiment.at_most(_QUICK_USERS, _QUICK_REPEATS)
        return Run.of(experiment, options["repeats"], options["only"], options["groups"])
    except (ConfigError, DataError, DataNotFoundError) as error:
        if isinstance(error, TooFewUsersError):
            sizes = fitting_sizes(ratings_of(experiment.data).counts, experiment.protocol) or {}
            words = [f"--set {shlex.quote(f'protocol.{x}={sizes[x]}')}" for x in sizes]
            words += ["--quick"] * options["quick"]
            attempt = " ".join([f"rp-run {path}", *words]) if sizes else None
        problems = getattr(error, "problems", None)
        own = (f"{path}:", f"{path},")
        lines = [x if x.startswith(own) else f"{path}: {x}" for x in problems or [str(error)]]
        raise Failure(*lines, exit_code=2 if problems else 1, attempt=attempt) from error


def _run(run: Run, workers: Local | Dask, options: dict[str, Any], earlier: list[Run]) -> bool:
    """Run one experiment, reusing results of earlier ones; return whether nothing failed."""
    from rankpursuit.experiments.run import run_session

    name, folder = run.experiment.name, _folder(run, options)
    if options["dry_run"]:
        echo(_plan(run, workers.count()))
        return True
    outcome = run_session(
        run,
        folder,
        workers.evaluate,
        None if options["quiet"] else sys.stderr,
        fresh=options["fresh"],
        command=typed_command("rp-run"),
        report=lambda line: echo(line, err=True),
        reusable=[(other, _folder(other, options)) for other in earlier],
    )
    for failure in outcome.failures[:_LISTED]:
        echo(f"error: {one_line(failure)}", err=True)
    if len(outcome.failures) > _LISTED:
        echo(f"and {len(outcome.failures) - _LISTED} more errors", err=True)
    if options["quiet"]:
        return not outcome.failures
    if outcome.was_finished:
        echo(f"{name}: already finished, results in {folder.path}; --fresh runs it again")
    else:
        from rankpursuit.reporting.tables import error_summary

        found, width = outcome.repeats, terminal_width()
        none = "no results yet: no group, repeat and algorithm is complete"
        echo(none if found.empty else error_summary(outcome.experiment, found, width))
        echo(f"results: {folder.path}")
        path = shlex.quote(str(folder.path))
        if not found.empty:
            echo(f"next: rp-report {path} (a web page with figures), rp-tables {path}")
            if run.experiment.data.name == "ratings":
                echo("to rank what a user has not rated: the guide, docs/guide/recommending.rst")
    return not outcome.failures


def _plan(run: Run, workers: int) -> str:
    """Return a summary of a run and its estimated time."""
    from rankpursuit.experiments.protocol import group_name
    from rankpursuit.experiments.run import TIMED_USERS, estimate

    plan = run.plan
    holdout, test = (
        sum(len(unit.users) for unit in plan.of(plan.cells, role)) for role in ("holdout", "test")
    )
    data = {"synthetic": "SYNTHETIC", "ratings": "own"}
    name = run.experiment.data.name
    groups = dict.fromkeys(group_name(cell.group) for cell in plan.cells)
    return (
        f"{run.experiment.name} ({data.get(name, name)} ratings): groups {', '.join(groups)}; "
        f"{pluralize(len(plan.repeats), 'repeat')}; {', '.join(run.labels)}\n"
        f"  {pluralize(holdout, 'hold-out user')} and {pluralize(test, 'test user')} in "
        f"{pluralize(sum(map(len, plan.units.values())), 'unit')}\n"
        f"  about {duration(estimate(run) / workers)} with {pluralize(workers, 'worker')}, "
        f"estimated from {TIMED_USERS} users per group"
    )
