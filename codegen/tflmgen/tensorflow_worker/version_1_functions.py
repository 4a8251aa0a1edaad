"""Functions of a graph's library that have control flow of version 1, and who refers to them.

TensorFlow 1 writes them for `Defun`. Freezing inlines most; those that keep TensorArrays stay calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import function_def_to_graph

from tflmgen.tensorflow_worker.stack_lists import lower_stacks
from tflmgen.tensorflow_worker.tensor_arrays import lower_tensor_arrays

MARKS = frozenset({"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"})
"""Operations of control flow of version 1."""
_OPERANDS = {"If": 1, "StatelessIf": 1, "Case": 1, "StatelessCase": 1, "While": 0, "StatelessWhile": 0}
"""Number of the first operand that the functions of an operation take."""


def has_control_flow_v1(graph_def: Any) -> bool:
    """Whether the graph, or a function that it refers to, has control flow of version 1."""
    functions = functions_v1(graph_def.library)
    return any(node.op in MARKS or functions.keys() & set(referred(node)) for node in graph_def.node)


def functions_v1(library: Any) -> dict[str, Any]:
    """Functions that have control flow of version 1, or refer to one that has, by their names."""
    functions = {function.signature.name: function for function in library.function}
    marked = {name for name, function in functions.items() if any(node.op in MARKS for node in function.node_def)}
    count = -1
    while count != len(marked):
        count = len(marked)
        for name, function in functions.items():
            if any(marked.intersection(referred(node)) for node in function.node_def):
                marked.add(name)
    return {name: functions[name] for name in functions if name in marked}


def referred(node: Any) -> Iterator[str]:
    """Names of functions that a node may call; its operation is one where TensorFlow 1 calls it."""
    yield node.op
    for value in node.attr.values():
        kind = value.WhichOneof("value")
        for function in [value.func] if kind == "func" else value.list.func if kind == "list" else ():
            yield function.name


def called_function(node: Any, functions: Mapping[str, Any]) -> Any | None:
    """The function that a node is a call of, if it is among `functions`."""
    is_call = node.op in ("PartitionedCall", "StatefulPartitionedCall")
    return functions.get(node.attr["f"].func.name if is_call else node.op)


def operands_of_functions(node: Any, operands: Sequence[Any]) -> Sequence[Any]:
    """Operands of a node that its functions take: an If's get all but the condition."""
    return operands[_OPERANDS.get(node.op, 0) :]


def graph_of(function: Any, library: Any, operands: Sequence[Any]) -> tuple[Any, list[str], list[str]]:
    """A function as a GraphDef that takes operands of these shapes, with the names of inputs and outputs.

    The default graph must know the functions of the library.
    """
    shapes = [tensor.shape for tensor in operands]
    graph_def, names = function_def_to_graph.function_def_to_graph_def(function, shapes)
    graph_def.library.CopyFrom(library)
    inputs = [f"{operand.name}:0" for operand in function.signature.input_arg]
    outputs = [names[function.ret[result.name]] for result in function.signature.output_arg]
    # The shape of an operand is that of the call, whatever the function says.
    for node, shape in zip(graph_def.node, shapes, strict=False):
        node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
    for node in graph_def.node:
        names_of_inputs = [name.removesuffix(":0") for name in node.input]
        del node.input[:]
        node.input.extend(names_of_inputs)
    lower_stacks(graph_def)
    lower_tensor_arrays(graph_def, outputs)
    return graph_def, inputs, outputs
