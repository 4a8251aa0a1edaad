"""Seeded cases in the shapes that the fast int8 kernels are made for, with extreme weights and inputs among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from support.conv_cases import pick
from support.kernel_harness import Array, Case, Tensor, constant, make_case, random_values, scale_of, tensor

Run = tuple[Case, list[Array | None]]


def inputs(rng: np.random.Generator, case: Case) -> list[Array | None]:
    """Any int8 values, or only the extreme ones."""
    values = random_values(case, rng)
    if rng.random() < 0.3:
        return [None if v is None else np.where(v < 0, -128, 127).astype(v.dtype) for v in values]
    return values


def _weights(
    rng: np.random.Generator,
    shape: tuple[int, ...],
    axis: int,
    input_scale: float,
    anywhere: bool = False,
    own: float = 0.8,
) -> tuple[Tensor, Tensor]:
    """Weights, bell-shaped or extreme, sometimes -128 where that does no harm, or else anywhere, and their bias.

    own: how often channels have scales of their own
    """
    channels = shape[axis]
    kind = 1.0 if anywhere else rng.random()
    if kind < 0.6:
        values = np.clip(np.rint(rng.normal(0, 40, shape)), -127, 127)
    elif kind < 0.8:
        values = np.where(rng.random(shape) < 0.5, -127, 127)
    else:
        values = np.where(rng.random(shape) < 0.1, -128, rng.integers(-128 if anywhere else 0, 128, shape))
    scales = rng.uniform(0.002, 0.02, channels) * (1.0 if rng.random() < 0.7 else rng.uniform(0.1, 4.0, channels))
    if rng.random() < 0.2:
        dead = [slice(None)] * len(shape)
        dead[axis] = slice(0, 1)
        values[tuple(dead)] = 0
    w = constant("int8", values, scales if rng.random() < own else float(scales[0]), 0, axis)
    assert w.type.quantization is not None
    span = int(pick(rng, 2000, 20000))
    b = rng.integers(-span, span, channels)
    return w, constant("int32", b, input_scale * np.resize(w.type.quantization.scales, channels), 0, 0)


def _ends(rng: np.random.Generator, shape: tuple[int, ...], terms: int) -> tuple[Tensor, Tensor, int]:
    """Input, output and activation: mostly a fused ReLU with the zero point at -128."""
    x = tensor("int8", shape, float(rng.uniform(0.01, 0.05)), pick(rng, -128, -128, int(rng.integers(-128, 128))))
    activation = int(pick(rng, 1, 1, 3, 0, 2))
    zero = -128 if activation in (1, 3) and rng.random() < 0.8 else int(rng.integers(-128, 128))
    y = tensor("int8", (), float(rng.uniform(0.02, 0.2)) * np.sqrt(terms), zero)
    return x, y, activation


def pointwise(rng: np.random.Generator) -> Run:
    """Windows of one pixel, with as many channels as most have."""
    return conv2d(rng, windows=((1, 1),), depths=(8, 16, 32, 64))


def conv2d(
    rng: np.random.Generator,
    beyond: bool = False,
    windows: Sequence[tuple[int, int]] = ((1, 1), (1, 1), (3, 3), (3, 3), (5, 1), (4, 4), (10, 4)),
    depths: Sequence[int] = (1, 3, 4, 8, 12, 16, 32, 64, 5),
) -> Run:
    """beyond: weights of -128 anywhere, most of which are no shifted pairs."""
    taps = pick(rng, *windows)
    channels, outputs = int(pick(rng, *depths)), int(pick(rng, 1, 2, 3, 4, 8, 16, 17))
    stride = pick(rng, (1, 1), (1, 1), (2, 2), (1, 2), (3, 1))
    dilation = pick(rng, (1, 1), (1, 1), (1, 1), (2, 2), (1, 2))
    reach = [(t - 1) * d + 1 for t, d in zip(taps, dilation, strict=True)]
    size = tuple(int(r + rng.integers(0, 6)) for r in reach)
    x, y, activation = _ends(rng, (int(pick(rng, 1, 1, 2)), *size, channels), taps[0] * taps[1] * channels)
    w, b = _weights(rng, (outputs, *taps, channels), 0, scale_of(x), beyond)
    options: dict[str, Any] = {
        "padding": int(rng.integers(2)),
        "stride_h": stride[0],
        "stride_w": stride[1],
        "dilation_h_factor": dilation[0],
        "dilation_w_factor": dilation[1],
        "fused_activation_function": activation,
    }
    case = make_case("CONV_2D", [x, w, b if rng.random() < 0.8 else None], [y], options)
    return case, inputs(rng, case)


def conv2d_dot(rng: np.random.Generator) -> Run:
    """Few output channels, or weights that are no shifted pairs, or sums that are scaled up."""
    taps = pick(rng, (1, 1), (3, 3), (3, 3), (1, 5), (5, 1), (2, 4))
    has_few_outputs = rng.random() < 0.6
    channels = int(pick(rng, 1, 2, 3, 4, 6, 8, 16, 20, 64))
    outputs = int(pick(rng, 1, 1, 1, 2, 3)) if has_few_outputs else int(pick(rng, 2, 3, 5))
    dilation = pick(rng, (1, 1), (1, 1), (2, 2), (1, 3))
    reach = [(t - 1) * d + 1 for t, d in zip(taps, dilation, strict=True)]
    size = [int(r + rng.integers(0, 9)) for r in reach]
    x, y, activation = _ends(rng, (int(pick(rng, 1, 1, 2)), *size, channels), taps[0] * taps[1] * channels)
    w, b = _weights(rng, (outputs, *taps, channels), 0, scale_of(x), not has_few_outputs)
    if rng.random() < 0.2:
        y = tensor("int8", (), 0.0005, int(rng.integers(-128, 128)))
    options: dict[str, Any] = {
        "padding": int(rng.integers(2)),
        "stride_h": int(rng.integers(1, 3)),
        "stride_w": int(rng.integers(1, 4)),
        "dilation_h_factor": dilation[0],
        "dilation_w_factor": dilation[1],
        "fused_activation_function": activation,
    }
    case = make_case("CONV_2D", [x, w, b if rng.random() < 0.8 else None], [y], options)
    return case, inputs(rng, case)


def grouped(rng: np.random.Generator) -> Run:
    """Groups of channels, each with a convolution of its own: of CONV_2D, or several filters per channel."""
    taps, groups = pick(rng, (1, 1), (3, 3), (2, 3), (7, 5)), int(pick(rng, 2, 3, 4))
    size = [int(t + rng.integers(0, 5)) for t in taps]
    own, outputs = int(pick(rng, 1, 2, 3, 4, 8)), groups * int(pick(rng, 1, 2, 3, 4))
    options: dict[str, Any] = {
        "padding": int(rng.integers(2)) if size[1] >= taps[1] else 0,
        "stride_h": int(rng.integers(1, 3)),
        "stride_w": int(rng.integers(1, 3)),
    }
    depthwise = rng.random() < 0.4
    channels = groups if depthwise else groups * own
    x, y, activation = _ends(rng, (int(pick(rng, 1, 2)), *size, channels), taps[0] * taps[1] * own)
    options["fused_activation_function"] = activation
    if depthwise:
        w, b = _weights(rng, (1, *taps, outputs), 3, scale_of(x))
        case = make_case("DEPTHWISE_CONV_2D", [x, w, b], [y], options | {"depth_multiplier": outputs // groups})
    else:
        w, b = _weights(rng, (outputs, *taps, own), 0, scale_of(x), rng.random() < 0.2)
        case = make_case("CONV_2D", [x, w, b], [y], options)
    return case, inputs(rng, case)


def transpose_conv(rng: np.random.Generator) -> Run:
    strides = [int(n) for n in rng.integers(1, 4, 2)]
    taps = [stride + int(rng.integers(0, 4)) for stride in strides]
    channels, outputs, same = int(pick(rng, 1, 3, 8, 16, 24)), int(pick(rng, 1, 2, 3, 8)), bool(rng.integers(2))
    sizes = [max(stride, t) + int(rng.integers(0, 12)) for stride, t in zip(strides, taps, strict=True)]
    inner = [
        -(-n // stride) if same else (n - t) // stride + 1 for n, stride, t in zip(sizes, strides, taps, strict=True)
    ]
    batches = int(pick(rng, 1, 2))
    x, y, activation = _ends(rng, (batches, *inner, channels), taps[0] * taps[1] * channels)
    w, b = _weights(rng, (outputs, *taps, channels), 0, scale_of(x), rng.random() < 0.2)
    options = {"padding": int(not same), "stride_h": strides[0], "stride_w": strides[1]}
    options["fused_activation_function"] = activation
    operands: list[Tensor | None] = [constant("int32", [batches, *sizes, outputs]), w, x]
    case = make_case("TRANSPOSE_CONV", [*operands, b] if rng.random() < 0.8 else operands, [y], options)
    return case, inputs(rng, case)


Widths = Sequence[tuple[int, int]]


def batch_matmul(rng: np.random.Generator) -> Run:
    """Matrices that are both computed; products of scales from near 1 on."""
    batches, rows, columns = int(pick(rng, 1, 2)), int(rng.integers(1, 7)), int(rng.integers(1, 20))
    if rng.random() < 0.3:
        rows, columns = columns, rows
    depth = int(pick(rng, 16, 32, 64, rng.integers(1, 40), rng.integers(40, 90)))
    adjoint_left, adjoint = rng.random() < 0.3, bool(rng.integers(2))
    zeros = [pick(rng, -128, 0, int(rng.integers(-128, 128))) for _ in range(3)]
    scale = float(2.0 ** -pick(rng, 0.5, rng.uniform(0, 9)))
    left = tensor("int8", (batches, depth, rows) if adjoint_left else (batches, rows, depth), 0.5, zeros[0])
    right = tensor("int8", (batches, columns, depth) if adjoint else (batches, depth, columns), 0.5 * scale, zeros[1])
    options = {"adj_x": adjoint_left, "adj_y": adjoint}
    case = make_case("BATCH_MATMUL", [left, right], [tensor("int8", (), 0.25, zeros[2])], options)
    return case, inputs(rng, case)


def depthwise3x3(rng: np.random.Generator, widths: Widths = ((3, 8), (3, 16), (3, 70)), tallest: int = 13) -> Run:
    channels = int(pick(rng, 4, 4, 8, 12, 5, 7, 16, 24, 37))
    size = int(rng.integers(3, tallest + 1)), int(pick(rng, *(rng.integers(*ends) for ends in widths)))
    x, y, activation = _ends(rng, (int(pick(rng, 1, 1, 2)), *size, channels), 9)
    w, b = _weights(rng, (1, 3, 3, channels), 3, scale_of(x))
    options = {
        "padding": int(rng.integers(2)),
        "stride_h": int(pick(rng, 1, 1, 2)),
        "stride_w": int(pick(rng, 1, 1, 2)),
        "depth_multiplier": 1,
        "fused_activation_function": activation,
    }
    case = make_case("DEPTHWISE_CONV_2D", [x, w, b], [y], options)
    return case, inputs(rng, case)


def _shapes(rng: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Random shapes of two inputs: equal, or one of them broadcast, along some dimensions or by its lower rank."""
    shape = int(rng.integers(1, 5)), int(rng.integers(1, 6)), int(rng.integers(1, 20))
    if rng.random() < 0.4:
        return shape, shape
    other = tuple(1 if rng.random() < 0.5 else n for n in shape)
    shapes: tuple[tuple[int, ...], tuple[int, ...]] = pick(rng, (shape, other), (other, shape), (shape, shape[-1:]))
    return shapes


