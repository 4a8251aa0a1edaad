"""Which operators compute each row of their output from the same row of their inputs, along which dimensions.

Rows are what lies along a dimension that is known at run time only. Operators that keep them apart may run over all
rows that there is memory for: what they make of rows not in use is of no account, and reaches no other row. This is the
one place that says so; where the rows of a call come out is seen from the shapes that it infers (import_rows.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tflmgen.ir import OperatorInstance
from tflmgen.kernels.numeric.strides import normalize_axis
from tflmgen.kernels.operators.slice import Masks
from tflmgen.kernels.rules import input_type

ELEMENT_WISE_NAMES = (
    "ABS ADD ADD_N ATAN2 BITWISE_XOR CAST CEIL COS DEQUANTIZE DIV ELU EQUAL EXP FLOOR FLOOR_DIV FLOOR_MOD GELU "
    "GREATER GREATER_EQUAL HARD_SWISH LEAKY_RELU LESS LESS_EQUAL LOG LOGICAL_AND LOGICAL_NOT LOGICAL_OR LOGISTIC "
    "MAXIMUM MINIMUM MUL NEG NOT_EQUAL POW PRELU QUANTIZE RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1 RIGHT_SHIFT ROUND "
    "RSQRT SELECT SELECT_V2 SIGN SIN SQRT SQUARE SQUARED_DIFFERENCE SUB TANH ZEROS_LIKE"
)
ELEMENT_WISE = frozenset(ELEMENT_WISE_NAMES.split())
"""Operators on the elements at one place of all inputs, which may be broadcast."""

BY_AXIS_NAMES = (
    "BATCH_MATMUL BROADCAST_TO FULLY_CONNECTED MEAN REDUCE_ALL REDUCE_ANY REDUCE_MAX REDUCE_MIN REDUCE_PROD SUM "
    "CONCATENATION EMBEDDING_LOOKUP EXPAND_DIMS GATHER MIRROR_PAD ONE_HOT PACK PAD PADV2 RESHAPE SLICE SPLIT SPLIT_V "
    "SQUEEZE TILE TRANSPOSE UNPACK"
)
BY_AXIS = frozenset(BY_AXIS_NAMES.split())
"""Operators that mix no rows, along any dimension, where the inferred shapes don't show it."""

BY_BATCH_NAMES = (
    "AVERAGE_POOL_2D CONV_2D CONV_3D DEPTHWISE_CONV_2D MAX_POOL_2D RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR "
    "DEPTH_TO_SPACE SPACE_TO_DEPTH"
)
BY_BATCH = frozenset(BY_BATCH_NAMES.split())
"""The same along the first dimension alone."""

BY_SHAPE = ELEMENT_WISE | BY_AXIS | BY_BATCH


def _is_not_last(op: OperatorInstance, axis: int) -> bool:
    """The last axis, along which the operator works, is another one."""
    return len(input_type(op, 0).shape) > axis + 1


def _is_not_named(op: OperatorInstance, axis: int) -> bool:
    """None of the axes in input 1 is this one."""
    rank = len(input_type(op, 0).shape)
    axes = op.constants[1]
    return axes is not None and all(normalize_axis(int(named), rank) != axis for named in axes.reshape(-1))


def entries_of(masks: Masks, entries: int, rank: int) -> Iterator[tuple[int, int]]:
    """The entries of a STRIDED_SLICE's bounds that cut an axis, with this axis."""
    axis = 0
    for entry in range(entries):
        bit = 1 << entry
        if masks.ellipsis & bit:
            new = (masks.new_axis & ~masks.ellipsis & ((1 << entries) - 1)).bit_count()
            axis += rank - (entries - 1 - new)
        elif not masks.new_axis & bit:
            yield entry, axis
            axis += 1


def _keeps_order(op: OperatorInstance, axis: int) -> bool:
    """A STRIDED_SLICE that does not turn the axis round."""
    masks, steps = op.attributes, op.constants[3]
    if not isinstance(masks, Masks) or steps is None:
        return False
    rank = len(input_type(op, 0).shape)
    return all(at != axis or int(steps.reshape(-1)[entry]) == 1 for entry, at in entries_of(masks, steps.size, rank))


def _is_cumulated_forwards(op: OperatorInstance, axis: int) -> bool:
    """A CUMSUM along another axis, or from its begin."""
    return not op.attributes.reverse or _is_not_named(op, axis)


BY_RULE: Mapping[str, Callable[[OperatorInstance, int], bool]] = {
    "SOFTMAX": _is_not_last,
    "LOG_SOFTMAX": _is_not_last,
    "L2_NORMALIZATION": _is_not_last,
    "TOPK_V2": _is_not_last,
    "ARG_MAX": _is_not_named,
    "ARG_MIN": _is_not_named,
    "CUMSUM": _is_cumulated_forwards,
    "REVERSE_V2": _is_not_named,
    "STRIDED_SLICE": _keeps_order,
}
"""Operators that could mix rows and keep their shapes: when they don't."""


def may_be_row_wise(name: str, op: OperatorInstance, axis: int) -> bool:
    """Whether the operator keeps the rows along an axis of an input apart if the shapes that it infers do."""
    if name in BY_BATCH:
        return axis == 0
    return name in BY_SHAPE or (name in BY_RULE and BY_RULE[name](op, axis))
