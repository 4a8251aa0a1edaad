"""Choice of the caches of a hop that are given up for less RAM: their rows are recomputed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tflmgen.ir import Value
from tflmgen.passes.sliding.cone import Cone, cache_bytes
from tflmgen.passes.sliding.track import size

ConeOf = Callable[[frozenset[Value]], Cone]
"""The cone without caches of these tensors."""


def cone_with_fewer_caches(cone_without: ConeOf, macs: Mapping[int, int], count: int) -> Cone:
    """The cone of a hop with up to `count` caches fewer; `Cone.exact` is that of the hop with all of them.

    One after the other is given up: that which costs the fewest multiply-accumulates per byte, among those that leave
    less to keep. macs: Op.id -> multiply-accumulates of a whole window
    """
    cone = whole = cone_without(frozenset())
    dropped: frozenset[Value] = frozenset()
    for _ in range(count):
        computed = {value for id_, row_map in cone.maps.items() if id_ in cone.computed for value in row_map.op.outputs}
        options = [(cone_without(dropped | {value}), value) for value in cone.caches if value in computed]
        kept, work = cache_bytes(cone), _work(cone, macs)
        costs = [
            ((_work(option, macs) - work) / (kept - cache_bytes(option)), value.id, value, option)
            for option, value in options
            if cache_bytes(option) < kept
        ]
        if not costs:
            break
        _, _, value, cone = min(costs, key=lambda cost: cost[:2])
        dropped |= {value}
    return replace(cone, exact=whole.exact)


def _work(cone: Cone, macs: Mapping[int, int]) -> float:
    """Multiply-accumulates of a hop, and one for each element of other operators."""
    work = 0.0
    for id_, row_map in cone.maps.items():
        if row_map.tracks:
            share = size(cone.computed[id_]) / row_map.tracks[0].rows
            work += share * (macs.get(id_) or sum(value.type.elements for value in row_map.op.outputs))
    return work
