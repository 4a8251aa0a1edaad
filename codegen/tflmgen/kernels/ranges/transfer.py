"""Which elements an operator can give, from those of its inputs: as its row declares it, or its traits imply it."""

from __future__ import annotations

from tflmgen.ir import DType, OperatorInstance
from tflmgen.kernels.numeric.quantize_math import activation_range
from tflmgen.kernels.ranges.intervals import Inputs, Integers, Interval, Outputs, whole
from tflmgen.kernels.ranges.range_elements import by_table, elements_of
from tflmgen.kernels.ranges.range_moves import moved_ranges
from tflmgen.kernels.table import OPERATORS, traits_of


def output_ranges(name: str, op: OperatorInstance, inputs: Inputs) -> tuple[Interval | None, ...]:
    """The intervals of every output; None for outputs that aren't tracked (floats).

    `inputs` are those of the inputs; None where one is absent or isn't tracked. Of operators that nothing is known of,
    or tensors of which rows may be missing, outputs can be all that their type and fused activation allow.
    """
    static = all(kind is None or kind.is_static for kind in (*op.inputs, *op.outputs))
    known = _transferred(name, op, inputs) if static else None
    if known is None:
        known = [None] * len(op.outputs)
    return tuple(
        allowed if interval is None or allowed is None else interval
        for interval, allowed in zip(known, (_allowed(name, op, i) for i in range(len(op.outputs))), strict=True)
    )


def _transferred(name: str, op: OperatorInstance, inputs: Inputs) -> Outputs:
    row = OPERATORS.get(name)
    if row is None:
        return None
    if row.value_range is not None:
        return row.value_range(op, inputs)
    if row.traits.moves:
        return moved_ranges(name, op, inputs)
    return by_table(row.fold)(op, inputs) if row.traits.unary and row.fold is not None else None


def table_of(name: str, op: OperatorInstance) -> Integers | None:
    """Table of a unary operator's results for each element of its input's type, from the least on.

    None for other operators, where the type has more than 8 bits, and where folding doesn't know it.
    """
    row = OPERATORS.get(name)
    if row is None or not row.traits.unary or row.fold is None:
        return None
    return elements_of(row.fold, op)


def _allowed(name: str, op: OperatorInstance, index: int) -> Interval | None:
    kind = op.outputs[index]
    interval = whole(kind)
    if interval is None or not traits_of(name).clamped or kind.quantization is None:
        return interval
    if kind.dtype not in (DType.INT8, DType.INT16) or kind.quantization.per_channel:
        return interval
    return interval.meet(*activation_range(op.attributes.activation, kind.dtype, kind.quantization))
