"""Evaluates element-wise float operators in float64."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.graph import Op, Value
from tflmgen.kernels import OPERATORS, traits_of
from tflmgen.kernels.numeric import Real, Reals
from tflmgen.passes.def_use import Dataflow
from tflmgen.passes.fused_regions import FusedRegion


def real_function(name: str) -> Real | None:
    """The function of real numbers that an operator declares; None where it declares none."""
    row = OPERATORS.get(name)
    return None if row is None else row.real


def is_element_function(op: Op) -> bool:
    """Whether it computes each element from those at its place, by a function that is known."""
    return traits_of(op.operator).elementwise and real_function(op.operator) is not None


def is_real(op: Op) -> bool:
    """Whether all operands and results are floats of static shape."""
    numbers = [v.type for v in (*op.inputs, *op.outputs) if v is not None and v.type.dtype.is_float]
    return len(op.outputs) == 1 and bool(numbers) and all(t.dtype is DType.FLOAT32 and t.is_static for t in numbers)


def on_elements(region: FusedRegion, x: Reals, flow: Dataflow) -> Reals:
    """Results of a region of element-wise operators and scalar constants, a function of one real, at the points `x`."""
    values: dict[Value, Reals] = {region.source: x}
    with np.errstate(all="ignore"):
        for op in region.ops:
            if traits_of(op.operator).view:
                values[op.outputs[0]] = _scalar(op.inputs[0], values, flow)
            else:
                values[op.outputs[0]] = _computed(op, [_scalar(v, values, flow) for v in op.inputs], flow)
    return values[region.result]


def _scalar(value: Value | None, values: Mapping[Value, Reals], flow: Dataflow) -> Reals:
    assert value is not None
    return values[value] if value in values else np.array(flow.number(value), np.float64)


def _computed(op: Op, operands: list[Reals], flow: Dataflow) -> Reals:
    function = real_function(op.operator)
    assert function is not None
    return function(flow.instance(op), operands)
