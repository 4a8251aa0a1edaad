"""Differences of a quantised Model from the float one on held-out sets: outputs, and decisions of control flow."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import OperatorKey
from tflmgen.frontend.tflite import Model
from tflmgen.input_sets import Vectors, VectorSet
from tflmgen.ir.graph import EntryPoint, Port
from tflmgen.quantize.decisions import DecisionLog
from tflmgen.quantize.observed_build import ObservedBuild
from tflmgen.quantize.output_errors import OutputError, output_error
from tflmgen.quantize.range_choice import Affine
from tflmgen.quantize.statistics import Decisions
from tflmgen.quantize.value_sources import BRANCHES, LOOPS

Array = NDArray[Any]
Outputs = Sequence[tuple[Array, ...]]

_MORE_TRIPS, _SPARE_TRIPS = 4, 256
"""A loop counts as endless after so many times the float model's trips and so many more: an error of quantisation may
delay the end, but where it keeps a loop from converging, no number of trips is enough."""


@dataclass(frozen=True, slots=True)
class DecisionError:
    """Decisions of one If or While that differ from the float model's, out of all; key: operator of the float file."""

    operator: OperatorKey
    differing: int
    total: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Errors of a model against the float model.

    lost     control-flow operators of the float model that the other one does not have (fused layers): not compared
    endless  loops of the float model that do not end in the other one
    invokes  sets in which some decision differs, and all sets
    """

    outputs: tuple[OutputError, ...]
    decisions: tuple[DecisionError, ...]
    lost: tuple[OperatorKey, ...] = ()
    endless: tuple[OperatorKey, ...] = ()
    invokes: tuple[int, int] = (0, 0)

    @property
    def max_abs(self) -> float:
        """Largest absolute error of all outputs, in the outputs' own units; 0 without outputs."""
        return max((output.max_abs for output in self.outputs), default=0.0)

    @property
    def worst_db(self) -> float:
        """Ratio of variance to noise of the worst element of all outputs, in decibels; infinite without an error."""
        return min((own.noise.worst_db if own.noise else _without_mean(own) for own in self.outputs), default=math.inf)

    @property
    def balanced_db(self) -> float:
        """MeanNoise.balanced_db of the worst output; where nothing varies, its signal-to-noise ratio."""
        return min(
            (own.noise.balanced_db if own.noise else own.sqnr_db for own in self.outputs if not own.is_integer),
            default=math.inf,
        )

    @property
    def sqnr_db(self) -> float:
        """Signal-to-quantisation-noise ratio of the worst output, in dB; infinite without outputs."""
        return min((output.sqnr_db for output in self.outputs), default=math.inf)

    @property
    def agreement(self) -> float:
        """Share of rows whose largest element is at the same place, in the worst output that has such rows."""
        return min((o.agreement for o in self.outputs if o.agreement is not None), default=1.0)

    @property
    def class_agreement(self) -> float:
        """Share of equal integers in the worst output that has these: classes, counts, truth values."""
        return min((o.agreement for o in self.outputs if o.is_integer and o.agreement is not None), default=1.0)

    @property
    def branch_agreement(self) -> float:
        """Share of decisions that are the float model's."""
        total = sum(decision.total for decision in self.decisions)
        return 1 - sum(decision.differing for decision in self.decisions) / total if total else 1.0

    @property
    def certain_class_agreement(self) -> float:
        """`class_agreement` that other sets of the same number hardly fall short of: `certain_agreement`."""
        sets = self.invokes[1]
        return certain_agreement((1 - self.class_agreement) * sets, sets)

    @property
    def certain_branch_agreement(self) -> float:
        """Share of invokes with the float model's decisions that others hardly fall short of: `certain_agreement`."""
        return certain_agreement(*self.invokes)


def certain_agreement(differing: float, total: int) -> float:
    """Share of equal results, less a standard error of the number of those that differ (Poisson's)."""
    return 1 - (differing + math.sqrt(max(differing, 0))) / total if total else 1.0


@dataclass(frozen=True, slots=True)
class EvaluatedRun:
    """Real-valued outputs of each set, the decisions of control flow, and loops that did not end."""

    outputs: Outputs
    decisions: Mapping[OperatorKey, tuple[Decisions, ...]]
    endless: frozenset[OperatorKey] = frozenset()


class FakeQuantizer:
    """Logs decisions, and rounds and clips values of chosen tensors as their quantisation would, in float."""

    def __init__(
        self, model: Model, affine: Mapping[TensorKey, Affine], max_trips: Mapping[OperatorKey, int] | None = None
    ) -> None:
        self.log, self._affine = DecisionLog(model, max_trips), affine

    def mark(self, event: str, operator: OperatorKey) -> None:
        """Records a decision of control flow."""
        self.log.mark(event, operator)

    def wants(self, tensor: TensorKey) -> bool:
        """Whether the tensor has a quantisation that is to be simulated."""
        return tensor in self._affine

    def tensor(self, tensor: TensorKey, value: Array) -> None:
        """Rounds and clips the value in place, as its quantisation would; the run goes on with it."""
        affine = self._affine[tensor]
        with np.errstate(over="ignore"):  # masks as large as float32 has end at the bounds, too
            quantised = np.clip(np.round(value / affine.scale) + affine.zero_point, affine.low, affine.high)
        value[...] = (quantised - affine.zero_point) * affine.scale


