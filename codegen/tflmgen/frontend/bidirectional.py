"""Splits bidirectional recurrent layers into two unidirectional ones, before any other step of the import.

The second layer runs from the last time step to the first. Merged outputs are joined by a CONCATENATION.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.model_graph.model_rewrite import SubGraphRewrite, rewrite_model
from tflmgen.frontend.tflite.model import FileOperator, FileTensor, Model
from tflmgen.kernels.specification import BACKWARD


@dataclass(frozen=True, slots=True)
class BidirectionalLayer:
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
    "BIDIRECTIONAL_SEQUENCE_RNN": BidirectionalLayer(
        "UNIDIRECTIONAL_SEQUENCE_RNN", 12, (1, 2, 3, 4), (5, 6, 7, 8), range(9, 12), units=1, dimension=0
    ),
    "BIDIRECTIONAL_SEQUENCE_LSTM": BidirectionalLayer(
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

    def split(graph: SubGraphRewrite, op: FileOperator) -> bool:
        if op.name not in LAYERS:
            return False
        problem = _problem(graph.tensors, op, LAYERS[op.name])
        if problem:
            location = Location(model.name, graph.graph.index, graph.graph.name, op.index, op.name)
            raise ModelError([Problem(location, problem)])
        _add_directions(graph, op, LAYERS[op.name])
        return True

    return rewrite_model(model, split, renumber=False)


def _problem(tensors: Sequence[FileTensor], op: FileOperator, layer: BidirectionalLayer) -> str:
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


def _is_merged(op: FileOperator) -> bool:
    return bool((op.options or {}).get("merge_outputs", False))


def _units_tensor(op: FileOperator, layer: BidirectionalLayer, inputs: Sequence[int]) -> int:
    return op.inputs[inputs[layer.units - 1]]


def _add_directions(graph: SubGraphRewrite, op: FileOperator, layer: BidirectionalLayer) -> None:
    """Adds the operators that stand for `op`, and the tensors between them."""
    outputs, sides = list(op.outputs), (layer.forward, layer.backward)
    if _is_merged(op):
        outputs = [_add_direction_tensor(graph, op, layer, inputs) for inputs in sides]
    for inputs, output in zip(sides, outputs, strict=True):
        operands = (op.inputs[0], *(op.inputs[i] if i >= 0 else -1 for i in inputs))
        options = {**(op.options or {}), BACKWARD: inputs is layer.backward}
        graph.operators.append(replace(op, name=layer.name, inputs=operands, outputs=(output,), options=options))
    if _is_merged(op):
        join_options = {"axis": len(graph.tensors[op.outputs[0]].shape) - 1, "fused_activation_function": 0}
        graph.operators.append(replace(op, name="CONCATENATION", inputs=tuple(outputs), options=join_options))


def _add_direction_tensor(
    graph: SubGraphRewrite, op: FileOperator, layer: BidirectionalLayer, inputs: Sequence[int]
) -> int:
    """Adds the output tensor of one direction; its index."""
    merged = graph.tensors[op.outputs[0]]
    units = graph.tensors[_units_tensor(op, layer, inputs)].shape[layer.dimension]
    signature = merged.shape_signature and (*merged.shape_signature[:-1], units)
    name = f"{merged.name} {'backward' if inputs is layer.backward else 'forward'}"
    return graph.add_tensor(merged, name=name, shape=(*merged.shape[:-1], units), shape_signature=signature)
