"""Operators that move elements without looking at them, in every type that has an address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from support.differential import Family, Rng, Run, finished, shape_of, typed
from support.kernel_harness import Array, Case, Tensor, constant, make_case, operands_of

Expected = Callable[[Case, list[Array | None]], list[Array]]
MOVED = ("float32", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")


INDICES = ("int32", "int64", "int16", "int8")


def index_type(rng: Rng) -> str:
    return "int32" if rng.random() < 0.5 else "int64"


def like(item: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A tensor of the same type and quantisation."""
    return Tensor(item.type.with_shape(shape))


def any_axis(rng: Rng, rank: int) -> int:
    return int(rng.integers(-rank, rank))


def numpy_as(function: Callable[..., Any]) -> Expected:
    """The outputs that NumPy makes of the operands and the options."""

    def expected(case: Case, values: list[Array | None]) -> list[Array]:
        result = function(*operands_of(case, values), **case.options)
        arrays = result if isinstance(result, list) else [result]
        pairs = zip(arrays, case.outputs, strict=True)
        return [np.ascontiguousarray(a, t.dtype.numpy).reshape(t.max_shape) for a, t in pairs]

    return expected


def concatenation(rng: Rng, dtype: str) -> Run:
    first = typed(rng, dtype, shape_of(rng, 1, 5, 4))
    axis = any_axis(rng, len(first.type.shape))
    items = [first]
    for _ in range(int(rng.integers(0, 6))):
        shape = list(first.type.max_shape)
        shape[axis] = int(rng.integers(1, 6))
        items.append(like(first, tuple(shape)))
    return finished(rng, make_case("CONCATENATION", items, [first], {"axis": axis}))


def pack(rng: Rng, dtype: str) -> Run:
    first, count = typed(rng, dtype, shape_of(rng, 0, 4)), int(rng.integers(1, 6))
    axis = any_axis(rng, len(first.type.shape) + 1)
    return finished(rng, make_case("PACK", [first] * count, [first], {"axis": axis, "values_count": count}))


def unpack(rng: Rng, dtype: str) -> Run:
    shape = list(shape_of(rng, 1, 4))
    axis = any_axis(rng, len(shape))
    source = typed(rng, dtype, shape)
    return finished(rng, make_case("UNPACK", [source], [source] * shape[axis], {"axis": axis, "num": shape[axis]}))


def split(rng: Rng, dtype: str) -> Run:
    shape, parts = list(shape_of(rng, 1, 4)), int(rng.integers(1, 5))
    axis = any_axis(rng, len(shape))
    shape[axis] *= parts
    source = typed(rng, dtype, shape)
    number = constant(index_type(rng), axis if rng.random() < 0.5 else [axis])
    return finished(rng, make_case("SPLIT", [number, source], [source] * parts, {"num_splits": parts}))


def split_v(rng: Rng, dtype: str) -> Run:
    shape, parts = list(shape_of(rng, 1, 4)), int(rng.integers(1, 5))
    axis = any_axis(rng, len(shape))
    sizes = rng.integers(1, 5, parts)
    shape[axis] = int(sizes.sum())
    if rng.random() < 0.3:
        sizes[rng.integers(parts)] = -1
    source = typed(rng, dtype, shape)
    inputs = [source, constant(index_type(rng), sizes), constant(index_type(rng), axis)]
    return finished(rng, make_case("SPLIT_V", inputs, [source] * parts, {"num_splits": parts}))


def cut(x: Array, sizes: Array, axis: Array, num_splits: int) -> list[Array]:
    del num_splits
    rest = x.shape[axis.item()] - sizes[sizes >= 0].sum()
    return np.split(x, np.cumsum(np.where(sizes < 0, rest, sizes))[:-1], axis.item())


def reshape(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 0, 5))
    wanted = list(rng.permutation(source.type.max_shape)) + [1] * int(rng.integers(0, 2))
    shape = tuple(int(d) for d in wanted)
    if wanted and rng.random() < 0.4:
        wanted[rng.integers(len(wanted))] = -1
    inputs = [source, constant(index_type(rng), wanted)]
    return finished(rng, make_case("RESHAPE", inputs, [like(source, shape)], {"new_shape": tuple(wanted)}))


