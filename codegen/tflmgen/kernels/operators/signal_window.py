"""TFLite Micro's signal operators on single frames: SignalWindow, SignalFftAutoScale, SignalEnergy."""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Overlap, Params, Target
from tflmgen.kernels.operators.custom import CustomOperator
from tflmgen.kernels.specification.operator import Options, Rule, Shape
from tflmgen.kernels.specification.option_fields import integer
from tflmgen.kernels.specification.rules import COMMON, input_is, input_shape, input_type, output_is

HEADER = "signal_window.h"
IN_PLACE = (Overlap(0, 0),)

NOT_SCALAR = Rule("an input of at least 1 dimension", lambda op: len(input_type(op, 0).shape) >= 1)


def vector(index: int, label: str) -> Rule:
    """Input `index` has one dimension."""
    return Rule(f"the {label} to have 1 dimension", lambda op: len(input_type(op, index).shape) == 1)


@dataclass(frozen=True, slots=True)
class _Shift:
    shift: int


class SignalWindow(CustomOperator):
    """Every frame times one window, shifted right, saturated."""

    name = "SignalWindow"
    inputs = (2, 2)
    rules = (
        *COMMON,
        input_is(0, "input", DType.INT16),
        input_is(1, "window", DType.INT16),
        output_is(DType.INT16),
        NOT_SCALAR,
        vector(1, "window"),
        Rule(
            "a window as long as the input's innermost dimension",
            lambda op: input_shape(op, 1)[0] == input_shape(op)[-1],
        ),
    )

    def attributes(self, options: Options) -> _Shift:
        return _Shift(integer(options, "shift", 0, 31))

    def infer(self, op: OperatorInstance) -> tuple[Shape]:
        return (input_type(op, 0).shape,)

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del target
        length = input_shape(op, 1)[0]
        frames = input_type(op, 0).elements // max(1, length)
        fields = (("frames", frames), ("length", length), ("shift", op.attributes.shift))
        params = Params("tflmgen_signal_window", fields)
        return Kernel("tflmgen_signal_window", HEADER, (Input(0), Input(1), Output(0)), params, IN_PLACE)


class SignalFftAutoScale(CustomOperator):
    """A frame shifted left as far as it goes, and how far that is."""

    name = "SignalFftAutoScale"
    outputs = 2
    rules = (
        *COMMON,
        input_is(0, "input", DType.INT16),
        Rule(
            "an int16 frame and int32 bits as outputs",
            lambda op: [t.dtype for t in op.outputs] == [DType.INT16, DType.INT32],
        ),
        vector(0, "input"),
    )

    def infer(self, op: OperatorInstance) -> tuple[Shape, Shape]:
        return input_type(op, 0).shape, ()

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del target
        params = Params("tflmgen_signal_auto_scale", (("elements", input_type(op, 0).elements),))
        return Kernel("tflmgen_signal_auto_scale", HEADER, (Input(0), Output(0), Output(1)), params, IN_PLACE)


@dataclass(frozen=True, slots=True)
class _Range:
    start: int
    end: int


class SignalEnergy(CustomOperator):
    """Squared magnitudes of a part of a spectrum; TFLite Micro leaves the rest as it was, here it is zero."""

    name = "SignalEnergy"
    rules = (
        *COMMON,
        input_is(0, "input", DType.INT16),
        output_is(DType.UINT32),
        vector(0, "input"),
        Rule("an input of pairs of numbers", lambda op: input_type(op, 0).elements % 2 == 0),
        Rule(
            "a range within the spectrum",
            lambda op: op.attributes.start <= op.attributes.end <= input_type(op, 0).elements // 2,
        ),
    )

    def attributes(self, options: Options) -> _Range:
        maximum = 2**31 - 1
        return _Range(integer(options, "start_index", 0, maximum), integer(options, "end_index", 0, maximum))

    def infer(self, op: OperatorInstance) -> tuple[Shape]:
        return ((input_shape(op)[0] // 2,),)

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del target
        elements = input_type(op, 0).elements // 2
        fields = (("elements", elements), ("start", op.attributes.start), ("end", op.attributes.end))
        params = Params("tflmgen_signal_energy", fields)
        return Kernel("tflmgen_signal_energy", HEADER, (Input(0), Output(0)), params, IN_PLACE)


OPERATORS = tuple(operator.row() for operator in (SignalWindow(), SignalFftAutoScale(), SignalEnergy()))
