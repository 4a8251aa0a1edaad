"""Rows of tensor lists get the batch that the inputs have: TensorFlow's converter wants their shapes to be static.

A SavedModel that Keras exports has a batch of any size, and its recurrent layers make lists of rows of (-1, units). Its
inputs are fixed before the conversion; these constants stay. The comparison with the source proves what is put there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.graph_functions import bodies_of

_ELEMENT_SHAPES = {
    "EmptyTensorList": 0,
    "TensorListReserve": 0,
    "TensorListFromTensor": 1,
    "TensorListStack": 1,
    "TensorListGetItem": 2,
}
"""Operand that is the shape of a list's elements, by operation."""


def fix_rows_of_lists(graph_def: Any, _: Sequence[str]) -> str:
    """Writes the batch into constant shapes of elements, where the first dimension alone is open."""
    batch = _batch_of(graph_def)
    fixed = 0
    for nodes in bodies_of(graph_def) if batch is not None else ():
        constants = {node.name: node for node in nodes if node.op == "Const"}
        wanted: set[str] = set()
        others: set[str] = set()
        for node in nodes:
            for place, name in enumerate(node.input):
                is_shape = _ELEMENT_SHAPES.get(node.op) == place
                (wanted if is_shape else others).add(name.split(":")[0])
        for name in sorted((wanted - others) & constants.keys()):
            tensor = constants[name].attr["value"].tensor
            shape = np.array(tf.make_ndarray(tensor))
            if shape.ndim == 1 and shape.size and shape[0] == -1 and (shape[1:] >= 0).all():
                shape[0] = batch
                tensor.CopyFrom(tf.make_tensor_proto(shape))
                fixed += 1
    return f"{fixed} open batches of recurrent rows fixed" if fixed else ""


def _batch_of(graph_def: Any) -> int | None:
    """The first dimension of all inputs that have one; None if they differ."""
    shapes = [node.attr["shape"].shape for node in graph_def.node if node.op == "Placeholder"]
    sizes = {shape.dim[0].size for shape in shapes if shape.dim}
    return sizes.pop() if len(sizes) == 1 and min(sizes) > 0 else None
