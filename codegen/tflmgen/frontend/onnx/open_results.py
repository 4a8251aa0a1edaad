"""Inputs for which ONNX or PyTorch defines no result.

Both leave open two stores to one place, and powers of integers beyond their type; PyTorch, which of equal elements
topk() and sort() take first, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

Node = onnx.NodeProto
Arrays = Sequence[Any]
"""The operands of a node."""


def operands_to_look_at(model: onnx.ModelProto, is_torch: bool = False) -> list[str]:
    """Names of values on which it depends whether results of the graph's operators are defined.

    is_torch  the model is a PyTorch program, whose results PyTorch defines
    """
    checks = _checks(is_torch)
    names = (name for node in model.graph.node if node.op_type in checks for name in node.input if name)
    return list(dict.fromkeys(names))


def has_open_results(model: onnx.ModelProto, values: Mapping[str, Any], is_torch: bool = False) -> bool:
    """Whether ONNX or PyTorch leaves the result of one of the graph's operators open for these values."""
    checks = _checks(is_torch)
    return any(
        checks[node.op_type](node, [values[name] for name in node.input if name])
        for node in model.graph.node
        if node.op_type in checks
    )


def _attribute(node: Node, name: str, default: Any) -> Any:
    return next((onnx.helper.get_attribute_value(entry) for entry in node.attribute if entry.name == name), default)


def _stores_elements_twice(node: Node, operands: Arrays) -> bool:
    data, indices = operands[0], operands[1]
    axis = _attribute(node, "axis", 0) % data.ndim
    places = list(np.indices(indices.shape))
    places[axis] = indices % data.shape[axis]
    return _is_overwritten(node, np.stack(places).reshape(data.ndim, -1).T)


def _stores_rows_twice(node: Node, operands: Arrays) -> bool:
    data, indices = operands[0], operands[1]
    depth = indices.shape[-1]
    return _is_overwritten(node, indices.reshape(-1, depth) % np.array(data.shape[:depth]))


def _stores_maxima_twice(node: Node, operands: Arrays) -> bool:
    return _is_overwritten(node, operands[1].reshape(-1, 1))


def _is_overwritten(node: Node, places: Any) -> bool:
    return _attribute(node, "reduction", b"none") == b"none" and len(np.unique(places, axis=0)) < len(places)


def _leaves_integers(_: Node, operands: Arrays) -> bool:
    base, exponent = operands
    if base.dtype.kind not in "iu":
        return False
    with np.errstate(all="ignore"):
        power = np.power(base.astype(np.float64), exponent.astype(np.float64))
    limits = np.iinfo(base.dtype)
    return bool((exponent < 0).any() or not ((power >= limits.min) & (power <= limits.max)).all())


def _selects_equal_elements(node: Node, operands: Arrays) -> bool:
    axis = _attribute(node, "axis", -1)
    ordered = np.sort(operands[0], axis)
    return bool((np.diff(ordered, axis=axis) == 0).any())


def _checks(is_torch: bool) -> Mapping[str, Callable[[Node, Arrays], bool]]:
    return {**_CHECKS, "TopK": _selects_equal_elements} if is_torch else _CHECKS


_CHECKS: Mapping[str, Callable[[Node, Arrays], bool]] = {
    "Scatter": _stores_elements_twice,
    "ScatterElements": _stores_elements_twice,
    "ScatterND": _stores_rows_twice,
    "MaxUnpool": _stores_maxima_twice,
    "Pow": _leaves_integers,
}
