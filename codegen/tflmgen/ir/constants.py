"""Elements of constants as numpy arrays, and as the bytes that files and C have of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir.graph.module import Value
from tflmgen.ir.types import DType, TensorType


def constant_array(value: Value | None, constants: Mapping[str, bytes]) -> NDArray[Any] | None:
    """Elements of a constant value in its shape (int4 unpacked to int8); None if the value is not constant."""
    if value is None or value.constant is None:
        return None
    return elements_of(value.type, constants[value.constant])


def elements_of(type_: TensorType, data: bytes) -> NDArray[Any]:
    """Elements of a constant of this type in its shape, int4 unpacked to int8."""
    raw = np.frombuffer(data, dtype=np.uint8)
    if type_.dtype is DType.INT4:
        nibbles = np.stack([raw & 15, raw >> 4], axis=1).reshape(-1)[: type_.elements].astype(np.int8)
        return np.where(nibbles > 7, nibbles - 16, nibbles).astype(np.int8).reshape(type_.max_shape)
    return raw.view(type_.dtype.numpy).reshape(type_.max_shape)


def contents(array: NDArray[Any], dtype: DType) -> bytes:
    """Bytes of elements: little-endian, int4 two per byte, the first in the low nibble."""
    if dtype is DType.INT4:
        nibbles = np.append(array.astype(np.int8).ravel(), np.zeros(array.size % 2, np.int8)).view(np.uint8) & 15
        return (nibbles[0::2] | nibbles[1::2] << 4).tobytes()
    return np.ascontiguousarray(array, dtype.numpy).tobytes()
