"""Values of an ONNX graph while it is lowered, and the TFLite subgraphs that they are lowered into.

ONNX lays images out as NCHW, TFLite as NHWC. A value therefore has two shapes: the logical one, which ONNX means, and
that of its tensor, whose axes are in another order. A transposition changes the order and moves nothing; operators
that don't care compute in the order in which their operands lie. Only where an order is needed does TRANSPOSE run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.onnx.node_error import NodeError
from tflmgen.frontend.onnx.open_size import OpenSize, as_sizes, file_sizes, has_open, is_open
from tflmgen.frontend.onnx.parameter_array import as_parameter, names_of
from tflmgen.frontend.tflite.builder import SubGraphBuilder
from tflmgen.frontend.tflite.model import FileOperator, FileTensor
from tflmgen.ir import DType, Quantization

Array = NDArray[Any]
Shape = tuple[int, ...]

LARGEST_CONSTANT = 64 << 20
"""Bytes of a constant that the front end makes: larger ones fit no microcontroller, and would fill this computer."""

NUMPY_DTYPES = {dtype.numpy: dtype for dtype in DType if dtype is not DType.INT4}
"""numpy's element type -> ours."""


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """Integers from which a constant of floats was dequantised: real = scale * integer, element by element.

    dtype     type in which the file stores the integers
    integers  codes minus their zero points
    scales    of the same shape
    """

    dtype: DType
    integers: Array
    scales: Array


@dataclass(frozen=True, slots=True, eq=False)
class OnnxValue:
    """A value of an ONNX graph: a constant, or a tensor of a subgraph.

    shape     logical dimensions, in ONNX's order
    order     logical axis of each of the tensor's axes
    constant  contents in logical order
    graph     the subgraph of the tensor; None for a constant
    codes     of a dequantised constant
    parts     the values of a sequence, which is no tensor itself
    numbers   of integers that tell sizes: the elements, of which some are known at run time only
    """

    dtype: DType
    shape: Shape
    order: Shape
    constant: Array | None = None
    graph: LayoutGraph | None = None
    tensor: int = -1
    codes: Codes | None = None
    parts: tuple[OnnxValue, ...] | None = None
    numbers: tuple[int, ...] | None = None

    @property
    def rank(self) -> int:
        """Number of dimensions; 0 of a scalar."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements; 1 of a scalar. Raises NodeError if it is known at run time only."""
        return math.prod(self.shape)

    @property
    def is_open(self) -> bool:
        """Whether a dimension is known at run time only."""
        return has_open(self.shape)

    @property
    def is_empty(self) -> bool:
        """Whether it never has an element."""
        return 0 in self.shape

    @property
    def is_plain(self) -> bool:
        """Whether the tensor's elements lie as ONNX means them."""
        return self.constant is not None or same_memory(self.shape, self.order)


def check_constant(shape: Sequence[int], element_bytes: int = 4) -> None:
    """Raises NodeError for a constant of more than LARGEST_CONSTANT bytes, before it is made."""
    count = math.prod(max(int(size), 0) for size in shape) * element_bytes
    if count > LARGEST_CONSTANT:
        sizes = "x".join(map(str, shape)) or "1"
        limit = f"{LARGEST_CONSTANT >> 20} MB are possible"
        raise NodeError(f"makes a constant of {sizes} elements, {count:,} bytes: {limit}")


def constant(array: Array | np.generic | Sequence[Any] | float, dtype: DType | None = None) -> OnnxValue:
    """The value of a numpy array. Raises KeyError for an element type that has no storage."""
    array = np.asanyarray(array, None if dtype is None else dtype.numpy)
    dtype = dtype or NUMPY_DTYPES[array.dtype]
    return OnnxValue(dtype, array.shape, tuple(range(array.ndim)), array)


def parameter(value: OnnxValue, name: str) -> OnnxValue:
    """A constant as a parameter of the source, if it is one of floats."""
    assert value.constant is not None
    return replace(value, constant=as_parameter(value.constant, [name]))


