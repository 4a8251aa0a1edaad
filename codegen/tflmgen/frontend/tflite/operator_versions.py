"""Versions of builtin operators: that which types and shapes ask for, and the highest whose meaning is known.

The rules are those of LiteRT's converter: GetBuiltinOperatorVersion in tflite/converter/tools/versioning/op_version.cc,
for the types that tflmgen reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tflmgen.frontend.tflite.model import FileTensor
from tflmgen.frontend.tflite.names import CUSTOM

_BY_TYPE = """
ADD 0 int8 2 int16 3 int64 4
SUB 0 int8 2 int16 5 int64 4
MUL 0 int8 2 int16 4 int64 5 uint32 7
MAXIMUM MINIMUM 0 int8 2 int16 4
ABS 0 int8 2 int16 3 int32 5
LESS GREATER_EQUAL 0 int8 2 int16 3
GREATER LESS_EQUAL SQUARED_DIFFERENCE SPLIT_V SUM LOG_SOFTMAX SPACE_TO_DEPTH DEPTH_TO_SPACE 0 int8 2
EQUAL 0 int8 2 int16 5
NOT_EQUAL 0 int8 2 int16 4
MAX_POOL_2D AVERAGE_POOL_2D TANH LOGISTIC SOFTMAX CONCATENATION 0 int8 2 int16 3 uint32 4
MEAN MIRROR_PAD REDUCE_MAX REDUCE_MIN RELU RELU6 RSQRT PACK 0 int8 2 int16 3
PAD PADV2 0 int8 2 int16 3 bool 5
TRANSPOSE 0 int8 2 bool 3 int16 5 int4 7
SLICE 0 int8 2 int16 4 uint32 6 int4 7
STRIDED_SLICE 0 int8 2 bool 3 uint32 7
GATHER 0 int8 2 bool 3 int16 4 int4 7
GATHER_ND 0 int16 3 bool 5
SPLIT 1 int8 2 int32 3 int16 4
UNPACK 0 int8 2 uint8 2 bool 3 int16 4
REVERSE_V2 0 bool 2 int8 3
RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR SPACE_TO_BATCH_ND BATCH_TO_SPACE_ND 0 int8 2 int16 4
TILE 0 int8 3
FILL 1 bool 2 int8 3 int16 3
LEAKY_RELU 0 int16 2
EXP LOG SQRT REDUCE_PROD 0 int8 2 int16 2
BROADCAST_TO 0 float32 2 int32 2 int64 2 bool 2 uint8 2 int8 3 int16 3
BATCH_MATMUL 0 int8 2 int16 3
ARG_MAX ARG_MIN 0 int8 2 bool 3
TOPK_V2 0 int8 2 int16 3
DEQUANTIZE 0 int8 2 int16 3 float16 3 int4 6
QUANTIZE 0 int4 4
FLOOR_DIV 0 float32 2 int8 3 int16 3
FLOOR_MOD 0 int8 2 int16 2
SIGN 0 int32 2
RANGE 0 int64 2
GELU 0 int8 2
WHERE 0 float32 2 int32 2 int64 2 uint8 2 int8 2
EMBEDDING_LOOKUP 1 int4 4
SVDF 0 int8 3
SPARSE_TO_DENSE 2 int64 2 int8 3 uint8 3
DYNAMIC_UPDATE_SLICE 0 float16 3 int16 4 int4 5
TRANSPOSE_CONV 1 int8 2
"""
"""Operators, the input whose type decides, and versions other than 1 by its type."""


def _by_type() -> Mapping[str, tuple[int, Mapping[str, int]]]:
    rows: dict[str, tuple[int, Mapping[str, int]]] = {}
    for words in map(str.split, _BY_TYPE.strip().splitlines()):
        names = [word for word in words if word[0].isupper()]
        place, *pairs = words[len(names) :]
        rows |= dict.fromkeys(names, (int(place), dict(zip(pairs[::2], map(int, pairs[1::2]), strict=True))))
    return rows


_VERSIONS = _by_type()


class _Operands:
    """Tensors of one operator as the version rules query them; `types` are names, "" for absent ones."""

    def __init__(
        self, inputs: Sequence[FileTensor | None], outputs: Sequence[FileTensor], options: Mapping[str, Any] | None
    ) -> None:
        self.inputs, self.outputs = inputs, outputs
        self.options = options or {}
        self.types = [tensor.type_name if tensor is not None else "" for tensor in (*inputs, *outputs)]
        self.ranks = [len(tensor.shape) for tensor in inputs if tensor is not None]

    def has(self, *types: str) -> bool:
        """Whether the first inputs, and after them the first output, have these types."""
        return [*self.types[: len(types) - 1], self.types[len(self.inputs)]] == list(types)

    def is_per_channel(self, place: int) -> bool:
        tensor = self.inputs[place]
        return tensor is not None and tensor.quantization is not None and tensor.quantization.per_channel

    def broadcasts_above(self, rank: int) -> bool:
        shapes = {tensor.shape for tensor in self.inputs if tensor is not None}
        return len(shapes) > 1 and max(self.ranks) > rank

    def scale(self) -> float:
        """Product of the inputs' scales over the output's; 0 for tensors without."""
        tensors = (*self.inputs, *self.outputs)
        scales = [tensor.quantization.scale if tensor and tensor.quantization else 0.0 for tensor in tensors]
        return scales[0] * scales[1] / scales[2] if all(scales) and len(scales) == 3 else 0.0


def _convolution(o: _Operands) -> int:
    if o.types[:2] == ["int16", "int8"] and o.options.get("quantized_bias_type"):
        return 8
    if o.has("int8", "int8", "int8"):
        return 3
    if o.has("int8", "int4", "int8"):
        return 7
    if o.has("float32", "int8", "float32"):
        return 5 if o.is_per_channel(1) else 2
    filters, images = o.inputs[1], o.inputs[0]
    is_grouped = filters is not None and images is not None and images.shape[-1:] != filters.shape[-1:]
    return 6 if is_grouped else 1


def _depthwise(o: _Operands) -> int:
    if o.has("float32", "int8", "float32"):
        return 6 if o.is_per_channel(1) else 4
    if o.has("int8", "int8", "int8"):
        return 3
    if o.has("int8", "int4", "int8"):
        return 7
    return 2 if max(o.options.get("dilation_w_factor", 1), o.options.get("dilation_h_factor", 1)) > 1 else 1


def _fully_connected(o: _Operands) -> int:
    if o.has("int16", "int4", "int16"):
        return 13
    if o.has("float32", "int8", "float32") and o.is_per_channel(1):
        return 12
    if o.has("int16", "int8", "int16") and o.options.get("quantized_bias_type"):
        return 11
    if o.has("int16", "int16", "int16"):
        return 7
    if len(o.inputs) == 2:
        return 6
    if o.options.get("keep_num_dims"):
        return 5
    if o.has("int8", "int8", "int8"):
        return 4
    if o.has("int8", "int4", "int8"):
        return 10
    if o.has("float32", "int8", "float32"):
        return 9 if o.options.get("asymmetric_quantize_inputs") else 3
    return 1


def _lstm(o: _Operands) -> int:
    """UNIDIRECTIONAL_SEQUENCE_LSTM."""
    if o.types[0] == "int16" and o.types[2] == "int8":
        return 5
    if o.types[0] == "float32" and o.types[2] == "int8":
        return 3 if o.options.get("asymmetric_quantize_inputs") else 2
    return 1


def _cast(o: _Operands) -> int:
    by_type = {"int4": 6, "float16": 5, "uint16": 4, "int8": 3, "uint32": 2}
    return max((by_type.get(name, 1) for name in o.types), default=1)


def _strided_slice(o: _Operands) -> int:
    if o.options.get("offset"):
        return 8
    if o.options.get("ellipsis_mask") or o.options.get("new_axis_mask"):
        return 6
    return 4 if o.ranks[0] > 4 else 1


_SPECIAL: Mapping[str, Callable[[_Operands], int]] = {
    "CONV_2D": _convolution,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _fully_connected,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _lstm,
    "CAST": _cast,
    "ADD": lambda o: 5 if o.types[0] == "int16" and o.scale() == 0 else 1,
    "MUL": lambda o: 3 if o.types[0] == "int8" and o.scale() >= 1 else 1,
    "SUB": lambda o: 3 if o.broadcasts_above(4) else 1,
    "DIV": lambda o: 2 if o.broadcasts_above(4) else 1,
    "MAXIMUM": lambda o: 3 if o.broadcasts_above(4) else 1,
    "MINIMUM": lambda o: 3 if o.broadcasts_above(4) else 1,
    "TRANSPOSE": lambda o: {5: 4, 6: 6}.get(o.ranks[0], 8 if o.ranks[0] > 6 else 1),
    "SLICE": lambda o: 5 if o.ranks[0] > 4 else 1,
    "STRIDED_SLICE": _strided_slice,
    "PAD": lambda o: 4 if o.ranks[0] > 4 else 1,
    "PADV2": lambda o: 4 if o.ranks[0] > 4 else 1,
    "SPACE_TO_BATCH_ND": lambda o: 1 if o.ranks[0] == 4 else 3,
    "BATCH_TO_SPACE_ND": lambda o: 1 if o.ranks[0] == 4 else 3,
    "SELECT": lambda o: 3 if 5 in o.ranks else 2 if o.types[0] == "int8" else 1,
    "GATHER": lambda o: 5 if o.options.get("batch_dims") else 1,
    "TRANSPOSE_CONV": lambda o: 4 if o.options.get("fused_activation_function") else 3 if len(o.inputs) == 4 else 1,
    "RESIZE_BILINEAR": lambda o: 3 if o.options.get("half_pixel_centers") else 1,
    "RESIZE_NEAREST_NEIGHBOR": lambda o: (
        3 if o.options.get("half_pixel_centers") or o.options.get("align_corners") else 1
    ),
    "DEQUANTIZE": lambda o: 5 if o.types[0] == "int8" and o.is_per_channel(0) else 1,
    "FAKE_QUANT": lambda o: 2 if o.options.get("narrow_range") else 1,
    "QUANTIZE": lambda o: 2 if o.types[1] == "int16" else 1,
    "L2_NORMALIZATION": lambda o: 2 if o.types[1] == "int8" else 1,
}
"""Rules beyond the type of one input; the higher version counts, which includes the lower one's meaning."""


