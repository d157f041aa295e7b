"""Your own methods: plug-ins, and any estimator."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from joblib.externals.loky import get_reusable_executor
from pydantic import Field
from sklearn.kernel_ridge import KernelRidge
from small_experiment import run_into, run_of, small_config

from rankpursuit.errors import ConfigError, RunError, StoreError
from rankpursuit.experiments import methods, plugins
from rankpursuit.experiments.backends import experiment_from
from rankpursuit.experiments.config import (
    Experiment,
    KernelSpec,
    parse_experiment,
)
from rankpursuit.experiments.evaluate import choose_parameters, evaluate_unit, tasks_of
from rankpursuit.experiments.plugins import install_plugins, load_plugins, plugin_sources
from rankpursuit.experiments.problem import Problem
from rankpursuit.experiments.protocol import Protocol
from rankpursuit.experiments.registry import (
    ESTIMATORS,
    METHODS,
    METRICS,
    predict_grid,
)
from rankpursuit.reporting.figures import draw_figures
from rankpursuit.reporting.render import to_markdown
from rankpursuit.reporting.results import load_results
from rankpursuit.reporting.tables import all_tables

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
KERNEL_RIDGE = {"method": "estimator", "class": "sklearn.kernel_ridge.KernelRidge"}


@pytest.fixture(autouse=True)
def no_plugin_stays():
    before = dict(METHODS), dict(METRICS), dict(ESTIMATORS), dict(plugins._PLUGINS)
    yield
    now = METHODS, METRICS, ESTIMATORS, plugins._PLUGINS
    for registry, kept in zip(now, before, strict=True):
        registry.clear()
        registry.update(kept)


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """A folder whose modules this process and new workers can import."""
    monkeypatch.syspath_prepend(tmp_path)
    get_reusable_executor().shutdown(kill_workers=True)
    yield tmp_path
    get_reusable_executor().shutdown(kill_workers=True)
    for name in ("helping", "helped", "helped.numbers"):
        sys.modules.pop(name, None)


def config_of(**algorithms):
    return small_config(algorithms=algorithms, repeats=1)


def evaluated(config, label):
    """Evaluate one unit of hold-out users, then one of test users with what was chosen."""
    run = run_of(config)
    cell = run.plan.cells[0]
    holdout, test = (run.plan.units[cell, role][0] for role in ("holdout", "test"))
    first = evaluate_unit(run.experiment, holdout, (label,), {})
    assert first.failures == {}
    choices = choose_parameters(run.experiment, {label: first.results[label].sums})[label]
    second = evaluate_unit(run.experiment, test, (label,), {label: choices})
    assert second.failures == {}
    return first.results[label], second.results[label], choices


def write(tmp_path, text, name="mine.py"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


PLAIN = """
from rankpursuit.experiments.registry import register_method
@register_method("{name}", title="Plain", has_width=False)
def predict_grid(problem, options, rows):
    return {factor} * problem.features[:, rows].mean(axis=-1)
"""


def test_the_plug_in_of_the_guide_runs_end_to_end(tmp_path):
    load_plugins([GUIDE / "smoothing.py"])
    config = config_of(smoothing={"power": [1, 2, 4]}, rls={"lambda": 1})
    config["metrics"] = ["root", "disagreement"]
    assert run_into(run_of(config), tmp_path) == []
    rows = pd.read_csv(tmp_path / "repeats.csv")
    assert list(rows.columns)[-4:] == ["power", "on_edge", "basis_functions", "basis_share"]
    assert rows.loc[rows["algorithm"] == "smoothing", "power"].isin([1, 2, 4]).all()
    assert rows.loc[rows["algorithm"] == "rls", "power"].isna().all()
    curves = pd.read_csv(tmp_path / "curves.csv")
    assert set(curves.loc[curves["algorithm"] == "smoothing", "axis"]) == {"width", "power"}


def test_a_plug_in_is_executed_once_and_again_when_its_source_has_changed(tmp_path):
    path = write(tmp_path, PLAIN.format(name="plain", factor=1))
    load_plugins([path])
    function, digest = METHODS["plain"].predict_grid, digest_of("plain")
    load_plugins([path, path])
    assert METHODS["plain"].predict_grid is function
    write(tmp_path, PLAIN.format(name="plain", factor=2))
    load_plugins([path])
    assert METHODS["plain"].predict_grid is not function
    assert digest_of("plain") != digest


def digest_of(label):
    return parse_experiment(config_of(**{label: {}})).digest()


IMPORTING = """
from rankpursuit.experiments.registry import register_method
@register_method("plain", title="Plain", has_width=False)
def predict_grid(problem, options, rows):
    from helping import factor
    return factor() * problem.features[:, rows].mean(axis=-1)
