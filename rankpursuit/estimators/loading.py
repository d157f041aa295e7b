"""Reading fitted models back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import rankpursuit
from rankpursuit.errors import ModelFileError
from rankpursuit.estimators._base import KernelEstimator
from rankpursuit.estimators.model_file import read_model


def load_model(path: str | Path) -> Any:
    """Read a model that `save` of an estimator wrote.

    Parameters
    ----------
    path : path

    Returns
    -------
    estimator
        Of the class that was saved. It predicts as the saved one did; to see more of the fit, or to
        predict with fewer basis functions, keep the estimator itself.

    Raises
    ------
    ModelFileError
        If there is no such file, if it is none of a model, is damaged, or was written by a newer
        version.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> from rankpursuit import RankingPursuit, load_model
    >>> X = np.linspace(0.0, 3.0, 31)[:, None]
    >>> model = RankingPursuit(n_basis=4, fitting="backfit").fit(X, np.sin(X[:, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "sine.model"
    ...     model.save(path)
    ...     again = load_model(path)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    model = read_model(path)
    cls = getattr(rankpursuit, str(model.description.get("class")), None)
    if not (isinstance(cls, type) and issubclass(cls, KernelEstimator)):
        raise ModelFileError(f"{path}: holds a model of a class that this version does not have")
    try:
        parameters = model.description["parameters"]
        known = set(cls._get_param_names())
        estimator = cls(**{key: value for key, value in parameters.items() if key in known})
        estimator.n_features_in_ = model.description["n_features_in"]
        if model.description["feature_names_in"] is not None:
            estimator.feature_names_in_ = np.array(model.description["feature_names_in"], object)
        estimator.n_groups_ = None
        estimator._recall(model)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path}: holds no complete model: lacks {error}") from error
    return estimator
