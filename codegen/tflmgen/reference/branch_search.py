"""A search for inputs that take the other side of an If, Case or While, guided by how far comparisons are from it.

A run tells of each comparison by how much its operands differ. A later candidate starts from the run that came nearest
to the other outcome: along the secant through two runs, as root finding does, or by changes of one input or element, as
search-based testing does (McMinn, Search-based software test data generation, 2004)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tflmgen.frontend.tflite import Model
from tflmgen.ir import DType, TensorType
from tflmgen.reference.operation import Array


def branches_of(model: Model, entries: Sequence[int]) -> Iterator[tuple[tuple[int, int], int]]:
    """((subgraph, operator), number of branches) of each If, Case and While that can be reached."""
    pending, seen = list(entries), set(entries)
    while pending:
        subgraph = model.subgraphs[pending.pop()]
        for op in subgraph.operators:
            options = op.options or {}
            if op.name in ("IF", "WHILE", "STABLEHLO_WHILE"):
                yield (subgraph.index, op.index), 2
            if op.name == "STABLEHLO_CASE":
                yield (subgraph.index, op.index), len(options["branch_subgraph_indices"])
            callees = [v for k, v in options.items() if k.endswith("subgraph_index") and k != "init_subgraph_index"]
            callees += list(options.get("branch_subgraph_indices") or ())
            callees += [options["subgraph"]] if op.name == "CALL" else []
            for callee in callees:
                if callee not in seen:
                    seen.add(callee)
                    pending.append(callee)


Place = tuple[int, ...]
"""(subgraph, operator) of a comparison, or (subgraph, operator, branch) of a Case."""
Margins = Mapping[Place, tuple[float, float]]
"""Least and greatest difference of the operands at each place that a run has met; 0 where they are equal."""
Point = tuple[float, tuple[Array, ...]]
"""A signed difference, and the inputs that gave it."""

KEPT = 4
"""Runs that are remembered of each comparison: the nearest ones."""


class BranchSearch:
    """Search for inputs that take branches not taken yet, from the margins of the runs so far."""

    def __init__(self) -> None:
        self._points: dict[Place, list[Point]] = {}
        self._crossed: set[Place] = set()

    def learn(self, arrays: tuple[Array, ...], margins: Margins) -> None:
        """Takes note of a run."""
        for place, (low, high) in margins.items():
            nearest = low if abs(low) < abs(high) else high
            points = self._points.setdefault(place, [])
            points.append((nearest, arrays))
            points.sort(key=lambda point: abs(point[0]))
            if (points[0][0] < 0 or low < 0) and any(d > 0 for d in (high, *(d for d, _ in points))):
                self._crossed.add(place)
            del points[KEPT:]

    def candidate(self, types: Sequence[TensorType], rng: np.random.Generator) -> tuple[Array, ...] | None:
        """Inputs that may take another side; None where no comparison says anything."""
        places = [place for place in self._points if place not in self._crossed] or list(self._points)
        if not places:
            return None
        points = self._points[places[int(rng.integers(len(places)))]]
        difference, arrays = points[int(rng.integers(len(points)))]
        shapes = [array.shape for array in arrays]
        others = [p for p in points if p[0] != difference and [array.shape for array in p[1]] == shapes]
        if others and rng.random() < 0.5:
            other, further = others[int(rng.integers(len(others)))]
            step = difference / (difference - other) * float(rng.choice((1.0, 1.05, 1.5, 3.0)))
            moved = [_real(a) + (_real(b) - _real(a)) * step for a, b in zip(arrays, further, strict=True)]
        else:
            moved = _changed([_real(a) for a in arrays], rng)
        return tuple(_of_type(a, b, t) for a, b, t in zip(moved, arrays, types, strict=True))


def _real(array: Array) -> Array:
    return array.astype(np.float64)


def _changed(arrays: list[Array], rng: np.random.Generator) -> list[Array]:
    """One input scaled, moved, or changed in one element; now and then another one as well."""
    for _ in range(1 + int(rng.integers(2))):
        index = int(rng.integers(len(arrays)))
        array, size = arrays[index].copy(), float(10.0 ** rng.uniform(-1, 2.5)) * float(rng.choice((-1, 1)))
        kind = int(rng.integers(3))
        if kind == 0:
            array = array * float(rng.choice((-1.0, 0.0, 0.5, 2.0, 10.0)))
        elif kind == 1 or not array.size:
            array = array + size
        else:
            array.reshape(-1)[int(rng.integers(array.size))] += size
        arrays[index] = array
    return arrays


def _of_type(reals: Array, like: Array, type_: TensorType) -> Array:
    if type_.dtype is DType.BOOL:
        return like
    if type_.dtype.is_float:
        return reals.astype(like.dtype)
    low, high = (max(type_.dtype.limits[0], -(2**53)), min(type_.dtype.limits[1], 2**53))
    return np.asarray(np.clip(np.rint(np.nan_to_num(reals)), low, high)).astype(like.dtype)
