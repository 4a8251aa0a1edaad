"""Notes that tflmgen writes into the metadata of an ONNX model, and reads back."""

from __future__ import annotations

from typing import Any

import onnx

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.user_files import parse_json


def texts_of(model: onnx.ModelProto, key: str) -> dict[str, str]:
    """The note of a key, as texts by text: a JSON object, or a list of pairs. Empty where the model has no such note.

    Raises ModelError for a note of another form: any file may have the key.
    """
    text = next((entry.value for entry in model.metadata_props if entry.key == key), "{}")
    try:
        value: Any = parse_json(text)
        texts = dict(value)
    except (TypeError, ValueError):
        texts = {"": None}
    if not all(isinstance(part, str) for pair in texts.items() for part in pair):
        raise ModelError([Problem(Location(model.graph.name or "model"), f"its metadata '{key}' is none of tflmgen's")])
    return texts
