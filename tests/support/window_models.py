"""Networks over a window of time of the kinds that microcontrollers run, for tests and figures of sliding windows.

Weights are random; the input is called t0, its time runs along axis 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from support.model_writer import ModelWriter, SubgraphWriter
from support.random_layers import Layers, same, weigh

SAME, VALID = 0, 1


def _convolve(
    layers: Layers,
    channels: int,
    taps: int,
    padding: int = SAME,
    stride: int = 1,
    dilation: int = 1,
    depthwise: bool = False,
) -> None:
    """A convolution along time with RELU."""
    options = {
        "padding": padding,
        "stride_h": stride,
        "stride_w": 1,
        "dilation_h_factor": dilation,
        "dilation_w_factor": 1,
        "fused_activation_function": 1,
    }
    if depthwise:
        weigh(layers, "DEPTHWISE_CONV_2D", (1, taps, 1, channels), 3, {**options, "depth_multiplier": 1})
    else:
        weigh(layers, "CONV_2D", (channels, taps, 1, layers.at.shape[3]), 0, options)


def _head(layers: Layers, classes: int) -> bytes:
    """The mean over time, and scores."""
    layers.step("MEAN", layers.constant(np.array([1, 2], np.int32)), output=same(layers), keep_dims=False)
    return _scores(layers, classes)


def _scores(layers: Layers, classes: int) -> bytes:
    depth = layers.at.shape[-1]
    weigh(layers, "FULLY_CONNECTED", (classes, depth), 0, {"keep_num_dims": False, "fused_activation_function": 0})
    return layers.finish(extras=False)[0]


def _layers(dtype: str, shape: Sequence[int]) -> Layers:
    layers = Layers(np.random.default_rng(5), dtype, tuple(shape))
    layers.limit = 1 << 20
    return layers


def ds_cnn(dtype: str = "int8", rows: int = 32, channels: int = 16) -> bytes:
    """Depthwise separable convolutions with SAME padding, and the mean over time."""
    layers = _layers(dtype, (1, rows, 1, 8))
    _convolve(layers, channels, 5)
    for _ in range(3):
        _convolve(layers, channels, 3, depthwise=True)
        _convolve(layers, channels, 1)
    return _head(layers, 4)


def tc_resnet(dtype: str = "int8", rows: int = 96, channels: int = 16) -> bytes:
    """Residual blocks of convolutions of 9 taps along time, each of stride 2, with SAME padding."""
    layers = _layers(dtype, (1, rows, 1, 40))
    _convolve(layers, channels, 3)
    for width in (channels, channels * 3 // 2):
        start = layers.at
        _convolve(layers, width, 1, stride=2)
        shortcut, layers.at = layers.at, start
        _convolve(layers, width, 9, stride=2)
        _convolve(layers, width, 9)
        layers.at = layers.add("ADD", [layers.at, shortcut], layers.like(), {"fused_activation_function": 1}) or start
    return _head(layers, 12)


def valid_cnn(dtype: str = "int8", rows: int = 98, channels: int = 24, depth: int = 40) -> bytes:
    """Convolutions without padding, and the mean over time."""
    layers = _layers(dtype, (1, rows, 1, depth))
    for _ in range(5):
        _convolve(layers, channels, 3, VALID)
    return _head(layers, 12)


def averaging(dtype: str = "int8", rows: int = 72, channels: int = 8) -> bytes:
    """Convolutions of two sensors beside each other, then a pool over all of the time plus a sum over it.

    The first layer has stride 2; the last one is padded, so that each window has rows at its edges.
    """
    layers = _layers(dtype, (1, rows, 2, 6))
    _convolve(layers, channels, 3, VALID, stride=2)
    _convolve(layers, channels, 3)
    start = layers.at
    pool = {"padding": VALID, "stride_h": 1, "stride_w": 1, "filter_height": start.shape[1], "filter_width": 1}
    layers.step("AVERAGE_POOL_2D", output=same(layers), fused_activation_function=0, **pool)
    pooled, layers.at = layers.at, start
    layers.step("SUM", layers.constant(np.array([1], np.int32)), output=layers.like((), 2.0, 0), keep_dims=True)
    layers.step("ADD", pooled, output=layers.like((), 2.0, 0), fused_activation_function=0)
    layers.step("RESHAPE", layers.constant((1, 2 * channels)), output=same(layers))
    return layers.finish(extras=False)[0]


def averaged_rows(dtype: str = "int8", rows: int = 50) -> bytes:
    """Scores of the mean of the input's rows."""
    layers = _layers(dtype, (1, rows, 7))
    layers.step("MEAN", layers.constant(np.array([1], np.int32)), output=layers.like((), 0.05), keep_dims=False)
    return _scores(layers, 3)


