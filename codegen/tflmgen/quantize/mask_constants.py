"""Bounds the masks, such as -1e9, that attention adds to the scores of positions to ignore.

With such a mask in its range, a tensor of int8 has one step for all scores. Any number does that is far enough below
the scores for SOFTMAX to give 0: the constants become as small, and ranges of masked scores end where SOFTMAX gives 0.
What an image is padded with for a maximum needs no room at all: the least integer serves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import TensorUses, constant_values
from tflmgen.frontend.tflite import Model, SubGraph
from tflmgen.ir import DType, contents
from tflmgen.kernels import traits_of
from tflmgen.quantize.element_types import Range
from tflmgen.quantize.statistics import Calibration, TensorStatistics

_LEAST_RATIO = 512
"""Masks are this many times the other values at least: with them int8 has less than a step for the others."""

_LEAST_MASK = 500.0
"""Least magnitude of a mask."""

_MARGIN = 10.0
"""Distance of masked from other scores: SOFTMAX gives less than 5e-5 there, and 200 masked elements together 1 %."""


@dataclass(frozen=True, slots=True)
class _Masked:
    """A tensor with masks among its values: range of the others, widened to hold 0, and the signs of the masks.

    is_neutral  the masks are a padding, and every reader takes maxima or minima
    """

    low: float
    high: float
    below: bool
    above: bool
    is_neutral: bool = False

    def bounds(self, reach: float) -> Range:
        """Range that leaves masks no more than they need, where `reach` is beyond all scores."""
        if self.is_neutral:
            return self.low, self.high
        # Of an input that is the mask itself, 0 is the only other value: it must reach below all scores.
        margin = _MARGIN if self.high > self.low else reach
        return self.low - margin * self.below, self.high + margin * self.above


def with_bounded_masks(model: Model, calibration: Calibration, is_mask: Callable[[TensorKey, Range], bool]) -> Model:
    """The Model with constants of masks bounded, and ranges for what they are added to; itself without any.

    is_mask  whether ending a tensor's values at a range costs less than int8 steps over all of them do; not so of a
             sensor's values that are 0 or large
    """
    parts = {key: part for key in sorted(calibration.tensors) if (part := _masked(model, calibration, key))}
    masked = {key: part for key, part in parts.items() if is_mask(key, part.bounds(_reach(parts)))}
    if not masked:
        return model
    reach = _reach(masked)
    subgraphs = tuple(_bounded(graph, masked, reach) for graph in model.subgraphs)
    return replace(model, subgraphs=subgraphs)


def _reach(masked: Mapping[TensorKey, _Masked]) -> float:
    """Magnitude that is beyond all scores by a margin."""
    return max(part.high - part.low for part in masked.values()) + _MARGIN


def _masked(model: Model, calibration: Calibration, key: TensorKey) -> _Masked | None:
    """Range and masks of a computed tensor with mask constants; None for other tensors."""
    graph = model.subgraphs[key[0]]
    if graph.tensors[key[1]].data is not None:
        return None
    statistics = calibration.tensors[key]
    if key not in calibration.not_finite:
        part = _split(statistics)
    else:
        low, high = min(statistics.minimum, 0.0), max(statistics.maximum, 0.0)
        part = _Masked(low, high, True, False) if high - low < _LEAST_MASK else None
    return part and replace(part, is_neutral=_pads_extremes(TensorUses.of(graph), key[1]))


def _pads_extremes(uses: TensorUses, tensor: int) -> bool:
    """Whether a tensor is a padded one of which every reader takes maxima, or every one minima."""
    writer, readers = uses.producers.get(tensor), uses.readers.get(tensor, ())
    if writer is None or not traits_of(writer.name).pads or not all(readers):
        return False
    neutral = {traits_of(op.name).neutral for op in readers if op is not None}
    return len(neutral) == 1 and neutral <= {-math.inf, math.inf}


def _split(statistics: TensorStatistics) -> _Masked | None:
    """The values without those that are far beyond all others."""
    used = statistics.counts > 0
    centers = statistics.centers[used]
    magnitudes = np.sort(np.abs(centers))
    gaps = magnitudes[1:] >= np.maximum(_LEAST_MASK, _LEAST_RATIO * magnitudes[:-1])
    if not gaps.any():
        return None
    limit = magnitudes[:-1][np.argmax(gaps)]
    others = centers[np.abs(centers) <= limit]
    # The bin of -0 has a centre beside 0.
    others = np.where(np.abs(others) < np.finfo(np.float32).tiny, 0.0, others)
    low, high = min(float(others.min()), 0.0), max(float(others.max()), 0.0)
    return _Masked(low, high, bool((centers < -limit).any()), bool((centers > limit).any()))


def _bounded(graph: SubGraph, masked: dict[TensorKey, _Masked], reach: float) -> SubGraph:
    tensors, uses = list(graph.tensors), TensorUses.of(graph)
    least = max(_LEAST_MASK, _LEAST_RATIO * (reach - _MARGIN))
    neutral = {index for (subgraph, index), part in masked.items() if subgraph == graph.index and part.is_neutral}
    for index in sorted(set(_constants(graph))):
        values = constant_values(tensors[index])
        if not np.isnan(values).any():
            pads = all(op is not None and neutral.issuperset(op.outputs) for op in uses.readers[index])
            bounded = np.where(np.abs(values) >= least, np.copysign(math.inf if pads else reach, values), values)
            tensors[index] = replace(tensors[index], data=contents(bounded.astype(np.float32), DType.FLOAT32))
    for (subgraph, index), part in masked.items():
        if subgraph == graph.index:
            tensors[index] = replace(tensors[index], recorded_range=part.bounds(reach))
    return replace(graph, tensors=tuple(tensors))


def _constants(graph: SubGraph) -> Iterator[int]:
    """Constants that operators combine with other values element by element."""
    for op in graph.operators:
        traits = traits_of(op.name)
        if traits.elementwise or traits.selects or traits.pads or traits.joins:
            for index in op.inputs:
                tensor = graph.tensors[index] if index >= 0 else None
                if tensor is not None and tensor.data and tensor.dtype is DType.FLOAT32:
                    yield index
