"""Value-range analysis of float subgraphs that calibration never reached: intervals from those of their inputs.

Interval arithmetic (Moore, Interval Analysis, 1966), one interval for each tensor. Sums of products are bounded by each
channel's weights. Functions of elements are evaluated on a grid over the operands' intervals, which is exact where they
are monotone. Nothing is concluded about bodies of loops, whose intervals would grow with each iteration.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from tflmgen.frontend import Model, Operator, SubGraph, TensorKey, bindings, constant_values, is_loop
from tflmgen.ir import DType
from tflmgen.kernels import OPERATORS, Sliding, traits_of
from tflmgen.quantize.integer_forms import (
    WeightOperands,
    bias_operand,
    find_form,
    finite_range,
    float_instance,
    weight_operands,
)
from tflmgen.quantize.quantization_scales import representable_range
from tflmgen.quantize.web_constraints import Webs, result_key

Range = tuple[float, float]

_MAX_WIDENING = 4.0
"""How far beyond its measured range an analysed branch may widen a value that other branches give, too: by two of eight
bits. Bounds of sums assume the worst of all inputs at once and are seldom reached."""

_POINTS = {1: 257, 2: 33}
"""Points of the grid along each operand, by the number of operands."""


def with_analysed(model: Model, webs: Webs, ranges: Mapping[TensorKey, Range]) -> dict[TensorKey, Range]:
    """The ranges of webs, by their roots, with those that value-range analysis gives to webs without.

    Webs that have a range and get values from an analysed subgraph are widened, within bounds.
    """
    analysis = _Analysis(model, webs, dict(ranges))
    before = -1
    while before != len(analysis.known):
        before = len(analysis.known)
        for graph in analysis.candidates():
            analysis.visit(graph)
    return analysis.widened()


class _Analysis:
    def __init__(self, model: Model, webs: Webs, ranges: dict[TensorKey, Range]) -> None:
        self._model, self._webs, self._measured = model, webs, ranges
        self.known: dict[TensorKey, Range] = {}
        self._in_loops = _in_loops(model)

    def candidates(self) -> Iterator[SubGraph]:
        """Subgraphs with operators whose results have no range, outside of loops' bodies and conditions."""
        for graph in self._model.subgraphs:
            results = [(graph.index, t) for op in graph.operators for t in op.outputs if _is_variable(graph, t)]
            is_open = any(self._webs.root(key) not in self._measured for key in results)
            if graph.index in self._webs.called and graph.index not in self._in_loops and is_open:
                yield graph

    def visit(self, graph: SubGraph) -> None:
        """Intervals of results of operators whose operands have some."""
        for op in graph.operators:
            if bindings(op) or len(op.outputs) == 0 or not _is_variable(graph, op.outputs[0]):
                continue
            key = self._webs.root((graph.index, op.outputs[0]))
            if key in self._measured or key in self.known:
                continue
            interval = self._interval(graph, op)
            if interval is not None and all(map(math.isfinite, interval)):
                self.known |= {self._webs.root((graph.index, t)): interval for t in op.outputs}

    def widened(self) -> dict[TensorKey, Range]:
        """All ranges; those of measured webs hold the results of analysed subgraphs as far as that is sensible."""
        ranges = {**self.known, **self._measured}
        for graph in self.candidates():
            for place, tensor in enumerate(graph.outputs):
                own = self.known.get(self._webs.root((graph.index, tensor)))
                root = self._webs.root(result_key(graph.index, place))
                if own is None or root not in self._measured:
                    continue
                low, high = self._measured[root]
                reach = _MAX_WIDENING * max(abs(low), abs(high))
                ranges[root] = min(low, max(own[0], -reach)), max(high, min(own[1], reach))
        return ranges

    def _of(self, graph: SubGraph, tensor: int) -> Range | None:
        if graph.tensors[tensor].data is not None:
            return finite_range(constant_values(graph.tensors[tensor]))
        root = self._webs.root((graph.index, tensor))
        return self._measured.get(root) or self.known.get(root)

    def _interval(self, graph: SubGraph, op: Operator) -> Range | None:
        """The interval of an operator's results; None where nothing can be said."""
        traits = traits_of(op.name)
        form = find_form(op, graph, DType.INT8)
        if not isinstance(form, str) and form.result is not None:
            return representable_range(form.result, DType.INT8)
        floats = [t for t in op.inputs if t >= 0 and graph.tensors[t].dtype is DType.FLOAT32]
        weights = weight_operands(op, graph)
        if weights is not None:
            source = self._of(graph, op.inputs[weights.source])
            return None if source is None else _sums(graph, op, weights, source)
        operands = [self._of(graph, t) for t in floats]
        known = [operand for operand in operands if operand is not None]
        if len(known) < len(operands) or not known:
            return None
        union = min(low for low, _ in known), max(high for _, high in known)
        if traits.pads and len(floats) == 1:
            return min(union[0], 0.0), max(union[1], 0.0)
        if traits.view or traits.moves or traits.cuts or traits.joins or traits.selects or _is_pool(op):
            return union
        return _evaluated(graph, op, known)