def causal_tcn(dtype: str = "int8", rows: int = 80, channels: int = 16, columns: int = 1) -> bytes:
    """Dilated convolutions, padded with zeros before the first row, of which the last row is read."""
    layers = _layers(dtype, (1, rows, columns, 16))
    for dilation in (1, 2, 4, 8):
        before = np.array([[0, 0], [2 * dilation, 0], [0, 0], [0, 0]], np.int32)
        layers.step("PAD", layers.constant(before), output=same(layers))
        _convolve(layers, channels, 3, VALID, dilation=dilation)
    begin, size = np.array([0, rows - 1, 0, 0], np.int32), np.array([1, 1, columns, channels], np.int32)
    layers.step("SLICE", layers.constant(begin), layers.constant(size), output=same(layers))
    return _scores(layers, 10)


def accelerometer(dtype: str = "int8", rows: int = 128) -> bytes:
    """Convolutions of three axes' accelerations with pools between, and a dense layer over all that is left."""
    layers = _layers(dtype, (1, rows, 1, 3))
    for channels in (16, 24):
        _convolve(layers, channels, 5, VALID)
        pool = {"padding": VALID, "stride_h": 2, "stride_w": 1, "filter_height": 2, "filter_width": 1}
        layers.step("MAX_POOL_2D", output=same(layers), fused_activation_function=0, **pool)
    _convolve(layers, 24, 3, VALID)
    layers.step("RESHAPE", layers.constant((1, int(np.prod(layers.at.shape)))), output=same(layers))
    return _scores(layers, 5)


def dilated_tcn(dtype: str = "int8", rows: int = 64, channels: int = 12) -> bytes:
    """Residual dilated convolutions with SAME padding, and scores for each row."""
    layers = _layers(dtype, (1, rows, 1, 8))
    _convolve(layers, channels, 3)
    for dilation in (1, 2, 4):
        start = layers.at
        _convolve(layers, channels, 3, dilation=dilation)
        layers.at = layers.add("ADD", [layers.at, start], layers.like(), {"fused_activation_function": 0}) or start
    _convolve(layers, 5, 1)
    return layers.finish(extras=False)[0]


def attention(dtype: str = "int8", rows: int = 24, channels: int = 8) -> bytes:
    """A convolution, then one head of attention: queries, keys and values of each row, and the products of all."""
    layers = _layers(dtype, (1, rows, 1, 6))
    _convolve(layers, channels, 3, VALID)
    rows = layers.at.shape[1]
    layers.step("RESHAPE", layers.constant((1, rows, channels)), output=same(layers))
    start, parts = layers.at, []
    for _ in range(3):
        layers.at = start
        options = {"keep_num_dims": True, "fused_activation_function": 0}
        weigh(layers, "FULLY_CONNECTED", (channels, channels), 0, options)
        parts.append(layers.at)
    queries, keys, values = parts
    layers.at = queries
    layers.step("BATCH_MATMUL", keys, output=layers.like((), 1.0), adj_y=True)
    probabilities = layers.like((), 1 / 128) if dtype == "int16" else layers.like((), 1 / 256, -128)
    layers.step("SOFTMAX", output=probabilities, beta=1.0)
    layers.step("BATCH_MATMUL", values, output=layers.like((), 0.2))
    layers.step("MEAN", layers.constant(np.array([1], np.int32)), output=same(layers), keep_dims=False)
    return _scores(layers, 4)


