"""Attack on the estimators: hostile parameters and data, and what must hold of any model.

A fit must be refused with a message that names a parameter or an input, or lead to a model with
finite predictions, which are those of its points one by one and of the model saved and loaded.
"""

from __future__ import annotations

import inspect
import pickle
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import kernel_metrics
from sklearn.model_selection import KFold

import rankpursuit
from fuzzing import hostile_arrays as arrays
from fuzzing.hostile_arrays import Random, magnitude, one_of

CLASSES = tuple(
    cls
    for name in sorted(rankpursuit.__all__)
    if inspect.isclass(cls := getattr(rankpursuit, name)) and hasattr(cls, "fit")
)
NAMES = re.compile(
    r"\b(X|y|groups|pairs|weights|samples?|features?|feature_names|fitted|Input|Sparse|sparse|Complex|"
    r"array|string to float|shape|target|kernel|positional argument|"
    + "|".join(sorted({name for cls in CLASSES for name in inspect.signature(cls).parameters}))
    + r")\b"
)
"""What a message may name: a parameter, an argument, or what scikit-learn says of those."""


class Wrong(Exception):
    """Something that must not happen."""


def attack(seed: int, folder: Path) -> str | None:
    """Fit and use one random estimator.

    Parameters
    ----------
    seed : int
        Says all of the case.
    folder : Path
        Gets the file of the model.

    Returns
    -------
    str or None
        What was wrong, or None.
    """
    rng = np.random.default_rng(seed)
    told = "no estimator yet"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            model, kind = _estimator(rng)
            told = f"{model!r} on {kind} data"
            _use(rng, model, kind, folder, caught)
        except (np.linalg.LinAlgError, Wrong, RuntimeWarning) as fault:
            return f"{type(fault).__name__}: {fault}; {told}"
        except (ValueError, TypeError, NotFittedError) as refusal:
            return _fault_of_refusal(refusal, told, kind)
        except Exception as fault:
            return f"{type(fault).__name__}: {fault}; {told}"
    return None


def _fault_of_refusal(refusal: Exception, told: str, kind: str) -> str | None:
    message = str(refusal).partition("\n")[0]
    if kind == "plain":
        return f"refused without need: {message}; {told}"
    if not NAMES.search(message) or len(message) > 400:
        return f"a message that names nothing, {type(refusal).__name__}: {message!r}; {told}"
    return None


def _use(
    rng: Random,
    model: Any,
    kind: str,
    folder: Path,
    caught: list[warnings.WarningMessage],
) -> None:
    """Fit a model and use it in every way."""
    with np.errstate(all="ignore"):
        X, y, arguments = _training_data(rng, model, kind)
    before = pickle.dumps((X, y))
    try:
        model.fit(X, y, **arguments)
    except ValueError:
        if hasattr(model, "coef_") and kind == "plain":
            raise Wrong("a refused fit leaves a model that looks fitted") from None
        raise
    _require_honest_gap(model, caught)
    predictions = _finite(model.predict(X), "predict")
    if len(predictions) != np.shape(predictions)[0] or predictions.ndim != 1:
        raise Wrong(f"predictions of the shape {predictions.shape}")
    for name in ("coef_", "staged_coef_", "cost_", "X_basis_"):
        _require_finite_attribute(model, name)
    _require_same(model, pickle.loads(pickle.dumps(model)), X, "after pickling")
    if not callable(model.kernel):
        model.save(folder / "model")
        _require_same(model, rankpursuit.load_model(folder / "model"), X, "from its file")
    _require_rows(rng, model, X, predictions)
    if hasattr(model, "staged_predict"):
        _require_stages(model, X, predictions)
    clone(model).set_params(**model.get_params())
    if y is not None:
        with np.errstate(over="ignore"):  # in scikit-learn's R2 of huge scores
            score = model.score(X, y)
        if not isinstance(score, float) or score == np.inf:
            raise Wrong(f"score {score!r}")
    if pickle.dumps((X, y)) != before:
        raise Wrong("the data of the caller were changed")
    far = 1.0 if kind == "plain" else magnitude(rng)
    new = far * rng.normal(size=(int(rng.integers(1, 5)), model.n_features_in_))
    _finite(model.predict(new), "predict at new points")


def _estimator(rng: Random) -> tuple[Any, str]:
    """Make an estimator, and say whether its data are to be plain or hostile."""
    cls = CLASSES[rng.integers(len(CLASSES))]
    if rng.random() < 0.1:
        return cls(), "plain"
    names = list(inspect.signature(cls).parameters)
    chosen = [name for name in names if rng.random() < 0.4]
    values = {name: VALUES[name](rng) for name in chosen}
    if rng.random() < 0.08:
        values[one_of(rng, *names)] = one_of(
            rng, None, -1, 0, np.nan, np.inf, "x", 10**400, True, [], np.zeros((40, 3)), 1e-320, {}
        )
    if not callable(values.get("kernel")) and rng.random() < 0.9:
        values.pop("kernel_params", None)
    if isinstance(values.get("views"), list):
        values["n_views"] = len(values["views"])
    return cls(**values), "hostile"


