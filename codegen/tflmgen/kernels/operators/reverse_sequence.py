"""REVERSE_SEQUENCE: the first elements of each sequence of a batch in the opposite order."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Params, Target
from tflmgen.kernels.numeric.strides import normalize_axis
from tflmgen.kernels.operators.binary import SUFFIX
from tflmgen.kernels.operators.copying import SAME_MOVABLE_TYPE
from tflmgen.kernels.operators.diagonal import SAME_SCALES
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule
from tflmgen.kernels.specification.rules import COMMON, axis_rule, input_is, input_shape, input_type
from tflmgen.kernels.traits import MONOTONE, Traits


@dataclass(frozen=True, slots=True)
class SequenceAxes:
    """The dimension of steps of a sequence, and that which counts sequences; negative: from the end."""

    seq_dim: int
    batch_dim: int


def _parse(options: Options | None) -> SequenceAxes:
    fields = options or {}
    return SequenceAxes(int(fields.get("seq_dim", 0)), int(fields.get("batch_dim", 0)))


def _axes(op: OperatorInstance) -> tuple[int, int]:
    """Dimensions of steps and of the batch, from 0 on."""
    rank = len(input_shape(op))
    steps, batch = (normalize_axis(axis, rank) for axis in (op.attributes.seq_dim, op.attributes.batch_dim))
    return steps or 0, batch or 0


def _kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    shape, (steps, batch) = input_shape(op), _axes(op)
    first, second = sorted((steps, batch))
    fields = (
        ("outer", math.prod(shape[:first])),
        ("first", shape[first]),
        ("between", math.prod(shape[first + 1 : second])),
        ("second", shape[second]),
        ("block_bytes", math.prod(shape[second + 1 :]) * input_type(op, 0).dtype.bits // 8),
        ("batch_first", batch < steps),
    )
    function = f"tflmgen_reverse_sequence_{SUFFIX[input_type(op, 1).dtype]}"
    operands = (Input(0), Input(1), Output(0))
    return Kernel(function, "reverse_sequence.h", operands, Params("tflmgen_reverse_sequence", fields))


def _has_lengths(op: OperatorInstance) -> bool:
    return input_shape(op, 1) == (input_shape(op)[_axes(op)[1]],)


RULES = (
    *COMMON,
    SAME_MOVABLE_TYPE,
    input_is(1, "tensor of lengths", DType.INT32, DType.INT64),
    axis_rule(lambda op: op.attributes.seq_dim, lambda op: len(input_shape(op))),
    axis_rule(lambda op: op.attributes.batch_dim, lambda op: len(input_shape(op))),
    Rule("a dimension of steps other than that of the batch", lambda op: len(set(_axes(op))) == 2),
    Rule("one length for each sequence of the batch", _has_lengths),
    Rule(
        "constant lengths from 0 to the number of steps",
        lambda op: (
            op.constants[1] is None
            or all(0 <= int(v) <= input_shape(op)[_axes(op)[0]] for v in op.constants[1].reshape(-1))
        ),
    ),
    SAME_SCALES,
)

OPERATORS = (
    OperatorSpec(
        "REVERSE_SEQUENCE",
        _parse,
        (2, 2),
        1,
        RULES,
        lambda op: (input_shape(op),),
        _kernel,
        traits=Traits(monotone_from=MONOTONE),
    ),
)
