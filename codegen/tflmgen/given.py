"""What inputs at hand need of a model whose inputs have an open first dimension."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tflmgen.bounds import TensorKey
from tflmgen.npz import read_shapes
from tflmgen.tflite.model import Model, Signature
from tflmgen.tflite.reader import read_model


def given_rows(model_path: Path, inputs: Path, key: str | None) -> dict[TensorKey, int]:
    """Tensor -> the most rows that a set of the file has for it, for inputs that are not all of the stored shape.

    `key` is the signature's of sets that name none. What doesn't fit the model is left to who reads the file for good.
    """
    model = read_model(model_path)
    rows: dict[TensorKey, set[int]] = {}
    for tensor_key, shape in _given(model, read_shapes(inputs), key):
        tensor = model.subgraphs[tensor_key[0]].tensors[tensor_key[1]]
        if (tensor.shape_signature or ())[:1] == (-1,) and len(shape) == len(tensor.shape):
            rows.setdefault(tensor_key, {tensor.shape[0]}).add(shape[0])
    return {tensor_key: max(*found, 1) for tensor_key, found in rows.items() if len(found) > 1}


def _given(
    model: Model, shapes: dict[str, tuple[int, ...]], key: str | None
) -> Iterator[tuple[TensorKey, tuple[int, ...]]]:
    signatures = model.signatures or (Signature("", 0, (), ()),)
    for signature in signatures:
        if len(signatures) > 1 and key not in (None, signature.key):
            continue
        graph = model.subgraphs[signature.subgraph]
        names = {index: name for name, index in signature.inputs}
        inputs = [index for index in graph.inputs if graph.tensors[index].dtype is not None]
        for name, shape in shapes.items():
            match = re.fullmatch(r"s\d+_in_(\d+)", name)
            for position, index in enumerate(inputs):
                if name == (names.get(index) or graph.tensors[index].name) or (match and int(match[1]) == position):
                    yield (graph.index, index), shape
