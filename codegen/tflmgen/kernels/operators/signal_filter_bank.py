"""SignalFilterBank and what follows it: square root, spectral subtraction, PCAN, logarithm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Overlap, Params, Target
from tflmgen.kernels.operators.custom import CustomOperator
from tflmgen.kernels.operators.signal_window import IN_PLACE, vector
from tflmgen.kernels.specification.operator import Options, Rule, Shape, State
from tflmgen.kernels.specification.option_fields import flag, integer
from tflmgen.kernels.specification.rules import COMMON, constant, input_is, input_shape, input_type, output_is

HEADER = "signal_filter_bank.h"
GAINS = 125
"""Numbers that PCAN's table must have: 4 for each power of two, but for the first three noise estimates."""

_U32 = 2**32 - 1
"""The greatest uint32."""

_BANDS = ("weights", "unweights", "frequency starts", "weight starts", "channel widths")


@dataclass(frozen=True, slots=True)
class _Channels:
    channels: int


def _bands_fit(op: OperatorInstance) -> bool:
    """Whether every band lies within the input and within the weights."""
    weights, unweights, starts, weight_starts, widths = (np.asarray(op.constants[i], np.int64) for i in range(1, 6))
    counts = {len(starts), len(weight_starts), len(widths)}
    if counts != {op.attributes.channels + 1}:
        return False
    used = widths > 0
    ends, weight_ends = (starts + widths)[used], (weight_starts + widths)[used]
    return (
        bool((starts[used] >= 0).all() and (weight_starts[used] >= 0).all())
        and int(ends.max(initial=0)) <= input_type(op, 0).elements
        and int(weight_ends.max(initial=0)) <= min(len(weights), len(unweights))
    )


def _channels(op: OperatorInstance) -> tuple[tuple[str, int], ...]:
    return (("channels", input_type(op, 0).elements),)


class SignalFilterBank(CustomOperator):
    """The energies of a spectrum gathered in overlapping bands."""

    name = "SignalFilterBank"
    inputs = (6, 6)
    rules = (
        *COMMON,
        input_is(0, "input", DType.UINT32),
        *(input_is(i, f"tensor of {content}", DType.INT16) for i, content in enumerate(_BANDS, 1)),
        output_is(DType.UINT64),
        vector(0, "input"),
        *(vector(i, f"tensor of {content}") for i, content in enumerate(_BANDS, 1)),
        *(constant(i, f"tensor of {content}") for i, content in enumerate(_BANDS, 1)),
        Rule(
            "one more band than num_channels, each within the input and the weights",
            _bands_fit,
        ),
    )

    def attributes(self, options: Options) -> _Channels:
        return _Channels(integer(options, "num_channels", 1, 2**15))

    def infer(self, op: OperatorInstance) -> tuple[Shape]:
        return ((op.attributes.channels,),)

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del target
        params = Params("tflmgen_signal_channels", (("channels", op.attributes.channels),))
        operands = (Input(0), Input(1), Input(2), Input(3), Input(4), Input(5), Output(0))
        return Kernel("tflmgen_signal_filter_bank", HEADER, operands, params)


class SignalFilterBankSquareRoot(CustomOperator):
    """Square roots, shifted right by the bits that the frame was scaled up by."""

    name = "SignalFilterBankSquareRoot"
    inputs = (2, 2)
    rules = (
        *COMMON,
        input_is(0, "input", DType.UINT64),
        input_is(1, "tensor of scale bits", DType.INT32),
        output_is(DType.UINT32),
        vector(0, "input"),
        Rule("scale bits of one element", lambda op: input_type(op, 1).elements == 1),
    )

    def infer(self, op: OperatorInstance) -> tuple[Shape]:
        return (input_type(op, 0).shape,)

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del target
        params = Params("tflmgen_signal_channels", _channels(op))
        operands = (Input(0), Input(1), Output(0))
        return Kernel("tflmgen_signal_square_root", HEADER, operands, params, IN_PLACE)


@dataclass(frozen=True, slots=True)
class _Subtraction:
    channels: int
    smoothing: tuple[int, int]
    one_minus_smoothing: tuple[int, int]
    min_remaining: int
    smoothing_bits: int
    bits: int
    clamping: bool


