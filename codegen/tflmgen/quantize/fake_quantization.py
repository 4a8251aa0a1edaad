"""FAKE_QUANT of training with quantisation: the operator goes, its range stays beside the tensor.

In integers the operator is the rounding to a scale that quantisation does anyway (Jacob et al., "Quantization and
training of neural networks for efficient integer-arithmetic-only inference", 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tflmgen.frontend import Model, Operator, SubGraph, constant_values, contents
from tflmgen.ir import DType
from tflmgen.quantize.integer_forms import Array

FAKE_QUANT = "FAKE_QUANT"


def without_fake_quant(model: Model) -> Model:
    """The Model with recorded ranges in place of FAKE_QUANT; constants are rounded as the operator rounds them."""
    moved: dict[int, dict[int, int]] = {}
    subgraphs = tuple(_without(graph, moved.setdefault(graph.index, {})) for graph in model.subgraphs)
    if not any(moved.values()):
        return model if subgraphs == model.subgraphs else replace(model, subgraphs=subgraphs)
    signatures = tuple(
        replace(s, outputs=tuple((name, moved[s.subgraph].get(t, t)) for name, t in s.outputs))
        for s in model.signatures
    )
    return replace(model, subgraphs=subgraphs, signatures=signatures)


def _without(graph: SubGraph, moved: dict[int, int]) -> SubGraph:
    """moved: filled with results of the operator -> the tensors that take their place."""
    tensors, operators = list(graph.tensors), []
    for op in graph.operators:
        source = moved.get(op.inputs[0], op.inputs[0]) if op.inputs else -1
        low, high = (float((op.options or {}).get(end, 0.0)) for end in ("min", "max"))
        is_known = op.name == FAKE_QUANT and low < high and tensors[op.inputs[0]].dtype is DType.FLOAT32
        if not is_known:
            operators.append(replace(op, inputs=_mapped(op.inputs, moved)))
        elif tensors[source].data is not None:
            rounded = _rounded(constant_values(tensors[source]), op, (low, high))
            tensors[op.outputs[0]] = replace(tensors[op.outputs[0]], data=contents(rounded, DType.FLOAT32))
        else:
            moved[op.outputs[0]] = source
            known = tensors[source].recorded_range or (low, high)
            both = min(known[0], low), max(known[1], high)
            tensors[source] = replace(tensors[source], recorded_range=both)
    outputs = _mapped(graph.outputs, moved)
    return replace(graph, tensors=tuple(tensors), operators=tuple(operators), outputs=outputs)


def _mapped(tensors: Sequence[int], moved: dict[int, int]) -> tuple[int, ...]:
    return tuple(moved.get(tensor, tensor) for tensor in tensors)


def _rounded(values: Array, op: Operator, bounds: tuple[float, float]) -> Array:
    """What FAKE_QUANT gives: values on the grid of 2^bits or, with a narrow range, one less steps."""
    options = op.options or {}
    steps = 2 ** int(options.get("num_bits", 8)) - 1 - bool(options.get("narrow_range", False))
    scale = (bounds[1] - bounds[0]) / steps
    zero = np.clip(np.rint(-bounds[0] / scale), 0, steps)
    rounded = np.clip(np.rint(values / scale) + zero, 0, steps)
    return np.asarray((rounded - zero) * scale, np.float32)
