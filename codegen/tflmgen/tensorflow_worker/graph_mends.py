"""What TensorFlow's converter breaks, rewritten in the GraphDef before it: one function each, in two tuples."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tflmgen.tensorflow_worker.angle_operands import broadcast_angles
from tflmgen.tensorflow_worker.case_branches import lower_cases
from tflmgen.tensorflow_worker.for_loops import lower_for_loops
from tflmgen.tensorflow_worker.matmul_activations import keep_activations
from tflmgen.tensorflow_worker.number_conditions import compare_conditions
from tflmgen.tensorflow_worker.open_batches import fix_rows_of_lists
from tflmgen.tensorflow_worker.tensor_arrays import lower_tensor_arrays

Mend = Callable[[Any, Sequence[str]], str]
"""Changes a GraphDef with these outputs in place; a sentence about what was done, empty if nothing was."""


def _drop_shape_checks(graph_def: Any, _: Sequence[str]) -> str:
    """EnsureShape becomes Identity: TFLite's tensors have shapes of their own."""
    for nodes in (graph_def.node, *(function.node_def for function in graph_def.library.function)):
        for node in nodes:
            if node.op == "EnsureShape":
                node.op = "Identity"
                del node.attr["shape"]
    return ""


BEFORE_FREEZING: tuple[Mend, ...] = (lower_cases, lower_for_loops, compare_conditions, broadcast_angles)
"""What freezing would lower to control flow that the converter does not know, and what depends on no constants."""
BEFORE_STRUCTURE: tuple[Mend, ...] = (keep_activations, lower_tensor_arrays)
"""What depends on which operands are constants, before control flow of version 1 becomes If and While."""
AFTER_STRUCTURE: tuple[Mend, ...] = (_drop_shape_checks, fix_rows_of_lists)
"""What would take shapes away from loop variables before."""
AFTER_FREEZING: tuple[Mend, ...] = (*AFTER_STRUCTURE, *BEFORE_STRUCTURE)
"""Both, for a graph without control flow of version 1."""

_VERSIONS = itertools.count()


def mend_graph(graph_def: Any, outputs: Sequence[str], mends: Sequence[Mend]) -> list[str]:
    """Mends a graph in place; what was done. Its functions get new names, since TensorFlow knows the old by theirs."""
    done = [text for text in (mend(graph_def, outputs) for mend in mends) if text]
    rename_functions(graph_def, f"_m{next(_VERSIONS)}")
    return done


def rename_functions(graph_def: Any, suffix: str) -> None:
    """Appends `suffix` to the names of all functions, where they are made and where they are called."""
    own = {function.signature.name for function in graph_def.library.function}
    for function in graph_def.library.function:
        function.signature.name += suffix
    del graph_def.library.gradient[:]
    for nodes in (graph_def.node, *(function.node_def for function in graph_def.library.function)):
        for node in nodes:
            node.op += suffix if node.op in own else ""
            for called in _functions_of(node):
                if called.name in own:
                    called.name += suffix


def _functions_of(node: Any) -> list[Any]:
    """References to functions among a node's attributes."""
    functions = []
    for value in node.attr.values():
        kind = value.WhichOneof("value")
        functions += [value.func] if kind == "func" else list(value.list.func) if kind == "list" else []
    return functions


def mended_function(function: Any, also: Mend) -> tuple[Any, list[str]]:
    """A ConcreteFunction that computes the same on the same variables, mended; and what was done.

    also  a mend of this conversion
    """
    graph_def = function.graph.as_graph_def()
    done = mend_graph(graph_def, [], (also, *BEFORE_FREEZING))
    if not done:
        return function, []
    captures = function.graph.captures
    own = function.inputs[: len(function.inputs) - len(captures)]

    def run(*tensors: Any) -> Any:
        graph = tf.compat.v1.get_default_graph()
        for variable in function.graph.variables:
            graph.watch_variable(variable)
        mapping = {inner.name: graph.capture(outer) for outer, inner in captures}
        mapping |= {old.name: new for old, new in zip(own, tensors, strict=True)}
        outputs = [tensor.name for tensor in function.outputs]
        return tf.graph_util.import_graph_def(graph_def, mapping, outputs, name="")

    specs = [tf.TensorSpec(tensor.shape, tensor.dtype, name=f"in_{i:03}") for i, tensor in enumerate(own)]
    return tf.function(run, autograph=False).get_concrete_function(*specs), done
