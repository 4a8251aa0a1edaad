"""Rewrites of a GraphDef that TensorFlow's converter would break: one function each, in two tuples."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Sequence
from typing import Any

import tensorflow as tf

from tflmgen.tensorflow_worker.case_branches import lower_cases
from tflmgen.tensorflow_worker.complex_pairs import computes_with_complex
from tflmgen.tensorflow_worker.flow_body import FlowBody
from tflmgen.tensorflow_worker.flow_retrace import FlowRetrace, has_derived
from tflmgen.tensorflow_worker.for_loops import lower_for_loops
from tflmgen.tensorflow_worker.graph_functions import rename_functions
from tflmgen.tensorflow_worker.growing_lists import has_growing_lists
from tflmgen.tensorflow_worker.lookup_tables import captured_tables, has_tables, search_tables
from tflmgen.tensorflow_worker.matmul_activations import keep_activations
from tflmgen.tensorflow_worker.merged_branches import UnstructuredError
from tflmgen.tensorflow_worker.refused_operands import broadcast_angles, compare_conditions, fix_rows_of_lists
from tflmgen.tensorflow_worker.stack_lists import has_stacks, lower_stacks
from tflmgen.tensorflow_worker.structured_control_flow import structured_values
from tflmgen.tensorflow_worker.tensor_arrays import lower_tensor_arrays
from tflmgen.tensorflow_worker.version_1_functions import has_control_flow_v1
from tflmgen.tensorflow_worker.written_gradients import GRADIENTS, OF_TRAINING
from tflmgen.tensorflow_worker.written_operations import has_written_operations, write_operations

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


BEFORE_FREEZING: tuple[Mend, ...] = (
    lower_cases,
    lower_for_loops,
    compare_conditions,
    broadcast_angles,
)
"""Rewrites of nodes that freezing would lower to unknown control flow, and of nodes that depend on no constants."""
WITH_VARIABLES: tuple[Mend, ...] = (*BEFORE_FREEZING, keep_activations)
"""Rewrites of a graph whose variables stay variables."""
BEFORE_STRUCTURE: tuple[Mend, ...] = (keep_activations, lower_tensor_arrays)
"""Rewrites that depend on which operands are constants, before control flow of version 1 becomes If and While."""
AFTER_STRUCTURE: tuple[Mend, ...] = (_drop_shape_checks, fix_rows_of_lists)
"""Rewrites of nodes that erase the shapes of loop variables."""
AFTER_FREEZING: tuple[Mend, ...] = (*AFTER_STRUCTURE, *BEFORE_STRUCTURE)
"""All rewrites, for a graph without control flow of version 1."""

_VERSIONS = itertools.count()


def mend_graph(graph_def: Any, outputs: Sequence[str], mends: Sequence[Mend]) -> list[str]:
    """Mends a graph in place; what was done. Its functions get new names, since TensorFlow knows the old by theirs."""
    done = [text for text in (mend(graph_def, outputs) for mend in mends) if text]
    rename_functions(graph_def, f"_m{next(_VERSIONS)}")
    return done


def _mapped(function: Any, trace: Callable[[dict[str, Any], list[str]], Any], left_out: Container[str] = ()) -> Any:
    """A ConcreteFunction of the same inputs and captures.

    trace     (tensors by the names of inputs and captures, names of outputs) -> outputs
    left_out  captures that it does not need
    """
    captures = function.graph.captures
    own = function.inputs[: len(function.inputs) - len(captures)]

    def run(*tensors: Any) -> Any:
        graph = tf.compat.v1.get_default_graph()
        for variable in function.graph.variables:
            graph.watch_variable(variable)
        mapping = {inner.name: graph.capture(outer) for outer, inner in captures if inner.op.name not in left_out}
        mapping |= {old.name: new for old, new in zip(own, tensors, strict=True)}
        return trace(mapping, [tensor.name for tensor in function.outputs])

    specs = [tf.TensorSpec(tensor.shape, tensor.dtype, name=f"in_{i:03}") for i, tensor in enumerate(own)]
    return tf.function(run, autograph=False).get_concrete_function(*specs)


def structured(function: Any, has_variables: bool) -> Any:
    """A ConcreteFunction with lists for stacks of version 1, and with If and While for its control flow.

    Control flow alone may stay in a graph without variables: it is frozen first.
    """
    graph_def = function.graph.as_graph_def()
    if not has_stacks(graph_def) and not (has_variables and has_control_flow_v1(graph_def)):
        return function
    try:
        lower_stacks(graph_def)
        lower_tensor_arrays(graph_def, [tensor.name for tensor in function.outputs])
        return _mapped(function, lambda mapping, outputs: structured_values(graph_def, mapping, outputs))
    except UnstructuredError as error:
        raise error.refusal from None


def mended_function(
    function: Any, also: Mend, mends: Sequence[Mend], max_iterations: int | None
) -> tuple[Any, list[str]]:
    """A ConcreteFunction that computes the same on the same variables, mended; and what was done.

    max_iterations  bound of loops whose condition gives none, and of which a gradient keeps values
    """
    graph_def = function.graph.as_graph_def()
    captures = function.graph.captures
    tables = captured_tables(graph_def, captures) if has_tables(graph_def) else {}
    has_pairs = computes_with_complex(graph_def, function.inputs, function.outputs)
    has_gradients = has_derived(graph_def, GRADIENTS)
    is_retraced = has_gradients or has_growing_lists(graph_def)
    if tables or has_pairs or has_written_operations(graph_def):
        graph_def = function.graph.as_graph_def(add_shapes=True)
    first = (
        lambda graph, _: search_tables(graph, tables),
        also,
        # A graph that is traced again has them written with the shapes that it finds, but for pairs of floats.
        *(
            ()
            if is_retraced and (has_gradients or not has_pairs)
            else (lambda graph, outputs: write_operations(graph, outputs, has_pairs),)
        ),
    )
    done = mend_graph(graph_def, [], (*first, *mends))
    if not done and not is_retraced:
        return function, []

    def trace(mapping: dict[str, Any], outputs: list[str]) -> Any:
        if not is_retraced:
            return tf.graph_util.import_graph_def(graph_def, mapping, outputs, name="")
        body = FlowBody(graph_def.node, list(mapping), outputs)
        return FlowRetrace(graph_def, OF_TRAINING, max_iterations).run(body, list(mapping.values()))

    return _mapped(function, trace, tables), done
