"""Functions of a GraphDef's library, written node by node.

A tensor is named "node" or "node:0", a node's first output, and "^node" is a control input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import function_pb2, node_def_pb2


def full_name(name: str) -> str:
    """Name of a tensor; that of a node stands for its first output."""
    return name if ":" in name else f"{name}:0"


def node_name(name: str) -> str:
    """Name of the node that makes a tensor, or that a control input names."""
    return name.lstrip("^").split(":")[0]


def bodies_of(graph_def: Any) -> Iterator[Any]:
    """The nodes of the graph, then those of each function."""
    yield graph_def.node
    for function in graph_def.library.function:
        yield function.node_def


def add_function(library: Any, name: str, inputs: Mapping[str, int], results: Sequence[int], is_stateful: bool) -> Any:
    """A new function without nodes: element types of its inputs by name, and of its results, "result_0" and so on."""
    function = library.function.add()
    assert isinstance(function, function_pb2.FunctionDef)
    function.signature.name = name
    function.signature.is_stateful = is_stateful
    for operand, type_ in inputs.items():
        function.signature.input_arg.add(name=operand, type=type_)
    for number, type_ in enumerate(results):
        function.signature.output_arg.add(name=f"result_{number}", type=type_)
    return function


def add_node(body: Any, op: str, name: str, inputs: Sequence[str], **types: Any) -> Any:
    """A new node of a function; `types` are attributes that are element types."""
    node = body.node_def.add(name=name, op=op)
    assert isinstance(node, node_def_pb2.NodeDef)
    node.input.extend(inputs)
    for key, dtype in types.items():
        node.attr[key].type = tf.as_dtype(dtype).as_datatype_enum
    return node


def add_constant(body: Any, name: str, value: int, dtype: Any = tf.int32) -> None:
    """A new scalar, whose tensor is "NAME:output:0"."""
    node = add_node(body, "Const", name, [], dtype=dtype)
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value, dtype))


def set_types(node: Any, key: str, types: Sequence[int]) -> None:
    """Makes an attribute a list of element types, whatever it was."""
    node.attr[key].Clear()
    node.attr[key].list.type.extend(types)


def add_call(
    body: Any, op: str, function: str, operands: Sequence[str], inputs: Sequence[int], results: Sequence[int]
) -> Any:
    """A call of a function, by an operation such as PartitionedCall; its results are "call:output:0" and so on."""
    call = add_node(body, op, "call", operands)
    set_types(call, "Tin", inputs)
    set_types(call, "Tout", results)
    call.attr["f"].func.name = function
    return call


def return_outputs(body: Any, names: Sequence[str]) -> None:
    """Makes tensors the function's results."""
    for number, name in enumerate(names):
        body.ret[f"result_{number}"] = name


def rename_functions(graph_def: Any, suffix: str) -> None:
    """Appends `suffix` to the names of all functions, where they are made and where they are called."""
    own = {function.signature.name for function in graph_def.library.function}
    for function in graph_def.library.function:
        function.signature.name += suffix
    del graph_def.library.gradient[:]
    for nodes in (graph_def.node, *(function.node_def for function in graph_def.library.function)):
        for node in nodes:
            node.op += suffix if node.op in own else ""
            for called in _references(node):
                if called.name in own:
                    called.name += suffix


def functions_of(node: Any) -> list[str]:
    """Names of the functions that a node may call; its operation may be one."""
    return [node.op, *(function.name for function in _references(node))]


def _references(node: Any) -> list[Any]:
    """References to functions among a node's attributes."""
    functions = []
    for value in node.attr.values():
        kind = value.WhichOneof("value")
        functions += [value.func] if kind == "func" else list(value.list.func) if kind == "list" else []
    return functions
