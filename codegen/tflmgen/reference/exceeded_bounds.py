"""Whether a run has shapes that the user's bounds do not admit, so that its graph need not have its outputs."""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.frontend import Model, Signature
from tflmgen.ir import Module, walk
from tflmgen.reference.file_interpreter import Interpreter
from tflmgen.reference.operation import Array


def exceeds_bounds(model: Model, module: Module, entry: Signature, sequence: Sequence[tuple[Array, ...]]) -> bool:
    """Whether a tensor of the file is larger in a sequence of invokes than the value of its name in the Module."""
    bounds: dict[str, tuple[int, ...]] = {}
    for function in module.functions:
        for value in (*function.inputs, *(v for node in walk(function.body) for v in node.outputs)):
            before = bounds.get(value.name, value.type.max_shape)
            if len(before) == len(value.type.max_shape):
                pairs = zip(before, value.type.max_shape, strict=True)
                bounds[value.name] = tuple(max(pair) for pair in pairs)
    is_larger = False

    def see(subgraph: int, tensor: int, array: Array) -> None:
        nonlocal is_larger
        bound = bounds.get(model.subgraphs[subgraph].tensors[tensor].name)
        if bound is not None and len(bound) == array.ndim:
            is_larger |= any(extent > limit for extent, limit in zip(array.shape, bound, strict=True))

    file = Interpreter(model)
    for arrays in sequence:
        file.invoke(entry, arrays, see)
    return is_larger
