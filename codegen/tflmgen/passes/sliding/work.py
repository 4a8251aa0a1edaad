"""How much a hop computes of each layer, beside its exact dependency cone and a whole window."""

from __future__ import annotations

from collections.abc import Mapping

from tflmgen.ir import Function, LayerWork, Op
from tflmgen.passes.sliding.cone import Cone
from tflmgen.passes.sliding.track import size


def layers_of(function: Function, cone: Cone, macs: Mapping[int, int]) -> tuple[LayerWork, ...]:
    """The operators of a function behind its sliding inputs. macs: Op.id -> multiply-accumulates of a whole window."""
    layers = []
    behind = {value for value in cone.tracks if value in function.inputs}
    for node in function.body.nodes:
        if not isinstance(node, Op) or not any(v in behind for v in node.inputs if v is not None):
            continue
        behind.update(node.outputs)
        row_map = cone.maps.get(node.id)
        if row_map is not None and not row_map.tracks:
            continue
        rows = exact = computed = 1
        if row_map is not None:
            rows, computed = row_map.tracks[0].rows, size(cone.computed[node.id])
            exact = cone.exact[node.id]
        origin, full = node.origin, macs.get(node.id, 0)
        is_row_wise = row_map is not None
        layers.append(
            LayerWork(origin.subgraph, origin.operator, node.operator, rows, exact, computed, full, is_row_wise)
        )
    return tuple(layers)
