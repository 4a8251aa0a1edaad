"""Makers of random_onnx_nodes.py: operators of elements, reductions, windows, products and normalisations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from support.random_onnx_nodes import Array, Draw, makes

DOMAINS = {"Acos": (-1, 1), "Asin": (-1, 1), "Atanh": (-0.9, 0.9), "Acosh": (1, 9), "Log": (0.1, 9), "Sqrt": (0, 9)}
NUMBERS = (np.float32, np.float32, np.int32, np.int64)


@makes(
    *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "Log"),
    *("Neg", "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Tan"),
    *("Tanh", "Identity", "HardSwish", "Mish"),
)
def unary(draw: Draw) -> None:
    low, high = DOMAINS.get(draw.op, (-3, 3))
    array = draw.rng.uniform(low, high, draw.shape(0, 5)).astype(np.float32)
    if draw.op in ("Floor", "Ceil", "Round") and draw.coin():
        array = (np.round(array * 2) / 2).astype(np.float32)
    draw.node([draw.value(array)])


@makes("Elu", "LeakyRelu", "ThresholdedRelu", "Celu")
def with_alpha(draw: Draw) -> None:
    draw.node([draw.value(draw.floats(draw.shape()))], alpha=draw.pick(None, 0.2, 1.7))


@makes("HardSigmoid")
def hard_sigmoid(draw: Draw) -> None:
    draw.node([draw.value(draw.floats(draw.shape()))], alpha=draw.pick(None, 0.4), beta=draw.pick(None, 0.3))


@makes("Selu")
def selu(draw: Draw) -> None:
    draw.node([draw.value(draw.floats(draw.shape()))], alpha=draw.pick(None, 1.2), gamma=draw.pick(None, 0.9))


@makes("Gelu")
def gelu(draw: Draw) -> None:
    draw.node([draw.value(draw.floats(draw.shape()))], approximate=draw.pick(None, "none", "tanh"))


@makes("Shrink")
def shrink(draw: Draw) -> None:
    draw.node([draw.value(draw.floats(draw.shape()))], lambd=draw.pick(None, 0.7), bias=draw.pick(None, 0.4))


@makes("IsInf", "IsNaN")
def special(draw: Draw) -> None:
    array = draw.floats(draw.shape(1, 4))
    array.reshape(-1)[:: int(draw.rng.integers(1, 4))] = draw.pick(np.inf, -np.inf, np.nan)
    flags = {f"detect_{side}": draw.pick(None, 0, 1) for side in ("negative", "positive")} if draw.op == "IsInf" else {}
    draw.node([draw.value(array)], **flags)


@makes("Not", "BitwiseNot")
def inverted(draw: Draw) -> None:
    draw.node([draw.value(draw.values(draw.shape(), np.bool_ if draw.op == "Not" else np.int32))])


def broadcast(draw: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that goes with the given one."""
    own = tuple(n if draw.coin(0.7) else 1 for n in shape)
    return own[int(draw.rng.integers(0, len(own) + 1)) if draw.coin(0.3) else 0 :]


def pair(draw: Draw, dtype: Any) -> list[Array]:
    shape = draw.shape()
    arrays = [draw.values(shape, dtype), draw.values(broadcast(draw, shape), dtype)]
    return arrays[::-1] if draw.coin(0.3) and draw.op != "PRelu" else arrays


def operand(draw: Draw, array: Array) -> str:
    return draw.constant(array) if draw.coin(0.3) else draw.value(array)


