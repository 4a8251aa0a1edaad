"""Removal of dead operators, whose readers read other tensors now, and of tensors that no operator uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tflmgen.frontend.tflite.model import FileSignature, FileTensor, Model, SubGraph
from tflmgen.ir import DType


def unread_after(subgraph: SubGraph, reads: Mapping[int, Sequence[int]]) -> frozenset[int]:
    """Indices of operators whose results nothing reads once others, by index, read these tensors only."""
    if not reads:
        return frozenset()
    readers: Counter[int] = Counter(subgraph.outputs)
    unused: set[int] = set()
    for op in subgraph.operators:
        readers.update(reads.get(op.index, op.inputs))
        unused.update(op.inputs)
    result = set()
    for op in reversed(subgraph.operators):
        used = any(readers[output] for output in op.outputs)
        if op.outputs and not used and op.index not in reads and unused.intersection(op.outputs):
            result.add(op.index)
            readers.subtract(op.inputs)
    return frozenset(result)


def without_unused(model: Model) -> Model:
    """The Model without unused tensors, the others numbered anew in their order.

    Scales of weights that are quantised by blocks are tensors that no operator names, and stay.
    """
    numbers = {graph.index: _numbers(graph) for graph in model.subgraphs}
    subgraphs = tuple(_renumbered(graph, numbers[graph.index]) for graph in model.subgraphs)
    signatures = tuple(_signature(signature, numbers[signature.subgraph]) for signature in model.signatures)
    return replace(model, subgraphs=subgraphs, signatures=signatures)


def _contents(tensor: FileTensor) -> tuple[float, ...] | None:
    """Elements of a constant that may be the scales of blocks."""
    if tensor.data is None or tensor.dtype not in (DType.FLOAT16, DType.FLOAT32):
        return None
    return tuple(map(float, np.frombuffer(tensor.data, tensor.dtype.numpy)))


def _numbers(graph: SubGraph) -> dict[int, int]:
    """Index of each tensor that stays -> its new one."""
    used = {*graph.inputs, *graph.outputs}
    used |= {i for op in graph.operators for i in (*op.inputs, *op.outputs, *op.intermediates)}
    blocks = (graph.tensors[i].blocks for i in used - {-1})
    scales = {own.scales for own in blocks if own is not None}
    if scales:
        used |= {tensor.index for tensor in graph.tensors if _contents(tensor) in scales}
    return {old: new for new, old in enumerate(sorted(used - {-1}))}


def _renumbered(graph: SubGraph, numbers: dict[int, int]) -> SubGraph:
    def moved(indices: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(numbers.get(index, index) for index in indices)

    tensors = tuple(replace(graph.tensors[old], index=new) for old, new in numbers.items())
    operators = tuple(
        replace(op, inputs=moved(op.inputs), outputs=moved(op.outputs), intermediates=moved(op.intermediates))
        for op in graph.operators
    )
    return replace(
        graph, tensors=tensors, operators=operators, inputs=moved(graph.inputs), outputs=moved(graph.outputs)
    )


def _signature(signature: FileSignature, numbers: dict[int, int]) -> FileSignature:
    inputs, outputs = (
        tuple((name, numbers[tensor]) for name, tensor in ports) for ports in (signature.inputs, signature.outputs)
    )
    return replace(signature, inputs=inputs, outputs=outputs)
