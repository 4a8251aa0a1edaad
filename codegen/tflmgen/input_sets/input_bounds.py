"""Bounds of a model's dynamic input dimensions from the shapes of given inputs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tflmgen.applications import read_program
from tflmgen.frontend import Shape, TensorKey
from tflmgen.frontend.tflite import FileSignature, Model
from tflmgen.input_sets.input_files import array_shapes
from tflmgen.options import BuildOptions
from tflmgen.sources import is_lowered

ONE_MODEL = BuildOptions()


def shapes_of_inputs(
    model_path: Path, inputs: Path, key: str | None, options: BuildOptions = ONE_MODEL
) -> dict[TensorKey, Shape]:
    """Dynamic input tensor -> its largest shape in the file `inputs` (.npz), if that exceeds the stored shape.

    key  signature of sets that name none

    Models of other formats have static shapes. Arrays that don't fit the model are ignored; read_input_sets() reports
    them later.
    """
    if is_lowered(model_path):
        return {}
    model = read_program(model_path, options)
    shapes: dict[TensorKey, set[Shape]] = {}
    stored = array_shapes(inputs)
    for tensor_key, shape in _inputs_of(model, stored, key):
        tensor = model.subgraphs[tensor_key[0]].tensors[tensor_key[1]]
        signature = tensor.shape_signature or ()
        if -1 in signature and len(shape) == len(tensor.shape):
            usable = (size if dim < 0 else dim for dim, size in zip(signature, shape, strict=True))
            shapes.setdefault(tensor_key, {tensor.shape}).add(tuple(usable))
    # The candidates include the stored shape, whose dynamic dimensions are at least 1.
    return {key: tuple(map(max, *candidates)) for key, candidates in shapes.items() if len(candidates) > 1}


def _inputs_of(
    model: Model, shapes: dict[str, tuple[int, ...]], key: str | None
) -> Iterator[tuple[TensorKey, tuple[int, ...]]]:
    signatures = model.signatures or (FileSignature("", 0, (), ()),)
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
