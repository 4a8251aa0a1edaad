"""Inputs that cross into branches in float32, so that only the branch that computes with them converts them.

Where inputs stay float32, a QUANTIZE stands before the first operator in integers. Code motion takes it past operators
that move elements and into branches (partial dead code elimination: Knoop, Ruething, Steffen, PLDI 1994). What remains
outside reduces an input to few elements, such as the mean that a gate compares: it computes in float32, and its result
is converted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import bindings
from tflmgen.frontend.tflite import FileOperator, Model, SubGraph
from tflmgen.ir import DType
from tflmgen.kernels import Sliding, traits_of
from tflmgen.quantize.integer_forms import real_operands, real_results
from tflmgen.quantize.web_constraints import result_key
from tflmgen.quantize.web_types import Assignment, OperatorKey

_LEAST_REDUCTION = 2
"""Elements of an operand per element of the result from which on a reduction in float32 costs less than a conversion of
the operand: converting takes 11 instructions an element on Cortex-M4, adding up 5."""


def carry_inputs(model: Model, assignment: Assignment) -> Assignment:
    """The assignment with float32 inputs that branches alone compute with carried into them as they are."""
    search = _Search(model, assignment)
    carried = search.carried()
    floats = search.operators_in_float(carried)
    forms = {key: form for key, form in assignment.forms.items() if key not in floats}
    return replace(assignment, carried=frozenset(carried), forms=forms)


@dataclass(slots=True)
class _Search:
    model: Model
    assignment: Assignment
    sources: dict[TensorKey, set[TensorKey]] = field(init=False, default_factory=dict)
    blocked: set[TensorKey] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self.blocked |= {self._web(key) for key, _ in self.assignment.webs.constants}
        for graph in self.model.subgraphs:
            self.blocked |= {self._root(graph, tensor) for tensor in graph.outputs}
            self.blocked |= {self._web(result_key(graph.index, place)) for place in range(len(graph.outputs))}
            for op in graph.operators:
                self._note(graph, op)

    def carried(self) -> set[TensorKey]:
        """Roots of webs that stay float32 until a branch."""
        webs = {
            self._root(graph, tensor)
            for graph in self._entries()
            for tensor in graph.inputs
            if graph.tensors[tensor].dtype is DType.FLOAT32
        }
        webs |= set(self.sources)
        webs = {w for w in webs if w not in self.blocked and self._is_integer(w)}
        while True:
            kept = {web for web in webs if self.sources.get(web, set()) <= webs}
            kept -= {web for graph in self._entries() for web in self._converted(graph, webs)}
            if kept == webs:
                return webs if self._saves(webs) else set()
            webs = kept

    def operators_in_float(self, carried: set[TensorKey]) -> set[OperatorKey]:
        """Operators on carried tensors that compute in float32: those that move elements, and reductions."""
        floats = set()
        for graph in self.model.subgraphs:
            converted = self._converted(graph, carried)
            for op in graph.operators:
                read = self._read(graph, op) & carried
                moved = self._moved(graph, op)
                is_carried = moved is not None and self._root(graph, op.outputs[0]) in carried
                if read and (is_carried or (_is_reduction(graph, op) and not read & converted)):
                    floats.add((graph.index, op.index))
        return floats

    def _web(self, key: TensorKey) -> TensorKey:
        return self.assignment.webs.root(key)

    def _root(self, graph: SubGraph, tensor: int) -> TensorKey:
        return self._web((graph.index, tensor))

    def _inputs(self, subgraph: int) -> tuple[int, ...]:
        return self.model.subgraphs[subgraph].inputs

    def _is_integer(self, web: TensorKey) -> bool:
        return not self.assignment.type_of(web).dtype.is_float

    def _entries(self) -> Iterator[SubGraph]:
        return (graph for graph in self.model.subgraphs if graph.index not in self.assignment.webs.called)

    def _note(self, graph: SubGraph, op: FileOperator) -> None:
        """Notes the tensors that an operator writes: copies of elements have a source, anything else blocks the web."""
        for binding in bindings(op):
            for formal, operand in zip(self._inputs(binding.subgraph), binding.operands, strict=False):
                root = self._web((binding.subgraph, formal))
                if not _chooses(op) or operand < 0 or graph.tensors[operand].data is not None:
                    self.blocked.add(root)
                else:
                    self.sources.setdefault(root, set()).add(self._root(graph, operand))
        moved = self._moved(graph, op)
        for tensor in op.outputs:
            root = self._root(graph, tensor)
            if moved is None:
                self.blocked.add(root)
            else:
                self.sources.setdefault(root, set()).add(self._root(graph, moved))

    def _moved(self, graph: SubGraph, op: FileOperator) -> int | None:
        """The tensor whose elements an operator moves; None for other operators, and for several operands."""
        traits = traits_of(op.name)
        if not (traits.view or traits.moves or traits.cuts) or traits.joins or traits.pads or len(op.outputs) != 1:
            return None
        tensor = op.inputs[traits.roles.data if traits.moves else 0]
        return tensor if self._read(graph, op) == {self._root(graph, tensor)} else None

    def _read(self, graph: SubGraph, op: FileOperator) -> set[TensorKey]:
        places = real_operands(op, graph)
        return {self._root(graph, op.inputs[p]) for p in places if graph.tensors[op.inputs[p]].data is None}

    def _converted(self, graph: SubGraph, webs: set[TensorKey]) -> set[TensorKey]:
        """Float32 webs among these that an operator of the subgraph needs in integers."""
        converted: set[TensorKey] = set()
        for op in graph.operators:
            read = self._read(graph, op) & webs
            if not read or _is_reduction(graph, op):
                continue
            if bindings(op):
                formals = {
                    self._web((b.subgraph, formal))
                    for b in bindings(op)
                    for formal in self.model.subgraphs[b.subgraph].inputs
                }
                converted |= read - formals
            elif self._moved(graph, op) is not None:
                converted |= read if self._root(graph, op.outputs[0]) not in webs else set()
            elif (graph.index, op.index) in self.assignment.forms:
                converted |= read
        return converted

    def _saves(self, webs: set[TensorKey]) -> bool:
        """Whether some branch runs without a conversion of what its other branch converts."""
        for graph in self.model.subgraphs:
            for op in graph.operators:
                if _chooses(op) and self._read(graph, op) & webs:
                    branches = [self.model.subgraphs[binding.subgraph] for binding in bindings(op)]
                    if any(not self._converted(branch, webs) for branch in branches):
                        return True
        return False


def _chooses(op: FileOperator) -> bool:
    """Whether an operator runs one of several subgraphs, once."""
    return any(len(binding.operands) < len(op.inputs) for binding in bindings(op))


def _is_reduction(graph: SubGraph, op: FileOperator) -> bool:
    """Whether an operator makes few elements of many, by few instructions each."""
    traits = traits_of(op.name)
    if not (traits.reduces or traits.window is Sliding.POOL or traits.cuts or traits.moves) or not real_results(
        op, graph
    ):
        return False
    before, after = (
        sum(math.prod(graph.tensors[tensor].shape) for tensor in tensors)
        for tensors in ([op.inputs[place] for place in real_operands(op, graph)], op.outputs)
    )
    return after * _LEAST_REDUCTION <= before
