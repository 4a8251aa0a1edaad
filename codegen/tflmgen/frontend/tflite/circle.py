"""Circle, the format of Samsung's ONE: TFLite's schema with operators of its own, which have negative codes.

https://github.com/Samsung/ONE, res/CircleSchema; formulas: compiler/luci-interpreter/src/kernels there. INSTANCE_NORM,
RMS_NORM and ROPE become TFLite's operators; the others keep their names, and are refused where an operator without a
kernel is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from tflmgen.frontend.model_graph.model_rewrite import SubGraphRewrite
from tflmgen.frontend.model_graph.subgraphs import fused_activation
from tflmgen.frontend.tflite.model import FileOperator, SubGraph
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
    """The subgraphs with operators of Circle's as TFLite's. Reports those that have no such form."""
    numbers = count(max((tensor.buffer for graph in subgraphs for tensor in graph.tensors), default=0) + 1)

    def lower(graph: SubGraphRewrite, op: FileOperator) -> bool:
        if op.name not in _LOWERINGS:
            return False
        problem = _problem(graph.graph, op)
        if problem:
            problems.located((graph.graph.index, graph.graph.name), (op.index, op.name))(problem)
            return False
        _LOWERINGS[op.name](_Written(graph, op))
        return True

    lowered = []
    for graph in subgraphs:
        rewrite = SubGraphRewrite(graph, lambda _: next(numbers))
        rewrite.apply(lower)
        lowered.append(rewrite.result() if rewrite.is_changed else graph)
    return tuple(lowered)


def _problem(graph: SubGraph, op: FileOperator) -> str:
    """The reason that an operator has no form in TFLite; empty where it has one."""
    counts, names = ((2, 3), "an input and gamma") if op.name == "RMS_NORM" else ((3,), _OPERANDS[op.name])
    if len(op.inputs) not in counts or min(op.inputs) < 0 or len(op.outputs) != 1:
        return f"requires {names}, and one output"
    source, *others = (graph.tensors[place] for place in op.inputs)
    ranks = (1, 2, 3, 4) if op.name == "RMS_NORM" else (4,)
    if source.dtype is not DType.FLOAT32 or len(source.shape) not in ranks:
        wanted = "" if op.name == "RMS_NORM" else " of rank 4"
        return f"requires float32{wanted}; this one has {source.type_name} of rank {len(source.shape)}"
    if op.name == "ROPE":
        if (op.options or {}).get("mode"):
            return "requires the mode GPT_NEOX"
        if source.shape[3] % 2 or any(math.prod(table.shape) != source.shape[3] for table in others):
            return f"requires an even number of elements, here {source.shape[3]}, and tables of as many"
    return ""


_OPERANDS = {"INSTANCE_NORM": "an input, gamma and beta", "ROPE": "an input and tables of sines and cosines"}


class _Written:
    """The operators of TFLite that stand for one of Circle's."""

    def __init__(self, graph: SubGraphRewrite, op: FileOperator) -> None:
        self.graph, self.op, self.options = graph, op, op.options or {}
        self.prefix = op.name.lower()
        self.shape = graph.tensors[op.inputs[0]].shape

    def _name(self) -> str:
        return f"{self.prefix}_{len(self.graph.tensors)}"

    def add(self, name: str, inputs: Sequence[int], shape: tuple[int, ...], **options: object) -> int:
        """The float32 result of an operator."""
        output = self.graph.value(self._name(), shape)
        self.graph.add(name, inputs, [output], options)
        return output

    def finish(self, name: str, inputs: Sequence[int], **options: object) -> None:
        """The operator whose result is that of Circle's."""
        self.graph.add(name, inputs, self.op.outputs, options)

    def constant(self, values: float | Sequence[int], dtype: DType = DType.INT32) -> int:
        """A constant tensor."""
        return self.graph.constant(self._name(), values, dtype)

    def inverse_root(self, mean: int, shape: tuple[int, ...]) -> int:
        """1 / sqrt(mean + epsilon)."""
        epsilon = self.constant(self.options.get("epsilon", 0.0), DType.FLOAT32)
        return self.add("RSQRT", [self.add("ADD", [mean, epsilon], shape)], shape)


def _instance_norm(written: _Written) -> None:
    """y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, over height and width of each channel."""
    source, gamma, beta = written.op.inputs
    add, shape = written.add, written.shape
    reduced = (shape[0], 1, 1, shape[3])
    axes = written.constant([1, 2])
    mean = add("MEAN", [source, axes], reduced, keep_dims=True)
    centred = add("SUB", [source, mean], shape)
    variance = add("MEAN", [add("SQUARE", [centred], shape), axes], reduced, keep_dims=True)
    normal = add("MUL", [centred, written.inverse_root(variance, reduced)], shape)
    scaled = add("MUL", [normal, gamma], shape)
    written.finish("ADD", [scaled, beta], fused_activation_function=fused_activation(written.op))


def _rms_norm(written: _Written) -> None:
    """y = x / sqrt(mean(x^2) + epsilon) * gamma, and + beta in older files, over the last dimension."""
    source, gamma, *beta = written.op.inputs
    add, shape = written.add, written.shape
    reduced = (*shape[:-1], 1)
    axes = written.constant([len(shape) - 1])
    mean = add("MEAN", [add("SQUARE", [source], shape), axes], reduced, keep_dims=True)
    normal = add("MUL", [source, written.inverse_root(mean, reduced)], shape)
    if beta:
        written.finish("ADD", [add("MUL", [normal, gamma], shape), *beta])
    else:
        written.finish("MUL", [normal, gamma])


def _rope(written: _Written) -> None:
    """Pairs of an element of the first half and one of the second are turned: the mode GPT_NEOX."""
    source, sines, cosines = written.op.inputs
    add, shape = written.add, written.shape
    half, row = (*shape[:3], shape[3] // 2), (shape[3],)

    def halves(tensor: int, rank: int) -> tuple[int, int]:
        begins = ([0] * (rank - 1) + [start] for start in (0, half[3]))
        sizes = written.constant([*(half[:3] if rank == 4 else ()), half[3]])
        part = half if rank == 4 else half[3:]
        first, second = (add("SLICE", [tensor, written.constant(begin), sizes], part) for begin in begins)
        return first, second

    x = halves(source, 4)
    sine, cosine = (halves(add("RESHAPE", [t, written.constant(row)], row), 1) for t in (sines, cosines))
    turned = [add("MUL", [x[0], cosine[0]], half), add("MUL", [x[1], sine[0]], half)]
    others = [add("MUL", [x[0], sine[1]], half), add("MUL", [x[1], cosine[1]], half)]
    parts = [add("SUB", turned, half), add("ADD", others, half)]
    written.finish("CONCATENATION", parts, axis=3)


_LOWERINGS = {"INSTANCE_NORM": _instance_norm, "RMS_NORM": _rms_norm, "ROPE": _rope}
