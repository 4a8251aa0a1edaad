"""Operators evaluated at compile time: the same bits that their kernels give.

An operator says in its row of the table how it is evaluated (`fold`); element-wise operators on plain numbers and the
steps between floats and quantised integers are here; whatever only moves elements is evaluated from its kernel's loops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tflmgen.kernel import Kernel, OperatorInstance, Target, View
from tflmgen.ops import OPERATORS
from tflmgen.ops.fixed_point import requantize
from tflmgen.ops.quantize_math import Activation, quantize_multiplier
from tflmgen.ops.reshape import VIEWS
from tflmgen.ops.rules import QUANTIZED, input_type, per_tensor, scale, zero_point
from tflmgen.types import DType

Array = NDArray[Any]
Fold = Callable[[OperatorInstance], Sequence[Array] | None]


def fold(name: str, op: OperatorInstance) -> Sequence[Array] | None:
    """The outputs of operator `name`, in their own types and shapes; None where they are not known at compile time."""
    entry = OPERATORS[name]
    with np.errstate(all="ignore"):
        if entry.fold is not None:
            return entry.fold(op)
        if not op.inputs or any(array is None for array in op.constants) or not all(t.is_static for t in op.outputs):
            return None
        if name in FOLDS:
            return FOLDS[name](op)
        kernel = entry.kernel(op, Target("generic")) if name in MOVES else None
        return _moved(kernel, op) if isinstance(kernel, Kernel | View) else None


def _result(op: OperatorInstance, array: Any) -> list[Array]:
    output = op.outputs[0]
    return [np.asarray(array).astype(output.dtype.numpy).reshape(output.max_shape)]


def _operands(op: OperatorInstance) -> list[Array]:
    return [np.asarray(array) for array in op.constants]


def _is_plain(op: OperatorInstance) -> bool:
    """Whether the elements stand for themselves, not for multiples of a scale."""
    return input_type(op, 0).dtype not in QUANTIZED


def _arithmetic(function: Callable[[Array, Array], Array]) -> Fold:
    def evaluate(op: OperatorInstance) -> list[Array] | None:
        if not _is_plain(op):
            return None
        result = function(*_operands(op))
        if op.attributes.activation is not Activation.NONE:
            low, high = op.attributes.activation.bounds
            least, greatest = (low, high) if op.outputs[0].dtype.is_float else _whole(low, high, op.outputs[0].dtype)
            # As the kernel clamps: NaN passes through.
            result = np.where(result < least, least, np.where(result > greatest, greatest, result))
        return _result(op, result)

    return evaluate


def _whole(low: float, high: float, dtype: DType) -> tuple[int, int]:
    least, greatest = dtype.limits
    return int(max(least, low)), int(min(greatest, high))


def _elementwise(function: Callable[..., Any]) -> Fold:
    return lambda op: _result(op, function(*_operands(op))) if _is_plain(op) else None


def _any_elements(function: Callable[..., Any]) -> Fold:
    return lambda op: _result(op, function(*_operands(op)))


def _cast(op: OperatorInstance) -> list[Array] | None:
    array = _operands(op)[0]
    dtype = op.outputs[0].dtype
    if not input_type(op, 0).dtype.is_float or dtype.is_float or dtype is DType.BOOL:
        return _result(op, array != 0 if dtype is DType.BOOL else array)
    # Out of range, the kernel's result depends on the width that it goes through: left to the kernel.
    least, greatest = dtype.limits
    whole = np.trunc(array.astype(np.float64))
    return _result(op, whole) if np.all((whole >= least) & (whole <= greatest)) else None


def _quantize(op: OperatorInstance) -> list[Array] | None:
    source, result = input_type(op, 0), op.outputs[0]
    least, greatest = result.dtype.limits
    if source.dtype is DType.FLOAT32:
        steps = _operands(op)[0] / np.float32(scale(result))
        # As the kernel does: NaN becomes the least, and halves are rounded away from zero.
        bounded = np.where(steps > -131072, np.where(steps < 131072, steps, np.float32(131072)), np.float32(-131072))
        whole = np.trunc(bounded).astype(np.float32)
        rest = bounded.astype(np.float32) - whole
        rounded = whole.astype(np.int64) + (rest >= 0.5) - (rest <= -0.5) + zero_point(result)
        return _result(op, np.clip(rounded, least, greatest))
    multiplier, shift = quantize_multiplier(scale(source) / scale(result))
    scaled = [requantize(int(v) - zero_point(source), multiplier, shift) for v in np.ravel(_operands(op)[0])]
    return _result(op, np.clip(np.array(scaled, np.int64) + zero_point(result), least, greatest))


def _dequantize(op: OperatorInstance) -> list[Array] | None:
    source = input_type(op, 0)
    array = _operands(op)[0]
    if source.dtype is DType.FLOAT16:
        return _result(op, array)
    if not per_tensor(source):
        return None
    return _result(op, np.float32(scale(source)) * (array.astype(np.int32) - zero_point(source)).astype(np.float32))


def _moved(kernel: Kernel | View, op: OperatorInstance) -> list[Array] | None:
    """The output of a view, or of a kernel that copies elements along a nest of loops (firmware/kernels/copy.h)."""
    if isinstance(kernel, View):
        return _result(op, _operands(op)[kernel.input])
    if not kernel.function.startswith("tflmgen_copy_") or kernel.params is None:
        return None
    fields: dict[str, Any] = dict(kernel.params.fields)
    size = 1 if kernel.function == "tflmgen_copy_rows" else op.outputs[0].dtype.bits // 8
    extents, bytes_ = fields["extent"][: fields["rank"]], f"V{size}"
    source = np.frombuffer(_operands(op)[0].tobytes(), bytes_)
    result = np.zeros(op.outputs[0].elements * op.outputs[0].dtype.bits // 8 // size, bytes_)

    def walk(array: Array, side: str) -> Array:
        strides = [stride * size for stride in fields[f"{side}_stride"][: fields["rank"]]]
        return as_strided(array[fields[f"{side}_offset"] :], extents, strides)

    walk(result, "output")[...] = walk(source, "input")
    return _result(op, np.frombuffer(result.tobytes(), op.outputs[0].dtype.numpy))


MOVES = VIEWS | {"TRANSPOSE", "SLICE", "STRIDED_SLICE"}

FOLDS: Mapping[str, Fold] = {
    "ADD": _arithmetic(np.add),
    "SUB": _arithmetic(np.subtract),
    "MUL": _arithmetic(np.multiply),
    "MAXIMUM": _any_elements(lambda a, b: np.where(a > b, a, b)),
    "MINIMUM": _any_elements(lambda a, b: np.where(a < b, a, b)),
    "EQUAL": _elementwise(np.equal),
    "NOT_EQUAL": _elementwise(np.not_equal),
    "LESS": _elementwise(np.less),
    "LESS_EQUAL": _elementwise(np.less_equal),
    "GREATER": _elementwise(np.greater),
    "GREATER_EQUAL": _elementwise(np.greater_equal),
    "LOGICAL_AND": _elementwise(np.logical_and),
    "LOGICAL_OR": _elementwise(np.logical_or),
    "LOGICAL_NOT": _elementwise(np.logical_not),
    "NEG": _elementwise(np.negative),
    "ABS": _elementwise(np.abs),
    "SQUARE": _elementwise(np.square),
    "FLOOR": _elementwise(np.floor),
    "CEIL": _elementwise(np.ceil),
    "CAST": _cast,
    "QUANTIZE": _quantize,
    "DEQUANTIZE": _dequantize,
}
