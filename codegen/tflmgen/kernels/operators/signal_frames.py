"""The signal operators that remember samples: SignalFramer, SignalStacker, SignalDelay, SignalOverlapAdd."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Overlap, Params, Target, View
from tflmgen.kernels.operators.custom import CustomOperator
from tflmgen.kernels.operators.signal_window import NOT_SCALAR
from tflmgen.kernels.specification.operator import Options, Rule, Shape, State
from tflmgen.kernels.specification.option_fields import flag, integer
from tflmgen.kernels.specification.rules import COMMON, input_is, input_shape, input_type, one_type, output_is

HEADER = "signal_frames.h"
LARGEST_OPTION = 2**20
"""Samples that one frame, one delay may have."""

FRAME_AND_VALID = Rule(
    "int16 samples and one Boolean (whether they are valid) as outputs",
    lambda op: [t.dtype for t in op.outputs] == [DType.INT16, DType.BOOL],
)
NOT_EMPTY = Rule("an input of at least one element", lambda op: input_type(op, 0).elements > 0)


def _count(initial: int) -> State:
    return State(DType.INT32, (1,), np.array([initial], "<i4").tobytes())


def _outer(op: OperatorInstance) -> int:
    """Number of parallel streams: the product of all but the innermost dimension."""
    return input_type(op, 0).elements // input_shape(op)[-1]


@dataclass(frozen=True, slots=True)
class _Framer:
    size: int
    step: int
    prefill: bool

    @property
    def memory(self) -> int:
        """The most samples that are kept between two steps; at least 1, since no tensor is empty."""
        return max(1, (self.size - 1) // self.step * self.step)


class SignalFramer(CustomOperator):
    """A stream cut into overlapping frames."""

    name = "SignalFramer"
    outputs = 2
    rules = (
        *COMMON,
        input_is(0, "input", DType.INT16),
        FRAME_AND_VALID,
        NOT_SCALAR,
        NOT_EMPTY,
        Rule(
            "an input whose innermost dimension is a multiple of frame_step",
            lambda op: input_shape(op)[-1] % op.attributes.step == 0,
        ),
        Rule(
            "with prefill, a frame_step of at most frame_size",
            lambda op: not op.attributes.prefill or op.attributes.step <= op.attributes.size,
        ),
    )

    def attributes(self, options: Options) -> _Framer:
        size, step = (
            integer(options, "frame_size", 1, LARGEST_OPTION),
            integer(options, "frame_step", 1, LARGEST_OPTION),
        )
        return _Framer(size, step, flag(options, "prefill"))

    def infer(self, op: OperatorInstance) -> tuple[Shape, Shape]:
        outer = input_shape(op)
        return (*outer[:-1], outer[-1] // op.attributes.step, op.attributes.size), ()

    def state(self, op: OperatorInstance) -> tuple[State, ...]:
        kept = op.attributes.size - op.attributes.step if op.attributes.prefill else 0
        return State(DType.INT16, (_outer(op), op.attributes.memory)), _count(kept)

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del target
        a = op.attributes
        fields = (
            ("channels", _outer(op)),
            ("frames", input_shape(op)[-1] // a.step),
            ("size", a.size),
            ("step", a.step),
            ("memory", input_shape(op, 1)[-1]),
        )
        params = Params("tflmgen_signal_framer", fields)
        operands = (Input(0), Input(1), Input(2), Output(0), Output(1), Output(2), Output(3))
        return Kernel("tflmgen_signal_framer", HEADER, operands, params, (Overlap(1, 2), Overlap(2, 3)))


@dataclass(frozen=True, slots=True)
class _Stacker:
    channels: int
    left: int
    right: int
    step: int

    @property
    def size(self) -> int:
        return self.channels * (self.left + self.right + 1)


class SignalStacker(CustomOperator):
    """Frames of features put behind each other: some of the past, the present, some of the future."""

    name = "SignalStacker"
    outputs = 2
    rules = (
        *COMMON,
        input_is(0, "input", DType.INT16),
        FRAME_AND_VALID,
        Rule(
            "an input that is a vector of num_channels elements",
            lambda op: input_type(op, 0).shape == (op.attributes.channels,),
        ),
        Rule(
            "a stacker_step of at most the number of stacked frames",
            lambda op: op.attributes.step * op.attributes.channels <= op.attributes.size,
        ),
    )

    def attributes(self, options: Options) -> _Stacker:
        return _Stacker(
            integer(options, "num_channels", 1, LARGEST_OPTION),
            integer(options, "stacker_left_context", 0, LARGEST_OPTION),
            integer(options, "stacker_right_context", 0, LARGEST_OPTION),
            integer(options, "stacker_step", 1, LARGEST_OPTION),
        )

    def infer(self, op: OperatorInstance) -> tuple[Shape, Shape]:
        return (op.attributes.size,), ()

    def state(self, op: OperatorInstance) -> tuple[State, ...]:
        return State(DType.INT16, (max(1, op.attributes.size - op.attributes.channels),)), _count(-1)

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del target
        a = op.attributes
        fields = (
            ("channels", a.channels),
            ("size", a.size),
            ("left", a.left),
            ("step", a.step * a.channels),
            ("memory", input_type(op, 1).elements),
        )
        params = Params("tflmgen_signal_stacker", fields)
        operands = (Input(0), Input(1), Input(2), Output(0), Output(1), Output(2), Output(3))
        return Kernel("tflmgen_signal_stacker", HEADER, operands, params, (Overlap(1, 2), Overlap(2, 3)))


@dataclass(frozen=True, slots=True)
class _Delay:
    samples: int


class SignalDelay(CustomOperator):
    """A stream, some samples later."""

    name = "SignalDelay"
    rules = (*COMMON, input_is(0, "input", DType.INT16), output_is(DType.INT16), NOT_SCALAR, NOT_EMPTY)

    def attributes(self, options: Options) -> _Delay:
        return _Delay(integer(options, "delay_length", 0, LARGEST_OPTION))

    def infer(self, op: OperatorInstance) -> tuple[Shape]:
        return (input_type(op, 0).shape,)

    def state(self, op: OperatorInstance) -> tuple[State, ...]:
        samples = op.attributes.samples
        return (State(DType.INT16, (_outer(op), samples)),) if samples else ()

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel | View:
        del target
        if not op.attributes.samples:
            return View()
        length = input_shape(op)[-1]
        fields = (("channels", _outer(op)), ("length", length), ("delay", op.attributes.samples))
        params = Params("tflmgen_signal_delay", fields)
        operands = (Input(0), Input(1), Output(0), Output(1))
        return Kernel("tflmgen_signal_delay", HEADER, operands, params, (Overlap(1, 1),))


@dataclass(frozen=True, slots=True)
class _OverlapAdd:
    step: int


class SignalOverlapAdd(CustomOperator):
    """Overlapping frames added up to a stream."""

    name = "SignalOverlapAdd"
    rules = (
        *COMMON,
        one_type(DType.INT16, DType.FLOAT32),
        Rule("an input of at least 2 dimensions", lambda op: len(input_type(op, 0).shape) >= 2),
        NOT_EMPTY,
        Rule(
            "a frame_step of at most the input's innermost dimension",
            lambda op: op.attributes.step <= input_shape(op)[-1],
        ),
    )

    def attributes(self, options: Options) -> _OverlapAdd:
        return _OverlapAdd(integer(options, "frame_step", 1, LARGEST_OPTION))

    def infer(self, op: OperatorInstance) -> tuple[Shape]:
        *outer, frames, _ = input_shape(op)
        return ((*outer, frames * op.attributes.step),)

    def state(self, op: OperatorInstance) -> tuple[State, ...]:
        *outer, _, size = input_shape(op)
        memory = size - op.attributes.step
        return (State(op.outputs[0].dtype, (*outer, memory)),) if memory else ()

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel | View:
        del target
        *_, frames, size = input_shape(op)
        step = op.attributes.step
        if step == size:
            return View()
        channels = input_type(op, 0).elements // (frames * size)
        fields = (("channels", channels), ("frames", frames), ("size", size), ("step", step))
        suffix = "f32" if op.outputs[0].dtype.is_float else "s16"
        params = Params("tflmgen_signal_overlap_add", fields)
        operands = (Input(0), Input(1), Output(0), Output(1))
        return Kernel(f"tflmgen_signal_overlap_add_{suffix}", HEADER, operands, params, (Overlap(1, 1),))


OPERATORS = tuple(operator.row() for operator in (SignalFramer(), SignalStacker(), SignalDelay(), SignalOverlapAdd()))
