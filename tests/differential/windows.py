"""Operators of StableHLO: windows that a function joins, updates in windows at listed places, and bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from support.differential import Family, Rng, Run, finished, shape_of
from support.kernel_harness import Array, Case, Tensor, constant, make_case, operands_of, tensor

from differential.elementwise import BITS, binary, shifts
from differential.movement import numpy_as

JOINED = ("float32", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FUNCTIONS: dict[int, Callable[[Array, Array], Array]] = {
    1: np.add,
    2: np.multiply,
    3: np.minimum,
    4: np.maximum,
    5: np.logical_and,
    6: np.logical_or,
}


def reduce_window(rng: Rng, dtype: str) -> Run:
    source = tensor(dtype, shape_of(rng, 1, 5, 6))
    shape = np.array(source.type.max_shape)
    window = rng.integers(1, np.minimum(shape, 3) + 1)
    dilations = np.where(rng.random(len(shape)) < 0.3, rng.integers(1, 4, len(shape)), 1)
    steps = rng.integers(1, 4, len(shape))
    initial = tensor(dtype, ()) if rng.random() < 0.5 else constant(dtype, rng.integers(0, 2))
    inputs = [source, initial, *(constant("int64", n) for n in (window, steps, dilations))]
    function = int(rng.integers(5, 7) if dtype == "bool" else rng.integers(1, 7))
    return finished(rng, make_case("REDUCE_WINDOW", inputs, [tensor(dtype, ())], {"reduce_function": function}))


def joined_windows(case: Case, values: list[Array | None]) -> list[Array]:
    source, initial, *numbers = operands_of(case, values)
    window, steps, dilations = ([int(n) for n in v] for v in numbers)
    result = np.empty(case.outputs[0].max_shape, source.dtype)
    function = FUNCTIONS[case.options["reduce_function"]]
    for at in np.ndindex(*result.shape):
        joined = initial.reshape(())
        for tap in np.ndindex(*window):
            place = np.multiply(at, steps) + np.multiply(tap, dilations)
            joined = function(joined, source[tuple(place)])
        result[at] = joined
    return [result]


def scatter(rng: Rng, dtype: str, scalars: bool = False) -> Run:
    """Points and windows in any order of dimensions; places out of range only above, where LiteRT looks.

    scalars  each index vector is one number, and has no dimension: LiteRT crashes
    """
    source = tensor(dtype, shape_of(rng, 1, 4))
    shape = source.type.max_shape
    inserted = sorted(int(d) for d in np.flatnonzero(rng.random(len(shape)) < 0.5))
    windows = [int(rng.integers(1, n + 1)) for d, n in enumerate(shape) if d not in inserted]
    points = shape_of(rng, 0, 2, 3)
    chosen = [int(d) for d in rng.permutation(len(shape))[: 1 if scalars else rng.integers(1, len(shape) + 1)]]
    axis = len(points) if scalars else int(rng.integers(len(points) + 1))
    vectors = points if scalars else (*points[:axis], len(chosen), *points[axis:])
    rank = len(points) + len(windows)
    places = sorted(int(d) for d in rng.permutation(rank)[: len(windows)])
    sizes, counts = iter(windows), iter(points)
    updates = tuple(next(sizes) if d in places else next(counts) for d in range(rank))
    kind = ("int32", "int64")[int(rng.integers(2))]
    options = {
        "update_window_dims": places,
        "inserted_window_dims": inserted,
        "scatter_dims_to_operand_dims": chosen,
        "index_vector_dim": axis,
        "reduce_function": 0 if dtype in ("float16", "bool") else int(rng.integers(5)),
    }
    case = make_case("STABLEHLO_SCATTER", [source, tensor(kind, vectors), tensor(dtype, updates)], [source], options)
    _, values = finished(rng, case)
    values[1] = np.asarray(rng.integers(0, max(shape) + 1, vectors), kind)
    return case, values


def scattered(case: Case, values: list[Array | None]) -> list[Array]:
    source, indices, updates = operands_of(case, values)
    options, result = case.options, source.copy()
    axis = options["index_vector_dim"]
    vectors = indices[..., None] if axis == indices.ndim else np.moveaxis(indices, axis, -1)
    along = [d for d in range(source.ndim) if d not in options["inserted_window_dims"]]
    for at in np.ndindex(*updates.shape):
        point = vectors[tuple(k for d, k in enumerate(at) if d not in options["update_window_dims"])]
        place = np.zeros(source.ndim, np.int64)
        place[options["scatter_dims_to_operand_dims"]] = point
        place[along] += np.array([at[k] for k in options["update_window_dims"]], np.int64)
        if (place >= 0).all() and (place < source.shape).all():
            function = FUNCTIONS.get(options["reduce_function"])
            result[tuple(place)] = function(result[tuple(place)], updates[at]) if function else updates[at]
    return [result]


def shift_left(rng: Rng, dtype: str) -> Run:
    case, values = shifts(rng, dtype)
    return make_case("STABLEHLO_SHIFT_LEFT", case.inputs, [Tensor(case.outputs[0])]), values


FAMILIES = (
    Family("STABLEHLO_AND", BITS[:-1], binary("STABLEHLO_AND", 4), expected=numpy_as(np.bitwise_and)),
    Family("STABLEHLO_SHIFT_LEFT", BITS[:-1], shift_left, expected=numpy_as(np.left_shift)),
    Family("REDUCE_WINDOW", (*JOINED, "bool"), reduce_window, expected=joined_windows, rtol=1e-5, atol=1e-5),
    Family("STABLEHLO_SCATTER", (*JOINED, "float16", "bool"), scatter, expected=scattered, rtol=1e-6),
    Family("STABLEHLO_SCATTER", JOINED, partial(scatter, scalars=True), litert=False, expected=scattered, rtol=1e-6),
)
