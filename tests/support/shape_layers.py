"""Random layers of odd shapes, each with its twin of round channel counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

import numpy as np

from support.cost_products import Product
from support.cost_samples import INPUTS, LSTM, Layer, Measured, output_size
from support.model_writer import SubgraphWriter

FEWEST = {"CONV_2D": 10_000, "TRANSPOSE_CONV": 10_000}
"""Multiply-accumulates of the smallest layer that is drawn, by operator; FEWEST_OTHERS of others."""

FEWEST_OTHERS, FEWEST_ELEMENTS = 5_000, 1_000

WIDE = 16
"""Channels from which on layers are compared per multiply-accumulate, too."""

Draw = Callable[[np.random.Generator], Measured]


@dataclass(frozen=True, slots=True)
class Moved:
    """An operator without weights.

    constants: int32 operands behind the inputs. ends: scale and zero point of an int8 output that is not the input's.
    """

    operator: str
    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    constants: tuple[Any, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    ends: tuple[float, int] | None = None
    dtype: str = "int8"

    def add_to(self, graph: SubgraphWriter, inputs: list[int], rng: np.random.Generator) -> int:
        del rng
        ends = INPUTS[self.dtype]
        if self.ends and self.dtype != "float32":
            ends = {"scale": [self.ends[0]], "zero_point": [self.ends[1] if self.dtype == "int8" else 0]}
        y = graph.tensor("y", self.dtype, self.output, **ends)
        constants = [graph.constant("c", np.array(values, np.int32)) for values in self.constants]
        graph.operator(self.operator, [*inputs, *constants], [y], dict(self.options))
        return y


@dataclass(frozen=True, slots=True)
class Shape:
    """A drawn layer and the same one with channels rounded up; work: of either, multiply-accumulates, or elements of
    the output."""

    family: str
    layer: Measured
    twin: Measured

    @property
    def work(self) -> tuple[int, int]:
        return work(self.layer), work(self.twin)

    @property
    def is_wide(self) -> bool:
        """Whether all channel counts, those of each group, are at least WIDE."""
        layer = self.layer
        return isinstance(layer, Layer) and min(layer.channels, layer.outputs) // layer.groups >= WIDE


def work(layer: Measured) -> int:
    """Multiply-accumulates, padding included, or elements of the output of an operator without weights."""
    if isinstance(layer, Moved):
        return prod(layer.output)
    if isinstance(layer, Product):
        return layer.batches * layer.rows * layer.depth * layer.columns
    assert isinstance(layer, Layer)
    pixels, taps = prod(layer.size), prod(layer.taps)
    if layer.operator == LSTM:
        return pixels * 4 * layer.outputs * (layer.channels + layer.outputs)
    if layer.operator == "SVDF":
        return pixels * layer.outputs * layer.rank * (layer.channels + layer.memory)
    if layer.operator == "FULLY_CONNECTED":
        return pixels * layer.channels * layer.outputs
    if layer.operator == "DEPTHWISE_CONV_2D":
        return prod(output_size(layer)) * taps * layer.outputs
    outputs = pixels if layer.operator == "TRANSPOSE_CONV" else prod(output_size(layer))
    return outputs * taps * layer.channels * layer.outputs // layer.groups


def rounded(layer: Measured, multiple: int) -> Measured:
    """The layer with its channels, those of each group, rounded up to a multiple."""

    def up(channels: int) -> int:
        return -(-channels // multiple) * multiple

    if isinstance(layer, Product):
        return replace(layer, depth=up(layer.depth), columns=up(layer.columns))
    if isinstance(layer, Layer) and layer.operator == "DEPTHWISE_CONV_2D":
        channels = up(layer.channels)
        return replace(layer, channels=channels, outputs=channels * (layer.outputs // layer.channels))
    if isinstance(layer, Layer):
        channels, outputs = (layer.groups * up(count // layer.groups) for count in (layer.channels, layer.outputs))
        return replace(layer, channels=channels, outputs=outputs)
    assert isinstance(layer, Moved)
    operands = tuple((*shape[:-1], up(shape[-1]) if shape[-1] > 1 else 1) for shape in layer.inputs)
    return MOVED[layer.operator](layer, operands)


def _int(rng: np.random.Generator, low: int, high: int) -> int:
    """A random integer from low to high, both included."""
    return int(rng.integers(low, high + 1))


def _side(weights: int, low: int = 4, work: int = 150_000) -> int:
    """Side of a square of outputs, from `low` to 24, for about `work` multiply-accumulates."""
    return max(low, min(24, int(np.sqrt(work / weights))))


def _relu(rng: np.random.Generator) -> bool:
    return bool(rng.random() < 0.6)


def _convolution(rng: np.random.Generator, dtype: str = "int8", grouped: bool = False) -> Layer:
    taps = _int(rng, 2, 7), _int(rng, 1, 7)
    groups = _int(rng, 2, 4) if grouped else 1
    channels, outputs = groups * _int(rng, 2, 36 // groups), groups * _int(rng, 3, 36 // groups)
    stride, dilation = _int(rng, 1, 3), 2 if rng.random() < 0.15 else 1
    stride = 1 if dilation > 1 else stride
    side = stride * _side(prod(taps) * channels * outputs // groups)
    size = max(side, taps[0] * dilation), max(side + _int(rng, -2, 2), taps[1] * dilation)
    same, relu = bool(rng.random() < 0.7), _relu(rng)
    return Layer(
        "CONV_2D", size, channels, taps, outputs, stride, same, relu, False, False, False, dilation, groups, dtype
    )


def _pointwise(rng: np.random.Generator, dtype: str = "int8") -> Layer:
    channels, outputs = _int(rng, 3, 70), _int(rng, 3, 70)
    side = _side(channels * outputs)
    return Layer("CONV_2D", (side, side + _int(rng, 0, 3)), channels, (1, 1), outputs, relu=_relu(rng), dtype=dtype)


def _small_pointwise(rng: np.random.Generator) -> Layer:
    return replace(_pointwise(rng), channels=_int(rng, 2, 20), outputs=_int(rng, 2, 20), size=(24, 24))


def _depthwise(
    rng: np.random.Generator, dtype: str = "int8", largest: int = 11, filters: Sequence[int] = (1,)
) -> Layer:
    taps = (3, 3) if largest == 3 else (_int(rng, 1, largest), _int(rng, 1, largest))
    channels, multiplier, stride = _int(rng, 3, 50), int(rng.choice(filters)), _int(rng, 1, 2)
    side = stride * _side(prod(taps) * channels * multiplier, 5, 50_000)
    size = max(side, taps[0]), max(side + _int(rng, -1, 2), taps[1])
    same, relu = bool(rng.random() < 0.7), _relu(rng)
    return Layer("DEPTHWISE_CONV_2D", size, channels, taps, channels * multiplier, stride, same, relu, dtype=dtype)


def _depthwise_apart(rng: np.random.Generator) -> Layer:
    """Of stride 3, dilated, or of one dimension."""
    layer = replace(_depthwise(rng, largest=3), stride=1, size=(24, 25))
    column = replace(layer, taps=(int(rng.choice([3, 5, 9])), 1), size=(60, 1))
    return (replace(layer, stride=3, size=(33, 34)), replace(layer, dilation=2), column)[_int(rng, 0, 2)]


def _fully_connected(rng: np.random.Generator, dtype: str = "int8") -> Layer:
    return Layer(
        "FULLY_CONNECTED",
        (_int(rng, 1, 2), 1),
        _int(rng, 60, 400),
        outputs=_int(rng, 40, 120),
        relu=_relu(rng),
        dtype=dtype,
    )


def _transposed(rng: np.random.Generator, dtype: str = "int8") -> Layer:
    stride = _int(rng, 1, 3)
    taps = _int(rng, stride, 5), _int(rng, stride, 5)
    size = _int(rng, 4, 10), _int(rng, 4, 10)
    same, relu = bool(rng.random() < 0.7), _relu(rng)
    return Layer("TRANSPOSE_CONV", size, _int(rng, 3, 40), taps, _int(rng, 2, 20), stride, same, relu, dtype=dtype)


def _svdf(rng: np.random.Generator) -> Layer:
    sizes = _int(rng, 20, 100), _int(rng, 20, 100), _int(rng, 1, 3), _int(rng, 4, 20)
    return Layer("SVDF", (1, 1), sizes[0], outputs=sizes[1], relu=False, rank=sizes[2], memory=sizes[3])


def _lstm(rng: np.random.Generator, dtype: str = "int8") -> Layer:
    return Layer(LSTM, (1, _int(rng, 3, 8)), _int(rng, 6, 50), outputs=_int(rng, 6, 50), relu=False, dtype=dtype)


def _product(rng: np.random.Generator, dtype: str = "int8") -> Product:
    rows, depth, columns = _int(rng, 5, 30), _int(rng, 9, 90), _int(rng, 5, 50)
    return Product(_int(rng, 1, 3), rows, depth, columns, bool(rng.random() < 0.5), 0.05, dtype)


def _product_row(rng: np.random.Generator) -> Product:
    """Of one row, as of attention to what came before; by enough columns to be worth a call."""
    return replace(_product(rng), rows=1, depth=_int(rng, 17, 90), columns=_int(rng, 17, 130))


def _pixels(rng: np.random.Generator) -> tuple[int, int, int, int]:
    channels = _int(rng, 3, 50)
    side = max(4, int(np.sqrt(_int(rng, 1500, 6000) / channels)))
    return 1, side, side + _int(rng, 0, 3), channels


def _pool(operator: str, rng: np.random.Generator) -> Moved:
    taps = _int(rng, 2, 4)
    options = {"filter_height": taps, "filter_width": taps, "stride_h": 2, "stride_w": 2, "padding": 1}
    shape = _pixels(rng)
    shape = shape[0], 2 * shape[1], 2 * shape[2], shape[3]
    return _pooled(Moved(operator, (shape,), shape, options=tuple(options.items())), (shape,))


def _pooled(layer: Moved, operands: tuple[tuple[int, ...], ...]) -> Moved:
    (shape,), options = operands, dict(layer.options)
    height, width = ((s - options["filter_height"]) // 2 + 1 for s in shape[1:3])
    return replace(layer, inputs=operands, output=(1, height, width, shape[3]))


def _elements(operator: str, rng: np.random.Generator, dtype: str = "int8") -> Moved:
    """ADD, SUB or MUL of two tensors, half of them with one that is broadcast; or a function of one."""
    shape = _pixels(rng)
    other = [shape, shape, (1, 1, 1, shape[3]), (1, shape[1], shape[2], 1)][_int(rng, 0, 3)]
    if operator in ENDS:
        return _one_shape(Moved(operator, (shape,), shape, options=ENDS[operator][1], ends=ENDS[operator][0]), (shape,))
    return Moved(operator, (shape, other), shape, ends=(0.0937, 3), dtype=dtype)


ENDS: Mapping[str, tuple[tuple[float, int], tuple[tuple[str, Any], ...]]] = {
    "LOGISTIC": ((1 / 256, -128), ()),
    "TANH": ((1 / 128, 0), ()),
    "SOFTMAX": ((1 / 256, -128), (("beta", 1.0),)),
}
"""Operators of one input: scale and zero point of the output, and options."""


def _one_shape(layer: Moved, operands: tuple[tuple[int, ...], ...]) -> Moved:
    return replace(layer, inputs=operands, output=tuple(np.broadcast_shapes(*operands)))


def _resize(operator: str, rng: np.random.Generator) -> Moved:
    shape = _pixels(rng)
    size = 2 * shape[1], shape[2] + _int(rng, 1, 5)
    options = (("half_pixel_centers", bool(rng.random() < 0.5)),)
    return Moved(operator, (shape,), (1, *size, shape[3]), (size,), options)


def _resized(layer: Moved, operands: tuple[tuple[int, ...], ...]) -> Moved:
    return replace(layer, inputs=operands, output=(*layer.output[:3], operands[0][3]))


PADDING = (0, 0), (1, 2), (2, 1), (0, 0)


def _padded(layer: Moved, operands: tuple[tuple[int, ...], ...]) -> Moved:
    shape = tuple(size + sum(amounts) for size, amounts in zip(operands[0], PADDING, strict=True))
    return replace(layer, inputs=operands, output=shape, constants=(PADDING,))


def _pad(rng: np.random.Generator) -> Moved:
    return _padded(Moved("PAD", (), ()), (_pixels(rng),))


def _permuted(layer: Moved, operands: tuple[tuple[int, ...], ...]) -> Moved:
    return replace(layer, inputs=operands, output=tuple(operands[0][axis] for axis in layer.constants[0]))


def _transpose(rng: np.random.Generator) -> Moved:
    orders = [(0, 2, 1, 3), (0, 3, 1, 2), (0, 2, 3, 1), (0, 3, 2, 1)]
    return _permuted(Moved("TRANSPOSE", (), (), (orders[_int(rng, 0, 3)],)), (_pixels(rng),))


def _joined(layer: Moved, operands: tuple[tuple[int, ...], ...]) -> Moved:
    channels = sum(shape[3] for shape in operands)
    return replace(layer, inputs=operands, output=(*operands[0][:3], channels), options=(("axis", 3),))


def _concatenation(rng: np.random.Generator) -> Moved:
    shape = _pixels(rng)
    return _joined(Moved("CONCATENATION", (), ()), (shape, (*shape[:3], _int(rng, 3, 30))))


def _stepped(layer: Moved, operands: tuple[tuple[int, ...], ...]) -> Moved:
    (shape,) = operands
    steps = (1, 2, 1, 1)
    constants = (0, 1, 1, 0), shape, steps
    options = (("begin_mask", 0), ("end_mask", 0))
    output = (1, (shape[1]) // 2, shape[2] - 1, shape[3])
    return replace(layer, inputs=operands, output=output, constants=constants, options=options)


def _strided_slice(rng: np.random.Generator) -> Moved:
    shape = _pixels(rng)
    return _stepped(Moved("STRIDED_SLICE", (), ()), ((1, 2 * shape[1], *shape[2:]),))


MOVED: Mapping[str, Callable[[Moved, tuple[tuple[int, ...], ...]], Moved]] = {
    **dict.fromkeys(("ADD", "SUB", "MUL", *ENDS), _one_shape),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), _pooled),
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), _resized),
    "PAD": _padded,
    "TRANSPOSE": _permuted,
    "CONCATENATION": _joined,
    "STRIDED_SLICE": _stepped,
}
"""What an operator without weights is of other operands."""

FAMILIES: Mapping[str, Draw] = {
    "CONV_2D": _convolution,
    "CONV_2D, groups": partial(_convolution, grouped=True),
    "CONV_2D, 1x1": _pointwise,
    "CONV_2D, 1x1, few channels": _small_pointwise,
    "DEPTHWISE_CONV_2D, 3x3": partial(_depthwise, largest=3),
    "DEPTHWISE_CONV_2D": _depthwise,
    "DEPTHWISE_CONV_2D, multiplier 2 to 4": partial(_depthwise, largest=5, filters=(2, 3, 4)),
    "FULLY_CONNECTED": _fully_connected,
    "TRANSPOSE_CONV": _transposed,
    "BATCH_MATMUL": _product,
    "BATCH_MATMUL, one row": _product_row,
    "SVDF": _svdf,
    "LSTM": _lstm,
    "AVERAGE_POOL_2D": partial(_pool, "AVERAGE_POOL_2D"),
    "MAX_POOL_2D": partial(_pool, "MAX_POOL_2D"),
    "ADD": partial(_elements, "ADD"),
    "SUB": partial(_elements, "SUB"),
    "MUL": partial(_elements, "MUL"),
    "SOFTMAX": partial(_elements, "SOFTMAX"),
    "LOGISTIC": partial(_elements, "LOGISTIC"),
    "TANH": partial(_elements, "TANH"),
    "RESIZE_BILINEAR": partial(_resize, "RESIZE_BILINEAR"),
    "RESIZE_NEAREST_NEIGHBOR": partial(_resize, "RESIZE_NEAREST_NEIGHBOR"),
    "PAD": _pad,
    "TRANSPOSE": _transpose,
    "CONCATENATION": _concatenation,
    "STRIDED_SLICE": _strided_slice,
    "DEPTHWISE_CONV_2D, stride 3, dilation, 1-D": _depthwise_apart,
    "CONV_2D, int16": partial(_convolution, dtype="int16"),
    "CONV_2D, 1x1, int16": partial(_pointwise, dtype="int16"),
    "DEPTHWISE_CONV_2D, int16": partial(_depthwise, dtype="int16", largest=5),
    "FULLY_CONNECTED, int16": partial(_fully_connected, dtype="int16"),
    "TRANSPOSE_CONV, int16": partial(_transposed, dtype="int16"),
    "ADD, int16": partial(_elements, "ADD", dtype="int16"),
    "MUL, int16": partial(_elements, "MUL", dtype="int16"),
    "CONV_2D, float32": partial(_convolution, dtype="float32"),
    "CONV_2D, 1x1, float32": partial(_pointwise, dtype="float32"),
    "DEPTHWISE_CONV_2D, float32": partial(_depthwise, dtype="float32", largest=5),
    "FULLY_CONNECTED, float32": partial(_fully_connected, dtype="float32"),
    "LSTM, float32": partial(_lstm, dtype="float32"),
    "BATCH_MATMUL, float32": partial(_product, dtype="float32"),
    "ADD, float32": partial(_elements, "ADD", dtype="float32"),
}
"""Random layers of odd shapes, by family."""


def shapes(family: str, multiple: int, count: int) -> Sequence[Shape]:
    """The first `count` layers of a family that are large enough and not round already; the same ones for all cores."""
    rng = np.random.default_rng([ord(letter) for letter in family])
    drawn: list[Shape] = []
    while len(drawn) < count:
        layer = FAMILIES[family](rng)
        operator = family.split(",")[0]
        fewest = FEWEST_ELEMENTS if isinstance(layer, Moved) else FEWEST.get(operator, FEWEST_OTHERS)
        if work(layer) >= fewest and rounded(layer, 8) != layer:
            drawn.append(Shape(family, layer, rounded(layer, multiple)))
    return drawn
