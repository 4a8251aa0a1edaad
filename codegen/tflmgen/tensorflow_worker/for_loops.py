"""For becomes While: TensorFlow's converter knows While, but no For.

    For(start, limit, delta, x...; body)  ->  While(x..., start, limit, delta; cond, next)
    cond = i < limit, or i > limit if delta < 0        next = body(i, x...), i + delta, limit, delta

The results of the For are the first of the While, so that what reads them stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from tflmgen.tensorflow_worker.graph_functions import (
    add_call,
    add_constant,
    add_function,
    add_node,
    bodies_of,
    return_outputs,
    set_types,
)

_COUNTER = ("index", "limit", "delta")
_INT32 = tf.int32.as_datatype_enum


def lower_for_loops(graph_def: Any, _: Sequence[str]) -> str:
    """Rewrites each For of the graph and of its functions, which come to have two functions more."""
    loops = [(node, nodes) for nodes in bodies_of(graph_def) for node in nodes if node.op == "For"]
    for number, (node, nodes) in enumerate(loops):
        _lower(graph_def.library, node, _known_delta(node, nodes), f"tflmgen_for_{number}")
    return f"{len(loops)} For written as While" if loops else ""


def _known_delta(node: Any, nodes: Sequence[Any]) -> int | None:
    """The step if it is a constant."""
    base = node.input[2].split(":")[0]
    for other in nodes:
        if other.name == base and other.op == "Const":
            return int(tf.make_ndarray(other.attr["value"].tensor))
    return None


def _lower(library: Any, node: Any, delta: int | None, prefix: str) -> None:
    own = {f"operand_{i}": type_ for i, type_ in enumerate(node.attr["T"].list.type)}
    inputs = {**own, **dict.fromkeys(_COUNTER, _INT32)}
    _add_condition(library, f"{prefix}_cond", inputs, delta)
    _add_body(library, f"{prefix}_next", own, inputs, node.attr["body"].func.name)
    counter, values = node.input[: len(_COUNTER)], node.input[len(_COUNTER) :]
    # Control inputs come last.
    operands = [*values[: len(own)], *counter, *values[len(own) :]]
    del node.input[:]
    node.input.extend(operands)
    node.op = "While"
    set_types(node, "T", list(inputs.values()))
    node.attr["cond"].func.name = f"{prefix}_cond"
    node.attr["body"].func.name = f"{prefix}_next"


def _add_condition(library: Any, name: str, inputs: Mapping[str, int], delta: int | None) -> None:
    """Whether the loop goes on. A step that is no constant decides at run time which way it counts."""
    function = add_function(library, name, inputs, [tf.bool.as_datatype_enum], is_stateful=False)
    if delta is not None:
        add_node(function, "Less" if delta > 0 else "Greater", "proceeds", ["index", "limit"], T=tf.int32)
        return_outputs(function, ["proceeds:z:0"])
        return
    add_constant(function, "zero", 0)
    for op, side in (("Greater", "up"), ("Less", "down")):
        opposite = "Less" if op == "Greater" else "Greater"
        add_node(function, op, f"is_{side}", ["delta", "zero:output:0"], T=tf.int32)
        add_node(function, opposite, f"before_{side}", ["index", "limit"], T=tf.int32)
        add_node(function, "LogicalAnd", side, [f"is_{side}:z:0", f"before_{side}:z:0"])
    add_node(function, "LogicalOr", "proceeds", ["up:z:0", "down:z:0"])
    return_outputs(function, ["proceeds:z:0"])


def _add_body(library: Any, name: str, own: Mapping[str, int], inputs: Mapping[str, int], body: str) -> None:
    function = add_function(library, name, inputs, list(inputs.values()), is_stateful=True)
    types = list(own.values())
    add_call(function, "StatefulPartitionedCall", body, ["index", *own], [_INT32, *types], types)
    add_node(function, "AddV2", "following", ["index", "delta"], T=tf.int32)
    results = [f"call:output:{i}" for i in range(len(types))]
    return_outputs(function, [*results, "following:z:0", "limit", "delta"])
