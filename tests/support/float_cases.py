"""Seeded cases of float32 layers whose channels are of whole blocks, with rests, and few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from support.conv_cases import activation, geometry, pick
from support.kernel_harness import Array, Case, constant, make_case, random_values, tensor

CaseInputs = tuple[Case, Sequence[Array | None]]


def _values(case: Case, rng: np.random.Generator) -> Sequence[Array | None]:
    """Random inputs; in one of five cases their elements may be NaN."""
    values = random_values(case, rng)
    if rng.random() < 0.2:
        values = [None if v is None else np.where(rng.random(v.shape) < 0.05, np.float32(np.nan), v) for v in values]
    return values


def wide(rng: np.random.Generator, operator: str) -> CaseInputs:
    """Windows of whole blocks of channels, with rests, and of few channels."""
    options, size, taps = geometry(rng, dilated=True)
    channels = int(pick(rng, 1, 3, 8, 12, 16, 21))
    if operator == "CONV_2D":
        outputs = int(pick(rng, 1, 3, 4, 8, 10, 15, 17))
        shape: tuple[int, ...] = (outputs, *taps, channels)
    else:
        multiplier = int(pick(rng, 1, 1, 2, 8, 16))
        channels = channels if multiplier == 1 else 2
        outputs = channels * multiplier
        shape, options = (1, *taps, outputs), options | {"depth_multiplier": multiplier}
    x = tensor("float32", (int(pick(rng, 1, 2)), *size, channels))
    inputs = [x, constant("float32", rng.normal(size=shape)), constant("float32", rng.normal(size=outputs))]
    case = make_case(operator, inputs[: int(pick(rng, 2, 3))], [tensor("float32", ())], options)
    return case, _values(case, rng)


def deep(rng: np.random.Generator) -> CaseInputs:
    depth, units = int(rng.integers(1, 70)), int(rng.integers(1, 14))
    inputs = [tensor("float32", (int(pick(rng, 1, 3)), depth)), constant("float32", rng.normal(size=(units, depth)))]
    options = {"fused_activation_function": activation(rng), "keep_num_dims": False}
    case = make_case("FULLY_CONNECTED", [*inputs, None], [tensor("float32", ())], options)
    return case, _values(case, rng)


def whole(make: Callable[[np.random.Generator], CaseInputs], rng: np.random.Generator) -> CaseInputs:
    """Layers of `make` with small whole numbers, whose sums are the same in any order, and none of them NaN."""
    case, values = make(rng)
    inputs = tuple(
        item if item is None or item.data is None else replace(item, data=np.rint(3 * item.data) + 0)
        for item in case.inputs
    )
    rounded = [None if v is None else (np.rint(3 * np.nan_to_num(v)) + 0).astype(v.dtype) for v in values]
    return replace(case, inputs=inputs), rounded