def _convolved(g: SubgraphWriter, rows: int) -> tuple[int, int, int]:
    """A window x, its convolution, and y in that one's shape, for what a region makes of it."""
    x = g.tensor("x", "float32", [1, rows, 1, 2])
    weights = g.constant("w", np.linspace(-1, 1, 24).reshape(4, 3, 1, 2), "float32")
    inner, y = (g.tensor(name, "float32", [1, rows, 1, 4]) for name in ("inner", "y"))
    options = {"padding": SAME, "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    g.operator("CONV_2D", [x, weights, g.constant("b", np.ones(4), "float32")], [inner], options)
    return x, inner, y


def looping(rows: int = 16) -> bytes:
    """y = a convolution of the sliding x, doubled `times` times in a loop whose condition reads a counter."""
    w = ModelWriter()
    g, condition, body = (w.subgraph(name) for name in ("main", "condition", "body"))
    x, inner, y = _convolved(g, rows)
    times = g.tensor("times", "int32", [1])
    left = g.tensor("left", "int32", [1])
    g.operator("WHILE", [times, inner], [left, y], {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    g.inputs, g.outputs = [x, times], [y]
    variables = [[s.tensor("n", "int32", [1]), s.tensor("a", "float32", [1, rows, 1, 4])] for s in (condition, body)]
    more = condition.tensor("more", "bool", [1])
    condition.operator("GREATER", [variables[0][0], condition.constant("zero", np.zeros(1), "int32")], [more])
    condition.inputs, condition.outputs = variables[0], [more]
    fewer, twice = body.tensor("fewer", "int32", [1]), body.tensor("twice", "float32", [1, rows, 1, 4])
    body.operator("SUB", [variables[1][0], body.constant("one", np.ones(1), "int32")], [fewer])
    body.operator("MUL", [variables[1][1], body.constant("two", np.full(1, 2), "float32")], [twice])
    body.inputs, body.outputs = variables[1], [fewer, twice]
    return w.finish()


def branching(rows: int = 16) -> bytes:
    """y = a convolution of the sliding x, times 2 or plus 1, as the input `mode` has it."""
    w = ModelWriter()
    g, then, orelse = (w.subgraph(name) for name in ("main", "twice", "more"))
    x, inner, y = _convolved(g, rows)
    mode = g.tensor("mode", "bool", [1])
    g.operator("IF", [mode, inner], [y], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    g.inputs, g.outputs = [x, mode], [y]
    for branch, operator, value in ((then, "MUL", 2), (orelse, "ADD", 1)):
        a, b = branch.tensor("a", "float32", [1, rows, 1, 4]), branch.tensor("b", "float32", [1, rows, 1, 4])
        branch.operator(operator, [a, branch.constant("c", np.full((1,), value), "float32")], [b])
        branch.inputs, branch.outputs = [a], [b]
    return w.finish()


def two_windows(rows: int = 12) -> bytes:
    """y = the convolved `left` plus the convolved `right`, each with its own window, times a factor that is given."""
    w = ModelWriter()
    g = w.subgraph("main")
    options = {"padding": SAME, "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    sides: list[int] = []
    sums: list[int] = []
    for name, channels in (("left", 2), ("right", 3)):
        side = g.tensor(name, "float32", [1, rows, 1, channels])
        weights = g.constant(f"w_{name}", np.linspace(-1, 1, 12 * channels).reshape(4, 3, 1, channels), "float32")
        convolved = g.tensor(f"{name}_sum", "float32", [1, rows, 1, 4])
        g.operator("CONV_2D", [side, weights, g.constant(f"b_{name}", np.ones(4), "float32")], [convolved], options)
        sides, sums = [*sides, side], [*sums, convolved]
    factor, total = g.tensor("factor", "float32", [1]), g.tensor("total", "float32", [1, rows, 1, 4])
    g.operator("ADD", sums, [total])
    y = g.tensor("y", "float32", [1, rows, 1, 4])
    g.operator("MUL", [total, factor], [y])
    g.inputs, g.outputs = [*sides, factor], [y]
    return w.finish()
