"""Operands that TensorFlow's converter refuses, written otherwise.

    If(n)  ->  If(n != 0), for a scalar of a numeric type
    Atan2(y, x)  ->  Atan2(BroadcastTo(y, s), BroadcastTo(x, s)), s = BroadcastArgs(Shape(y), Shape(x))

TFLite's ATAN2 does not broadcast; where the shapes are equal, the converter drops what was added.

Rows of tensor lists get the batch that the inputs have, since the converter wants static shapes: a SavedModel that
Keras exports has a batch of any size, and its recurrent layers make lists of rows of (-1, units). Its inputs are fixed
before the conversion; these constants stay. The comparison with the source proves what is put there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.graph_functions import (
    add_constant,
    add_function,
    add_node,
    bodies_of,
    return_outputs,
    set_types,
)

_INT32 = tf.int32.as_datatype_enum


def broadcast_angles(graph_def: Any, _: Sequence[str]) -> str:
    """Gives both operands of each Atan2 the shape of its result, in the graph and in its functions."""
    choices = [
        (place, nodes, node) for place, nodes in enumerate(bodies_of(graph_def)) for node in nodes if node.op == "Atan2"
    ]
    for number, (place, nodes, node) in enumerate(choices):

        def added(op: str, part: str, port: str, *inputs: str, **types: int) -> str:
            """The tensor of a new node: a function names an output by its argument, too; the graph does not."""
            new = nodes.add(name=f"tflmgen_angle_{number}_{part}", op=op)  # noqa: B023
            new.input.extend(inputs)
            for key, type_ in types.items():
                new.attr[key].type = type_
            return new.name if place == 0 else f"{new.name}:{port}:0"  # noqa: B023

        dtype = node.attr["T"].type
        shapes = [
            added("Shape", f"shape_{side}", "output", node.input[side], T=dtype, out_type=_INT32) for side in (0, 1)
        ]
        shape = added("BroadcastArgs", "shape", "r0", *shapes, T=_INT32)
        for side in (0, 1):
            operand = node.input[side]
            node.input[side] = added("BroadcastTo", f"operand_{side}", "output", operand, shape, T=dtype, Tidx=_INT32)
    return f"{len(choices)} Atan2 with operands of one shape" if choices else ""


_BOOL = tf.bool.as_datatype_enum
_IFS = frozenset({"If", "StatelessIf"})


def compare_conditions(graph_def: Any, _: Sequence[str]) -> str:
    """Rewrites each If on a number, in the graph and in its functions: its condition is a function's result."""
    choices = [
        (place, nodes, node)
        for place, nodes in enumerate(bodies_of(graph_def))
        for node in nodes
        if node.op in _IFS and _is_number(tf.as_dtype(node.attr["Tcond"].type))
    ]
    for number, (place, nodes, node) in enumerate(choices):
        dtype = tf.as_dtype(node.attr["Tcond"].type)
        name = f"tflmgen_condition_{number}"
        function = add_function(graph_def.library, name, {"number": dtype.as_datatype_enum}, [_BOOL], is_stateful=False)
        add_constant(function, "zero", 0, dtype)
        add_node(function, "NotEqual", "differs", ["number", "zero:output:0"], T=dtype)
        return_outputs(function, ["differs:z:0"])
        call = nodes.add(name=name, op="PartitionedCall")
        call.input.append(node.input[0])
        set_types(call, "Tin", [dtype.as_datatype_enum])
        set_types(call, "Tout", [_BOOL])
        call.attr["f"].func.name = name
        # A function names an output by its argument, too; the graph does not.
        node.input[0] = f"{name}:0" if place == 0 else f"{name}:output:0"
        node.attr["Tcond"].type = _BOOL
    return f"{len(choices)} If on a number compared with 0" if choices else ""


def _is_number(dtype: Any) -> bool:
    return bool(dtype.is_floating or dtype.is_integer)


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
