"""FAKE_QUANT of training with quantisation: the operator goes, its range stays beside the tensor.

In integers the operator is the rounding to a scale that quantisation does anyway (Jacob et al., "Quantization and
training of neural networks for efficient integer-arithmetic-only inference", 2018). TensorFlow's converter writes it as
QUANTIZE with DEQUANTIZE after it where it leaves the model in float: the pair goes in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.frontend import Model, Operator, SubGraph, Tensor, along_axis, constant_values, contents
from tflmgen.ir import DType
from tflmgen.quantize.integer_forms import Array
from tflmgen.quantize.quantization_scales import quantized, representable_range

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
    pairs = _pairs(graph)
    for op in graph.operators:
        rounding = pairs.get(op.index) or _fake_quant(op, graph)
        if rounding is None:
            operators.append(replace(op, inputs=_mapped(op.inputs, moved)))
            continue
        source, result = moved.get(rounding.source, rounding.source), op.outputs[0]
        if tensors[source].data is not None:
            rounded = rounding.rounded(constant_values(tensors[source]))
            data, shape = contents(rounded, DType.FLOAT32), rounded.shape
            # TensorFlow writes such results in loops without a shape.
            tensors[result] = replace(tensors[result], data=data, shape=shape, shape_signature=None, has_rank=True)
        else:
            moved[result] = source
            low, high = rounding.bounds
            known = tensors[source].recorded_range or (low, high)
            tensors[source] = replace(tensors[source], recorded_range=(min(known[0], low), max(known[1], high)))
    outputs = _mapped(graph.outputs, moved)
    return _without_unread(replace(graph, tensors=tuple(tensors), operators=tuple(operators), outputs=outputs), pairs)


def _mapped(tensors: Sequence[int], moved: dict[int, int]) -> tuple[int, ...]:
    return tuple(moved.get(tensor, tensor) for tensor in tensors)


@dataclass(frozen=True, slots=True)
class _Rounding:
    """An operator whose result is a float tensor on a grid from `low` to `high` with so many steps.

    source   the tensor that is rounded
    bounds   of the first channel, where a constant has a grid for each
    between  the tensor in integers between QUANTIZE and DEQUANTIZE; None for FAKE_QUANT
    """

    source: int
    bounds: tuple[float, float]
    steps: int
    between: Tensor | None = None

    def rounded(self, values: Array) -> Array:
        if self.between is not None and self.between.quantization is not None and self.between.dtype is not None:
            integers = quantized(values, self.between.quantization, self.between.dtype)
            scales, zeros = along_axis(self.between.quantization, values.ndim)
            return np.asarray((integers.astype(np.float64) - zeros) * scales, np.float32)
        low, high = self.bounds
        scale = (high - low) / self.steps
        zero = np.clip(np.rint(-low / scale), 0, self.steps)
        elements = np.clip(np.rint(values / scale) + zero, 0, self.steps)
        return np.asarray((elements - zero) * scale, np.float32)


def _fake_quant(op: Operator, graph: SubGraph) -> _Rounding | None:
    """The rounding of FAKE_QUANT: a grid of 2^bits or, with a narrow range, one less values."""
    options = op.options or {}
    low, high = (float(options.get(end, 0.0)) for end in ("min", "max"))
    if op.name != FAKE_QUANT or low >= high or graph.tensors[op.inputs[0]].dtype is not DType.FLOAT32:
        return None
    steps = 2 ** int(options.get("num_bits", 8)) - 1 - bool(options.get("narrow_range", False))
    return _Rounding(op.inputs[0], (low, high), steps)


def _pairs(graph: SubGraph) -> dict[int, _Rounding]:
    """DEQUANTIZE of what QUANTIZE made of a float tensor, by the operator's index; only constants have many scales."""
    sources = {op.outputs[0]: op.inputs[0] for op in graph.operators if op.name == "QUANTIZE"}
    pairs = {}
    for op in graph.operators:
        source = sources.get(op.inputs[0], -1) if op.name == "DEQUANTIZE" else -1
        if source < 0 or {graph.tensors[t].dtype for t in (source, op.outputs[0])} != {DType.FLOAT32}:
            continue
        integer = graph.tensors[op.inputs[0]]
        if integer.dtype is None or integer.quantization is None:
            continue
        if len(integer.quantization.scales) == 1 or graph.tensors[source].data is not None:
            bounds = representable_range(integer.quantization, integer.dtype)
            pairs[op.index] = _Rounding(source, bounds, 2**integer.dtype.bits - 1, integer)
    return pairs


def _without_unread(graph: SubGraph, pairs: Mapping[int, _Rounding]) -> SubGraph:
    """The subgraph without each QUANTIZE that only a removed DEQUANTIZE read."""
    read = {tensor for op in graph.operators for tensor in op.inputs} | set(graph.outputs)
    unread = {(pair.between.index,) for pair in pairs.values() if pair.between and pair.between.index not in read}
    return replace(graph, operators=tuple(op for op in graph.operators if op.outputs not in unread))
