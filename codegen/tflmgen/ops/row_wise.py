"""Which operators compute each row (of the first dimension) of their output from the same row of their inputs.

These may run over all rows that there is memory for: what they make of rows not in use is of no account, and reaches no
other row. This is the one place that says so; whether a given call keeps to its rows is seen from the shapes that it
infers (support.py): one row more in must be one row more out, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tflmgen.kernel import OperatorInstance
from tflmgen.ops.layout import normalize_axis
from tflmgen.ops.rules import input_type
from tflmgen.ops.slice import Masks

ROW_WISE = (
    "ABS ADD ADD_N ATAN2 BITWISE_XOR CAST CEIL COS DEQUANTIZE DIV ELU EQUAL EXP FLOOR FLOOR_DIV FLOOR_MOD GELU "
    "GREATER GREATER_EQUAL HARD_SWISH LEAKY_RELU LESS LESS_EQUAL LOG LOGICAL_AND LOGICAL_NOT LOGICAL_OR LOGISTIC "
    "MAXIMUM MINIMUM MUL NEG NOT_EQUAL POW PRELU QUANTIZE RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1 RIGHT_SHIFT ROUND "
    "RSQRT SELECT SELECT_V2 SIGN SIN SQRT SQUARE SQUARED_DIFFERENCE SUB TANH ZEROS_LIKE AVERAGE_POOL_2D BATCH_MATMUL "
    "CONV_2D CONV_3D DEPTHWISE_CONV_2D FULLY_CONNECTED MAX_POOL_2D RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR "
    "DEPTH_TO_SPACE SPACE_TO_DEPTH MEAN REDUCE_ALL REDUCE_ANY REDUCE_MAX REDUCE_MIN REDUCE_PROD SUM CONCATENATION "
    "EMBEDDING_LOOKUP EXPAND_DIMS GATHER MIRROR_PAD ONE_HOT PACK PAD PADV2 RESHAPE SLICE SPLIT SPLIT_V SQUEEZE TILE "
    "TRANSPOSE UNPACK "
)
BY_SHAPE = frozenset(ROW_WISE.split())
"""Operators that mix no rows where the inferred shapes don't show it."""


def _has_rows_apart(op: OperatorInstance) -> bool:
    """The last axis, along which the operator works, is another one."""
    return len(input_type(op, 0).shape) > 1


def _leaves_rows_apart(op: OperatorInstance) -> bool:
    """None of the axes in input 1 is the first one."""
    rank = len(input_type(op, 0).shape)
    axes = op.constants[1]
    return axes is not None and all(normalize_axis(int(axis), rank) != 0 for axis in axes.reshape(-1))


def _keeps_rows_in_order(op: OperatorInstance) -> bool:
    """A STRIDED_SLICE that cuts nothing off the first axis and does not turn it round."""
    masks, steps = op.attributes, op.constants[3]
    if not isinstance(masks, Masks) or steps is None or masks.ellipsis & 1 or masks.new_axis & 1:
        return False
    return int(steps.reshape(-1)[0]) == 1


BY_RULE: Mapping[str, Callable[[OperatorInstance], bool]] = {
    "SOFTMAX": _has_rows_apart,
    "LOG_SOFTMAX": _has_rows_apart,
    "L2_NORMALIZATION": _has_rows_apart,
    "TOPK_V2": _has_rows_apart,
    "ARG_MAX": _leaves_rows_apart,
    "ARG_MIN": _leaves_rows_apart,
    "CUMSUM": _leaves_rows_apart,
    "REVERSE_V2": _leaves_rows_apart,
    "STRIDED_SLICE": _keeps_rows_in_order,
}
"""Operators that could mix rows and keep their shapes: when they don't."""


def may_be_row_wise(name: str, op: OperatorInstance) -> bool:
    """Whether the operator keeps to its rows if the shapes that it infers do."""
    return name in BY_SHAPE or (name in BY_RULE and BY_RULE[name](op))
