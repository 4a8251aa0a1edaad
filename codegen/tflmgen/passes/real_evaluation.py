"""Evaluates float operators in float64, to recognise functions by their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType, Op, Value
from tflmgen.kernels import axes, traits_of
from tflmgen.passes.def_use import Dataflow
from tflmgen.passes.fused_regions import Region

Array = NDArray[np.float64]
Function = Callable[..., Any]

ARITHMETIC: Mapping[str, Function] = {
    "ADD": np.add,
    "DIV": np.divide,
    "MUL": np.multiply,
    "SUB": np.subtract,
}
"""Binary operators with an attribute `activation`."""

ELEMENTS: Mapping[str, Function] = {
    "ABS": np.abs,
    "EXP": np.exp,
    "LOG": np.log,
    "LOGISTIC": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "NEG": np.negative,
    "POW": np.power,
    "RELU": lambda x: np.maximum(x, 0.0),
    "RELU6": lambda x: np.clip(x, 0.0, 6.0),
    "RELU_0_TO_1": lambda x: np.clip(x, 0.0, 1.0),
    "RSQRT": lambda x: 1.0 / np.sqrt(x),
    "SQRT": np.sqrt,
    "SQUARE": np.square,
    "SQUARED_DIFFERENCE": lambda x, y: np.square(x - y),
    "TANH": np.tanh,
}

REDUCTIONS: Mapping[str, Function] = {"MEAN": np.mean, "REDUCE_MAX": np.max, "SUM": np.sum}

ELEMENTWISE = frozenset({*ARITHMETIC, *ELEMENTS})


def is_real(op: Op) -> bool:
    """Whether all operands and results are floats of static shape."""
    numbers = [v.type for v in (*op.inputs, *op.outputs) if v is not None and v.type.dtype.is_float]
    return len(op.outputs) == 1 and bool(numbers) and all(t.dtype is DType.FLOAT32 and t.is_static for t in numbers)


def evaluate(region: Region, x: Array, flow: Dataflow) -> Array:
    """Result of a region for the source value `x`. Its operators: ELEMENTWISE, REDUCTIONS, views, BROADCAST_TO."""
    values: dict[Value, Array] = {region.source: x.reshape(region.source.type.max_shape)}
    with np.errstate(all="ignore"):
        for op in region.ops:
            values[op.outputs[0]] = _result(op, values, flow)
    return values[region.result]


def on_elements(region: Region, x: Array, flow: Dataflow) -> Array:
    """Results of a region of element-wise operators and scalar constants, a function of one real, at the points `x`."""
    values: dict[Value, Array] = {region.source: x}
    with np.errstate(all="ignore"):
        for op in region.ops:
            operands = [_scalar(v, values, flow) for v in op.inputs[: 1 if traits_of(op.operator).view else None]]
            values[op.outputs[0]] = operands[0] if traits_of(op.operator).view else _element(op, operands)
    return values[region.result]


def _scalar(value: Value | None, values: Mapping[Value, Array], flow: Dataflow) -> Array:
    assert value is not None
    return values[value] if value in values else np.array(flow.number(value), np.float64)


def _element(op: Op, operands: list[Array]) -> Array:
    if op.operator in ELEMENTS:
        return np.asarray(ELEMENTS[op.operator](*operands))
    low, high = op.attributes.activation.bounds
    return np.asarray(np.clip(ARITHMETIC[op.operator](*operands), low, high))


def _result(op: Op, values: Mapping[Value, Array], flow: Dataflow) -> Array:
    def operand(index: int) -> Array:
        value = op.inputs[index]
        assert value is not None
        return values[value] if value in values else np.asarray(flow.array(value)).astype(np.float64)

    shape = op.outputs[0].type.max_shape
    if traits_of(op.operator).view:
        return operand(0).reshape(shape)
    if op.operator == "BROADCAST_TO":
        return np.broadcast_to(operand(0), shape)
    if op.operator in REDUCTIONS:
        reduced_axes = tuple(sorted(axes(flow.instance(op)) or ()))
        return np.asarray(REDUCTIONS[op.operator](operand(0), axis=reduced_axes)).reshape(shape)
    return _element(op, [operand(i) for i in range(len(op.inputs))])
