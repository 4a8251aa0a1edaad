"""Reads and checks the used tensors of a file: type, shape, quantisation, contents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tflmgen.frontend.tflite.blockwise_scales import read_blocks
from tflmgen.frontend.tflite.model import FileTensor
from tflmgen.frontend.tflite.names import DTYPES, tensor_type_name
from tflmgen.frontend.tflite.problems import Complain
from tflmgen.frontend.tflite.sparse_tensors import dense_contents
from tflmgen.ir import DType, Quantization

_MAX_BYTES = 2**31 - 1
"""Largest tensor: sizes and offsets in C are int32_t."""
_MAX_RANK = 8
"""Most dimensions of a tensor that is read; many operators' rules allow fewer."""

_RESOURCE = "resource"
COMPLEX = "complex64"
"""Type without a DType: tensor_forms.py writes such tensors as floats."""
_AS_BOOL = bytes([0, *[1] * 255])
"""Byte of a bool in a file -> 0 or 1, the only valid bytes of a C bool."""


def read_tensor(
    index: int,
    tensors: Sequence[Mapping[str, Any]],
    name: str,
    buffers: Sequence[bytes],
    is_produced: bool,
    complain: Complain,
) -> FileTensor:
    """Tensor `index` of the decoded tables `tensors`; reports its faults to `complain`.

    is_produced  whether an operator or an input defines it; other tensors without elements are empty constants
    """
    raw = tensors[index]
    type_name = tensor_type_name(raw["type"]) or f"number {raw['type']}"
    dtype = DTYPES.get(type_name)
    shape, signature = raw["shape"], raw["shape_signature"] or None
    data = _contents(raw, buffers, complain)
    if data is None and 0 in shape and not (is_produced or raw["is_variable"]):
        data = b""
    data = data.translate(_AS_BOOL) if data is not None and dtype is DType.BOOL else data
    _check_form(type_name, data, complain)
    if _shape_is_valid(shape, signature, complain) and dtype is not None:
        data = _dense(raw, dtype, shape, data, complain)
    is_packed = data is not None and dtype is not None and not dtype.is_float
    blocks = read_blocks(index, tensors, buffers, complain) if is_packed else None
    return FileTensor(
        index=index,
        name=name,
        dtype=dtype,
        type_name=type_name,
        shape=shape,
        shape_signature=signature,
        has_rank=raw["has_rank"] or bool(shape) or data is not None,
        quantization=None if dtype is None or blocks else _quantization(raw["quantization"], dtype, shape, complain),
        data=data,
        is_variable=raw["is_variable"],
        buffer=raw["buffer"],
        blocks=blocks,
        recorded_range=_recorded_range(raw["quantization"], dtype),
    )


def _check_form(type_name: str, data: bytes | None, complain: Complain) -> None:
    """Element type, and whether such a tensor may have contents."""
    if type_name not in DTYPES and type_name not in (_RESOURCE, COMPLEX):
        complain(f"element type {type_name} is not supported", f"Supported are {', '.join(DTYPES)}")
    if data is not None and type_name == _RESOURCE:
        complain(f"it is a resource, the handle of a variable, which has no contents; here it has {len(data):,} bytes")


def _contents(raw: Mapping[str, Any], buffers: Sequence[bytes], complain: Complain) -> bytes | None:
    if raw["buffer"] >= len(buffers):
        complain(f"it refers to buffer {raw['buffer']}, but the file has {len(buffers)}")
        return None
    data = buffers[raw["buffer"]] or None
    if data and raw["is_variable"]:
        complain("it is both a variable and a constant")
    return data


def _shape_is_valid(shape: tuple[int, ...], signature: tuple[int, ...] | None, complain: Complain) -> bool:
    if len(shape) > _MAX_RANK:
        complain(f"it has {len(shape)} dimensions; at most {_MAX_RANK} are supported")
        return False
    if min(shape, default=0) < 0:
        complain(f"shape {list(shape)} has a negative dimension")
        return False
    if signature is not None and (
        len(signature) != len(shape) or any(s not in (-1, d) for s, d in zip(signature, shape, strict=True))
    ):
        complain(f"shape {list(shape)} contradicts its signature {list(signature[:_MAX_RANK])}")
    return True


def _dense(
    raw: Mapping[str, Any], dtype: DType, shape: tuple[int, ...], data: bytes | None, complain: Complain
) -> bytes | None:
    """Contents in dense form, checked against type and shape."""
    if raw["sparsity"] is None or data is None:
        _check_size(dtype, shape, data, complain)
        return data
    dense = dense_contents(raw["sparsity"], tuple(shape), dtype, data, complain)
    return data if dense is None else dense


def _check_size(dtype: DType, shape: tuple[int, ...], data: bytes | None, complain: Complain) -> None:
    size = -(-math.prod(shape) * dtype.bits // 8)
    described = f"{dtype.label}{list(shape)}"
    if size > _MAX_BYTES:
        complain(f"{described} takes {size:,} bytes; a tensor can have at most {_MAX_BYTES:,}")
    elif data is not None and len(data) != size:
        complain(f"{described} takes {size:,} bytes, but its contents have {len(data):,}")


def _recorded_range(raw: Mapping[str, Any] | None, dtype: DType | None) -> tuple[float, float] | None:
    """The range beside a float tensor; None where the file has none for the whole tensor, or no sensible one."""
    if raw is None or dtype is not DType.FLOAT32 or len(raw["min"]) != 1 or len(raw["max"]) != 1:
        return None
    low, high = float(raw["min"][0]), float(raw["max"][0])
    return (low, high) if math.isfinite(low) and math.isfinite(high) and low < high else None


def _quantization(
    raw: Mapping[str, Any] | None, dtype: DType, shape: tuple[int, ...], complain: Complain
) -> Quantization | None:
    if raw is None or not raw["scale"] or dtype.is_float:
        return None
    scales, zero_points, axis = raw["scale"], raw["zero_point"], raw["quantized_dimension"]
    if len(shape) == 1:
        axis = 0  # Old converters copied the weights' axis to biases, which have only one.
    bad = [scale for scale in scales if not (math.isfinite(scale) and scale > 0)]
    if bad:
        complain(f"quantisation scale {bad[0]:g} is not a positive number")
    low, high = dtype.limits
    outside = [zero_point for zero_point in zero_points if not low <= zero_point <= high]
    if outside:
        complain(f"zero point {outside[0]} is outside {dtype.label}'s range {low} to {high}")
    if len(scales) != len(zero_points):
        complain(f"it has {len(scales)} quantisation scales, but {len(zero_points)} zero points")
    if len(scales) > 1:
        if not 0 <= axis < len(shape):
            complain(f"quantisation axis {axis} is not one of its {len(shape)} dimensions")
        elif len(scales) != shape[axis]:
            complain(f"it has {len(scales)} quantisation scales for {shape[axis]} channels along axis {axis}")
    return Quantization(scales, zero_points, axis)
