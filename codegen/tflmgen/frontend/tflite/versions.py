"""Highest version of each builtin operator with a kernel in LiteRT.

A version fixes the types and options of an operator, so that a higher version has an unknown meaning. The numbers are
the `max_version`s of LiteRT 2.3's tflite/core/kernels/register.cc; TFLite Micro registers no versions.
"""

from __future__ import annotations

from tflmgen.frontend.tflite.names import CUSTOM

_NAMES = {
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
_HIGHEST = {name: version for version, names in _NAMES.items() for name in names.split()}


def highest_version(operator: str) -> int | None:
    """Highest known version of a builtin operator; None for a custom one, whose versions its author defines."""
    return None if operator.startswith(CUSTOM) else _HIGHEST.get(operator, 1)
