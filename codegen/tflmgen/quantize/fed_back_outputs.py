"""Outputs that the next sample has as inputs: states of recurrent cells that the caller keeps, told by the samples.

Each invoke reads what the one before wrote, so that rounding errors of a state add up over the invokes, which no error
of single samples shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tflmgen.frontend import TensorKey
from tflmgen.input_sets import Vectors, VectorSet
from tflmgen.quantize.evaluation import Array, Outputs, run_sets
from tflmgen.quantize.observed_build import ObservedBuild

_SETS = 9
"""Samples in their order that are compared, each with the one before."""

_TOLERANCE = 1e-3
"""Largest difference of an input from the output before it, as a part of the output's largest element."""


def fed_back_outputs(build: ObservedBuild, vectors: Vectors) -> dict[TensorKey, TensorKey]:
    """Tensors of such outputs -> those of the inputs; none where samples do not follow one another."""
    sets = vectors.sets[:_SETS]
    if len(sets) < _SETS or len({own.signature for own in sets}) > 1:
        return {}
    ports, inputs = build.signatures[sets[0].signature], build.inputs[sets[0].signature]
    shapes = {port.type.max_shape for port in ports.inputs}
    if not any(port.type.max_shape in shapes for port in ports.outputs):
        return {}
    entries = [signature.subgraph for signature in build.model.signatures] or [0]
    graph = build.model.subgraphs[entries[sets[0].signature]]
    outputs = run_sets(build, Vectors(sets)).outputs
    return {(graph.index, graph.outputs[place]): inputs[source] for place, source in _pairs(sets, outputs)}


def _pairs(sets: Sequence[VectorSet], outputs: Outputs) -> Iterator[tuple[int, int]]:
    """Places of outputs, and of inputs that have their values in each next set."""
    for place in range(len(outputs[0])):
        for source in range(len(sets[0].inputs)):
            follows = [
                (own[place], following.inputs[source]) for own, following in zip(outputs, sets[1:], strict=False)
            ]
            if all(_is_same(written, read) for written, read in follows):
                yield place, source
                break


def _is_same(written: Array, read: Array) -> bool:
    if written.shape != read.shape or written.dtype != np.float32 or not written.any():
        return False
    return bool(np.abs(written - read).max() <= _TOLERANCE * np.abs(written).max())
