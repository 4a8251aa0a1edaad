"""Element-wise operators and reductions evaluated at compile time, bit for bit as their kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType, OperatorInstance
from tflmgen.kernels.numeric.fixed_point import requantize
from tflmgen.kernels.numeric.quantize_math import Activation, quantize_multiplier
from tflmgen.kernels.operators.reduce import axes
from tflmgen.kernels.rules import QUANTIZED, input_type, scale, zero_point

Array = NDArray[Any]
Fold = Callable[[OperatorInstance], list[Array] | None]


def operands(op: OperatorInstance) -> list[Array]:
    """The elements of every input, all constant."""
    return [np.asarray(array) for array in op.constants]


def result(op: OperatorInstance, array: Any) -> list[Array]:
    """`array` as output 0."""
    output = op.outputs[0]
    return [np.asarray(array).astype(output.dtype.numpy).reshape(output.max_shape)]


def _is_plain(op: OperatorInstance) -> bool:
    """Whether the elements stand for themselves, not for multiples of a scale."""
    return input_type(op, 0).dtype not in QUANTIZED


def _arithmetic(function: Callable[[Array, Array], Array]) -> Fold:
    def evaluate(op: OperatorInstance) -> list[Array] | None:
        if not _is_plain(op):
            return None
        array = function(*operands(op))
        # As the kernel clamps: NaN passes through, infinity does not even without an activation.
        least, greatest = _bounds(op.attributes.activation, op.outputs[0].dtype)
        return result(op, np.where(array < least, least, np.where(array > greatest, greatest, array)))

    return evaluate


def _bounds(activation: Activation, dtype: DType) -> tuple[float, float]:
    low, high = activation.bounds
    if dtype.is_float:
        return low, high
    least, greatest = dtype.limits
    return int(max(least, low)), int(min(greatest, high))


def _plain(function: Callable[..., Any]) -> Fold:
    return lambda op: result(op, function(*operands(op))) if _is_plain(op) else None


def _any_elements(function: Callable[..., Any]) -> Fold:
    return lambda op: result(op, function(*operands(op)))


def _whole_division(function: Callable[[Array, Array], Array]) -> Fold:
    """Integers divided by 0 give 0; floats are left to the kernel."""

    def evaluate(op: OperatorInstance) -> list[Array] | None:
        if input_type(op, 0).dtype not in (DType.INT32, DType.INT64):
            return None
        a, b = operands(op)
        return result(op, np.where(b == 0, 0, function(a, np.where(b == 0, 1, b))))

    return evaluate


def _extreme(function: Callable[..., Any], limit: int) -> Callable[..., Array]:
    """Of no elements, the least or greatest number of the type."""

    def extreme(array: Array, axis: tuple[int, ...]) -> Array:
        kind: Any = np.finfo(array.dtype) if array.dtype.kind == "f" else np.iinfo(array.dtype)
        found: Array = function(array, axis=axis, **({} if array.size else {"initial": (kind.min, kind.max)[limit]}))
        return found

    return extreme


def _reduction(function: Callable[..., Any]) -> Fold:
    def evaluate(op: OperatorInstance) -> list[Array] | None:
        gone = axes(op)
        array = operands(op)[0]
        exact = input_type(op, 0).dtype in (DType.INT32, DType.INT64, DType.BOOL) or not array.size
        return result(op, function(array, axis=tuple(sorted(gone)))) if exact and gone is not None else None

    return evaluate


def _wrapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction in the elements' own type, where NumPy would widen."""
    return lambda array, axis: function(array, axis=axis, dtype=array.dtype)


def _cast(op: OperatorInstance) -> list[Array] | None:
    array = operands(op)[0]
    dtype = op.outputs[0].dtype
    if not input_type(op, 0).dtype.is_float or dtype.is_float or dtype is DType.BOOL:
        return result(op, array != 0 if dtype is DType.BOOL else array)
    # Out of range, the result depends on the width that the kernel goes through.
    least, greatest = dtype.limits
    whole = np.trunc(array.astype(np.float64))
    return result(op, whole) if np.all((whole >= least) & (whole <= greatest)) else None


def _quantize(op: OperatorInstance) -> list[Array] | None:
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
        rounded = np.array([requantize(int(v), multiplier, shift) for v in np.ravel(centred)], np.int64)
    return result(op, np.clip(rounded + zero_point(target), least, greatest))


def _dequantize(op: OperatorInstance) -> list[Array] | None:
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


ELEMENTS: Mapping[str, Fold] = {
    "ADD": _arithmetic(np.add),
    "SUB": _arithmetic(np.subtract),
    "MUL": _arithmetic(np.multiply),
    "SQUARED_DIFFERENCE": _plain(lambda a, b: (a - b) * (a - b)),
    "FLOOR_DIV": _whole_division(np.floor_divide),
    "FLOOR_MOD": _whole_division(np.remainder),
    "MAXIMUM": _any_elements(lambda a, b: np.where(a > b, a, b)),
    "MINIMUM": _any_elements(lambda a, b: np.where(a < b, a, b)),
    "EQUAL": _plain(np.equal),
    "NOT_EQUAL": _plain(np.not_equal),
    "LESS": _plain(np.less),
    "LESS_EQUAL": _plain(np.less_equal),
    "GREATER": _plain(np.greater),
    "GREATER_EQUAL": _plain(np.greater_equal),
    "LOGICAL_AND": _plain(np.logical_and),
    "LOGICAL_OR": _plain(np.logical_or),
    "LOGICAL_NOT": _plain(np.logical_not),
    "NEG": _plain(np.negative),
    "ABS": _plain(np.abs),
    "SQUARE": _plain(np.square),
    "SQRT": _plain(np.sqrt),
    "FLOOR": _plain(np.floor),
    "CEIL": _plain(np.ceil),
    "RELU": _plain(lambda x: np.where(x < 0, np.float32(0), x)),
    "SUM": _reduction(_wrapping(np.sum)),
    "REDUCE_PROD": _reduction(_wrapping(np.prod)),
    "REDUCE_MAX": _reduction(_extreme(np.max, 0)),
    "REDUCE_MIN": _reduction(_extreme(np.min, 1)),
    "REDUCE_ANY": _reduction(np.any),
    "REDUCE_ALL": _reduction(np.all),
    "CAST": _cast,
    "QUANTIZE": _quantize,
    "DEQUANTIZE": _dequantize,
}
