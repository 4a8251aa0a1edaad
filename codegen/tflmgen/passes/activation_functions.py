"""Activation functions that are spelled out in several operators become one."""

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
"""Where functions are compared: close together, on either side of every bend, and far out."""
TOLERANCE = 1e-6
"""Of a value's magnitude, or of 1 where that is less: what rounding constants to float32 may do."""


@dataclass(frozen=True, slots=True)
class Known:
    """An operator of one element, and what it computes."""

    operator: str
    function: Callable[[Array], Array]
    attributes: Any = None


def _gelu(x: Array) -> Array:
    return np.array([0.5 * v * math.erfc(-v / math.sqrt(2)) for v in x])


KNOWN = (
    Known("HARD_SWISH", lambda x: x * np.clip(x + 3, 0, 6) / 6),
    Known("SILU", lambda x: x / (1 + np.exp(-x))),
    Known("GELU", lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), Approximation(True)),
    Known("GELU", _gelu, Approximation(False)),
    Known("ABS", np.abs),
    Known("RELU", lambda x: np.maximum(x, 0)),
    Known("RELU6", lambda x: np.clip(x, 0, 6)),
)


def fuse_functions(module: Module) -> Module:
    """Replaces element-wise float operators that together are HARD_SWISH, SILU, GELU, LEAKY_RELU and the like.

    They are recognised by their values at many points, whatever their order and grouping: x * relu6(x + 3) / 6,
    relu6(x + 3) * (x * 0.16667), ... are one function.
    """
    return _Functions(module).run(module)


class _Functions(RegionFuser):
    def _takes(self, op: Op) -> bool:
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
        for known in (*KNOWN, *_leaky(values)):
            wanted = known.function(POINTS)
            if np.all(np.abs(values - wanted) <= TOLERANCE * np.maximum(1.0, np.abs(wanted))):
                inputs = (resolve(region.source, self.mapping),)
                fused = Op(op.id, known.operator, inputs, op.outputs, known.attributes, op.origin)
                return fused if is_legal(fused, self._constants) else None
        return None


def _leaky(values: Array) -> Iterator[Known]:
    """LEAKY_RELU with the slope that the values have below zero."""
    slope = float(np.float32(-values[np.argmin(np.abs(POINTS + 1))]))
    if math.isfinite(slope):
        yield Known("LEAKY_RELU", lambda x: np.where(x < 0, slope * x, x), Alpha(slope))
