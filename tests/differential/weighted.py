"""Operators with weights, windows and matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.conv_cases import (
    conv2d,
    conv3d,
    depthwise_conv2d,
    fully_connected,
    int8_tensor,
    int16_tensor,
    pick,
    pool2d,
)
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
        by_dtype = {"int8": int8_tensor, "int16": int16_tensor}
        return by_dtype[dtype](rng, shape) if dtype in by_dtype else tensor(dtype, shape)

    left, right = operand(left_batch, rows, depth, adjoint[0]), operand(right_batch, depth, columns, adjoint[1])
    if rng.random() < 0.3 and dtype == "float32":
        right = constant(dtype, rng.normal(size=right.type.max_shape))
    case = make_case(
        "BATCH_MATMUL", [left, right], [typed(rng, dtype, (), 1e-4)], {"adj_x": adjoint[0], "adj_y": adjoint[1]}
    )
    return case, random_values(case, rng)


def transpose_conv(rng: Rng, dtype: str) -> Run:
    strides, taps, outside = ([int(n) for n in rng.integers(1, 5, 2)] for _ in range(3))
    channels, filters, same = int(rng.integers(1, 6)), int(rng.integers(1, 6)), bool(rng.integers(2))
    # The sizes of what a convolution takes to what the operator gets.
    sizes = [max(o * 3, t) + int(rng.integers(4)) for o, t in zip(outside, taps, strict=True)]
    inner = [
        -(-n // stride) if same else (n + stride - t) // stride
        for n, stride, t in zip(sizes, strides, taps, strict=True)
    ]
    batches = int(rng.integers(1, 3))
    source = typed(rng, dtype, (batches, *inner, channels), 1e-4 if dtype == "int16" else 1e-3)
    shape = (filters, *taps, channels)
    scales = rng.uniform(0.0005, 0.05, filters if rng.random() < 0.6 else 1)
    if dtype == "float32":
        weights = constant("float32", rng.normal(size=shape))
    else:
        weights = constant("int8", rng.integers(-127, 128, shape), scales)
    inputs: list[Tensor | None] = [constant("int32", [batches, *sizes, filters]), weights, source]
    # TFLite Micro dies of an int16 operator without a bias.
    if rng.random() < 0.7 or dtype == "int16":
        kind = {"float32": "float32", "int8": "int32", "int16": "int64"}[dtype]
        inputs.append(constant(kind, rng.normal(size=filters) * (1 if dtype == "float32" else 20000)))
    options = {"padding": int(not same), "stride_h": strides[0], "stride_w": strides[1]}
    case = make_case("TRANSPOSE_CONV", inputs, [typed(rng, dtype, (), 1e-2, 5.0)], options)
    return case, random_values(case, rng)


def conv3d_transpose(rng: Rng, dtype: str) -> Run:
    strides, taps, outside = ([int(n) for n in rng.integers(1, 4, 3)] for _ in range(3))
    channels, filters, same = int(rng.integers(1, 4)), int(rng.integers(1, 4)), bool(rng.integers(2))
    sizes = [max(o * 2, t) + int(rng.integers(3)) for o, t in zip(outside, taps, strict=True)]
    inner = [
        -(-n // stride) if same else (n + stride - t) // stride
        for n, stride, t in zip(sizes, strides, taps, strict=True)
    ]
    batches = int(rng.integers(1, 3))
    weights = constant(dtype, rng.normal(size=(*taps, filters, channels)))
    inputs = [constant("int32", [batches, *sizes, filters]), weights, tensor(dtype, (batches, *inner, channels))]
    if rng.random() < 0.7:
        inputs.append(constant(dtype, rng.normal(size=filters)))
    options = {"padding": int(not same), **{f"stride_{axis}": n for axis, n in zip("dhw", strides, strict=True)}}
    options |= {f"dilation_{axis}_factor": 1 for axis in "dhw"}
    case = make_case("CONV_3D_TRANSPOSE", inputs, [tensor(dtype, ())], options)
    return case, random_values(case, rng)


def pooling(operator: str) -> Callable[[Rng, str], Run]:
    return lambda rng, dtype: pool2d(rng, dtype, operator)


def resize_bilinear(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, tuple(int(d) for d in rng.integers(1, 7, 4)))
    inputs = [source, constant("int32", rng.integers(1, 9, 2))]
    return finished(rng, make_case("RESIZE_BILINEAR", inputs, [source], pick(rng, *SAMPLING)))


TOLERANCE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5}
NUMBERS = ("float32", "int8", "int16")

FAMILIES = (
    Family("CONV_2D", NUMBERS, conv2d, **TOLERANCE),
    Family("DEPTHWISE_CONV_2D", NUMBERS, depthwise_conv2d, **TOLERANCE),
    Family("CONV_3D", ("float32",), conv3d, **TOLERANCE),
    Family("CONV_3D_TRANSPOSE", ("float32",), conv3d_transpose, **TOLERANCE),
    Family("FULLY_CONNECTED", NUMBERS, fully_connected, **TOLERANCE),
    Family("BATCH_MATMUL", NUMBERS, batch_matmul, **TOLERANCE),
    Family("TRANSPOSE_CONV", NUMBERS, transpose_conv, **TOLERANCE),
    *(Family(name, NUMBERS, pooling(name), **TOLERANCE) for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D")),
    Family("L2_POOL_2D", ("float32",), pooling("L2_POOL_2D"), **TOLERANCE),
    Family("RESIZE_BILINEAR", NUMBERS, resize_bilinear, rtol=1e-6, atol=1e-6),
)
