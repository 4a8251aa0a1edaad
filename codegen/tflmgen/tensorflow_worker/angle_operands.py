"""Operands of Atan2 in one shape: TFLite's operator does not broadcast, and TensorFlow's converter refuses two shapes.

Atan2(y, x)  ->  Atan2(BroadcastTo(y, s), BroadcastTo(x, s)), s = BroadcastArgs(Shape(y), Shape(x))

Where the shapes are equal, the converter drops what was added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tflmgen.tensorflow_worker.graph_functions import bodies_of

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
