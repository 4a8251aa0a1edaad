"""GATHER of one row in int16 as SLICE: TFLite Micro has no int16 kernel of GATHER.

Loops pick the row of a time step so. Between conversions to float, each iteration would convert the whole sequence.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from tflmgen.frontend import Model, Operator, SubGraph, Tensor, contents, operator_version, options_with_defaults
from tflmgen.ir import DType
from tflmgen.quantize.integer_forms import picks_a_row


def with_sliced_rows(model: Model) -> Model:
    """The Model with SLICE for each GATHER in int16 that picks one row; the constants of its bounds come last."""
    graphs = tuple(_Slicer(graph).run() if _picks(graph) else graph for graph in model.subgraphs)
    return model if graphs == model.subgraphs else replace(model, subgraphs=graphs)


def _picks(graph: SubGraph) -> list[int]:
    """Indices of the operators that become SLICE."""
    wide = (op for op in graph.operators if op.name == "GATHER" and graph.tensors[op.inputs[0]].dtype is DType.INT16)
    return [op.index for op in wide if picks_a_row(op, graph)]


@dataclass(slots=True)
class _Slicer:
    """The operators of one subgraph in the making."""

    graph: SubGraph
    tensors: list[Tensor] = field(init=False)
    operators: list[Operator] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.tensors = list(self.graph.tensors)

    def run(self) -> SubGraph:
        picks = _picks(self.graph)
        for op in self.graph.operators:
            if op.index in picks:
                self._slice(op)
            else:
                self.operators.append(op)
        operators = tuple(replace(op, index=index) for index, op in enumerate(self.operators))
        return replace(self.graph, tensors=tuple(self.tensors), operators=operators)

    def _slice(self, op: Operator) -> None:
        """begin = [0.., index, 0..], then SLICE, and RESHAPE to the shape that GATHER's result has."""
        rows, result = self.tensors[op.inputs[0]], self.tensors[op.outputs[0]]
        rank = len(rows.shape)
        axis = int((op.options or {}).get("axis", 0)) % rank
        begin = self._like(result, "begin", (rank,), DType.INT32)
        self._add("CONCATENATION", [*self._zeros(axis), self._index(op), *self._zeros(rank - axis - 1)], begin)
        shape = tuple(1 if place == axis else dim for place, dim in enumerate(rows.shape))
        row = result.index if shape == result.shape else self._like(result, "row", shape)
        self._add("SLICE", [rows.index, begin, self._constant("size", shape)], row)
        if row != result.index:
            self._add("RESHAPE", [row, self._constant("shape", result.shape)], result.index)

    def _index(self, op: Operator) -> int:
        index = self.tensors[op.inputs[1]]
        if index.shape == (1,):
            return index.index
        vector = self._like(index, "vector", (1,))
        self._add("RESHAPE", [index.index, self._constant("one", (1,))], vector)
        return vector

    def _zeros(self, count: int) -> list[int]:
        return [self._constant("zeros", (0,) * count)] if count else []

    def _constant(self, name: str, values: tuple[int, ...]) -> int:
        array, index = np.array(values, np.int32), len(self.tensors)
        data, label = contents(array, DType.INT32), DType.INT32.label
        self.tensors.append(Tensor(index, name, DType.INT32, label, array.shape, None, True, None, data, False, 0))
        return index

    def _like(self, tensor: Tensor, name: str, shape: tuple[int, ...], dtype: DType | None = None) -> int:
        """A tensor without contents, in the type of another or a plain one."""
        index, own = len(self.tensors), dtype or tensor.dtype
        assert own is not None
        quantization = tensor.quantization if dtype is None else None
        name = f"{tensor.name}_{name}"
        self.tensors.append(Tensor(index, name, own, own.label, shape, None, True, quantization, None, False, 0))
        return index

    def _add(self, name: str, inputs: list[int], output: int) -> None:
        options = options_with_defaults(name, {})
        operands = [self.tensors[i] for i in inputs]
        version = operator_version(name, operands, [self.tensors[output]], options)
        self.operators.append(Operator(0, name, version, tuple(inputs), (output,), options, b"", ()))
