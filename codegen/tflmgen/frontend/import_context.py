"""What one import shares: identities, constants, problems, and the contents of variables at the point reached."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tflmgen.errors import Location, Problem
from tflmgen.frontend.shape_bounds import Bounds
from tflmgen.frontend.tflite.model import Model, SubGraph, Tensor
from tflmgen.frontend.variables import FileVariable
from tflmgen.ir import Bound, DType, Origin, TensorType, Value
from tflmgen.kernels import Operators


@dataclass(frozen=True, slots=True)
class Handle:
    """A resource tensor: it stands for a variable and has no bytes of its own."""

    variable: str


Argument = Value | Handle


class Context:
    """The state of one import."""

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
        """The current value of each variable, while a function that has state is imported."""
        self.open: dict[Value, Problem] = {}
        """Values whose shape is not known; a problem only if something that is needed reads them."""
        self.uninitialised: set[Value] = set()
        self.extents: dict[Value, dict[int, Value]] = {}
        """Values with dimensions known at run time only -> for each of these axes how much is in use, an int32."""
        self.largest: dict[Value, NDArray[Any]] = {}
        """Small integer values made of dimensions known at run time only -> what each element can be at most."""
        self._last_id = 0

    def new_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def value(self, name: str, type_: TensorType) -> Value:
        return Value(self.new_id(), name, type_)

    def constant(self, name: str, type_: TensorType, data: bytes, key: str) -> Value:
        """A constant value; `key` is its place in the pool, where equal contents may be put twice."""
        self.constants[key] = data
        return Value(self.new_id(), name, type_, key)

    def folded(self, name: str, type_: TensorType, data: bytes) -> Value:
        return self.constant(name, type_, data, f"folded.{self.new_id()}")

    def where(self, origin: Origin) -> Location:
        return Location(self.model.name, origin.subgraph, origin.subgraph_name, origin.operator, origin.operator_name)

    def problem(self, origin: Origin, rule: str, advice: str = "") -> None:
        self.problems.append(Problem(self.where(origin), rule, advice))

    def tensor_problem(self, subgraph: SubGraph, tensor: Tensor, rule: str, advice: str = "") -> None:
        where = Location(self.model.name, subgraph.index, subgraph.name, tensor=tensor.index, tensor_name=tensor.name)
        self.problems.append(Problem(where, rule, advice))

    def declared(self, subgraph: SubGraph, index: int) -> TensorType:
        """The type that the file declares for a tensor; where it is unusable a problem, and a stand-in."""
        tensor = subgraph.tensors[index]
        if tensor.dtype is None:
            self.tensor_problem(subgraph, tensor, f"element type {tensor.type_name} is not supported here")
            return TensorType(DType.INT8, tensor.shape)
        return TensorType(tensor.dtype, tensor.shape, tensor.quantization, tensor.blocks)

    def bound_type(self, value: Value) -> TensorType:
        """The type of a value, its dimensions Bounds where they are known at run time only."""
        if value not in self.extents:
            return value.type
        return with_bounds(value.type, self.extents[value])

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Inside, assignments to variables are those of a side path: undone on leaving."""
        before = dict(self.contents)
        yield
        self.contents = before


def with_bounds(type_: TensorType, axes: Collection[int]) -> TensorType:
    """The type with Bounds as these dimensions."""
    return type_.with_shape(tuple(Bound("rows", d) if i in axes else d for i, d in enumerate(type_.max_shape)))


def difference(here: TensorType, there: TensorType, open_shape: bool) -> str:
    """What is different between a tensor and its counterpart across a subgraph's boundary; empty if nothing is.

    The shapes don't count where one of them is open.
    """
    if here.dtype is not there.dtype:
        return f"element type {there.dtype.label}, but {here.dtype.label} outside"
    if here.shape != there.shape and not open_shape:
        return f"shape {list(there.max_shape)}, but {list(here.max_shape)} outside"
    if here.quantization and there.quantization and here.quantization != there.quantization:
        return "quantised otherwise than outside"
    return ""
