"""Tensor types: element type, shape and quantisation. Shared by every stage after the importer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

import numpy as np


class DType(Enum):
    """Element types under TFLite's names. The value is (name, bits, C type, numpy type)."""

    FLOAT32 = ("float32", 32, "float", "<f4")
    FLOAT16 = ("float16", 16, "uint16_t", "<f2")
    INT4 = ("int4", 4, "uint8_t", "|i1")
    INT8 = ("int8", 8, "int8_t", "|i1")
    UINT8 = ("uint8", 8, "uint8_t", "|u1")
    INT16 = ("int16", 16, "int16_t", "<i2")
    UINT16 = ("uint16", 16, "uint16_t", "<u2")
    INT32 = ("int32", 32, "int32_t", "<i4")
    UINT32 = ("uint32", 32, "uint32_t", "<u4")
    INT64 = ("int64", 64, "int64_t", "<i8")
    UINT64 = ("uint64", 64, "uint64_t", "<u8")
    BOOL = ("bool", 8, "bool", "|b1")

    @property
    def label(self) -> str:
        """TFLite's name of the type in lower case, for example "int8"."""
        return self.value[0]

    @property
    def bits(self) -> int:
        """Bits of one element in memory; 4 for two elements to a byte."""
        return self.value[1]

    @property
    def c_type(self) -> str:
        """The C type that holds one element."""
        return self.value[2]

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The NumPy type whose elements have the same bytes; of types below 8 bits, the one that holds them
        unpacked."""
        return np.dtype(self.value[3])

    @property
    def is_float(self) -> bool:
        """Whether elements are floating-point numbers, of 16 or of 32 bits."""
        return self in (DType.FLOAT32, DType.FLOAT16)

    @property
    def limits(self) -> tuple[int, int]:
        """Smallest and largest value of an integer type."""
        if self is DType.BOOL:
            return 0, 1
        if self is DType.INT4:
            return -8, 7
        info = np.iinfo(self.value[3])
        return int(info.min), int(info.max)


@dataclass(frozen=True, slots=True)
class Bound:
    """A dimension known at run time only, with its upper bound."""

    name: str
    max: int


Dim = int | Bound


def dim_max(dim: Dim) -> int:
    """The largest size that a dimension can have."""
    return dim if isinstance(dim, int) else dim.max


@dataclass(frozen=True, slots=True)
class Quantization:
    """Affine quantisation: real = scale * (q - zero_point), per tensor or along one axis."""

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int = 0

    @property
    def per_channel(self) -> bool:
        """Whether there is more than one scale."""
        return len(self.scales) > 1

    @property
    def scale(self) -> float:
        """The scale of the whole tensor; the first one if there are several."""
        return self.scales[0]

    @property
    def zero_point(self) -> int:
        """The zero point of the whole tensor; the first one if there are several."""
        return self.zero_points[0]


@dataclass(frozen=True, slots=True)
class BlockQuantization:
    """Blockwise quantisation along the last axis: real = scale * q, with one scale per `size` elements of a row.

    scales  one per block, row by row
    """

    scales: tuple[float, ...]
    size: int


@lru_cache(maxsize=4096)
def _max_shape(shape: tuple[Dim, ...]) -> tuple[int, ...]:
    return tuple(dim_max(d) for d in shape)


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element type, shape (outermost dimension first) and quantisation of one value.

    blocks  blockwise quantisation of a constant; `quantization` is then None
    """

    dtype: DType
    shape: tuple[Dim, ...]
    quantization: Quantization | None = None
    blocks: BlockQuantization | None = None

    @property
    def max_shape(self) -> tuple[int, ...]:
        """The shape with each dynamic dimension at its upper bound."""
        return _max_shape(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every dimension is known at compile time."""
        return all(isinstance(d, int) for d in self.shape)

    @property
    def dynamic_axes(self) -> tuple[int, ...]:
        """Indices of the dimensions that are known only at run time, in ascending order."""
        return tuple(axis for axis, dim in enumerate(self.shape) if isinstance(dim, Bound))

    def dynamic_dims(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The dimensions of a run-time shape along this type's dynamic axes."""
        return tuple(shape[axis] for axis in self.dynamic_axes)

    def actual_shape(self, dims: Sequence[int]) -> tuple[int, ...]:
        """The shape with its dynamic dimensions replaced by `dims`, in order."""
        sizes = dict(zip(self.dynamic_axes, dims, strict=True))
        return tuple(sizes.get(axis, size) for axis, size in enumerate(self.max_shape))

    @property
    def unit_bytes(self) -> int:
        """Bytes per index of the dynamic dimensions: the bytes of a row if only the first dimension is dynamic."""
        fixed = math.prod(dim for dim in self.shape if isinstance(dim, int))
        return -(-fixed * self.dtype.bits // 8)

    @property
    def elements(self) -> int:
        """Number of elements, with dynamic dimensions at their upper bounds."""
        return math.prod(self.max_shape)

    @property
    def bytes(self) -> int:
        """Size in bytes at `max_shape`; elements below 8 bits are packed, and the last byte is filled up."""
        return -(-self.elements * self.dtype.bits // 8)

    def with_shape(self, shape: tuple[Dim, ...]) -> TensorType:
        """The element type and quantisation with another shape."""
        return replace(self, shape=shape)

    def with_dim(self, axis: int, size: Dim) -> TensorType:
        """The type with another size along one axis."""
        return self.with_shape((*self.shape[:axis], size, *self.shape[axis + 1 :]))

    def __str__(self) -> str:
        dims = ",".join(str(d) if isinstance(d, int) else f"<={d.max}" for d in self.shape)
        return f"{self.dtype.label}[{dims}]"
