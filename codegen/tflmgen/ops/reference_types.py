"""Which element types of which operators the references take; the differential tests hold this to them.

The type is that of the operand that decides on the kernel (operator_table.main_operand).
"""

from __future__ import annotations

from collections.abc import Mapping


def _by_operator(operators: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Operator -> its types, from types -> operators that have just these."""
    return {name: tuple(types.split()) for types, names in operators.items() for name in names.split()}


TFLM: Mapping[str, tuple[str, ...]] = _by_operator(
    {
        "float32 int8": (
            "ADD_N ARG_MAX ARG_MIN BATCH_TO_SPACE_ND CUMSUM DEPTH_TO_SPACE ELU EMBEDDING_LOOKUP GATHER GATHER_ND "
            "HARD_SWISH L2_NORMALIZATION LOG_SOFTMAX MIRROR_PAD REDUCE_MAX REDUCE_MIN RESIZE_BILINEAR "
            "SPACE_TO_BATCH_ND SPACE_TO_DEPTH SVDF"
        ),
        "float32 int8 int16": (
            "ABS AVERAGE_POOL_2D BATCH_MATMUL CONV_2D DEPTHWISE_CONV_2D EXPAND_DIMS FULLY_CONNECTED LEAKY_RELU "
            "LOGISTIC MAX_POOL_2D MEAN PRELU RELU RELU6 RESIZE_NEAREST_NEIGHBOR RSQRT SELECT_V2 SOFTMAX SUM TANH "
            "TRANSPOSE TRANSPOSE_CONV UNIDIRECTIONAL_SEQUENCE_LSTM"
        ),
        "float32": (
            "CEIL COS CUSTOM:TFLite_Detection_PostProcess EXP FLOOR FLOOR_DIV FLOOR_MOD L2_POOL_2D LOG NEG ROUND SIN "
            "SQRT SQUARE"
        ),
        "float32 int8 int16 int32": (
            "ADD DYNAMIC_UPDATE_SLICE MUL PAD PADV2 SPLIT SPLIT_V SQUARED_DIFFERENCE SUB UNPACK"
        ),
        "int16": (
            "CUSTOM:SignalDelay CUSTOM:SignalEnergy CUSTOM:SignalFftAutoScale "
            "CUSTOM:SignalFramer CUSTOM:SignalStacker CUSTOM:SignalWindow"
        ),
        "float32 int8 int16 int32 int64": "GREATER MAXIMUM MINIMUM PACK",
        "float32 int8 int32 int64": "GREATER_EQUAL LESS LESS_EQUAL ZEROS_LIKE",
        "bool": "LOGICAL_AND LOGICAL_NOT LOGICAL_OR REDUCE_ALL",
        "float32 float16 int8 uint8 int16 int32 uint32 int64 uint64 bool": "BROADCAST_TO RESHAPE SHAPE SQUEEZE",
        "uint32": (
            "CUSTOM:SignalFilterBank CUSTOM:SignalFilterBankLog CUSTOM:SignalFilterBankSpectralSubtraction "
            "CUSTOM:SignalPCAN"
        ),
        "float32 int16 int32": "CUSTOM:SignalIrfft CUSTOM:SignalRfft",
        "float32 int8 int16 int32 bool": "SLICE STRIDED_SLICE",
        "float32 int8 int32 int64 bool": "EQUAL NOT_EQUAL",
        "float32 int16": "CUSTOM:SignalOverlapAdd",
        "int32 int64": "BROADCAST_ARGS",
        "int8": "CUSTOM:CIRCULAR_BUFFER",
        "float32 int8 int32": "DIV FILL",
        "float32 int8 int16 int32 int64 bool": "CONCATENATION CUSTOM:TFLM_DECODE",
        "float32 int8 int16 int32 uint32 bool": "CAST",
        "float32 int8 uint8 int16 int32": "QUANTIZE",
        "float32 int8 uint8 int16 int32 int64 bool": "REVERSE_V2",
        "int8 uint8 int16": "DEQUANTIZE",
        "uint64": "CUSTOM:SignalFilterBankSquareRoot",
    }
)
"""What TFLite Micro has kernels for."""

LITERT: Mapping[str, tuple[str, ...]] = _by_operator(
    {
        "float32": "CONV_3D GELU RELU_0_TO_1 RELU_N1_TO_1 RNN UNIDIRECTIONAL_SEQUENCE_RNN",
        "float16 uint8 uint16 int32 uint32 int64 uint64 bool": "EXPAND_DIMS SELECT_V2 TRANSPOSE",
        "float32 float16 int8 uint8 int16 uint16 int32 uint32 int64 uint64 bool": "RANK SELECT TILE",
        "int32": "ABS ADD_N FLOOR_DIV MEAN",
        "float32 int32": "POW SIGN",
        "float32 int32 int64": "RANGE REDUCE_PROD",
        "int32 int64": "CUMSUM FLOOR_MOD NEG SUM",
        "int64": "ADD MUL SUB",
        "uint16": "RESHAPE SHAPE SQUEEZE",
        "uint8 int64": "CAST SPLIT SPLIT_V",
        "float16": "DEQUANTIZE REVERSE_V2",
        "float16 uint8 int16 int32 int64 bool": "GATHER GATHER_ND",
        "float16 uint8 int16 uint16 int32 uint32 int64 uint64 bool": "BATCH_TO_SPACE_ND MIRROR_PAD",
        "float16 uint8 int64 bool": "PAD PADV2",
        "float16 uint8 uint16 uint32 int64 uint64": "SLICE STRIDED_SLICE",
        "float32 int8 uint8 int32 int64 bool": "ONE_HOT SCATTER_ND",
        "int16 int32 int64": "REDUCE_MAX REDUCE_MIN",
        "uint8": "MAXIMUM MINIMUM",
        "uint8 int32": "ARG_MAX ARG_MIN",
        "uint8 int32 int64": "DEPTH_TO_SPACE SPACE_TO_DEPTH",
        "bool": "REDUCE_ANY",
        "float16 int4 uint8 int16 uint16 int32 uint32 int64 uint64 bool": "EMBEDDING_LOOKUP",
        "float16 uint8 bool": "UNPACK",
        "float16 uint8 int16 uint16 uint32 int64 uint64 bool": "FILL",
        "float16 uint8 uint16 int32 uint32 bool": "RESIZE_NEAREST_NEIGHBOR",
        "float16 uint8 uint16 uint32 int64 uint64 bool": "DYNAMIC_UPDATE_SLICE",
        "float16 uint8 uint32": "CONCATENATION",
        "float32 int8": "LSTM",
        "float32 int8 uint8 int16 int32 int64": "TOPK_V2",
        "int8 int16 int32": "RIGHT_SHIFT",
        "int8 uint8 int16 int32 uint32": "BITWISE_XOR",
        "uint8 uint32": "PACK",
    }
)
"""Beside these, what LiteRT's reference kernels take."""

APART: Mapping[str, tuple[str, ...]] = _by_operator(
    {"int8": "DIV", "int16": "GREATER", "float32": "MEAN SUM", "float32 int8": "SPACE_TO_BATCH_ND"}
)
"""What TFLite Micro has kernels for that are no reference: they lose bits, sum in another order, or are wrong."""
