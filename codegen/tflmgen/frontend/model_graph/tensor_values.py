"""Constants of a file as arrays of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.tflite.model import FileTensor
from tflmgen.ir import Quantization, TensorType, elements_of

Array = NDArray[Any]


def constant_values(tensor: FileTensor) -> Array:
    """Real numbers or integers in a constant."""
    assert tensor.data is not None
    assert tensor.dtype is not None
    array = elements_of(TensorType(tensor.dtype, tensor.shape), tensor.data)
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
