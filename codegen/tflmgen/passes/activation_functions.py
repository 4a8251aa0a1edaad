"""Fuses activation functions that are decomposed into several operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tflmgen.ir import Module, Op, resolve
from tflmgen.kernels import Alpha, Approximation, traits_of
from tflmgen.passes.def_use import is_legal
from tflmgen.passes.fused_regions import Region
from tflmgen.passes.fusion import RegionFuser
from tflmgen.passes.real_evaluation import ELEMENTWISE, Array, is_real, on_elements

POINTS = np.concatenate([np.linspace(-12, 12, 2401), np.linspace(-80, 80, 321)])
"""Sample points for comparing functions: dense from -12 to 12, around every bend, and sparse from -80 to 80."""
TOLERANCE = 1e-6
"""Largest deviation relative to max(1, |value|): above the effect of rounding constants to float32."""


@dataclass(frozen=True, slots=True)
class KnownFunction:
    """An element-wise operator with attributes, and its function on real numbers."""

    operator: str
    function: Callable[[Array], Array]
    attributes: Any = None


def _gelu(x: Array) -> Array:
    return np.array([0.5 * v * math.erfc(-v / math.sqrt(2)) for v in x])


KNOWN_FUNCTIONS = (
    KnownFunction("HARD_SWISH", lambda x: x * np.clip(x + 3, 0, 6) / 6),
    KnownFunction("SILU", lambda x: x / (1 + np.exp(-x))),
    KnownFunction(
        "GELU", lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), Approximation(True)
    ),
    KnownFunction("GELU", _gelu, Approximation(False)),
    KnownFunction("ABS", np.abs),
    KnownFunction("RELU", lambda x: np.maximum(x, 0)),
    KnownFunction("RELU6", lambda x: np.clip(x, 0, 6)),
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
        if op.operator not in ELEMENTWISE or not is_real(op):
            return False
        operands = [v for v in op.inputs if v is not None]
        shape = op.outputs[0].type.shape
        return all(self._flow.number(v) is not None if v.is_constant else v.type.shape == shape for v in operands)

    def _fused(self, op: Op, region: Region) -> Op | None:
        if region.source.type.shape != op.outputs[0].type.shape:
            return None
        values = on_elements(region, POINTS, self._flow)
        for candidate in (*KNOWN_FUNCTIONS, *_leaky(values)):
            expected = candidate.function(POINTS)
            if np.all(np.abs(values - expected) <= TOLERANCE * np.maximum(1.0, np.abs(expected))):
                inputs = (resolve(region.source, self.mapping),)
                fused = Op(op.id, candidate.operator, inputs, op.outputs, candidate.attributes, op.origin)
                return fused if is_legal(fused, self._constants) else None
        return None


def _leaky(values: Array) -> Iterator[KnownFunction]:
    """LEAKY_RELU with the slope of the values below 0, if that is finite."""
    slope = float(np.float32(-values[np.argmin(np.abs(POINTS + 1))]))
    if math.isfinite(slope):
        yield KnownFunction("LEAKY_RELU", lambda x: np.where(x < 0, slope * x, x), Alpha(slope))