def _is_variable(graph: SubGraph, tensor: int) -> bool:
    return graph.tensors[tensor].dtype is DType.FLOAT32 and graph.tensors[tensor].data is None


def _is_pool(op: Operator) -> bool:
    return traits_of(op.name).window is Sliding.POOL


def _in_loops(model: Model) -> set[int]:
    """Subgraphs that a loop runs, in turn or at once."""
    inside = set[int]()
    pending = [b.subgraph for g in model.subgraphs for op in g.operators if is_loop(op) for b in bindings(op)]
    while pending:
        index = pending.pop()
        if index not in inside:
            inside.add(index)
            pending += [b.subgraph for op in model.subgraphs[index].operators for b in bindings(op)]
    return inside


def _sums(graph: SubGraph, op: Operator, weights: WeightOperands, source: Range) -> Range:
    """Bounds of the sums of products of each channel with its weights, and of what a fused activation leaves."""
    values = constant_values(graph.tensors[op.inputs[weights.weights]]).astype(np.float64)
    rows = np.moveaxis(values, weights.axis, 0).reshape(values.shape[weights.axis], -1)
    low, high = min(source[0], 0.0), max(source[1], 0.0)
    ends = np.stack([rows * low, rows * high])
    lowest, highest = ends.min(axis=0).sum(axis=1), ends.max(axis=0).sum(axis=1)
    bias = bias_operand(op)
    if bias is not None and graph.tensors[op.inputs[bias]].data is not None:
        added = constant_values(graph.tensors[op.inputs[bias]]).reshape(-1)
        lowest, highest = lowest + added, highest + added
    activation = getattr(float_instance(op, graph).attributes, "activation", None)
    bounds = (-np.inf, np.inf) if activation is None else activation.bounds
    clipped = np.clip([lowest.min(initial=0.0), highest.max(initial=0.0)], *bounds)
    return float(clipped[0]), float(clipped[1])


def _evaluated(graph: SubGraph, op: Operator, operands: list[Range]) -> Range | None:
    """Least and greatest value of a function on a grid over its operands' intervals, or of a reduction."""
    entry = OPERATORS.get(op.name)
    if entry is None or entry.real is None or (entry.traits.reduces and entry.traits.monotone_from is None):
        return None
    instance = float_instance(op, graph)
    with np.errstate(all="ignore"):
        if entry.traits.reduces:
            shape = graph.tensors[op.inputs[0]].shape
            results = [entry.real(instance, [np.full(shape, end)]) for end in operands[0]]
        elif entry.traits.elementwise and len(operands) == len(op.inputs) and len(operands) in _POINTS:
            axes = [np.linspace(*operand, _POINTS[len(operands)]) for operand in operands]
            results = [entry.real(instance, np.meshgrid(*axes))]
        else:
            return None
    values = np.concatenate([np.asarray(result, np.float64).reshape(-1) for result in results])
    return None if not np.isfinite(values).all() or not values.size else (float(values.min()), float(values.max()))
