"""Random layers of many shapes, by the names that cost models give them (CostModel.layers)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from support.conv_cases import pick
from support.cost_elements import elements, pool
from support.cost_products import product, product_row
from support.cost_samples import LSTM, Layer, Measured

SIX = 0.25
"""Part of the layers with ReLU that are clamped at 6."""

DEPTHS = (8, 16, 40, 64, 96, 128, 200, 256)
"""Of FULLY_CONNECTED layers, beside random ones."""


def _pick(rng: np.random.Generator, choices: Sequence[int]) -> int:
    return int(choices[int(rng.integers(len(choices)))])


def _relu(rng: np.random.Generator) -> bool:
    return bool(rng.random() < 0.7)


def _fully_connected(
    rng: np.random.Generator,
    depths: Callable[[np.random.Generator], Sequence[int]] = lambda _: (),
    has_few_units: bool = False,
    single: bool = False,
    common: float = 0.0,
) -> Layer:
    """depths: others than usual. few: one to three units at most; single: often one. common: part of the layers with
    one scale for all units."""
    depth = [*DEPTHS, int(rng.integers(4, 257)), *depths(rng)]
    units = _pick(rng, [2, 4, 8, 10, 12, 16, 32, 33, 64, 128, int(rng.integers(2, 50))])
    units = 1 + units % 3 if has_few_units else units
    units = _pick(rng, [1, 1, 2, 3, units]) if single else units
    return Layer(
        "FULLY_CONNECTED",
        (_pick(rng, [1, 1, 1, 2, 3]), 1),
        _pick(rng, depth),
        outputs=units,
        relu=_relu(rng),
        common=bool(rng.random() < common),
    )


def _long_rows(rng: np.random.Generator, common: float = 0.0) -> Layer:
    """FULLY_CONNECTED layers with rows longer than kernels copy at once."""
    depth = _pick(rng, [292, 320, 400, 512, 640, 4 * int(rng.integers(73, 200))])
    return replace(_fully_connected(rng, common=common), channels=depth)


def _vector_depths(rng: np.random.Generator) -> Sequence[int]:
    return 13, 57, 528, 640, 16 * int(rng.integers(32, 60)) + int(rng.integers(1, 16))


def _size(rng: np.random.Generator, taps: tuple[int, int], dilation: int, side: int) -> tuple[int, int]:
    reach = [(t - 1) * dilation + 1 for t in taps]
    if taps[0] == 1 < taps[1] and rng.random() < 0.3:
        return 1, max(reach[1], 4 * side)
    return max(reach[0], side + int(rng.integers(-1, 3))), max(reach[1], side + int(rng.integers(-3, 4)))


def _conv(rng: np.random.Generator, has_few_outputs: bool = False) -> Layer:
    """few: output channels."""
    taps = [(1, 1), (1, 1), (3, 3), (3, 3), (5, 5), (10, 4), (5, 1), (1, 3), (2, 2), (4, 4)][int(rng.integers(10))]
    values = taps[0] * taps[1]
    channels = _pick(rng, [1, 2, 3, 4, 5, 8, 10, 12] if values > 9 else [1, 3, 4, 7, 8, 12, 16, 17, 24, 32, 64])
    channels = _pick(rng, [4, 8, 16, 24, 32, 40, 64, 96, 128]) if values == 1 and rng.random() < 0.7 else channels
    outputs = _pick(rng, [1, 1, 1, 2, 3, 4] if has_few_outputs else [2, 3, 4, 5, 8, 8, 12, 16, 16, 17, 24, 32, 64])
    side = max(3, min(24, int(np.sqrt(600_000 / (values * channels * outputs)))))
    dilation = 2 if values > 1 and rng.random() < 0.25 else 1
    size = _size(rng, taps, dilation, side)
    stride = 1 if dilation > 1 else _pick(rng, [1, 1, 1, 2, 3])
    return Layer(
        "CONV_2D", size, channels, taps, outputs, stride, bool(rng.random() < 0.7), _relu(rng), dilation=dilation
    )


def _few_channels(rng: np.random.Generator) -> Layer:
    """There are several ways to gather windows of few channels."""
    layer = _conv(rng)
    return replace(layer, channels=int(rng.integers(1, 6))) if rng.random() < 1 / 3 else layer


def _with_long_windows(rng: np.random.Generator) -> Layer:
    layer = _conv(rng)
    channels = [12, 16, 24, 32, 40, 64] if layer.taps[0] * layer.taps[1] < 20 else [4, 8, 12, 16]
    taps = (3, 3) if layer.taps == (1, 1) else layer.taps
    outputs = min(layer.outputs, 16)
    size = max(layer.size[0], taps[0]), max(layer.size[1], taps[1])
    return replace(layer, channels=_pick(rng, channels), taps=taps, outputs=outputs, dilation=1, size=size)


def _three_by_three(rng: np.random.Generator) -> Layer:
    channels, outputs = (
        _pick(rng, [4, 8, 12, 16, 24, 32, 48, 64, 68, 96, 128]),
        _pick(rng, [2, 5, 8, 8, 16, 16, 32, 64]),
    )
    side = max(3, min(24, int(np.sqrt(60_000 / (channels * outputs)))))
    size = _size(rng, (3, 3), 1, side)
    return Layer("CONV_2D", size, channels, (3, 3), outputs, 1, bool(rng.random() < 0.7), _relu(rng))


def _three_columns(rng: np.random.Generator) -> Layer:
    taps = [(3, 3), (3, 3), (3, 3), (1, 3), (2, 3), (5, 3)][int(rng.integers(6))]
    channels, outputs = _pick(rng, [16, 16, 32, 32, 48, 64]), _pick(rng, [2, 5, 8, 16, 16, 17, 32, 64])
    side = max(5, min(32, int(np.sqrt(600_000 / (3 * taps[0] * channels * outputs)))))
    size = max(taps[0], side + int(rng.integers(-1, 3))), max(6, side + int(rng.integers(-3, 4)))
    return Layer("CONV_2D", size, channels, taps, outputs, 1, bool(rng.random() < 0.7), _relu(rng))


def _grouped(rng: np.random.Generator) -> Layer:
    taps = [(1, 1), (3, 3), (3, 3), (5, 5), (1, 5), (2, 2)][int(rng.integers(6))]
    groups, own, outputs = (_pick(rng, choices) for choices in ([2, 3, 4, 8], [1, 2, 4, 8, 16, 24], [1, 2, 3, 4, 8]))
    dilation = 2 if taps != (1, 1) and rng.random() < 0.15 else 1
    size = _size(rng, taps, dilation, int(rng.integers(3, 18)))
    stride = 1 if dilation > 1 else _pick(rng, [1, 1, 2])
    relu, same = _relu(rng), bool(rng.random() < 0.7)
    return Layer(
        "CONV_2D", size, groups * own, taps, groups * outputs, stride, same, relu, dilation=dilation, groups=groups
    )


def _transposed(rng: np.random.Generator) -> Layer:
    stride = _pick(rng, [1, 2, 2, 3])
    taps = stride + int(rng.integers(0, 3)), stride + int(rng.integers(0, 3))
    channels, outputs = _pick(rng, [1, 3, 8, 16, 24, 32]), _pick(rng, [1, 2, 3, 4, 8, 16])
    size = int(rng.integers(2, 12)), _pick(rng, [2, 3, 4, 5, 7, 8, 11])
    return Layer("TRANSPOSE_CONV", size, channels, taps, outputs, stride, bool(rng.random() < 0.7), _relu(rng))


def _in_groups(rng: np.random.Generator) -> Layer:
    """A convolution, or one with groups of channels."""
    layer = _conv(rng)
    groups = _pick(rng, [1, 1, 1, 2, 4])
    fits = layer.channels % groups == 0 and layer.outputs % groups == 0
    return replace(layer, groups=groups) if fits else layer


def _depthwise(
    rng: np.random.Generator,
    by_three: bool = True,
    strides: Sequence[int] = (1, 1, 2, 3),
    channels: Sequence[int] = (5, 8, 12, 16, 24, 32),
    dilated: bool = False,
    filters: Sequence[int] = (1,),
    relu: bool = False,
) -> Layer:
    """by_three: with 3x3 windows alone. filters: of each channel. relu: always."""
    others = [(5, 5), (5, 1), (1, 3), (4, 4), (2, 2), (7, 7)]
    taps = (3, 3) if by_three or rng.random() < 0.4 else others[int(rng.integers(6))]
    stride = _pick(rng, strides)
    dilation = 2 if dilated and stride == 1 and rng.random() < 0.2 else 1
    count, side = _pick(rng, channels), int(rng.integers(5, 24))
    size = _size(rng, taps, dilation, side)
    clamped = _relu(rng) or relu
    outputs, same = count * _pick(rng, filters), bool(rng.random() < 0.7)
    return Layer("DEPTHWISE_CONV_2D", size, count, taps, outputs, stride, same, clamped, dilation=dilation)


def _lines(rng: np.random.Generator) -> Layer:
    """Depthwise layers with taps in one row or column."""
    taps, dilation = _pick(rng, [3, 3, 5, 5, 7, 9]), _pick(rng, [1, 1, 1, 2])
    length, lines = (taps - 1) * dilation + int(rng.integers(3, 70)), _pick(rng, [1, 1, 1, 5, 12])
    order = 1 if rng.random() < 0.6 else -1
    size, filter_size = ((length, lines), (taps, 1)) if order > 0 else ((lines, length), (1, taps))
    channels = _pick(rng, [5, 8, 12, 16, 24, 32])
    same, relu = bool(rng.random() < 0.7), _relu(rng)
    return Layer("DEPTHWISE_CONV_2D", size, channels, filter_size, channels, 1, same, relu, dilation=dilation)


def _windows_but_3x3(rng: np.random.Generator) -> Layer:
    layer = _depthwise(rng, by_three=False, dilated=True, filters=FILTERS)
    size = max(layer.size[0], 7 * layer.dilation), layer.size[1]
    return replace(layer, taps=(7, 1), size=size) if layer.taps == (3, 3) else layer


def _many_channels(rng: np.random.Generator) -> Layer:
    """Depthwise layers, half of them of many channels and few pixels."""
    layer = _depthwise(rng, by_three=False)
    if rng.random() < 0.5:
        return layer
    size = layer.taps[0] + int(rng.integers(3)), layer.taps[1] + int(rng.integers(2))
    return replace(layer, channels=4 * layer.channels, outputs=4 * layer.outputs, size=size)


def _many_taps(rng: np.random.Generator) -> Layer:
    taps = [(5, 5), (5, 5), (7, 7), (3, 3), (9, 1), (3, 7), (9, 9), (4, 5), (2, 2)][int(rng.integers(9))]
    dilation = 2 if max(taps) < 7 and rng.random() < 0.2 else 1
    stride = 1 if dilation > 1 else _pick(rng, [1, 1, 2, 3])
    size = _size(rng, taps, dilation, int(rng.integers(2, 18)))
    channels, filters = _pick(rng, [3, 8, 12, 16, 24, 32, 40, 64]), _pick(rng, [1, 1, 1, 2, 3])
    same, relu = bool(rng.random() < 0.7), _relu(rng)
    outputs = channels * filters
    return Layer("DEPTHWISE_CONV_2D", size, channels, taps, outputs, stride, same, relu, dilation=dilation)


def _int16(make: Callable[[np.random.Generator], Layer], rng: np.random.Generator) -> Layer:
    return replace(make(rng), dtype="int16")


def _int16_convolution(rng: np.random.Generator) -> Layer:
    """Windows are copied by halves of words where there are few channels."""
    layer = replace(_conv(rng), dtype="int16")
    return replace(layer, channels=int(rng.integers(1, 6))) if rng.random() < 0.3 else layer


def _float32(
    make: Callable[[np.random.Generator], Layer],
    special: Callable[[Layer, np.random.Generator], Layer],
    rng: np.random.Generator,
) -> Layer:
    """special: what three of ten layers have that matters to the kernels for float32 alone."""
    layer = replace(make(rng), dtype="float32", six=bool(rng.random() < 0.2))
    return layer if rng.random() > 0.3 else special(layer, rng)


def _of_some_channels(layer: Layer, rng: np.random.Generator) -> Layer:
    channels = int(rng.integers(1, 9))
    return replace(layer, channels=channels, outputs=channels * int(pick(rng, 2, 8)))


def _of_two_groups(layer: Layer, rng: np.random.Generator) -> Layer:
    return replace(layer, channels=int(pick(rng, 4, 8, 24)), outputs=int(pick(rng, 8, 12)), groups=2)


def _of_few_units(layer: Layer, rng: np.random.Generator) -> Layer:
    return replace(layer, outputs=int(rng.integers(1, 4)))  # units that are computed one by one


def _svdf(rng: np.random.Generator, real: bool = False, beyond: bool = False) -> Layer:
    """real: in float32. beyond: some weights are pairs that 16 bits do not hold."""
    return Layer(
        "SVDF",
        (int(pick(rng, 1, 1, 2)), 1),
        int(pick(rng, 8, 16, 40, 64, rng.integers(4, 120))),
        outputs=int(pick(rng, 4, 8, 16, 32, 33, 40 if real else 64, rng.integers(2, 40 if real else 100))),
        relu=False,
        beyond=beyond and bool(rng.random() < 0.3),
        dtype="float32" if real else "int8",
        rank=int(pick(rng, 1, 1, 2, 3, 4)),
        memory=int(pick(rng, 8, 12, 16, 32, rng.integers(2, 20), rng.integers(2, 20))),
        state=str(pick(rng, "int8", "int16")),
    )


def _lstm(rng: np.random.Generator, real: bool = False, beyond: bool = False) -> Layer:
    """real: in float32. beyond: some rows are longer than the stack holds."""
    largest = 24 if real else 64  # as many weights as the smallest flash holds
    inputs, cells = (int(pick(rng, 8, 16, 20, min(largest, 32), rng.integers(2, largest))) for _ in range(2))
    if beyond and rng.random() < 0.2:
        inputs = int(rng.integers(250, 288))
    return Layer(
        LSTM,
        (int(pick(rng, 1, 1, 2)), int(rng.integers(1, 8))),
        inputs,
        outputs=cells,
        relu=bool(rng.random() < 0.3),
        dtype="float32" if real else "int8",
    )


def _elements(operator: str, broadcast: float, rng: np.random.Generator) -> Measured:
    """broadcast: part of the layers with one operand broadcast."""
    return elements(rng, operator, bool(rng.random() < broadcast))


def _pool(operator: str, rng: np.random.Generator) -> Measured:
    return pool(rng, operator)


FILTERS = (1, 1, 1, 2, 3)
"""Of each channel of a depthwise layer."""

VECTORS = (8, 16, 32, 64)
"""Channels of depthwise layers whose kernels go by vectors."""

GENERATORS: Mapping[str, Callable[[np.random.Generator], Measured]] = {
    "conv2d": _conv,
    "conv2d few channels": _few_channels,
    "conv2d few outputs": partial(_conv, has_few_outputs=True),
    "conv2d long windows": _with_long_windows,
    "conv2d 3x3": _three_by_three,
    "conv2d three columns wide": _three_columns,
    "conv2d in groups": _grouped,
    "conv2d or groups": _in_groups,
    "conv2d int16": _int16_convolution,
    "conv2d float32": partial(_float32, _conv, _of_two_groups),
    "transpose_conv": _transposed,
    "transpose_conv int16": partial(_int16, _transposed),
    "depthwise": partial(_depthwise, by_three=False),
    "depthwise dilated": partial(_depthwise, by_three=False, dilated=True),
    "depthwise vectors": partial(_depthwise, by_three=False, dilated=True, channels=VECTORS),
    "depthwise many taps": _many_taps,
    "depthwise many channels": _many_channels,
    "depthwise 3x3": partial(_depthwise, filters=FILTERS),
    "depthwise 3x3 by one": partial(_depthwise, strides=(1,)),
    "depthwise 3x3 clamped": partial(_depthwise, strides=(1,), relu=True),
    "depthwise 3x3 fours": partial(_depthwise, channels=(8, 12, 16, 24, 32), relu=True),
    "depthwise 3x3 vectors": partial(_depthwise, strides=(1,), channels=VECTORS),
    "depthwise 3x3 half vectors": partial(_depthwise, strides=(2,), channels=VECTORS),
    "depthwise lines": _lines,
    "depthwise but 3x3": _windows_but_3x3,
    "depthwise int16": partial(_int16, partial(_depthwise, by_three=False)),
    "depthwise float32": partial(_float32, partial(_depthwise, by_three=False), _of_some_channels),
    "fully_connected": _fully_connected,
    "fully_connected common scale": partial(_fully_connected, common=0.5),
    "fully_connected few units": partial(_fully_connected, has_few_units=True),
    "fully_connected long": _long_rows,
    "fully_connected long, common scale": partial(_long_rows, common=0.5),
    "fully_connected portable": partial(_fully_connected, depths=lambda _: (13, 57, 333, 640)),
    "fully_connected portable, common scale": partial(
        _fully_connected, depths=lambda _: (13, 57, 333, 640), single=True, common=1.0
    ),
    "fully_connected vectors": partial(_fully_connected, depths=_vector_depths),
    "fully_connected int16": partial(
        _int16, partial(_fully_connected, depths=lambda _: (6, 13, 57, 62, 101, 126), common=0.5)
    ),
    "fully_connected float32": partial(_float32, _fully_connected, _of_few_units),
    "batch_matmul": product,
    "batch_matmul row": product_row,
    "svdf": _svdf,
    "svdf beyond": partial(_svdf, beyond=True),
    "svdf float32": partial(_svdf, real=True),
    "lstm": _lstm,
    "lstm beyond": partial(_lstm, beyond=True),
    "lstm float32": partial(_lstm, real=True),
    "average_pool2d": partial(_pool, "AVERAGE_POOL_2D"),
    "max_pool2d": partial(_pool, "MAX_POOL_2D"),
    "add": partial(_elements, "ADD", 0.0),
    "add rows": partial(_elements, "ADD", 1.0),
    "add or rows": partial(_elements, "ADD", 0.5),
    "mul or rows": partial(_elements, "MUL", 0.5),
    "lookup": partial(_elements, "LOGISTIC", 0.0),
}


def layers(name: str, rng: np.random.Generator, count: int) -> Sequence[Measured]:
    """Layers of GENERATORS[name]; the outputs of some are clamped in a pass of their own."""
    drawn = [GENERATORS[name](rng) for _ in range(count)]
    six = rng.random(count) < SIX
    return [
        replace(layer, six=True)
        if clamped and isinstance(layer, Layer) and layer.relu and layer.dtype == "int8"
        else layer
        for layer, clamped in zip(drawn, six, strict=True)
    ]