@makes("Add", "Sub", "Mul", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal", "PRelu")
def binary(draw: Draw) -> None:
    dtype = draw.pick(*NUMBERS) if draw.op not in ("PRelu", "Greater", "Less") or draw.version >= 9 else np.float32
    dtype = np.int32 if draw.op == "Equal" and draw.version < 11 else np.float32 if draw.op == "PRelu" else dtype
    a, b = pair(draw, dtype)
    draw.node([draw.value(a), operand(draw, b)])


@makes("Div", "Mod", "Pow")
def divided(draw: Draw) -> None:
    dtype = np.float32 if draw.op == "Pow" else draw.pick(*NUMBERS)
    a, b = pair(draw, dtype)
    if draw.op == "Pow":
        a, b = np.abs(a) + np.float32(0.1), draw.pick(b, np.float32(draw.pick(0.5, 1, 2, 3, -1)))
    else:
        b = np.where(np.abs(b) < 0.3, 3, b).astype(dtype)
    fmod = 1 if draw.op == "Mod" and dtype == np.float32 else draw.pick(None, 0, 1) if draw.op == "Mod" else None
    draw.node([draw.value(a), operand(draw, np.asarray(b, dtype))], fmod=fmod)


@makes("And", "Or", "Xor")
def logical(draw: Draw) -> None:
    a, b = pair(draw, np.bool_)
    draw.node([draw.value(a), operand(draw, b)])


@makes("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(draw: Draw) -> None:
    a, b = pair(draw, draw.pick(np.int8, np.uint8))
    draw.node([draw.value(a), operand(draw, b)])


@makes("BitShift")
def bit_shift(draw: Draw) -> None:
    a, b = pair(draw, np.uint8)
    draw.node([draw.value(a), draw.value(b % 8)], direction=draw.pick("LEFT", "RIGHT"))


@makes("Max", "Min", "Sum", "Mean")
def variadic(draw: Draw) -> None:
    shape = draw.shape()
    dtype = draw.pick(*NUMBERS) if draw.op in ("Max", "Min") and draw.version >= 12 else np.float32
    names = [draw.value(draw.values(shape, dtype))]
    for _ in range(int(draw.rng.integers(0, 3))):
        names.append(operand(draw, draw.values(broadcast(draw, shape) if draw.version >= 8 else shape, dtype)))
    draw.node(names)


@makes("Where")
def where(draw: Draw) -> None:
    shape, dtype = draw.shape(), draw.pick(np.float32, np.int64, np.uint8)
    arrays = [draw.values(broadcast(draw, shape), d) for d in (np.bool_, dtype)] + [draw.values(shape, dtype)]
    draw.node([operand(draw, array) for array in arrays])


@makes("Clip")
def clip(draw: Draw) -> None:
    low, high = draw.pick((-1, 1), (0, 6), (-2, 0), (None, 1), (-1, None), (None, None), (-128, 127), (0, 255), (-8, 7))
    if draw.version < 11:
        bounds: dict[str, Any] = {k: None if v is None else float(v) for k, v in (("min", low), ("max", high))}
        draw.node([draw.value(draw.floats(draw.shape()))], **bounds)
        return
    dtype = draw.pick(np.float32, np.int8, np.uint8, np.int32, np.int64) if draw.version >= 12 else np.float32
    if np.dtype(dtype).kind != "f":
        info = np.iinfo(dtype)
        low, high = (None if v is None else min(max(v, info.min), info.max) for v in (low, high))
    bound = [("" if v is None else operand(draw, np.array(v, dtype))) for v in (low, high)]
    draw.node([draw.value(draw.values(draw.shape(), dtype)), *bound])


@makes("Cast")
def cast(draw: Draw) -> None:
    kinds = {np.float32: 1, np.uint8: 2, np.int8: 3, np.int32: 6, np.int64: 7, np.bool_: 9}
    source, target = draw.pick(*kinds), draw.pick(*kinds)
    array = np.abs(draw.values(draw.shape(), source)) if target == np.uint8 and source != np.bool_ else None
    draw.node([draw.value(draw.values(draw.shape(), source) if array is None else array)], to=kinds[target])


REDUCTIONS = (
    *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"),
    *("ReduceLogSum", "ReduceLogSumExp"),
)


@makes(*REDUCTIONS)
def reduction(draw: Draw) -> None:
    array = draw.floats(draw.shape(), 1.0)
    array = np.abs(array) + np.float32(0.1) if draw.op == "ReduceLogSum" else array
    if draw.op in ("ReduceSum", "ReduceMax", "ReduceMin") and draw.coin(0.3):
        array = draw.integers(array.shape, -9, 9, draw.pick(np.int32, np.int64))
    axes = draw.pick(None, draw.axes(array.ndim))
    attributes: dict[str, Any] = {"keepdims": draw.pick(None, 0, 1)}
    operands = [draw.value(array)]
    if draw.version < (13 if draw.op == "ReduceSum" else 18):
        attributes["axes"] = None if axes is None else [k % array.ndim for k in axes] if draw.version < 11 else axes
    else:
        operands += [] if axes is None else [draw.ints(*axes)]
        attributes["noop_with_empty_axes"] = draw.pick(None, 0, 1)
    draw.node(operands, **attributes)


@makes("ArgMax", "ArgMin")
def argument(draw: Draw) -> None:
    array = draw.pick(draw.floats(draw.shape()), draw.integers(draw.shape(), 0, 3, np.int32))
    last = draw.pick(None, 0, 1) if draw.version >= 12 else None
    axis = draw.pick(None, draw.axis(array.ndim))
    draw.node([draw.value(array)], axis=axis, keepdims=draw.pick(None, 0, 1), select_last_index=last)


@makes("Softmax", "LogSoftmax", "Hardmax", "LpNormalization")
def along_axis(draw: Draw) -> None:
    array = draw.floats(draw.shape(2, 5))
    p = draw.pick(None, 1, 2) if draw.op == "LpNormalization" else None
    draw.node([draw.value(array)], axis=draw.pick(None, draw.axis(array.ndim)), p=p)


@makes("CumSum")
def cumulative(draw: Draw) -> None:
    array = draw.values(draw.shape(), draw.pick(np.float32, np.int32))
    axis = draw.constant(np.array(draw.axis(array.ndim), np.int64))
    draw.node([draw.value(array), axis], exclusive=draw.pick(None, 0, 1), reverse=draw.pick(None, 0, 1))


@makes("TopK")
def top_k(draw: Draw) -> None:
    shape = draw.shape()
    array = draw.rng.permutation(math.prod(shape)).reshape(shape).astype(np.float32)
    axis = draw.pick(None, draw.axis(array.ndim))
    count = int(draw.rng.integers(1, array.shape[-1 if axis is None else axis] + 1))
    if draw.version < 10:
        draw.node([draw.value(array)], 2, axis=axis, k=count)
        return
    largest = draw.pick(None, 0, 1) if draw.version >= 11 else None
    draw.node([draw.value(array), draw.ints(count)], 2, axis=axis, largest=largest)


def image(draw: Draw, spatial: int | None = None, largest: int = 7) -> Array:
    count = int(draw.rng.integers(1, 4)) if spatial is None else spatial
    sizes = draw.rng.integers(1, largest + 1, count)
    return draw.floats([int(draw.rng.integers(1, 3)), int(draw.rng.integers(1, 5)), *sizes])


@makes("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(draw: Draw) -> None:
    p = draw.pick(None, 1, 2, 3) if draw.op == "GlobalLpPool" else None
    draw.node([draw.value(image(draw))], p=p)


def window(draw: Draw, sizes: tuple[int, ...], is_pool: bool, dilated: bool = True) -> dict[str, Any]:
    """Attributes of a window that fits an image."""
    count = len(sizes)
    kernel = [int(draw.rng.integers(1, min(n, 3) + 1)) for n in sizes]
    attributes: dict[str, Any] = {"kernel_shape": kernel}
    attributes["strides"] = draw.pick(None, [int(draw.rng.integers(1, 4)) for _ in sizes])
    if dilated and draw.coin(0.3):
        attributes["dilations"] = [
            int(draw.rng.integers(1, 3)) if (k - 1) * 2 < n else 1 for k, n in zip(kernel, sizes, strict=False)
        ]
    mode = draw.pick("NOTSET", "NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
    if mode == "NOTSET" and draw.coin(0.6):
        limit = kernel if is_pool else [3] * count
        attributes["pads"] = [int(draw.rng.integers(0, n)) for n in limit] + [
            int(draw.rng.integers(0, n)) for n in limit
        ]
    elif mode != "NOTSET":
        attributes["auto_pad"] = mode
        if is_pool and attributes["strides"]:
            # Where a window is smaller than its stride, ONNX Runtime leaves ONNX's definition.
            attributes["strides"] = [min(s, k) for s, k in zip(attributes["strides"], kernel, strict=False)]
    return attributes


@makes("MaxPool", "AveragePool", "LpPool")
def pool(draw: Draw) -> None:
    array = image(draw)
    if draw.op == "MaxPool" and draw.version >= 12 and draw.coin(0.2):
        array = draw.values(array.shape, draw.pick(np.int8, np.uint8))
    dilates = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[draw.op]
    attributes = window(draw, array.shape[2:], True, draw.version >= dilates)
    if draw.version >= {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[draw.op] and "auto_pad" not in attributes:
        attributes["ceil_mode"] = draw.pick(None, 0, 1)
    if "auto_pad" in attributes:
        attributes.pop("dilations", None)  # ONNX Runtime pads as if there were none
    if draw.op == "AveragePool":
        attributes["count_include_pad"] = draw.pick(None, 0, 1)
    if draw.op == "LpPool":
        attributes["p"] = draw.pick(None, 1, 2, 3)
    count = 2 if draw.op == "MaxPool" and draw.version >= 8 and draw.coin(0.3) else 1
    draw.node([draw.value(array)], count, **attributes)


@makes("Conv")
def convolution(draw: Draw) -> None:
    array, groups = image(draw), 1
    channels = array.shape[1]
    groups = draw.pick(1, 1, channels, 2 if channels % 2 == 0 else 1)
    attributes = window(draw, array.shape[2:], False)
    weights = draw.floats((groups * int(draw.rng.integers(1, 3)), channels // groups, *attributes["kernel_shape"]), 0.5)
    bias = [operand(draw, draw.floats((weights.shape[0],)))] if draw.coin() else []
    weight = draw.constant(weights) if draw.coin(0.9) else draw.value(weights)
    kernel = attributes.pop("kernel_shape")
    draw.node(
        [draw.value(array), weight, *bias], group=draw.pick(groups), kernel_shape=draw.pick(None, kernel), **attributes
    )


@makes("ConvTranspose")
def transposed_convolution(draw: Draw) -> None:
    array = image(draw, None, 4)
    channels = array.shape[1]
    groups = draw.pick(1, 1, channels)
    attributes = window(draw, tuple(max(n, 2) for n in array.shape[2:]), True)
    strides = attributes.get("strides") or [1] * (array.ndim - 2)
    weights = draw.floats((channels, int(draw.rng.integers(1, 3)), *attributes["kernel_shape"]), 0.5)
    if draw.coin(0.3) and "auto_pad" not in attributes:
        attributes["output_padding"] = [int(draw.rng.integers(0, s)) for s in strides]
    bias = [draw.constant(draw.floats((weights.shape[1] * groups,)))] if draw.coin() else []
    draw.node([draw.value(array), draw.constant(weights), *bias], group=groups, **attributes)


@makes("MatMul")
def matmul(draw: Draw) -> None:
    lead, (n, k, p) = draw.shape(0, 2, 3), (int(d) for d in draw.rng.integers(1, 5, 3))
    shapes = [(*lead, n, k), (*broadcast(draw, lead), k, p)]
    shapes = draw.pick(shapes, [(k,), shapes[1]], [shapes[0], (k,)])
    a, b = (draw.floats(shape, 1.0) for shape in shapes)
    draw.node([draw.value(a), operand(draw, b)])


@makes("Gemm")
def gemm(draw: Draw) -> None:
    n, k, p = (int(d) for d in draw.rng.integers(1, 5, 3))
    a, b = draw.floats((n, k), 1.0), draw.floats((k, p), 1.0)
    turned = draw.pick(None, 0, 1), draw.pick(None, 0, 1)
    bias = draw.floats(draw.pick((p,), (1, p), (n, 1), (n, p), (1,), ()))
    operands = [draw.value(a.T if turned[0] else a), operand(draw, b.T if turned[1] else b)]
    operands += [operand(draw, bias)] if draw.version < 11 or draw.coin(0.7) else []
    scales = {"alpha": draw.pick(None, 0.5), "beta": draw.pick(None, 2.0)}
    draw.node(operands, transA=turned[0], transB=turned[1], **scales)


@makes("Einsum")
def einsum(draw: Draw) -> None:
    equation = draw.pick(
        "ij,jk->ik", "bij,bjk->bik", "ij->ji", "ij->i", "i,j->ij", "bhid,bhjd->bhij", "ii->i", "ij,ij->"
    )
    sizes = {letter: int(draw.rng.integers(1, 4)) for letter in "ijkbhd"}
    terms = equation.split("->")[0].split(",")
    draw.node([draw.value(draw.floats([sizes[k] for k in term], 1.0)) for term in terms], equation=equation)


@makes("BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization", "LRN")
def normalization(draw: Draw) -> None:
    array = image(draw)
    if draw.op == "BatchNormalization" and draw.coin(0.3):
        array = array.reshape(array.shape[0], -1)
    channels, epsilon = array.shape[1], draw.pick(None, 1e-3)
    if draw.op == "LRN":
        array = image(draw, 2)
        draw.node([draw.value(array)], size=draw.pick(1, 3, 5), alpha=draw.pick(None, 0.1), bias=draw.pick(None, 2.0))
        return
    if draw.op == "LayerNormalization":
        axis = int(draw.rng.integers(-array.ndim, array.ndim))
        scales = [operand(draw, draw.floats(array.shape[axis % array.ndim :])) for _ in range(draw.pick(1, 2))]
        draw.node([draw.value(array), *scales], axis=axis, epsilon=epsilon)
        return
    groups = draw.pick(1, channels)
    count = groups if draw.op == "GroupNormalization" and draw.version < 21 else channels
    names = [operand(draw, draw.floats((count,))) for _ in range(2)]
    if draw.op == "BatchNormalization":
        names += [operand(draw, draw.floats((count,))), operand(draw, np.abs(draw.floats((count,))) + np.float32(0.1))]
    groups_of = {"num_groups": groups} if draw.op == "GroupNormalization" else {}
    draw.node([draw.value(array), *names], epsilon=epsilon, **groups_of)


@makes("MeanVarianceNormalization")
def mean_variance(draw: Draw) -> None:
    draw.node([draw.value(draw.floats((2, 3, *draw.shape(2, 2))))], axes=draw.pick(None, [0, 2, 3], [1]))
