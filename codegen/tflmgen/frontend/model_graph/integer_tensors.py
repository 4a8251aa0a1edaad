"""Real numbers in integers, as TFLite stores them: element types, and scales of weights, biases and fixed results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.frontend.tflite.model import FileTensor
from tflmgen.ir import DType, Quantization
from tflmgen.kernels import traits_of


@dataclass(frozen=True, slots=True)
class ElementType:
    """Element type and quantisation of a tensor; None for floats, and for integers that are plain numbers."""

    dtype: DType
    quantization: Quantization | None = None

    @property
    def affine(self) -> Quantization:
        """Scale and zero point of integers that have them; it is an error of the caller to ask others."""
        assert self.quantization is not None
        return self.quantization


FLOAT = ElementType(DType.FLOAT32)

PROBABILITIES: Mapping[DType, Quantization] = {
    DType.INT8: Quantization((1 / 256,), (-128,)),
    DType.INT16: Quantization((1 / 32768,), (0,)),
}
"""Quantisation of results from 0 to 1, such as those of LOGISTIC and SOFTMAX."""

SIGNED_UNITS: Mapping[DType, Quantization] = {
    DType.INT8: Quantization((1 / 128,), (0,)),
    DType.INT16: Quantization((1 / 32768,), (0,)),
}
"""Quantisation of results from -1 to 1, such as those of TANH and L2_NORMALIZATION."""

LOGARITHMS = Quantization((16 / 256,), (127,))
"""Quantisation of the int8 results of LOG_SOFTMAX."""


@dataclass(frozen=True, slots=True)
class WeightOperands:
    """Places of an operator's inputs: what it filters, its weights, its bias; `axis` counts the output's channels."""

    source: int
    weights: int
    bias: int
    axis: int


def weight_places(name: str) -> WeightOperands | None:
    """Places of the operands of a layer whose weights have a scale per output channel; None for other operators."""
    roles = traits_of(name).roles
    if roles.weights is None or roles.bias is None or roles.scale_axis is None:
        return None
    return WeightOperands(roles.data, roles.weights, roles.bias, roles.scale_axis)


def with_element(tensor: FileTensor, element: ElementType) -> FileTensor:
    """The tensor in an element type; its data, if any, stay."""
    dtype = element.dtype
    return replace(tensor, dtype=dtype, type_name=dtype.label, quantization=element.quantization)


def bias_element(source: ElementType, weights: Quantization) -> ElementType:
    """Element type of a layer's bias: its scales are the products of the input's and the weights', in float32."""
    scales = tuple(float(np.float32(np.float32(source.affine.scale) * np.float32(scale))) for scale in weights.scales)
    dtype = DType.INT64 if source.dtype is DType.INT16 else DType.INT32
    return ElementType(dtype, Quantization(scales, (0,) * len(scales)))
