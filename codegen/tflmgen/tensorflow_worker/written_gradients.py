"""Operations of training steps, written with others: gradients, updates, and operations whose form depends on both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import handle_data_util

from tflmgen.tensorflow_worker.written_axis_gradients import AXIS_GRADIENTS
from tflmgen.tensorflow_worker.written_operations import WRITTEN
from tflmgen.tensorflow_worker.written_shapes import Attributes, KeptError, UnwritableError, Write, static_shape
from tflmgen.tensorflow_worker.written_updates import UPDATES
from tflmgen.tensorflow_worker.written_window_gradients import WINDOW_GRADIENTS, WINDOWS


def _shapes(_: Attributes, operands: Sequence[Any]) -> Any:
    return [np.array(static_shape(operand, "an operand"), np.int32) for operand in operands]


def _with_shape(attributes: Attributes, x: Any) -> Any:
    """EnsureShape where only it knows the shape: as many rows as a list that grows is said to have."""
    shape = tf.TensorShape(attributes["shape"])
    if x.shape.is_fully_defined() or not shape.is_fully_defined():
        raise KeptError
    return tf.reshape(x, shape)


def _variable_shape(attributes: Attributes, handle: Any) -> Any:
    shape = handle_data_util.get_resource_handle_data(handle).shape_and_type[0].shape
    sizes = [dim.size for dim in shape.dim]
    if shape.unknown_rank or min(sizes, default=0) < 0:
        raise UnwritableError("the variable has no static shape")
    return np.array(sizes, attributes.get("out_type", tf.int32).as_numpy_dtype)


GRADIENTS: Mapping[str, Write] = {**AXIS_GRADIENTS, **WINDOW_GRADIENTS, **UPDATES}
"""Operations that only training has."""

OF_TRAINING: Mapping[str, Write] = {
    **WRITTEN,
    **GRADIENTS,
    **WINDOWS,
    "EnsureShape": _with_shape,
    "ShapeN": _shapes,
    "VariableShape": _variable_shape,
}
"""All operations that are written with others in a graph that trains."""