def _training_data(rng: Random, model: Any, kind: str) -> tuple[Any, Any, dict[str, Any]]:
    """Points, scores, and other arguments of `fit`."""
    if kind == "plain":
        X = rng.normal(size=(20, 3))
        return X, X[:, 0] + 0.1 * rng.normal(size=20), {}
    n_points = int(one_of(rng, 1, 2, 3, 5, 8, 15, 30, 30))
    if isinstance(model.kernel, str) and model.kernel == "precomputed" and rng.random() < 0.9:
        X = arrays.kernel_matrix(rng, n_points)
    else:
        X = arrays.features(rng, n_points, int(one_of(rng, 1, 2, 4)))
        if "chi2" in str(model.kernel) and rng.random() < 0.9:
            X = np.abs(X)
    y = arrays.scores(rng, n_points)
    if not type(model).__name__.startswith("SemiSupervised") and rng.random() < 0.8:
        y = np.nan_to_num(y, posinf=1.0)
    if rng.random() < 0.5:
        X, y = arrays.contained(rng, X), arrays.contained_scores(rng, y)
    arguments = {"groups": groups} if (groups := arrays.labels(rng, n_points)) is not None else {}
    if rng.random() < 0.3 and "pairs" in inspect.signature(model.fit).parameters:
        arguments |= arrays.comparisons(rng, n_points)
        if rng.random() < 0.8:
            arguments.pop("groups", None)
            y = None
    return X, y, arguments


def _finite(values: Any, what: str) -> np.ndarray:
    if not (isinstance(values, np.ndarray) and values.dtype in (np.float64, np.float32)):
        raise Wrong(f"{what} gives {getattr(values, 'dtype', type(values))}")
    if not np.isfinite(values).all():
        raise Wrong(f"{what} gives {values[~np.isfinite(values)][0]}")
    return values


def _require_finite_attribute(model: Any, name: str) -> None:
    value = getattr(model, name, None)
    for part in value if isinstance(value, list) else [value]:
        if part is not None:
            _finite(part, name)
            if not part.flags["C_CONTIGUOUS"]:
                raise Wrong(f"{name} is not contiguous")


def _require_honest_gap(model: Any, caught: list[warnings.WarningMessage]) -> None:
    gap = getattr(model, "duality_gap_", 0.0)
    warned = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    if not np.isfinite(gap) or (hasattr(model, "tol") and abs(gap) > model.tol and not warned):
        raise Wrong(f"a gap of {gap} without a warning")


def _require_same(model: Any, loaded: Any, X: Any, when: str) -> None:
    if model.predict(X).tobytes() != loaded.predict(X).tobytes():
        raise Wrong(f"another prediction {when}")


def _require_rows(rng: Random, model: Any, X: Any, predictions: np.ndarray) -> None:
    """Check that the prediction of one row is that of the row in the batch, but for rounding."""
    row = int(rng.integers(len(predictions)))
    one = X.iloc[row : row + 1] if hasattr(X, "iloc") else X[row : row + 1]
    alone = _finite(model.predict(one), "predict of one row")
    tolerance = _rounding(model, X)
    if not abs(float(alone[0]) - float(predictions[row])) <= tolerance:
        raise Wrong(f"row {row} alone has {alone[0]!r}, in the batch {predictions[row]!r}")


def _require_stages(model: Any, X: Any, predictions: np.ndarray) -> None:
    staged = [_finite(values, "staged_predict") for values in model.staged_predict(X)]
    if staged and not np.abs(staged[-1] - predictions).max() <= _rounding(model, X):
        raise Wrong("the last stage is not the prediction")


def _rounding(model: Any, X: Any) -> float:
    """Return the rounding error that predictions may have: a small share of the sum of the terms.

    Exponents of kernels, which the error of a distance enters, are as large as gamma times the
    squares of the points; those of powers as the degree.
    """
    with np.errstate(all="ignore"):
        points = np.abs(np.asarray(X, dtype=np.float64)).max()
        parts = model.coef_ if isinstance(model.coef_, list) else [model.coef_]
        coefficients = max(np.abs(part).sum() for part in parts)
        fitted = getattr(model, "best_estimator_", model)
        if (scaler := getattr(model, "scaler_", None)) is not None:
            points = np.abs(scaler.transform(np.asarray(X, dtype=np.float64))).max()
        gammas = fitted.gamma_ if isinstance(fitted.gamma_, list) else [fitted.gamma_]
        gamma = max([gamma for gamma in gammas if gamma is not None], default=1.0)
        products = model.n_features_in_ * points**2
        if isinstance(model.kernel, str) and model.kernel == "precomputed":
            products = points
        powers = (gamma * products + abs(model.coef0)) ** (
            model.degree if "poly" in _used(model) else 1
        )
        size = coefficients * max(1.0, products, powers if "poly" in _used(model) else 1.0)
        single = model.predict(X).dtype == np.float32
        digits, least = (1e-6, 1e-37) if single else (1e-12, 1e-307)
        share = digits * (1.0 + model.degree + gamma * max(products, points) + abs(model.coef0))
        return float(np.nan_to_num(size * share + least, nan=np.inf, posinf=np.inf))


