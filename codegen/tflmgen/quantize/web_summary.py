"""Outcome of quantisation by web: type, scale, measured values, and their errors by rounding and clipping."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.frontend import TensorKey
from tflmgen.ir import DType
from tflmgen.quantize.model_quantization import QuantizedModel
from tflmgen.quantize.range_choice import affine_of, clipped_share, sqnr_db
from tflmgen.quantize.statistics import Calibration, TensorStatistics
from tflmgen.quantize.web_types import default_margin

HISTOGRAM_BINS = 48
"""Bars of a web's picture."""


@dataclass(frozen=True, slots=True)
class WebSummary:
    """A web of float values and its form in the quantised model.

    name              of its first tensor, whose place in the file is `root`
    tensors           number of tensors with measured values in it
    dtype             int8, int16 or float32; scale to `clipped` are None for float32
    minimum, maximum  of the measured values
    low, high         range of the integers
    sqnr_db           signal-to-quantisation-noise ratio of rounding and clipping these values; None without noise
    clipped           share of the values beyond the range
    held_out_reach    how far held-out samples reach, as a part of the range of all others: 1 at its end; None where
                      none were held out
    histogram         numbers of values in equal parts of the range from minimum to maximum
    """

    root: TensorKey
    name: str
    tensors: int
    dtype: DType
    minimum: float
    maximum: float
    histogram: tuple[int, ...]
    scale: float | None = None
    zero_point: int | None = None
    low: float | None = None
    high: float | None = None
    sqnr_db: float | None = None
    clipped: float | None = None
    held_out_reach: float | None = None

    @property
    def leaves_range(self) -> bool:
        """Whether held-out samples leave the range of integers that hold all others by more than a step of int8."""
        if self.held_out_reach is None or self.scale is None or self.held_out_reach <= 1:
            return False
        width = max(self.maximum, 0.0) - min(self.minimum, 0.0)
        return (self.held_out_reach - 1) * width > max(self.scale, width / 255)


def summarize_webs(
    quantized: QuantizedModel, calibration: Calibration, held_out: tuple[Calibration, Calibration] | None = None
) -> tuple[WebSummary, ...]:
    """The webs that calibration reached, in the order of the file; constants are in no web.

    held_out  calibration of the held-out samples, and of all others
    """
    members: dict[TensorKey, list[TensorKey]] = {}
    for key in sorted(calibration.tensors):
        if quantized.source.subgraphs[key[0]].tensors[key[1]].data is None:
            members.setdefault(quantized.assignment.webs.root(key), []).append(key)
    members = {keys[0]: keys for keys in members.values()}
    roots = quantized.assignment.webs
    summaries = (_summary(quantized, calibration, roots.root(key), keys) for key, keys in sorted(members.items()))
    known = (summary for summary in summaries if summary is not None)
    if held_out is None:
        return tuple(known)
    webs, margins = quantized.assignment.webs, quantized.assignment.margins
    reached = []
    for web in known:
        alone, others = (part.merged(members[web.root]) for part in held_out)
        root = webs.root(web.root)
        factor = margins.get(root, default_margin(web.dtype, quantized.assignment.activations))
        reached.append(replace(web, held_out_reach=_reach(alone, others, factor)))
    return tuple(reached)


def _summary(
    quantized: QuantizedModel, calibration: Calibration, root: TensorKey, keys: list[TensorKey]
) -> WebSummary | None:
    statistics = calibration.merged(keys)
    if statistics is None:
        return None
    element = quantized.assignment.types.get(root)
    first = keys[0]
    name = quantized.source.subgraphs[first[0]].tensors[first[1]].name
    low, high = statistics.minimum, statistics.maximum
    plain = first, name, len(keys)
    if element is None or element.quantization is None:
        return WebSummary(*plain, DType.FLOAT32, low, high, _histogram(statistics))
    affine = affine_of(element.quantization.scale, element.quantization.zero_point, element.dtype)
    noise = sqnr_db(statistics, affine)
    return WebSummary(
        *plain,
        element.dtype,
        low,
        high,
        _histogram(statistics),
        affine.scale,
        affine.zero_point,
        *affine.bounds,
        noise if math.isfinite(noise) else None,
        clipped_share(statistics, affine),
    )


def _reach(held_out: TensorStatistics | None, others: TensorStatistics | None, factor: float) -> float | None:
    """Part of a range that includes 0 to which values reach: the greater of both ends.

    factor  of the range, for a margin beyond the others' values
    """
    if held_out is None or others is None:
        return None
    (low, high), (least, greatest) = ((min(s.minimum, 0.0), max(s.maximum, 0.0)) for s in (held_out, others))
    least, greatest = least * factor, greatest * factor
    beyond = max(least - low, high - greatest)
    if beyond > 0:
        return 1 + beyond / (greatest - least) if greatest > least else math.inf
    return max((value / end for value, end in ((low, least), (high, greatest)) if end), default=0.0)


def _histogram(statistics: TensorStatistics) -> tuple[int, ...]:
    """Counts in equal parts of the range; all in the first where the range is one value."""
    if statistics.minimum == statistics.maximum:
        return (statistics.elements, *[0] * (HISTOGRAM_BINS - 1))
    edges = np.linspace(statistics.minimum, statistics.maximum, HISTOGRAM_BINS + 1)
    places = np.searchsorted(edges, statistics.centers, side="right") - 1
    counts = np.zeros(HISTOGRAM_BINS, np.int64)
    np.add.at(counts, np.clip(places, 0, HISTOGRAM_BINS - 1), statistics.counts)
    return tuple(int(number) for number in counts)