"""
HELPING = """
from helped.numbers import FACTOR
def factor():
    return FACTOR
"""


@pytest.fixture
def importing(own_folder):
    """A plug-in that imports a module of its folder, which imports one of a package there."""
    (own_folder / "helped").mkdir()
    write(own_folder / "helped", "FACTOR = 1\n", "numbers.py")
    write(own_folder, HELPING, "helping.py")
    return write(own_folder, IMPORTING)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_are_of_one_version_of_the_modules_that_a_plug_in_imports(
    importing, tmp_path, n_jobs
):
    config, errors = config_of(plain={}) | {"metrics": ["squared_error"]}, []
    for factor, folder in ((1, "one"), (20, "two"), (1, "one")):
        write(tmp_path / "helped", f"FACTOR = {factor:2}\n", "numbers.py")
        load_plugins([importing])
        assert run_into(run_of(config), tmp_path / folder, n_jobs=n_jobs) == []
        errors.append(pd.read_csv(tmp_path / folder / "repeats.csv")["test_error"].sum())
    assert errors[0] == errors[2] < errors[1] / 2
    with pytest.raises(StoreError, match=r"since changed: helped/numbers\.py: use --fresh"):
        run_into(run_of(config), tmp_path / "two")
    assert run_into(run_of(config), tmp_path / "two", fresh=True) == []
    provenance = [tmp_path / folder / "provenance.json" for folder in ("one", "two")]
    assert len({json.loads(path.read_text())["code"] for path in provenance}) == 1


def test_modules_that_other_experiments_import_do_not_matter(importing, tmp_path):
    experiment = parse_experiment(config_of(rls={"lambda": 1}))
    before = experiment.code()
    load_plugins([importing])
    assert experiment.code() == before
    assert "helping.py" in parse_experiment(config_of(plain={})).code()


def test_a_worker_with_other_code_is_refused(importing, tmp_path):
    load_plugins([importing])
    experiment = parse_experiment(config_of(plain={}))
    sent = json.dumps(experiment.resolved()), plugin_sources(), experiment.code()
    assert experiment_from(*sent) == experiment
    with pytest.raises(RunError, match="a worker has other code than the run"):
        experiment_from(*sent[:2], sent[2].replace("helping.py ", "helping.py 1"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PLAIN.format(name="rls", factor=1), "the name rls is taken by rankpursuit"),
        ("\n1 / 0", r"ZeroDivisionError: division by zero \(mine\.py, line 2, in <module>\)"),
        ("\ndef f():\n    exit(3)\nf()", r"SystemExit: 3 \(.*; mine\.py, line 3, in f\)"),
        ("\nimport helping", r"line 2, in <module>; helping\.py, line 1, in <module>\)"),
        ("import nowhere_to_be_found", "ModuleNotFoundError"),
        ("def f(:", "SyntaxError"),
    ],
)
def test_a_plug_in_that_fails_is_one_error_and_can_be_corrected(own_folder, tmp_path, text, said):
    write(own_folder, "1 / 0", "helping.py")
    with pytest.raises(ConfigError, match=rf"^--plugin mine\.py: .*{said}"):
        load_plugins([write(tmp_path, text)])
    assert plugin_sources() == ()
    load_plugins([write(tmp_path, PLAIN.format(name="plain", factor=1))])
    assert METHODS["plain"].plugin == "mine.py"


def test_a_plug_in_that_is_not_there_is_one_error(tmp_path):
    write(tmp_path, "", "mine.py")
    with pytest.raises(ConfigError, match=r"No such file or directory; did you mean .*mine\.py\?"):
        load_plugins([tmp_path / "mne.py"])
    with pytest.raises(ConfigError, match=r"^--plugin mine: neither a \.py file nor an installed"):
        load_plugins(["mine"])


@pytest.mark.parametrize("name", ["random.py", "numpy.py"])
def test_a_plug_in_does_not_take_the_place_of_another_module(tmp_path, name):
    with pytest.raises(ConfigError, match=r"there is another module .*: rename the file"):
        load_plugins([write(tmp_path, "", name)])


def test_an_installed_plug_in_is_loaded_by_name_only_when_asked_for(tmp_path, monkeypatch):
    about = tmp_path / "installed_methods-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: installed-methods\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[rankpursuit.plugins]\nplain = installed_methods\n")
    write(tmp_path, PLAIN.format(name="plain", factor=1), "installed_methods.py")
    monkeypatch.syspath_prepend(tmp_path)
    assert "plain" not in METHODS
    load_plugins(["plain"])
    load_plugins(["plain"])
    assert METHODS["plain"].plugin == "plain"
    install_plugins(plugin_sources())
    with pytest.raises(ConfigError, match=r"plan: neither .*; did you mean plain\?"):
        load_plugins(["plan"])


FAILING = """
from helping import divided
from rankpursuit.experiments.registry import register_method
@register_method("plain", title="Plain", has_width=False)
def predict_grid(problem, options, rows):
    return deeper(problem)
