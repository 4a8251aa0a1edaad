"""Element-wise operators evaluated at compile time, bit for bit as their kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.numeric.fixed_point import requantized
from tflmgen.kernels.numeric.quantize_math import Activation, quantize_multiplier
from tflmgen.kernels.specification.rules import QUANTIZED, input_type, scale, zero_point

Array = NDArray[Any]
Fold = Callable[[OperatorInstance], Sequence[Array] | None]


def operands(op: OperatorInstance) -> list[Array]:
    """The elements of every input, all constant."""
    return [np.asarray(array) for array in op.constants]


def result(op: OperatorInstance, array: Any) -> list[Array]:
    """`array` as output 0."""
    output = op.outputs[0]
    return [np.asarray(array).astype(output.dtype.numpy).reshape(output.max_shape)]


def of_constants(fold: Fold) -> Fold:
    """The fold where every input is constant; None elsewhere."""
    return lambda op: fold(op) if op.inputs and all(array is not None for array in op.constants) else None


def is_plain(op: OperatorInstance) -> bool:
    """Whether the elements stand for themselves, not for multiples of a scale."""
    return input_type(op, 0).dtype not in QUANTIZED


def arithmetic(function: Callable[[Array, Array], Array]) -> Fold:
    """The fold of a binary operator of plain numbers, its activation applied to the result."""

    def evaluate(op: OperatorInstance) -> list[Array] | None:
        if not is_plain(op):
            return None
        array = function(*operands(op))
        # As the kernel clamps: NaN passes through, infinity does not even without an activation.
        least, greatest = clamp_bounds(op.attributes.activation, op.outputs[0].dtype)
        return result(op, np.where(array < least, least, np.where(array > greatest, greatest, array)))

    return of_constants(evaluate)


def clamp_bounds(activation: Activation, dtype: DType) -> tuple[float, float]:
    """Least and greatest element of a plain type that an activation leaves."""
    low, high = activation.bounds
    if dtype.is_float:
        return low, high
    least, greatest = dtype.limits
    return int(max(least, low)), int(min(greatest, high))


def plain(function: Callable[..., Any]) -> Fold:
    """The fold of an operator by a numpy function of its operands, None where one of them is quantised."""
    return of_constants(lambda op: result(op, function(*operands(op))) if is_plain(op) else None)


def any_elements(function: Callable[..., Any]) -> Fold:
    """The fold of an operator by a numpy function of its operands, the integers of quantised ones as they are."""
    return of_constants(lambda op: result(op, function(*operands(op))))


def whole_division(function: Callable[[Array, Array], Array]) -> Fold:
    """Integers divided by 0 give 0; floats are left to the kernel."""

    def evaluate(op: OperatorInstance) -> list[Array] | None:
        if input_type(op, 0).dtype not in (DType.INT32, DType.INT64):
            return None
        a, b = operands(op)
        return result(op, np.where(b == 0, 0, function(a, np.where(b == 0, 1, b))))

    return of_constants(evaluate)


@of_constants
def cast(op: OperatorInstance) -> list[Array] | None:
    """CAST of constants; None for floats out of the integers' range, whose result depends on the kernel."""
    array = operands(op)[0]
    dtype = op.outputs[0].dtype
    if not input_type(op, 0).dtype.is_float or dtype.is_float or dtype is DType.BOOL:
        return result(op, array != 0 if dtype is DType.BOOL else array)
    # Out of range, the result depends on the width that the kernel goes through.
    least, greatest = dtype.limits
    whole = np.trunc(array.astype(np.float64))
    return result(op, whole) if np.all((whole >= least) & (whole <= greatest)) else None


@of_constants
def quantize(op: OperatorInstance) -> list[Array] | None:
    """QUANTIZE of constants, from float32 or from other integers; None for NaN, which has no integer."""
    source, target = input_type(op, 0), op.outputs[0]
    least, greatest = target.dtype.limits
    if source.dtype is DType.FLOAT32:
        steps = operands(op)[0] / np.float32(scale(target))
        if np.isnan(steps).any():
            return None
        # Halves are rounded away from zero.
        bounded = np.clip(steps, np.float32(-131072), np.float32(131072))
        whole = np.trunc(bounded)
        rest = bounded - whole
        rounded = whole.astype(np.int64) + (rest >= 0.5) - (rest <= -0.5)
    else:
        multiplier, shift = quantize_multiplier(scale(source) / scale(target))
        centred = operands(op)[0].astype(np.int64) - zero_point(source)
        rounded = requantized(centred, multiplier, shift)
    return result(op, np.clip(rounded + zero_point(target), least, greatest))


@of_constants
def dequantize(op: OperatorInstance) -> list[Array] | None:
    """DEQUANTIZE of constants, with one scale or one per channel, to float32."""
    source, array = input_type(op, 0), operands(op)[0]
    if source.dtype is DType.FLOAT16:
        return result(op, array)
    quantization = source.quantization
    if quantization is None:
        return None
    along = [1] * array.ndim
    if quantization.per_channel:
        along[quantization.axis] = -1
    scales = np.array(quantization.scales, np.float32).reshape(along)
    points = np.array(quantization.zero_points, np.int32).reshape(along)
    return result(op, scales * (array.astype(np.int32) - points).astype(np.float32))