def mul(rng: np.random.Generator) -> Run:
    first, second = (
        tensor("int8", shape, float(rng.uniform(0.01, 0.1)), pick(rng, -128, 0, int(rng.integers(-128, 128))))
        for shape in _shapes(rng)
    )
    # Factors from 1/1024 on; beyond 1 the portable kernel is alone.
    y = tensor(
        "int8", (), scale_of(first) * scale_of(second) * 2.0 ** rng.uniform(-1, 10), int(rng.integers(-128, 128))
    )
    case = make_case("MUL", [first, second], [y], {"fused_activation_function": int(pick(rng, 0, 0, 1, 3))})
    return case, inputs(rng, case)


def add(rng: np.random.Generator) -> Run:
    shapes = _shapes(rng)
    equal = rng.random() < 0.3
    # Sums of the former meet halves exactly.
    exact = pick(rng, (0.5, 0.5, 1.0), (0.0625, 0.03125, 0.0625), (0.05, 0.05, 0.1), (0.25, 2.0**-9, 0.5))
    scales = exact if equal else tuple(rng.uniform(0.01, 0.1, 3) * (1, 1, 1.5))
    zeros = [pick(rng, -128, 0, int(rng.integers(-128, 128))) for _ in range(3)]
    items = zip((*shapes, ()), scales, zeros, strict=True)
    first, second, y = (tensor("int8", shape, float(s), z) for shape, s, z in items)
    activation = {"fused_activation_function": int(pick(rng, 0, 0, 1, 3))}
    case = make_case(pick(rng, "ADD", "SUB"), [first, second], [y], activation)
    return case, inputs(rng, case)


