"""Models kept in files predict as they did; damaged and crafted files are refused."""

import json
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import sklearn
import skops.io
from all_estimators import SEARCHES as EACH_SEARCH
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer, make_scorer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GroupKFold, RepeatedKFold
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import rankpursuit
from rankpursuit import metrics
from rankpursuit.errors import ModelFileError
from rankpursuit.estimators import _base

ESTIMATORS = [
    rankpursuit.RLS(),
    rankpursuit.KernelMatchingPursuit(n_basis=5, kernel="poly", degree=2),
    rankpursuit.RankRLS(kernel="linear"),
    rankpursuit.SparseRankRLS(n_basis=7, random_state=np.random.default_rng(0)),
    rankpursuit.RankSVM(gamma="scale"),
    rankpursuit.RankingPursuit(n_basis=6, fitting="backfit", group_weight={0: 1.0, 1: 2.0}),
    rankpursuit.CombinedRankingRegressionPursuit(n_basis=6, kernel="laplacian"),
    rankpursuit.SemiSupervisedRankingPursuit(n_basis=4, random_state=0),
    rankpursuit.SemiSupervisedRankingPursuit(n_basis=4, views="features", random_state=0),
    rankpursuit.SemiSupervisedRankingPursuit(n_basis=4, views=["rbf", "linear"], random_state=0),
    *(clone(one).set_params(cv=2) for one in EACH_SEARCH),
    rankpursuit.RankingPursuitCV(n_basis=3, gammas=np.array([0.1, 1.0]), cv=GroupKFold(2)),
    rankpursuit.PathCV(
        rankpursuit.SparseRankRLS(kernel="linear"), {"n_basis": [np.int64(3)]}, scale=False, cv=2
    ),
]
EACH = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: str(one)[:60])


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, np.sin(X[:, 0]) + X[:, 1], np.repeat([0, 1], 20)


@EACH
def test_loaded_model_predicts_the_same_bits(estimator, tmp_path):
    X, y, groups = data()
    estimator.fit(X, y, groups)
    estimator.save(tmp_path / "model")
    again = rankpursuit.load_model(tmp_path / "model")
    assert type(again) is type(estimator)
    np.testing.assert_array_equal(again.predict(X), estimator.predict(X))
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert again.get_params().keys() == estimator.get_params().keys()
    if hasattr(again, "staged_predict"):
        staged = zip(again.staged_predict(X), estimator.staged_predict(X), strict=True)
        assert all(np.array_equal(one, other) for one, other in staged)
    if hasattr(again, "plot"):
        again.plot(Figure().subplots())


@EACH
def test_predictions_in_blocks_are_those_of_all_rows(estimator, monkeypatch):
    X, y, groups = data()
    estimator.fit(X, y, groups)
    whole = estimator.predict(X)
    monkeypatch.setattr(_base, "_BLOCK", 40)
    np.testing.assert_allclose(estimator.predict(X), whole, atol=1e-12 * np.abs(whole).max())


def test_damaged_and_other_files_are_refused_in_one_line(tmp_path):
    X, y, _ = data()
    path = tmp_path / "model"
    rankpursuit.RankingPursuit(n_basis=2).fit(X, y).save(path)
    content = path.read_bytes()
    halves = content[: len(content) // 2], content[len(content) // 2 :]
    for damaged in (b"", b"PK\x03\x04", *halves):
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError, match="model") as refused:
            rankpursuit.load_model(path)
        assert "\n" not in str(refused.value)
    with pytest.raises(ModelFileError, match="cannot be read: No such file"):
        rankpursuit.load_model(tmp_path / "none")


@pytest.mark.parametrize(
    "other",
    [
        {"a": print},
        StandardScaler(),
        FunctionTransformer(),
        [Path("/etc/passwd")],
        rankpursuit.GrownDictionary(),
    ],
)
def test_files_of_other_types_are_refused(other, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(skops.io.dumps(other))
    with pytest.raises(ModelFileError, match="of this package"):
        rankpursuit.load_model(path)


def test_a_file_that_cannot_be_written_is_one_error_and_leaves_nothing(tmp_path):
    X, y, _ = data()
    model = rankpursuit.RankRLS().fit(X, y)
    with pytest.raises(ModelFileError, match="cannot write"):
        model.save(tmp_path / "no folder" / "model")
    with pytest.raises(NotFittedError):
        rankpursuit.RankRLS().save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_saves_at_the_same_time_leave_a_whole_file(tmp_path):
    X, y, _ = data()
    model = rankpursuit.RankRLS().fit(X, y)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(model.save, [tmp_path / "model"] * 40))
    np.testing.assert_array_equal(
        rankpursuit.load_model(tmp_path / "model").predict(X), model.predict(X)
    )
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


