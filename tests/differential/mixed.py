"""Operators whose weights are otherwise than their input: int8 beside float32 and int16, int4, or with a zero point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from support import conv_cases
from support.conv_cases import at_run_time, int8_tensor, int16_tensor, pick, with_int4_filter
from support.differential import Family, Rng, Run, shape_of
from support.kernel_harness import Array, Case, Tensor, constant, make_case, random_values, run_tflm, tensor
from support.litert import run_litert
from tflmgen.ir.kernel.call import Target
from tflmgen.ir.types import BlockQuantization, DType, Quantization, TensorType

Make = Callable[[Rng, str], Run]
CHANNELS = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3}
"""The filter's dimension of output channels."""


def hybrid(make: Make) -> Make:
    """float32 cases of `make` with int8 weights.

    None of them is -128, which no converter makes and LiteRT's kernels for x86 get wrong.
    """

    def drawn(rng: Rng, dtype: str) -> Run:
        del dtype
        case, values = make(rng, "hybrid")
        return case, [v if v is None or v.dtype != np.int8 else np.maximum(v, -127) for v in values]

    return drawn


def packed(make: Make) -> Make:
    """Cases of `make` with an int4 filter."""
    return lambda rng, dtype: with_int4_filter(rng, make(rng, "hybrid" if dtype == "float32" else dtype))


def small(make: Make) -> Make:
    """The same where code is to be small: int4 stays packed in flash."""

    def drawn(rng: Rng, dtype: str) -> Run:
        case, values = packed(make)(rng, dtype)
        return replace(case, target=Target("host", optimize="size")), values

    return drawn


def centred(make: Make) -> Make:
    """Cases of `make` with a filter that has a zero point."""

    def drawn(rng: Rng, dtype: str) -> Run:
        case, values = make(rng, dtype)
        source, weights, *rest = case.inputs
        assert weights
        assert weights.type.quantization
        points = (int(rng.integers(-128, 128)),) * len(weights.type.quantization.scales)
        kind = replace(weights.type, quantization=replace(weights.type.quantization, zero_points=points))
        return replace(case, inputs=(source, Tensor(kind, weights.data), *rest)), values

    return drawn


def with_int8_filter(case: Case) -> Case:
    source, weights, *rest = case.inputs
    assert weights
    return replace(case, inputs=(source, Tensor(replace(weights.type, dtype=DType.INT8), weights.data), *rest))


def _as_litert_takes_it(case: Case) -> Case:
    """The same with a bias, which LiteRT's convolutions demand, and a scale per channel.

    It reads one per channel of depthwise and grouped filters, even where there is one in all. One of them is
    changed a little: only scales that differ make LiteRT take the way of grouped filters.
    """
    axis = CHANNELS.get(case.operator)
    if axis is None:
        return case
    source, weights, *rest = case.inputs
    assert source
    assert weights
    assert weights.type.quantization
    channels, bias = weights.type.max_shape[axis], rest[0] if rest else None
    grouped = source.type.max_shape[3] != weights.type.max_shape[3]
    scales = np.array(weights.type.quantization.scales)
    if len(scales) == 1 and (grouped or axis == 3):
        scales = np.repeat(scales, channels)
        scales[-1] *= 1 + 1e-7
    kind = replace(weights.type, quantization=Quantization(tuple(scales.tolist()), (0,) * len(scales), axis))
    bias = bias or constant("float32", np.zeros(channels))
    return replace(case, inputs=(source, Tensor(kind, weights.data), bias))


def as_int8(case: Case, values: list[Array | None]) -> list[Array]:
    """What int8 weights of the same values give: in LiteRT beside float32, else in TFLite Micro."""
    if case.outputs[0].dtype is not DType.FLOAT32:
        return run_tflm(with_int8_filter(case), values)
    asked = _as_litert_takes_it(with_int8_filter(case))
    return run_litert(asked, [*values, *[None] * (len(asked.inputs) - len(values))])


