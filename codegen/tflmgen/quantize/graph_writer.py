"""Writer of a subgraph: operators in a new order, with tensors and operators added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tflmgen.frontend import Operator, SubGraph, Tensor, contents, operator_version, options_with_defaults
from tflmgen.ir import DType


@dataclass(slots=True)
class GraphWriter:
    """A subgraph in the making: the tensors of `graph` and new ones, and the operators so far, in order."""

    graph: SubGraph
    tensors: list[Tensor] = field(init=False)
    operators: list[Operator] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.tensors = list(self.graph.tensors)

    def finished(self) -> SubGraph:
        """The subgraph with the operators in the order in which they came."""
        operators = tuple(replace(op, index=index) for index, op in enumerate(self.operators))
        return replace(self.graph, tensors=tuple(self.tensors), operators=operators)

    def constant(self, name: str, values: Sequence[int] | int) -> int:
        """A new constant of int32, a scalar or a vector."""
        array, index = np.array(values, np.int32), len(self.tensors)
        self.tensors.append(Tensor.added(index, name, DType.INT32, array.shape, contents(array, DType.INT32)))
        return index

    def like(self, tensor: Tensor, name: str, shape: tuple[int, ...], dtype: DType | None = None) -> int:
        """A new tensor without contents, in the type of another or a plain one; its name is behind the other's."""
        index, own = len(self.tensors), dtype or tensor.dtype
        assert own is not None
        quantization = tensor.quantization if dtype is None else None
        name = f"{tensor.name}_{name}"
        self.tensors.append(Tensor.added(index, name, own, shape, quantization=quantization))
        return index

    def add(self, name: str, inputs: Sequence[int], output: int) -> None:
        """A new operator behind those so far, with the schema's default options."""
        options = options_with_defaults(name, {})
        operands = [self.tensors[i] for i in inputs]
        version = operator_version(name, operands, [self.tensors[output]], options)
        self.operators.append(Operator(0, name, version, tuple(inputs), (output,), options, b"", ()))