def fully_connected_few(rng: np.random.Generator) -> Run:
    """A FULLY_CONNECTED of so few units (one to three) that each is computed for itself."""
    return fully_connected(rng, int(rng.integers(1, 4)))


def fully_connected(rng: np.random.Generator, count: int = 0) -> Run:
    """count: units, if not any number."""
    short_depths = rng.integers(1, 80), 64, 128, 4 * rng.integers(70, 90)
    depth = int(pick(rng, *short_depths, rng.integers(280, 620), rng.integers(500, 700)))
    units = count or int(pick(rng, rng.integers(1, 14), 4, 8, rng.integers(16, 40), 70))
    x, y, activation = _ends(rng, (int(pick(rng, 1, 1, 3)), depth), depth)
    w, b = _weights(rng, (units, depth), 0, scale_of(x), pick(rng, False, True), 0.5)
    options = {"fused_activation_function": activation, "keep_num_dims": False}
    case = make_case("FULLY_CONNECTED", [x, w, b if rng.random() < 0.8 else None], [y], options)
    return case, inputs(rng, case)


def fully_connected_small(rng: np.random.Generator) -> Run:
    """A FULLY_CONNECTED in which the weights of most groups of eight values, counted from the last, are small."""
    case, values = fully_connected(rng)
    x, w, bias = case.inputs
    assert w is not None
    assert w.data is not None
    depth = w.data.shape[1]
    divisors = np.repeat(rng.choice([1, 8, 8, 16], -(-depth // 8)), 8)[-depth:]
    small = replace(w, data=np.rint(w.data / divisors).astype(np.int8))
    return replace(case, inputs=(x, small, bias)), values


def max_pool2d(rng: np.random.Generator) -> Run:
    return _pool2d(rng, "MAX_POOL_2D", int(rng.integers(4, 40)))


def average_pool2d(rng: np.random.Generator) -> Run:
    return _pool2d(rng, "AVERAGE_POOL_2D", int(rng.integers(4, 48)))


def _pool2d(rng: np.random.Generator, operator: str, channels: int) -> Run:
    taps = pick(rng, (2, 2), (3, 3), (7, 5), (16, 16), (1, 4))
    size = taps[0] + int(rng.integers(4)), taps[1] + int(rng.integers(4))
    x = tensor("int8", (int(pick(rng, 1, 2)), *size, channels), 0.05, int(rng.integers(-128, 128)))
    options = {
        "padding": int(rng.integers(2)),
        "stride_h": int(rng.integers(1, 3)),
        "stride_w": int(rng.integers(1, 3)),
        "filter_height": taps[0],
        "filter_width": taps[1],
        "fused_activation_function": int(pick(rng, 0, 1, 3)),
    }
    case = make_case(operator, [x], [x], options)
    return case, inputs(rng, case)


def depthwise_window(rng: np.random.Generator) -> Run:
    taps = pick(rng, (5, 5), (1, 3), (4, 1), (2, 2), (3, 3), (3, 1), (7, 7), (9, 6))
    dilation = pick(rng, (1, 1), (2, 2)) if taps != (3, 3) else (2, 1)
    channels = int(pick(rng, 4, 8, 5, 11, 16, 20, 37))
    reach = [(t - 1) * d + 1 for t, d in zip(taps, dilation, strict=True)]
    size = [int(r + rng.integers(0, 5)) for r in reach]
    if rng.random() < 0.2:
        size[1] = 1
    x, y, activation = _ends(rng, (int(pick(rng, 1, 2)), *size, channels), taps[0] * taps[1])
    w, b = _weights(rng, (1, *taps, channels), 3, scale_of(x))
    options = {
        "padding": int(rng.integers(2)) if size[1] >= reach[1] else 0,
        "stride_h": int(rng.integers(1, 3)),
        "stride_w": int(rng.integers(1, 3)),
        "dilation_h_factor": dilation[0],
        "dilation_w_factor": dilation[1],
        "depth_multiplier": 1,
        "fused_activation_function": activation,
    }
    case = make_case("DEPTHWISE_CONV_2D", [x, w, b], [y], options)
    return case, inputs(rng, case)


def depthwise_line(rng: np.random.Generator) -> Run:
    """Taps in one row or one column, dilated ones among them."""
    taps, dilation = int(rng.integers(2, 10)), int(pick(rng, 1, 1, 2, 3))
    channels = int(pick(rng, 4, 8, 5, 11, 16))
    size = [(taps - 1) * dilation + 1 + int(rng.integers(0, 9)), int(pick(rng, 1, 2, 5))]
    strides, dilations, filter_size = [1, int(rng.integers(1, 3))], [dilation, 1], [taps, 1]
    order = 1 if rng.random() < 0.5 else -1
    x, y, activation = _ends(rng, (int(pick(rng, 1, 2)), *size[::order], channels), taps)
    w, b = _weights(rng, (1, *filter_size[::order], channels), 3, scale_of(x))
    options = {
        "padding": int(rng.integers(2)),
        **dict(zip(("stride_h", "stride_w"), strides[::order], strict=True)),
        **dict(zip(("dilation_h_factor", "dilation_w_factor"), dilations[::order], strict=True)),
        "depth_multiplier": 1,
        "fused_activation_function": activation,
    }
    case = make_case("DEPTHWISE_CONV_2D", [x, w, b], [y], options)
    return case, inputs(rng, case)


def depthwise_filters(rng: np.random.Generator) -> Run:
    """Several filters per channel, also of windows with a single position."""
    taps = pick(rng, (3, 3), (3, 3), (5, 5), (1, 3), (4, 1))
    channels, filters = int(pick(rng, 1, 2, 3, 6, 9)), int(pick(rng, 2, 3, 4, 8))
    size = [int(t + rng.integers(0, 20 if rng.random() < 0.3 else 6)) for t in taps]
    x, y, activation = _ends(rng, (int(pick(rng, 1, 2)), *size, channels), taps[0] * taps[1])
    w, b = _weights(rng, (1, *taps, channels * filters), 3, scale_of(x))
    options = {
        "padding": int(rng.integers(2)),
        "stride_h": int(pick(rng, 1, 1, 2)),
        "stride_w": int(pick(rng, 1, 1, 2, 3)),
        "depth_multiplier": filters,
        "fused_activation_function": activation,
    }
    case = make_case("DEPTHWISE_CONV_2D", [x, w, b], [y], options)
    return case, inputs(rng, case)


def lookup(rng: np.random.Generator) -> Run:
    """A function of one element, which is a table."""
    shape = int(rng.integers(1, 4)), int(rng.integers(1, 40))
    x = tensor("int8", shape, float(rng.uniform(0.01, 0.1)), int(rng.integers(-128, 128)))
    operator = pick(rng, "TANH", "LOGISTIC", "HARD_SWISH", "QUANTIZE")
    ends = {"TANH": (1 / 128, 0), "LOGISTIC": (1 / 256, -128)}
    y = tensor("int8", (), *ends.get(operator, (float(rng.uniform(0.01, 0.1)), int(rng.integers(-128, 128)))))
    case = make_case(operator, [x], [y])
    return case, inputs(rng, case)


def winograd(rng: np.random.Generator) -> Run:
    """3x3 filters in steps of one pixel; an output pixel or line more or less than tiles have, and many channels."""
    channels = int(pick(rng, 4, 8, 12, 16, 24, 28, 32, 60, 64, 68, 128))
    outputs = int(pick(rng, 2, 3, 4, 5, 8, 9))
    padding = int(rng.integers(2))
    size = [int(rng.integers(3, 9) if padding else rng.integers(1, 8)) for _ in range(2)]
    x, y, activation = _ends(rng, (int(pick(rng, 1, 1, 2)), *size, channels), 9 * channels)
    w, b = _weights(rng, (outputs, 3, 3, channels), 0, scale_of(x), anywhere=bool(rng.random() < 0.3))
    options = {"padding": padding, "stride_h": 1, "stride_w": 1, "fused_activation_function": activation}
    case = make_case("CONV_2D", [x, w, b if rng.random() < 0.8 else None], [y], options)
    return case, inputs(rng, case)