def _used(model: Any) -> str:
    return f"{model.kernel} {getattr(model, 'views', '')}"


def inner_products(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return the linear kernel as a function."""
    return X @ Y.T


def no_values(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return values that are not finite."""
    return np.full((len(X), len(Y)), np.nan)


def one_sided(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return values that are not symmetric."""
    return np.subtract.outer(X[:, 0], Y[:, 0])


def flat(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return values of a wrong shape."""
    return np.ones(len(X))


def _kernel(rng: Random) -> Any:
    functions = (inner_products, no_values, one_sided, flat)
    if rng.random() < 0.15:
        return one_of(rng, *functions)
    return one_of(rng, *sorted(kernel_metrics()), "rbf", "rbf", "precomputed", "precomputed")


def _views(rng: Random) -> Any:
    kernels = [one_of(rng, "rbf", "linear", "poly", "cosine") for _ in range(rng.integers(1, 5))]
    return one_of(rng, "points", "loss", "features", kernels)


def _positive(rng: Random) -> float:
    return float(rng.uniform(0.1, 3.0)) if rng.random() < 0.5 else magnitude(rng)


def _group_weight(rng: Random) -> Any:
    """Return a rule, or a mapping: for all labels, as numbers or words, for one, or for none."""
    of_all = {label: _positive(rng) for label in range(4)}
    words = {str(label): 10.0 ** rng.integers(-3, 4) for label in of_all}
    return one_of(
        rng, "pairs", "equal", of_all, of_all | words, {0: _positive(rng)}, {0: "heavy"}, {}
    )


def _several(rng: Random) -> list[float]:
    return [_positive(rng) for _ in range(rng.integers(1, 4))]


def _number_of_basis(rng: Random) -> Any:
    return one_of(rng, 1, 3, 7, 100, 10**12, 1.0, 0.01, 1e-300, np.int8(5), None, [1, 3], [10**12])


VALUES: dict[str, Callable[[Random], Any]] = {
    "kernel": _kernel,
    "gamma": lambda rng: one_of(rng, None, "scale", _positive(rng), _positive(rng)),
    "degree": lambda rng: one_of(rng, 1, 2, 3, 5, 50, 1000),
    "coef0": lambda rng: one_of(rng, 0.0, 1.0, -2.0, magnitude(rng), -magnitude(rng)),
    "kernel_params": lambda rng: one_of(rng, None, None, {}),
    "alpha": _positive,
    "C": _positive,
    "nu": lambda rng: one_of(rng, 0.0, _positive(rng)),
    "ridge": lambda rng: one_of(rng, 0.0, _positive(rng)),
    "group_weight": _group_weight,
    "tol": lambda rng: one_of(rng, 1e-3, 1e-8, 1e-300, 1e300, 0.5),
    "beta": lambda rng: one_of(rng, 0.0, 0, 1, 1.0, 0.5, 1e-300, 1.0 - 1e-16),
    "loss": lambda rng: one_of(rng, "hinge", "squared_hinge"),
    "n_basis": _number_of_basis,
    "fitting": lambda rng: one_of(rng, "basic", "backfit", "prefit"),
    "repeat": lambda rng: bool(rng.random() < 0.3),
    "n_candidates": lambda rng: one_of(rng, None, 1, 2, 5, 10**12),
    "random_state": lambda rng: one_of(rng, 0, 1, 2**32 - 1, None, np.random.default_rng(0)),
    "n_views": lambda rng: one_of(rng, 1, 2, 2, 2, 3, 3, 4, 100_000, 10**12),
    "views": _views,
    "shared_basis": lambda rng: bool(rng.random() < 0.3),
    "agreement": lambda rng: one_of(rng, "cumulative", "incremental"),
    "alphas": _several,
    "gammas": lambda rng: one_of(rng, None, _several(rng)),
    "ridges": lambda rng: [0.0, *_several(rng)],
    "nus": _several,
    "betas": lambda rng: one_of(rng, [0.0, 1.0], [0.5], [1e-300]),
    "scale": lambda rng: bool(rng.random() < 0.5),
    "cv": lambda rng: one_of(rng, 2, 3, 5, 40, KFold(2), [([0, 1], [2])], "x"),
    "scoring": lambda rng: one_of(
        rng, "pairwise_accuracy", "ndcg@3", "map", "kendall", "r2", "neg_mean_squared_error", "x"
    ),
    "selection": lambda rng: one_of(rng, "best", "sparsest"),
}
