"""Control flow of version 1 (Switch, Merge, Enter, Exit, NextIteration) as If and While, by tracing the graph again.

    Merge(f(Switch(x, p):0), g(Switch(x, p):1))       ->  cond(p, lambda: g(x), lambda: f(x))
    Enter(x) -> Merge -> Switch(., LoopCond) -> Exit  ->  while_loop(cond, body, x)

A value is made when it is first asked for, in the innermost branch or body that it belongs to. All Merges of one cond
become one If, and each loop one While with functions of its own: TensorFlow's functionalisation makes an If for each
Merge, each of which runs its branches, and its converter cannot lower tensor lists in a loop that several of them call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tflmgen.tensorflow_worker.flow_body import FlowBody
from tflmgen.tensorflow_worker.graph_functions import full_name
from tflmgen.tensorflow_worker.loaded_source import changes_variable
from tflmgen.tensorflow_worker.merged_branches import BranchMap, Condition, UnstructuredError
from tflmgen.tensorflow_worker.version_1_functions import (
    called_function,
    functions_v1,
    graph_of,
    operands_of_functions,
    referred,
)


def structured_function(graph_def: Any, inputs: Sequence[str], outputs: Sequence[str]) -> Any:
    """A ConcreteFunction from tensors to tensors, "name:0", with If and While.

    Raises UnstructuredError for a graph that no conds and while_loops make, or that cannot be traced again.
    """
    retrace = _Retrace(graph_def)
    specs = [retrace.spec(name) for name in inputs]

    def run(*tensors: Any) -> Any:
        return retrace.run(dict(zip(inputs, tensors, strict=True)), outputs)

    try:
        return tf.function(run, autograph=False).get_concrete_function(*specs)
    except (ValueError, TypeError, tf.errors.OpError) as error:
        raise UnstructuredError(str(error)) from error


def structured_values(graph_def: Any, inputs: Mapping[str, Any], outputs: Sequence[str]) -> list[Any]:
    """Values of tensors, "name:0", in the default graph, of those of inputs and variables' handles.

    Raises UnstructuredError for a graph that no conds and while_loops make.
    """
    return _Retrace(graph_def).run(inputs, outputs)


@dataclass
class _Scope:
    """A function that is being traced: the graph, a branch (`chosen`), or a loop's condition or body (`frame`)."""

    graph: Any
    parent: _Scope | None = None
    chosen: frozenset[Condition] = frozenset()
    frame: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    def owns(self, conditions: frozenset[Condition], frames: tuple[str, ...]) -> bool:
        if self.parent is None:
            return True
        return self.frame in frames if self.frame else not self.chosen.isdisjoint(conditions)