def operator_version(
    name: str, inputs: Sequence[FileTensor | None], outputs: Sequence[FileTensor], options: Mapping[str, Any] | None
) -> int:
    """Version for an operator with these tensors, None where an optional input is absent; 1 for custom operators."""
    if name.startswith(CUSTOM):
        return 1
    operands = _Operands(inputs, outputs, options)
    place, by_type = _VERSIONS.get(name, (0, {}))
    plain = by_type.get(operands.types[place], 1) if place < len(inputs) else 1
    return max(plain, _SPECIAL[name](operands) if name in _SPECIAL else 1)


_HIGHEST_NAMES = {
    2: """
    COS DEPTH_TO_SPACE DIV EXP FAKE_QUANT FLOOR_MOD GREATER L2_NORMALIZATION LEAKY_RELU LESS_EQUAL LOG LOG_SOFTMAX
    RANGE REDUCE_PROD SELECT_V2 SIGN SIN SPACE_TO_DEPTH SQRT SQUARED_DIFFERENCE SQUEEZE SUM WHERE
    """,
    3: """
    ARG_MAX ARG_MIN AVERAGE_POOL_2D BIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_RNN FLOOR_DIV GELU
    GREATER_EQUAL LESS LOGISTIC MAX_POOL_2D MEAN MIRROR_PAD REDUCE_MAX REDUCE_MIN RELU RELU6 RNN RSQRT
    SPARSE_TO_DENSE SPLIT_V TANH TILE TOPK_V2 UNIDIRECTIONAL_SEQUENCE_RNN
    """,
    4: """
    BATCH_MATMUL BATCH_TO_SPACE_ND BROADCAST_TO LSTM MAXIMUM MINIMUM NOT_EQUAL RESIZE_BILINEAR
    RESIZE_NEAREST_NEIGHBOR REVERSE_V2 SELECT SOFTMAX SPACE_TO_BATCH_ND SVDF UNIDIRECTIONAL_SEQUENCE_LSTM
    """,
    5: "ABS EMBEDDING_LOOKUP EQUAL FILL PACK SPLIT SUB TRANSPOSE_CONV",
    6: "ADD DYNAMIC_UPDATE_SLICE GATHER_ND PAD PADV2 QUANTIZE UNPACK",
    7: "CONCATENATION DEPTHWISE_CONV_2D",
    8: "CONV_2D GATHER MUL SLICE STRIDED_SLICE",
    9: "CAST DEQUANTIZE TRANSPOSE",
    14: "FULLY_CONNECTED",
}
_HIGHEST = {name: version for version, names in _HIGHEST_NAMES.items() for name in names.split()}
"""Operator -> `max_version` in LiteRT 2.3's tflite/core/kernels/register.cc, where it is not 1.

A version fixes types and options, so that a higher one has an unknown meaning. TFLite Micro registers no versions.
"""


def highest_version(operator: str) -> int | None:
    """Highest known version of a builtin operator; None for a custom one, whose versions its author defines."""
    return None if operator.startswith(CUSTOM) else _HIGHEST.get(operator, 1)
