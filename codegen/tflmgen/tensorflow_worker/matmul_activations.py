"""MatMul with an activation and weights from the run time becomes BatchMatMulV2 of three dimensions, and Squeeze.

TensorFlow's converter fuses the activation into FULLY_CONNECTED first, and makes BATCH_MATMUL of that afterwards where
the weights are no constant: that has no activation, so it would be lost. A product of three dimensions is no
FULLY_CONNECTED to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

FUSED = frozenset({"Relu", "Relu6", "Maximum", "Minimum", "ClipByValue"})
"""Operations that the converter fuses into FULLY_CONNECTED."""
BETWEEN = frozenset({"BiasAdd", "Add", "AddV2", "Identity", "Reshape", "Minimum", "Maximum"})
UNCHANGED = frozenset({"Identity", "ReadVariableOp"})


def keep_activations(graph_def: Any, _: Sequence[str]) -> str:
    """Rewrites such products in the graph and in its functions."""
    bodies = [(graph_def, graph_def.node)]
    bodies += [(function, function.node_def) for function in graph_def.library.function]
    count = sum(_body(owner, nodes) for owner, nodes in bodies)
    return f"{count} activations kept of products whose weights are computed" if count else ""


def _body(owner: Any, nodes: Any) -> int:
    by_name = {node.name: node for node in nodes}
    readers: dict[str, list[Any]] = {}
    for node in nodes:
        for name in node.input:
            readers.setdefault(name.split(":")[0], []).append(node)
    products = [
        node
        for node in nodes
        if node.op == "MatMul" and not _is_constant(node.input[1], by_name) and _is_activated(node, readers)
    ]
    is_function = hasattr(owner, "ret")
    for node in products:
        _rewrite(node, nodes, is_function)
        for reader in readers.get(node.name, ()):
            for place, name in enumerate(reader.input):
                if name == f"{node.name}:product:0":
                    reader.input[place] = f"{node.name}:output:0"
        for result, name in (dict(owner.ret) if is_function else {}).items():
            if name == f"{node.name}:product:0":
                owner.ret[result] = f"{node.name}:output:0"
    return len(products)


def _rewrite(node: Any, nodes: Any, is_function: bool) -> None:
    """Makes the node a Squeeze of a new product; in a function, outputs of nodes have names."""
    output = ":output:0" if is_function else ""
    axis = nodes.add(name=f"{node.name}/axis", op="Const")
    axis.attr["dtype"].type = tf.int32.as_datatype_enum
    axis.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(0, tf.int32))
    if not is_function:  # in the same loop
        axis.input.append(f"^{node.input[0].lstrip('^').split(':')[0]}")
    dtype = node.attr["T"].type
    sides = []
    for letter, operand in zip("ab", node.input, strict=False):
        side = nodes.add(name=f"{node.name}/{letter}", op="ExpandDims")
        side.input.extend([operand, f"{axis.name}{output}"])
        side.attr["T"].type = dtype
        side.attr["Tdim"].type = tf.int32.as_datatype_enum
        sides.append(f"{side.name}{output}")
    product = nodes.add(name=f"{node.name}/product", op="BatchMatMulV2")
    product.input.extend([*sides, *node.input[2:]])
    product.attr["T"].type = dtype
    product.attr["adj_x"].b = node.attr["transpose_a"].b
    product.attr["adj_y"].b = node.attr["transpose_b"].b
    for name in list(node.attr):
        del node.attr[name]
    del node.input[:]
    node.op = "Squeeze"
    node.input.append(f"{product.name}{output}")
    node.attr["T"].type = dtype
    node.attr["squeeze_dims"].list.i.append(0)


def _is_constant(name: str, by_name: dict[str, Any]) -> bool:
    """Whether a value is a constant, perhaps by other names."""
    node = by_name.get(name.split(":")[0])
    while node is not None and node.op in UNCHANGED:
        node = by_name.get(node.input[0].split(":")[0])
    return node is not None and node.op == "Const"


def _is_activated(node: Any, readers: dict[str, list[Any]]) -> bool:
    """Whether the product, perhaps with a bias, goes into an operation that would be fused."""
    pending, seen = [node], set()
    while pending:
        for reader in readers.get(pending.pop().name, ()):
            if reader.op in FUSED:
                return True
            if reader.op in BETWEEN and reader.name not in seen:
                seen.add(reader.name)
                pending.append(reader)
    return False
