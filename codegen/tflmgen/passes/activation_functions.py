"""Fuses activation functions that are decomposed into several operators."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tflmgen.ir import Module, Op, OperatorInstance, resolve
from tflmgen.kernels import OPERATORS, Alpha, Reals, traits_of
from tflmgen.passes.def_use import is_legal
from tflmgen.passes.fused_regions import Region
from tflmgen.passes.fusion import RegionFuser
from tflmgen.passes.real_evaluation import is_element_function, is_real, on_elements, real_function

_FAR = np.geomspace(80, 1e12, 161)
POINTS = np.concatenate([np.linspace(-12, 12, 2401), np.linspace(-80, 80, 321), _FAR, -_FAR])
"""Sample points for comparing functions: dense from -12 to 12, around every bend, sparse to 80, and far out to 1e12,
where only a clamp bends. What a region's own constants say is tried beside them."""
_LARGEST_CONSTANT = 1e30
"""Constants beyond stand for no bound at all; twice their value would be no float32."""
TOLERANCE = 1e-6
"""Largest deviation relative to max(1, |value|): above the effect of rounding constants to float32."""


Spelling = tuple[str, Any]
"""An element-wise operator and its attributes."""

SPELLED_OUT: tuple[Spelling, ...] = tuple(
    (name, attributes) for name, row in OPERATORS.items() for attributes in row.traits.spelled_out
)


def fuse_functions(module: Module) -> Module:
    """Replaces groups of element-wise float operators that compute HARD_SWISH, SILU, GELU, LEAKY_RELU and similar.

    A group is recognised by its values at many points, independently of order and grouping: x * relu6(x + 3) / 6 and
    relu6(x + 3) * (x * 0.16667) are the same function.
    """
    return _Functions(module).run(module)


class _Functions(RegionFuser):
    def _is_fusible(self, op: Op) -> bool:
        if traits_of(op.operator).view:
            return is_real(op)
        if not (is_element_function(op) and is_real(op)):
            return False
        operands = [v for v in op.inputs if v is not None]
        shape = op.outputs[0].type.shape
        return all(self._flow.number(v) is not None if v.is_constant else v.type.shape == shape for v in operands)

    def _fused(self, op: Op, region: Region) -> Op | None:
        if region.source.type.shape != op.outputs[0].type.shape:
            return None
        points = np.concatenate([POINTS, self._around_constants(region)])
        values = on_elements(region, points, self._flow)
        for name, attributes in (*SPELLED_OUT, *_leaky(values)):
            function = real_function(name)
            assert function is not None
            with np.errstate(all="ignore"):
                expected = function(OperatorInstance((), (), (), attributes), [points])
            if np.all(np.abs(values - expected) <= TOLERANCE * np.maximum(1.0, np.abs(expected))):
                inputs = (resolve(region.source, self.mapping),)
                fused = Op(op.id, name, inputs, op.outputs, attributes, op.origin)
                return fused if is_legal(fused, self._constants) else None
        return None

    def _around_constants(self, region: Region) -> Reals:
        """Points before and behind each of a region's constants, since a clamp bends at one of any size."""
        numbers = [self._flow.number(v) for op in region.ops for v in op.inputs if v is not None and v.is_constant]
        sizes = np.array([abs(n) for n in numbers if n is not None and 1 < abs(n) < _LARGEST_CONSTANT])
        return np.concatenate([factor * sizes for factor in (-2.0, -1.1, 1.1, 2.0)])


def _leaky(values: Reals) -> Iterator[Spelling]:
    """LEAKY_RELU with the slope of the values below 0, if that is finite."""
    slope = float(np.float32(-values[np.argmin(np.abs(POINTS + 1))]))
    if math.isfinite(slope):
        yield "LEAKY_RELU", Alpha(slope)
