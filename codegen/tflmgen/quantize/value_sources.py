"""Tensors whose values are those of other tensors: views, loop variables, branch results, arguments, variables.

Along these edges of the file, a tensor that no operator writes in the generated code (a view, an operand of a branch)
gets its statistics from the tensors whose values reach it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import CONTROL_FLOW, bindings
from tflmgen.frontend.tflite import FileOperator, Model, SubGraph
from tflmgen.kernels import traits_of

Edges = Mapping[TensorKey, frozenset[TensorKey]]

LOOPS = frozenset(name for name, options in CONTROL_FLOW.items() if "body_subgraph_index" in options)
BRANCHES = frozenset(name for name, options in CONTROL_FLOW.items() if "then_subgraph_index" in options)


def callees(op: FileOperator) -> dict[str, int]:
    """Subgraphs that an operator runs: the option that names each -> its index."""
    options = op.options or {}
    return {name: int(options[name]) for name in CONTROL_FLOW.get(op.name, ()) if name in options}


def value_sources(model: Model) -> Edges:
    """Tensor -> tensors whose values become its own, unchanged."""
    sources: dict[TensorKey, set[TensorKey]] = {}
    for target, source in _edges(model):
        sources.setdefault(target, set()).add(source)
    return {target: frozenset(origins) for target, origins in sources.items()}


def own_values(graph: SubGraph, is_entry: bool) -> set[int]:
    """Tensors whose values come from no other name in this subgraph, one that runs it, one that it runs, or a variable.

    is_entry  no operator runs the subgraph: its inputs are values of their own
    """
    computed = {t for op in graph.operators if not bindings(op) and op.name != "READ_VARIABLE" for t in op.outputs}
    return computed | set(graph.inputs if is_entry else ())


def origins(tensor: TensorKey, sources: Edges, is_known: Iterable[TensorKey]) -> list[TensorKey]:
    """Known tensors whose values reach `tensor` through unknown ones, in ascending order."""
    known = frozenset(is_known)
    seen, pending, reached = {tensor}, [tensor], set()
    while pending:
        for source in sources.get(pending.pop(), ()):
            if source in known:
                reached.add(source)
            elif source not in seen:
                seen.add(source)
                pending.append(source)
    return sorted(reached)


def with_sources(tensor: TensorKey, sources: Edges) -> frozenset[TensorKey]:
    """The tensor and all whose values reach it."""
    reached, pending = {tensor}, [tensor]
    while pending:
        others = sources.get(pending.pop(), frozenset()) - reached
        reached |= others
        pending += others
    return frozenset(reached)


def _edges(model: Model) -> Iterator[tuple[TensorKey, TensorKey]]:
    """(target, source) of every edge."""
    assigned: dict[str, list[TensorKey]] = {}
    read: dict[str, list[TensorKey]] = {}
    for graph in model.subgraphs:
        for op in graph.operators:
            if op.name in CONTROL_FLOW:
                yield from _control_edges(model, graph, op)
            elif op.name == "READ_VARIABLE":
                read.setdefault(_variable(graph, op), []).append((graph.index, op.outputs[0]))
            elif op.name == "ASSIGN_VARIABLE":
                assigned.setdefault(_variable(graph, op), []).append((graph.index, op.inputs[1]))
            else:
                yield from _moved(graph, op)
    for name, targets in read.items():
        yield from ((target, source) for target in targets for source in assigned.get(name, ()))


def _control_edges(model: Model, graph: SubGraph, op: FileOperator) -> Iterator[tuple[TensorKey, TensorKey]]:
    called = {name: model.subgraphs[index] for name, index in callees(op).items()}
    operands = [(graph.index, index) for index in op.inputs]
    results = [(graph.index, index) for index in op.outputs]
    if op.name in LOOPS:
        body = called["body_subgraph_index"]
        next_inputs = [(body.index, index) for index in body.outputs]
        for targets in (results, *([(g.index, index) for index in g.inputs] for g in called.values())):
            yield from zip(targets, operands, strict=False)
            yield from zip(targets, next_inputs, strict=False)
        return
    arguments = operands[1:] if op.name in BRANCHES else operands
    for callee in called.values():
        yield from zip([(callee.index, index) for index in callee.inputs], arguments, strict=False)
        yield from zip(results, [(callee.index, index) for index in callee.outputs], strict=False)


def _moved(graph: SubGraph, op: FileOperator) -> Iterator[tuple[TensorKey, TensorKey]]:
    """Edges of an operator whose outputs consist of elements of its inputs."""
    traits = traits_of(op.name)
    if traits.view or traits.joins:
        data = op.inputs if traits.joins else op.inputs[:1]
    elif traits.moves or traits.cuts:
        data = op.inputs[traits.roles.data : traits.roles.data + 1]
    else:
        return
    for output in op.outputs:
        yield from (((graph.index, output), (graph.index, index)) for index in data if index >= 0)


def _variable(graph: SubGraph, op: FileOperator) -> str:
    """Name of the variable that an operator accesses; the handle's tensor where it is an argument of the subgraph."""
    handle = op.inputs[0]
    for operator in graph.operators:
        if handle in operator.outputs:
            options = operator.options or {}
            return f"{options.get('container', '')}/{options.get('shared_name', '')}"
    return f"{graph.index}.{handle}"