# What a search and its model may hold

SCORERS = [
    rankpursuit.group_scorer(),
    rankpursuit.ndcg_scorer(3, gain="shifted"),
    rankpursuit.map_scorer(5),
    rankpursuit.mrr_scorer(),
    rankpursuit.kendall_scorer(),
    metrics.pairwise_accuracy,
    partial(metrics.kendall_tau, empty=0.0),
]
SEARCHES = [
    rankpursuit.PathCV(rankpursuit.RankRLS(), scoring=scoring, cv=2) for scoring in SCORERS
] + [
    rankpursuit.PathCV(
        rankpursuit.RankRLS(), cv=RepeatedKFold(n_splits=2, n_repeats=2, random_state=0)
    ),
    rankpursuit.PathCV(
        rankpursuit.RankRLS(),
        cv=[(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))],
    ),
    rankpursuit.PathCV(rankpursuit.RankRLS(kernel=rbf_kernel, kernel_params={"gamma": 0.5}), cv=2),
    *(
        rankpursuit.RankingPursuitCV(n_basis=3, dictionary=dictionary, cv=2)
        for dictionary in ("auto", "additive", "grown", rankpursuit.GrownDictionary(2, knots=3))
    ),
]


@pytest.mark.parametrize("search", SEARCHES, ids=range(len(SEARCHES)))
def test_a_search_is_saved_with_its_scorer_splitter_kernel_and_dictionary(search, tmp_path):
    X, y, groups = data()
    groups = None if isinstance(search.cv, RepeatedKFold) else groups
    search.fit(X, y, groups).save(tmp_path / "model")
    again = rankpursuit.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    for name, scores in search.cv_results_.items():
        np.testing.assert_array_equal(again.cv_results_[name], scores)
    again.save(tmp_path / "model")
    refitted = rankpursuit.load_model(tmp_path / "model").fit(X, y, groups)
    assert refitted.best_score_ == search.best_score_
    np.testing.assert_array_equal(refitted.predict(X), search.predict(X))


def test_requests_for_metadata_are_saved_with_their_model(tmp_path):
    X, y, groups = data()
    with sklearn.config_context(enable_metadata_routing=True):
        model = rankpursuit.RankRLS().set_fit_request(groups="user", sample_weight=True)
        model.fit(X, y, groups).save(tmp_path / "model")
        again = rankpursuit.load_model(tmp_path / "model")
        assert str(again.get_metadata_routing()) == str(model.get_metadata_routing())


def test_callbacks_of_a_search_are_left_out_of_its_file(tmp_path):
    X, y, _ = data()
    model = rankpursuit.PathCV(rankpursuit.RankRLS(), cv=2).fit(X, y)
    model._skl_callbacks = [print]  # what set_callbacks of scikit-learn 1.9 stores
    model.save(tmp_path / "model")
    assert not hasattr(rankpursuit.load_model(tmp_path / "model"), "_skl_callbacks")
    assert model._skl_callbacks == [print]


class Kernel:
    def __call__(self, X, Y):
        return X @ Y.T

    def of(self, X, Y):
        return X @ Y.T


class Additive(rankpursuit.GrownDictionary):
    pass


