"""Splits TILEs along many dimensions, before any other step of the import.

A copy takes a loop for dimensions that it repeats, and one for those that it walks along, wherever the two alternate. A
TILE that would take more than MAX_RANK becomes several, which repeat two dimensions each, the innermost first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from tflmgen.frontend.model_graph.model_rewrite import SubGraphRewrite, rewrite_model
from tflmgen.frontend.model_graph.tensor_values import constant_values
from tflmgen.frontend.tflite.model import FileOperator, Model, SubGraph
from tflmgen.kernels.numeric import MAX_RANK

TILE = "TILE"


def without_wide_tiles(model: Model) -> Model:
    """The model with several TILEs for each one that takes too many loops, where shape and multiples are constant."""
    return rewrite_model(model, _split, renumber=False)


def _split(graph: SubGraphRewrite, op: FileOperator) -> bool:
    """One TILE for each part, in order; the last one gives the operator's result."""
    parts = _parts(graph.graph, op)
    if len(parts) < 2:
        return False
    source, multiples = (graph.tensors[index] for index in op.inputs)
    for part in parts:
        dtype = multiples.dtype.numpy if multiples.dtype is not None else np.dtype(np.int32)
        wanted = graph.add_tensor(multiples, data=np.array(part, dtype).tobytes())
        shape = tuple(dim * number for dim, number in zip(source.shape, part, strict=True))
        result = op.outputs[0]
        if part is not parts[-1]:
            result = graph.add_tensor(source, shape=shape, shape_signature=None, data=None, is_variable=False)
        graph.operators.append(replace(op, inputs=(source.index, wanted), outputs=(result,)))
        source = graph.tensors[result]
    return True


def _parts(graph: SubGraph, op: FileOperator) -> list[tuple[int, ...]]:
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
