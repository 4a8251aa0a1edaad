"""Makers of random_onnx_nodes.py: operators that sample, recur, transform and convert."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx import numpy_helper

from support.random_onnx_makers import image, operand, window
from support.random_onnx_nodes import Draw, makes


@makes("Resize")
def resize(draw: Draw) -> None:
    array = draw.floats((*draw.shape(2, 2, 2), *draw.shape(1, 2, 6)))
    before = array.shape
    which = [k for k in range(array.ndim) if k >= 2 or draw.coin(0.1)]
    scales = [draw.pick(1.0, 2.0, 0.5, 0.7, 1.3, 2.6, 0.34) if k in which else 1.0 for k in range(array.ndim)]
    scales = [1.0 if math.floor(n * np.float32(s)) < 1 else s for n, s in zip(before, scales, strict=False)]
    if draw.version < 11:
        draw.node([draw.value(array), draw.constant(np.array(scales, np.float32))], mode=draw.pick("nearest", "linear"))
        return
    modes = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]
    modes += ["half_pixel_symmetric"] if draw.version >= 19 else []
    attributes: dict[str, Any] = {"mode": draw.pick("nearest", "linear", "cubic")}
    attributes["coordinate_transformation_mode"] = draw.pick(None, *modes)
    if attributes["mode"] == "nearest":
        attributes["nearest_mode"] = draw.pick(None, "floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
    if attributes["mode"] == "cubic":
        attributes |= {"cubic_coeff_a": draw.pick(None, -0.5), "exclude_outside": draw.pick(None, 0, 1)}
    elif draw.version >= 18 and attributes["mode"] == "linear":
        attributes["exclude_outside"] = None
    if draw.version >= 18 and attributes["mode"] != "nearest":
        attributes["antialias"] = draw.pick(None, 0, 1)
    region = ""
    if attributes["coordinate_transformation_mode"] == "tf_crop_and_resize":
        # ONNX Runtime does not cut an axis that keeps its size.
        low = [0.2 if int(n * np.float32(s)) != n else 0.0 for n, s in zip(before, scales, strict=False)]
        region = draw.constant(np.array([*low, *(draw.pick(0.8, 1.2) if v else 1.0 for v in low)], np.float32))
        attributes["extrapolation_value"] = draw.pick(None, 3.0)
    elif draw.version < 13:
        region = draw.constant(np.zeros(0, np.float32))
    by_sizes = draw.coin(0.4)
    sizes = [max(int(n * s), 1) for n, s in zip(before, scales, strict=False)]
    name = draw.value(array)
    if not by_sizes:
        draw.node([name, region, draw.constant(np.array(scales, np.float32))], **attributes)
        return
    empty = draw.constant(np.zeros(0, np.float32)) if draw.version < 13 else ""
    draw.node([name, region, empty, draw.ints(*sizes)], **attributes)


@makes("Upsample")
def upsample(draw: Draw) -> None:
    array = draw.floats((*draw.shape(2, 2, 2), *draw.shape(2, 2, 5)))
    scales = [1.0, 1.0, draw.pick(1.0, 2.0, 1.5, 3.0), draw.pick(1.0, 2.0, 2.6)]
    mode, name = draw.pick(None, "nearest", "linear"), draw.value(array)
    if draw.version < 9:
        draw.node([name], mode=mode, scales=scales)
    else:
        draw.node([name, draw.constant(np.array(scales, np.float32))], mode=mode)


@makes("GridSample")
def grid_sample(draw: Draw) -> None:
    array = image(draw, 2)
    grid = draw.rng.uniform(-1.3, 1.3, (array.shape[0], *draw.shape(2, 2, 4), 2)).astype(np.float32)
    linear, cubic = ("linear", "cubic") if draw.version >= 20 else ("bilinear", "bicubic")
    padding = draw.pick(None, "zeros", "border", "reflection")
    mode = draw.pick(None, linear, "nearest", cubic)
    corners = draw.pick(None, 0, 1)
    draw.node([draw.value(array), draw.value(grid)], mode=mode, padding_mode=padding, align_corners=corners)


@makes("RoiAlign")
def roi_align(draw: Draw) -> None:
    array = image(draw, 2, 7)
    corners = draw.rng.uniform(0, 5, (2, 2, 2))
    regions = np.concatenate([corners.min(1), corners.max(1)], 1).astype(np.float32)
    mode = draw.pick(None, "half_pixel", "output_half_pixel") if draw.version >= 16 else None
    sizes = {
        "output_height": draw.pick(None, 2),
        "output_width": draw.pick(None, 3),
        "spatial_scale": draw.pick(None, 0.5),
    }
    names = [draw.value(array), draw.value(regions), draw.constant(np.zeros(2, np.int64))]
    kind = draw.pick(None, "avg")
    draw.node(names, mode=kind, sampling_ratio=draw.pick(1, 2), coordinate_transformation_mode=mode, **sizes)


@makes("AffineGrid")
def affine_grid(draw: Draw) -> None:
    count = draw.pick(2, 2, 3)
    sizes = [draw.pick(1, 2), draw.pick(1, 3), *(int(n) for n in draw.rng.integers(2, 5, count))]
    theta = draw.floats((sizes[0], count, count + 1), 1.0)
    draw.node([draw.value(theta), draw.ints(*sizes)], align_corners=draw.pick(None, 0, 1))


GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@makes(*GATES)
def recurrent(draw: Draw) -> None:
    steps, batch, size, hidden = (int(n) for n in draw.rng.integers(1, 5, 4))
    direction = draw.pick(None, "forward", "reverse", "bidirectional")
    sides, gates = 2 if direction == "bidirectional" else 1, GATES[draw.op]
    names = [draw.value(draw.floats((steps, batch, size), 1.0))]
    names += [draw.constant(draw.floats((sides, gates * hidden, n), 0.5)) for n in (size, hidden)]
    names.append(draw.constant(draw.floats((sides, 2 * gates * hidden), 0.5)) if draw.coin() else "")
    lengths = np.sort(draw.integers((batch,), 1, steps + 1, np.int32))[::-1].copy()
    names.append(draw.constant(lengths) if draw.coin(0.15) else "")
    names.append(draw.value(draw.floats((sides, batch, hidden), 0.5)) if draw.coin(0.4) else "")
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": direction, "clip": draw.pick(None, None, 1.5)}
    if draw.op == "LSTM":
        names.append(draw.value(draw.floats((sides, batch, hidden), 0.5)) if draw.coin(0.4) else "")
        names.append(draw.constant(draw.floats((sides, 3 * hidden), 0.5)) if draw.coin(0.3) else "")
    if draw.op == "GRU":
        attributes["linear_before_reset"] = draw.pick(None, 0, 1)
    if draw.coin(0.2):
        functions = {"LSTM": ["Sigmoid", "Tanh", "Relu"], "GRU": ["Sigmoid", "Relu"], "RNN": ["Relu"]}[draw.op]
        attributes["activations"] = functions * sides
    draw.node(names, 3 if draw.op == "LSTM" else 2, **attributes)


@makes("QuantizeLinear", "DequantizeLinear")
def conversions(draw: Draw) -> None:
    dtype = draw.pick(np.int8, np.uint8)
    axis = draw.axis(3) if draw.version >= 13 else 0
    per_axis = draw.version >= 13 and draw.coin(0.4)
    shape = [int(n) for n in draw.rng.integers(1, 4, 3)]
    count = (shape[axis],) if per_axis else ()
    scale = draw.constant((draw.rng.random(count) * 0.5 + 0.01).astype(np.float32))
    zero = draw.constant(draw.values(count, dtype))
    if draw.op == "QuantizeLinear":
        array = draw.floats(shape)
        names = [draw.value(array), scale, zero] if draw.coin(0.8) else [draw.value(array), scale]
    else:
        names = [draw.value(draw.values(shape, dtype)), scale, zero]
    draw.node(names, axis=axis if per_axis else None)


@makes("DynamicQuantizeLinear")
def dynamic(draw: Draw) -> None:
    draw.node([draw.value(draw.floats(draw.shape()))], 3)


@makes("MatMulInteger")
def integer_product(draw: Draw) -> None:
    n, k, p = (int(d) for d in draw.rng.integers(1, 5, 3))
    a, b = draw.values((n, k), draw.pick(np.int8, np.uint8)), draw.values((k, p), np.int8)
    zeros = [draw.constant(draw.values((), a.dtype)), draw.constant(draw.values((), np.int8))] if draw.coin() else []
    draw.node([draw.value(a.astype(np.uint8) if draw.coin() and not zeros else a), operand(draw, b), *zeros])


@makes("Dropout")
def dropout(draw: Draw) -> None:
    ratio = draw.pick(None, 0.3) if draw.version < 12 else None
    names = [draw.value(draw.floats(draw.shape()))]
    names += [draw.constant(np.float32(0.3))] if draw.version >= 12 and draw.coin() else []
    draw.node(names, ratio=ratio)


@makes("Range")
def number_range(draw: Draw) -> None:
    dtype = draw.pick(np.int64, np.float32)
    draw.all_constant = True
    names = [draw.constant(np.array(v, dtype)) for v in (draw.pick(0, 3), draw.pick(9, 4), draw.pick(1, 2))]
    result = draw.node(names)
    other = draw.constant(np.array(2, dtype))
    draw.node([result[0], other], op="Mul")


@makes("ConstantOfShape")
def filled(draw: Draw) -> None:
    value = draw.pick(None, numpy_helper.from_array(draw.values((1,), draw.pick(np.float32, np.int64))))
    draw.node([draw.ints(*draw.shape(0, 3))], value=value)


@makes("DFT")
def fourier(draw: Draw) -> None:
    n, last = int(draw.rng.integers(2, 6)), draw.pick(1, 2)
    array = draw.floats((draw.pick(1, 2), n, draw.pick(1, 3), last))
    attributes: dict[str, Any] = {"inverse": draw.pick(None, 0, 1)}
    if last == 1 and not attributes["inverse"]:
        attributes["onesided"] = draw.pick(None, 0, 1)
    names = [draw.value(array)]
    if draw.version < 20:
        attributes["axis"] = draw.pick(None, 1)
    else:
        names += ["", draw.constant(np.array(draw.pick(1, -3), np.int64))]
    draw.node(names, **attributes)


@makes("CastLike")
def cast_like(draw: Draw) -> None:
    kinds = (np.float32, np.int8, np.int32, np.int64)
    names = [draw.value(draw.values(draw.shape(), draw.pick(*kinds))), draw.constant(np.zeros(1, draw.pick(*kinds)))]
    draw.node(names)


@makes("Det")
def determinant(draw: Draw) -> None:
    n = int(draw.rng.integers(1, 4))
    draw.node([draw.value(draw.floats((*draw.shape(0, 2, 3), n, n), 1.0))])


@makes("Col2Im")
def columns_to_image(draw: Draw) -> None:
    size, block = [int(n) for n in draw.rng.integers(3, 6, 2)], [int(n) for n in draw.rng.integers(1, 4, 2)]
    pads = [int(n) for n in draw.rng.integers(0, 2, 4)]
    strides = [int(n) for n in draw.rng.integers(1, 3, 2)]
    sides = zip(size, pads[:2], pads[2:], block, strides, strict=True)
    count = math.prod((n + a + b - k) // s + 1 for n, a, b, k, s in sides)
    array = draw.floats((2, 2 * math.prod(block), count))
    draw.node([draw.value(array), draw.ints(*size), draw.ints(*block)], pads=pads, strides=strides)


@makes("MaxUnpool")
def unpool(draw: Draw) -> None:
    pooled = draw.node([draw.value(draw.floats((1, 2, 4, 6)))], 2, "MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    draw.node(pooled, kernel_shape=[2, 2], strides=[2, 2])


@makes("ConvInteger")
def integer_convolution(draw: Draw) -> None:
    array = draw.values((1, 2, *draw.shape(2, 2, 5)), np.uint8)
    attributes = window(draw, array.shape[2:], False)
    weights = draw.constant(draw.values((3, 2, *attributes["kernel_shape"]), draw.pick(np.int8, np.uint8)))
    zero = [draw.constant(np.uint8(draw.pick(0, 7)))] if draw.coin() else []
    draw.node([draw.value(array), weights, *zero], **attributes)


@makes("STFT")
def short_time(draw: Draw) -> None:
    array = draw.floats((draw.pick(1, 2), 16, 1))
    names = [draw.value(array), draw.constant(np.int64(draw.pick(2, 4)))]
    framed = draw.pick(["", draw.constant(np.int64(8))], [draw.constant(np.hanning(8).astype(np.float32))])
    draw.node([*names, *framed], onesided=draw.pick(None, 0, 1))


@makes("RMSNormalization")
def rms_normalization(draw: Draw) -> None:
    array = draw.floats(draw.shape(2, 4))
    axis = int(draw.rng.integers(-array.ndim, array.ndim))
    draw.node([draw.value(array), operand(draw, draw.floats(array.shape[axis % array.ndim :]))], axis=axis)


@makes("RotaryEmbedding")
def rotary(draw: Draw) -> None:
    batch, heads, steps, size = (int(n) for n in (draw.pick(1, 2), draw.pick(1, 3), draw.pick(1, 4), draw.pick(4, 8)))
    tables = [draw.constant(draw.floats((batch, steps, size // 2), 1.0)) for _ in range(2)]
    names = [draw.value(draw.floats((batch, heads, steps, size))), *tables]
    draw.node(names, interleaved=draw.pick(None, 0, 1))


@makes("Attention")
def attention(draw: Draw) -> None:
    batch, heads, queries, keys, size = (int(n) for n in draw.rng.integers(1, 4, 5))
    shapes = [(batch, heads, queries, size), (batch, heads, keys, size), (batch, heads, keys, size)]
    names = [draw.value(draw.floats(shape, 1.0)) for shape in shapes]
    names += [draw.value(draw.floats((queries, keys), 1.0))] if draw.coin(0.4) else []
    draw.node(names, is_causal=draw.pick(None, 0, 1), scale=draw.pick(None, 0.3), softcap=draw.pick(None, 2.0))


@makes("SplitToSequence", "ConcatFromSequence", "SequenceAt", "SequenceInsert", "SequenceErase", "SequenceLength")
def sequences(draw: Draw) -> None:
    """A tensor split, changed as a sequence, and joined again."""
    array = draw.floats(draw.shape(1, 3, 5))
    axis = draw.axis(array.ndim)
    whole = array.shape[axis]
    sizes = draw.pick(None, draw.constant(np.array(draw.pick(1, 2), np.int64)), draw.ints(1, whole - 1))
    keeps = draw.pick(None, 1) if sizes else draw.pick(None, 0, 1)
    operands = [draw.value(array)] + ([sizes] if sizes else [])
    parts = draw.node(operands, op="SplitToSequence", axis=axis, keepdims=keeps)
    place = draw.constant(np.array(draw.pick(0, -1), np.int64))
    if draw.op == "SequenceInsert":
        other = draw.node([*parts, place], op="SequenceAt")
        parts = draw.node([*parts, *other, place] if draw.coin() else [*parts, *other])
    if draw.op == "SequenceErase":
        parts = draw.node([*parts, place] if draw.coin() else parts)
    if draw.op == "SequenceAt":
        draw.node([*parts, place])
    elif draw.op == "SequenceLength":
        draw.node(parts)
    else:
        is_new = bool(keeps == 0)
        draw.node(parts, op="ConcatFromSequence", axis=0 if is_new else axis, new_axis=int(is_new))
