"""Says at which operator the rows of a window end, why, and what a model would need to slide through it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tflmgen.ir import LayerWork, constant_array
from tflmgen.ir.graph import Function, Op, Origin, operands_of
from tflmgen.kernels import Sliding, instance_of_op, traits_of
from tflmgen.kernels.specification import Operators, is_hybrid
from tflmgen.passes.sliding.cone import Cone, values_read
from tflmgen.passes.sliding.track import size

_ADVICE = (
    "Only rows that are computed before it can be reused: begin the model with convolutions, pools or layers that "
    "treat each row alone, or run the whole window"
)


@dataclass(frozen=True, slots=True)
class Stop:
    """The first node that runs on whole tensors: `reason` completes a sentence that begins with its operator."""

    origin: Origin
    operator: str
    reason: str
    advice: str = _ADVICE


def stop_of(function: Function, cone: Cone, constants: Mapping[str, bytes], operators: Operators) -> Stop | None:
    """The first operator that combines rows of different time.

    None if every operator keeps them disjoint, or none reads a window.
    """
    for node in function.body.nodes:
        if node.id in cone.maps or not any(value in cone.tracks for value in values_read(node)):
            continue
        if not isinstance(node, Op):
            return Stop(node.origin, type(node).__name__.upper(), "reads the whole window")
        return Stop(node.origin, node.operator, *_reason(node, function, cone, constants, operators))
    return None


def _reason(
    op: Op, function: Function, cone: Cone, constants: Mapping[str, bytes], operators: Operators
) -> tuple[str, ...]:
    """Reason why rows end at an operator, as the predicate of a sentence, and special advice where there is some."""
    others = [v for v in operands_of(op) if v not in cone.tracks and not v.is_constant]
    traits = traits_of(op.operator, operators)
    if others:
        name = others[0].name
        advice = "If its rows are of the same time, slide that input by the same rows, too"
        return f"reads '{name}', too, which does not slide", advice if others[0] in function.inputs else _ADVICE
    if not all(v.type.is_static for v in op.outputs):
        return ("has a shape that is known at run time only",)
    instance = instance_of_op(op, constants)
    if traits.window is Sliding.FILTER and is_hybrid(instance):
        advice = "Keep its weights as floats, or quantise the whole model: --quantize CAL.npz"
        return "has int8 weights for floats, and quantises its input by the range of all its rows", advice
    if traits.elementwise and _has_rows(op, cone, constants):
        advice = "A constant with the same elements for each row lets rows be reused"
        return "has a constant that differs from row to row, and rows meet other ones in the next window", advice
    return ("combines rows of the whole window",)


def _has_rows(op: Op, cone: Cone, constants: Mapping[str, bytes]) -> bool:
    """Whether a constant operand has rows of time, and they differ."""
    sliding = next(v for v in op.inputs if v is not None and v in cone.tracks)
    axis = cone.tracks[sliding].axis - len(sliding.type.shape)
    arrays = [constant_array(value, constants) for value in op.inputs if value is not None]
    return any(a is not None and a.ndim >= -axis and bool((a != np.take(a, [0], axis)).any()) for a in arrays)


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