def run_sets(
    build: ObservedBuild,
    vectors: Vectors,
    affine: Mapping[TensorKey, Affine] | None = None,
    progress: Callable[[int], None] = lambda _: None,
    max_trips: Mapping[OperatorKey, int] | None = None,
) -> EvaluatedRun:
    """Runs sets of float inputs; a model with integer inputs and outputs gets and gives them by its quantisation.

    affine      quantisation to imitate on tensors of a float model
    max_trips  iterations after which a loop counts as endless; the outputs of its invoke are undefined numbers
    """
    watcher = FakeQuantizer(build.model, affine or {}, max_trips)

    def started(number: int) -> None:
        watcher.log.start_set(vectors.sets[number].signature)
        progress(number)

    sets = [with_types(vector_set, build.signatures[vector_set.signature]) for vector_set in vectors.sets]
    outputs = build.run(sets, vectors.stateful, watcher, started)
    ports = [build.signatures[vector_set.signature].outputs for vector_set in vectors.sets]
    real = [tuple(map(_dequantised, arrays, own)) for arrays, own in zip(outputs, ports, strict=True)]
    return EvaluatedRun(real, watcher.log.decisions, frozenset(watcher.log.endless))


def max_trips(model: Model, reference: EvaluatedRun, other: Model) -> dict[OperatorKey, int]:
    """Iterations after which loops of `other` count as endless, by those in the reference, which ran `model`."""
    limits = {}
    for key, match in matching_operators(model, other).items():
        trips = [count for of_set in reference.decisions.get(key, ()) for count in of_set]
        if trips:
            limits[match] = _MORE_TRIPS * max(trips) + _SPARE_TRIPS
    return limits


def compare_runs(
    build: ObservedBuild, vectors: Vectors, reference: EvaluatedRun, run: EvaluatedRun, other: Model
) -> Evaluation:
    """Errors of `run` of model `other` against `reference`, which `build` made of the same sets."""
    groups: dict[tuple[int, int], list[tuple[Array, Array]]] = {}
    for vector_set, expected, actual in zip(vectors.sets, reference.outputs, run.outputs, strict=True):
        for place, pair in enumerate(zip(expected, actual, strict=True)):
            groups.setdefault((vector_set.signature, place), []).append(pair)
    outputs = tuple(output_error(build.signatures[s], p, pairs) for (s, p), pairs in sorted(groups.items()))
    matches = matching_operators(build.model, other)
    decisions = [
        _decision_error(key, reference.decisions[key], run.decisions[matches[key]])
        for key in sorted(reference.decisions)
        if key in matches
    ]
    lost = tuple(key for key in sorted(reference.decisions) if key not in matches)
    endless = tuple(key for key, match in sorted(matches.items()) if match in run.endless)
    pairs = [(reference.decisions[key], run.decisions[matches[key]]) for key in reference.decisions if key in matches]
    differing = {number for own, other in pairs for number, (a, b) in enumerate(zip(own, other, strict=True)) if a != b}
    return Evaluation(outputs, tuple(decisions), lost, endless, (len(differing), len(vectors.sets)))


def _without_mean(output: OutputError) -> float:
    """Worst ratio of an output without variance: only undefined or infinite errors count."""
    return math.inf if math.isfinite(output.max_abs) else -math.inf


def matching_operators(model: Model, other: Model) -> dict[OperatorKey, OperatorKey]:
    """Control-flow operators of a model -> those of a rewritten one, in order within each subgraph.

    A subgraph where their numbers differ has no matches.
    """
    matches: dict[OperatorKey, OperatorKey] = {}
    for graph, rewritten in zip(model.subgraphs, other.subgraphs, strict=False):
        own, others = ([op.index for op in g.operators if is_decision(op.name)] for g in (graph, rewritten))
        if len(own) == len(others):
            matches |= {(graph.index, a): (rewritten.index, b) for a, b in zip(own, others, strict=True)}
    return matches


def is_decision(name: str) -> bool:
    """Whether an operator of this name decides what runs."""
    return name in BRANCHES | LOOPS


def with_types(vector_set: VectorSet, signature: EntryPoint) -> VectorSet:
    """The set with float inputs in the integers that a quantised signature takes."""
    pairs = zip(vector_set.inputs, signature.inputs, strict=True)
    return replace(vector_set, inputs=tuple(_quantised(array, port) for array, port in pairs))


def _quantised(array: Array, port: Port) -> Array:
    quantization, dtype = port.type.quantization, port.type.dtype
    if array.dtype == dtype.numpy or quantization is None:
        return array
    low, high = dtype.limits
    quantised = np.round(array.astype(np.float64) / quantization.scale) + quantization.zero_point
    return np.clip(quantised, low, high).astype(dtype.numpy)


def _dequantised(array: Array, port: Port) -> Array:
    quantization = port.type.quantization
    if quantization is None or array.dtype.kind == "f":
        return array
    return ((array.astype(np.float64) - quantization.zero_point) * quantization.scale).astype(np.float32)


def _decision_error(key: OperatorKey, expected: Sequence[Decisions], actual: Sequence[Decisions]) -> DecisionError:
    differing = total = 0
    for wanted, got in zip(expected, actual, strict=True):
        pairs = list(zip_longest(wanted, got))
        total += len(pairs)
        differing += sum(a != b for a, b in pairs)
    return DecisionError(key, differing, total)
