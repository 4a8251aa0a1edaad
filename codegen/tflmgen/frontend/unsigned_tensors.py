"""Quantised uint8 networks, as TensorFlow 1 made them, computed in int8: every code, and every zero point, less 128.

An operator that kernels compute in int8 alone reads and writes signed tensors; operators that move elements do where
the tensors beside them are signed already. Between them and the others (inputs, outputs, control flow, operators of
plain numbers) stands a QUANTIZE that changes no real number.

Weights lose their zero point where what is left fits into int8; others keep it, and the layer's kernel subtracts it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tflmgen.frontend.model_graph.model_rewrite import SubGraphRewrite
from tflmgen.frontend.tflite.model import FileOperator, FileTensor, SubGraph
from tflmgen.ir import DType, Quantization
from tflmgen.kernels import traits_of

_SIGNED = """
ADD SUB MUL DIV CONV_2D DEPTHWISE_CONV_2D TRANSPOSE_CONV FULLY_CONNECTED AVERAGE_POOL_2D
MAX_POOL_2D RESIZE_BILINEAR MEAN REDUCE_MAX REDUCE_MIN SOFTMAX LOG_SOFTMAX LOGISTIC TANH GELU HARD_SWISH
L2_NORMALIZATION LEAKY_RELU PRELU RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1
EQUAL NOT_EQUAL LESS LESS_EQUAL GREATER GREATER_EQUAL
"""
SIGNED_OPERATORS = frozenset(_SIGNED.split())
"""Operators with kernels for int8 and none for uint8, of which LiteRT has both."""

_MOVED = """
CONCATENATION RESHAPE SQUEEZE EXPAND_DIMS PAD PADV2 MIRROR_PAD PACK UNPACK SPLIT SPLIT_V SLICE STRIDED_SLICE
TRANSPOSE REVERSE_V2 TILE SPACE_TO_DEPTH DEPTH_TO_SPACE SPACE_TO_BATCH_ND BATCH_TO_SPACE_ND GATHER
RESIZE_NEAREST_NEIGHBOR MAXIMUM MINIMUM ARG_MAX ARG_MIN TOPK_V2 QUANTIZE DEQUANTIZE
"""
MOVED = frozenset(_MOVED.split())
"""Operators with kernels for both whose results are the same."""

ROUNDS_UP = "rounds_halves_up"
"""An option of AVERAGE_POOL_2D that is no field of the schema: the means of uint8 codes, which are not negative."""

OFFSET = 128
"""The number by which a uint8 code is greater than the int8 one of the same real number."""


def with_signed_tensors(graph: SubGraph) -> SubGraph:
    """The subgraph with int8 in place of quantised uint8 wherever an operator computes in int8; itself if none does."""
    rewrite = SubGraphRewrite(graph)
    twins: dict[int, int] = {}

    def written(rewrite: SubGraphRewrite, op: FileOperator) -> bool:
        unsigned = [i for i in (*op.inputs, *op.outputs) if i >= 0 and rewrite.tensors[i].dtype is DType.UINT8]
        is_signed = op.name in SIGNED_OPERATORS or (op.name in MOVED and not twins.keys().isdisjoint(op.inputs))
        if not unsigned or not is_signed or not all(_is_affine(rewrite.tensors[i]) for i in unsigned):
            return False
        roles = traits_of(op.name).roles
        if roles.weights is not None and op.inputs[roles.data : roles.data + 1] not in [(i,) for i in unsigned]:
            return False
        inputs = [_signed(rewrite, twins, i, place == roles.weights) for place, i in enumerate(op.inputs)]
        outputs = [_twin(rewrite, i) if i in unsigned else i for i in op.outputs]
        options = {**(op.options or {}), ROUNDS_UP: True} if op.name == "AVERAGE_POOL_2D" else op.options
        operator = rewrite.versioned(op, inputs=tuple(inputs), outputs=tuple(outputs), options=options)
        rewrite.operators.append(operator)
        for before, after in zip(op.outputs, outputs, strict=True):
            if before != after:
                twins[before] = after
                rewrite.convert(after, before)
        return True

    rewrite.apply(written)
    return rewrite.result() if rewrite.is_changed else graph


def _is_affine(tensor: FileTensor) -> bool:
    return tensor.quantization is not None and not tensor.is_variable


def _signed(rewrite: SubGraphRewrite, twins: dict[int, int], index: int, is_weights: bool) -> int:
    """The signed tensor beside a uint8 one, which is made at its first use; any other tensor itself."""
    if index < 0 or rewrite.tensors[index].dtype is not DType.UINT8:
        return index
    tensor = rewrite.tensors[index]
    if is_weights and tensor.data is not None:
        return _weights(rewrite, tensor)
    if index not in twins:
        twins[index] = _twin(rewrite, index)
        if tensor.data is None:
            rewrite.convert(index, twins[index])
    return twins[index]


def _twin(rewrite: SubGraphRewrite, index: int) -> int:
    """Adds the int8 tensor with the same real numbers."""
    tensor = rewrite.tensors[index]
    data = None if tensor.data is None else bytes(np.frombuffer(tensor.data, np.uint8) ^ OFFSET)
    return _added(rewrite, tensor, data, _moved(tensor))


def _weights(rewrite: SubGraphRewrite, tensor: FileTensor) -> int:
    """Adds int8 weights, without a zero point where all of them fit."""
    quantization = tensor.quantization
    assert quantization is not None
    assert tensor.data is not None
    values = np.frombuffer(tensor.data, np.uint8).astype(np.int64).reshape(tensor.shape)
    points = np.array(quantization.zero_points, np.int64)
    shape = [1] * values.ndim
    shape[quantization.axis if len(points) > 1 else 0] = len(points)
    centred = values - points.reshape(shape)
    if not DType.INT8.limits[0] <= centred.min(initial=0) <= centred.max(initial=0) <= DType.INT8.limits[1]:
        return _twin(rewrite, tensor.index)
    symmetric = replace(quantization, zero_points=(0,) * len(points))
    return _added(rewrite, tensor, centred.astype(np.int8).tobytes(), symmetric)


def _added(rewrite: SubGraphRewrite, tensor: FileTensor, data: bytes | None, quantization: Quantization) -> int:
    return rewrite.add_tensor(
        tensor,
        name=f"{tensor.name}_signed",
        dtype=DType.INT8,
        type_name=DType.INT8.label,
        data=data,
        quantization=quantization,
    )


def _moved(tensor: FileTensor) -> Quantization:
    quantization = tensor.quantization
    assert quantization is not None
    return Quantization(
        quantization.scales, tuple(point - OFFSET for point in quantization.zero_points), quantization.axis
    )
