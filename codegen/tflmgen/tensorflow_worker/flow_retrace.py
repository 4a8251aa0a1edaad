"""Graphs of derived gradients, and of lists that grow, traced again without variants and what TFLite lacks.

    y, kept = If(p, x)      kept: Optional of what the branch's gradient needs
    dx = If(p, dy, kept)    ->  the same, with tensors for optionals; zeros in the branch that keeps nothing
    y, list = While(x)      list: TensorListPushBack in each iteration
    dx = While(dy, list)    ->  the same, with an array [iterations, ...] and a count for each list

Calls are traced into their callers. Constants stay constants in branches and loops, so that shapes and what depends on
them are computed here. TensorFlow, "Functional while_loop" and "Functional cond" (RFCs of 2018), say what is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import func_graph, op_def_registry

from tflmgen.tensorflow_worker.composites import composite_of
from tflmgen.tensorflow_worker.flow_body import FlowBody, output_names
from tflmgen.tensorflow_worker.flow_forms import fitted, joined, spec_of
from tflmgen.tensorflow_worker.flow_values import (
    MOST_FOLDED,
    Condition,
    ListValue,
    OptionalValue,
    RepeatedRow,
    Value,
    as_tensor,
    built,
    constant_of,
    form_of,
    is_outside,
    key_of,
    known_integers,
    mapped,
    paired,
    passed_on,
    under,
)
from tflmgen.tensorflow_worker.graph_functions import bodies_of, full_name, functions_of
from tflmgen.tensorflow_worker.growing_lists import IndexIntervals, Interval, grown, is_native, is_resized, place_for
from tflmgen.tensorflow_worker.list_values import ON_VARIANTS, OPERATIONS
from tflmgen.tensorflow_worker.loaded_source import SourceError, changes_variable
from tflmgen.tensorflow_worker.loop_bounds import LoopFunctions, integer
from tflmgen.tensorflow_worker.node_constants import attributes_of, evaluated, grouped_operands, is_pure
from tflmgen.tensorflow_worker.value_numbers import ValueNumbers
from tflmgen.tensorflow_worker.written_shapes import KeptError, UnwritableError, Write

CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
BRANCHES = frozenset({"If", "StatelessIf"})
LOOPS = frozenset({"While", "StatelessWhile"})
MARKS = frozenset({"OptionalFromValue", "TensorListPushBack", "TensorListPopBack"})
"""Operations on variants that gradients are made with, and that the converter does not know."""


def has_derived(graph_def: Any, written: Mapping[str, Write]) -> bool:
    """Whether a graph or a function of it has operations of derived gradients."""
    return any(node.op in MARKS or node.op in written for nodes in bodies_of(graph_def) for node in nodes)


@dataclass(frozen=True)
class VariableReads:
    """Variables that are read before a branch or loop, in the graph around it: tensors by their handles."""

    graph: Any
    values: dict[int, tuple[Any, Any]]

    def read(self, node: Any, handle: Any) -> Any:
        """The variable's value; of a handle that the graph does not have, read in place."""
        if not (is_outside(handle, self.graph) or handle.graph is self.graph):
            return _created(node, [handle])[0]
        if id(handle) not in self.values:
            with self.graph.as_default():
                self.values[id(handle)] = handle, _created(node, [handle])[0]
        return self.values[id(handle)][1]


MOST_TRACED = 500_000
"""Nodes that are traced at most: each loop traces its body several times, and so do those around it."""


