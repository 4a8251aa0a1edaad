"""Ranges of groups of tensors, from the histogram of the values of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tflmgen.frontend import TensorKey
from tflmgen.ir import DType
from tflmgen.quantize.element_types import Range
from tflmgen.quantize.range_choice import RangeMethod, affine_of, choose_range
from tflmgen.quantize.statistics import Calibration
from tflmgen.quantize.web_types import RangeChoice


def range_choice(
    calibration: Calibration,
    method: RangeMethod,
    methods: Mapping[TensorKey, RangeMethod] | None = None,
    room: float = 1.0,
) -> RangeChoice:
    """Ranges of groups of tensors by a method, from the histogram of all values of the group.

    methods  other methods of groups by their least tensor
    room     factor of ranges of int8, for values beyond those of samples
    """

    def choose(keys: Iterable[TensorKey], dtype: DType, bounds: Range) -> Range:
        group = sorted(keys)
        own = (methods or {}).get(group[0], method) if group else method
        statistics = calibration.merged(group)
        if statistics is not None and own is not RangeMethod.MIN_MAX:
            bounds = affine_of(*choose_range(statistics, dtype, own), dtype).bounds
        return (bounds[0] * room, bounds[1] * room) if dtype is DType.INT8 else bounds

    return choose
