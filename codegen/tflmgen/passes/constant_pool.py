"""Constants that passes read and make."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType, Ids, Module, TensorType, Value, constant_array


class Pool:
    """The constants of a module while a pass adds to them."""

    def __init__(self, module: Module) -> None:
        self.constants = dict(module.constants)
        self.ids = Ids(module)
        self._values: dict[tuple[str, TensorType], Value] = {}

    def into(self, module: Module) -> Module:
        """The module with the pool's constants."""
        return replace(module, constants=self.constants)

    def array(self, value: Value | None) -> NDArray[Any] | None:
        """The elements of a constant, or None."""
        return constant_array(value, self.constants)

    def truth(self, value: Value) -> bool | None:
        """What a one-element bool constant holds; None for any other value."""
        if value.type.dtype is not DType.BOOL or value.type.elements != 1 or not value.is_constant:
            return None
        return bool(np.ravel(np.asarray(self.array(value)))[0])

    def boolean(self, truth: bool, like: Value) -> Value:
        """The constant `truth`, of the name and type of `like`."""
        return self.add(np.full(like.type.max_shape, truth), like)

    def add(self, array: NDArray[Any], like: Value) -> Value:
        """A constant with the elements of `array`, of the name and type of `like`. Its key is made of its contents."""
        data = encode(array, like.type.dtype)
        key = f"folded.{hashlib.sha256(data).hexdigest()[:32]}"
        self.constants[key] = data
        if (key, like.type) not in self._values:
            self._values[key, like.type] = Value(self.ids.take(), like.name, like.type, key)
        return self._values[key, like.type]

    def table(self, numbers: Sequence[int]) -> Value:
        """A constant int32 vector: axes, a shape, a permutation."""
        return self.add(np.array(numbers), Value(0, "table", TensorType(DType.INT32, (len(numbers),))))


def encode(array: NDArray[Any], dtype: DType) -> bytes:
    """Elements as the bytes of a constant: little-endian, int4 two to a byte, the first in the lower half."""
    flat = np.ravel(array).astype(dtype.numpy)
    if dtype is not DType.INT4:
        return flat.tobytes()
    nibbles = np.append(flat, np.zeros(flat.size % 2, flat.dtype)).astype(np.uint8) & 15
    return (nibbles[0::2] | nibbles[1::2] << 4).astype(np.uint8).tobytes()