class FlowRetrace:
    """Tracing of a graph into the default graph.

    written         operations that are written with others
    max_iterations  bound of loops whose condition gives none
    """

    def __init__(self, graph_def: Any, written: Mapping[str, Write], max_iterations: int | None) -> None:
        self._library = graph_def.library
        self._functions = {function.signature.name: function for function in graph_def.library.function}
        self._bodies: dict[str, FlowBody] = {}
        self._written = written
        self._max_iterations = max_iterations
        self._reads: VariableReads | None = None
        self._traced = 0
        self._numbers = ValueNumbers()
        self._intervals = IndexIntervals()
        self._path: tuple[str, ...] = ()
        self._facts: frozenset[Condition] = frozenset()

    def run(self, body: FlowBody, arguments: Sequence[Value]) -> list[Value]:
        """The results for these arguments, computed in the default graph."""
        values: dict[str, Value] = dict(zip(body.arguments, arguments, strict=True))
        for node in body.in_order():
            if f"{node.name}:0" in values:
                continue
            self._traced += 1
            if self._traced > MOST_TRACED:
                raise SourceError(
                    "its gradients pass through more branches and loops within one another than are traced"
                )
            operands = [as_tensor(values[full_name(name)]) for name in node.input if not name.startswith("^")]
            results = self._results(node, operands)
            self._numbers.assign_results(node, self._path, operands, results)
            for names, result in zip(output_names(node), results, strict=False):
                values |= dict.fromkeys(names, result)
        return [as_tensor(values[result]) for result in body.results]

    def _results(self, node: Any, operands: Sequence[Value]) -> Sequence[Value]:
        takes_variants = any(not isinstance(operand, tf.Tensor) for operand in operands)
        if node.op in OPERATIONS and is_native(node.op, operands) and not is_resized(node):
            return self._operation(node, operands)
        if node.op in OPERATIONS or (node.op in ON_VARIANTS and takes_variants):
            operate = OPERATIONS.get(node.op) or ON_VARIANTS[node.op]
            results = self._located(node, lambda: operate(attributes_of(node), self._fit_to_write(node, operands)))
            self._number_rows(node.op, operands, results)
            return results
        if node.op in CALLS or node.op in self._functions:
            name = node.attr["f"].func.name if node.op in CALLS else node.op
            if not composite_of(self._functions[name]):
                with self._along(node.name):
                    return self.run(self._body(name), operands)
            self._add_library()
        if node.op in BRANCHES or node.op in LOOPS:
            trace = self._branches if node.op in BRANCHES else self._loop
            with self._along(node.name):
                return self._located(node, lambda: trace(node, operands))
        if node.op == "ReadVariableOp" and self._reads is not None:
            return [self._reads.read(node, operands[0])]
        if takes_variants:
            rule = f"{node.op} '{node.name}' of a tensor list or an optional has no form in TFLite"
            raise SourceError(rule, "Write it with other operations")
        if node.op in self._written:
            known = [operand if value is None else value for operand in operands for value in [self._constant(operand)]]
            grouped = grouped_operands(node, known)
            try:
                return self._located(node, lambda: _sequence(self._written[node.op](attributes_of(node), *grouped)))
            except KeptError:
                pass
        return self._operation(node, operands)

    def _constant(self, operand: Any) -> Any:
        """The array of a tensor that is the same in every run, or None."""
        value = constant_of(operand)
        return self._intervals.constant(operand) if value is None and operand.dtype.is_integer else value

    def _located(self, node: Any, compute: Callable[[], Sequence[Value]]) -> Sequence[Value]:
        """The results of `compute`. Raises SourceError that names the node."""
        try:
            return compute()
        except UnwritableError as error:
            raise SourceError(f"{node.op} '{node.name}': {error}", error.advice) from None

    def _operation(self, node: Any, operands: Sequence[Any]) -> Sequence[Any]:
        """The operation as it is; integers that it computes from shapes and constants are constants."""
        outputs = _created(node, operands)
        if node.op == "Const" or not all(_is_small(tensor) for tensor in outputs):
            return outputs
        known = [constant_of(operand) for operand in operands]
        if all(value is not None for value in known) and is_pure(node):
            return [tf.constant(v) for v in evaluated(node.op, attributes_of(node), grouped_operands(node, known))]
        folded = map(known_integers, outputs)
        return [t if value is None else tf.constant(value) for t, value in zip(outputs, folded, strict=True)]

    def _add_library(self) -> None:
        """Lets the default graph know the functions: composites stay calls."""
        tf.graph_util.import_graph_def(tf.compat.v1.GraphDef(library=self._library), name="")

    def _body(self, name: str) -> FlowBody:
        if name not in self._bodies:
            self._bodies[name] = FlowBody.of_function(self._functions[name])
        return self._bodies[name]

    @contextmanager
    def _along(self, name: str) -> Iterator[None]:
        """Goes into a call, a branch or a loop."""
        outer, self._path = self._path, (*self._path, name)
        yield
        self._path = outer

    def _fit_to_write(self, node: Any, operands: Sequence[Value]) -> list[Value]:
        """The operands that are possible; of a write that resizes, the list with place for it."""
        possible = self._possible(operands)
        if is_resized(node):
            possible[0] = grown(possible[0], possible[1], self._intervals)
        return possible

    def _possible(self, operands: Sequence[Value]) -> list[Value]:
        """The operands without what optionals are not on the sides that are taken."""
        return [
            replace(value, choices=tuple(choice for choice in value.choices if choice.fits(self._facts)))
            if isinstance(value, OptionalValue)
            else value
            for value in operands
        ]

    def _number_rows(self, op: str, operands: Sequence[Value], results: Sequence[Value]) -> None:
        """An array has the number of the scalars that are pushed, and these, where they are popped, have it, too."""
        if op == "TensorListPushBack" and isinstance(operands[1], tf.Tensor):
            self._numbers.assign(results[0].rows, self._numbers.number(operands[1]))
        elif op == "TensorListPopBack" and isinstance(results[1], tf.Tensor):
            self._numbers.assign(results[1], self._numbers.number(results[0].rows))

    def _side(self, body: FlowBody, arguments: Sequence[Value], condition: Condition) -> list[Value]:
        """Results of a branch, as they are outside of it."""
        outer, self._facts = self._facts, self._facts | {condition}
        try:
            return [under(result, condition) for result in self.run(body, arguments)]
        finally:
            self._facts = outer

    def _tried(self, body: FlowBody, arguments: Sequence[Value], condition: Condition) -> list[Value]:
        """Forms of the results of a branch, found in a graph that is thrown away."""
        graph = func_graph.FuncGraph("tried")
        with graph.as_default():
            return [form_of(result, graph, self._numbers) for result in self._side(body, arguments, condition)]

    def _placeholders(self, form: Value) -> Value:
        """Tensors that stand for those of a form in a trial; what is of the graph around stands for itself."""
        specs = passed_on([form], [form])
        tensors = iter([tf.compat.v1.placeholder(spec.dtype, spec.shape) for spec in specs])
        return built(form, tensors, self._numbers)

    @contextmanager
    def _reads_of(self, *bodies: FlowBody) -> Iterator[None]:
        """Variables that branches or a body only read are read once, before: so that they need not be kept."""
        outer = self._reads
        if any(self._writes(body) for body in bodies):
            self._reads = None
        elif outer is None:
            self._reads = VariableReads(tf.compat.v1.get_default_graph(), {})
        yield
        self._reads = outer

    def _writes(self, body: FlowBody) -> bool:
        called = [name for node in body.nodes.values() for name in functions_of(node)]
        own = any(changes_variable(node) for node in body.nodes.values())
        return own or any(self._writes(self._body(name)) for name in called if name in self._functions)

    def _branches(self, node: Any, operands: Sequence[Value]) -> Sequence[Value]:
        predicate, *passed = operands
        sides = [self._body(node.attr[key].func.name) for key in ("then_branch", "else_branch")]
        decided = constant_of(predicate)
        if decided is not None:
            return self.run(sides[0] if decided else sides[1], passed)
        number = self._numbers.number(predicate) or self._numbers.named("predicate", self._path)
        with self._reads_of(*sides):
            tried = [
                self._tried(body, passed, (number, taken)) for body, taken in zip(sides, (True, False), strict=True)
            ]
            forms = [joined(a, b) for a, b in zip(*tried, strict=True)]

            def side(taken: bool) -> Callable[[], list[Any]]:
                def trace() -> list[Any]:
                    results = self._side(sides[not taken], passed, (number, taken))
                    fits = [fitted(result, form) for result, form in zip(results, forms, strict=True)]
                    return [tf.identity(tensor) for tensor in passed_on(fits, forms)]

                return trace

            results = tf.cond(predicate, side(True), side(False))
        tensors = iter(results if isinstance(results, (list, tuple)) else [results])
        return [built(form, tensors, self._numbers) for form in forms]

    def _loop(self, node: Any, operands: Sequence[Value]) -> Sequence[Value]:
        condition, body = (self._body(node.attr[key].func.name) for key in ("cond", "body"))
        kept = frozenset(k for k, own in enumerate(body.arguments) if body.source_of(body.results[k]) == own)
        starts = [integer(constant_of(v)) if isinstance(v, tf.Tensor) else None for v in operands]
        functions = LoopFunctions(condition, body, starts, kept, self._body)
        bound, limit = functions.bound(), None
        if bound is None:
            bound = limit = self._max_iterations
        with self._reads_of(condition, body):
            counters = functions.counters(bound)
            forms, growth = self._loop_forms(body, operands, kept, bound, counters)
            variables = [k for k in range(len(operands)) if k not in kept]

            def arguments(tensors: Sequence[Any]) -> list[Value]:
                own = iter(tensors)
                values = [
                    operands[k] if k in kept else built(forms[k], own, self._numbers) for k in range(len(operands))
                ]
                self._note_counters(values, counters)
                return values

            def proceeds(*tensors: Any) -> Any:
                test = tf.reshape(self.run(condition, arguments(tensors))[0], [])
                return test if limit is None else tf.logical_and(test, tensors[-1] < limit)

            def iteration(*tensors: Any) -> list[Any]:
                results = self.run(body, arguments(tensors))
                own = self._variables(results, forms, variables)
                return [*map(tf.identity, own), *(count + 1 for count in tensors[len(own) :])]

            # Only a loop that ends by --max-iterations counts.
            counts = [] if limit is None else [tf.constant(0)]
            first = self._variables(operands, forms, variables)
            shapes = [spec.shape for k in variables for spec in passed_on([forms[k]], [forms[k]])]
            results = tf.while_loop(
                proceeds, iteration, [*first, *counts], shape_invariants=[*shapes, *(c.shape for c in counts)]
            )
        behind = arguments(results if isinstance(results, (list, tuple)) else [results])
        return [replace(v, growth=v.growth + growth[k]) if k in growth else v for k, v in enumerate(behind)]

    def _note_counters(self, arguments: Sequence[Value], counters: Mapping[int, Interval]) -> None:
        for place, interval in counters.items():
            self._intervals.note(arguments[place], interval)

    @staticmethod
    def _variables(values: Sequence[Value], forms: Mapping[int, Value], places: Sequence[int]) -> list[Any]:
        """Tensors of a loop's variables."""
        return passed_on([fitted(values[k], forms[k]) for k in places], [forms[k] for k in places])

    def _loop_forms(
        self,
        body: FlowBody,
        operands: Sequence[Value],
        kept: Container[int],
        bound: int | None,
        counters: Mapping[int, Interval],
    ) -> tuple[dict[int, Value], dict[int, int]]:
        """Forms that the variables have in every iteration, and how many rows lists grow by in all."""
        forms = {k: mapped(_varying, operand) for k, operand in enumerate(operands) if k not in kept}
        while True:
            graph = func_graph.FuncGraph("tried")
            with graph.as_default():
                inputs = [self._placeholders(forms.get(k, operand)) for k, operand in enumerate(operands)]
                self._note_counters(inputs, counters)
                results = self.run(body, inputs)
                tried = {k: form_of(results[k], graph, self._numbers) for k in forms}
                growth = {k: tried[k].growth - f.growth for k, f in forms.items() if isinstance(f, ListValue)}
                joint = {k: joined(form, mapped(_varying, tried[k])) for k, form in forms.items()}
                for k, rows in growth.items():
                    joint[k] = replace(joint[k], growth=forms[k].growth, capacity=forms[k].capacity)
                    growth[k], joint[k] = place_for(joint[k], rows, bound)
                if all(key_of(joint[k]) == key_of(form) for k, form in forms.items()):
                    same = {k: paired(_is_same, inputs[k], fitted(results[k], form)) for k, form in forms.items()}
                    break
            forms = joint
        outside = {k: fitted(operands[k], form) for k, form in forms.items()}
        return {k: _without_same(form, outside[k], same[k]) for k, form in forms.items()}, growth