class SignalFilterBankSpectralSubtraction(CustomOperator):
    """The channels less an estimate of their noise, which follows them slowly."""

    name = "SignalFilterBankSpectralSubtraction"
    outputs = 2
    rules = (
        *COMMON,
        input_is(0, "input", DType.UINT32),
        output_is(DType.UINT32),
        vector(0, "input"),
        Rule(
            "an input of num_channels elements",
            lambda op: op.attributes.channels == input_type(op, 0).elements,
        ),
    )

    def attributes(self, options: Options) -> _Subtraction:
        def number(name: str, maximum: int = _U32) -> int:
            return integer(options, name, 0, maximum)

        return _Subtraction(
            number("num_channels"),
            (number("smoothing"), number("alternate_smoothing")),
            (number("one_minus_smoothing"), number("alternate_one_minus_smoothing")),
            number("min_signal_remaining"),
            number("smoothing_bits", 31),
            number("spectral_subtraction_bits", 63),
            flag(options, "clamping"),
        )

    def infer(self, op: OperatorInstance) -> tuple[Shape, Shape]:
        return input_type(op, 0).shape, input_type(op, 0).shape

    def state(self, op: OperatorInstance) -> tuple[State, ...]:
        return (State(DType.UINT32, input_shape(op)),)

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del target
        a = op.attributes
        fields = (
            ("channels", a.channels),
            ("smoothing", a.smoothing),
            ("one_minus_smoothing", a.one_minus_smoothing),
            ("min_remaining", a.min_remaining),
            ("smoothing_bits", a.smoothing_bits),
            ("bits", a.bits),
            ("clamping", a.clamping),
        )
        params = Params("tflmgen_signal_subtraction", fields)
        operands = (Input(0), Input(1), Output(0), Output(1), Output(2))
        overlaps = (Overlap(0, 0), Overlap(1, 2))
        return Kernel("tflmgen_signal_subtraction", HEADER, operands, params, overlaps)


@dataclass(frozen=True, slots=True)
class _Pcan:
    snr_shift: int


class SignalPCAN(CustomOperator):
    """Per-channel amplitude normalisation: each channel times a gain that its noise looks up."""

    name = "SignalPCAN"
    inputs = (3, 3)
    rules = (
        *COMMON,
        input_is(0, "input", DType.UINT32),
        input_is(1, "noise estimate", DType.UINT32),
        input_is(2, "table of gains", DType.INT16),
        output_is(DType.UINT32),
        *(vector(i, content) for i, content in enumerate(("input", "noise estimate", "table of gains"))),
        Rule(
            "an input and a noise estimate of equal shapes",
            lambda op: input_type(op, 0).shape == input_type(op, 1).shape,
        ),
        Rule(f"a table of at least {GAINS} gains", lambda op: input_type(op, 2).elements >= GAINS),
    )

    def attributes(self, options: Options) -> _Pcan:
        return _Pcan(integer(options, "snr_shift", 0, 63))

    def infer(self, op: OperatorInstance) -> tuple[Shape]:
        return (input_type(op, 0).shape,)

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del target
        params = Params("tflmgen_signal_pcan", (*_channels(op), ("snr_shift", op.attributes.snr_shift)))
        operands = (Input(0), Input(1), Input(2), Output(0))
        return Kernel("tflmgen_signal_pcan", HEADER, operands, params, (*IN_PLACE, Overlap(1, 0)))


@dataclass(frozen=True, slots=True)
class _Log:
    correction_bits: int
    scale: int


class SignalFilterBankLog(CustomOperator):
    """Scaled natural logarithms, by a table."""

    name = "SignalFilterBankLog"
    rules = (*COMMON, input_is(0, "input", DType.UINT32), output_is(DType.INT16), vector(0, "input"))

    def attributes(self, options: Options) -> _Log:
        return _Log(integer(options, "input_correction_bits", 0, 31), integer(options, "output_scale", 0, 2**31 - 1))

    def infer(self, op: OperatorInstance) -> tuple[Shape]:
        return (input_type(op, 0).shape,)

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del target
        fields = (("correction_bits", op.attributes.correction_bits), ("scale", op.attributes.scale))
        params = Params("tflmgen_signal_log", (*_channels(op), *fields))
        places = np.arange(129) / 128
        table = ConstantArray.of("logarithms", np.rint(65536 * (np.log2(1 + places) - places)), DType.UINT16)
        return Kernel("tflmgen_signal_log", HEADER, (Input(0), table, Output(0)), params, IN_PLACE)


OPERATORS = tuple(
    operator.row()
    for operator in (
        SignalFilterBank(),
        SignalFilterBankSquareRoot(),
        SignalFilterBankSpectralSubtraction(),
        SignalPCAN(),
        SignalFilterBankLog(),
    )
)