def accuracy(scores, predictions, groups, ties="untied"):
    return metrics.pairwise_accuracy(scores, predictions, groups)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("kernel", lambda X, Y: X @ Y.T),
        ("kernel", Kernel()),
        ("kernel", Kernel().of),
        ("scoring", accuracy),
        ("scoring", partial(accuracy, ties="half")),
        ("scoring", make_scorer(lambda y, values: 1.0)),
        ("scoring", get_scorer("neg_mean_absolute_error")),
        ("cv", (part for part in [(range(20), range(20, 40)), (range(20, 40), range(20))])),
        ("dictionary", Additive()),
        ("group_weight", {True: 1.0, False: 2.0}),
    ],
)
def test_what_a_file_cannot_hold_is_one_error_when_the_model_is_saved(parameter, value, tmp_path):
    X, y, _ = data()
    model = rankpursuit.RankingPursuitCV(n_basis=2, cv=2).set_params(**{parameter: value})
    model.fit(X, y, X[:, 0] > 0.0 if parameter == "group_weight" else None)
    with pytest.raises(ModelFileError, match=f"model: {parameter} holds .*set_params.*joblib"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


# Crafted files


def node(loader, name, **others):
    module, _, cls = name.rpartition(".")
    return {"__loader__": loader, "__module__": module, "__class__": cls, **others}


def plain(value):
    return node("JsonNode", "builtins.str", content=json.dumps(value))


def sequence(*items, kind="List"):
    return node(f"{kind}Node", f"builtins.{kind.lower()}", content=list(items))


def calls(name, *arguments):
    """A call of something that skops takes for the constructor of an object."""
    return node("ConstructorFromReduceNode", name, content=sequence(*arguments, kind="Tuple"))


def keyed(call, key):
    """A dict whose key is converted by a call."""
    content = {str(key): plain(1)}
    return node("DictNode", "builtins.dict", key_types=sequence(call), content=content)


def attributes(**values):
    names = sequence(*(node("TypeNode", "builtins.str") for _ in values))
    return node("DictNode", "builtins.dict", key_types=names, content=values)


def inside_a_module(*names):
    """A member of a module that a module of the package imports, as the method of an object."""
    of = "rankpursuit.estimators.scoring.inspect"
    found = node("FunctionNode", of)
    for name in names:
        found = node("MethodNode", of, content={"func": name, "obj": found})
    return found


SYSTEM = inside_a_module("os", "system")
MODEL = "rankpursuit.estimators.least_squares.RankRLS"
PURSUIT = "rankpursuit.estimators.pursuit"


def partial_node(function, *arguments):
    content = {
        "func": function,
        "args": sequence(*arguments, kind="Tuple"),
        "kwds": attributes(),
        "namespace": plain(None),
    }
    return node("PartialNode", "functools.partial", content=content)


def written(path):
    path = calls("rankpursuit.estimators.io.Path", plain(str(path)))
    return calls(
        "rankpursuit.estimators.io.write_atomically",
        path,
        node("BytesNode", "builtins.bytes", file="b"),
    )


CRAFTED = {
    "reduce": lambda path: calls(
        f"{PURSUIT}.reduce",
        inside_a_module("os", "mkdir"),
        sequence(plain(0o777)),
        plain(str(path)),
    ),
    "a writer": written,
    "a method": lambda path: keyed(SYSTEM, f"touch {path}"),
    "partial": lambda path: keyed(calls(f"{PURSUIT}.partial", SYSTEM), f"touch {path}"),
    "a partial of skops": lambda path: keyed(partial_node(SYSTEM), f"touch {path}"),
    "an attribute": lambda path: node(
        "ObjectNode", MODEL, content=attributes(kernel=written(path))
    ),
    "a list": lambda path: node(
        "ListNode", "rankpursuit.estimators._base.Path", content=[plain(str(path))]
    ),
    "a function": lambda path: keyed(node("FunctionNode", "posix.system"), f"touch {path}"),
    "a function of an old file": lambda path: {
        **keyed(
            node(
                "FunctionNode",
                "rankpursuit.metrics.sparsity",
                content={"module_path": "posix", "function": "system"},
            ),
            f"touch {path}",
        ),
        "protocol": 0,
    },
    "an object of scikit-learn": lambda path: node(
        "ObjectNode",
        "sklearn.preprocessing._function_transformer.FunctionTransformer",
        content=attributes(func=SYSTEM),
    ),
    "the same id": lambda path: sequence(
        {**keyed(SYSTEM, f"touch {path}"), "__id__": 1}, {**plain(1), "__id__": 1}
    ),
    "no such class": lambda path: node("ObjectNode", f"{MODEL}s"),
    "a loader": lambda path: node("DefaultDictNode", "collections.defaultdict"),
    "no loader": lambda path: {"__class__": "RankRLS", "__module__": MODEL},
    "a number": lambda path: 3,
    "an operator": lambda path: node(
        "OperatorFuncNode", "operator.methodcaller", attrs=sequence(plain("mkdir"))
    ),
}


def generator(bit_generator, **others):
    content = {"bit_generator": attributes(bit_generator=plain(bit_generator), **others)}
    content["seed_seq"] = attributes()
    return node("RandomGeneratorNode", "numpy.random._generator.Generator", content=content)


CRAFTED |= {
    "a listed function as a constructor": lambda path: calls(
        "rankpursuit.metrics.kendall_tau", plain(str(path))
    ),
    "the method of a model": lambda path: keyed(
        node("MethodNode", MODEL, content={"func": "save", "obj": node("ObjectNode", MODEL)}), path
    ),
    "a name that the package imports": lambda path: node(
        "SetNode", "rankpursuit.estimators.io.Path", content=[plain(str(path))]
    ),
    "joblib": lambda path: keyed(node("TypeNode", "joblib.numpy_pickle.load"), path),
    "a data set of scikit-learn": lambda path: keyed(
        node("FunctionNode", "sklearn.datasets._base.clear_data_home"), path
    ),
    "numpy.save": lambda path: keyed(
        partial_node(node("FunctionNode", "numpy.save"), plain(str(path))), "1"
    ),
    "an array of objects": lambda path: node(
        "NdArrayNode",
        "numpy.ndarray",
        type="json",
        content=[written(path)],
        shape=sequence(plain(1), kind="Tuple"),
    ),
    "a function as bit generator": lambda path: generator("test"),
}


def test_a_function_in_place_of_a_bit_generator_is_not_called(tmp_path, monkeypatch):
    called, path = [], tmp_path / "model"
    monkeypatch.setattr(np.random, "test", lambda *arguments: called.append(arguments))
    write_crafted(path, generator("test"))
    with pytest.raises(ModelFileError, match="not a model"):
        rankpursuit.load_model(path)
    assert not called


def test_versions_of_skops_that_call_such_functions_are_refused(tmp_path, monkeypatch):
    X, y, _ = data()
    model = rankpursuit.RankRLS().fit(X, y)
    monkeypatch.setattr(skops, "__version__", "0.14.0")
    with pytest.raises(ImportError, match=r"skops 0\.14\.0 is older than 0\.15.*pip install"):
        model.save(tmp_path / "model")
    with pytest.raises(ImportError, match="older"):
        rankpursuit.load_model(tmp_path / "model")


def test_a_scorer_that_names_the_method_to_call_is_refused(tmp_path):
    X, y, _ = data()
    path, marker = tmp_path / "model", tmp_path / "marker"
    scorer = make_scorer(metrics.kendall_tau)
    scorer._response_method = "save"
    model = rankpursuit.RankRLS().fit(X, y)
    model.kernel = partial(scorer, clone(model).fit(X, y), str(marker))
    path.write_bytes(skops.io.dumps(model))
    with pytest.raises(ModelFileError, match=r"holds sklearn\.metrics"):
        rankpursuit.load_model(path).predict(X)
    assert not marker.exists()


def write_crafted(path, schema):
    if isinstance(schema, dict):
        schema = {"protocol": 2, "_skops_version": "0.16", **schema}
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("schema.json", json.dumps(schema))
        file.writestr("b", b"written")


@pytest.mark.parametrize("kind", CRAFTED)
def test_a_crafted_file_is_refused_and_nothing_in_it_runs(kind, tmp_path):
    path, marker = tmp_path / "model", tmp_path / "marker"
    write_crafted(path, CRAFTED[kind](marker))
    with pytest.raises(ModelFileError, match=r"model: (holds|not a model)") as refused:
        rankpursuit.load_model(path)
    assert "\n" not in str(refused.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


class Made:
    """An object that is made again by a call."""

    def __init__(self, path):
        self.path = path
        Path(path).touch()

    def __reduce__(self):
        return type(self), (self.path,)


@pytest.mark.parametrize("wrap", [lambda made: made, lambda made: rankpursuit.RLS(kernel=made)])
def test_an_object_with_its_own_reduce_is_refused_and_not_made(wrap, tmp_path):
    path, marker = tmp_path / "model", tmp_path / "marker"
    path.write_bytes(skops.io.dumps(wrap(Made(str(marker)))))
    marker.unlink()
    with pytest.raises(ModelFileError, match=r"holds .*test_model_file\.Made"):
        rankpursuit.load_model(path)
    assert not marker.exists()
