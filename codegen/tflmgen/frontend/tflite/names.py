"""Names of TFLite's enumerators, including those missing from the `tflite` package's older schema.

The numbers are those of tensorflow/lite/schema/schema.fbs as of LiteRT 2.3.
"""

from __future__ import annotations

from functools import cache

from tflmgen.frontend.tflite.schema import union_tables
from tflmgen.ir import DType

IDENTIFIER = b"TFL3"
"""The format's four characters, at byte 4 of a file."""
VERSION = 3
"""Version of the schema in each file."""

_BUILTIN_OPERATORS = """
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR
FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM
MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS
SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND
TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT
LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL
LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW
ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV
REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS
SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG
ROUND HARD_SWISH IF WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM
BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS
HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE
ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE
RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST
BITWISE_XOR RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM
STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION STABLEHLO_SLICE
STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL
STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER
STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER STABLEHLO_COMPARE STABLEHLO_CONVERT
STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD STABLEHLO_IOTA STABLEHLO_DOT_GENERAL
STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE
STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE
"""
BUILTIN_OPERATORS = tuple(_BUILTIN_OPERATORS.split())
"""Builtin operator code -> name."""

PLACEHOLDER = BUILTIN_OPERATORS.index("PLACEHOLDER_FOR_GREATER_OP_CODES")
"""No operator: the value of the old 8-bit code field for codes above 127."""

_TENSOR_TYPES = """
float32 float16 int32 uint8 int64 string bool int16 complex64 int8 float64 complex128 uint64 resource variant uint32
uint16 int4 bfloat16 int2 uint4 float8_e4m3fn float8_e5m2
"""
TENSOR_TYPES = tuple(_TENSOR_TYPES.split())
"""Tensor type number -> name."""

CUSTOM = "CUSTOM:"
"""Prefix of the names of custom operators."""

DTYPES = {dtype.label: dtype for dtype in DType}
"""TFLite's name of a tensor type -> element type, for types with storage."""

OPTIONS_UNIONS = (("builtin_options", "BuiltinOptions"), ("builtin_options2", "BuiltinOptions2"))
"""Fields of an operator with its options, and their unions."""

_SHARED_OPTIONS = {
    "Pool2DOptions": ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"),
    "ReducerOptions": ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_ANY", "REDUCE_ALL"),
    "Conv3DOptions": ("CONV_3D_TRANSPOSE",),
    "MaximumMinimumOptions": ("MAXIMUM", "MINIMUM"),
    "L2NormOptions": ("L2_NORMALIZATION",),
    "SequenceRNNOptions": ("UNIDIRECTIONAL_SEQUENCE_RNN",),
    "RandomOptions": ("RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL", "MULTINOMIAL"),
}


def operator_name(code: int, custom_code: str) -> str | None:
    """TFLite's name of an operator code, "CUSTOM:Foo" for a custom operator; None for an unknown code."""
    if not 0 <= code < len(BUILTIN_OPERATORS) or code == PLACEHOLDER:
        return None
    name = BUILTIN_OPERATORS[code]
    return CUSTOM + custom_code if name == "CUSTOM" else name


def tensor_type_name(number: int) -> str | None:
    """TFLite's name of a tensor type; None for an unknown number."""
    return TENSOR_TYPES[number] if 0 <= number < len(TENSOR_TYPES) else None


def printable(name: str) -> str:
    """The name with control characters replaced by U+FFFD, safe for terminals and logs."""
    return "".join(char if char.isprintable() else "\ufffd" for char in name)


@cache
def options_table(operator: str) -> str | None:
    """Name of an operator's options table in the schema; None if it has none."""
    member = options_member(operator)
    return None if member is None else member[1]


@cache
def options_member(operator: str) -> tuple[str, str] | None:
    """Field of the union with an operator's options, and the name of its table; None if the schema has none."""
    wanted = next((table for table, operators in _SHARED_OPTIONS.items() if operator in operators), None)
    normalized = (wanted or f"{operator.replace('_', '')}options").lower()
    for field, union in OPTIONS_UNIONS:
        table = next((table for table in union_tables(union).values() if table.lower() == normalized), None)
        if table is not None:
            return field, table
    return None
