"""SignalRfft and SignalIrfft: transforms of real numbers, as the KISS FFT of TFLite Micro computes them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import ConstantArray, DType, Input, Kernel, OperatorInstance, Output, Params, Target
from tflmgen.kernels.operator import Options, Rule, Shape
from tflmgen.kernels.operators.custom import CustomOperator
from tflmgen.kernels.operators.signal_window import NOT_SCALAR
from tflmgen.kernels.option_fields import integer
from tflmgen.kernels.rules import COMMON, input_shape, input_type, one_type

SUFFIX = {DType.INT16: "s16", DType.INT32: "s32", DType.FLOAT32: "f32"}


@dataclass(frozen=True, slots=True)
class FftAttributes:
    """The number of real samples, a power of two."""

    length: int


def parse(options: Options) -> FftAttributes:
    """The transform's length. Raises ValueError if it is no power of two from 4 to 65,536."""
    length = integer(options, "fft_length", 4, 1 << 16)
    if length & (length - 1):
        raise ValueError(f"fft_length is {length}, but must be a power of two")
    return FftAttributes(length)


def digit_reversed(points: int) -> NDArray[np.int64]:
    """Place in the output of each input of a transform by radix 4, innermost by radix 2 where `points` asks for it."""
    places = np.zeros(1, np.int64)
    while len(places) < points:
        radix = 4 if points // len(places) % 4 == 0 else 2
        block = points // len(places) // radix
        places = (places[None, :] + block * np.arange(radix)[:, None]).reshape(-1)
    return places


def turns(phases: list[float], dtype: DType) -> NDArray[Any]:
    """cos and sin of each phase, scaled to the integer type and rounded half up, as KISS FFT tabulates them."""
    pairs = np.array([f(phase) for phase in phases for f in (math.cos, math.sin)])
    return pairs if dtype.is_float else np.floor(0.5 + dtype.limits[1] * pairs)


def _tables(points: int, dtype: DType, sign: float) -> tuple[ConstantArray, ConstantArray, ConstantArray]:
    roots = [sign * (-2 * math.pi * i / points) for i in range(points)]
    halves = [sign * (-math.pi * ((i + 1) / points + 0.5)) for i in range(points // 2)]
    return (
        ConstantArray.of("order", digit_reversed(points), DType.UINT16),
        ConstantArray.of("roots", turns(roots, dtype), dtype),
        ConstantArray.of("halves", turns(halves, dtype), dtype),
    )


class _Fft(CustomOperator):
    function: ClassVar[str]
    sign: ClassVar[float]

    def attributes(self, options: Options) -> FftAttributes:
        return parse(options)

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del target
        dtype, points = op.outputs[0].dtype, op.attributes.length // 2
        innermost = input_shape(op)[-1]
        frames = input_type(op, 0).elements // max(1, innermost)
        params = Params("tflmgen_signal_fft", (("frames", frames), ("length", innermost), ("points", points)))
        header = "signal_fft_f32.h" if dtype.is_float else "signal_fft.h"
        operands = (Input(0), *_tables(points, dtype, self.sign), Output(0))
        return Kernel(f"{self.function}_{SUFFIX[dtype]}", header, operands, params)


_TYPES = one_type(*SUFFIX)


class SignalRfft(_Fft):
    """Frames of real numbers, filled up with zeros, to pairs of real and imaginary parts."""

    name = "SignalRfft"
    function = "tflmgen_signal_rfft"
    sign = 1.0
    rules = (
        *COMMON,
        _TYPES,
        NOT_SCALAR,
        Rule(
            "an input with an innermost dimension from 1 to fft_length",
            lambda op: 1 <= input_shape(op)[-1] <= op.attributes.length,
        ),
    )

    def infer(self, op: OperatorInstance) -> tuple[Shape]:
        return ((*input_type(op, 0).shape[:-1], op.attributes.length + 2),)


class SignalIrfft(_Fft):
    """Spectra of pairs of real and imaginary parts to frames of real numbers."""

    name = "SignalIrfft"
    function = "tflmgen_signal_irfft"
    sign = -1.0
    rules = (
        *COMMON,
        _TYPES,
        NOT_SCALAR,
        Rule(
            "an input with an innermost dimension of fft_length + 2",
            lambda op: input_shape(op)[-1] == op.attributes.length + 2,
        ),
    )

    def infer(self, op: OperatorInstance) -> tuple[Shape]:
        return ((*input_type(op, 0).shape[:-1], op.attributes.length),)


OPERATORS = (SignalRfft().row(), SignalIrfft().row())
