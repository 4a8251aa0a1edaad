"""Upper bounds of dynamic dimensions: from options, and from the shapes of the user's inputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tflmgen.errors import Location, ModelError, Problem, UsageError
from tflmgen.frontend.tflite.model import FileTensor, Model, SubGraph

TensorKey = tuple[int, int]
"""(subgraph index, tensor index)."""

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Upper bounds of dynamic shapes.

    tensors      --max-shape; --max-rows, which says the first dimension alone
    largest      --max-dim: bound of every other dynamic dimension; None: unbounded
    from_inputs  shapes of the user's inputs
    """

    tensors: Mapping[TensorKey, Shape] = field(default_factory=dict)
    largest: int | None = None
    from_inputs: Mapping[TensorKey, Shape] = field(default_factory=dict)

    def of_input(self, key: TensorKey, axis: int) -> int | None:
        """Largest size of an input's dimension: by name, by the user's inputs, else for all; None if nothing bounds
        it."""
        shape = self.tensors.get(key, self.from_inputs.get(key))
        return self.largest if shape is None or axis >= len(shape) else shape[axis]


NO_BOUNDS = Bounds()


@dataclass(frozen=True, slots=True)
class ShapeLimit:
    """A parsed --max-shape option, or one of --max-rows: `sizes` are those of the first dimensions."""

    option: str
    text: str
    name: str
    sizes: Shape


def parse_shape_limit(text: str) -> ShapeLimit:
    """Parses NAME=4,3. Raises UsageError for another form."""
    name, _, dims = text.rpartition("=")
    sizes = _sizes(dims)
    if sizes is None or not name:
        raise UsageError(f"--max-shape {text}: requires NAME=4,3: sizes of at least 1, and less than 2**31 elements")
    return ShapeLimit("--max-shape", text, name, sizes)


def parse_row_limit(text: str) -> ShapeLimit:
    """Parses NAME=N. Raises UsageError for another form."""
    name, _, rows = text.rpartition("=")
    sizes = _sizes(rows)
    if sizes is None or len(sizes) != 1 or not name:
        raise UsageError(f"--max-rows {text}: requires NAME=N, N from 1 to less than 2**31")
    return ShapeLimit("--max-rows", text, name, sizes)


def is_open(tensor: FileTensor) -> bool:
    """Whether the file declares a tensor without rank, or with a dynamic dimension."""
    return -1 in (tensor.shape_signature or ()) or (not tensor.has_rank and not tensor.shape)


def open_axes(tensor: FileTensor) -> tuple[int, ...]:
    """Axes whose dimension the file declares as -1."""
    return tuple(axis for axis, dim in enumerate(tensor.shape_signature or ()) if dim < 0)


def find_bounds(
    model: Model,
    limits: Iterable[ShapeLimit],
    max_dim: int | None,
    input_shapes: Mapping[TensorKey, Shape] | None = None,
) -> Bounds:
    """Bounds from --max-shape and --max-rows (`limits`), --max-dim and the shapes of the user's inputs.

    NAME is an input or output of a signature, an input or output tensor of the main subgraph, or `subgraph:tensor`,
    both by name or index. Raises ModelError if a name or a shape doesn't fit the model.
    """
    problems: list[Problem] = []
    tensors: dict[TensorKey, Shape] = {}
    for limit in limits:
        option, name, sizes = f"{limit.option} {limit.text}", limit.name, limit.sizes
        keys = _tensors_named(model, name)
        location = Location(model.name)
        if not keys:
            problems.append(Problem(location, f"{option}: nothing in the model is called that", _names(model)))
        for key in keys:
            graph = model.subgraphs[key[0]]
            mismatch = _mismatch(graph.tensors[key[1]], sizes, limit.option == "--max-rows")
            if mismatch:
                tensor = graph.tensors[key[1]]
                place = Location(model.name, graph.index, graph.name, tensor=tensor.index, tensor_name=tensor.name)
                problems.append(Problem(place, f"{option}: {mismatch}"))
            else:
                tensors[key] = sizes
    if problems:
        raise ModelError(problems)
    return Bounds(tensors, max_dim, input_shapes or {})


def _sizes(dims: str) -> tuple[int, ...] | None:
    parts = [part.strip() for part in dims.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        return None
    sizes = tuple(map(int, parts))
    return sizes if 0 < math.prod(sizes) < 2**31 else None


def _mismatch(tensor: FileTensor, sizes: tuple[int, ...], is_first: bool) -> str:
    """Reason why a tensor cannot have this shape, or these first dimensions, as its bound; empty if it can."""
    if not tensor.has_rank and not tensor.shape:
        return ""
    if len(sizes) != len(tensor.shape) and not (is_first and tensor.shape):
        return f"the tensor has {len(tensor.shape)} dimensions: {list(tensor.shape)}"
    signature = tensor.shape_signature or tensor.shape
    if any(dim not in (-1, size) for dim, size in zip(signature, sizes, strict=not is_first)):
        return f"its shape is {list(signature)}, and fixed in the file where it is not -1"
    return ""


def _tensors_named(model: Model, name: str) -> list[TensorKey]:
    ports = [
        (s.subgraph, index) for s in model.signatures for port, index in (*s.inputs, *s.outputs) if port == name
    ] or [
        (graph.index, index)
        for graph in _entries(model)
        for index in (*graph.inputs, *graph.outputs)
        if graph.tensors[index].name == name
    ]
    inner = [
        (graph.index, tensor.index)
        for graph in model.subgraphs
        for tensor in graph.tensors
        if name in {f"{a}:{b}" for a in (graph.name, graph.index) for b in (tensor.name, tensor.index)}
    ]
    return list(dict.fromkeys(ports or inner))


def _entries(model: Model) -> list[SubGraph]:
    return [model.subgraphs[i] for i in sorted({s.subgraph for s in model.signatures} or {0})]


def _names(model: Model) -> str:
    """Sentence that lists the names of dynamic tensors, as the option accepts them."""
    names = list(dict.fromkeys(_open_names(model)))
    listed = ", ".join(f"'{name}'" for name in names[:12]) + (" ..." if len(names) > 12 else "")
    return f"Its tensors of dynamic shape are {listed}" if names else "No tensor of the model has a dynamic shape"


def _open_names(model: Model) -> Iterator[str]:
    for signature in model.signatures:
        tensors = model.subgraphs[signature.subgraph].tensors
        yield from (name for name, i in (*signature.inputs, *signature.outputs) if is_open(tensors[i]))
    for graph in model.subgraphs:
        yield from (f"{graph.name or graph.index}:{t.name}" for t in graph.tensors if is_open(t) and t.data is None)
