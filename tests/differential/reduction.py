"""Operators along axes: reductions, softmax, sorting, running sums; and those that make tensors of few numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from support.differential import Family, Rng, Run, finished, shape_of, typed
from support.kernel_harness import Array, Case, constant, make_case, operands_of, random_values, tensor
from support.present import present

MOVED = ("float32", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")


def ranged(numbers: list[Any]) -> Array:
    values: Array = np.arange(*numbers)
    return values


def filled(operands: list[Array]) -> Array:
    dims, value = operands
    return np.full(tuple(dims.tolist()), value)


def reduction(operator: str, max_axes: int = 6) -> Callable[[Rng, str], Run]:
    def make(rng: Rng, dtype: str) -> Run:
        shape = shape_of(rng, 1, 4 if max_axes == 2 else 6, 4)
        rank = len(shape)
        axes = rng.permutation(rank)[: int(rng.integers(1, min(rank, max_axes) + 1))]
        axes = np.where(rng.random(axes.shape) < 0.3, axes - rank, axes)
        source = typed(rng, dtype, shape)
        result = typed(rng, dtype) if operator in ("MEAN", "SUM") and rng.random() < 0.7 else source
        listed = constant("int32", axes if len(axes) > 1 or rng.random() < 0.7 else axes[0])
        case = make_case(operator, [source, listed], [result], {"keep_dims": bool(rng.integers(2))})
        _, values = finished(rng, case)
        if operator in ("MEAN", "SUM") and dtype in ("int32", "int64"):
            values[0] = np.right_shift(present(values[:1])[0], 12)
        if operator == "REDUCE_PROD":
            values[0] = _factors(rng, dtype, shape)
        return case, values

    return make


def _factors(rng: Rng, dtype: str, shape: tuple[int, ...]) -> Array:
    return rng.choice([-2, -1, 1, 1, 2, 3], shape, p=[0.02, 0.2, 0.3, 0.4, 0.04, 0.04]).astype(dtype)


def reduced(function: Callable[..., Any]) -> Callable[[Case, list[Array | None]], list[Array]]:
    def expected(case: Case, values: list[Array | None]) -> list[Array]:
        x, axes = operands_of(case, values)
        arguments = {"axis": tuple(np.atleast_1d(axes)), "keepdims": case.options["keep_dims"]}
        return [np.asarray(function(x, **arguments)).astype(x.dtype)]

    return expected


def mean(x: Array, **arguments: Any) -> Array:
    average: Array = np.trunc(x.mean(dtype=np.longdouble, **arguments)) if x.dtype.kind == "i" else x.mean(**arguments)
    return average


def arg(operator: str) -> Callable[[Rng, str], Run]:
    def make(rng: Rng, dtype: str) -> Run:
        source = typed(rng, dtype, shape_of(rng, 1, 5))
        rank = len(source.type.shape)
        axis = constant("int32" if rng.random() < 0.7 else "int64", int(rng.integers(-rank, rank)))
        result = "int32" if rng.random() < 0.6 else "int64"
        options = {"output_type": 2 if result == "int32" else 4}
        case = make_case(operator, [source, axis], [tensor(result, ())], options)
        _, values = finished(rng, case)
        if rng.random() < 0.5:
            values[0] = rng.integers(0, 4, source.type.max_shape).astype(dtype)
        return case, values

    return make


def chosen(function: Callable[..., Any]) -> Callable[[Case, list[Array | None]], list[Array]]:
    def expected(case: Case, values: list[Array | None]) -> list[Array]:
        x, axis = operands_of(case, values)
        return [np.asarray(function(x, int(axis))).astype(case.outputs[0].dtype.numpy)]

    return expected


def cumsum(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 1, 4))
    rank = len(source.type.shape)
    options = {"exclusive": bool(rng.integers(2)), "reverse": bool(rng.integers(2))}
    axis = constant("int32", int(rng.integers(-rank, rank)))
    case = make_case("CUMSUM", [source, axis], [typed(rng, dtype)], options)
    _, values = finished(rng, case)
    if dtype in ("int32", "int64"):
        values[0] = np.right_shift(present(values[:1])[0], 8)
    return case, values


def top_k(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 1, 4, 7))
    k = int(rng.integers(1, source.type.max_shape[-1] + 1))
    case = make_case("TOPK_V2", [source, constant("int32", k)], [source, tensor("int32", ())])
    _, values = finished(rng, case)
    if rng.random() < 0.5:
        values[0] = rng.integers(0, 4, source.type.max_shape).astype(dtype)
    return case, values


def sorted_out(case: Case, values: list[Array | None]) -> list[Array]:
    x, k = operands_of(case, values)
    order = np.argsort(-x.astype(np.float64), axis=-1, kind="stable")[..., : int(k)]
    return [np.take_along_axis(x, order, -1), order.astype(np.int32)]


def one_hot(rng: Rng, dtype: str) -> Run:
    shape, depth = shape_of(rng, 0, 3, 4), int(rng.integers(1, 6))
    kind = "int32" if rng.random() < 0.6 else "int64"
    indices = rng.integers(-1, depth + 2, shape).astype(kind)
    on, off = typed(rng, dtype), typed(rng, dtype)
    inputs = [tensor(kind, shape), constant("int32", depth), on, off]
    case = make_case("ONE_HOT", inputs, [tensor(dtype, ())], {"axis": int(rng.integers(-1, len(shape) + 1))})
    _, values = finished(rng, case)
    return case, [np.asarray(indices), None, values[2], values[3]]


def hot(case: Case, values: list[Array | None]) -> list[Array]:
    indices, depth, on, off = operands_of(case, values)
    axis = case.options["axis"] if case.options["axis"] >= 0 else indices.ndim
    flags = np.moveaxis(indices[..., None] == np.arange(int(depth)), -1, axis)
    return [np.where(flags, on, off).astype(on.dtype)]


def l2_normalization(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 1, 4, 9))
    result = tensor(dtype, (), 1 / 128, 0) if dtype == "int8" else tensor(dtype, ())
    return finished(rng, make_case("L2_NORMALIZATION", [source], [result]))


SOFTMAX_OUTPUT = {
    "int8>int8": ("int8", 1 / 256, -128),
    "int8>int16": ("int16", 1 / 65536, -32768),
    "int16>int16": ("int16", 1 / 32768, 0),
    "float32>float32": ("float32", None, 0),
}


def softmax(rng: Rng, dtype: str) -> Run:
    source = dtype.partition(">")[0]
    kind = typed(
        rng, source, (*shape_of(rng, 0, 3, 4), int(rng.integers(1, 40))), 1e-5 if source == "int16" else 1e-3, 1.9
    )
    options = {"beta": float(np.float32(rng.choice([1.0, 1.0, 0.5, 2.5, 0.1])))}
    case = make_case("SOFTMAX", [kind], [tensor(SOFTMAX_OUTPUT[dtype][0], (), *SOFTMAX_OUTPUT[dtype][1:])], options)
    return case, random_values(case, rng)


def log_softmax(rng: Rng, dtype: str) -> Run:
    kind = typed(rng, dtype, (*shape_of(rng, 0, 3, 4), int(rng.integers(1, 40))), 1e-3, 4.0)
    output = tensor("int8", (), 1 / 16, 127) if dtype == "int8" else tensor(dtype, ())
    case = make_case("LOG_SOFTMAX", [kind], [output])
    return case, random_values(case, rng)


def fill(rng: Rng, dtype: str) -> Run:
    shape = shape_of(rng, 0, 4)
    kind = "int32" if rng.random() < 0.6 else "int64"
    value = typed(rng, dtype)
    return finished(rng, make_case("FILL", [constant(kind, np.array(shape, int)), value], [value]))


def shape(rng: Rng, dtype: str) -> Run:
    result = "int32" if rng.random() < 0.5 else "int64"
    options = {"out_type": 2 if result == "int32" else 4}
    return finished(rng, make_case("SHAPE", [typed(rng, dtype, shape_of(rng))], [tensor(result, ())], options))


def rank(rng: Rng, dtype: str) -> Run:
    return finished(rng, make_case("RANK", [typed(rng, dtype, shape_of(rng))], [tensor("int32", ())]))


def broadcast_args(rng: Rng, dtype: str) -> Run:
    shape = rng.integers(0, 6, int(rng.integers(1, 6)))
    sides = [np.where(rng.random(shape.size) < 0.4, 1, shape), shape[int(rng.integers(0, shape.size)) :]]
    first, second = (side.astype(dtype) for side in (sides if rng.random() < 0.5 else reversed(sides)))
    case = make_case("BROADCAST_ARGS", [tensor(dtype, first.shape), tensor(dtype, second.shape)], [tensor(dtype, ())])
    return case, [first, second]


def range_(rng: Rng, dtype: str) -> Run:
    step = float(rng.integers(1, 5)) * (0.25 if dtype == "float32" else 1) * (-1 if rng.random() < 0.4 else 1)
    start = float(rng.integers(-9, 10))
    stop = start + step * float(rng.integers(0, 9)) - (np.sign(step) * rng.integers(0, 2) if abs(step) > 1 else 0)
    numbers = [np.array(v).astype(dtype) for v in (start, stop, step)]
    if rng.random() < 0.5:
        return make_case("RANGE", [constant(dtype, v) for v in numbers], [tensor(dtype, ())]), [None] * 3
    count = len(ranged(numbers))
    case = make_case("RANGE", [tensor(dtype, ())] * 3, [tensor(dtype, (count,))])
    return case, list(numbers)


TOLERANCE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5}
INTEGERS = ("int8", "int16", "int32", "int64")


def segment_sum(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 1, 4))
    rows = source.type.max_shape[0]
    indices = np.cumsum(rng.integers(0, 3, rows))
    return finished(rng, make_case("SEGMENT_SUM", [source, constant("int32", indices)], [source]))


def summed_segments(case: Case, values: list[Array | None]) -> list[Array]:
    x, indices = operands_of(case, values)
    sums = np.zeros((indices[-1] + 1, *x.shape[1:]), x.dtype)
    np.add.at(sums, indices, x)
    return [sums]


def unsorted(operator: str) -> Callable[[Rng, str], Run]:
    def make(rng: Rng, dtype: str) -> Run:
        source = typed(rng, dtype, shape_of(rng, 1, 4))
        count = int(rng.integers(1, 5))
        shape = source.type.max_shape[: int(rng.integers(1, len(source.type.shape) + 1))]
        indices = rng.integers(0, count, shape).astype(np.int32)
        fixed = rng.random() < 0.3
        inputs = [source, constant("int32", indices) if fixed else tensor("int32", shape), constant("int32", count)]
        case = make_case(operator, inputs, [source])
        _, values = finished(rng, case)
        return case, [values[0], None if fixed else indices, None]

    return make


def local_response(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 4, 4, 9))
    options = {
        "radius": int(rng.integers(0, 6)),
        "bias": float(rng.uniform(0.5, 2)),
        "alpha": float(rng.uniform(0, 1)),
        "beta": float(rng.uniform(0.1, 1)),
    }
    return finished(rng, make_case("LOCAL_RESPONSE_NORMALIZATION", [source], [source], options))


FAMILIES = (
    # TFLite Micro's MEAN and SUM have room for 4 dimensions and 2 axes; LiteRT's are others with int8.
    Family("MEAN", ("int8", "int16"), reduction("MEAN", 2), litert=False),
    Family("SUM", ("int8", "int16"), reduction("SUM", 2), litert=False),
    Family("MEAN", ("float32", "int32"), reduction("MEAN"), tflm=False, expected=reduced(mean), **TOLERANCE),
    Family("SUM", ("float32", "int32", "int64"), reduction("SUM"), tflm=False, **TOLERANCE),
    *(
        Family(name, ("float32", *INTEGERS), reduction(name, 2), expected=reduced(function))
        for name, function in (("REDUCE_MAX", np.max), ("REDUCE_MIN", np.min))
    ),
    Family("REDUCE_PROD", ("float32", "int32", "int64"), reduction("REDUCE_PROD"), **TOLERANCE),
    Family("REDUCE_ANY", ("bool",), reduction("REDUCE_ANY")),
    Family("REDUCE_ALL", ("bool",), reduction("REDUCE_ALL"), expected=reduced(np.all)),
    *(
        Family(name, ("float32", "int8", "uint8", "int16", "int32", "bool"), arg(name), expected=chosen(function))
        for name, function in (("ARG_MAX", np.argmax), ("ARG_MIN", np.argmin))
    ),
    # Absent indices are rows of zeros, as in TensorFlow; LiteRT's kernel refuses them.
    Family("SEGMENT_SUM", ("float32", "int32"), segment_sum, litert=False, expected=summed_segments, **TOLERANCE),
    *(
        Family(f"UNSORTED_SEGMENT_{name}", ("float32", "int32"), unsorted(f"UNSORTED_SEGMENT_{name}"), **TOLERANCE)
        for name in ("SUM", "PROD", "MAX", "MIN")
    ),
    Family("LOCAL_RESPONSE_NORMALIZATION", ("float32",), local_response, tflm=False, **TOLERANCE),
    Family("CUMSUM", ("float32", "int8", "int32", "int64"), cumsum, **TOLERANCE),
    Family("TOPK_V2", ("float32", "int8", "uint8", "int16", "int32", "int64"), top_k, expected=sorted_out),
    Family("ONE_HOT", MOVED, one_hot, moves=True, expected=hot),
    Family("L2_NORMALIZATION", ("float32", "int8"), l2_normalization, rtol=1e-6, atol=1e-6),
    Family("SOFTMAX", tuple(SOFTMAX_OUTPUT), softmax, **TOLERANCE),
    Family("LOG_SOFTMAX", ("float32", "int8"), log_softmax, **TOLERANCE),
    Family("FILL", MOVED, fill, moves=True, expected=lambda case, values: [filled(operands_of(case, values))]),
    Family("SHAPE", MOVED, shape, expected=lambda case, values: [np.array(operands_of(case, values)[0].shape)]),
    Family("RANK", MOVED, rank, expected=lambda case, values: [np.array(operands_of(case, values)[0].ndim)]),
    Family("BROADCAST_ARGS", ("int32", "int64"), broadcast_args),
    Family(
        "RANGE",
        ("float32", "int32", "int64"),
        range_,
        expected=lambda case, values: [ranged(operands_of(case, values))],
    ),
)