def _varying(leaf: Any) -> Any:
    """The form of a variable's leaf, whatever tensor it is before an iteration or behind one."""
    return leaf if isinstance(leaf, RepeatedRow) else spec_of(leaf)


def _without_same(form: Value, outside: Value, same: Value) -> Value:
    """The form of variables without leaves that no iteration changes."""
    chosen = paired(lambda leaf, value: (leaf, value), form, outside)
    return paired(lambda pair, is_same: pair[1] if is_same else pair[0], chosen, same)


def _is_same(before: Any, after: Any) -> bool:
    return before is after


def _created(node: Any, operands: Sequence[Any]) -> list[Any]:
    """Results of a node's operation on other operands, as a new one of the default graph."""
    attributes = {key: value for key, value in node.attr.items() if not key.startswith("_")}
    graph, definition = tf.compat.v1.get_default_graph(), op_def_registry.get(node.op)
    operation = graph.create_op(node.op, list(operands), name=node.name, attrs=attributes, op_def=definition)
    return list(operation.outputs)


def _is_small(tensor: Any) -> bool:
    """Whether a tensor is of few integers, such as a shape has."""
    count = tensor.shape.num_elements()
    return bool(tensor.dtype.is_integer) and count is not None and count <= MOST_FOLDED


def _sequence(results: Any) -> Sequence[Any]:
    """Results of an operation that is written with others, as tensors."""
    several = results if isinstance(results, (list, tuple)) else [results]
    return [tf.convert_to_tensor(result) for result in several]
