"""What inputs at hand need of a model whose inputs have open dimensions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tflmgen.emulators.npz import read_shapes
from tflmgen.frontend import Model, Shape, Signature, TensorKey, read_model


def shapes_of_inputs(model_path: Path, inputs: Path, key: str | None) -> dict[TensorKey, Shape]:
    """Tensor -> the largest shape that sets of the file need for it, for inputs not all of which have the stored one.

    `key` is the signature's of sets that name none. What doesn't fit the model is left to who reads the file for good.
    """
    model = read_model(model_path)
    shapes: dict[TensorKey, set[Shape]] = {}
    for tensor_key, shape in _given(model, read_shapes(inputs), key):
        tensor = model.subgraphs[tensor_key[0]].tensors[tensor_key[1]]
        signature = tensor.shape_signature or ()
        if -1 in signature and len(shape) == len(tensor.shape):
            usable = (size if dim < 0 else dim for dim, size in zip(signature, shape, strict=True))
            shapes.setdefault(tensor_key, {tensor.shape}).add(tuple(usable))
    # The stored shape is among them, with at least 1 where the file leaves a dimension open.
    return {key: tuple(map(max, *found)) for key, found in shapes.items() if len(found) > 1}


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
