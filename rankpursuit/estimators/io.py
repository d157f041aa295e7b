"""Save and load fitted models with `skops`: no pickle, and only listed types are loaded."""

from __future__ import annotations

import json
from copy import copy
from functools import cache, partial
from inspect import isfunction
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
from sklearn import model_selection
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import kernel_metrics
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version
from sklearn.utils.metadata_routing import MetadataRequest

from rankpursuit import metrics
from rankpursuit.errors import ModelFileError, OutputError
from rankpursuit.writing import write_atomically

_LEFT_OUT = ("_blocks", "_skl_callbacks", "_skl_callbacks_to_teardown")
"""Attributes that a file does not hold: what only `partial_fit` needs, and progress bars."""
_SKOPS = "0.15"
"""Oldest version of skops that checks what `_known_nodes` cannot see: names of bit generators."""
_REQUESTS = (MetadataRequest, type(MetadataRequest(owner=None).fit))
"""Requests for metadata of an object, and of one of its methods."""


def save_model(model: Any, path: str | Path) -> None:
    """Write a fitted estimator to a file atomically; see `KernelEstimator.save`."""
    model = _without_cycles(model)
    for name in _LEFT_OUT:
        vars(model).pop(name, None)
    content, refused = _dump(model)
    if refused:
        attributes = ((name, _dump(value)[1]) for name, value in vars(model).items())
        default = ("the model", refused)
        name, refused = next((pair for pair in attributes if pair[1]), default)
        raise ModelFileError(
            f"{path}: {name} holds {refused}, which cannot be saved in a file; give {name} another "
            "value with set_params if the model predicts without it, or keep the model with "
            "joblib, see 'Saving and sharing models' in the guide"
        )
    try:
        write_atomically(Path(path), content)
    except OutputError as error:
        raise ModelFileError(str(error)) from error


def _without_cycles(value: Any) -> Any:
    """Return a copy of an estimator or a scorer that skops can save.

    Requests for metadata refer back to their owner, which is needed for error messages only: in the
    copy they have its name.
    """
    routed = hasattr(value, "get_metadata_routing") and not isinstance(value, type)
    if not routed and not isinstance(value, _REQUESTS):
        return value
    copied = copy(value)
    for name, item in vars(value).items():
        is_owner = name == "owner" and not isinstance(item, str)
        vars(copied)[name] = type(item).__name__ if is_owner else _without_cycles(item)
    return copied


def _dump(value: Any) -> tuple[bytes, str]:
    """Return the content of a file, and the first thing in it that a file cannot hold, or ''."""
    try:
        content = _skops().dumps(value, compression=ZIP_DEFLATED)
    except ImportError:
        raise
    except Exception as error:  # whatever the objects in a model may raise
        return b"", f"an object of type {type(value).__qualname__} ({type(error).__name__})"
    unknown = _nodes(content) - _known_nodes()
    return content, min((name for _, name in unknown), default="")


def load_model(path: str | Path) -> Any:
    """Load a model that was written by `save` of an estimator.

    The Gram matrix of earlier blocks is not saved: to continue with `partial_fit`, use joblib.
    Raises ModelFileError if the file at `path` is missing or damaged, or contains anything but a
    model of this package.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> from rankpursuit import RankingPursuit, load_model
    >>> X = np.linspace(0.0, 3.0, 31)[:, None]
    >>> model = RankingPursuit(n_basis=4).fit(X, np.sin(X[:, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "sine.skops"
    ...     model.save(path)
    ...     again = load_model(path)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    skops = _skops()
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        nodes = _nodes(content)
        unknown = sorted(name for _, name in nodes - _known_nodes())
        model = None if unknown else skops.loads(content, trusted=[name for _, name in nodes])
    except Exception as error:  # a damaged file may fail in any way
        raise ModelFileError(f"{path}: not a model, or damaged: {type(error).__name__}") from error
    if unknown:
        raise ModelFileError(f"{path}: holds {unknown[0]}, which no model of this package needs")
    if not hasattr(model, "save"):
        raise ModelFileError(f"{path}: holds {type(model).__name__}, not a model of this package")
    return model


# What files may hold. A file is a tree of nodes, each with a loader of skops and the name of a
# class or a function.


def _nodes(content: bytes) -> set[tuple[str, str]]:
    """Return the loader and the name of each node of a file."""
    with ZipFile(BytesIO(content)) as file:
        left = [json.loads(file.read("schema.json"))]
    nodes = set()
    while left:
        node = left.pop()
        if isinstance(node, list):
            left.extend(node)
        elif isinstance(node, dict):
            left.extend(node.values())
            if isinstance(node.get("__loader__"), str):
                nodes.add((node["__loader__"], f"{node['__module__']}.{node['__class__']}"))
    return nodes


@cache
def _known_nodes() -> frozenset[tuple[str, str]]:
    """Return the loader and the name of everything that a file may hold.

    A crafted file may call any of these while it is loaded (as the type of a key of a dict), or
    afterwards (as a kernel), with arguments of its choice. So each must only compute. Scorers of
    scikit-learn are not among them: they call a method that they name, such as `save`.
    """
    import rankpursuit
    from rankpursuit.estimators import scoring

    public = [getattr(rankpursuit, name) for name in rankpursuit.__all__]
    estimators = [cls for cls in public if isinstance(cls, type) and issubclass(cls, BaseEstimator)]
    splitters = [
        cls
        for cls in map(vars(model_selection).get, model_selection.__all__)
        if isinstance(cls, type) and hasattr(cls, "split")
    ]
    measures: list[Any] = [*filter(isfunction, map(vars(metrics).get, metrics.__all__))]
    measures += [scoring._agreement, scoring.ndcg]
    kinds = (np.bool_, np.integer, np.floating, np.str_)
    scalars = [kind for kind in np.sctypeDict.values() if issubclass(kind, kinds)]
    by_loader = {
        "ObjectNode": [
            *(*estimators, *splitters, *_REQUESTS),
            *(StandardScaler, scoring._Scorer),
        ],
        "FunctionNode": [*measures, *kernel_metrics().values()],
        "NdArrayNode": [np.ndarray, *scalars],
        # Types of the keys of a dict: not bool, since bool("False") is True. And of splits.
        "TypeNode": [str, int, float, *(set(scalars) - {np.bool_}), *splitters],
        "RandomStateNode": [np.random.RandomState],
        "RandomGeneratorNode": [np.random.Generator],
        "PartialNode": [partial],
        "DictNode": [dict],
        "ListNode": [list],
        "TupleNode": [tuple],
        "JsonNode": [str],
    }
    return frozenset(
        (loader, f"{item.__module__}.{item.__name__}")
        for loader, items in by_loader.items()
        for item in items
    )


def _skops() -> ModuleType:
    remedy = "models are saved and loaded by skops: pip install 'rankpursuit[skops]'"
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(remedy) from error
    # Before, a file could name any function of numpy.random as its bit generator, to be called.
    if parse_version(skops.__version__) < parse_version(_SKOPS):
        raise ImportError(f"skops {skops.__version__} is older than {_SKOPS}; {remedy}")
    return skops.io
