"""Calibration: runs a Model on its input sets, and measures the values of every tensor."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend import TensorKey
from tflmgen.frontend.tflite import FileTensor, Model
from tflmgen.input_sets import Vectors
from tflmgen.ir import DType
from tflmgen.kernels import OPERATORS
from tflmgen.kernels.specification import Operators
from tflmgen.quantize.decisions import DecisionLog
from tflmgen.quantize.observed_build import ObservedBuild, observed_build
from tflmgen.quantize.statistics import Accumulator, Calibration, TensorStatistics, Unreached, statistics_of
from tflmgen.quantize.value_sources import callees, origins, value_sources

Array = NDArray[Any]


class RangeWatcher:
    """Collects statistics of all float tensors, and the decisions of control flow."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.accumulators: dict[TensorKey, Accumulator] = {}
        self.log = DecisionLog(model)

    def wants(self, tensor: TensorKey) -> bool:
        """Whether the tensor has floats; others are not observed."""
        return self._model.subgraphs[tensor[0]].tensors[tensor[1]].dtype is DType.FLOAT32

    def tensor(self, tensor: TensorKey, value: Array) -> None:
        """Adds a value to the statistics of its tensor."""
        self.accumulators.setdefault(tensor, Accumulator()).add(value)

    def mark(self, event: str, operator: tuple[int, int]) -> None:
        """Records a decision of control flow."""
        self.log.mark(event, operator)


def calibrate(
    model: Model,
    vectors: Vectors,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
    operators: Operators = OPERATORS,
) -> Calibration:
    """Statistics of a model's tensors over all sets of `vectors`, whose inputs fit its signatures.

    progress  called with the number of sets done, and of all, before each set

    Raises ModelError for a model that cannot be compiled, StatusError for a set that it cannot compute.
    """
    with observed_build(model, operators=operators) as build:
        return measure(build, vectors, progress)


def measure(
    build: ObservedBuild, vectors: Vectors, progress: Callable[[int, int], None] = lambda _done, _all: None
) -> Calibration:
    """Calibration with a build that is already loaded; see `calibrate`."""
    model, total = build.model, len(vectors.sets)
    watcher = RangeWatcher(model)

    def started(number: int) -> None:
        watcher.log.start_set(vectors.sets[number].signature)
        progress(number, total)

    build.run(vectors.sets, vectors.stateful, watcher, started)
    observed = {key: accumulator.statistics() for key, accumulator in watcher.accumulators.items()}
    tensors = {key: statistics for key, statistics in observed.items() if statistics is not None}
    runs = watcher.log.runs
    return Calibration(
        total,
        _with_carried(model, tensors, runs),
        runs,
        watcher.log.decisions,
        _unreached(model, runs),
        {key: a.not_finite for key, a in watcher.accumulators.items() if a.not_finite},
    )


def _with_carried(
    model: Model, observed: dict[TensorKey, TensorStatistics], runs: dict[int, int]
) -> dict[TensorKey, TensorStatistics]:
    """The observed statistics, with those of constants, and of tensors of run subgraphs that others' values reach."""
    known = dict(observed)
    keys = [
        (graph.index, tensor.index)
        for graph in model.subgraphs
        for tensor in graph.tensors
        if tensor.dtype is DType.FLOAT32
    ]
    for key in keys:
        constant = _constant(model.subgraphs[key[0]].tensors[key[1]])
        if constant is not None and (statistics := statistics_of(constant)) is not None:
            known[key] = statistics
    sources = value_sources(model)
    carried = {}
    for key in keys:
        if key not in known and runs.get(key[0]):
            parts = [known[source] for source in origins(key, sources, known)]
            if parts:
                carried[key] = reduce(TensorStatistics.merged, parts)
    return known | carried


def _constant(tensor: FileTensor) -> Array | None:
    return None if tensor.data is None else np.frombuffer(tensor.data, np.dtype("<f4"))


def _unreached(model: Model, runs: dict[int, int]) -> tuple[Unreached, ...]:
    """Subgraphs that an operator refers to, and that never ran."""
    users: dict[int, list[tuple[tuple[int, int], str]]] = {}
    for graph in model.subgraphs:
        for op in graph.operators:
            for option, index in callees(op).items():
                role = option.removesuffix("_index").removesuffix("_subgraph")
                users.setdefault(index, []).append(((graph.index, op.index), role))
    return tuple(
        Unreached(index, model.subgraphs[index].name, tuple(operators))
        for index, operators in sorted(users.items())
        if not runs.get(index)
    )
