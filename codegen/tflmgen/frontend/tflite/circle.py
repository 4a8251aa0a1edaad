"""Circle, the format of Samsung's ONE: TFLite's schema with operators of its own, which have negative codes.

https://github.com/Samsung/ONE, res/CircleSchema; formulas: compiler/luci-interpreter/src/kernels there, of GRU
pal/linux/PALGRU.h. INSTANCE_NORM, RMS_NORM and ROPE become TFLite's operators, and GRU TflmgenGru.

BCQ_FULLY_CONNECTED and BCQ_GATHER have weights in binary codes: each is a sum of scales, added where a bit is 1 and
subtracted where it is 0. They become FULLY_CONNECTED and GATHER of the decoded weights. ONE has no kernel of them, its
luci/pass/src/FuseBCQPass.cpp and core/src/util/ShapeInference.cpp have the shapes and the order of bits in a word
(the first is the lowest); the order of codes in a cluster, all outputs of one bit and then those of the next, is that
of https://github.com/nnstreamer/nntrainer, nntrainer/tensor/bcq_tensor.cpp, which calls the same library.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    if op.name in _OTHER_PROBLEMS:
        return _OTHER_PROBLEMS[op.name](graph, op)
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
            return "requires the mode GPT_NEOX; GPT_J has no meaning yet: ONE's kernels refuse it or do nothing"
        if source.shape[3] % 2 or any(math.prod(table.shape) != source.shape[3] for table in others):
            return f"requires an even number of elements, here {source.shape[3]}, and tables of as many"
    return ""


def _gru_problem(graph: SubGraph, op: FileOperator) -> str:
    del graph
    if len(op.inputs) != 6 or len(op.outputs) != 1 or min(op.inputs[place] for place in (0, 1, 3, 5)) < 0:
        return "requires an input, weights and biases of input and state, and a state"
    return "requires one result, the last state" if (op.options or {}).get("return_sequences") else ""


def _bcq_problem(graph: SubGraph, op: FileOperator) -> str:
    """Places of scales, codes and clusters: 0, 1 and 3 in BCQ_GATHER, 1, 2 and 4 in BCQ_FULLY_CONNECTED."""
    count, first = (4, 0) if op.name == "BCQ_GATHER" else (5, 1)
    if len(op.inputs) != count or len(op.outputs) != 1:
        return "requires scales, codes and clusters of weights"
    operands = [graph.tensors[index] if index >= 0 else None for index in op.inputs]
    scales, codes, clusters = operands[first], operands[first + 1], operands[first + 3]
    for tensor, dtype in ((scales, DType.FLOAT32), (codes, DType.INT32), (clusters, DType.INT32)):
        if tensor is None or tensor.data is None or tensor.dtype is not dtype:
            return "requires constant scales of float32, and codes and clusters of int32"
    if count == 5 and (operands[0] is None or len(operands[0].shape) != 2 or operands[0].dtype is not DType.FLOAT32):
        return "requires a float32 input of rank 2"
    return "" if _decoded(graph, op) is not None else "requires clusters that its scales and codes are for"


def _decoded(graph: SubGraph, op: FileOperator) -> NDArray[np.float32] | None:
    """Weights [outputs, hidden] of binary codes; None where numbers of codes, scales and clusters do not agree."""
    first = 0 if op.name == "BCQ_GATHER" else 1
    scales, codes, clusters = (graph.tensors[op.inputs[first + k]] for k in (0, 1, 3))
    options = op.options or {}
    hidden = int(options.get("input_hidden_size", options.get("weights_hidden_size", 0)))
    alpha = np.frombuffer(scales.data or b"", "<f4")
    words = np.frombuffer(codes.data or b"", "<u4")
    pairs = np.frombuffer(clusters.data or b"", "<i4")
    if pairs.size % 2 or (pairs < 1).any() or not 0 < hidden <= 1 << 20:
        return None
    pairs = pairs.reshape(-1, 2).astype(np.int64)
    rows = int(pairs.prod(axis=1).sum())
    if len(alpha) != rows or words.size != rows * -(-hidden // 32):
        return None
    bits = np.unpackbits(words.view(np.uint8), bitorder="little").reshape(rows, -1)[:, :hidden]
    terms = np.where(bits, alpha[:, None], -alpha[:, None])
    weights, begin = [], 0
    for codes_each, size in pairs.tolist():
        cluster = terms[begin : begin + codes_each * size].reshape(codes_each, size, hidden)
        weights.append(cluster.sum(axis=0, dtype=np.float32))
        begin += codes_each * size
    return np.concatenate(weights)


_OTHER_PROBLEMS = {"GRU": _gru_problem, "BCQ_FULLY_CONNECTED": _bcq_problem, "BCQ_GATHER": _bcq_problem}

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

    def constant(self, values: ArrayLike, dtype: DType = DType.INT32) -> int:
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


def _gru(written: _Written) -> None:
    sums = written.graph.tensors[written.op.inputs[3]].shape[:1]
    inputs = [
        index if index >= 0 else written.constant(np.zeros(sums, np.float32), DType.FLOAT32)
        for index in written.op.inputs
    ]
    written.finish("CUSTOM:TflmgenGru", inputs)


def _bcq_weights(written: _Written) -> int:
    decoded = _decoded(written.graph.graph, written.op)
    assert decoded is not None
    return written.graph.constant(f"{written.prefix}_weights", decoded, DType.FLOAT32)


def _bcq_gather(written: _Written) -> None:
    weights, indices = _bcq_weights(written), written.op.inputs[2]
    written.finish("GATHER", [weights, indices], axis=int(written.options.get("axis", 0)))


def _bcq_fully_connected(written: _Written) -> None:
    """W x + b, with the elements of an input in its columns, and so those of the result."""
    source, bias, weights = written.op.inputs[0], written.op.inputs[3], _bcq_weights(written)
    (hidden, columns), outputs = written.shape, written.graph.tensors[weights].shape[0]
    swapped = written.constant([1, 0])
    rows = written.add("TRANSPOSE", [source, swapped], (columns, hidden))
    operands = [rows, weights, *([bias] if bias >= 0 else [])]
    activation = fused_activation(written.op)
    products = written.add(
        "FULLY_CONNECTED", operands, (columns, outputs), fused_activation_function=activation, keep_num_dims=False
    )
    written.finish("TRANSPOSE", [products, swapped])


_LOWERINGS = {
    "INSTANCE_NORM": _instance_norm,
    "RMS_NORM": _rms_norm,
    "ROPE": _rope,
    "GRU": _gru,
    "BCQ_FULLY_CONNECTED": _bcq_fully_connected,
    "BCQ_GATHER": _bcq_gather,
}