def deeper(problem):
    return divided(problem)
"""


@pytest.mark.parametrize(
    ("statement", "error"),
    [("1 / 0", "ZeroDivisionError: division by zero"), ("exit()", "SystemExit: None")],
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_failure_in_a_plug_in_names_its_last_lines(
    own_folder, tmp_path, statement, error, n_jobs
):
    write(own_folder, f"def divided(x):\n    return {statement}\n", "helping.py")
    load_plugins([write(own_folder, FAILING)])
    run = run_of(config_of(plain={}, rls={"lambda": 1}), groups=["15-30"])
    failures = run_into(run, tmp_path / "run", n_jobs=n_jobs)
    lines = "mine.py, line 6, in predict_grid; mine.py, line 8, in deeper; helping.py, line 2, in "
    assert failures and all(x.endswith(f"{error} ({lines}divided)") for x in failures)
    assert set(pd.read_csv(tmp_path / "run" / "repeats.csv")["algorithm"]) == {"rls"}


def test_an_estimator_that_cannot_be_created_is_one_error(tmp_path):
    text = RANKER + "    def __init__(self):\n        raise RuntimeError('no licence')\n"
    load_plugins([write(tmp_path, text)])
    said = r"class: cannot be created without arguments: RuntimeError: no licence \(mine\.py, line"
    with pytest.raises(ConfigError, match=said):
        parse_experiment(config_of(ranker={"method": "estimator", "class": "mine.Ranker"}))


IN_PLACE = """
from rankpursuit.experiments.registry import register_method, register_metric
@register_method("plain", title="Plain")
def predict_grid(problem, options, rows):
    {statement}
    return problem.kernel[:, rows, 0]
@register_metric("a_metric", title="A metric")
def metric(scores, predictions):
    {in_metric}
    return predictions.mean(axis=-1)
"""


@pytest.mark.parametrize(
    ("statement", "in_metric"),
    [
        ("problem.kernel[:] = 0", "pass"),
        ("problem.scored_kernel[:] *= 2", "pass"),
        ("problem.features[:] = 0", "pass"),
        ("problem.scores[:] = 0", "pass"),
        ("pass", "predictions -= predictions.mean()"),
    ],
)
def test_a_plug_in_cannot_change_what_other_algorithms_and_metrics_get(
    tmp_path, statement, in_metric
):
    text = IN_PLACE.format(statement=statement, in_metric=in_metric)
    load_plugins([write(tmp_path, text)])
    config = config_of(plain={}, rls={"lambda": 1}) | {"metrics": ["a_metric"]}
    run = run_of(config)
    unit = run.plan.units[run.plan.cells[0], "holdout"][0]
    result = evaluate_unit(run.experiment, unit, ("plain", "rls"), {})
    assert "read-only" in result.failures["plain"]
    assert set(result.results) == (set() if statement == "pass" else {"rls"})


THREADED = """
import numpy as np
from sklearn.base import BaseEstimator
from rankpursuit.experiments.registry import register_estimator
@register_estimator
class Ranker(BaseEstimator):
    def __init__(self, inner=None, n_jobs=None):
        self.inner, self.n_jobs = inner, n_jobs
    def get_params(self, deep=True):
        return {"inner": None, "n_jobs": self.n_jobs, "inner__n_jobs": None}
    def set_params(self, **params):
        self.given = params
        return self
    def fit(self, X, y):
        X[:] = y[:] = 0
        return self
    def predict(self, X):
        return np.full(len(X), 10 * self.given["n_jobs"] + self.given["inner__n_jobs"])
