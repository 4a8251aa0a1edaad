"""Arrays of Fourier transforms and of resizing, and CONV_3D's filter with its channels first.

As in layer_arrays.py, what each must be follows from the operator alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tflmgen.proof.array_calls import ArrayCall, Check, compare
from tflmgen.reference import Array, linear_steps

_ORDER, _ROOTS, _HALVES = 1, 2, 3
"""Arguments of a transform."""


def _decimated(indices: Array, factors: Sequence[int]) -> Array:
    """The indices in the order in which decimation in time reads them, in parts by one factor after the other."""
    if not factors:
        return indices
    return np.concatenate([_decimated(indices[first :: factors[0]], factors[1:]) for first in range(factors[0])])


def _exponent(number: int, factor: int) -> int:
    return 0 if number % factor else 1 + _exponent(number // factor, factor)


def _fourier_order(call: ArrayCall, points: int) -> Array:
    """In fixed point, and of inverse transforms, the place of each number; else the numbers that the first stage's
    butterflies begin with: those of 4, or of the least factor."""
    is_float = call.op.outputs[0].dtype.is_float
    fours, twos = divmod(_exponent(points, 2), 2)
    powers = [*[2] * twos, *[4] * fours] if is_float else [*[4] * fours, *[2] * twos]
    factors = [*[5] * _exponent(points, 5), *[3] * _exponent(points, 3), *powers]
    read = _decimated(np.arange(points), factors)
    if is_float and call.operator.endswith("Rfft"):
        return read[:: factors[-1]].astype(np.uint16)
    order = np.empty(points, np.uint16)
    order[read] = np.arange(points)
    return order


def _fourier(call: ArrayCall) -> str | None:
    """KISS FFT's tables: kiss_fft_alloc and kiss_fftr_alloc, for half as many complex numbers as real ones."""
    points, sign = int(call.op.attributes.length) // 2, 1.0 if call.operator.endswith("Rfft") else -1.0
    order = _fourier_order(call, points)
    is_halved = sign > 0 and call.op.outputs[0].dtype.is_float
    roots = [sign * (-2 * math.pi * k / points) for k in range(points)]
    halves = [sign * (-math.pi * ((k + 1) / points + 0.5)) for k in range(points // 2)]
    return (
        compare(call, _ORDER, order, "order")
        or compare(call, _ROOTS, _turns(call, roots), "roots")
        or compare(call, _HALVES, _turns(call, halves, is_halved), "halves")
    )


def _turns(call: ArrayCall, phases: Sequence[float], is_halved: bool = False) -> Array:
    """Cosine and sine of each phase, or half of these; of integers as fractions of the greatest, rounded half up."""
    pairs, dtype = [(math.cos(phase), math.sin(phase)) for phase in phases], call.op.outputs[0].dtype
    if dtype.is_float:
        return np.array(pairs, np.float32) * np.float32(0.5 if is_halved else 1.0)
    return np.array([[math.floor(0.5 + dtype.limits[1] * x) for x in pair] for pair in pairs], dtype.numpy)


def _bilinear(call: ArrayCall) -> str | None:
    """Steps of rows and of columns: the two neighbours of each output, and how near it is to the second."""
    source, output = call.op.inputs[0], call.op.outputs[0]
    assert source is not None
    if not call.function.startswith("tflmgen_resize_bilinear_"):
        return None
    for axis, argument, caption in ((1, 1, "rows"), (2, 3, "columns")):
        steps = linear_steps(call.op, source.max_shape[axis], output.max_shape[axis])
        problem = _compare_steps(call, argument, caption, *steps)
        if problem:
            return problem
    return ""


def _compare_steps(call: ArrayCall, argument: int, caption: str, lower: Array, upper: Array, parts: Array) -> str:
    """Compares neighbours and fractions of interpolation; an output on its first neighbour has it as second, too."""
    written = call.elements(argument, "<i4")
    if written.shape != (2 * len(lower),):
        return f"{caption}: {written.size} elements instead of {2 * len(lower)}"
    wrong = (written.reshape(-1, 2) != np.column_stack([lower, np.where(parts == 0, lower, upper)])).any(axis=1)
    if wrong.any():
        return f"{caption}: the neighbours of {np.argmax(wrong)} differ"
    kind = np.float32 if call.op.outputs[0].dtype.is_float else np.int32
    return compare(call, argument + 1, parts.astype(kind), f"fractions of {caption}")


def _conv_3d(call: ArrayCall) -> str | None:
    """The file's [depth, height, width, channels, output channels], by vectors; else the output channels first."""
    filters = call.op.constants[1]
    if filters is None:
        return None
    by_vectors = call.function == "tflmgen_conv3d_lanes_f32"
    wanted = np.asarray(filters) if by_vectors else np.moveaxis(np.asarray(filters), 4, 0)
    return compare(call, 1, wanted, "weights")


CHECKS: Mapping[str, Check] = {
    "signal_fft.h": _fourier,
    "signal_fft_f32.h": _fourier,
    "resize_bilinear.h": _bilinear,
    "conv3d.h": _conv_3d,
}
"""Checks of the arrays of transforms, by the header of the kernel that reads them."""
