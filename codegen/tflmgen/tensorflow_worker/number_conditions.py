"""An If on a number becomes an If on a truth value: TensorFlow's converter refuses the former.

If(n)  ->  If(n != 0), for a scalar of a numeric type
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tflmgen.tensorflow_worker.graph_functions import (
    add_constant,
    add_function,
    add_node,
    bodies_of,
    return_outputs,
    set_types,
)

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
