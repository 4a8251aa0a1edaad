"""Whether a run has shapes that the file's types and the user's bounds do not admit: its graph need not compute it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tflmgen.frontend.tflite import FileSignature
from tflmgen.ir import Dim
from tflmgen.ir.graph import Module, Port, walk
from tflmgen.reference.file_interpreter import Interpreter
from tflmgen.reference.operation import Array


def has_inadmissible_shapes(
    file: Interpreter,
    modules: Sequence[Module],
    entry: FileSignature,
    ports: Sequence[Port],
    sequence: Sequence[tuple[Array, ...]],
) -> bool:
    """Whether a tensor of the file has dimensions in a sequence of invokes that no value of its name in a Module has.

    One that the run time gives may be at most its bound; a static one is as it is. Inside of a Module values have the
    room of their bounds, so that it is the file that tells which dimensions the run time gives. Where no value has a
    tensor's name, it has the dimensions of the output that it is, or those of the file, of the run time the greatest
    bound of any port.

    modules  the graph, and where it is known that before the passes, which has a value for nearly every tensor
    ports    the outputs of `entry` in the Module
    """
    model = file.model
    shapes: dict[str, list[tuple[Dim, ...]]] = {}
    for function in (function for module in modules for function in module.functions):
        for value in (*function.inputs, *(v for node in walk(function.body) for v in node.outputs)):
            shapes.setdefault(value.name, []).append(value.type.shape)
    for (_, tensor), port in zip(entry.outputs, ports, strict=True):
        shapes.setdefault(model.subgraphs[entry.subgraph].tensors[tensor].name, [port.type.shape])
    bound = max((dim.max for dim in _port_dims(modules[0]) if not isinstance(dim, int)), default=0)
    is_other = False

    def see(subgraph: int, tensor: int, array: Array) -> None:
        nonlocal is_other
        own = model.subgraphs[subgraph].tensors[tensor]
        dims = tuple(bound if dim < 0 else dim for dim in own.shape_signature or ())
        known = [s for s in shapes.get(own.name, (dims,)) if len(s) == array.ndim]
        is_other |= bool(known) and not any(_admits(shape, array.shape, own.shape_signature) for shape in known)

    for arrays in sequence:
        file.invoke(entry, arrays, see)
    return is_other


def _port_dims(module: Module) -> Iterator[Dim]:
    for signature in module.signatures:
        for port in (*signature.inputs, *signature.outputs):
            yield from port.type.shape


def _admits(shape: Sequence[Dim], extents: Sequence[int], signature: Sequence[int] | None) -> bool:
    """signature: the file's dimensions, -1 where the run time gives one; None where all are static."""
    return all(
        extent <= (dim if isinstance(dim, int) else dim.max) if _is_open(dim, signature, axis) else extent == dim
        for axis, (extent, dim) in enumerate(zip(extents, shape, strict=True))
    )


def _is_open(dim: Dim, signature: Sequence[int] | None, axis: int) -> bool:
    dims = signature or ()
    return not isinstance(dim, int) or (axis < len(dims) and dims[axis] == -1)
