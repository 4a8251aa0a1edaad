"""Operators with weights, windows and matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.conv_cases import conv2d, depthwise_conv2d, fully_connected, int8_tensor, int16_tensor, pick, pool2d
from support.differential import Family, Rng, Run, finished, typed
from support.kernel_harness import Tensor, constant, make_case, random_values, tensor

BATCHES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((), ()),
    ((2,), (2,)),
    ((3,), ()),
    ((), (2,)),
    ((1, 2), (3, 1)),
    ((2, 3, 2), (2, 1, 2)),
    ((2, 3), (2, 3)),
)
SAMPLING: tuple[dict[str, bool], ...] = ({}, {"align_corners": True}, {"half_pixel_centers": True})


def batch_matmul(rng: Rng, dtype: str) -> Run:
    rows, depth, columns = (int(n) for n in rng.integers(1, 7, 3))
    left_batch, right_batch = pick(rng, *BATCHES)
    adjoint = [bool(flag) for flag in rng.integers(0, 2, 2)]

    def operand(batch: tuple[int, ...], height: int, width: int, adj: bool) -> Tensor:
        shape = (*batch, width, height) if adj else (*batch, height, width)
        makers = {"int8": int8_tensor, "int16": int16_tensor}
        return makers[dtype](rng, shape) if dtype in makers else tensor(dtype, shape)

    left, right = operand(left_batch, rows, depth, adjoint[0]), operand(right_batch, depth, columns, adjoint[1])
    if rng.random() < 0.3 and dtype == "float32":
        right = constant(dtype, rng.normal(size=right.type.max_shape))
    case = make_case(
        "BATCH_MATMUL", [left, right], [typed(rng, dtype, (), 1e-4)], {"adj_x": adjoint[0], "adj_y": adjoint[1]}
    )
    return case, random_values(case, rng)


def pooling(operator: str) -> Callable[[Rng, str], Run]:
    return lambda rng, dtype: pool2d(rng, dtype, operator)


def resize_bilinear(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, tuple(int(d) for d in rng.integers(1, 7, 4)))
    inputs = [source, constant("int32", rng.integers(1, 9, 2))]
    return finished(rng, make_case("RESIZE_BILINEAR", inputs, [source], pick(rng, *SAMPLING)))


CLOSE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5}
NUMBERS = ("float32", "int8", "int16")

FAMILIES = (
    Family("CONV_2D", NUMBERS, conv2d, **CLOSE),
    Family("DEPTHWISE_CONV_2D", NUMBERS, depthwise_conv2d, **CLOSE),
    Family("FULLY_CONNECTED", NUMBERS, fully_connected, **CLOSE),
    Family("BATCH_MATMUL", NUMBERS, batch_matmul, **CLOSE),
    *(Family(name, NUMBERS, pooling(name), **CLOSE) for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D")),
    Family("RESIZE_BILINEAR", ("float32", "int8"), resize_bilinear, rtol=1e-6, atol=1e-6),
)
