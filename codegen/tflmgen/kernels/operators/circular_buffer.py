"""CIRCULAR_BUFFER: TFLite Micro's window over the last slices of a stream, for streaming convolutions in int8.

Input [1, 1, width, depth], output [1, slots, width, depth]: the latest slots, the new one last. A second output tells
every cycles_max-th time that the window has moved as far as the operators behind it want. TFLite Micro ends the
invocation where that output is absent and the time has not come; such models are refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, Null, OperatorInstance, Output, Overlap, Params, Target, View
from tflmgen.kernels.operators.custom import CustomOperator
from tflmgen.kernels.specification.operator import Options, Rule, Shape, State
from tflmgen.kernels.specification.option_fields import integer
from tflmgen.kernels.specification.rules import (
    COMMON,
    input_is,
    input_shape,
    input_type,
    same_quantization,
    static_shape,
)

HEADER = "circular_buffer.h"


@dataclass(frozen=True, slots=True)
class CircularBufferAttributes:
    """Options of CIRCULAR_BUFFER. cycles: invocations from one valid window to the next."""

    cycles: int


def _types_fit(op: OperatorInstance) -> bool:
    return [t.dtype for t in op.outputs] in ([DType.INT8], [DType.INT8, DType.BOOL])


def _slots_fit(op: OperatorInstance) -> bool:
    source, window = input_shape(op), static_shape(op.outputs[0])
    return source[:2] == (1, 1) and (window[0], *window[2:]) == (1, *source[2:]) and 0 not in window


class CircularBuffer(CustomOperator):
    """The last slices of a stream, in order."""

    name = "CIRCULAR_BUFFER"
    outputs = -1
    rules = (
        *COMMON,
        input_is(0, "input", DType.INT8),
        Rule("an int8 window as the output, and a Boolean as the second output, if any", _types_fit),
        Rule(
            "an input and a window of 4 dimensions",
            lambda op: len(input_type(op, 0).shape) == len(op.outputs[0].shape) == 4,
        ),
        Rule("an input that is one slot of the window", _slots_fit),
        Rule("a Boolean output of one element", lambda op: all(t.elements == 1 for t in op.outputs[1:])),
        Rule(
            "one scale and zero point for the input and the window",
            lambda op: same_quantization(input_type(op, 0), op.outputs[0]),
        ),
        Rule(
            "a second output if cycles_max is not 1 (without it, TFLite Micro ends the invocation at this operator)",
            lambda op: len(op.outputs) == 2 or op.attributes.cycles == 1,
        ),
    )

    def attributes(self, options: Options) -> CircularBufferAttributes:
        return CircularBufferAttributes(integer(options, "cycles_max", 1, 2**31 - 1))

    def infer(self, op: OperatorInstance) -> tuple[Shape | None, ...]:
        return tuple(t.shape for t in op.outputs)

    def state(self, op: OperatorInstance) -> tuple[State, ...]:
        """The slots but the latest, and where there is a second output, the invocations until it is true."""
        _, slots, width, depth = static_shape(op.outputs[0])
        start = np.array([op.attributes.cycles], "<i4").tobytes()
        kept = (State(DType.INT8, (slots - 1, width, depth)),) if slots > 1 else ()
        return (*kept, State(DType.INT32, (1,), start)) if len(op.outputs) == 2 else kept

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel | View:
        del target
        slot = input_type(op, 0).elements
        keeps, counts = op.outputs[0].elements > slot, op.outputs[-1].dtype is DType.INT32
        if not keeps and not counts:
            return View()
        first = 2 if counts else 1
        states = [(Input(1 + i), Output(first + i)) for i in range(keeps + counts)]
        samples = states[0] if keeps else (Null(), Null())
        count = states[-1] if counts else (Null(), Null())
        fields = (("slot", slot), ("memory", op.outputs[0].elements - slot), ("cycles", op.attributes.cycles))
        valid = Output(1) if counts else Null()
        operands = (Input(0), samples[0], count[0], Output(0), valid, samples[1], count[1])
        overlaps = tuple(Overlap(before.index, after.index) for before, after in states)
        params = Params("tflmgen_circular_buffer", fields)
        return Kernel("tflmgen_circular_buffer", HEADER, operands, params, overlaps)


OPERATORS = (CircularBuffer().row(),)
