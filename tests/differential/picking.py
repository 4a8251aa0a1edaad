"""Operators that pick elements by indices or bounds, or put them there, in every type that has an address."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.differential import Family, Rng, Run, finished, shape_of, typed
from support.kernel_harness import Array, Case, Tensor, constant, make_case, operands_of, tensor
from support.litert import run_litert
from tflmgen.ir.types import DType, TensorType

from differential.movement import INDICES, index_type, like, moved, numpy_as


def slice_(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 1, 5))
    shape = np.array(source.type.max_shape)
    begin = np.array([rng.integers(0, d) for d in shape])
    size = np.array([rng.integers(1, d - b + 1) for d, b in zip(shape, begin, strict=True)])
    fixed = tuple(int(n) for n in size)
    kind = index_type(rng)
    if rng.random() < 0.3:
        inputs = [source, tensor("int32", (len(shape),)), constant(kind, size)]
        case = make_case("SLICE", inputs, [like(source, fixed)])
        _, values = finished(rng, case)
        return case, [values[0], begin.astype(np.int32), None]
    size = np.where(rng.random(len(shape)) < 0.2, -1, size)
    return finished(rng, make_case("SLICE", [source, constant(index_type(rng), begin), constant(kind, size)], [source]))


def _slice_from_anywhere(rng: Rng, source: Tensor) -> Run:
    """STRIDED_SLICE of bounds known at run time, of a size that is fixed; some dimensions are one element."""
    shape = source.type.max_shape
    begin = np.array([int(rng.integers(0, d)) for d in shape])
    size = np.array([int(rng.integers(1, d - b + 1)) for d, b in zip(shape, begin, strict=True)])
    shrunk = int(rng.integers(2 ** len(shape))) if rng.random() < 0.4 else 0
    kept = tuple(int(n) for i, n in enumerate(size) if not shrunk >> i & 1)
    bounds = [tensor("int32", begin.shape), tensor("int32", begin.shape)]
    inputs = [source, *bounds, constant("int32", np.ones(len(shape)))]
    case = make_case("STRIDED_SLICE", inputs, [like(source, kept)], {"shrink_axis_mask": shrunk})
    _, values = finished(rng, case)
    end = begin + size
    below = rng.random(len(shape)) < 0.2
    begin = np.where(below, begin - shape, begin)
    return case, [values[0], begin.astype(np.int32), end.astype(np.int32), None]


def strided_slice(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 1, 4))
    shape = source.type.max_shape
    steps = rng.choice([-2, -1, 1, 1, 1, 2, 3], len(shape))
    begin = [int(rng.integers(-d, d)) for d in shape]
    end = [int(rng.integers(-d - 1, d + 3)) for d in shape]
    if rng.random() < 0.25:
        return _slice_from_anywhere(rng, source)
    masks = {name: int(rng.integers(2 ** len(shape))) for name in ("begin_mask", "end_mask") if rng.random() < 0.5}
    if rng.random() < 0.3:
        masks["shrink_axis_mask"] = int(rng.integers(2 ** len(shape)))
        steps = np.where([masks["shrink_axis_mask"] >> i & 1 for i in range(len(shape))], 1, steps)
    inputs = [source, *(constant(index_type(rng), v) for v in (begin, end, steps))]
    case = make_case("STRIDED_SLICE", inputs, [source], masks)
    return finished(rng, case)


def cut_out(case: Case, values: list[Array | None]) -> list[Array]:
    """Python's own slices have TensorFlow's rules."""
    x, begin, end, steps = operands_of(case, values)
    cuts: list[Any] = []
    for i, (b, e, s) in enumerate(zip(begin.tolist(), end.tolist(), steps.tolist(), strict=True)):
        if case.options.get("shrink_axis_mask", 0) >> i & 1:
            cuts.append(b)
            continue
        first = None if case.options.get("begin_mask", 0) >> i & 1 else b
        cuts.append(slice(first, None if case.options.get("end_mask", 0) >> i & 1 else e, s))
    return [np.ascontiguousarray(x[tuple(cuts)]).reshape(case.outputs[0].max_shape)]


def gather(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 1, 4))
    rank = len(source.type.shape)
    axis = int(rng.integers(rank))
    batches = int(rng.integers(0, axis + 1)) if rng.random() < 0.3 else 0
    picked = (*source.type.max_shape[:batches], *shape_of(rng, 0, 2, 4))
    kind = INDICES[int(rng.integers(3))]
    options = {"axis": axis - rank if rng.random() < 0.3 else axis, "batch_dims": batches}
    if 0 < batches < len(picked) and rng.random() < 0.5:
        options["batch_dims"] -= len(picked)
    indices = rng.integers(0, source.type.max_shape[axis], picked).astype(kind)
    fixed = constant(kind, indices) if rng.random() < 0.3 else tensor(kind, picked)
    case = make_case("GATHER", [source, fixed], [source], options)
    _, values = finished(rng, case)
    return case, [values[0], None if fixed.data is not None else np.asarray(indices)]


def gathered(x: Array, indices: Array, axis: int, batch_dims: int) -> Array:
    axis, batch_dims = axis % x.ndim, batch_dims + (indices.ndim if batch_dims < 0 else 0)
    if not batch_dims:
        return np.take(x, indices, axis)
    return np.stack([gathered(a, i, axis - 1, batch_dims - 1) for a, i in zip(x, indices, strict=True)])


def gather_nd(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 1, 4))
    depth = int(rng.integers(1, len(source.type.shape) + 1))
    points = shape_of(rng, 1, 2, 4)
    kind = INDICES[int(rng.integers(3))]
    case = make_case("GATHER_ND", [source, tensor(kind, (*points, depth))], [source])
    _, values = finished(rng, case)
    picks = np.stack([rng.integers(0, d, points) for d in source.type.max_shape[:depth]], -1)
    return case, [values[0], picks.astype(kind)]


def scatter_nd(rng: Rng, dtype: str) -> Run:
    result = typed(rng, dtype, shape_of(rng, 1, 4))
    shape = result.type.max_shape
    depth, points = int(rng.integers(1, len(shape) + 1)), int(rng.integers(1, 5))
    places = rng.permutation(int(np.prod(shape[:depth])))[:points]
    picks = np.stack(np.unravel_index(places, shape[:depth]), -1).astype(np.int32)
    updates = like(result, (len(places), *shape[depth:]))
    case = make_case("SCATTER_ND", [tensor("int32", picks.shape), updates, constant("int32", shape)], [result])
    _, values = finished(rng, case)
    return case, [picks, values[1], None]


def scattered(case: Case, values: list[Array | None]) -> list[Array]:
    picks, updates, shape = operands_of(case, values)
    result = np.zeros(shape, updates.dtype)
    result[tuple(picks.T)] = updates
    return [result]


def embedding_lookup(rng: Rng, dtype: str) -> Run:
    table = typed(rng, dtype, shape_of(rng, 2, 4))
    count = int(rng.integers(1, 6))
    case = make_case("EMBEDDING_LOOKUP", [tensor("int32", (count,)), table], [table])
    _, values = finished(rng, case)
    return case, [rng.integers(0, table.type.max_shape[0], count).astype(np.int32), values[1]]


def update_slice(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 1, 5))
    shape = source.type.max_shape
    small = tuple(int(rng.integers(1, d + 1)) for d in shape)
    kind = index_type(rng)
    case = make_case("DYNAMIC_UPDATE_SLICE", [source, like(source, small), tensor(kind, (len(shape),))], [source])
    _, values = finished(rng, case)
    return case, [*values[:2], rng.integers(-2, 6, len(shape)).astype(kind)]


def updated(x: Array, update: Array, begin: Array) -> Array:
    result = x.copy()
    start = np.clip(begin, 0, np.array(x.shape) - update.shape)
    result[tuple(slice(b, b + n) for b, n in zip(start, update.shape, strict=True))] = update
    return result


def resize_nearest(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, tuple(int(d) for d in rng.integers(1, 7, 4)))
    sampling: dict[str, bool] = [{}, {"align_corners": True}, {"half_pixel_centers": True}][int(rng.integers(3))]
    inputs = [source, constant("int32", rng.integers(1, 9, 2))]
    return finished(rng, make_case("RESIZE_NEAREST_NEIGHBOR", inputs, [source], sampling))


def sparse_to_dense(rng: Rng, dtype: str) -> Run:
    result = typed(rng, dtype, shape_of(rng, 1, 4))
    shape = result.type.max_shape
    count = int(rng.integers(1, 6))
    places = rng.permutation(int(np.prod(shape)))[:count]
    picks = np.stack(np.unravel_index(places, shape), -1)
    kind = index_type(rng)
    picks = picks.reshape(-1) if len(shape) == 1 and rng.random() < 0.5 else picks
    values = like(result, (len(places),) if rng.random() < 0.7 else ())
    inputs = [tensor(kind, picks.shape), constant(index_type(rng), shape), values, like(result, ())]
    case = make_case("SPARSE_TO_DENSE", inputs, [result], {"validate_indices": False})
    _, drawn = finished(rng, case)
    return case, [picks.astype(kind), None, *drawn[2:]]


def dense(places: Array, shape: Array, values: Array, default: Array, **_: Any) -> Array:
    result = np.full(shape, default, values.dtype)
    result[tuple(places.reshape(-1, len(shape)).T)] = values
    return result


def bucketize(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 0, 3))
    boundaries = tuple(float(v) for v in np.sort(rng.normal(0, 2, int(rng.integers(1, 12))).astype(np.float32)))
    case = make_case("BUCKETIZE", [source], [tensor("int32", source.type.max_shape)], {"boundaries": boundaries})
    _, values = finished(rng, case, odd=0.2)
    if dtype != "float32":
        values[0] = rng.integers(-4, 5, source.type.max_shape).astype(dtype)
    return case, values


def where(rng: Rng, dtype: str) -> Run:
    """Of a constant, whose places are known; those of the run time are in whole models (host/test_found_rows.py)."""
    shape = shape_of(rng, 1, 4)
    values = rng.integers(0, 2, shape) if dtype == "bool" else rng.integers(0, 3, shape)
    values.reshape(-1)[rng.integers(values.size)] = 1
    case = make_case("WHERE", [constant(dtype, values)], [tensor("int64", np.argwhere(values).shape)])
    return case, [None]


def unique(rng: Rng, dtype: str) -> Run:
    source = constant(dtype, rng.integers(0, 4, int(rng.integers(1, 12))), *((0.5, 1) if dtype in QUANTIZED else ()))
    assert source.data is not None
    rows = Tensor(source.type.with_shape(np.unique(source.data).shape))
    kind = index_type(rng)
    options = {"idx_out_type": 2 if kind == "int32" else 4}
    case = make_case("UNIQUE", [source], [rows, tensor(kind, source.type.max_shape)], options)
    return case, [None]


QUANTIZED = ("int8", "uint8", "int16")


def boxes(rng: Rng, dtype: str, sigma: bool) -> Run:
    count, capacity = int(rng.integers(1, 20)), int(rng.integers(1, 12))
    thresholds = [constant(dtype, rng.uniform(0.2, 0.9)), constant(dtype, rng.uniform(0, 0.5))]
    inputs = [tensor(dtype, (count, 4)), tensor(dtype, (count,)), constant("int32", capacity), *thresholds]
    outputs = [tensor("int32", (capacity,)), tensor("int32", ())]
    if sigma:
        inputs.append(constant(dtype, rng.uniform(0, 1) if rng.random() < 0.7 else 0.0))
        outputs.insert(1, tensor(dtype, (capacity,)))
    case = make_case(f"NON_MAX_SUPPRESSION_V{5 if sigma else 4}", inputs, outputs)
    corners = rng.uniform(0, 1, (count, 4)).astype(np.float32)
    scores = rng.permutation(np.linspace(0, 1, count)).astype(np.float32)
    return case, [corners, scores, *[None] * (len(inputs) - 2)]


def by_number(case: Case, values: list[Array | None]) -> list[Array]:
    """For types that references refuse: where they put the elements' numbers."""
    source, *rest = case.inputs
    assert source is not None
    assert values[0] is not None
    kind, shape = DType.INT32, source.type.max_shape
    numbers = np.arange(values[0].size, dtype=np.int32).reshape(shape)
    outputs = tuple(TensorType(kind, t.shape) for t in case.outputs)
    changed = Case(case.operator, (Tensor(TensorType(kind, shape)), *rest), outputs, case.options)
    return [np.take(values[0], n) for n in run_litert(changed, [numbers, *values[1:]])]


