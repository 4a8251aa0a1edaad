"""NON_MAX_SUPPRESSION_V4 and V5: the best boxes, without those that better ones overlap.

Inputs: 0 boxes [boxes, 4], two opposite corners (y, x) each, 1 scores [boxes], scalars: 2 greatest number of selected
boxes, 3 overlap from which a box is left out, 4 score that a box must exceed, 5 sigma of soft suppression (V5).
Outputs, of as many elements as may be selected: indices of the selected boxes, in V5 their scores; last, their number.
"""

from __future__ import annotations

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, Null, OperatorInstance, Output, Params, Scratch, Target
from tflmgen.kernels.operators.copying import constants_of
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, Shape, no_attributes
from tflmgen.kernels.specification.rules import COMMON, constant, input_is, input_shape, input_type
from tflmgen.kernels.traits import Traits

SOFT_INPUTS = 6
"""Inputs of NON_MAX_SUPPRESSION_V5, whose scores fall with overlap."""

CANDIDATE_BYTES = 12
"""Bytes of a tflmgen_box_candidate."""


def _kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    boxes = input_shape(op)[0]
    fields = (("boxes", boxes), ("most", _capacity(op)))
    is_soft = len(op.inputs) == SOFT_INPUTS
    operands = (
        *(Input(0), Input(1), Input(3), Input(4), Input(5) if is_soft else Null()),
        *(Output(0), Output(1) if is_soft else Null(), Output(len(op.outputs) - 1)),
        Scratch(CANDIDATE_BYTES * max(boxes, 1)),
    )
    params = Params("tflmgen_box_suppression", fields)
    return Kernel("tflmgen_box_suppression", "box_suppression.h", operands, params)


def _capacity(op: OperatorInstance) -> int:
    return constants_of(op, 2)[0]


def _infer(op: OperatorInstance) -> tuple[Shape, ...]:
    return (*[(_capacity(op),)] * (len(op.outputs) - 1), ())


def _output_types(op: OperatorInstance) -> bool:
    types = [output.dtype for output in op.outputs]
    return types == [DType.INT32, *[DType.FLOAT32] * (len(op.inputs) - 5), DType.INT32]


RULES = (
    *COMMON,
    input_is(0, "tensor of boxes", DType.FLOAT32),
    input_is(1, "tensor of scores", DType.FLOAT32),
    input_is(2, "number of boxes to select", DType.INT32),
    Rule(
        "float32 thresholds and int32 indices",
        lambda op: (
            all(input_type(op, i).dtype is DType.FLOAT32 for i in range(3, len(op.inputs))) and _output_types(op)
        ),
    ),
    Rule(
        "boxes of shape [boxes, 4] and one score for each",
        lambda op: input_shape(op)[1:] == (4,) and input_shape(op, 1) == input_shape(op)[:1],
    ),
    constant(2, "number of boxes to select"),
    Rule(
        "numbers that are single values, the first at least 1",
        lambda op: all(input_type(op, i).elements == 1 for i in range(2, len(op.inputs))) and _capacity(op) > 0,
    ),
)

OPERATORS = (
    OperatorSpec("NON_MAX_SUPPRESSION_V4", no_attributes, (5, 5), 2, RULES, _infer, _kernel, traits=Traits()),
    OperatorSpec("NON_MAX_SUPPRESSION_V5", no_attributes, (6, 6), 3, RULES, _infer, _kernel, traits=Traits()),
)
