"""Constants that a file stores in sparse form, as dense ones.

The schema's SparsityParameters follow TACO (Kjolstad et al., "The Tensor Algebra Compiler", 2017): the dimensions, and
behind them those inside of blocks, are stored level by level in `traversal_order`. A dense level has every index, a
sparse one lists indices: those below entry p of the level before are entries segments[p] to segments[p + 1].
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.tflite.problems import Complain, ProblemList
from tflmgen.ir import DType

DENSE_ELEMENTS = 1 << 25
"""Most elements that the sparse constants of a file may have together in dense form: no board has flash for more."""
_SPARSE = 1
"""DimensionMetadata.format of a level that lists its indices."""


class _SparsityError(Exception):
    """The levels contradict each other or the shape, for the reason in the text."""


def check_dense_size(subgraphs: Sequence[Mapping[str, Any]], problems: ProblemList) -> None:
    """Reports a file whose sparse constants would take too much memory in dense form, before any of them has it."""
    sparse = [tensor for graph in subgraphs for tensor in graph["tensors"] if tensor["sparsity"] is not None]
    elements = sum(math.prod(max(dim, 0) for dim in tensor["shape"]) for tensor in sparse)
    if elements > DENSE_ELEMENTS:
        problems.add(f"its sparse constants have {elements:,} elements; at most {DENSE_ELEMENTS:,} are supported")
        problems.raise_if_any()


def dense_contents(
    sparsity: Mapping[str, Any], shape: tuple[int, ...], dtype: DType, data: bytes, complain: Complain
) -> bytes | None:
    """Contents of the dense form, zeros where nothing is stored. Reports what is wrong, and returns None then."""
    if dtype.bits % 8:
        complain("it is stored in sparse form, which is supported for elements of whole bytes")
        return None
    try:
        values = np.frombuffer(data, dtype.numpy)
        places = _places(sparsity, shape, len(values))
        if len(places) != len(values):
            raise _SparsityError(f"its sparse form has {len(values)} elements for {len(places)} places")
    except (_SparsityError, ValueError, IndexError) as error:
        complain(f"its sparse form is damaged: {error}")
        return None
    dense = np.zeros(math.prod(shape), dtype.numpy)
    dense[places] = values
    return dense.tobytes()


def _places(sparsity: Mapping[str, Any], shape: tuple[int, ...], stored: int) -> NDArray[np.int64]:
    """Place in the dense form of each of the `stored` elements, in their order."""
    order = [int(dim) for dim in sparsity["traversal_order"] or ()]
    block_map = [int(dim) for dim in sparsity["block_map"] or ()]
    levels: Sequence[Mapping[str, Any]] = sparsity["dim_metadata"] or ()
    rank = len(shape)
    if sorted(order) != list(range(rank + len(block_map))) or len(levels) != len(order) or len(levels) < rank:
        raise _SparsityError("the order of its dimensions is none")
    if any(not 0 <= dim < rank for dim in block_map) or len(set(block_map)) < len(block_map):
        raise _SparsityError("its blocks are along dimensions that it does not have")
    blocks = {rank + i: levels[order.index(rank + i)]["dense_size"] for i in range(len(block_map))}
    sizes = list(shape)
    for block, dim in enumerate(block_map):
        size = blocks[rank + block]
        if size < 1 or sizes[dim] % size:
            raise _SparsityError(f"blocks of {size} do not divide a dimension of {sizes[dim]}")
        sizes[dim] //= size
    sizes += blocks.values()
    # Entries are elements, or have segments in the file, so that a small file takes little work.
    most_entries = max(stored, *(len(_numbers(level["array_segments"])) for level in levels))
    entries, indices = np.zeros(1, np.int64), np.zeros((1, len(order)), np.int64)
    for dim, level in zip(order, levels, strict=True):
        if level["format"] != _SPARSE and len(entries) * sizes[dim] > most_entries:
            raise _SparsityError(f"it has only {stored} elements")
        entries, parents, added = _entries(level, entries, sizes[dim])
        indices = indices[parents]
        indices[:, dim] = added
    places = indices[:, :rank]
    for block, dim in enumerate(block_map):
        places[:, dim] = places[:, dim] * sizes[rank + block] + indices[:, rank + block]
    strides = [math.prod(shape[axis + 1 :]) for axis in range(rank)]
    return np.asarray(places @ np.array(strides, np.int64))


def _entries(
    level: Mapping[str, Any], entries: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Entries of a level, for each the place of the entry above it in `entries`, and its index, less than `size`."""
    above = np.arange(len(entries))
    if level["format"] != _SPARSE:
        if level["dense_size"] != size:
            raise _SparsityError(f"a dense dimension has {level['dense_size']} elements in place of {size}")
        added = np.arange(size)
        return (entries[:, None] * size + added).reshape(-1), np.repeat(above, size), np.tile(added, len(entries))
    segments, listed = (_numbers(level[name]) for name in ("array_segments", "array_indices"))
    begins, ends = segments[entries], segments[entries + 1]
    counts = ends - begins
    if (counts < 0).any() or (begins < 0).any() or (ends > len(listed)).any():
        raise _SparsityError("its segments are not in order")
    starts = np.cumsum(counts) - counts
    below = np.arange(counts.sum()) + np.repeat(begins - starts, counts)
    added = listed[below]
    if ((added < 0) | (added >= size)).any():
        raise _SparsityError(f"an index is not below {size}")
    return below, np.repeat(above, counts), added


def _numbers(vector: Mapping[str, Any] | None) -> NDArray[np.int64]:
    values = () if vector is None else vector["values"]
    return np.array(list(values or ()), np.int64)