FAMILIES = (
    moved(
        "SLICE",
        slice_,
        numpy_as(lambda x, b, n: x[tuple(slice(i, None if k < 0 else i + k) for i, k in zip(b, n, strict=True))]),
    ),
    moved("STRIDED_SLICE", strided_slice, cut_out),
    moved("GATHER", gather, numpy_as(gathered)),
    moved("GATHER_ND", gather_nd, numpy_as(lambda x, i: x[tuple(np.moveaxis(i, -1, 0))])),
    Family(
        "SCATTER_ND",
        ("float32", "int8", "uint8", "int16", "int32", "int64", "bool"),
        scatter_nd,
        moves=True,
        expected=scattered,
    ),
    moved("EMBEDDING_LOOKUP", embedding_lookup, numpy_as(lambda i, x: x[i])),
    moved("DYNAMIC_UPDATE_SLICE", update_slice, numpy_as(updated)),
    moved("SPARSE_TO_DENSE", sparse_to_dense, numpy_as(dense)),
    Family("BUCKETIZE", ("float32", "int32", "int64"), bucketize),
    Family("WHERE", ("bool", "float32", "int8", "uint8", "int32", "uint32", "int64"), where),
    Family("UNIQUE", ("float32", "int8", "uint8", "int16", "int32", "int64"), unique),
    Family("NON_MAX_SUPPRESSION_V4", ("float32",), lambda rng, dtype: boxes(rng, dtype, sigma=False)),
    Family("NON_MAX_SUPPRESSION_V5", ("float32",), lambda rng, dtype: boxes(rng, dtype, sigma=True), rtol=1e-5),
    moved("RESIZE_NEAREST_NEIGHBOR", resize_nearest, by_number),
)
