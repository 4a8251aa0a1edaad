"""Rules by which float operators become others, which TFLite Micro has integer kernels of, or constants."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.model_graph import Rule, SubGraphRewrite, constant_values
from tflmgen.frontend.tflite import FileOperator
from tflmgen.ir import DType, contents
from tflmgen.quantize.element_types import Range
from tflmgen.quantize.integer_forms import bias_operand


def constant_dequantized(graph: SubGraphRewrite, op: FileOperator) -> bool:
    """DEQUANTIZE of a constant is a constant."""
    source = graph.tensors[op.inputs[0]] if op.name == "DEQUANTIZE" else None
    if source is None or source.data is None or source.blocks is not None:
        return False
    result = graph.tensors[op.outputs[0]]
    plain = replace(result, quantization=None, dtype=DType.FLOAT32, type_name="float32", blocks=None)
    graph.tensors[result.index] = replace(plain, data=contents(constant_values(source), DType.FLOAT32))
    return True


def constant_moved(graph: SubGraphRewrite, op: FileOperator) -> bool:
    """TRANSPOSE and RESHAPE of a constant is a constant.

    Convolutions in branches have them: TensorFlow captures a filter in its own layout, and the converter turns it.
    """
    if op.name not in ("TRANSPOSE", "RESHAPE") or any(graph.tensors[i].data is None for i in op.inputs if i >= 0):
        return False
    source, output = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    if source.dtype is not DType.FLOAT32 or output.dtype is not DType.FLOAT32:
        return False
    values = constant_values(source).reshape(source.shape)
    if op.name == "TRANSPOSE":
        values = values.transpose(constant_values(graph.tensors[op.inputs[1]]).reshape(-1).tolist())
    if values.size != math.prod(output.shape):
        return False
    graph.fill(output.index, values)
    return True


def sum_chain(graph: SubGraphRewrite, op: FileOperator) -> bool:
    """ADD_N as ADDs, one after the other, which computes the same sums in the same order.

    TFLite Micro's int8 kernel of ADD_N is right where the zero point is 0 only, and wants one scale for all operands.
    """
    if op.name != "ADD_N" or len(op.inputs) < 2 or not _gives_floats(graph, op):
        return False
    result, total = graph.tensors[op.outputs[0]], op.inputs[0]
    for place, operand in enumerate(op.inputs[1:-1], 2):
        name = f"{result.name}_first_{place}"
        partial = graph.value(name, result.shape)
        graph.tensors[partial] = replace(graph.tensors[partial], shape_signature=result.shape_signature)
        graph.add("ADD", (total, operand), [partial])
        total = partial
    graph.add("ADD", (total, op.inputs[-1]), op.outputs)
    return True


def flat_bias(graph: SubGraphRewrite, op: FileOperator) -> bool:
    """A constant bias gets rank 1, in which it has a scale per channel; converters write [1, N], too."""
    place = bias_operand(op)
    bias = None if place is None else graph.tensors[op.inputs[place]]
    if place is None or bias is None or bias.data is None or len(bias.shape) == 1:
        return False
    flat = graph.add_tensor(bias, shape=(math.prod(bias.shape),), shape_signature=None)
    graph.operators.append(replace(op, inputs=(*op.inputs[:place], flat, *op.inputs[place + 1 :])))
    return True


def _negation(graph: SubGraphRewrite, op: FileOperator) -> bool:
    """NEG as a difference to 0."""
    graph.add("SUB", [graph.constant("zero", np.float32(0), DType.FLOAT32), *op.inputs], op.outputs)
    return True


def _square(graph: SubGraphRewrite, op: FileOperator) -> bool:
    """SQUARE as a product."""
    graph.add("MUL", [op.inputs[0], op.inputs[0]], op.outputs)
    return True


def _quotient(graph: SubGraphRewrite, op: FileOperator) -> bool:
    """DIV by a constant as a product with its reciprocals, where all of them are normal floats."""
    divisor = graph.tensors[op.inputs[1]]
    if divisor.data is None or divisor.dtype is not DType.FLOAT32:
        return False
    with np.errstate(divide="ignore", over="ignore"):
        factors = np.float32(1) / constant_values(divisor)
    if not (np.isfinite(factors) & (np.abs(factors) >= np.finfo(np.float32).tiny)).all():
        return False
    factor = graph.add_tensor(divisor, data=contents(factors, DType.FLOAT32))
    activation = (op.options or {})["fused_activation_function"]
    graph.add("MUL", [op.inputs[0], factor], op.outputs, {"fused_activation_function": activation})
    return True


def _choice(graph: SubGraphRewrite, op: FileOperator) -> bool:
    """SELECT as SELECT_V2, where its condition is no vector that chooses among rows."""
    if graph.tensors[op.inputs[0]].shape not in ((), graph.tensors[op.outputs[0]].shape):
        return False
    graph.add("SELECT_V2", op.inputs, op.outputs)
    return True


def _matrix_product(graph: SubGraphRewrite, op: FileOperator) -> bool:
    """BATCH_MATMUL with a constant right matrix as FULLY_CONNECTED, which has a scale for each of its columns."""
    options, right = op.options or {}, graph.tensors[op.inputs[1]]
    is_plain = right.data is not None and right.dtype is DType.FLOAT32 and not options.get("adj_x", False)
    if not is_plain or len(right.shape) < 2 or math.prod(right.shape[:-2]) != 1:
        return False
    matrix: NDArray[np.float32] = constant_values(right).reshape(right.shape[-2:])
    weights = np.ascontiguousarray(matrix if options.get("adj_y", False) else matrix.T)
    data = contents(weights, DType.FLOAT32)
    own = graph.add_tensor(right, shape=weights.shape, shape_signature=None, data=data)
    graph.add("FULLY_CONNECTED", [op.inputs[0], own, -1], op.outputs, {"keep_num_dims": True})
    return True


_STAND_INS: Mapping[str, Rule] = {
    "NEG": _negation,
    "SQUARE": _square,
    "DIV": _quotient,
    "SELECT": _choice,
    "BATCH_MATMUL": _matrix_product,
}


def stand_in(graph: SubGraphRewrite, op: FileOperator) -> bool:
    """Operators without a kernel in int8, or with a poorer one, become others."""
    rule = _STAND_INS.get(op.name)
    return rule is not None and _gives_floats(graph, op) and rule(graph, op)


def _gives_floats(graph: SubGraphRewrite, op: FileOperator) -> bool:
    return bool(op.outputs) and graph.tensors[op.outputs[0]].dtype is DType.FLOAT32


def add_clip(graph: SubGraphRewrite, source: int, result: int, ends: Range) -> None:
    """Adds MAXIMUM and MINIMUM, whose result has the range beside it."""
    own = replace(graph.tensors[source], recorded_range=None)
    name = graph.tensors[result].name
    graph.tensors[result] = replace(own, index=result, name=name, recorded_range=ends)
    above = graph.add_tensor(own, name=f"{name}_above")
    for kind, operand, end, output in (("MAXIMUM", source, ends[0], above), ("MINIMUM", above, ends[1], result)):
        graph.add(kind, [operand, graph.constant(f"{name}_end", end, DType.FLOAT32)], [output])
