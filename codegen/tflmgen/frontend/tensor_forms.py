"""Tensors of forms that no kernel takes, in forms that kernels take: sparse constants are dense, complex numbers pairs.

Complex tensors become float32 ones, whose last dimension has the real and the imaginary part of each number in turn:

    RFFT2D of one row  ->  CUSTOM:SignalRfft        RESHAPE and its like  ->  RESHAPE
    COMPLEX_ABS  ->  square root of the sum of both squares        REAL, IMAG  ->  every other number

What else computes on complex numbers is refused.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from flatbuffers import flexbuffers

from tflmgen.frontend.model_graph.model_rewrite import SubGraphRewrite
from tflmgen.frontend.model_graph.tensor_values import constant_values
from tflmgen.frontend.tflite.model import FileOperator, FileTensor, SubGraph
from tflmgen.frontend.tflite.problems import ProblemList
from tflmgen.frontend.tflite.tensors import COMPLEX
from tflmgen.ir import DType

PARTS = ("COMPLEX_ABS", "REAL", "IMAG")
FORMS = {
    "RFFT2D": (False, True),
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), (True, True)),
    **dict.fromkeys(PARTS, (True, False)),
}
"""Operator -> whether its first input, and its output, is complex."""

NUMBER_BYTES = 8
"""Bytes of a complex64."""

LEAST_LENGTH = 4
"""Least length of a transform, in real samples."""


def without_densify(graph: SubGraph) -> SubGraph:
    """The subgraph without DENSIFY, since sparse constants are read in dense form."""

    def written(rewrite: SubGraphRewrite, op: FileOperator) -> bool:
        if op.name != "DENSIFY" or len(op.inputs) != 1 or len(op.outputs) != 1 or op.inputs[0] < 0:
            return False
        if op.outputs[0] in graph.outputs:
            rewrite.reshape(op.inputs[0], op.outputs[0])
        else:
            rewrite.use_instead(op.inputs[0], op.outputs[0])
        return True

    rewrite = SubGraphRewrite(graph)
    rewrite.apply(written)
    return rewrite.result() if rewrite.is_changed else graph


def without_complex_tensors(graph: SubGraph, problems: ProblemList) -> SubGraph:
    """The subgraph with pairs of floats for complex numbers; reports what cannot be written so."""
    complex_tensors = {tensor.index for tensor in graph.tensors if tensor.type_name == COMPLEX}
    if not complex_tensors:
        return graph
    place = graph.index, graph.name
    for index in complex_tensors.intersection((*graph.inputs, *graph.outputs)):
        complain = problems.located(place, tensor=(index, graph.tensors[index].name))
        complain("inputs and outputs of complex64 are not supported", "Take their REAL and IMAG parts apart")
    for index in sorted(complex_tensors):
        tensor = graph.tensors[index]
        if tensor.data is not None and len(tensor.data) != NUMBER_BYTES * math.prod(tensor.shape):
            complain = problems.located(place, tensor=(index, tensor.name))
            complain(f"complex64{list(tensor.shape)} has contents of {len(tensor.data):,} bytes")
    tensors = tuple(_as_pairs(t) if t.index in complex_tensors else t for t in graph.tensors)
    rewrite = SubGraphRewrite(replace(graph, tensors=tensors))

    def written(graph: SubGraphRewrite, op: FileOperator) -> bool:
        if complex_tensors.isdisjoint((*op.inputs, *op.outputs)):
            return False
        ports = [*op.inputs[:1], *op.outputs]
        if len(ports) != 2 or min(op.inputs) < 0 or FORMS.get(op.name) != tuple(p in complex_tensors for p in ports):
            fault = "computes on complex numbers, which is not supported"
        elif op.name == "RFFT2D":
            fault = _transform(graph, op)
        elif op.name in PARTS:
            fault = _part(graph, op)
        else:
            graph.reshape(op.inputs[0], op.outputs[0])
            fault = ""
        if fault:
            problems.located(place, (op.index, op.name))(fault)
        return True

    rewrite.apply(written)
    return rewrite.result()


def _as_pairs(tensor: FileTensor) -> FileTensor:
    def doubled(shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:-1], 2 * shape[-1] if shape[-1] >= 0 else -1) if shape else (2,)

    signature = None if tensor.shape_signature is None else doubled(tensor.shape_signature)
    shape, dtype = doubled(tensor.shape), DType.FLOAT32
    return replace(tensor, dtype=dtype, type_name=dtype.label, shape=shape, shape_signature=signature)


def _transform(graph: SubGraphRewrite, op: FileOperator) -> str:
    """RFFT2D of frames of one row. What is wrong with others, else an empty text."""
    if len(op.inputs) != 2:
        return "requires an input and the lengths of its transform"
    source, lengths = (graph.tensors[index] for index in op.inputs)
    if lengths.data is None or lengths.dtype is not DType.INT32 or math.prod(lengths.shape) != 2:
        return "requires two constant lengths"
    if source.dtype is not DType.FLOAT32 or len(source.shape) < 2:
        return "requires a float32 input of at least two dimensions"
    rows, length = (int(n) for n in constant_values(lengths).reshape(-1))
    if rows != 1 or length < LEAST_LENGTH or length & (length - 1):
        return f"transforms {rows} rows of {length} samples; supported are single rows of a power of two from 4 on"
    frames = source.index
    if source.shape[-2] > 1 or source.shape[-1] > length:
        size = (*source.shape[:-2], 1, min(source.shape[-1], length))
        frames = graph.like(source.index, "row", size)
        begin = graph.constant("begin", np.zeros(len(size)))
        graph.add("SLICE", [source.index, begin, graph.constant("size", size)], [frames])
    options = {"fft_length": length}
    spectrum = FileOperator(
        op.index, "CUSTOM:SignalRfft", 1, (frames,), op.outputs, options, bytes(flexbuffers.Dumps(options)), ()
    )
    graph.operators.append(spectrum)
    return ""


def _part(graph: SubGraphRewrite, op: FileOperator) -> str:
    """COMPLEX_ABS, REAL and IMAG: the norm of pairs [..., 2], the first number or the second; what is wrong, if any."""
    source, result = op.inputs[0], op.outputs[0]
    shape = graph.tensors[result].shape
    if len(op.inputs) != 1 or 2 * math.prod(shape) != math.prod(graph.tensors[source].shape):
        return "requires a complex input and an output of its shape"
    pairs = graph.like(source, "pairs", (*shape, 2))
    graph.reshape(source, pairs)
    if op.name == "COMPLEX_ABS":
        squares, sums = graph.like(source, "squares", (*shape, 2)), graph.like(source, "sums", shape)
        graph.add("SQUARE", [pairs], [squares])
        graph.add("SUM", [squares, graph.constant("axis", [len(shape)])], [sums], {"keep_dims": False})
        graph.add("SQRT", [sums], [result])
        return ""
    begin = graph.constant("begin", [*[0] * len(shape), int(op.name == "IMAG")])
    part = graph.like(source, "part", (*shape, 1))
    graph.add("SLICE", [pairs, begin, graph.constant("size", (*shape, 1))], [part])
    graph.reshape(part, result)
    return ""
