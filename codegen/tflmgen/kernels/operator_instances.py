"""Operators of a graph in the form that the operator table uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tflmgen.ir import Op, OperatorInstance, TensorType, Value, constant_array


def instance_of(
    inputs: Sequence[Value | None], outputs: Sequence[TensorType], attributes: Any, constants: Mapping[str, bytes]
) -> OperatorInstance:
    """Types, constants and attributes of an operator with these operands, without the graph."""
    return OperatorInstance(
        tuple(v.type if v is not None else None for v in inputs),
        tuple(outputs),
        tuple(constant_array(v, constants) for v in inputs),
        attributes,
    )


def instance_of_op(op: Op, constants: Mapping[str, bytes]) -> OperatorInstance:
    """Types, constants and attributes of an operator of the graph."""
    return instance_of(op.inputs, [v.type for v in op.outputs], op.attributes, constants)
