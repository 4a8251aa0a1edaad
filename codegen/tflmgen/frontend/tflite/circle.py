"""Circle, the format of Samsung's ONE: TFLite's schema with operators of its own, which have negative codes.

https://github.com/Samsung/ONE, res/CircleSchema. INSTANCE_NORM becomes TFLite's operators; the others keep their names,
and are refused where an operator without a kernel is.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tflmgen.frontend.tflite.builder import options_with_defaults
from tflmgen.frontend.tflite.model import Operator, SubGraph, Tensor
from tflmgen.frontend.tflite.problems import ProblemList
from tflmgen.ir import DType

CIRCLE_IDENTIFIER = b"CIR0"
CIRCLE_VERSIONS = (0, 3)
"""Versions in files: Circle's own schema counts from 0; converters that start from a .tflite file may keep its 3."""

OWN_OPERATORS = {
    -2: "INSTANCE_NORM",
    -3: "BCQ_FULLY_CONNECTED",
    -4: "BCQ_GATHER",
    -5: "GRU",
    -6: "RMS_NORM",
    -7: "ROPE",
}
"""Operator code -> name. Files before schema 0.3 have these codes in the old 8-bit field alone."""


def own_operator(code: Mapping[str, Any]) -> str | None:
    """Name of an operator code if it is one of Circle's own; "operator -99" for one without a known name."""
    number = min(code["builtin_code"], code["deprecated_builtin_code"])
    return None if number >= 0 else OWN_OPERATORS.get(number, f"operator {number}")


def lower_own_operators(subgraphs: Sequence[SubGraph], problems: ProblemList) -> tuple[SubGraph, ...]:
    """The subgraphs with each INSTANCE_NORM as operators of TFLite. Reports one that is not of float32 and rank 4."""
    buffer = max((tensor.buffer for graph in subgraphs for tensor in graph.tensors), default=0) + 1
    lowered = []
    for graph in subgraphs:
        if any(op.name == "INSTANCE_NORM" for op in graph.operators):
            rewrite = _Rewrite(graph, buffer, problems)
            graph, buffer = rewrite.run(), rewrite.buffer
        lowered.append(graph)
    return tuple(lowered)


@dataclass
class _Rewrite:
    """A subgraph in the making. `buffer`: the next index of contents that is free in the file."""

    graph: SubGraph
    buffer: int
    problems: ProblemList

    def run(self) -> SubGraph:
        self._tensors = list(self.graph.tensors)
        self._operators: list[Operator] = []
        for op in self.graph.operators:
            if op.name == "INSTANCE_NORM" and self._is_supported(op):
                self._instance_norm(op)
            else:
                self._operators.append(replace(op, index=len(self._operators)))
        return replace(self.graph, tensors=tuple(self._tensors), operators=tuple(self._operators))

    def _is_supported(self, op: Operator) -> bool:
        complain = self.problems.located((self.graph.index, self.graph.name), (op.index, op.name))
        if len(op.inputs) != 3 or min(op.inputs) < 0 or len(op.outputs) != 1:
            complain("requires an input, gamma and beta, and one output")
            return False
        source = self._tensors[op.inputs[0]]
        if source.dtype is not DType.FLOAT32 or len(source.shape) != 4:
            complain(f"requires float32 of rank 4; this one has {source.type_name} of rank {len(source.shape)}")
            return False
        return True

    def _instance_norm(self, op: Operator) -> None:
        """y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, over height and width of each channel."""
        source, gamma, beta = op.inputs
        shape = self._tensors[source].shape
        reduced = (shape[0], 1, 1, shape[3])
        options = op.options or {}
        axes = self._constant(DType.INT32, (2,), struct.pack("<2i", 1, 2))
        epsilon = self._constant(DType.FLOAT32, (), struct.pack("<f", options.get("epsilon", 0.0)))
        mean = self._add("MEAN", (source, axes), reduced, keep_dims=True)
        centred = self._add("SUB", (source, mean), shape)
        variance = self._add("MEAN", (self._add("SQUARE", (centred,), shape), axes), reduced, keep_dims=True)
        inverse = self._add("RSQRT", (self._add("ADD", (variance, epsilon), reduced),), reduced)
        scaled = self._add("MUL", (self._add("MUL", (centred, inverse), shape), gamma), shape)
        activation = int(options.get("fused_activation_function", 0))
        self._append("ADD", (scaled, beta), op.outputs, fused_activation_function=activation)

    def _add(self, name: str, inputs: tuple[int, ...], shape: tuple[int, ...], **options: object) -> int:
        output = self._tensor(DType.FLOAT32, shape, None, 0)
        self._append(name, inputs, (output,), **options)
        return output

    def _append(self, name: str, inputs: tuple[int, ...], outputs: tuple[int, ...], **options: object) -> None:
        filled = options_with_defaults(name, options)
        self._operators.append(Operator(len(self._operators), name, 1, inputs, outputs, filled, b"", ()))

    def _constant(self, dtype: DType, shape: tuple[int, ...], data: bytes) -> int:
        self.buffer += 1
        return self._tensor(dtype, shape, data, self.buffer - 1)

    def _tensor(self, dtype: DType, shape: tuple[int, ...], data: bytes | None, buffer: int) -> int:
        index = len(self._tensors)
        name = f"instance_norm_{index}"
        self._tensors.append(replace(Tensor.added(index, name, dtype, shape, data), buffer=buffer))
        return index
