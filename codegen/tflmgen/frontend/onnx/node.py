"""An ONNX node with its operands as values, its attributes as Python values, and what its lowering may ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import onnx
from onnx import numpy_helper

from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import Array, OnnxValue
from tflmgen.frontend.onnx.node_error import NodeError, ShapeInputError
from tflmgen.frontend.tflite.builder import ModelBuilder
from tflmgen.ir import DType

ONNX_DTYPES: Mapping[int, DType] = {
    onnx.TensorProto.FLOAT: DType.FLOAT32,
    onnx.TensorProto.UINT8: DType.UINT8,
    onnx.TensorProto.INT8: DType.INT8,
    onnx.TensorProto.UINT16: DType.UINT16,
    onnx.TensorProto.INT16: DType.INT16,
    onnx.TensorProto.INT32: DType.INT32,
    onnx.TensorProto.INT64: DType.INT64,
    onnx.TensorProto.BOOL: DType.BOOL,
    onnx.TensorProto.UINT32: DType.UINT32,
    onnx.TensorProto.UINT64: DType.UINT64,
}
"""ONNX's element types that have storage."""


def dtype_of(number: int) -> DType:
    """Our element type of an ONNX type number. Raises NodeError for one that has no storage here."""
    if number not in ONNX_DTYPES:
        raise NodeError(f"has the element type {onnx.TensorProto.DataType.Name(number).lower()}, which is unsupported")
    return ONNX_DTYPES[number]


class GraphLowering(Protocol):
    """Interface for lowering the graphs that are attributes of nodes, such as branches and loop bodies."""

    builder: ModelBuilder
    declared: dict[str, tuple[int, ...]]
    notes: dict[str, None]

    def new_graph(self, name: str, parent: Graph | None = None) -> Graph:
        """Begins a subgraph."""

    def drop_graphs(self, count: int) -> None:
        """Forgets all subgraphs but the first `count`."""

    def lower(self, proto: onnx.GraphProto, graph: Graph, scope: dict[str, OnnxValue | None]) -> list[OnnxValue]:
        """Lowers a graph into a subgraph and returns its outputs."""


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """A node in its subgraph.

    inputs   its operands, None where one is left out
    version  of the operator set that it is written in
    walker   what lowers the graphs that are attributes
    scope    values that these graphs see
    """

    proto: onnx.NodeProto
    graph: Graph
    inputs: Sequence[OnnxValue | None]
    version: int
    walker: GraphLowering
    scope: Mapping[str, OnnxValue | None]

    @property
    def op(self) -> str:
        """ONNX's name of the operator, without its domain."""
        return str(self.proto.op_type)

    def has(self, index: int) -> bool:
        """Whether an operand is there: optional ones may be absent."""
        return len(self.inputs) > index and self.inputs[index] is not None

    def wants(self, index: int) -> bool:
        """Whether an output is there and named."""
        return len(self.proto.output) > index and bool(self.proto.output[index])

    def __getitem__(self, index: int) -> OnnxValue:
        """An operand. Raises NodeError if it is left out."""
        value = self.inputs[index] if len(self.inputs) > index else None
        if value is None:
            raise NodeError(f"lacks its input {index}")
        return value

    def optional(self, index: int) -> OnnxValue | None:
        """An operand, or None if it is absent."""
        return self.inputs[index] if len(self.inputs) > index else None

    def known(self, index: int, content: str) -> Array:
        """Contents of an operand that must be a constant. Raises NodeError, which names inputs that determine it."""
        return self.contents(self[index], content)

    def contents(self, value: OnnxValue, content: str) -> Array:
        """Contents of a value that must be a constant. Raises NodeError, which names inputs that determine it."""
        if value.constant is not None:
            return value.constant
        sources = self.graph.sources_of(value)
        if sources:
            raise ShapeInputError(content, sources)
        raise NodeError(f"needs {content} at build time, but that is computed at run time")

    def integers(self, index: int, content: str) -> list[int] | None:
        """The numbers of an optional constant operand."""
        return None if not self.has(index) else [int(i) for i in self.known(index, content).reshape(-1)]

    def sizes(self, index: int, content: str, from_data: bool = False) -> list[int]:
        """The numbers of an operand, of which some may be known at run time only.

        Raises NodeError, which names inputs that determine them, unless they may come `from_data`.
        """
        value = self[index]
        if value.numbers is not None:
            return list(value.numbers)
        may_be_open = from_data or not self.graph.sources_of(value)
        if value.constant is not None or not may_be_open or value.is_open or value.rank > 1:
            return [int(n) for n in self.contents(value, content).reshape(-1)]
        return list(open_numbers(value))

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute: int, float, str, a list of them, an array, or a GraphProto. Raises NodeError for a
        tensor that is damaged."""
        for entry in self.proto.attribute:
            if entry.name == name:
                try:
                    return _python(entry)
                except (ValueError, TypeError) as error:
                    raise NodeError(f"has an attribute '{name}' that cannot be read: {error}") from error
        return default

    def axis(self, rank: int, default: int = 0) -> int:
        """The attribute `axis` from 0 on. Raises NodeError if the operand has no such axis."""
        return normal_axis(int(self.attribute("axis", default)), rank)

    def axes(self, rank: int, index: int = 1) -> list[int] | None:
        """Axes as an operand or, in older operator sets, as an attribute; None where they are left out."""
        axes = self.attribute("axes")
        if axes is None:
            axes = self.integers(index, "its axes")
        return None if axes is None else [normal_axis(axis, rank) for axis in axes]


def normal_axis(axis: int, rank: int) -> int:
    """The axis counted from 0. Raises NodeError if an operand of this rank does not have it."""
    if not -rank <= axis < max(rank, 1):
        raise NodeError(f"has axis {axis}, but its operand has {rank} dimensions")
    return axis % rank if rank else 0


def open_numbers(value: OnnxValue) -> tuple[int, ...]:
    """The elements of a vector or scalar of integers that is computed at run time, as sizes."""
    assert value.graph is not None
    return value.graph.element_sizes(value)


def _python(entry: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(entry)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, onnx.TensorProto):
        return np.asarray(numpy_helper.to_array(value))
    if entry.type == onnx.AttributeProto.STRINGS:
        return [text.decode(errors="replace") for text in value]
    if entry.type in (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS):
        return list(value)
    return value