def squeeze(rng: Rng, dtype: str) -> Run:
    shape = tuple(1 if rng.random() < 0.5 else d for d in shape_of(rng, 1, 5))
    unit_axes = [i for i, d in enumerate(shape) if d == 1]
    chosen = [i - len(shape) * int(rng.integers(2)) for i in unit_axes if rng.random() < 0.6]
    source = typed(rng, dtype, shape)
    return finished(rng, make_case("SQUEEZE", [source], [source], {"squeeze_dims": tuple(chosen)}))


def expand_dims(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 0, 4))
    axis = constant(index_type(rng), any_axis(rng, len(source.type.shape) + 1))
    return finished(rng, make_case("EXPAND_DIMS", [source, axis], [source]))


def transpose(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 1, 6, 4))
    order = rng.permutation(len(source.type.shape))
    return finished(rng, make_case("TRANSPOSE", [source, constant(index_type(rng), order)], [source]))


def reverse(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 1, 5))
    rank = len(source.type.shape)
    axes = rng.permutation(rank)[: int(rng.integers(1, rank + 1))]
    axes = np.where(rng.random(axes.shape) < 0.3, axes - rank, axes)
    return finished(rng, make_case("REVERSE_V2", [source, constant(index_type(rng), axes)], [source]))


def broadcast_to(rng: Rng, dtype: str) -> Run:
    shape = shape_of(rng, 1, 5, 4)
    kept = shape[int(rng.integers(0, len(shape) + 1)) :]
    source = typed(rng, dtype, tuple(1 if rng.random() < 0.4 else d for d in kept))
    return finished(rng, make_case("BROADCAST_TO", [source, constant(index_type(rng), shape)], [source]))


def tile(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 1, 4, 4))
    multiples = rng.integers(0 if rng.random() < 0.1 else 1, 4, len(source.type.shape))
    return finished(rng, make_case("TILE", [source, constant(index_type(rng), multiples)], [source]))


def blocks(operator: str) -> Callable[[Rng, str], Run]:
    def make(rng: Rng, dtype: str) -> Run:
        n, h, w, c = (int(d) for d in rng.integers(1, 4, 4))
        size = int(rng.integers(1, 4))
        shape = (n, h, w, c * size * size) if operator == "DEPTH_TO_SPACE" else (n, h * size, w * size, c)
        source = typed(rng, dtype, shape)
        return finished(rng, make_case(operator, [source], [source], {"block_size": size}))

    return make


