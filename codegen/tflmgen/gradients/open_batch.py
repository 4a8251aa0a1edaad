"""The batch of a training step: inputs with an open first dimension get a size, and all tensors the shapes it gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend import Shape, TensorKey, static_shapes
from tflmgen.frontend.tflite import FileSignature, FileTensor, Model, SubGraph


def with_batch(model: Model, signature: FileSignature, batch: int) -> Model:
    """The model with inputs of this many samples.

    batch  size of the first dimension of the signature's inputs that are open there; other open dimensions have the
           size that the file stores

    Raises ModelError where no input is open or of this batch, and where operators cannot have the shapes that follow.
    """
    graph = model.subgraphs[signature.subgraph]
    inputs = [graph.tensors[index] for _, index in signature.inputs]
    opened = [tensor for tensor in inputs if _has_open_batch(tensor)]
    if not opened:
        if any(tensor.shape[:1] == (batch,) for tensor in inputs):
            return model
        shapes = " and ".join(str(list(tensor.shape)) for tensor in inputs)
        rule = f"--batch {batch}: its inputs have a batch that is fixed: {shapes}"
        raise ModelError([Problem(Location(model.name), rule, "Convert it with inputs of an open first dimension")])
    sized = _with_shapes(model, {(graph.index, tensor.index): (batch, *tensor.shape[1:]) for tensor in opened})
    return _with_shapes(sized, static_shapes(sized))


def _has_open_batch(tensor: FileTensor) -> bool:
    return (tensor.shape_signature or ())[:1] == (-1,)


def _with_shapes(model: Model, shapes: Mapping[TensorKey, Shape]) -> Model:
    """The model with other shapes of tensors, which are static then."""

    def resized(graph: SubGraph) -> SubGraph:
        tensors = (
            replace(tensor, shape=shape, shape_signature=None, has_rank=True)
            if (shape := shapes.get((graph.index, tensor.index))) is not None
            else tensor
            for tensor in graph.tensors
        )
        return replace(graph, tensors=tuple(tensors))

    return replace(model, subgraphs=tuple(map(resized, model.subgraphs)))
