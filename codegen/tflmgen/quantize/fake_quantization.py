"""FAKE_QUANT of training with quantisation: the operator goes, its range stays beside the tensor.

In integers the operator is the rounding to a scale that quantisation does anyway (Jacob et al., "Quantization and
training of neural networks for efficient integer-arithmetic-only inference", 2018). TensorFlow's converter writes it as
QUANTIZE with DEQUANTIZE after it where it leaves the model in float: the pair goes in the same way.

The operator also clips. Where something else gets the value as it was before, which may lie beyond the range, MAXIMUM
and MINIMUM stay in its place (`integer_rules` takes them away if the integers end where they do).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.frontend.model_graph import (
    SubGraphRewrite,
    TensorUses,
    along_axis,
    bindings,
    constant_values,
    with_subgraphs,
)
from tflmgen.frontend.tflite import FileOperator, FileTensor, Model, SubGraph
from tflmgen.ir import DType
from tflmgen.kernels import NumberConversion, traits_of
from tflmgen.quantize.element_types import Range, quantized, representable_range
from tflmgen.quantize.float_rules import add_clip
from tflmgen.quantize.integer_forms import Array
from tflmgen.quantize.value_sources import own_values

FAKE_QUANT = "FAKE_QUANT"


def without_fake_quant(model: Model) -> Model:
    """The Model with recorded ranges in place of FAKE_QUANT; constants are rounded as the operator rounds them."""
    called = {binding.subgraph for graph in model.subgraphs for op in graph.operators for binding in bindings(op)}
    return with_subgraphs(model, [_without(graph, graph.index not in called) for graph in model.subgraphs])


def _without(graph: SubGraph, is_entry: bool) -> SubGraph:
    """The subgraph without roundings. is_entry: no operator runs it: nothing else reads its inputs."""
    uses = TensorUses.of(graph)
    roundings = {op.index: rounding for op in graph.operators if (rounding := _rounding(op, graph, uses)) is not None}
    if not roundings:
        return graph
    own = own_values(graph, is_entry)

    def without_rounding(rewrite: SubGraphRewrite, op: FileOperator) -> bool:
        rounding = roundings.get(op.index)
        if rounding is None:
            return False
        source, result, tensors = rewrite.current(rounding.source), op.outputs[0], rewrite.tensors
        if tensors[source].data is not None:
            rounded = rounding.rounded(constant_values(tensors[source]))
            rewrite.fill(result, rounded)
            # TensorFlow writes such results in loops without a shape.
            tensors[result] = replace(tensors[result], shape=rounded.shape, shape_signature=None, has_rank=True)
        elif rounding.source in own and _is_only_reader(uses, rounding, roundings):
            rewrite.use_instead(source, result)
            low, high = rounding.bounds
            known = tensors[source].recorded_range or (low, high)
            tensors[source] = replace(tensors[source], recorded_range=(min(known[0], low), max(known[1], high)))
        else:
            add_clip(rewrite, source, result, rounding.ends)
        return True

    rewrite = SubGraphRewrite(graph)
    rewrite.apply(without_rounding)
    return rewrite.result()


def _rounding(op: FileOperator, graph: SubGraph, uses: TensorUses) -> _Rounding | None:
    return _pair(op, graph, uses) or _fake_quant(op, graph)


def _is_only_reader(uses: TensorUses, rounding: _Rounding, roundings: Mapping[int, _Rounding]) -> bool:
    """Whether nothing reads the source but this rounding and others to the same range."""
    ends = {r.ends for r in roundings.values() if r.source == rounding.source}
    between = {r.between.index for r in roundings.values() if r.source == rounding.source and r.between is not None}
    is_rounded = all(
        op is not None and (op.index in roundings or not between.isdisjoint(op.outputs))
        for op in uses.readers[rounding.source]
    )
    return is_rounded and len(ends) == 1


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
    between: FileTensor | None = None

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


def _fake_quant(op: FileOperator, graph: SubGraph) -> _Rounding | None:
    """The rounding of FAKE_QUANT: a grid of 2^bits or, with a narrow range, one less values."""
    options = op.options or {}
    low, high = (float(options.get(end, 0.0)) for end in ("min", "max"))
    if op.name != FAKE_QUANT or low >= high or graph.tensors[op.inputs[0]].dtype is not DType.FLOAT32:
        return None
    steps = 2 ** int(options.get("num_bits", 8)) - 1 - bool(options.get("narrow_range", False))
    return _Rounding(op.inputs[0], (low, high), steps)


def _pair(op: FileOperator, graph: SubGraph, uses: TensorUses) -> _Rounding | None:
    """DEQUANTIZE of what QUANTIZE made of a float tensor; only constants have many scales."""
    if traits_of(op.name).converts is not NumberConversion.DEQUANTIZES:
        return None
    quantize = uses.producers.get(op.inputs[0])
    if quantize is None or traits_of(quantize.name).converts is not NumberConversion.QUANTIZES:
        return None
    source = quantize.inputs[0]
    if {graph.tensors[t].dtype for t in (source, op.outputs[0])} != {DType.FLOAT32}:
        return None
    integer = graph.tensors[op.inputs[0]]
    if integer.dtype is None or integer.quantization is None:
        return None
    if len(integer.quantization.scales) != 1 and graph.tensors[source].data is None:
        return None
    bounds = representable_range(integer.quantization, integer.dtype)
    return _Rounding(source, bounds, 2**integer.dtype.bits - 1, integer)
