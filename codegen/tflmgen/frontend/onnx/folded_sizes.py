"""Sizes of the constants that a node makes, known before any of them is allocated."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import numpy_helper

from tflmgen.frontend.onnx.laid_out import LARGEST_CONSTANT, Array, check_constant

READ = 4096
"""Elements of an operand up to which ONNX's shape inference gets its contents: shapes, axes, limits."""
GROWTH = 16
"""Result bytes per byte of operands that are assumed where shape inference does not know the result's shape."""


def check_results(model: onnx.ModelProto, operands: Mapping[str, Array]) -> bool:
    """Raises NodeError if the model's one node makes more than LARGEST_CONSTANT bytes of these operands.

    False if its results may be larger, but need not be.
    """
    known = onnx.ModelProto()
    known.CopyFrom(model)
    small = {name: array for name, array in operands.items() if array.size <= READ}
    known.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in small.items())
    try:
        inferred = onnx.shape_inference.infer_shapes(known, data_prop=True)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        inferred = known
    is_bounded = True
    for output in inferred.graph.output:
        proto = output.type.tensor_type
        sizes = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in proto.shape.dim]
        if not proto.HasField("shape") or not proto.elem_type or -1 in sizes:
            is_bounded &= GROWTH * sum(array.nbytes for array in operands.values()) <= LARGEST_CONSTANT
        else:
            check_constant(sizes, _bytes_of(proto.elem_type))
    return is_bounded


def _bytes_of(elem_type: int) -> int:
    try:
        return int(onnx.helper.tensor_dtype_to_np_dtype(elem_type).itemsize)
    except (KeyError, TypeError):
        return 8
