"""Seeded cases of int16 activations by int8 weights, and of int16 elements, extreme ones among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from support.conv_cases import geometry, pick
from support.kernel_harness import Array, Case, Tensor, constant, make_case, random_values, tensor

CaseInputs = tuple[Case, Sequence[Array | None]]


def _weighted(rng: np.random.Generator, shape: tuple[int, ...], axis: int, terms: int) -> tuple[Tensor, Tensor, Tensor]:
    """Weights, bell-shaped or extreme, a bias, and the output; input scale 2^-12."""
    channels = shape[axis]
    kinds = np.clip(np.rint(rng.normal(0, 40, shape)), -127, 127), np.where(rng.random(shape) < 0.5, -128, 127)
    scales = rng.uniform(0.002, 0.02, channels)
    w = constant("int8", pick(rng, *kinds), scales, 0, axis)
    span = int(pick(rng, 2**10, 2**22))
    b = constant("int64", rng.integers(-span, span, channels), scales * 2.0**-12, 0, 0)
    # Results from next to nothing to far beyond int16.
    y = tensor("int16", (), float(2.0**-12 * np.sqrt(terms) * pick(rng, 0.02, 0.5, 8.0)))
    return w, b, y


def _case_of(
    rng: np.random.Generator,
    name: str,
    shape: Sequence[int],
    weighted: tuple[Tensor, Tensor, Tensor],
    options: dict[str, Any],
) -> CaseInputs:
    w, b, y = weighted
    x = tensor("int16", shape, 2.0**-12)
    return _with_values(rng, make_case(name, [x, w, b] if rng.random() < 0.8 else [x, w], [y], options))


def _with_values(rng: np.random.Generator, case: Case) -> CaseInputs:
    """Some of them extreme."""
    values = random_values(case, rng)
    if rng.random() < 0.3:
        values = [None if v is None else np.where(v < 0, -32768, 32767).astype(v.dtype) for v in values]
    return case, values


def conv2d(rng: np.random.Generator) -> CaseInputs:
    options, size, taps = geometry(rng, dilated=True)
    channels, outputs = int(pick(rng, 1, 2, 3, 4, 8, 12, 16, 33)), int(pick(rng, 2, 3, 4, 8, 9))
    weighted = _weighted(rng, (outputs, *taps, channels), 0, taps[0] * taps[1] * channels)
    return _case_of(rng, "CONV_2D", (int(pick(rng, 1, 2)), *size, channels), weighted, options)


def depthwise_conv2d(rng: np.random.Generator) -> CaseInputs:
    options, size, taps = geometry(rng, dilated=True)
    channels, multiplier = pick(rng, (1, 5), (4, 1), (8, 1), (7, 1), (3, 1))
    weighted = _weighted(rng, (1, *taps, channels * multiplier), 3, taps[0] * taps[1])
    shape, options = (int(pick(rng, 1, 2)), *size, channels), options | {"depth_multiplier": multiplier}
    return _case_of(rng, "DEPTHWISE_CONV_2D", shape, weighted, options)


def transpose_conv(rng: np.random.Generator) -> CaseInputs:
    strides = [int(n) for n in rng.integers(1, 4, 2)]
    taps = [stride + int(rng.integers(0, 4)) for stride in strides]
    channels, outputs, same = int(pick(rng, 1, 3, 8, 16, 33)), int(pick(rng, 1, 2, 3, 8, 9)), bool(rng.integers(2))
    inner = [int(n) for n in rng.integers(1, 6, 2)]
    sizes = [n * s if same else (n - 1) * s + t for n, s, t in zip(inner, strides, taps, strict=True)]
    batches = int(pick(rng, 1, 2))
    w, b, y = _weighted(rng, (outputs, *taps, channels), 0, taps[0] * taps[1] * channels)
    operands = [
        constant("int32", [batches, *sizes, outputs]),
        w,
        tensor("int16", (batches, *inner, channels), 2.0**-12),
    ]
    options = {"padding": int(not same), "stride_h": strides[0], "stride_w": strides[1]}
    options["fused_activation_function"] = int(pick(rng, 0, 1, 3))
    case = make_case("TRANSPOSE_CONV", [*operands, b] if rng.random() < 0.8 else operands, [y], options)
    return _with_values(rng, case)


def fully_connected(rng: np.random.Generator) -> CaseInputs:
    depth, units = (
        int(pick(rng, rng.integers(1, 128), 4 * rng.integers(1, 60), rng.integers(129, 200))),
        int(rng.integers(1, 12)),
    )
    weighted = _weighted(rng, (units, depth), 0, depth)
    options = {"fused_activation_function": int(pick(rng, 0, 1, 3)), "keep_num_dims": False}
    return _case_of(rng, "FULLY_CONNECTED", (int(pick(rng, 1, 1, 3)), depth), weighted, options)


def batch_matmul(rng: np.random.Generator) -> CaseInputs:
    """Rows of one piece, by columns that are of one piece or not, of int16 or int8."""
    batches, rows, depth, columns = (int(n) for n in rng.integers(1, (3, 5, 40, 7)))
    adjoint = bool(rng.integers(2))
    right = str(pick(rng, "int16", "int16", "int8"))
    sides = (batches, columns, depth) if adjoint else (batches, depth, columns)
    operands = [tensor("int16", (batches, rows, depth), 2.0**-12), tensor(right, sides, 2.0**-7)]
    y = tensor("int16", (), float(2.0**-6 * np.sqrt(depth) * pick(rng, 0.05, 1.0)))
    return _with_values(rng, make_case("BATCH_MATMUL", operands, [y], {"adj_y": adjoint}))


CASES: dict[str, Callable[[np.random.Generator], CaseInputs]] = {
    "conv2d": conv2d,
    "depthwise_conv2d": depthwise_conv2d,
    "fully_connected": fully_connected,
}


def elementwise(rng: np.random.Generator) -> CaseInputs:
    """ADD, SUB and MUL, also broadcast, the least values among the inputs; MUL also with zero points."""
    shape = int(rng.integers(1, 5)), int(rng.integers(1, 40))
    scales = (0.5, 0.5, 1.0) if rng.random() < 0.3 else tuple(rng.uniform(0.01, 0.1, 3) * (1, 1, 1.5))
    operator, zeros = str(pick(rng, "ADD", "SUB", "MUL")), [0, 0, 0]
    if operator == "MUL":
        scales = (2.0**-8, 2.0**-7, float(pick(rng, rng.uniform(0.2, 2), 2.0**-15, 1e-6)))
        zeros = zeros if rng.random() < 0.7 else [int(zero) for zero in rng.integers(-300, 300, 3)]
    other = pick(rng, shape, shape, (1, shape[1]), (shape[0], 1), (1, 1))
    shapes = (shape, other, ()) if rng.random() < 0.5 else (other, shape, ())
    items = zip(shapes, map(float, scales), zeros, strict=True)
    first, second, y = (tensor("int16", *item) for item in items)
    case = make_case(operator, [first, second], [y], {"fused_activation_function": int(pick(rng, 0, 0, 1, 3))})
    values = [np.asarray(v).astype(np.int16) for v in random_values(case, rng)]
    for value in values:
        value.reshape(-1)[: int(rng.integers(3))] = pick(rng, -32768, 32767)
    return case, values
