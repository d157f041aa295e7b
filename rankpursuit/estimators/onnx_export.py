"""Export of fitted models to ONNX, alone or at the end of a scikit-learn pipeline."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

import rankpursuit
from rankpursuit.errors import ModelFileError
from rankpursuit.estimators._base import KernelEstimator

_OPSET = 18


def to_onnx(model: Any, path: str | Path | None = None) -> Any:
    """Export a fitted model to ONNX; its runtime then gives the same scores.

    Needs ``pip install 'rankpursuit[onnx]'``.

    Parameters
    ----------
    model : estimator or Pipeline
        An estimator of this package, or a scikit-learn pipeline that ends with one, with any
        kernel but those of histograms, "precomputed" and functions of one's own.
    path : path, optional
        File to write it to.

    Returns
    -------
    onnx.ModelProto
        With one input ``X``, of doubles and the shape (m, n_features), and the output
        ``variable`` of the shape (m, 1).

    Raises
    ------
    ModelFileError
        If the packages are not installed, the kernel has no form in ONNX, or the file cannot be
        written.
    """
    try:
        from skl2onnx import convert_sklearn
        from skl2onnx.common.data_types import DoubleTensorType
    except ImportError as error:
        raise ModelFileError("ONNX needs skl2onnx: pip install 'rankpursuit[onnx]'") from error
    check_is_fitted(model)
    _register()
    types = [("X", DoubleTensorType([None, model.n_features_in_]))]
    exported = convert_sklearn(model, initial_types=types, target_opset=_OPSET)
    if path is not None:
        try:
            Path(path).write_bytes(exported.SerializeToString())
        except OSError as error:
            raise ModelFileError(f"{path}: cannot be written: {error.strerror or error}") from error
    return exported


@cache
def _register() -> None:
    """Tell skl2onnx of all estimators, once."""
    from skl2onnx import update_registered_converter
    from skl2onnx.common.data_types import DoubleTensorType

    def shape(operator: Any) -> None:
        operator.outputs[0].type = DoubleTensorType([None, 1])

    for name in rankpursuit.__all__:
        cls = getattr(rankpursuit, name)
        if isinstance(cls, type) and issubclass(cls, KernelEstimator):
            update_registered_converter(cls, f"Rankpursuit{name}", shape, _convert)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the graph of a model: the kernel expansion, or the mean of those of all views."""
    model, graph = operator.raw_operator, _Graph(scope, container)
    functions = model.expansions()
    scaled = _scaled(graph, operator.inputs[0].full_name, getattr(model, "scaler_", None))
    result = None
    for function in functions:
        X = scaled
        if function.features is not None:
            X = graph.node("Gather", X, graph.whole(function.features), axis=1)
        kernel = _KERNELS.get(function.kernel)
        if kernel is None or function.points is None:
            raise ModelFileError(f"the kernel {function.kernel!r} has no form in ONNX")
        values = kernel(graph, X, function)
        coef = graph.number(function.coef[:, None] / len(functions))
        term = graph.node("MatMul", values, coef)
        result = term if result is None else graph.node("Add", result, term)
    graph.node("Identity", str(result), output=operator.outputs[0].full_name)


class _Graph:
    """Nodes and constants, with names that skl2onnx gives."""

    def __init__(self, scope: Any, container: Any) -> None:
        self._scope, self._container = scope, container

    def node(self, kind: str, *inputs: str, output: str | None = None, **options: Any) -> str:
        """Add a node; return the name of its output."""
        output = output or self._scope.get_unique_variable_name(kind.lower())
        name = self._scope.get_unique_operator_name(kind)
        version = options.pop("op_version", _OPSET)
        self._container.add_node(
            kind, list(inputs), [output], name=name, op_version=version, **options
        )
        return str(output)

    def number(self, values: Any) -> str:
        """Add a constant of doubles."""
        return self._constant(np.asarray(values, dtype=np.float64))

    def whole(self, values: Any) -> str:
        """Add a constant of whole numbers."""
        return self._constant(np.asarray(values, dtype=np.int64))

    def _constant(self, values: NDArray[Any]) -> str:
        from onnx import TensorProto

        kind = TensorProto.DOUBLE if values.dtype == np.float64 else TensorProto.INT64
        name = self._scope.get_unique_variable_name("constant")
        self._container.add_initializer(name, kind, list(values.shape), values.ravel().tolist())
        return str(name)


def _scaled(graph: _Graph, X: str, scaler: Any) -> str:
    """Scale the features as a StandardScaler does, if there is one."""
    if scaler is None:
        return X
    if scaler.with_mean:
        X = graph.node("Sub", X, graph.number(scaler.mean_[None]))
    return graph.node("Div", X, graph.number(scaler.scale_[None]))


def _products(graph: _Graph, X: str, function: Any) -> str:
    return graph.node("MatMul", X, graph.number(function.points.T))


def _rbf(graph: _Graph, X: str, function: Any) -> str:
    """``exp(-gamma |x - y|^2)`` of points seen from the middle of the basis points."""
    centre = np.round(function.points.mean(axis=0))
    points = function.points - centre
    X = graph.node("Sub", X, graph.number(centre[None]))
    own = graph.node("ReduceSumSquare", X, graph.whole([1]), keepdims=1)
    cross = graph.node("MatMul", X, graph.number(-2.0 * points.T))
    squared = graph.node("Add", own, cross)
    squared = graph.node("Add", squared, graph.number(np.square(points).sum(axis=1)[None]))
    squared = graph.node("Max", squared, graph.number([0.0]))
    return graph.node("Exp", graph.node("Mul", squared, graph.number([-function.gamma])))


def _laplacian(graph: _Graph, X: str, function: Any) -> str:
    wide = graph.node("Unsqueeze", X, graph.whole([1]))
    apart = graph.node("Abs", graph.node("Sub", wide, graph.number(function.points[None])))
    distance = graph.node("ReduceSum", apart, graph.whole([2]), keepdims=0)
    return graph.node("Exp", graph.node("Mul", distance, graph.number([-function.gamma])))


def _shifted(graph: _Graph, X: str, function: Any) -> str:
    scaled = graph.node("Mul", _products(graph, X, function), graph.number([function.gamma]))
    return graph.node("Add", scaled, graph.number([function.coef0]))


def _poly(graph: _Graph, X: str, function: Any) -> str:
    return graph.node("Pow", _shifted(graph, X, function), graph.number([function.degree]))


def _sigmoid(graph: _Graph, X: str, function: Any) -> str:
    return graph.node("Tanh", _shifted(graph, X, function))


def _cosine(graph: _Graph, X: str, function: Any) -> str:
    lengths = np.linalg.norm(function.points, axis=1, keepdims=True)
    unit = function.points / np.where(lengths > 0.0, lengths, 1.0)
    own = graph.node("Sqrt", graph.node("ReduceSumSquare", X, graph.whole([1]), keepdims=1))
    tiny = graph.number([np.finfo(np.float64).tiny])
    scaled = graph.node("Div", X, graph.node("Max", own, tiny))
    return graph.node("MatMul", scaled, graph.number(unit.T))


_KERNELS: dict[str, Callable[[_Graph, str, Any], str]] = {
    "rbf": _rbf,
    "linear": _products,
    "poly": _poly,
    "polynomial": _poly,
    "sigmoid": _sigmoid,
    "laplacian": _laplacian,
    "cosine": _cosine,
}
