"""SignalRfft and SignalIrfft: transforms of real numbers, in fixed point as TFLite Micro's KISS FFT computes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Params, Target
from tflmgen.kernels.operators.custom import CustomOperator
from tflmgen.kernels.operators.row_wise import not_last_axis
from tflmgen.kernels.operators.signal_window import NOT_SCALAR
from tflmgen.kernels.specification.operator import Options, Rule, Shape
from tflmgen.kernels.specification.option_fields import integer
from tflmgen.kernels.specification.rules import COMMON, input_shape, input_type, one_type
from tflmgen.kernels.traits import Traits

SUFFIX = {DType.INT16: "s16", DType.INT32: "s32", DType.FLOAT32: "f32"}


@dataclass(frozen=True, slots=True)
class FftAttributes:
    """The number of real samples."""

    length: int


def parse(options: Options) -> FftAttributes:
    """The transform's length. Raises ValueError if it is no even product of 2, 3 and 5 from 4 to 65,536."""
    length = integer(options, "fft_length", 4, 1 << 16)
    if length % 2 or not radices(length // 2):
        raise ValueError(f"fft_length is {length}, but must be an even product of 2, 3 and 5")
    return FftAttributes(length)


def radices(points: int) -> list[int]:
    """Radices of the stages of a transform in float32, in their order; empty if another factor is left."""
    stages = []
    for radix in (4, 2, 3, 5):
        while points % radix == 0:
            stages.append(radix)
            points //= radix
    return stages if points == 1 else []


def fixed_point_radices(points: int) -> list[int]:
    """Radices of the stages in fixed point, as KISS FFT has them: 2 first, where the length asks for it, then 4."""
    fours = (points.bit_length() - 1) // 2
    return [*[2] * (points.bit_length() - 1 - 2 * fours), *[4] * fours]


def digit_reversed(stages: Sequence[int]) -> NDArray[np.int64]:
    """Place of each input of a transform by these stages."""
    points = math.prod(stages)
    places = np.zeros(1, np.int64)
    for radix in reversed(stages):
        block = points // len(places) // radix
        places = (places[None, :] + block * np.arange(radix)[:, None]).reshape(-1)
    return places


def turns(phases: list[float], dtype: DType) -> NDArray[Any]:
    """cos and sin of each phase, scaled to the integer type and rounded half up, as KISS FFT tabulates them."""
    pairs = np.array([f(phase) for phase in phases for f in (math.cos, math.sin)])
    return pairs if dtype.is_float else np.floor(0.5 + dtype.limits[1] * pairs)


def _order(points: int, dtype: DType, sign: float) -> NDArray[np.int64]:
    """As the kernel wants it: each number's place, or in float32 what the first stage's butterflies begin with."""
    stages = radices(points) if dtype.is_float else fixed_point_radices(points)
    places = digit_reversed(stages)
    return np.argsort(places)[:: stages[0]] if dtype.is_float and sign > 0 else places


def _tables(points: int, dtype: DType, sign: float) -> tuple[ConstantArray, ConstantArray, ConstantArray]:
    roots = [sign * (-2 * math.pi * i / points) for i in range(points)]
    halves = [sign * (-math.pi * ((i + 1) / points + 0.5)) for i in range(points // 2)]
    return (
        ConstantArray.of("order", _order(points, dtype, sign), DType.UINT16),
        ConstantArray.of("roots", turns(roots, dtype), dtype),
        ConstantArray.of("halves", turns(halves, dtype) * (0.5 if dtype.is_float and sign > 0 else 1), dtype),
    )


class _Fft(CustomOperator):
    traits = Traits(row_wise=not_last_axis)
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
_LENGTH = Rule(
    "float32, or a length that is a power of two",
    lambda op: input_type(op, 0).dtype.is_float or op.attributes.length & (op.attributes.length - 1) == 0,
)


class SignalRfft(_Fft):
    """Frames of real numbers, filled up with zeros, to pairs of real and imaginary parts."""

    name = "SignalRfft"
    function = "tflmgen_signal_rfft"
    sign = 1.0
    rules = (
        *COMMON,
        _TYPES,
        _LENGTH,
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
        _LENGTH,
        NOT_SCALAR,
        Rule(
            "an input with an innermost dimension of fft_length + 2",
            lambda op: input_shape(op)[-1] == op.attributes.length + 2,
        ),
    )

    def infer(self, op: OperatorInstance) -> tuple[Shape]:
        return ((*input_type(op, 0).shape[:-1], op.attributes.length),)


OPERATORS = (SignalRfft().row(), SignalIrfft().row())