def by_blocks(rng: Rng, dtype: str) -> Run:
    """Layers of float32 with scales for blocks of int4 weights, or of int8 ones that two int4 make up."""
    del dtype
    case, values = conv_cases.fully_connected(rng, "hybrid")
    source, old, *rest = case.inputs
    assert source
    assert old
    units, depth = old.type.max_shape
    x = values[0]
    assert x is not None
    if depth >= 8 and rng.integers(2):
        # Blocks of whole words, whose int4 weights stay packed.
        depth -= depth % 8
        x = np.ascontiguousarray(x[..., :depth])
        source = replace(source, type=source.type.with_shape(x.shape))
    size = pick(rng, *(n for n in range(1, depth + 1) if depth % n == 0))
    scales = rng.uniform(0.001, 0.1, units * depth // size).astype(np.float16)
    small = bool(rng.integers(2))
    data = rng.integers(*((-8, 8) if small else (-128, 120)), (units, depth)).astype(np.int8)
    blocks = BlockQuantization(tuple(map(float, scales)), int(size))
    kind = TensorType(DType.INT4 if small else DType.INT8, data.shape, None, blocks)
    return replace(case, inputs=(source, Tensor(kind, data), *rest)), [x, None, *values[2:]]


def with_blocks(case: Case, values: list[Array | None]) -> list[Array]:
    """LiteRT's kernels for int4 by blocks, which only its optimised runtime has.

    They take four units and an even depth of 32 at least, which zeros fill up to. An int8 weight is 16 times one
    int4 and another, whose products are added.
    """
    from ai_edge_litert.interpreter import OpResolverType

    source, weights, *rest = case.inputs
    assert source
    assert weights
    assert weights.data is not None
    assert weights.type.blocks
    assert values[0] is not None
    (units, depth), size = weights.type.max_shape, weights.type.blocks.size
    more = next(n for n in range(32) if depth + n * size >= 32 and (depth + n * size) % 2 == 0)
    room = (0, max(0, 4 - units)), (0, more * size)
    x = np.pad(values[0].reshape(-1, depth), ((0, 0), room[1]))
    scales = np.reshape(weights.type.blocks.scales, (units, -1))
    scales = np.pad(scales, (room[0], (0, more)), constant_values=1.0)
    whole = weights.data.astype(int)
    low = (whole + 8) % 16 - 8
    output = np.zeros((len(x), units), np.float32)
    for part, factor in ((low, 1), ((whole - low) // 16, 16)):
        blocks = BlockQuantization(tuple((scales * factor).ravel().tolist()), size)
        data = np.pad(part, room).astype(np.int8)
        small = Tensor(TensorType(DType.INT4, data.shape, None, blocks), data)
        block_case = make_case("FULLY_CONNECTED", [tensor("float32", x.shape), small], [tensor("float32", ())])
        output += run_litert(block_case, [x, None], OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)[0][:, :units]
    if rest and rest[0]:
        bias = rest[0].data if rest[0].data is not None else values[2]
        assert bias is not None
        output += bias
    return [np.clip(output, *case.instance.attributes.activation.bounds).reshape(case.outputs[0].max_shape)]


def batch_matmul(rng: Rng, dtype: str) -> Run:
    """In at most one dimension of batches: LiteRT mixes up the rows of more."""
    rows, depth, columns = (int(n) for n in rng.integers(1, 9, 3))
    left_batch, right_batch = pick(rng, ((), ()), ((2,), (2,)), ((3,), ()), ((), (2,)), ((3,), (1,)))
    options: dict[str, Any] = {"adj_x": bool(rng.integers(2)), "adj_y": bool(rng.integers(2))}
    left_shape = (*left_batch, depth, rows) if options["adj_x"] else (*left_batch, rows, depth)
    shape = (*right_batch, columns, depth) if options["adj_y"] else (*right_batch, depth, columns)
    if dtype == "int16":
        left, right = int16_tensor(rng, left_shape), at_run_time(rng, conv_cases.weights(rng, shape, None))
        output = tensor(dtype, (), float(rng.uniform(1e-5, 1e-3)))
    else:
        axis = len(shape) - (2 if options["adj_y"] else 1)
        left = tensor(dtype, left_shape)
        right, output = conv_cases.weights(rng, shape, axis if rng.integers(2) else None), tensor(dtype, ())
        options["asymmetric_quantize_inputs"] = bool(rng.integers(2))
    case = make_case("BATCH_MATMUL", [left, right], [output], options)
    return case, random_values(case, rng)


def per_column(rng: Rng, dtype: str) -> Run:
    """int8 right matrices with a scale per column."""
    while True:
        case = batch_matmul(rng, "float32")[0]
        left, right = case.inputs
        assert left
        assert right
        assert right.type.quantization
        if right.type.quantization.per_channel:
            break
    if rng.integers(2):
        right = at_run_time(rng, right)
    left = (int8_tensor if dtype == "int8" else int16_tensor)(rng, left.type.max_shape)
    options = {key: value for key, value in case.options.items() if key.startswith("adj")}
    output = replace(int8_tensor(rng).type if dtype == "int8" else int16_tensor(rng).type, shape=())
    case = make_case("BATCH_MATMUL", [left, right], [Tensor(output)], options)
    return case, random_values(case, rng)


def column_by_column(case: Case, values: list[Array | None]) -> list[Array]:
    """A product for each column of the right matrices, whose scale it has: LiteRT takes scales per column for 0."""
    left, right = case.inputs
    assert right
    assert right.type.quantization
    axis = right.type.quantization.axis
    columns = []
    for i, scale in enumerate(right.type.quantization.scales):
        right_values = right.data if right.data is not None else values[1]
        assert right_values is not None
        column = constant("int8", np.take(right_values, [i], axis), scale)
        column_case = make_case("BATCH_MATMUL", [left, column], [Tensor(case.outputs[0])], case.options)
        columns += run_litert(column_case, values[:1])
    return [np.concatenate(columns, axis=-1)]


def embedding_lookup(rng: Rng, dtype: str) -> Run:
    """A table of `dtype` as float32."""
    # LiteRT looks for each row of int4 at a byte of its own.
    rows, last = int(rng.integers(1, 9)), 2 * int(rng.integers(1, 5))
    shape = (rows, *shape_of(rng, 0, 2), last)
    least, greatest = DType[dtype.upper()].limits
    scales = rng.uniform(0.001, 0.1, rows if rng.integers(2) else 1)
    table = constant(dtype, rng.integers(least, greatest + 1, shape), scales)
    indices = rng.integers(0, rows, int(rng.integers(1, 9))).astype(np.int32)
    case = make_case("EMBEDDING_LOOKUP", [tensor("int32", indices.shape), table], [tensor("float32", ())])
    return case, [indices, None]


TOLERANCE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5}
WEIGHTED = (
    ("CONV_2D", conv_cases.conv2d),
    ("DEPTHWISE_CONV_2D", conv_cases.depthwise_conv2d),
    ("FULLY_CONNECTED", conv_cases.fully_connected),
)

FAMILIES = (
    *(
        Family(name, ("float32",), hybrid(make), tflm=False, litert=False, expected=as_int8, **TOLERANCE)
        for name, make in WEIGHTED
    ),
    *(
        Family(name, ("int8", "int16", "float32"), packed(make), litert=False, expected=as_int8, **TOLERANCE)
        for name, make in WEIGHTED
    ),
    *(
        Family(name, ("int8",), small(make), litert=False, expected=as_int8)
        for name, make in (WEIGHTED[0], WEIGHTED[2])
    ),
    Family("FULLY_CONNECTED", ("int8",), centred(conv_cases.fully_connected), litert=False),
    Family("FULLY_CONNECTED", ("float32",), by_blocks, tflm=False, litert=False, expected=with_blocks, **TOLERANCE),
    Family("BATCH_MATMUL", ("int16", "float32"), batch_matmul, tflm=False, **TOLERANCE),
    Family("BATCH_MATMUL", ("int8", "int16"), per_column, tflm=False, litert=False, expected=column_by_column),
    Family("EMBEDDING_LOOKUP", ("int8", "int4"), embedding_lookup, tflm=False),
)
