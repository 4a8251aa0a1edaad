"""How large the dimensions may become that a file leaves open: what the user says, and what the inputs at hand need."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.tflite.model import Model, SubGraph, Tensor

TensorKey = tuple[int, int]
"""Subgraph and tensor index."""

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Largest shapes of tensors, and the largest dimension of all others; None where the user says nothing.

    `given` are the shapes that the inputs need which a command is given.
    """

    tensors: Mapping[TensorKey, Shape] = field(default_factory=dict)
    largest: int | None = None
    given: Mapping[TensorKey, Shape] = field(default_factory=dict)

    def of_input(self, key: TensorKey, axis: int) -> int | None:
        shape = self.tensors.get(key, self.given.get(key))
        return self.largest if shape is None else shape[axis]


NO_BOUNDS = Bounds()


@dataclass(frozen=True, slots=True)
class ShapeLimit:
    """A --max-shape option: its name, and the largest dimensions; None where the text is not NAME=4,3."""

    text: str
    name: str
    sizes: Shape | None


def parse_shape_limit(text: str) -> ShapeLimit:
    """The limit that NAME=4,3 is."""
    name, _, dims = text.rpartition("=")
    return ShapeLimit(text, name, _sizes(dims))


def is_open(tensor: Tensor) -> bool:
    """Whether the file leaves the shape of a tensor, or a part of it, unknown."""
    return -1 in (tensor.shape_signature or ()) or (not tensor.has_rank and not tensor.shape)


def open_axes(tensor: Tensor) -> tuple[int, ...]:
    """The dimensions that the file leaves open."""
    return tuple(axis for axis, dim in enumerate(tensor.shape_signature or ()) if dim < 0)


def find_bounds(
    model: Model, limits: Iterable[ShapeLimit], max_dim: int | None, given: Mapping[TensorKey, Shape] | None = None
) -> Bounds:
    """The bounds of the options --max-shape (`limits`) and --max-dim.

    NAME is that of a signature's input or output, or of an input or output tensor of the main subgraph, else
    `subgraph:tensor`, both by name or index. Raises ModelError where a name or a shape doesn't fit the model.
    """
    problems: list[Problem] = []
    tensors: dict[TensorKey, Shape] = {}
    for limit in limits:
        option, name, sizes = limit.text, limit.name, limit.sizes
        keys = _named(model, name)
        where = Location(model.name)
        if sizes is None or not name:
            problems.append(Problem(where, f"--max-shape {option} is not of the form NAME=4,3"))
        elif not keys:
            problems.append(Problem(where, f"--max-shape {option}: nothing in the model is called that", _names(model)))
        for key in keys if sizes is not None else ():
            graph = model.subgraphs[key[0]]
            wrong = _mismatch(graph.tensors[key[1]], sizes or ())
            if wrong:
                tensor = graph.tensors[key[1]]
                place = Location(model.name, graph.index, graph.name, tensor=tensor.index, tensor_name=tensor.name)
                problems.append(Problem(place, f"--max-shape {option}: {wrong}"))
            elif sizes:
                tensors[key] = sizes
    if problems:
        raise ModelError(problems)
    return Bounds(tensors, max_dim, given or {})


def _sizes(dims: str) -> tuple[int, ...] | None:
    parts = [part.strip() for part in dims.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        return None
    sizes = tuple(map(int, parts))
    return sizes if 0 < math.prod(sizes) < 2**31 else None


def _mismatch(tensor: Tensor, sizes: tuple[int, ...]) -> str:
    """Why a tensor cannot have at most this shape; empty if it can."""
    if not tensor.has_rank and not tensor.shape:
        return ""
    if len(sizes) != len(tensor.shape):
        return f"the tensor has {len(tensor.shape)} dimensions: {list(tensor.shape)}"
    signature = tensor.shape_signature or tensor.shape
    if any(dim not in (-1, size) for dim, size in zip(signature, sizes, strict=True)):
        return f"its shape is {list(signature)}, and fixed in the file where it is not -1"
    return ""


def _named(model: Model, name: str) -> list[TensorKey]:
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
    """The names that the options may give."""
    found = list(dict.fromkeys(_open_names(model)))
    shown = ", ".join(f"'{name}'" for name in found[:12]) + (" ..." if len(found) > 12 else "")
    return f"Its tensors of open shape are {shown}" if found else "No tensor of the model has an open shape"


def _open_names(model: Model) -> Iterator[str]:
    for signature in model.signatures:
        tensors = model.subgraphs[signature.subgraph].tensors
        yield from (name for name, i in (*signature.inputs, *signature.outputs) if is_open(tensors[i]))
    for graph in model.subgraphs:
        yield from (f"{graph.name or graph.index}:{t.name}" for t in graph.tensors if is_open(t) and t.data is None)
