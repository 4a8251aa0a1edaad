"""Which elements an operator can give, from those that its inputs can have: the transfer functions of the analysis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tflmgen.ir import DType, OperatorInstance
from tflmgen.kernels.numeric.quantize_math import activation_range
from tflmgen.kernels.ranges.intervals import Interval, whole
from tflmgen.kernels.ranges.range_elements import ELEMENTWISE
from tflmgen.kernels.ranges.range_moves import MOVES
from tflmgen.kernels.ranges.range_weighted import WEIGHTED
from tflmgen.kernels.table import traits_of

Transfer = Callable[[OperatorInstance, Sequence[Interval | None]], Sequence[Interval | None] | None]

TRANSFERS: Mapping[str, Transfer] = {**ELEMENTWISE, **MOVES, **WEIGHTED}


def output_ranges(name: str, op: OperatorInstance, inputs: Sequence[Interval | None]) -> tuple[Interval | None, ...]:
    """The intervals of every output; None for outputs that aren't tracked (floats).

    `inputs` are those of the inputs; None where one is absent or isn't tracked. Of operators that nothing is known of,
    or tensors of which rows may be missing, outputs can be all that their type and fused activation allow.
    """
    transfer = TRANSFERS.get(name)
    static = all(kind is None or kind.is_static for kind in (*op.inputs, *op.outputs))
    found = transfer(op, inputs) if transfer is not None and static else None
    if found is None:
        found = [None] * len(op.outputs)
    return tuple(
        allowed if one is None or allowed is None else one
        for one, allowed in zip(found, (_allowed(name, op, i) for i in range(len(op.outputs))), strict=True)
    )


def _allowed(name: str, op: OperatorInstance, index: int) -> Interval | None:
    kind = op.outputs[index]
    interval = whole(kind)
    if interval is None or not traits_of(name).clamped or kind.quantization is None:
        return interval
    if kind.dtype not in (DType.INT8, DType.INT16) or kind.quantization.per_channel:
        return interval
    return interval.meet(*activation_range(op.attributes.activation, kind.dtype, kind.quantization))