"""


@pytest.mark.parametrize(("params", "expected"), [({}, 11), ({"n_jobs": 2}, 21)])
def test_an_estimator_gets_one_thread_and_arrays_of_its_own(tmp_path, params, expected):
    load_plugins([write(tmp_path, THREADED)])
    ranker = {"method": "estimator", "class": "mine.Ranker", "params": params}
    run = run_of(config_of(ranker=ranker))
    tasks = tasks_of(run.experiment, run.plan.units[run.plan.cells[0], "holdout"][0])
    problem = Problem.of(tasks[:1], (4.0,), "sigma")
    ranker = run.experiment.algorithms["ranker"]
    predictions = predict_grid(problem, ranker, slice(problem.n_train, None))
    assert np.unique(predictions.values).tolist() == [expected]


def test_libraries_of_workers_have_one_thread(own_folder):
    text = PLAIN.format(name="plain", factor="int(os.environ['OMP_NUM_THREADS'])")
    load_plugins([write(own_folder, f"import os{text}")])
    run = run_of(config_of(plain={}), groups=["15-30"])
    assert run_into(run, own_folder / "run", n_jobs=2) == []


def test_predictions_of_a_wrong_shape_are_the_failure_of_that_algorithm(tmp_path):
    text = PLAIN.format(name="plain", factor=1).replace("axis=-1)", "axis=-1)[:, :1]")
    load_plugins([write(tmp_path, text)])
    run = run_of(config_of(plain={}, rls={"lambda": 1}))
    unit = run.plan.units[run.plan.cells[0], "holdout"][0]
    result = evaluate_unit(run.experiment, unit, run.labels, {})
    assert set(result.results) == {"rls"}
    assert "plain: predictions of shape" in result.failures["plain"]


def test_a_new_option_with_a_default_changes_no_digest():
    class NewProtocol(Protocol):
        new: int = 3

    class NewExperiment(Experiment):
        protocol: NewProtocol = NewProtocol()
        kernel: KernelSpec = KernelSpec()
        also_new: tuple[float, ...] = (1.0, 2.0)

    class NewOptions(methods.LeastSquaresOptions):
        new: bool = Field(default=False)

    config = config_of(rls={"lambda": 1})
    digest = parse_experiment(config).digest()
    new = NewExperiment.model_validate(config)
    assert new.digest() == digest
    options = NewOptions(method="rls", lambdas=[1])
    assert new.model_copy(update={"algorithms": {"rls": options}}).digest() == digest
    other = new.model_copy(update={"also_new": (1.0,)})
    assert other.digest() != digest


def test_an_estimator_with_a_kernel_is_the_estimator_at_every_width_and_parameter():
    config = config_of(ridge={**KERNEL_RIDGE, "input": "kernel", "grid": {"alpha": [0.5, 4]}})
    run = run_of(config)
    unit = run.plan.units[run.plan.cells[0], "holdout"][0]
    problem = Problem.of(tasks_of(run.experiment, unit)[:1], (4.0, 16.0), "sigma")
    found = predict_grid(problem, run.experiment.algorithms["ridge"], slice(problem.n_train, None))
    n, m = problem.n_scored, problem.n_train
    for kernel, by_alpha in zip(problem.kernel, found.values, strict=True):
        for alpha, values in zip((0.5, 4), by_alpha, strict=True):
            model = KernelRidge(alpha=alpha, kernel="precomputed")
            model.fit(kernel[:n, :n], problem.scores[0, :n])
            np.testing.assert_allclose(values, model.predict(kernel[m:, :n]))
    _, _, choices = evaluated(config, "ridge")
    assert set(choices["disagreement"].values) == {"width", "param_alpha"}


def test_an_estimator_with_features_has_no_width_and_words_have_no_edge(tmp_path):
    grid = {"weights": ["uniform", "distance"], "n_neighbors": [1, 2]}
    name = "sklearn.neighbors.KNeighborsRegressor"
    config = config_of(near={"method": "estimator", "class": name, "grid": grid})
    _, tested, choices = evaluated(config, "near")
    assert set(choices["disagreement"].values) == {"param_weights", "param_n_neighbors"}
    assert choices["disagreement"].on_edge == ("param_n_neighbors",)
    assert {user.n_basis for user in tested.users} == {user.n_points for user in tested.users}
    assert run_into(run_of(config), tmp_path) == []
    rows = pd.read_csv(tmp_path / "repeats.csv")
    assert rows["param_weights"].isin(grid["weights"]).all()
    assert rows["width"].isna().all()
    assert set(pd.read_csv(tmp_path / "curves.csv")["axis"]) == {"param_n_neighbors"}


def test_lightgbm_s_ranker_of_the_guide_runs_through_a_plug_in():
    pytest.importorskip("lightgbm", reason="lightgbm is absent: pip install 'rankpursuit[bench]'")
    load_plugins([GUIDE / "boosting.py"])
    params = {"n_estimators": 5, "min_child_samples": 2, "verbose": -1}
    grid = {"num_leaves": [3, 7]}
    ranker = {"method": "estimator", "class": "boosting.Ranker", "params": params, "grid": grid}
    _, tested, _ = evaluated(config_of(boosting=ranker), "boosting")
    assert tested.users


RANKER = """
import numpy as np
from sklearn.base import BaseEstimator
from rankpursuit.experiments.registry import register_estimator
@register_estimator
class Ranker(BaseEstimator):
    def fit(self, X, y, group):
        assert group == [len(X)] and not np.isnan(y).any()
        return self
    def predict(self, X):
        return X[:, 0]
