"""Cases of quantised operators whose scales and zero points lie at the ends of their ranges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tflmgen.ir.types import DType, Quantization, TensorType

from support.differential import Rng
from support.kernel_harness import Case, Tensor

ELEMENTS = (DType.INT8, DType.UINT8, DType.INT16)
LEAST, GREATEST = 1e-30, 1e30
"""Scales."""


def at_the_ends(rng: Rng, case: Case) -> Case:
    """The case with other scales, some zero points at an end of the type, and biases that fit them.

    Tensors of one quantisation keep one. All scales move together, each for itself, only one, or all but the outputs'.
    """
    kinds = [t.type for t in case.inputs if t] + list(case.outputs)
    own = list(dict.fromkeys(k.quantization for k in kinds if k.quantization and k.dtype in ELEMENTS))
    choice = int(rng.integers(4))
    common, chosen = _factor(rng), own[int(rng.integers(len(own)))] if own else None
    fixed = {k.quantization for k in case.outputs} if choice == 3 else set[Quantization | None]()
    factors = {
        q: 1.0 if q in fixed or (choice == 2 and q is not chosen) else _factor(rng) if choice == 1 else common
        for q in own
    }
    moved = {q: _moved(rng, q, factors[q], is_free=q not in fixed) for q in own}
    product = np.prod([factors.get(t.type.quantization, 1.0) for t in case.inputs[:2] if t and t.type.quantization])

    def changed(kind: TensorType) -> TensorType:
        q = kind.quantization
        if q is None:
            return kind
        if q not in moved:
            return replace(kind, quantization=replace(q, scales=_scales(q, float(product))))
        points = moved[q].zero_points
        if kind.dtype is DType.INT16 or any(not _fits(p, kind) for p in points):
            points = q.zero_points
        return replace(kind, quantization=replace(moved[q], zero_points=points))

    inputs = tuple(t and Tensor(changed(t.type), t.data) for t in case.inputs)
    return replace(case, inputs=inputs, outputs=tuple(map(changed, case.outputs)))


def _factor(rng: Rng) -> float:
    return float(10.0 ** rng.uniform(*[(-28, 28), (-9, 9)][int(rng.integers(2))]))


def _fits(point: int, kind: TensorType) -> bool:
    least, greatest = kind.dtype.limits
    return least <= point <= greatest


def _scales(quantization: Quantization, factor: float) -> tuple[float, ...]:
    with np.errstate(all="ignore"):
        return tuple(float(np.float32(min(max(s * factor, LEAST), GREATEST))) for s in quantization.scales)


def _moved(rng: Rng, quantization: Quantization, factor: float, is_free: bool) -> Quantization:
    points = quantization.zero_points
    if is_free and len(points) == 1 and points[0] and rng.random() < 0.6:
        points = (int(rng.choice([-128, 127])),)
    return replace(quantization, scales=_scales(quantization, factor), zero_points=points)
