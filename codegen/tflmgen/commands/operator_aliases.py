"""Names that ONNX, Keras and PyTorch give to operators, and the TFLite operators that they become."""

from __future__ import annotations

from collections.abc import Mapping

ALIASES: Mapping[str, tuple[str, ...]] = {
    "BATCHNORMALIZATION": ("MUL", "ADD"),
    "CLIP": ("MAXIMUM", "MINIMUM", "RELU6"),
    "CONVTRANSPOSE": ("TRANSPOSE_CONV",),
    "DENSE": ("FULLY_CONNECTED",),
    "FLATTEN": ("RESHAPE",),
    "GEMM": ("FULLY_CONNECTED",),
    "GLOBALAVERAGEPOOL": ("MEAN",),
    "GLOBALMAXPOOL": ("REDUCE_MAX",),
    "LAYERNORMALIZATION": ("MEAN", "SQUARED_DIFFERENCE", "RSQRT", "MUL", "ADD"),
    "LINEAR": ("FULLY_CONNECTED",),
    "MATMUL": ("BATCH_MATMUL", "FULLY_CONNECTED"),
    "REDUCEMEAN": ("MEAN",),
    "REDUCESUM": ("SUM",),
    "SIGMOID": ("LOGISTIC",),
    "SWISH": ("LOGISTIC", "MUL"),
    "UPSAMPLE": ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"),
}
"""A name without underscores, in capitals -> operators."""


def spelled(name: str) -> str:
    """The name as names are compared: Conv2D is CONV_2D."""
    return name.upper().replace("_", "")


def matches(name: str, operator: str) -> bool:
    """Whether the operator's name contains this one, or the operator is what another framework's name becomes."""
    return spelled(name) in spelled(operator) or operator in ALIASES.get(spelled(name), ())