"""


def test_a_registered_estimator_gets_the_sizes_of_its_queries(tmp_path):
    config = config_of(ranker={"method": "estimator", "class": "mine.Ranker"})
    with pytest.raises(ConfigError, match=r"ranker\.class: .*registered by a plug-in"):
        parse_experiment(config)
    load_plugins([write(tmp_path, RANKER)])
    digest = parse_experiment(config).digest()
    evaluated(config, "ranker")
    load_plugins([write(tmp_path, RANKER + "\n")])
    assert parse_experiment(config).digest() != digest


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"class": "os.system"}, "class: expected a class of rankpursuit, of sklearn, or"),
        ({"class": "sklearn.kernel_ridge.Nothing"}, "class: no such class"),
        ({"class": "sklearn.base.clone"}, "class: expected an estimator with fit and predict"),
        ({"class": "sklearn.model_selection.GridSearchCV"}, "class: cannot be created without"),
        ({"grid": {"alhpa": [1]}}, "grid: Invalid parameter 'alhpa' .*'alpha'"),
        ({"params": {"beta": 1}}, "params: Invalid parameter 'beta' for estimator KernelRidge"),
        ({"grid": {"alpha": [1, "a"]}}, "grid.alpha: expected a list of numbers"),
        (
            {"class": "sklearn.linear_model.Ridge", "input": "kernel"},
            "input: Invalid parameter 'kernel' for estimator Ridge",
        ),
    ],
)
def test_an_estimator_that_cannot_be_used_is_refused_with_its_key(options, said):
    with pytest.raises(ConfigError, match=rf"^algorithms\.ridge\.{said}"):
        parse_experiment(config_of(ridge=KERNEL_RIDGE | options))


def test_results_of_a_plug_in_are_read_without_it(tmp_path):
    load_plugins([GUIDE / "smoothing.py", write(tmp_path, RANKER)])
    ranker = {"method": "estimator", "class": "mine.Ranker"}
    config = config_of(smoothing={"power": [1, 2, 4]}, ranker=ranker, rls={"lambda": 1})
    config["metrics"] = ["root", "disagreement"]
    assert run_into(run_of(config), tmp_path / "run") == []
    del METHODS["smoothing"], METRICS["root"], ESTIMATORS["mine.Ranker"]
    plugins._PLUGINS.clear()
    results = load_results(tmp_path / "run")
    assert results.algorithms == {"rls": "RLS", "ranker": "ranker", "smoothing": "smoothing"}
    text = to_markdown(all_tables([results]))
    assert "smoothing" in text and "root" in text
    assert "sparsity-root" in {figure.name for figure in draw_figures(results)}
    with pytest.raises(ConfigError, match=r"unknown algorithm; .*--plugin"):
        parse_experiment(config)
    load_plugins([GUIDE / "smoothing.py"])
    assert METHODS["smoothing"].title == "Smoothing"


def test_two_files_of_one_name_are_refused(tmp_path):
    (tmp_path / "sub").mkdir()
    paths = [write(folder, f"# {folder}") for folder in (tmp_path, tmp_path / "sub")]
    with pytest.raises(ConfigError, match=r"two plug-ins are called mine\.py: rename one"):
        load_plugins(paths)
