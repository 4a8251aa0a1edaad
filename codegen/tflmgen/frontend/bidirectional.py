"""Bidirectional recurrent layers become two layers of one direction before anything else looks at the file.

The second runs from the last step to the first. Where the outputs are merged, a CONCATENATION joins them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.tflite.model import Model, Operator, SubGraph, Tensor
from tflmgen.kernels import BACKWARD


@dataclass(frozen=True, slots=True)
class Layer:
    """How a bidirectional operator lists its inputs, of which input 0 is the first.

    name            the layer of one direction
    forward         inputs of that one in the order of its own, without input 0; -1: none
    backward        the same for the layer that runs backward
    auxiliary       what a second input for stacked layers needs, which LiteRT takes into account at times only
    units           which of the layer's inputs has as many as `dimension` says of the units that are its output
    """

    name: str
    inputs: int
    forward: tuple[int, ...]
    backward: tuple[int, ...]
    auxiliary: range
    units: int
    dimension: int


_NO_NORMS = (-1,) * 4
LAYERS = {
    "BIDIRECTIONAL_SEQUENCE_RNN": Layer(
        "UNIDIRECTIONAL_SEQUENCE_RNN", 12, (1, 2, 3, 4), (5, 6, 7, 8), range(9, 12), units=1, dimension=0
    ),
    "BIDIRECTIONAL_SEQUENCE_LSTM": Layer(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        48,
        (*range(1, 18), 35, 36, *_NO_NORMS),
        (*range(18, 35), 37, 38, *_NO_NORMS),
        range(39, 48),
        units=6,
        dimension=1,
    ),
}


def without_bidirectional(model: Model) -> Model:
    """The model with two layers of one direction in the place of every bidirectional one.

    Raises ModelError where one has another number of inputs or outputs, lacks its weights, or has an auxiliary input.
    """
    if not any(op.name in LAYERS for s in model.subgraphs for op in s.operators):
        return model
    return replace(model, subgraphs=tuple(_subgraph(model, s) for s in model.subgraphs))


def _subgraph(model: Model, subgraph: SubGraph) -> SubGraph:
    tensors, operators = list(subgraph.tensors), []
    for op in subgraph.operators:
        if op.name not in LAYERS:
            operators.append(op)
            continue
        wrong = _problem(tensors, op, LAYERS[op.name])
        if wrong:
            where = Location(model.name, subgraph.index, subgraph.name, op.index, op.name)
            raise ModelError([Problem(where, wrong)])
        operators += _directions(tensors, op, LAYERS[op.name])
    return replace(subgraph, tensors=tuple(tensors), operators=tuple(operators))


def _problem(tensors: Sequence[Tensor], op: Operator, layer: Layer) -> str:
    if len(op.inputs) != layer.inputs:
        return f"{op.name} takes {layer.inputs} inputs, here it has {len(op.inputs)}"
    if len(op.outputs) != (1 if _is_merged(op) else 2):
        return f"{op.name} has {len(op.outputs)} outputs, which merge_outputs contradicts"
    if any(op.inputs[i] >= 0 for i in layer.auxiliary):
        return f"{op.name} with an auxiliary input is not supported"
    weights = [_units_tensor(op, layer, inputs) for inputs in (layer.forward, layer.backward)]
    if any(index < 0 or len(tensors[index].shape) != 2 for index in weights) or not tensors[op.outputs[0]].shape:
        return f"{op.name} lacks weights of 2 dimensions, or an output that has any"
    return ""


def _is_merged(op: Operator) -> bool:
    return bool((op.options or {}).get("merge_outputs", False))


def _units_tensor(op: Operator, layer: Layer, inputs: Sequence[int]) -> int:
    return op.inputs[inputs[layer.units - 1]]


def _directions(tensors: list[Tensor], op: Operator, layer: Layer) -> list[Operator]:
    """The operators in the place of `op`; the tensors between them are added to `tensors`."""
    outputs = list(op.outputs)
    sides = (layer.forward, layer.backward)
    if _is_merged(op):
        outputs = [_part(tensors, op, layer, inputs) for inputs in sides]
    made = [
        replace(
            op,
            name=layer.name,
            inputs=(op.inputs[0], *(op.inputs[i] if i >= 0 else -1 for i in inputs)),
            outputs=(output,),
            options={**(op.options or {}), BACKWARD: inputs is layer.backward},
        )
        for inputs, output in zip(sides, outputs, strict=True)
    ]
    if _is_merged(op):
        last = {"axis": len(tensors[op.outputs[0]].shape) - 1, "fused_activation_function": 0}
        made.append(replace(op, name="CONCATENATION", inputs=tuple(outputs), outputs=op.outputs, options=last))
    return made


def _part(tensors: list[Tensor], op: Operator, layer: Layer, inputs: Sequence[int]) -> int:
    """A new tensor for the output of one direction."""
    merged = tensors[op.outputs[0]]
    units = tensors[_units_tensor(op, layer, inputs)].shape[layer.dimension]
    signature = merged.shape_signature and (*merged.shape_signature[:-1], units)
    name = f"{merged.name} {'backward' if inputs is layer.backward else 'forward'}"
    shape = (*merged.shape[:-1], units)
    tensors.append(replace(merged, index=len(tensors), name=name, shape=shape, shape_signature=signature))
    return len(tensors) - 1
