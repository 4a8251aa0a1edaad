"""Webs: tensors that are one value with several names, across branches, loops, calls and variables.

A loop variable has a name as operand of the loop, in its condition, in its body, as the body's result and the loop's;
the classes of a union-find structure over all subgraphs hold such names together. The word is that of register
allocation (Muchnick, Advanced Compiler Design and Implementation, 1997, section 16.3). All tensors of a web have one
type and one scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tflmgen.frontend import TensorKey, row_stores
from tflmgen.frontend.model_graph import Binding, UnionFind, bindings, is_loop
from tflmgen.frontend.tflite import FileOperator, Model, SubGraph

_VARIABLES = -1
"""Subgraph index in the keys of variables, whose second part is a number in order of first use."""


def result_key(subgraph: int, place: int) -> TensorKey:
    """Key of output `place` of a subgraph: what its callers get, which may be a converted copy of a tensor."""
    return subgraph, -1 - place


@dataclass(slots=True)
class Webs:
    """The webs of a Model.

    sets       which keys are one web
    constants  web's key -> keys of constants that are assigned to it, and whose values it must hold
    called     subgraphs that an operator runs, others than initialisations; the rest are entries
    """

    sets: UnionFind = field(default_factory=UnionFind)
    constants: list[tuple[TensorKey, TensorKey]] = field(default_factory=list)
    called: set[int] = field(default_factory=set)
    variables: dict[TensorKey, TensorKey] = field(default_factory=dict)

    def root(self, key: TensorKey) -> TensorKey:
        """The least tensor of the web that `key` is in."""
        return self.sets.root(key)


def find_webs(model: Model) -> Webs:
    """The webs of all tensors, whatever their types."""
    webs = Webs()
    for graph in model.subgraphs:
        for op in graph.operators:
            op_bindings = bindings(op)
            for binding in op_bindings:
                webs.called.add(binding.subgraph)
                _bind(webs, model, graph, op, binding)
                _join_inputs(webs, model, op_bindings[0].subgraph, binding.subgraph)
    for graph in model.subgraphs:
        _join_lists(webs, graph)
        if graph.index in webs.called:
            for place, tensor in _joined(graph, graph.outputs):
                _assign(webs, graph, result_key(graph.index, place), tensor)
    _join_variables(webs, model)
    return webs


def _bind(webs: Webs, model: Model, graph: SubGraph, op: FileOperator, binding: Binding) -> None:
    callee = model.subgraphs[binding.subgraph]
    for place, tensor in _joined(graph, binding.operands):
        _assign(webs, graph, (callee.index, callee.inputs[place]), tensor)
    for place, tensor in enumerate(binding.results):
        webs.sets.join(result_key(callee.index, place), (graph.index, tensor))
        if is_loop(op):
            webs.sets.join(result_key(callee.index, place), (callee.index, callee.inputs[place]))
    if is_loop(op):
        for place, tensor in enumerate(op.outputs):
            webs.sets.join((callee.index, callee.inputs[place]), (graph.index, tensor))


def _join_inputs(webs: Webs, model: Model, graph: int, other: int) -> None:
    """Joins the inputs of branches, or of condition and body, that one operand goes to: it has one type."""
    for first, second in zip(model.subgraphs[graph].inputs, model.subgraphs[other].inputs, strict=False):
        webs.sets.join((graph, first), (other, second))


def _joined(graph: SubGraph, tensors: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Places and tensors without those passed at several places, each of which gets a copy of its own type."""
    for place, tensor in enumerate(tensors):
        if tensor >= 0 and (tensors.count(tensor) == 1 or graph.tensors[tensor].data is not None):
            yield place, tensor


def _assign(webs: Webs, graph: SubGraph, target: TensorKey, tensor: int) -> None:
    if graph.tensors[tensor].data is None:
        webs.sets.join(target, (graph.index, tensor))
    else:
        webs.constants.append((target, (graph.index, tensor)))


def _join_lists(webs: Webs, graph: SubGraph) -> None:
    """Joins a list of rows with the row that is stored in it, and with the parts before and after.

    They are the operands and the result of a CONCATENATION. A conversion between them would be of the whole list, and
    the store would not be seen as one that leaves the list's length as it is.
    """
    stores = row_stores(graph)
    for op in graph.operators:
        for tensor in (*op.inputs, *op.outputs) if op.index in stores else ():
            if graph.tensors[tensor].data is None:
                webs.sets.join((graph.index, stores[op.index].list), (graph.index, tensor))


def _join_variables(webs: Webs, model: Model) -> None:
    """Joins what is read from a variable with what is assigned to it; handles may have passed through control flow."""
    numbers: dict[str, TensorKey] = {}
    for graph in model.subgraphs:
        for op in graph.operators:
            if op.name == "VAR_HANDLE":
                name = str(sorted((op.options or {}).items()))
                key = numbers.setdefault(name, (_VARIABLES, len(numbers)))
                handle = webs.root((graph.index, op.outputs[0]))
                webs.sets.join(webs.variables.setdefault(handle, key), key)
    for graph in model.subgraphs:
        for op in graph.operators:
            variable = webs.variables.get(webs.root((graph.index, op.inputs[0]))) if op.inputs else None
            if variable is None:
                continue
            if op.name == "READ_VARIABLE":
                webs.sets.join(variable, (graph.index, op.outputs[0]))
            elif op.name == "ASSIGN_VARIABLE":
                _assign(webs, graph, variable, op.inputs[1])
