"""HASHTABLE_LOOKUP and EMBEDDING_LOOKUP_SPARSE: rows by key, and weighted sums of rows."""

from __future__ import annotations

import numpy as np
from support.differential import Family, Rng, Run, shape_of, typed
from support.kernel_harness import constant, make_case, random_values, tensor


def hashtable_lookup(rng: Rng, dtype: str) -> Run:
    keys = np.unique(rng.integers(-20, 20, int(rng.integers(1, 12)))).astype(np.int32)
    table = typed(rng, dtype, (len(keys), *shape_of(rng, 1, 3)))
    queries = tensor("int32", (int(rng.integers(1, 9)),))
    held = constant("int32", keys) if rng.random() < 0.5 else tensor("int32", keys.shape)
    case = make_case("HASHTABLE_LOOKUP", [queries, held, table], [table, tensor("uint8", ())])
    values = random_values(case, rng)
    values[0] = rng.integers(-22, 22, queries.type.max_shape).astype(np.int32)
    values[1] = None if held.data is not None else keys
    return case, values


def embedding_lookup_sparse(rng: Rng, dtype: str) -> Run:
    """Entries in the order of their examples, some of which have none."""
    shape = [int(d) for d in rng.integers(1, 4, int(rng.integers(1, 4)))]
    count = int(rng.integers(1, 8))
    places = np.stack([rng.integers(0, d, count) for d in shape], axis=1).astype(np.int32)
    places = places[np.lexsort(places.T[::-1])]
    rows = int(rng.integers(1, 6))
    table = tensor(dtype, (rows, *shape_of(rng, 1, 2)))
    inputs = [tensor("int32", (count,)), tensor("int32", places.shape), constant("int32", shape)]
    options = {"combiner": int(rng.integers(3))}
    case = make_case("EMBEDDING_LOOKUP_SPARSE", [*inputs, tensor(dtype, (count,)), table], [table], options)
    values = random_values(case, rng)
    values[0], values[1] = rng.integers(0, rows, count).astype(np.int32), places
    values[3] = rng.uniform(0.5, 2, count).astype(np.float32)
    return case, values


MOVABLE = ["float32", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"]

FAMILIES = (
    Family("HASHTABLE_LOOKUP", tuple(MOVABLE), hashtable_lookup, tflm=False, moves=True),
    Family("EMBEDDING_LOOKUP_SPARSE", ("float32",), embedding_lookup_sparse, tflm=False, rtol=1e-5, atol=1e-5),
)
