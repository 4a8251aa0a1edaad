"""A subgraph in the making, with the operators that join stages: conversions, cuts, variables, branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.errors import InternalError
from tflmgen.frontend.tflite import CUSTOM, FileTensor, ModelBuilder, SubGraph, SubGraphBuilder
from tflmgen.ir import DType, TensorType
from tflmgen.kernels import Comparison, Connective

FLOAT, INT, BOOL = (TensorType(dtype, (1,)) for dtype in (DType.FLOAT32, DType.INT32, DType.BOOL))


def _operator(name: str) -> Callable[..., int]:
    """A method that adds an operator of these operands and options, whose output has the type `type_`."""

    def add(graph: GlueGraph, *operands: int, type_: TensorType, **options: Any) -> int:
        return graph.op(name, operands, type_, **options)

    return add


class GlueGraph:
    """Adds operators one by one; tensors are named by their index, as SubGraphBuilder has it."""

    add, sub, mul, div = _operator("ADD"), _operator("SUB"), _operator("MUL"), _operator("DIV")
    minimum, maximum, equal = _operator("MINIMUM"), _operator("MAXIMUM"), _operator("EQUAL")
    cast, sqrt, log, dense = _operator("CAST"), _operator("SQRT"), _operator("LOG"), _operator("FULLY_CONNECTED")
    mean, sum, largest = _operator("MEAN"), _operator("SUM"), _operator("REDUCE_MAX")
    place_of_largest = _operator("ARG_MAX")

    def __init__(self, builder: ModelBuilder, name: str) -> None:
        self.model = builder
        self.graph: SubGraphBuilder = builder.subgraph(name)

    def type_of(self, tensor: int) -> TensorType:
        """Type of a tensor by its index. A tensor without element type is an error of the caller."""
        return type_of(self.graph.tensors[tensor])

    def tensor(self, name: str, type_: TensorType) -> int:
        """A new tensor, to be written by an operator."""
        return self.graph.tensor(name, type_.dtype, type_.max_shape, type_.quantization)

    def op(self, operator: str, inputs: Sequence[int], type_: TensorType, name: str = "", **options: Any) -> int:
        """An operator of one output."""
        output = self.tensor(name or operator.lower(), type_)
        self.graph.operator(operator, inputs, [output], options or None)
        return output

    def custom(self, name: str, inputs: Sequence[int], type_: TensorType, **options: Any) -> int:
        """Adds a signal operator of TFLite Micro, of one output."""
        return self.customs(name, inputs, [type_], **options)[0]

    def customs(self, name: str, inputs: Sequence[int], types: Sequence[TensorType], **options: Any) -> list[int]:
        """Adds a custom operator of the audio family, "Signal" and `name`, and returns its outputs, of these types."""
        outputs = [self.tensor(name, type_) for type_ in types]
        self.graph.operator(f"{CUSTOM}Signal{name}", inputs, outputs, options)
        return outputs

    def constant(self, values: object, dtype: DType) -> int:
        """A constant tensor with the values' shape."""
        return self.graph.constant("constant", np.asarray(values, dtype.numpy))

    def floats(self, values: object) -> int:
        """A constant tensor of float32."""
        return self.constant(values, DType.FLOAT32)

    def integers(self, values: object) -> int:
        """A constant tensor of int32."""
        return self.constant(values, DType.INT32)

    def shaped(self, tensor: int, shape: tuple[int, ...]) -> int:
        """The tensor in another shape of as many elements."""
        type_ = self.type_of(tensor)
        if type_.max_shape == shape:
            return tensor
        return self.op("RESHAPE", (tensor, self.integers(shape)), type_.with_shape(shape), new_shape=shape)

    def copied(self, tensor: int) -> int:
        """A copy of a tensor, with a name of its own."""
        type_ = self.type_of(tensor)
        return self.op("RESHAPE", (tensor, self.integers(type_.max_shape)), type_, new_shape=type_.max_shape)

    def element(self, tensor: int, place: int) -> int:
        """An element of the flattened tensor, as a tensor of one."""
        flat = self.shaped(tensor, (self.type_of(tensor).elements,))
        return self.rows(flat, 0, place, 1)

    def rows(self, tensor: int, axis: int, first: int, count: int) -> int:
        """`count` elements from `first` on along one axis."""
        type_ = self.type_of(tensor)
        shape = type_.max_shape
        if (first, count) == (0, shape[axis]):
            return tensor
        cut = tuple(count if i == axis else dim for i, dim in enumerate(shape))
        begin = tuple(first if i == axis else 0 for i in range(len(shape)))
        return self.op("SLICE", (tensor, self.integers(begin), self.integers(cut)), type_.with_shape(cut))

    def joined(self, first: int, second: int, axis: int) -> int:
        """Two tensors, one after the other along one axis."""
        type_ = self.type_of(first)
        shape = list(type_.max_shape)
        shape[axis] += self.type_of(second).max_shape[axis]
        return self.op("CONCATENATION", (first, second), type_.with_shape(tuple(shape)), axis=axis)

    def shifted(self, window: int, rows: int, axis: int) -> int:
        """A window that has moved on by new rows."""
        count = self.type_of(window).max_shape[axis] - self.type_of(rows).max_shape[axis]
        hop = self.type_of(rows).max_shape[axis]
        return rows if count == 0 else self.joined(self.rows(window, axis, hop, count), rows, axis)

    def converted(self, tensor: int, wanted: TensorType) -> int | None:
        """The tensor with another type and shape; None where nothing converts it."""
        own = self.type_of(tensor)
        if own.elements != wanted.elements:
            return None
        tensor = self.shaped(tensor, wanted.max_shape)
        own, wanted = self.type_of(tensor), wanted
        if own.dtype is wanted.dtype and (
            own.quantization == wanted.quantization or own.quantization is None or wanted.quantization is None
        ):
            return tensor
        if own.quantization is not None and wanted.quantization is not None:
            return self.op("QUANTIZE", (tensor,), wanted)
        if own.quantization is not None and wanted.dtype is DType.FLOAT32:
            return self.op("DEQUANTIZE", (tensor,), wanted)
        if own.dtype is DType.FLOAT32 and wanted.quantization is not None:
            return self.op("QUANTIZE", (tensor,), wanted)
        if own.quantization is None and wanted.quantization is None:
            return self.op("CAST", (tensor,), wanted)
        return None

    def real(self, tensor: int) -> int | None:
        """The tensor in float32."""
        return self.converted(tensor, TensorType(DType.FLOAT32, self.type_of(tensor).shape))

    def compared(self, comparison: Comparison, tensor: int, number: float) -> int:
        """Element-wise comparison with a number: of int32 as such, of others as real numbers."""
        type_ = self.type_of(tensor)
        is_whole = type_.dtype is DType.INT32 and type_.quantization is None and float(number).is_integer()
        if not is_whole or abs(number) >= 1 << 31:
            converted = self.real(tensor)
            assert converted is not None
            return self.op(comparison.name, (converted, self.floats(number)), TensorType(DType.BOOL, type_.shape))
        return self.op(comparison.name, (tensor, self.integers(int(number))), TensorType(DType.BOOL, type_.shape))

    def both(self, first: int, second: int) -> int:
        """A Boolean that is true where both are."""
        return self.logical(Connective.AND, (first, second))

    def either(self, first: int, second: int) -> int:
        """A Boolean that is true where one of both is."""
        return self.logical(Connective.OR, (first, second))

    def logical(self, connective: Connective, terms: Sequence[int]) -> int:
        """A Boolean that is true where the connective holds of the terms."""
        return self.op(f"LOGICAL_{connective.name}", terms, BOOL)

    def read(self, variable: str, type_: TensorType) -> int:
        """Contents of a variable at this point."""
        handle = self._handle(variable)
        output = self.tensor(variable, type_)
        self.graph.operator("READ_VARIABLE", [handle], [output])
        return output

    def assign(self, variable: str, value: int) -> None:
        """Assigns a tensor to a variable, for all later reads and for the next call."""
        self.graph.operator("ASSIGN_VARIABLE", [self._handle(variable), value], [])

    def _handle(self, variable: str) -> int:
        handle = self.graph.tensor(f"{variable}/handle", None, [])
        self.graph.operator("VAR_HANDLE", [], [handle], {"shared_name": variable})
        return handle

    def graft(self, subgraph: SubGraph, inputs: Sequence[int]) -> list[int]:
        """A copy of a subgraph of the model: its outputs as tensors of this one."""
        places = dict(zip(subgraph.inputs, inputs, strict=True))
        for tensor in subgraph.tensors:
            if tensor.index not in places:
                buffer = self.model.buffer(tensor.data) if tensor.data else 0
                places[tensor.index] = len(self.graph.tensors)
                self.graph.tensors.append(replace(tensor, index=places[tensor.index], buffer=buffer))
        for op in subgraph.operators:
            moved = [tuple(places.get(i, -1) for i in group) for group in (op.inputs, op.outputs, op.intermediates)]
            index = len(self.graph.operators)
            self.graph.operators.append(
                replace(op, index=index, inputs=moved[0], outputs=moved[1], intermediates=moved[2])
            )
        return [places[i] for i in subgraph.outputs]

    def branch(
        self, condition: int, operands: Sequence[int], then: GlueGraph, orelse: GlueGraph, names: Sequence[str]
    ) -> list[int]:
        """An IF of two subgraphs whose inputs and outputs are set."""
        outputs = [self.tensor(name, then.type_of(i)) for name, i in zip(names, then.graph.outputs, strict=True)]
        options = {"then_subgraph_index": then.graph.index, "else_subgraph_index": orelse.graph.index}
        self.graph.operator("IF", [condition, *operands], outputs, options)
        return outputs