def moved_constant(value: OnnxValue, move: Callable[[Array], Array]) -> OnnxValue:
    """A constant whose elements are moved, and its codes with them."""
    assert value.constant is not None
    codes = value.codes
    if codes is not None:
        codes = Codes(codes.dtype, move(codes.integers), move(codes.scales))
    return replace(constant(move(value.constant), value.dtype), codes=codes)


def same_memory(shape: Sequence[int], order: Sequence[int]) -> bool:
    """Whether axes of more than one element keep their order."""
    moved = [axis for axis in order if shape[axis] != 1]
    return moved == sorted(moved)


def stored_shape(shape: Sequence[int], order: Sequence[int]) -> Shape:
    """The shape in memory of a tensor whose dimensions are stored in `order`, outermost first."""
    return tuple(shape[axis] for axis in order)


_KEEP_INFINITY = frozenset(
    {
        *("SELECT_V2", "MAXIMUM", "MINIMUM", "NEG", "RESHAPE", "TRANSPOSE", "CONCATENATION", "STRIDED_SLICE", "SLICE"),
        *("GATHER", "GATHER_ND", "BROADCAST_TO", "TILE", "PAD", "PADV2", "REVERSE_V2", "IF"),
    }
)
"""Operators through which an infinity passes; TFLite's arithmetic ends at the greatest float."""