def depth_to_space(x: Array, block_size: int) -> Array:
    n, h, w, c = x.shape
    cut_up = x.reshape(n, h, w, block_size, block_size, c // block_size**2)
    return cut_up.transpose(0, 1, 3, 2, 4, 5).reshape(n, h * block_size, w * block_size, -1)


def space_to_depth(x: Array, block_size: int) -> Array:
    n, h, w, c = x.shape
    cut_up = x.reshape(n, h // block_size, block_size, w // block_size, block_size, c)
    return cut_up.transpose(0, 1, 3, 2, 4, 5).reshape(n, h // block_size, w // block_size, -1)


def space_to_batch(rng: Rng, dtype: str) -> Run:
    dims = int(rng.integers(1, 3))
    block = rng.integers(1, 4, dims)
    table = rng.integers(0, 3, (dims, 2))
    inner = [int(-p.sum() % b + b * rng.integers(1, 3)) for p, b in zip(table, block, strict=True)]
    source = typed(rng, dtype, (int(rng.integers(1, 3)), *inner, int(rng.integers(1, 4))))
    inputs = [source, constant(index_type(rng), block), constant(index_type(rng), table)]
    return finished(rng, make_case("SPACE_TO_BATCH_ND", inputs, [source]))


def batch_to_space(rng: Rng, dtype: str) -> Run:
    dims = int(rng.integers(1, 3))
    block = rng.integers(1, 4, dims)
    inner = rng.integers(1, 4, dims)
    table = np.array([[rng.integers(0, (b * d + 1) // 2) for _ in "ab"] for b, d in zip(block, inner, strict=True)])
    shape = (int(rng.integers(1, 3)) * int(block.prod()), *(int(d) for d in inner), int(rng.integers(1, 4)))
    source = typed(rng, dtype, shape)
    inputs = [source, constant(index_type(rng), block), constant(index_type(rng), table)]
    return finished(rng, make_case("BATCH_TO_SPACE_ND", inputs, [source]))


def zero_of(case: Case) -> int:
    q = case.outputs[0].quantization
    return q.zero_point if q else 0


def batches_of_space(case: Case, values: list[Array | None]) -> list[Array]:
    x, block, table = operands_of(case, values)
    rest = x.ndim - 1 - len(block)
    padded = np.pad(x, [(0, 0), *table, *[(0, 0)] * rest], constant_values=zero_of(case))
    shape = [padded.shape[0]]
    for extent, size in zip(padded.shape[1:], block, strict=False):
        shape += [extent // size, int(size)]
    whole = padded.reshape(*shape, *padded.shape[1 + len(block) :])
    count = len(block)
    order = [*(2 + 2 * i for i in range(count)), 0, *(1 + 2 * i for i in range(count))]
    moved = whole.transpose(*order, *range(2 * count + 1, whole.ndim))
    return [np.ascontiguousarray(moved).reshape(case.outputs[0].max_shape)]


def pad(operator: str) -> Callable[[Rng, str], Run]:
    def make(rng: Rng, dtype: str) -> Run:
        source = typed(rng, dtype, shape_of(rng, 1, 5, 4))
        table = rng.integers(0, 4, (len(source.type.shape), 2)) * (rng.random((len(source.type.shape), 2)) < 0.7)
        inputs = [source, constant(INDICES[int(rng.integers(4))], table)]
        if operator == "PADV2":
            inputs.append(like(source, ()))
        return finished(rng, make_case(operator, inputs, [source]))

    return make


def padded(case: Case, values: list[Array | None]) -> list[Array]:
    x, table, *value = operands_of(case, values)
    return [np.pad(x, table, constant_values=value[0].item() if value else zero_of(case))]


def mirror_pad(rng: Rng, dtype: str) -> Run:
    source, mode = typed(rng, dtype, shape_of(rng, 1, 5)), int(rng.integers(2))
    largest = [d + mode for d in source.type.max_shape]
    table = [[int(rng.integers(0, min(m, 4))) for _ in "ab"] for m in largest]
    return finished(rng, make_case("MIRROR_PAD", [source, constant(index_type(rng), table)], [source], {"mode": mode}))


def matrix_diag(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 1, 4))
    return finished(rng, make_case("MATRIX_DIAG", [source], [source]))


def diagonal_matrices(x: Array) -> Array:
    matrices: Array = x[..., None] * np.eye(x.shape[-1], dtype=x.dtype)
    return matrices


def matrix_set_diag(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 2, 4))
    *batches, rows, columns = source.type.max_shape
    diagonal = like(source, (*batches, min(rows, columns)))
    return finished(rng, make_case("MATRIX_SET_DIAG", [source, diagonal], [source]))


def with_diagonal(x: Array, diagonal: Array) -> Array:
    result, places = x.copy(), np.arange(diagonal.shape[-1])
    result[..., places, places] = diagonal
    return result


def reverse_sequence(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 2, 5))
    shape = source.type.max_shape
    steps, batch = (int(axis) for axis in rng.permutation(len(shape))[:2])
    kind = index_type(rng)
    lengths = rng.integers(0, shape[steps] + 1, shape[batch]).astype(kind)
    fixed = constant(kind, lengths) if rng.random() < 0.3 else Tensor(constant(kind, lengths).type)
    options = {"seq_dim": steps, "batch_dim": batch}
    case = make_case("REVERSE_SEQUENCE", [source, fixed], [source], options)
    _, values = finished(rng, case)
    return case, [values[0], None if fixed.data is not None else lengths]


def reversed_sequences(x: Array, lengths: Array, seq_dim: int, batch_dim: int) -> Array:
    rows = np.moveaxis(x, (batch_dim, seq_dim), (0, 1)).copy()
    for row, length in zip(rows, lengths.tolist(), strict=True):
        row[:length] = row[:length][::-1].copy()
    return np.moveaxis(rows, (0, 1), (batch_dim, seq_dim))


def bitcast(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng, 1, 3))
    bits = source.type.dtype.bits
    other = str(rng.choice([kind for kind in MOVED if kind != "bool"]))
    wide = constant(other, np.zeros(1)).type.dtype.bits
    shape = source.type.max_shape
    if wide > bits:
        source = like(source, (*shape[:-1], wide // bits))
    return finished(rng, make_case("BITCAST", [source], [Tensor(constant(other, np.zeros(1)).type)]))


def moved(name: str, make: Callable[[Rng, str], Run], expected: Expected | None, **options: Any) -> Family:
    return Family(name, MOVED, make, moves=True, expected=expected, **options)


DIAGONALS = ("float32", "int8", "uint8", "int16", "int32", "int64")
"""Types of LiteRT's kernels; of others it takes elements for floats, and writes beyond the tensor."""

FAMILIES = (
    moved("CONCATENATION", concatenation, numpy_as(lambda *x, axis: np.concatenate(x, axis))),
    moved("PACK", pack, numpy_as(lambda *x, axis, **_: np.stack(x, axis))),
    moved("UNPACK", unpack, numpy_as(lambda x, axis, num: [np.take(x, i, axis) for i in range(num)])),
    moved("SPLIT", split, numpy_as(lambda axis, x, num_splits: np.split(x, num_splits, axis.item()))),
    moved("SPLIT_V", split_v, numpy_as(cut)),
    moved("RESHAPE", reshape, numpy_as(lambda x, shape, **_: x.reshape(shape))),
    moved("SQUEEZE", squeeze, numpy_as(lambda x, **_: x)),
    moved("EXPAND_DIMS", expand_dims, numpy_as(lambda x, axis: np.expand_dims(x, axis.item()))),
    moved("TRANSPOSE", transpose, numpy_as(np.transpose)),
    moved("REVERSE_V2", reverse, numpy_as(lambda x, axes: np.flip(x, tuple(axes)))),
    moved("BROADCAST_TO", broadcast_to, numpy_as(lambda x, shape: np.broadcast_to(x, shape))),
    moved("TILE", tile, numpy_as(np.tile)),
    moved("DEPTH_TO_SPACE", blocks("DEPTH_TO_SPACE"), numpy_as(depth_to_space)),
    moved("SPACE_TO_DEPTH", blocks("SPACE_TO_DEPTH"), numpy_as(space_to_depth)),
    # TFLite Micro pads with what its memory holds (Operator.fault); LiteRT with the zero point.
    moved("SPACE_TO_BATCH_ND", space_to_batch, batches_of_space, tflm=False, litert=False),
    moved("BATCH_TO_SPACE_ND", batch_to_space, None),
    moved("PAD", pad("PAD"), padded),
    moved("PADV2", pad("PADV2"), padded),
    *(
        Family(name, types, make, tflm=False, litert=types is DIAGONALS, expected=numpy_as(function))
        for name, make, function in (
            ("MATRIX_DIAG", matrix_diag, diagonal_matrices),
            ("MATRIX_SET_DIAG", matrix_set_diag, with_diagonal),
        )
        for types in (DIAGONALS, tuple(kind for kind in MOVED if kind not in DIAGONALS))
    ),
    moved("REVERSE_SEQUENCE", reverse_sequence, numpy_as(reversed_sequences)),
    Family("BITCAST", tuple(kind for kind in MOVED if kind != "bool"), bitcast),
    moved("MIRROR_PAD", mirror_pad, numpy_as(lambda x, t, mode: np.pad(x, t, ("reflect", "symmetric")[mode]))),
)
