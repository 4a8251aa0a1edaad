"""Writes a .tflite file: a Model to bytes from which `parse_model` reads an equal Model.

Tensors, operators and buffers keep their indices. Contents of tensors are aligned to 16 bytes. The same Model gives the
same bytes, except that `name` and `sha256`, which say where a Model was read, are not written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tflmgen.errors import InternalError
from tflmgen.frontend.tflite.flatbuffer_encoder import Encoder, Union
from tflmgen.frontend.tflite.model import FileOperator, FileSignature, FileTensor, Model, SubGraph
from tflmgen.frontend.tflite.names import (
    BUILTIN_OPERATORS,
    CUSTOM,
    IDENTIFIER,
    PLACEHOLDER,
    TENSOR_TYPES,
    VERSION,
    options_member,
)
from tflmgen.ir import BlockQuantization, DType

_OpCode = tuple[str, int]
"""Name and version of an operator."""


def write_model(model: Model) -> bytes:
    """The file of a Model. Raises InternalError for a Model whose tensors contradict each other on a buffer."""
    codes = sorted(
        {(op.name, op.version) for subgraph in model.subgraphs for op in subgraph.operators}, key=_code_order
    )
    values = {
        "version": VERSION,
        "operator_codes": [_operator_code(*code) for code in codes],
        "subgraphs": [_subgraph(subgraph, codes) for subgraph in model.subgraphs],
        "description": model.description,
        "buffers": [{"data": data or None} for data in _buffers(model)],
        "signature_defs": [_signature(signature) for signature in model.signatures] or None,
    }
    return Encoder().finish("Model", values, IDENTIFIER)


def _buffers(model: Model) -> list[bytes]:
    """Contents by buffer index. Buffer 0 is empty: runtimes take it for the absence of contents."""
    contents: dict[int, bytes] = {0: b""}
    for tensor in (tensor for subgraph in model.subgraphs for tensor in subgraph.tensors):
        data = contents.setdefault(tensor.buffer, b"")
        if tensor.data:
            if data not in (b"", tensor.data) and tensor.dtype is not DType.BOOL:
                raise InternalError(f"two tensors give buffer {tensor.buffer} different contents")
            contents[tensor.buffer] = data or tensor.data
    if contents[0]:
        raise InternalError("a tensor gives contents to buffer 0")
    return [contents.get(index, b"") for index in range(max(contents) + 1)]


def _code_order(code: _OpCode) -> tuple[int, str, int]:
    return _builtin_code(code[0]), *code


def _builtin_code(name: str) -> int:
    return BUILTIN_OPERATORS.index(CUSTOM[:-1] if name.startswith(CUSTOM) else name)


def _operator_code(name: str, version: int) -> dict[str, Any]:
    code = _builtin_code(name)
    return {
        "deprecated_builtin_code": min(code, PLACEHOLDER),
        "builtin_code": code,
        "custom_code": name.removeprefix(CUSTOM) if name.startswith(CUSTOM) else None,
        "version": version,
    }


def _subgraph(subgraph: SubGraph, codes: Sequence[_OpCode]) -> dict[str, Any]:
    tensors = [_tensor(tensor) for tensor in subgraph.tensors]
    for tensor, table in zip(subgraph.tensors, list(tensors), strict=True):
        if tensor.blocks is not None:
            table["quantization"] = _blockwise(tensor, tensor.blocks, subgraph)
    return {
        "name": subgraph.name,
        "tensors": tensors,
        "inputs": subgraph.inputs,
        "outputs": subgraph.outputs,
        "operators": [_operator(op, codes) for op in sorted(subgraph.operators, key=lambda op: op.index)],
    }


def _tensor(tensor: FileTensor) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "type": _type_number(tensor.type_name),
        "shape": tensor.shape,
        "shape_signature": tensor.shape_signature,
        "has_rank": tensor.has_rank,
        "is_variable": tensor.is_variable,
        "buffer": tensor.buffer,
        "quantization": _quantization(tensor),
    }


def _quantization(tensor: FileTensor) -> dict[str, Any] | None:
    quantization, recorded = tensor.quantization, tensor.recorded_range
    if quantization is not None:
        return {
            "scale": quantization.scales,
            "zero_point": quantization.zero_points,
            "quantized_dimension": quantization.axis,
        }
    if recorded is None or tensor.dtype is not DType.FLOAT32:
        return None
    return {"min": (recorded[0],), "max": (recorded[1],)}


def _type_number(name: str) -> int:
    """Number of a tensor type; "number 77" is what the reader calls those without a name."""
    return TENSOR_TYPES.index(name) if name in TENSOR_TYPES else int(name.removeprefix("number "))


def _blockwise(tensor: FileTensor, blocks: BlockQuantization, subgraph: SubGraph) -> dict[str, Any]:
    """Quantisation by blocks, whose scales are another tensor of the subgraph. Raises InternalError without such."""
    for other in subgraph.tensors:
        if other.dtype in (DType.FLOAT16, DType.FLOAT32) and other.data is not None:
            scales = tuple(map(float, np.frombuffer(other.data, other.dtype.numpy)))
            if scales == blocks.scales:
                details = {"scales": other.index, "zero_points": -1, "block_size": blocks.size}
                return {"details": Union("BlockwiseQuantization", details)}
    raise InternalError(
        f"tensor {tensor.index} '{tensor.name}': no tensor of its subgraph has the scales of its blocks"
    )


def _operator(operator: FileOperator, codes: Sequence[_OpCode]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "opcode_index": codes.index((operator.name, operator.version)),
        "inputs": operator.inputs,
        "outputs": operator.outputs,
        "custom_options": operator.custom_options or None,
        "intermediates": operator.intermediates or None,
    }
    if operator.options is not None and not operator.name.startswith(CUSTOM):
        values |= _options(operator.name, operator.options)
    return values


def _options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Field of the options' union and its value; nothing where the schema has no options for the operator."""
    member = options_member(name)
    if member is None:
        return {}
    field, table = member
    return {field: Union(table, {key: value for key, value in options.items() if value not in ((), b"", "")})}


def _signature(signature: FileSignature) -> dict[str, Any]:
    ports = {
        side: [{"name": name, "tensor_index": index} for name, index in tensors]
        for side, tensors in (("inputs", signature.inputs), ("outputs", signature.outputs))
    }
    return {"signature_key": signature.key, "subgraph_index": signature.subgraph, **ports}
