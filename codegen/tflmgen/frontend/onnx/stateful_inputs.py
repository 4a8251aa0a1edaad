"""State of an ONNX model that PyTorch mutated: a pair of an input and the output that replaces it in the next invoke.

ONNX has no state. The pairs stand in the model's metadata, and first values are initialisers of the inputs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import onnx

METADATA_KEY = "tflmgen.state"


def mark_state(model: onnx.ModelProto, pairs: Sequence[tuple[str, str]], initial: Sequence[onnx.TensorProto]) -> None:
    """Notes the (input, output) pairs of state in the model; `initial` has the inputs' names."""
    model.graph.initializer.extend(initial)
    onnx.helper.set_model_props(model, {METADATA_KEY: json.dumps(list(pairs))})


def state_pairs(model: onnx.ModelProto) -> dict[str, str]:
    """Input -> the output that is its next value."""
    text = next((entry.value for entry in model.metadata_props if entry.key == METADATA_KEY), "[]")
    return dict(json.loads(text))
