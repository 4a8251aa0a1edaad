"""State of an ONNX model that PyTorch mutated: a pair of an input and the output that replaces it in the next invoke.

ONNX has no state. The pairs stand in the model's metadata, and first values are initialisers of the inputs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import onnx

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.onnx.model_notes import texts_of

METADATA_KEY = "tflmgen.state"


def mark_state(model: onnx.ModelProto, pairs: Sequence[tuple[str, str]], initial: Sequence[onnx.TensorProto]) -> None:
    """Notes the (input, output) pairs of state in the model; `initial` has the inputs' names."""
    model.graph.initializer.extend(initial)
    onnx.helper.set_model_props(model, {METADATA_KEY: json.dumps(list(pairs))})


def state_pairs(model: onnx.ModelProto) -> dict[str, str]:
    """Input -> the output that is its next value."""
    pairs = texts_of(model, METADATA_KEY)
    inputs = {entry.name for entry in model.graph.input} & {tensor.name for tensor in model.graph.initializer}
    outputs = {entry.name for entry in model.graph.output}
    wrong = next((pair for pair in pairs.items() if pair[0] not in inputs or pair[1] not in outputs), None)
    if wrong is not None:
        rule = f"its metadata '{METADATA_KEY}' names '{wrong[0]}' and '{wrong[1]}', which are no input and output of it"
        raise ModelError([Problem(Location(model.graph.name or "model"), rule)])
    return pairs