class _Retrace:
    """Tracing of a graph into functions. Tensors are named "node:0"."""

    def __init__(self, graph_def: Any) -> None:
        self._library = graph_def.library
        self._functions = functions_v1(graph_def.library)
        self._nodes = {node.name: node for node in graph_def.node}
        self._map = BranchMap(self._nodes)
        self._scope: _Scope | None = None
        self._pending: set[str] = set()

    def spec(self, name: str) -> Any:
        """Type of an input."""
        node = self._nodes[name.split(":")[0]]
        if node.op != "Placeholder":
            raise UnstructuredError(f"input '{name}' is computed")
        shape = tf.TensorShape(node.attr["shape"].shape)
        return tf.TensorSpec(shape, tf.as_dtype(node.attr["dtype"].type), name=node.name.replace("/", "_"))

    def run(self, inputs: Mapping[str, Any], outputs: Sequence[str]) -> list[Any]:
        """The outputs' values, in the graph that is being traced; before them, what happens to variables."""
        with self._within(_Scope(tf.compat.v1.get_default_graph(), values=dict(inputs))):
            for node in FlowBody(self._nodes.values(), [], outputs).in_order():
                if node.op == "ReadVariableOp" and self._is_outermost(node):
                    self._value(node.name)
                elif changes_variable(node):
                    self._change(node)
            return [tf.identity(self._value(name)) for name in outputs]

    def _is_outermost(self, node: Any) -> bool:
        conditions, frames = self._map.place(node.name)
        return not conditions and not frames

    def _change(self, node: Any) -> None:
        """Makes an operation that changes a variable. Raises UnstructuredError for one in a branch or loop."""
        if not self._is_outermost(node):
            raise UnstructuredError(f"'{node.name}' changes a variable in a branch or loop")
        self._operation(node)

    @contextmanager
    def _within(self, scope: _Scope) -> Iterator[_Scope]:
        outer, self._scope = self._scope, scope
        if self._library.function and scope.graph is not (outer and outer.graph):
            with scope.graph.as_default():
                tf.graph_util.import_graph_def(tf.compat.v1.GraphDef(library=self._library), name="")
        try:
            yield scope
        finally:
            self._scope = outer

    def _value(self, name: str) -> Any:
        """The tensor of this name, made where it belongs."""
        name = full_name(name)
        node = self._nodes[name.split(":")[0]]
        scope = self._scope
        assert scope is not None
        conditions, frames = self._map.place(node.name)
        while node.op != "Const" and name not in scope.values and not scope.owns(conditions, frames):
            assert scope.parent is not None
            scope = scope.parent
        if name not in scope.values:
            current, self._scope = self._scope, scope
            try:
                with scope.graph.as_default():
                    self._make(node, name)
            finally:
                self._scope = current
        return scope.values[name]

    def _make(self, node: Any, name: str) -> None:
        """Puts the node's outputs among the current scope's values."""
        assert self._scope is not None
        values = self._scope.values
        if node.op in ("Switch", "Enter", "NextIteration", "LoopCond"):
            values[name] = self._value(node.input[0])
        elif node.op == "Exit":
            self._loop(self._map.frame_of_exit(node.name))
        elif node.op == "Merge":
            self._branches(node.name)
        else:
            for number, tensor in enumerate(self._operation(node)):
                values[f"{node.name}:{number}"] = tensor
        if name not in values:
            raise UnstructuredError(f"'{name}' is not an output of its node")

    def _operation(self, node: Any) -> Sequence[Any]:
        if node.op in ("Placeholder", "PlaceholderV2"):
            raise UnstructuredError(f"placeholder '{node.name}' is no input")
        operands = [self._value(name) for name in node.input if not name.startswith("^")]
        called = called_function(node, self._functions)
        if called is not None:
            graph_def, inputs, results = graph_of(called, self._library, operands)
            return _Retrace(graph_def).run(dict(zip(inputs, operands, strict=True)), results)
        graph = tf.compat.v1.get_default_graph()
        node = self._with_structured_functions(node, operands)
        attributes = {key: value for key, value in node.attr.items() if not key.startswith("_")}
        op_def = op_def_registry.get(node.op)
        operation = graph.create_op(node.op, operands, name=node.name, attrs=attributes, op_def=op_def)
        outputs: Sequence[Any] = operation.outputs
        return outputs

    def _with_structured_functions(self, node: Any, operands: Sequence[Any]) -> Any:
        """The node with other functions for those that have control flow of version 1."""
        if self._functions.keys().isdisjoint(referred(node)):
            return node
        copy = type(node).FromString(node.SerializeToString())
        graph, passed = tf.compat.v1.get_default_graph(), operands_of_functions(node, operands)
        for value in copy.attr.values():
            for reference in (value.func, *value.list.func):
                function = self._functions.get(reference.name)
                if function is not None:
                    structured = structured_function(*graph_of(function, self._library, passed))
                    structured.add_to_graph(graph)
                    reference.name = structured.name
        return copy

    def _branches(self, merge: str) -> None:
        """The If of a Merge, with all Merges of its cond; alone, if another of them waits for it."""
        assert self._scope is not None
        condition, group = self._map.group(merge)
        group = [merge] if self._pending.intersection(group) else group
        self._pending.update(group)
        outer = self._scope

        def merged(name: str, taken: bool) -> Iterator[Any]:
            operand = self._map.merged(name, taken)
            yield tf.identity(self._value(operand))
            if self._map.is_indexed(name):
                number = self._map.number(name, operand)
                yield tf.identity(self._value(f"{operand}:1") if number is None else tf.constant(number))

        def side(taken: bool) -> Any:
            def trace() -> list[Any]:
                chosen = self._map.on_side(merge, taken)
                with self._within(_Scope(tf.compat.v1.get_default_graph(), outer, chosen)):
                    return [tensor for name in group for tensor in merged(name, taken)]

            return trace

        results = tf.cond(self._value(condition), side(True), side(False))
        names = [f"{name}:{k}" for name in group for k in range(1 + self._map.is_indexed(name))]
        outer.values.update(zip(names, results, strict=True))
        self._pending.difference_update(group)

    def _loop(self, frame: str) -> None:
        """The While of a frame, whose Exits become its results."""
        assert self._scope is not None
        loop, outer = self._map.loops[frame], self._scope

        def traced(arguments: Sequence[Any], wanted: Sequence[str]) -> list[Any]:
            names = [name for variable in loop.variables for name in (variable.merge, variable.switch)]
            values = {f"{n}:{0 if i % 2 == 0 else 1}": arguments[i // 2] for i, n in enumerate(names) if n}
            with self._within(_Scope(tf.compat.v1.get_default_graph(), outer, frame=frame, values=values)):
                return [tf.identity(self._value(name)) for name in wanted]

        def proceeds(*arguments: Any) -> Any:
            return traced(arguments, [self._nodes[loop.condition].input[0]])[0]

        def body(*arguments: Any) -> list[Any]:
            return traced(arguments, [variable.next_value for variable in loop.variables])

        initial = [self._value(self._nodes[variable.enter].input[0]) for variable in loop.variables]
        try:
            results = tf.while_loop(proceeds, body, initial)
        except ValueError:
            kept = _kept_shapes(body, initial)
            if kept == [tensor.shape for tensor in initial]:
                raise
            results = tf.while_loop(proceeds, body, initial, shape_invariants=kept)
        for variable, result in zip(loop.variables, results, strict=True):
            outer.values.update({f"{name}:0": result for name in variable.exits})


def _kept_shapes(body: Callable[..., Sequence[Any]], initial: Sequence[Any]) -> list[Any]:
    """Shapes that loop variables have in every iteration: a dimension that an iteration changes is open."""
    shapes = [tensor.shape for tensor in initial]
    while True:
        specs = [tf.TensorSpec(shape, tensor.dtype) for shape, tensor in zip(shapes, initial, strict=True)]
        results = tf.function(body, autograph=False).get_concrete_function(*specs).outputs
        kept = [a.most_specific_compatible_shape(b.shape) for a, b in zip(shapes, results, strict=True)]
        if kept == shapes:
            return shapes
        shapes = kept
