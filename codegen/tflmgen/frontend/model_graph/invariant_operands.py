"""Constants that a branch or body captures, which converters pass as operands of the If or While, inside of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from tflmgen.frontend.model_graph.subgraphs import Binding, bindings, is_loop
from tflmgen.frontend.model_graph.union_find import UnionFind
from tflmgen.frontend.shape_bounds import TensorKey
from tflmgen.frontend.tflite.model import FileOperator, FileTensor, Model, SubGraph
from tflmgen.ir import DType

Places = Mapping[int, Collection[int]]
"""Subgraph -> places of inputs."""


def without_captured(model: Model) -> Model:
    """The Model in which no operand is the same constant wherever it is passed."""
    while (captured := _captured(model)) is not None:
        places, constant = captured
        filled = {index: {model.subgraphs[index].inputs[place] for place in own} for index, own in places.items()}
        for graph, op, called in _sites(model):
            if is_loop(op):
                results = {op.outputs[place] for place in places.get(called[0].subgraph, ())}
                filled.setdefault(graph.index, set()).update(results)
        graphs = tuple(_filled(graph, filled.get(graph.index, ()), constant) for graph in model.subgraphs)
        model = without_operands(replace(model, subgraphs=graphs), places)
    return model


def without_operands(model: Model, places: Places) -> Model:
    """The Model whose subgraphs lack these inputs, and the operators that run them the operands.

    A loop loses the variables.
    """
    bodies = {called[1].subgraph for _, op, called in _sites(model) if is_loop(op)}

    def shorter(op: FileOperator) -> FileOperator:
        called = bindings(op)
        removed = places.get(called[0].subgraph, ()) if called else ()
        if not removed:
            return op
        offset = len(op.inputs) - len(called[0].operands)
        inputs = _others(op.inputs, {place + offset for place in removed})
        return replace(op, inputs=inputs, outputs=_others(op.outputs, removed) if is_loop(op) else op.outputs)

    graphs = []
    for graph in model.subgraphs:
        removed = places.get(graph.index, ())
        outputs = _others(graph.outputs, removed) if graph.index in bodies else graph.outputs
        operators = tuple(map(shorter, graph.operators))
        graphs.append(replace(graph, inputs=_others(graph.inputs, removed), outputs=outputs, operators=operators))
    return replace(model, subgraphs=tuple(graphs))


def _captured(model: Model) -> tuple[Places, FileTensor] | None:
    """Inputs of subgraphs, handed on to each other, that are one constant, and the constant; None if there are none."""
    slots = UnionFind()
    sources: dict[TensorKey, dict[tuple[bytes | None, tuple[int, ...]], FileTensor | None]] = {}
    sites = list(_sites(model))
    for _, _, called in sites:
        for place in range(len(called[0].operands)):
            for binding in called:
                slots.join((called[0].subgraph, place), (binding.subgraph, place))
    for entry in {0, *(signature.subgraph for signature in model.signatures)}:
        for place in range(len(model.subgraphs[entry].inputs)):
            sources.setdefault(slots.root((entry, place)), {})[None, ()] = None
    for graph, op, called in sites:
        for place, tensor in enumerate(called[0].operands):
            operand = graph.tensors[tensor] if tensor >= 0 else None
            is_float = operand is not None and operand.dtype is DType.FLOAT32
            is_kept = not is_loop(op) or _passes_through(model.subgraphs[called[1].subgraph], place)
            data = operand.data if operand is not None and is_float and is_kept else None
            root = slots.root((called[0].subgraph, place))
            sources.setdefault(root, {}).setdefault((data, operand.shape if operand is not None else ()), operand)
    for root, constants in sorted(sources.items(), key=lambda item: item[0]):
        ((data, _), constant) = next(iter(constants.items()))
        if len(constants) == 1 and data is not None and constant is not None:
            inputs = ((graph.index, place) for graph in model.subgraphs for place in range(len(graph.inputs)))
            places: dict[int, set[int]] = {}
            for index, place in inputs:
                if slots.root((index, place)) == root:
                    places.setdefault(index, set()).add(place)
            return places, constant
    return None


def _sites(model: Model) -> Iterator[tuple[SubGraph, FileOperator, tuple[Binding, ...]]]:
    """Operators that run subgraphs, but for composites, whose attributes say what their operands are."""
    for graph in model.subgraphs:
        for op in graph.operators:
            if op.name != "STABLEHLO_COMPOSITE" and (called := bindings(op)):
                yield graph, op, called


def _passes_through(body: SubGraph, place: int) -> bool:
    return body.outputs[place] == body.inputs[place]


def _filled(graph: SubGraph, tensors: Collection[int], constant: FileTensor) -> SubGraph:
    """The subgraph in which these tensors have the contents of a constant, by the same number in the file."""

    def filled(tensor: FileTensor) -> FileTensor:
        return replace(tensor, data=constant.data, buffer=constant.buffer) if tensor.index in tensors else tensor

    return replace(graph, tensors=tuple(map(filled, graph.tensors)))


def _others(tensors: Sequence[int], removed: Collection[int]) -> tuple[int, ...]:
    return tuple(tensor for place, tensor in enumerate(tensors) if place not in removed)
