"""State shared by all steps of one import: identities, constants, problems, current contents of variables."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.errors import Location, Problem
from tflmgen.frontend.shape_bounds import Bounds, TensorKey
from tflmgen.frontend.tflite.model import FileTensor, Model, SubGraph
from tflmgen.frontend.variables import FileVariable
from tflmgen.ir import Bound, DType, TensorType, constant_array
from tflmgen.ir.graph import Origin, Value
from tflmgen.kernels.specification import Operators


@dataclass(frozen=True, slots=True)
class VariableHandle:
    """Value of a resource tensor: the name of its variable, without bytes of its own."""

    variable: str


Argument = Value | VariableHandle


@dataclass(frozen=True, slots=True)
class TensorSource:
    """The tensor (subgraph, tensor) that a Value holds.

    extents  axis -> rows in use along it, an int32 scalar, of a tensor with dynamic dimensions
    """

    key: TensorKey
    extents: Mapping[int, Value] = field(default_factory=dict)


LinearForm = Mapping[Value | None, NDArray[Any]]
"""Elements as a sum: those at None, and of each extent a multiple for each element."""


class Context:
    """State of one import."""

    def __init__(
        self, model: Model, variables: Mapping[str, FileVariable], bounds: Bounds, operators: Operators
    ) -> None:
        self.model = model
        self.operators = operators
        self.variables = variables
        self.bounds = bounds
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.constants: dict[str, bytes] = {}
        self.contents: dict[str, Value] = {}
        """Variable name -> current value, while a stateful function is imported."""
        self.open: dict[Value, Problem] = {}
        """Values of unknown shape -> the problem to report if a live operator reads them."""
        self.uninitialised: set[Value] = set()
        self.extents: dict[Value, dict[int, Value]] = {}
        """Values with dynamic dimensions -> axis -> extent: the rows in use along it, an int32 scalar."""
        self.tensors: dict[Value, TensorSource] = {}
        """Values that operators of the file compute -> their tensors."""
        self.shapes: dict[TensorKey, tuple[int, ...]] = {}
        """Tensors of the file that are inputs of subgraphs or computed -> their shapes, dynamic dimensions at most."""
        self.largest: dict[Value, NDArray[Any]] = {}
        """Small integer values computed from dynamic dimensions -> upper bound of each element."""
        self.linear: dict[Value, LinearForm] = {}
        """Small integer values computed linearly from dynamic dimensions."""
        self._last_id = 0

    def linear_form(self, value: Value) -> LinearForm | None:
        """An integer value as a sum of multiples: a single number that nothing is known of is itself."""
        if value in self.linear or value.type.dtype not in (DType.INT32, DType.INT64):
            return self.linear.get(value)
        array = constant_array(value, self.constants)
        if array is not None:
            return {None: array}
        if value.type.elements != 1:
            return None
        shape, dtype = value.type.max_shape, value.type.dtype.numpy
        return {None: np.zeros(shape, dtype), value: np.ones(shape, dtype)}

    def new_id(self) -> int:
        """An id that no value or node of this import has."""
        self._last_id += 1
        return self._last_id

    def value(self, name: str, type_: TensorType) -> Value:
        """A new value without contents."""
        return Value(self.new_id(), name, type_)

    def constant(self, name: str, type_: TensorType, data: bytes, key: str) -> Value:
        """A constant value; `key` identifies it in the constant pool, which may hold equal contents twice."""
        self.constants[key] = data
        return Value(self.new_id(), name, type_, key)

    def folded(self, name: str, type_: TensorType, data: bytes) -> Value:
        """A constant of the importer's own, called by a hash of its contents, as those that passes make."""
        return self.constant(name, type_, data, f"folded.{hashlib.sha256(data).hexdigest()[:32]}")

    def location(self, origin: Origin) -> Location:
        """Place of an operator in the file, for messages."""
        return origin.location(self.model.name)

    def problem(self, origin: Origin, rule: str, advice: str = "") -> None:
        """Records a rule of the operator at `origin` that the file breaks; the import goes on, to find others."""
        self.problems.append(Problem(self.location(origin), rule, advice))

    def tensor_problem(self, subgraph: SubGraph, tensor: FileTensor, rule: str, advice: str = "") -> None:
        """Records a rule of a tensor that the file breaks; the import goes on, to find others."""
        location = Location(
            self.model.name, subgraph.index, subgraph.name, tensor=tensor.index, tensor_name=tensor.name
        )
        self.problems.append(Problem(location, rule, advice))

    def declared(self, subgraph: SubGraph, index: int) -> TensorType:
        """Type that the file declares for a tensor; reports an unsupported element type and substitutes int8."""
        tensor = subgraph.tensors[index]
        if tensor.dtype is None:
            self.tensor_problem(subgraph, tensor, f"element type {tensor.type_name} is not supported")
            return TensorType(DType.INT8, tensor.shape)
        return TensorType(tensor.dtype, tensor.shape, tensor.quantization, tensor.blocks)

    def note_tensor(self, key: TensorKey, argument: Argument) -> None:
        """Records the tensor of a value, with the extents that it has now; the first one of a value with several."""
        if isinstance(argument, Value):
            self.note_shapes(key[0], {key[1]: argument})
            self.tensors.setdefault(argument, TensorSource(key, dict(self.extents.get(argument, {}))))

    def note_shapes(self, subgraph: int, arguments: Mapping[int, Argument]) -> None:
        """Records the shapes of values, by their tensors in a subgraph."""
        values = ((index, value) for index, value in arguments.items() if isinstance(value, Value))
        self.shapes |= {(subgraph, index): value.type.max_shape for index, value in values}

    def bound_type(self, value: Value) -> TensorType:
        """Type of a value, with Bounds as its dynamic dimensions."""
        if value not in self.extents:
            return value.type
        return with_bounds(value.type, self.extents[value])

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Restores the variables' contents on leaving: for one branch of an IF."""
        contents = dict(self.contents)
        yield
        self.contents = contents


def with_bounds(type_: TensorType, axes: Collection[int]) -> TensorType:
    """The type with Bounds as the dimensions `axes`."""
    return type_.with_shape(tuple(Bound("rows", d) if i in axes else d for i, d in enumerate(type_.max_shape)))


def difference(outer: TensorType, inner: TensorType, open_shape: bool) -> str:
    """Difference between a tensor and its counterpart inside a subgraph, as text; empty if there is none.

    open_shape  ignore the shapes, as one of them is dynamic
    """
    if outer.dtype is not inner.dtype:
        return f"element type {inner.dtype.label}, but {outer.dtype.label} outside"
    if outer.shape != inner.shape and not open_shape:
        return f"shape {list(inner.max_shape)}, but {list(outer.max_shape)} outside"
    if outer.quantization and inner.quantization and outer.quantization != inner.quantization:
        return "quantised otherwise than outside"
    return ""
