"""Value-range analysis of float subgraphs that calibration never reached: intervals from those of their inputs.

Interval arithmetic (Moore, Interval Analysis, 1966), one interval for each tensor. Sums of products are bounded by each
channel's weights. Functions of elements are evaluated on a grid over the operands' intervals, which is exact where they
are monotone. Of a loop that never ran, one iteration counts: intervals would grow with each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import WeightOperands, bindings, constant_values, is_loop
from tflmgen.frontend.tflite import FileOperator, Model, SubGraph
from tflmgen.ir import DType
from tflmgen.kernels import OPERATORS, Sliding, traits_of
from tflmgen.quantize.element_types import NOTHING, Range, hull, representable_range
from tflmgen.quantize.integer_forms import bias_operand, find_form, finite_range, float_instance, weight_operands
from tflmgen.quantize.web_constraints import Webs, result_key

_MAX_WIDENING = 4.0
"""Distance beyond its measured range to which an analysed branch may widen a value that other branches give, too: by
two of eight bits. Bounds of sums assume the worst of all inputs at once and are seldom reached."""

_POINTS = {1: 257, 2: 33}
"""Points of the grid along each operand, by the number of operands."""


def with_analysed(
    model: Model, webs: Webs, ranges: Mapping[TensorKey, Range], unreached: frozenset[int] = frozenset()
) -> dict[TensorKey, Range]:
    """The ranges of webs, by their roots, with those that value-range analysis gives to webs without.

    Webs that have a range and get values from an analysed subgraph are widened, within bounds.

    unreached  subgraphs that calibration never ran
    """
    analysis = _Analysis(model, webs, ranges, unreached)
    before = -1
    while before != len(analysis.own):
        before = len(analysis.own)
        analysis.sweep()
    return analysis.widened()


class _Analysis:
    """Intervals of one Model.

    known  by web's root, of webs that have no measured range
    own    by tensor, of operators' results, which may belong to webs with a range that other subgraphs gave them
    added  by web's root, what subgraphs that never ran give to webs with a measured range
    """

    def __init__(self, model: Model, webs: Webs, ranges: Mapping[TensorKey, Range], unreached: frozenset[int]) -> None:
        self._model, self._webs, self._measured, self._unreached = model, webs, ranges, unreached
        self.known: dict[TensorKey, Range] = {}
        self.own: dict[TensorKey, Range] = {}
        self.added: dict[TensorKey, Range] = {}
        self._candidates = {graph.index: graph for graph in self._find_candidates()}
        self._settled: frozenset[TensorKey] = frozenset()

    def _find_candidates(self) -> Iterator[SubGraph]:
        """Subgraphs that never ran, or with operators whose results have no range.

        Values of a loop that ran bound what its body passes to a branch; those before it bound its first iteration.
        Nothing is known of one that stands in a subgraph that never ran.
        """
        everywhere = _run_by_loops(self._model, frozenset(range(len(self._model.subgraphs))))
        excluded = (everywhere - self._unreached) | _run_by_loops(self._model, self._unreached)
        for graph in self._model.subgraphs:
            results = [(graph.index, t) for op in graph.operators for t in op.outputs if _is_variable(graph, t)]
            is_open = any(self._webs.root(key) not in self._measured for key in results)
            if graph.index in self._webs.called - excluded and (is_open or graph.index in self._unreached):
                yield graph

    def sweep(self) -> None:
        """Intervals of results that have none yet, subgraphs being visited where others run them."""
        self._settled = frozenset(self.own)
        run = {b.subgraph for graph in self._candidates.values() for op in graph.operators for b in bindings(op)}
        for index, graph in self._candidates.items():
            if index not in run:
                self._visit(graph)

    def _visit(self, graph: SubGraph) -> None:
        for op in graph.operators:
            for binding in bindings(op):
                formals = self._model.subgraphs[binding.subgraph].inputs
                for formal, operand in zip(formals, binding.operands, strict=False):
                    self._pass(graph, operand, (binding.subgraph, formal))
                if binding.subgraph in self._candidates:
                    self._visit(self._candidates[binding.subgraph])
            if not bindings(op) and op.outputs and _is_variable(graph, op.outputs[0]):
                self._compute(graph, op)
        for place, tensor in enumerate(graph.outputs):
            self._pass(graph, tensor, result_key(graph.index, place))

    def _compute(self, graph: SubGraph, op: FileOperator) -> None:
        result = graph.index, op.outputs[0]
        is_measured = self._webs.root(result) in self._measured and graph.index not in self._unreached
        interval = None if is_measured or result in self._settled else self._interval(graph, op)
        if interval is not None and all(map(math.isfinite, interval)):
            for tensor in op.outputs:
                key = graph.index, tensor
                self.own[key] = hull(self.own.get(key, NOTHING), interval)
                self._widen(self._webs.root(key), interval)

    def _pass(self, graph: SubGraph, tensor: int, target: TensorKey) -> None:
        """A value gets another name; where that is one of another web, its range goes there."""
        root = self._webs.root(target)
        if tensor >= 0 and _is_variable(graph, tensor) and self._webs.root((graph.index, tensor)) != root:
            interval = self._of(graph, tensor)
            if interval is not None:
                self._widen(root, interval)

    def _widen(self, root: TensorKey, interval: Range) -> None:
        ranges = self.added if root in self._measured else self.known
        ranges[root] = hull(ranges.get(root, NOTHING), interval)

    def widened(self) -> dict[TensorKey, Range]:
        """All ranges; those of measured webs hold the results of analysed subgraphs as far as that is sensible."""
        ranges = {**self.known, **self._measured}
        fixed = self._fixed_reaches()
        for root, added in self.added.items():
            low, high = self._measured[root]
            reach = _MAX_WIDENING * max(abs(low), abs(high), fixed.get(root, 0.0))
            ranges[root] = min(low, max(added[0], -reach)), max(high, min(added[1], reach))
        return ranges

    def _fixed_reaches(self) -> dict[TensorKey, float]:
        """Largest magnitudes of results with a fixed scale, such as those of TANH, by the web's root."""
        reaches: dict[TensorKey, float] = {}
        for graph in self._model.subgraphs if self.added else ():
            for op in graph.operators:
                for root in {self._webs.root((graph.index, t)) for t in op.outputs} & self.added.keys():
                    form = find_form(op, graph, DType.INT8)
                    if not isinstance(form, str) and form.result is not None:
                        bounds = representable_range(form.result, DType.INT8)
                        reaches[root] = max(reaches.get(root, 0.0), *map(abs, bounds))
        return reaches

    def _of(self, graph: SubGraph, tensor: int) -> Range | None:
        if graph.tensors[tensor].data is not None:
            return finite_range(constant_values(graph.tensors[tensor]))
        if own := self.own.get((graph.index, tensor)):
            return own
        root = self._webs.root((graph.index, tensor))
        return self._measured.get(root) or self.known.get(root)

    def _interval(self, graph: SubGraph, op: FileOperator) -> Range | None:
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


def _is_pool(op: FileOperator) -> bool:
    return traits_of(op.name).window is Sliding.POOL


def _run_by_loops(model: Model, graphs: frozenset[int]) -> frozenset[int]:
    """Subgraphs that loops in these subgraphs run, in turn or at once."""
    inside = set[int]()
    loops = [op for g in model.subgraphs if g.index in graphs for op in g.operators if is_loop(op)]
    pending = [b.subgraph for op in loops for b in bindings(op)]
    while pending:
        index = pending.pop()
        if index not in inside:
            inside.add(index)
            pending += [b.subgraph for op in model.subgraphs[index].operators for b in bindings(op)]
    return frozenset(inside)


def _sums(graph: SubGraph, op: FileOperator, weights: WeightOperands, source: Range) -> Range:
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


def _evaluated(graph: SubGraph, op: FileOperator, operands: list[Range]) -> Range | None:
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