class LayoutGraph:
    """A TFLite subgraph under construction. Tensors are its indices; values of outer graphs become its operands.

    captured  tensor of an outer graph -> its operand, in the order of the operands
    sources   tensor -> names of the model's inputs that it depends on
    infinite  tensors that may hold infinities on purpose, such as masks
    codes     constant of floats -> what it was dequantised from, in the tensor's order
    signed    tensor of unsigned codes -> one of the same numbers with signed codes
    shapes    shape of each tensor that has open sizes
    counted   tensor that tells how many elements are set -> these
    """

    def __init__(self, builder: SubGraphBuilder, parent: LayoutGraph | None = None) -> None:
        self.builder = builder
        self.parent = parent
        self.captured: dict[tuple[LayoutGraph | None, int], int] = {}
        self.sources: dict[int, frozenset[str]] = {}
        self.infinite: set[int] = set()
        self.codes: dict[int, Codes] = {}
        self.signed: dict[int, int] = {}
        self.shapes: dict[int, Shape] = {}
        self.counted: dict[int, OnnxValue] = {}
        self.node = ""
        self._constants: dict[tuple[DType, Shape, bytes, Quantization | None, frozenset[str]], int] = {}
        self._layouts: dict[tuple[int, Shape], int] = {}

    @property
    def name(self) -> str:
        """Name of the subgraph in the model that is built."""
        return self.builder.name

    @property
    def index(self) -> int:
        """Index of the subgraph in the model that is built."""
        return self.builder.index

    @property
    def tensors(self) -> Sequence[FileTensor]:
        """The subgraph's tensors so far."""
        return self.builder.tensors

    @property
    def operators(self) -> Sequence[FileOperator]:
        """The subgraph's operators so far, in order of execution."""
        return self.builder.operators

    def new_tensor(
        self, dtype: DType, shape: Iterable[int], name: str = "", quantization: Quantization | None = None
    ) -> int:
        """A tensor without contents, named for the node that is being lowered."""
        name, sizes = name or f"{self.node or self.name}:{len(self.tensors)}", as_sizes(tuple(shape))
        if not has_open(sizes):
            return self.builder.tensor(name, dtype, sizes, quantization)
        known = tuple(1 if is_open(size) else size for size in sizes)
        tensor = self.builder.tensor(name, dtype, known, quantization, shape_signature=file_sizes(sizes))
        self.shapes[tensor] = sizes
        for axis, size in enumerate(sizes):
            if isinstance(size, OpenSize) and size.place is None:
                size.place = self, tensor, axis, False
        return tensor

    def shape_of(self, tensor: int) -> Shape:
        """The shape of a tensor as it lies in memory, with its open sizes."""
        return self.shapes.get(tensor, self.tensors[tensor].shape)

    def constant(self, array: Array, dtype: DType | None = None, quantization: Quantization | None = None) -> int:
        """The tensor of a constant in the tensor's own order."""
        dtype = dtype or NUMPY_DTYPES[array.dtype]
        parameters = names_of(array)
        key = (dtype, array.shape, array.tobytes(), quantization, parameters)
        if key not in self._constants:
            name = f"{self.node or self.name}:{len(self.tensors)}"
            tensor = self._constants[key] = self.builder.constant(name, array, quantization, dtype)
            self.builder.tensors[tensor] = replace(self.tensors[tensor], parameters=tuple(sorted(parameters)))
            if dtype.is_float and np.isinf(array).any():
                self.infinite.add(self._constants[key])
        return self._constants[key]

    def operator(
        self,
        name: str,
        inputs: Sequence[int],
        outputs: Sequence[tuple[DType, Shape, Quantization | None]],
        options: Mapping[str, Any] | None = None,
    ) -> list[int]:
        """Appends one TFLite operator; absent options have the schema's defaults."""
        tensors = [self.new_tensor(dtype, shape, quantization=q) for dtype, shape, q in outputs]
        self.builder.operator(name, inputs, tensors, options)
        sources = frozenset[str]().union(*(self.sources.get(i, frozenset()) for i in inputs))
        self.sources.update(dict.fromkeys(tensors, sources))
        if name in _KEEP_INFINITY and not self.infinite.isdisjoint(inputs):
            self.infinite.update(tensors)
        return tensors

    def value(self, tensor: int, shape: Shape | None = None, order: Shape | None = None) -> OnnxValue:
        """The value of a tensor; without more said, in ONNX's own order."""
        entry = self.tensors[tensor]
        assert entry.dtype is not None
        logical = self.shape_of(tensor) if shape is None else shape
        return OnnxValue(entry.dtype, logical, order or tuple(range(len(logical))), None, self, tensor)

    def own(self, value: OnnxValue) -> OnnxValue:
        """The value as this subgraph sees it: one of an outer graph becomes an operand."""
        if value.constant is not None or value.graph is self:
            return value
        if self.parent is None:
            raise NodeError("uses a value of another graph")
        key = value.graph, value.tensor
        if key not in self.captured:
            outer = self.parent.own(value)
            assert outer.graph is not None
            tensor = outer.graph.tensors[outer.tensor]
            shape = outer.graph.shape_of(outer.tensor)
            index = self.new_tensor(value.dtype, shape, tensor.name, tensor.quantization)
            self.sources[index] = outer.graph.sources.get(outer.tensor, frozenset())
            self.captured[key] = index
        return replace(value, graph=self, tensor=self.captured[key])

    def laid(self, value: OnnxValue, order: Sequence[int] | None = None) -> int:
        """The tensor of a value with its axes in the given order, by default ONNX's."""
        order = tuple(range(value.rank)) if order is None else tuple(order)
        if value.constant is not None:
            tensor = self.constant(value.constant.transpose(order), value.dtype)
            if value.codes is not None:
                self.codes[tensor] = Codes(
                    value.codes.dtype, value.codes.integers.transpose(order), value.codes.scales.transpose(order)
                )
            return tensor
        value = self.own(value)
        if value.order == order:
            return value.tensor
        key = value.tensor, tuple(value.order.index(axis) for axis in order)
        if key not in self._layouts:
            self._layouts[key] = self._moved(value, order, key[1])
        return self._layouts[key]

    def kept(self, value: OnnxValue) -> OnnxValue:
        """A parameter as a value that is known at run time only; others as they are."""
        return self.value(self.laid(value), value.shape) if names_of(value.constant) else value

    def _moved(self, value: OnnxValue, order: Shape, permutation: Shape) -> int:
        shape, quantization = stored_shape(value.shape, order), self.tensors[value.tensor].quantization
        filled = [axis for axis in order if value.shape[axis] != 1]
        before = [axis for axis in value.order if value.shape[axis] != 1]
        kind = "RESHAPE" if filled == before else "TRANSPOSE"
        operand = (
            self.sizes_tensor(shape, True) if kind == "RESHAPE" else self.constant(np.array(permutation, np.int32))
        )
        return self.operator(kind, [value.tensor, operand], [(value.dtype, shape, quantization)])[0]

    def sizes_tensor(self, sizes: Sequence[int], may_infer: bool = False) -> int:
        """The tensor of a vector of sizes, int32; `may_infer`: -1 stands for one that follows from all elements."""
        if sum(map(is_open, sizes)) <= may_infer:
            return self.constant(np.array(file_sizes(sizes), np.int32))
        parts = []
        for size in sizes:
            if isinstance(size, OpenSize) and (size.place is not None or not may_infer):
                parts.append(self.size_tensor(size))
            else:
                parts.append(self.constant(np.array(file_sizes([size]), np.int32)))
        if len(parts) == 1:
            return parts[0]
        return self.operator("CONCATENATION", parts, [(DType.INT32, (len(parts),), None)], {"axis": 0})[0]

    def size_tensor(self, size: OpenSize) -> int:
        """The tensor of an open size: int32, of one element."""
        if size.place is None:
            raise NodeError("needs a size that no tensor tells")
        graph, tensor, place, is_element = size.place
        if is_element and tensor in graph.counted:
            tensor, is_element = graph.nonzero_tensor(graph.counted[tensor]), False
        source = self.own(graph.value(tensor))
        vector = source.tensor
        if is_element:
            flat = self.constant(np.array([-1], np.int32))
            count = (len(source.shape) and source.shape[0]) or 1
            vector = self.operator("RESHAPE", [vector, flat], [(source.dtype, (count,), None)])[0]
        else:
            vector = self.operator("SHAPE", [vector], [(DType.INT32, (source.rank,), None)], {"out_type": 2})[0]
            self.sources[vector] = frozenset()
        bounds = [self.constant(np.array([n], np.int32)) for n in (place, place + 1, 1)]
        dtype = source.dtype if is_element else DType.INT32
        number = self.operator("STRIDED_SLICE", [vector, *bounds], [(dtype, (1,), None)], {})[0]
        return number if dtype is DType.INT32 else self.operator("CAST", [number], [(DType.INT32, (1,), None)], {})[0]

    def element_sizes(self, value: OnnxValue) -> tuple[int, ...]:
        """The elements of a vector or scalar of integers that is computed at run time, as sizes."""
        sizes = [OpenSize() for _ in range(value.size)]
        for place, size in enumerate(sizes):
            size.place = self, value.tensor, place, True
        return tuple(sizes)

    def nonzero_tensor(self, flags: OnnxValue) -> int:
        """int64 [rows, rank]: the indices of elements that are not zero, as many as there are."""
        return self.operator("WHERE", [self.laid(flags)], [(DType.INT64, (OpenSize(), flags.rank), None)])[0]

    def tag(self, tensor: int, quantization: Quantization) -> bool:
        """Says what a tensor of integers stands for; whether that is true, because nothing else was said before."""
        entry = self.tensors[tensor]
        if entry.quantization is None:
            self.builder.tensors[tensor] = replace(entry, quantization=quantization)
        return entry.quantization in (None, quantization)

    def sources_of(self, value: OnnxValue) -> frozenset[str]:
        """Names of the model's inputs that a value depends on by its contents; empty for a constant."""
        if value.constant is not None or value.graph is None:
            return frozenset()
        return value.graph.sources.get(value.tensor, frozenset())
