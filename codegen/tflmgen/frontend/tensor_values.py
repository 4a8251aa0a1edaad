"""Constants of a file as arrays of numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.tflite.model import Tensor
from tflmgen.ir import DType, Quantization

Array = NDArray[Any]


def constant_values(tensor: Tensor) -> Array:
    """Real numbers or integers in a constant."""
    assert tensor.data is not None
    assert tensor.dtype is not None
    if tensor.dtype is DType.INT4:
        nibbles = np.frombuffer(tensor.data, np.uint8)
        signed = np.stack([nibbles & 15, nibbles >> 4], axis=-1).reshape(-1).astype(np.int8)
        array: Array = ((signed ^ 8) - 8)[: math.prod(tensor.shape)].reshape(tensor.shape)
    else:
        array = np.frombuffer(tensor.data, tensor.dtype.numpy).reshape(tensor.shape)
    return array if tensor.quantization is None else real_values(array, tensor.quantization)


def real_values(elements: Array, quantization: Quantization) -> Array:
    """The real numbers that quantised elements stand for."""
    scales, zeros = along_axis(quantization, elements.ndim)
    return ((elements.astype(np.float64) - zeros) * scales).astype(np.float32)


def along_axis(quantization: Quantization, rank: int) -> tuple[Array, Array]:
    """Scales and zero points, as they broadcast over elements of this rank."""
    shape = [1] * rank
    if quantization.per_channel:
        shape[quantization.axis] = len(quantization.scales)
    scales, zeros = np.array(quantization.scales), np.array(quantization.zero_points, np.float64)
    return (scales.reshape(shape), zeros.reshape(shape)) if rank else (scales[0], zeros[0])
