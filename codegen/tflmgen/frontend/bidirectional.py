"""Splits bidirectional recurrent layers into two unidirectional ones, before any other step of the import.

The second layer runs from the last time step to the first. Merged outputs are joined by a CONCATENATION.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.tflite.model import Model, Operator, SubGraph, Tensor
from tflmgen.kernels import BACKWARD


@dataclass(frozen=True, slots=True)
class Layer:
    """Input lists of a bidirectional operator and of its two unidirectional layers. Input 0 is common to both.

    name        the unidirectional operator
    inputs      number of inputs of the bidirectional operator
    forward     bidirectional input index of each further input of the forward layer; -1: absent
    backward    the same for the backward layer
    auxiliary   inputs for stacked layers, which LiteRT ignores in some cases; refused if present
    units       input of the unidirectional layer, a matrix, whose dimension `dimension` is the number of outputs
    dimension   0 or 1
    """

    name: str
    inputs: int
    forward: tuple[int, ...]
    backward: tuple[int, ...]
    auxiliary: range
    units: int
    dimension: int


_NO_NORMS = (-1,) * 4
"""Inputs of a layer without layer normalisation."""
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
    """The model with two unidirectional layers in place of each bidirectional one.

    Raises ModelError for a layer with a wrong number of inputs or outputs, without weights, or with an auxiliary input.
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
        problem = _problem(tensors, op, LAYERS[op.name])
        if problem:
            location = Location(model.name, subgraph.index, subgraph.name, op.index, op.name)
            raise ModelError([Problem(location, problem)])
        operators += _directions(tensors, op, LAYERS[op.name])
    return replace(subgraph, tensors=tuple(tensors), operators=tuple(operators))


def _problem(tensors: Sequence[Tensor], op: Operator, layer: Layer) -> str:
    if len(op.inputs) != layer.inputs:
        return f"{op.name} requires {layer.inputs} inputs; this one has {len(op.inputs)}"
    if len(op.outputs) != (1 if _is_merged(op) else 2):
        return f"{op.name} requires 1 output with merge_outputs, else 2; this one has {len(op.outputs)}"
    if any(op.inputs[i] >= 0 for i in layer.auxiliary):
        return f"{op.name} with an auxiliary input is not supported"
    weights = [_units_tensor(op, layer, inputs) for inputs in (layer.forward, layer.backward)]
    if any(index < 0 or len(tensors[index].shape) != 2 for index in weights) or not tensors[op.outputs[0]].shape:
        return f"{op.name} requires weights of 2 dimensions and an output of at least one"
    return ""


def _is_merged(op: Operator) -> bool:
    return bool((op.options or {}).get("merge_outputs", False))


def _units_tensor(op: Operator, layer: Layer, inputs: Sequence[int]) -> int:
    return op.inputs[inputs[layer.units - 1]]


def _directions(tensors: list[Tensor], op: Operator, layer: Layer) -> list[Operator]:
    """Operators that replace `op`; appends the tensors between them to `tensors`."""
    outputs = list(op.outputs)
    sides = (layer.forward, layer.backward)
    if _is_merged(op):
        outputs = [_add_direction_tensor(tensors, op, layer, inputs) for inputs in sides]
    operators = [
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
        join_options = {"axis": len(tensors[op.outputs[0]].shape) - 1, "fused_activation_function": 0}
        operators.append(
            replace(op, name="CONCATENATION", inputs=tuple(outputs), outputs=op.outputs, options=join_options)
        )
    return operators


def _add_direction_tensor(tensors: list[Tensor], op: Operator, layer: Layer, inputs: Sequence[int]) -> int:
    """Appends the output tensor of one direction to `tensors` and returns its index."""
    merged = tensors[op.outputs[0]]
    units = tensors[_units_tensor(op, layer, inputs)].shape[layer.dimension]
    signature = merged.shape_signature and (*merged.shape_signature[:-1], units)
    name = f"{merged.name} {'backward' if inputs is layer.backward else 'forward'}"
    shape = (*merged.shape[:-1], units)
    tensors.append(replace(merged, index=len(tensors), name=name, shape=shape, shape_signature=signature))
    return len(tensors) - 1