class Initials:
    """Initial contents of variables, assigned by a subgraph that runs once."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[NDArray[Any], TensorType]] = {}

    def add(self, variable: str, type_: TensorType, values: object = None) -> str:
        """Adds a variable; without values it begins with real zeros. Its name."""
        if variable in self._values:
            raise InternalError(f"two variables called {variable}")
        zero = type_.quantization.zero_point if type_.quantization is not None and values is None else 0
        array = np.broadcast_to(np.asarray(zero if values is None else values), type_.max_shape)
        self._values[variable] = (np.ascontiguousarray(array, type_.dtype.numpy), type_)
        return variable

    def write(self, main: GlueGraph) -> int:
        """Adds the subgraph and the operator in `main` that runs it; how many operators come before those of `main`."""
        if not self._values:
            return 0
        graph = GlueGraph(main.model, "initial state")
        for name, (array, type_) in self._values.items():
            graph.assign(name, graph.graph.constant(name, array, type_.quantization, type_.dtype))
        main.graph.operator("CALL_ONCE", [], [], {"init_subgraph_index": graph.graph.index})
        operators = main.graph.operators
        main.graph.operators = [replace(op, index=i) for i, op in enumerate([operators[-1], *operators[:-1]])]
        return 1


def type_of(tensor: FileTensor) -> TensorType:
    """Type of a tensor of a file. One without element type is an error of the caller."""
    assert tensor.dtype is not None
    return TensorType(tensor.dtype, tensor.shape, tensor.quantization)
