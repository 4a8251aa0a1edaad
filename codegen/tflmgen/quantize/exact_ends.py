"""Operators that compute in float32 although they could in integers: where that is cheap and keeps what 8 bits lose.

Of a program with float32 inputs and outputs these are its ends: the normalisation of raw inputs, whose units one scale
cannot serve; and what follows the last layers, such as a de-normalisation, the join of several heads, or a score. In
any program it is what feeds LOG, DIV, SQRT, RSQRT and POW, to which an epsilon or a small value matters that integers
round to 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import OperatorKey, TensorUses, bindings
from tflmgen.frontend.tflite import FileOperator, Model, SubGraph
from tflmgen.ir import DType
from tflmgen.kernels import traits_of
from tflmgen.quantize.integer_forms import Form, find_form, real_operands, real_results, weight_operands
from tflmgen.quantize.statistics import Calibration
from tflmgen.quantize.web_constraints import Webs
from tflmgen.quantize.web_costs import operator_work

_SENSITIVE: Mapping[str, tuple[int, ...]] = {"LOG": (0,), "SQRT": (0,), "RSQRT": (0,), "DIV": (1,), "POW": (0,)}
"""Operators to which small values matter -> places of these operands."""

_TRANSCENDENTAL = 10
"""Work of an element of EXP and its like in float32, in elements of ADD: 120 instructions to 12 on Cortex-M4."""

_SHARE, _FEW = 0.1, 4096
"""Part of the program's work that operators may add by computing in float32, and work that is of no account: products,
of which Cortex-M4 computes one in 1.5 cycles."""

_INT16 = 2
"""Products of a layer for one that it takes longer in int16, about: 1.5 cycles each become 2.3 on Cortex-M4."""

_ENOUGH_DB = 30.0
"""Ratio of the variance of an element to the noise of rounding it to a step from which on 8 bits are enough: twice as
good as what a quantised model is to reach as a whole."""

_LEADING = "it normalises a float input"
_TRAILING = "it makes float outputs of few elements"
_CHAIN = "small values matter to {}, which reads its result"


@dataclass(frozen=True, slots=True)
class ExactEnds:
    """Operators in float32 with the reason, and webs that need int16, those of states among them."""

    operators: Mapping[OperatorKey, str] = field(default_factory=dict)
    wide: frozenset[TensorKey] = frozenset()
    states: frozenset[TensorKey] = frozenset()


def exact_ends(
    model: Model,
    webs: Webs,
    calibration: Calibration,
    float_io: bool,
    least_variances: Callable[[frozenset[TensorKey]], Mapping[TensorKey, float]],
    states: Mapping[TensorKey, TensorKey] | None = None,
) -> ExactEnds:
    """The exact ends of a program.

    float_io         its inputs and outputs are float32
    least_variances  variances of the least varying elements of tensors, over the samples
    states           outputs that are inputs of the next invoke (`fed_back_outputs`)
    """
    search = _Search(model, webs, calibration)
    for graph in model.subgraphs:
        search.feed_sensitive(graph)
    for result, source in (states or {}).items():
        search.keep_state(model.subgraphs[result[0]], result[1], source[1])
    if float_io:
        entries = [graph for graph in model.subgraphs if graph.index not in webs.called]
        for graph in entries:
            search.lead(graph)
        frontiers = {graph.index: search.trail(graph) for graph in entries}
        while pending := frozenset((index, t) for index, tensors in frontiers.items() for t in tensors):
            variances = least_variances(pending)
            frontiers = {index: search.widen(model.subgraphs[index], variances, pending) for index in frontiers}
    return ExactEnds(dict(search.exact), frozenset(search.wide | search.states), frozenset(search.states))


@dataclass(slots=True)
class _Search:
    model: Model
    webs: Webs
    calibration: Calibration
    exact: dict[OperatorKey, str] = field(init=False, default_factory=dict)
    wide: set[TensorKey] = field(init=False, default_factory=set)
    states: set[TensorKey] = field(init=False, default_factory=set)
    work: dict[OperatorKey, int] = field(init=False)
    budget: float = field(init=False)

    def __post_init__(self) -> None:
        self.work = operator_work(self.model, self.calibration)
        samples = max(self.calibration.samples, 1)
        self.budget = max(_SHARE * sum(self.work.values()), _FEW * samples)

    def feed_sensitive(self, graph: SubGraph) -> None:
        """Keeps operators exact that feed those to which small values matter, back to layers and inputs."""
        writers = TensorUses.of(graph).producers
        for reader in graph.operators:
            if reader.name not in _SENSITIVE or not real_results(reader, graph):
                continue
            self._keep(graph, reader, f"small values matter to {reader.name}", free=True)
            pending = [reader.inputs[place] for place in _SENSITIVE[reader.name]]
            while pending:
                op = writers.get(pending.pop(0))
                if op is None or (graph.index, op.index) in self.exact:
                    continue
                if weight_operands(op, graph) is not None:
                    self._widen(graph, op)
                elif (_is_cheap(op) or traits_of(op.name).reduces) and self._keep(
                    graph, op, _CHAIN.format(reader.name), free=_has_constant(op, graph)
                ):
                    pending += _variables(op, graph)

    def keep_state(self, graph: SubGraph, result: int, source: int) -> None:
        """Gives int16 to a state and to what it is summed of, in which the errors of all invokes add up.

        Not where a layer reads it, as it does the hidden state: that would have to compute in int16, too, and its
        gates renew what the state holds.
        """
        uses = TensorUses.of(graph)
        summands, seen, pending = {result, source}, {result}, [result]
        while pending:
            op = uses.producers.get(pending.pop())
            if op is None or not (_moves(op) or traits_of(op.name).adds or op.name == "MUL"):
                continue
            operands = [t for t in _variables(op, graph) if t not in seen]
            seen.update(operands)
            pending += operands
            summands.update(operands if op.name != "MUL" else ())  # factors, as gates are, do not add up
        summands.update(t for op in uses.readers.get(source, ()) if op is not None and _moves(op) for t in op.outputs)
        readers = [op for t in summands for op in uses.readers.get(t, ()) if op is not None]
        if source in seen and not any(weight_operands(op, graph) is not None for op in readers):
            self.states.update(self.webs.root((graph.index, t)) for t in summands)

    def lead(self, graph: SubGraph) -> None:
        """Operators that compute with nothing but inputs; views among them only where such operators follow."""
        exact = {t for t in graph.inputs if graph.tensors[t].dtype is DType.FLOAT32}
        chosen: list[FileOperator] = []
        for op in graph.operators:
            operands = _variables(op, graph)
            can_stay = _is_cheap(op) or traits_of(op.name).reduces or _moves(op)
            if operands and exact.issuperset(operands) and can_stay and real_results(op, graph) and not bindings(op):
                chosen.append(op)
                exact.update(op.outputs)
        needed: set[int] = set()
        for op in reversed(chosen):
            if not _moves(op) or needed.intersection(op.outputs):
                needed.update(op.inputs)
                self._keep(graph, op, _LEADING, free=True)  # it takes as long in int8

    def trail(self, graph: SubGraph) -> set[int]:
        """Makes operators exact behind which nothing but such operators and outputs are; the tensors that they read."""
        readers = TensorUses.of(graph).readers
        frontier = {t for t in graph.outputs if graph.tensors[t].dtype is DType.FLOAT32}
        for op in reversed(graph.operators):
            if not self._is_end(graph, op, frontier, readers):
                continue
            traits = traits_of(op.name)
            can_stay = _is_cheap(op) or _chooses(op, graph) or traits.reduces or traits.along_named
            is_plain = not bindings(op) and op.name != "SOFTMAX" and bool(real_operands(op, graph))
            if (can_stay or traits.along_last) and is_plain and self._keep(graph, op, _TRAILING):
                frontier = (frontier - {*op.outputs}) | set(_variables(op, graph))
        self._compare_exactly(graph)
        return {t for t in frontier if t not in graph.inputs}

    def _compare_exactly(self, graph: SubGraph) -> None:
        """Keeps comparisons exact of what is exact already: a threshold needs no scale then."""
        exact = {t for op in graph.operators if (graph.index, op.index) in self.exact for t in op.outputs}
        for op in graph.operators:
            operands = _variables(op, graph)
            if traits_of(op.name).compares and operands and exact.issuperset(operands):
                self._keep(graph, op, _TRAILING, free=True)

    def _is_end(
        self,
        graph: SubGraph,
        op: FileOperator,
        frontier: set[int],
        readers: Mapping[int, Sequence[FileOperator | None]],
    ) -> bool:
        """Whether real results go to exact operators and outputs alone, or also to what only compares them."""
        results = [op.outputs[place] for place in real_results(op, graph)]

        def is_exact(reader: FileOperator | None) -> bool:
            return reader is None or (graph.index, reader.index) in self.exact

        def ends(tensor: int) -> bool:
            own = [r for r in readers.get(tensor, ()) if not results or not _decides(r, graph)]
            return (tensor in frontier or bool(own)) and all(map(is_exact, own))

        return bool(op.outputs) and all(ends(t) for t in results or op.outputs)

    def widen(self, graph: SubGraph, variances: Mapping[TensorKey, float], frontier: frozenset[TensorKey]) -> set[int]:
        """Gives tensors in front of the exact operators what they need beyond 8 bits; the tensors that are next."""
        following: set[int] = set()
        for op in graph.operators:
            for tensor in op.outputs:
                key = graph.index, tensor
                if key not in frontier or not self._needs_more(op, key, variances.get(key)):
                    continue
                if weight_operands(op, graph) is not None:
                    self._widen(graph, op)
                elif not bindings(op) and _is_function(op) and self._keep(graph, op, _TRAILING):
                    following |= {t for t in _variables(op, graph) if t not in graph.inputs}
        return following

    def _needs_more(self, op: FileOperator, key: TensorKey, variance: float | None) -> bool:
        statistics = self.calibration.tensors.get(key)
        if statistics is None or (key[0], op.index) in self.exact:
            return False
        if self._is_searched(key):
            return True
        if variance is None:
            return False
        width = max(statistics.maximum, 0.0) - min(statistics.minimum, 0.0)
        noise = (width / 255) ** 2 / 12
        return noise > 0 and 10 * math.log10(max(variance, 1e-300) / noise) < _ENOUGH_DB

    def _is_searched(self, key: TensorKey) -> bool:
        """Whether ARG_MAX or its like looks for the place of an element: two that are near are one after rounding."""
        operators = self.model.subgraphs[key[0]].operators
        return any(key[1] in op.inputs and traits_of(op.name).along_named for op in operators)

    def _widen(self, graph: SubGraph, op: FileOperator) -> None:
        """Has a layer compute in int16, or in float32 where there is no such kernel, if that costs little."""
        if isinstance(find_form(op, graph, DType.INT16), Form):
            root = self.webs.root((graph.index, op.outputs[0]))
            if root not in self.wide and self._spend(self.work.get((graph.index, op.index), 0) // _INT16):
                self.wide.add(root)
        else:
            self._keep(graph, op, _TRAILING)

    def _keep(self, graph: SubGraph, op: FileOperator, reason: str, free: bool = False) -> bool:
        """Whether an operator stays in float32: at any cost, or if it adds little to the work."""
        key = graph.index, op.index
        if key in self.exact:
            return True
        traits = traits_of(op.name)
        is_light = _is_cheap(op) or _chooses(op, graph) or traits.reduces or traits.along_named
        work = self.work.get(key, 0) * (1 if is_light else _TRANSCENDENTAL)
        if free or self._spend(work):
            self.exact[key] = reason
        return key in self.exact

    def _spend(self, work: int) -> bool:
        if work > self.budget:
            return False
        self.budget -= work
        return True


def _variables(op: FileOperator, graph: SubGraph) -> list[int]:
    """Real operands that are no constants."""
    return [op.inputs[p] for p in real_operands(op, graph) if graph.tensors[op.inputs[p]].data is None]


def _has_constant(op: FileOperator, graph: SubGraph) -> bool:
    """Whether a constant takes part, such as an epsilon."""
    return any(graph.tensors[op.inputs[place]].data is not None for place in real_operands(op, graph))


def _is_cheap(op: FileOperator) -> bool:
    """Whether an element takes few instructions in float32: no function that int8 has as a table."""
    traits = traits_of(op.name)
    is_clip = traits.clamp is not None or traits.extreme != 0
    return traits.elementwise and not traits.converts and (not traits.tabled or is_clip)


def _is_function(op: FileOperator) -> bool:
    """Whether it computes a function of each element, such as LOGISTIC, or of each row, such as SOFTMAX."""
    return traits_of(op.name).elementwise or traits_of(op.name).along_last


def _moves(op: FileOperator) -> bool:
    traits = traits_of(op.name)
    return traits.view or traits.moves or traits.cuts or traits.joins


def _decides(op: FileOperator | None, graph: SubGraph) -> bool:
    """Whether an operator makes nothing of its operands but truth values or integers, as comparisons do."""
    return op is not None and bool(op.outputs) and not real_results(op, graph) and not bindings(op)


def _chooses(op: FileOperator, graph: SubGraph) -> bool:
    """Whether it computes nothing: its real results are elements of operands, at places that others may decide."""
    form = find_form(op, graph, DType.INT8)
    return _moves(op) or (isinstance(form, Form) and form.shares and traits_of(op.name).window is None)
