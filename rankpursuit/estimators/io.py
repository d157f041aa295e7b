"""Save and load fitted models with `skops`: no pickle, and only trusted types are loaded."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from rankpursuit.errors import ModelFileError, OutputError
from rankpursuit.writing import write_atomically

TRUSTED = ("rankpursuit.estimators.", "sklearn.metrics.", "sklearn.model_selection.")
"""Modules whose types a file may contain, in addition to the types that skops trusts."""


def save_model(model: Any, path: str | Path) -> None:
    """Write a fitted estimator to a file atomically; see `KernelEstimator.save`."""
    model = copy(model)
    vars(model).pop("_blocks", None)  # needed only by partial_fit
    skops = _skops()
    own = [name for name, value in model.get_params(deep=False).items() if _is_custom(value)]
    if own:
        raise ModelFileError(
            f"{path}: {own[0]} is a custom callable, which cannot be saved in a file; keep the "
            "model with joblib, see the guide"
        )
    try:
        write_atomically(Path(path), skops.dumps(model))
    except OutputError as error:
        raise ModelFileError(str(error)) from error


def _is_custom(value: Any) -> bool:
    """Return whether a parameter is, or contains, a function that cannot be saved."""
    if isinstance(value, list | tuple):
        return any(map(_is_custom, value))
    module = getattr(value, "__module__", None) or ""
    return isinstance(value, FunctionType) and not module.startswith(TRUSTED)


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
        found = skops.get_untrusted_types(data=content)
        others = [name for name in found if not name.startswith(TRUSTED)]
        model = None if others else skops.loads(content, trusted=found)
    except Exception as error:  # a damaged file may fail in any way
        raise ModelFileError(f"{path}: not a model, or damaged: {type(error).__name__}") from error
    if others:
        raise ModelFileError(f"{path}: holds {others[0]}, which no model of this package needs")
    if not type(model).__module__.startswith(TRUSTED[0]):
        raise ModelFileError(f"{path}: holds {type(model).__name__}, not a model of this package")
    return model


def _skops() -> ModuleType:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            "models are saved and loaded by skops: pip install 'rankpursuit[skops]'"
        ) from error
    return skops.io
