"""Whether a run has shapes that the file's types and the user's bounds do not admit: its graph need not compute it."""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.frontend import Model, Signature
from tflmgen.ir import Dim, Module, walk
from tflmgen.reference.file_interpreter import Interpreter
from tflmgen.reference.operation import Array


def has_inadmissible_shapes(
    model: Model, module: Module, entry: Signature, sequence: Sequence[tuple[Array, ...]]
) -> bool:
    """Whether a tensor of the file has dimensions in a sequence of invokes that no value of its name in the Module has.

    One that the run time gives may be at most its bound; a static one is as it is.
    """
    shapes: dict[str, list[tuple[Dim, ...]]] = {}
    for function in module.functions:
        for value in (*function.inputs, *(v for node in walk(function.body) for v in node.outputs)):
            shapes.setdefault(value.name, []).append(value.type.shape)
    is_other = False

    def see(subgraph: int, tensor: int, array: Array) -> None:
        nonlocal is_other
        known = [s for s in shapes.get(model.subgraphs[subgraph].tensors[tensor].name, ()) if len(s) == array.ndim]
        is_other |= bool(known) and not any(_admits(shape, array.shape) for shape in known)

    file = Interpreter(model)
    for arrays in sequence:
        file.invoke(entry, arrays, see)
    return is_other


def _admits(shape: Sequence[Dim], extents: Sequence[int]) -> bool:
    pairs = zip(shape, extents, strict=True)
    return all(extent == dim if isinstance(dim, int) else extent <= dim.max for dim, extent in pairs)
