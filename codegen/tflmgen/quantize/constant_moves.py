"""Evaluates TRANSPOSE and RESHAPE of constants, so that weights which converters transpose at run time are constants.

Convolutions in branches have them: TensorFlow captures a filter in its own layout, and the converter turns it around.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend import Model, Operator, SubGraph, Tensor, constant_values
from tflmgen.ir import DType


def with_moved_constants(model: Model) -> Model:
    """The Model without operators that give constants of float32 another order or shape."""
    return replace(model, subgraphs=tuple(map(_evaluated, model.subgraphs)))


def _evaluated(graph: SubGraph) -> SubGraph:
    tensors, operators = list(graph.tensors), []
    for op in graph.operators:
        values = _values(op, tensors)
        if values is None:
            operators.append(op)
        else:
            place = op.outputs[0]
            tensors[place] = replace(tensors[place], data=np.ascontiguousarray(values, "<f4").tobytes())
    return replace(graph, tensors=tuple(tensors), operators=tuple(operators))


def _values(op: Operator, tensors: list[Tensor]) -> NDArray[np.float32] | None:
    """Contents of the operator's output; None if it is another operator or its operands are no constants."""
    if op.name not in ("TRANSPOSE", "RESHAPE") or any(tensors[i].data is None for i in op.inputs if i >= 0):
        return None
    source, output = tensors[op.inputs[0]], tensors[op.outputs[0]]
    if source.dtype is not DType.FLOAT32 or output.dtype is not DType.FLOAT32:
        return None
    values = constant_values(source).reshape(source.shape)
    if op.name == "TRANSPOSE":
        order = np.frombuffer(tensors[op.inputs[1]].data or b"", "<i4")
        values = values.transpose([int(axis) for axis in order])
    return values if values.size == int(np.prod(output.shape)) else None
