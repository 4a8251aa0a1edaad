"""Splits TILEs along many dimensions, before any other step of the import.

A copy takes a loop for dimensions that it repeats, and one for those that it walks along, wherever the two alternate. A
TILE that would take more than MAX_RANK becomes several, which repeat two dimensions each, the innermost first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from tflmgen.frontend.tensor_values import constant_values
from tflmgen.frontend.tflite.model import Model, Operator, SubGraph, Tensor
from tflmgen.kernels import MAX_RANK

TILE = "TILE"


def without_wide_tiles(model: Model) -> Model:
    """The model with several TILEs for each one that takes too many loops, where shape and multiples are constant."""
    if not any(op.name == TILE for graph in model.subgraphs for op in graph.operators):
        return model
    return replace(model, subgraphs=tuple(map(_split, model.subgraphs)))


def _split(graph: SubGraph) -> SubGraph:
    tensors, operators = list(graph.tensors), []
    for op in graph.operators:
        parts = _parts(graph, op)
        operators += [op] if len(parts) < 2 else _tiles(tensors, op, parts)
    return replace(graph, tensors=tuple(tensors), operators=tuple(operators))


def _parts(graph: SubGraph, op: Operator) -> list[tuple[int, ...]]:
    """Multiples of the TILEs that stand for an operator; none where it stays as it is."""
    if op.name != TILE or (len(op.inputs), len(op.outputs)) != (2, 1) or min(op.inputs) < 0:
        return []
    source, list_of_multiples = (graph.tensors[index] for index in op.inputs)
    if list_of_multiples.data is None or min(source.shape_signature or source.shape, default=1) < 1:
        return []
    multiples = [int(value) for value in constant_values(list_of_multiples).reshape(-1)]
    repeated = [axis for axis, number in enumerate(multiples) if number != 1]
    if len(multiples) != len(source.shape) or _loops(source.shape, multiples) <= MAX_RANK:
        return []
    pairs = [repeated[max(0, end - 2) : end] for end in range(len(repeated), 0, -2)]
    return [tuple(number if axis in pair else 1 for axis, number in enumerate(multiples)) for pair in pairs]


def _loops(shape: Sequence[int], multiples: Sequence[int]) -> int:
    """Loops of the copy: dimensions of one element take none, neighbours of one kind one together."""
    extents = [extent for pair in zip(multiples, shape, strict=True) for extent in pair]
    return sum(1 for _ in groupby(place % 2 for place, extent in enumerate(extents) if extent != 1))


def _tiles(tensors: list[Tensor], op: Operator, parts: list[tuple[int, ...]]) -> list[Operator]:
    """One TILE for each part, in order; the last one gives the operator's result."""
    source, multiples = (tensors[index] for index in op.inputs)
    operators = []
    for part in parts:
        dtype = multiples.dtype.numpy if multiples.dtype is not None else np.dtype(np.int32)
        wanted = replace(multiples, index=len(tensors), data=np.array(part, dtype).tobytes())
        tensors.append(wanted)
        shape = tuple(dim * number for dim, number in zip(source.shape, part, strict=True))
        result = replace(source, index=len(tensors), shape=shape, shape_signature=None, data=None, is_variable=False)
        if part is parts[-1]:
            result = tensors[op.outputs[0]]
        else:
            tensors.append(result)
        operators.append(replace(op, inputs=(source.index, wanted.index), outputs=(result.index,)))
        source = result
    return operators
