"""Hostile input is used or refused with a message; many more examples: see CONTRIBUTING.md."""

import json
import os
import signal
import tempfile
import warnings
from contextlib import chdir, contextmanager
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import strategies
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from rankpursuit import load_model
from rankpursuit.datasets import load_letor, load_movielens, load_ratings
from rankpursuit.errors import RankpursuitError
from rankpursuit.experiments.config import dump_yaml, load_experiment
from rankpursuit.reporting.results import load_results

pytestmark = pytest.mark.fuzz
RESULTS = ("repeats.csv", "users.csv.gz", "curves.csv")


@contextmanager
def limited(seconds=30):
    """Give a temporary working directory, and fail after some time."""
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail(f"more than {seconds} seconds"))
    signal.alarm(seconds)
    try:
        with tempfile.TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            yield Path(folder)
    finally:
        signal.alarm(0)


def attempt(call, *arguments, refusals=(RankpursuitError,), **options):
    """Return the result of a call, None if it is refused with a message."""
    try:
        return call(*arguments, **options)
    except refusals as error:
        assert str(error).strip() and max(map(len, str(error).splitlines())) < 3000
        assert not isinstance(error, np.linalg.LinAlgError)
        return None


def invoke(command, *words):
    """Run a command in this process; check its status and what it prints."""
    result = CliRunner().invoke(import_module(f"rankpursuit.cli.{command}").main, words)
    if not isinstance(result.exception, SystemExit | None):
        raise result.exception
    assert result.exit_code == 0 or (result.exit_code in (1, 2) and result.output.strip())
    assert "Traceback" not in result.output
    longest = 3000 + max(map(len, words), default=0)  # click repeats a word that it refuses
    assert all(line.isprintable() and len(line) < longest for line in result.output.split("\n"))
    return result


class Files(dict):
    """Contents of files by name, of which Hypothesis prints only the names."""

    def __repr__(self):
        return f"Files({list(self)})"


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """Return the files of a finished run by name."""
    with chdir(tmp_path_factory.mktemp("finished")):
        folder = write_run({})
        assert invoke("run", "tiny.yaml", "-q", "-j", "1").exit_code == 0
        return Files((path.name, path.read_bytes()) for path in folder.iterdir())


def write_run(files):
    """Write the files of a run, and its config, into the working directory."""
    folder = Path("results/tiny")
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        if content is not None:
            (folder / name).write_bytes(content)
    Path("tiny.yaml").write_text(json.dumps(strategies.TINY))
    return folder


@given(strategies.config_files(), st.none() | strategies.hostile_override)
def test_a_config_can_be_written_and_read_again_or_is_refused(content, override):
    with limited():
        Path("config.yaml").write_bytes(content)
        experiment = attempt(load_experiment, Path("config.yaml"), [override] if override else [])
        if experiment is not None:
            Path("again.yaml").write_text(dump_yaml(experiment), encoding="utf-8")
            assert load_experiment(Path("again.yaml")).digest() == experiment.digest()


@given(strategies.overrides)
def test_an_experiment_has_finite_errors_or_is_refused(overrides):
    options = [word for override in overrides for word in ("--set", override)]
    with limited():
        folder = write_run({})
        if invoke("run", "tiny.yaml", "-q", "-j", "1", *options).exit_code == 0:
            for name in RESULTS[:2]:
                errors = pd.read_csv(folder / name).filter(regex="error$").to_numpy()
                assert errors.size and np.isfinite(errors).all()


@given(strategies.commands())
def test_a_command_answers_with_a_status_and_plain_text(finished, command):
    with limited() as folder:
        write_run(finished)
        Path("mine.csv").write_text("\n".join(map(",".join, strategies.RATINGS)))
        before = sorted(os.walk(folder))
        result = invoke(*command)
        if result.exit_code == 2:
            assert sorted(os.walk(folder)) == before
        elif result.exit_code == 0 and "nan" not in " ".join(command).lower():  # a name may be nan
            assert "nan" not in result.output.lower().split()


@given(strategies.tables())
def test_a_table_of_data_is_finite_or_refused(table):
    kind, name, content = table
    load = {"ratings": load_ratings, "movielens": load_movielens, "letor": load_letor}[kind]
    with limited():
        Path(name).write_bytes(content)
        data = attempt(load, Path(name))
        if data is not None:
            arrays = data[:2] if kind == "letor" else (data.values, data.means)
            assert all(len(array) and np.isfinite(array).all() for array in arrays)


@given(st.data())
def test_damaged_results_are_refused_or_those_of_the_run(finished, data):
    read = {name: finished[name] for name in (*RESULTS, "config.yaml", "provenance.json")}
    damage = data.draw(strategies.damaged_files(Files(read)))
    with limited():
        results = attempt(load_results, write_run(finished | damage))
        if results is not None:
            assert np.isfinite(results.repeats["test_error"]).all()
            untouched = load_results(write_run(finished)).repeats
            assert results.repeats.equals(untouched) or "provenance.json" in damage


@given(st.data())
def test_a_damaged_store_leads_to_the_same_results_or_is_refused(finished, data):
    store = Files({"results.sqlite": finished["results.sqlite"]})
    with limited():
        folder = write_run(finished | data.draw(strategies.damaged_files(store)))
        invoke("run", "tiny.yaml", "-q", "-j", "1")
        for name in RESULTS:
            assert (folder / name).read_bytes() == finished[name], name


@given(strategies.fits())
def test_an_estimator_predicts_finite_numbers_or_refuses(fit):
    model, X, y, arguments = fit
    with limited(), np.errstate(all="raise", under="ignore"):
        if attempt(model.fit, X, y, **arguments, refusals=(ValueError, TypeError)) is not None:
            predictions = model.predict(X)
            assert predictions.shape == (len(X),) and np.isfinite(predictions).all()
            model.save(Path("model"))
            np.testing.assert_array_equal(load_model(Path("model")).predict(X), predictions)
