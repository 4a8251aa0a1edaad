"""FAKE_QUANT of training with quantisation: the operator goes, its range stays beside the tensor.

In integers the operator is the rounding to a scale that quantisation does anyway (Jacob et al., "Quantization and
training of neural networks for efficient integer-arithmetic-only inference", 2018). TensorFlow's converter writes it as
QUANTIZE with DEQUANTIZE after it where it leaves the model in float: the pair goes in the same way.

The operator also clips. Where something else gets the value as it was before, which may lie beyond the range, MAXIMUM
and MINIMUM stay in its place (`idle_clips` takes them away if the integers end where they do).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.frontend import Model, Operator, SubGraph, Tensor, along_axis, bindings, constant_values, contents
from tflmgen.ir import DType
from tflmgen.quantize.graph_writer import GraphWriter
from tflmgen.quantize.integer_forms import Array
from tflmgen.quantize.quantization_scales import quantized, representable_range
from tflmgen.quantize.value_ranges import Range
from tflmgen.quantize.value_sources import own_values

FAKE_QUANT = "FAKE_QUANT"


def without_fake_quant(model: Model) -> Model:
    """The Model with recorded ranges in place of FAKE_QUANT; constants are rounded as the operator rounds them."""
    called = {binding.subgraph for graph in model.subgraphs for op in graph.operators for binding in bindings(op)}
    moved: dict[int, dict[int, int]] = {}
    subgraphs = tuple(_without(g, g.index not in called, moved.setdefault(g.index, {})) for g in model.subgraphs)
    if not any(moved.values()):
        return model if subgraphs == model.subgraphs else replace(model, subgraphs=subgraphs)
    signatures = tuple(
        replace(s, outputs=tuple((name, moved[s.subgraph].get(t, t)) for name, t in s.outputs))
        for s in model.signatures
    )
    return replace(model, subgraphs=subgraphs, signatures=signatures)


def _without(graph: SubGraph, is_entry: bool, moved: dict[int, int]) -> SubGraph:
    """The subgraph without roundings.

    is_entry  no operator runs the subgraph: nothing else reads its inputs
    moved     filled with results of the operator -> the tensors that take their place
    """
    roundings = {op.index: rounding for op in graph.operators if (rounding := _rounding_of(op, graph)) is not None}
    if not roundings:
        return graph
    writer, own = GraphWriter(graph), own_values(graph, is_entry)
    for op in graph.operators:
        rounding = roundings.get(op.index)
        if rounding is None:
            writer.operators.append(replace(op, inputs=_mapped(op.inputs, moved)))
            continue
        source, result, tensors = moved.get(rounding.source, rounding.source), op.outputs[0], writer.tensors
        if tensors[source].data is not None:
            rounded = rounding.rounded(constant_values(tensors[source]))
            data, shape = contents(rounded, DType.FLOAT32), rounded.shape
            # TensorFlow writes such results in loops without a shape.
            tensors[result] = replace(tensors[result], data=data, shape=shape, shape_signature=None, has_rank=True)
        elif rounding.source in own and _is_only_reader(graph, rounding, roundings):
            moved[result] = source
            low, high = rounding.bounds
            known = tensors[source].recorded_range or (low, high)
            tensors[source] = replace(tensors[source], recorded_range=(min(known[0], low), max(known[1], high)))
        else:
            _write_clip(writer, source, result, rounding.ends)
    outputs = _mapped(graph.outputs, moved)
    return _without_unread(replace(writer.finished(), outputs=outputs), roundings)


def _rounding_of(op: Operator, graph: SubGraph) -> _Rounding | None:
    return _pair(op, graph) or _fake_quant(op, graph)


def _is_only_reader(graph: SubGraph, rounding: _Rounding, roundings: Mapping[int, _Rounding]) -> bool:
    """Whether nothing reads the source but this rounding and others to the same range."""
    ends = {r.ends for r in roundings.values() if r.source == rounding.source}
    between = {r.between.index for r in roundings.values() if r.source == rounding.source and r.between is not None}
    readers = [op for op in graph.operators if rounding.source in op.inputs]
    is_rounded = all(op.index in roundings or not between.isdisjoint(op.outputs) for op in readers)
    return is_rounded and len(ends) == 1 and rounding.source not in graph.outputs


def _write_clip(writer: GraphWriter, source: int, result: int, ends: Range) -> None:
    """MAXIMUM and MINIMUM, whose result has the range beside it."""
    own = replace(writer.tensors[source], recorded_range=None)
    name = writer.tensors[result].name
    above = len(writer.tensors)
    writer.tensors[result] = replace(own, index=result, name=name, recorded_range=ends)
    writer.tensors.append(replace(own, index=above, name=f"{name}_above"))
    for kind, operand, end, output in (("MAXIMUM", source, ends[0], above), ("MINIMUM", above, ends[1], result)):
        data = contents(np.array(end, np.float32), DType.FLOAT32)
        writer.tensors.append(Tensor.added(len(writer.tensors), f"{name}_end", DType.FLOAT32, (), data))
        writer.add(kind, (operand, len(writer.tensors) - 1), output)


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
    bounds: Range
    steps: int
    between: Tensor | None = None

    @property
    def ends(self) -> Range:
        """Least and greatest result: `bounds` moved so that the grid has 0 on it, as an integer's is."""
        if self.between is not None:
            return self.bounds
        scale, zero = self._grid()
        return -zero * scale, (self.steps - zero) * scale

    def _grid(self) -> tuple[float, float]:
        low, high = self.bounds
        scale = (high - low) / self.steps
        return scale, float(np.clip(np.rint(-low / scale), 0, self.steps))

    def rounded(self, values: Array) -> Array:
        if self.between is not None and self.between.quantization is not None and self.between.dtype is not None:
            integers = quantized(values, self.between.quantization, self.between.dtype)
            scales, zeros = along_axis(self.between.quantization, values.ndim)
            return np.asarray((integers.astype(np.float64) - zeros) * scales, np.float32)
        scale, zero = self._grid()
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


def _pair(op: Operator, graph: SubGraph) -> _Rounding | None:
    """DEQUANTIZE of what QUANTIZE made of a float tensor; only constants have many scales."""
    if op.name != "DEQUANTIZE":
        return None
    source = next((o.inputs[0] for o in graph.operators if o.name == "QUANTIZE" and o.outputs[0] == op.inputs[0]), -1)
    if source < 0 or {graph.tensors[t].dtype for t in (source, op.outputs[0])} != {DType.FLOAT32}:
        return None
    integer = graph.tensors[op.inputs[0]]
    if integer.dtype is None or integer.quantization is None:
        return None
    if len(integer.quantization.scales) != 1 and graph.tensors[source].data is None:
        return None
    bounds = representable_range(integer.quantization, integer.dtype)
    return _Rounding(source, bounds, 2**integer.dtype.bits - 1, integer)


def _without_unread(graph: SubGraph, roundings: Mapping[int, _Rounding]) -> SubGraph:
    """The subgraph without each QUANTIZE that only a removed DEQUANTIZE read."""
    read = {tensor for op in graph.operators for tensor in op.inputs} | set(graph.outputs)
    unread = {(r.between.index,) for r in roundings.values() if r.between and r.between.index not in read}
    return replace(graph, operators=tuple(op for op in graph.operators if op.outputs not in unread))
