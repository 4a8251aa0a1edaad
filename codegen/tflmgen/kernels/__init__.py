"""The operator table: what each TFLite operator means, and the C kernels that compute it.

In: one operator with its types, constants and attributes, and the target processor. Out: a Kernel, View or Pieces.
Decided here: support rules, shapes, compile-time folding, value ranges, packed weights, kernel costs and the choice.
"""

from tflmgen.kernels.accepted import ANY, AcceptedTypes, Types, accepted_types
from tflmgen.kernels.choice import scratch_bytes
from tflmgen.kernels.costs.estimate import cycles_of, reads_of
from tflmgen.kernels.declaration import declarations, reader_of
from tflmgen.kernels.flash_budget import WINOGRAD
from tflmgen.kernels.folding.evaluate import fold
from tflmgen.kernels.header_constants import header_constant
from tflmgen.kernels.numeric.quantize_math import FLOAT_MAX, Activation, activation_range
from tflmgen.kernels.numeric.real_functions import Real, Reals
from tflmgen.kernels.numeric.strides import MAX_RANK, is_per_channel, normalize_axis
from tflmgen.kernels.numeric.weights import is_hybrid, is_int16
from tflmgen.kernels.numeric.window import EXPLICIT_PADDING, Steps, Window, four
from tflmgen.kernels.operator import (
    BACKWARD,
    CUSTOM_OPTIONS,
    INTERMEDIATES,
    Operators,
    OperatorSpec,
    Options,
    Rule,
    Shape,
    State,
)
from tflmgen.kernels.operators.arithmetic import Fused
from tflmgen.kernels.operators.batch_matmul import PERMUTATIONS, BatchMatmulAttributes
from tflmgen.kernels.operators.concatenation import axis_of
from tflmgen.kernels.operators.copying import constants_of
from tflmgen.kernels.operators.custom import CustomOperator
from tflmgen.kernels.operators.depthwise_conv import OUTPUT_CHANNELS
from tflmgen.kernels.operators.dynamic_in_use import in_use
from tflmgen.kernels.operators.dynamic_repeats import Repeat
from tflmgen.kernels.operators.dynamic_rows import Along, Axes, Cut, Filler, Limit, RowWindow
from tflmgen.kernels.operators.dynamic_windows import Spacing
from tflmgen.kernels.operators.fully_connected import FullyConnectedAttributes
from tflmgen.kernels.operators.fused import ENTRIES
from tflmgen.kernels.operators.normalize import NormalizeAttributes
from tflmgen.kernels.operators.pad import paddings
from tflmgen.kernels.operators.pool_rows import pool_by_rows, reduces_rows
from tflmgen.kernels.operators.reduce import axes
from tflmgen.kernels.operators.reshape import Dimensions
from tflmgen.kernels.operators.slice import Masks, entries_of, fixed_cuts, rows_cut
from tflmgen.kernels.operators.softmax import SoftmaxAttributes
from tflmgen.kernels.operators.transpose import permutation_of
from tflmgen.kernels.ranges.intervals import Integers, Interval, channels_of, of_array, whole
from tflmgen.kernels.ranges.range_weighted import reaches_out, weights_of
from tflmgen.kernels.ranges.transfer import output_ranges, table_of
from tflmgen.kernels.reference_types import reference_runtimes
from tflmgen.kernels.rules import (
    COMMON,
    PRESENT,
    QUANTIZED_PER_TENSOR,
    SAME_QUANTIZATION,
    STATIC,
    constant,
    input_is,
    input_type,
    one_type,
    output_is,
    per_tensor,
    scale,
    static_shape,
    zero_point,
)
from tflmgen.kernels.selection import Selection, Selector, without_overlap
from tflmgen.kernels.table import OPERATORS, instance_of, instance_of_op, traits_of, with_custom
from tflmgen.kernels.traits import ELEMENTWISE, Comparison, Connective, NumberConversion, Roles, Sliding, Sums, Traits
from tflmgen.kernels.tuning import TUNING

__all__ = [
    "ANY",
    "BACKWARD",
    "COMMON",
    "CUSTOM_OPTIONS",
    "ELEMENTWISE",
    "ENTRIES",
    "EXPLICIT_PADDING",
    "FLOAT_MAX",
    "INTERMEDIATES",
    "MAX_RANK",
    "OPERATORS",
    "OUTPUT_CHANNELS",
    "PERMUTATIONS",
    "PRESENT",
    "QUANTIZED_PER_TENSOR",
    "SAME_QUANTIZATION",
    "STATIC",
    "TUNING",
    "WINOGRAD",
    "AcceptedTypes",
    "Activation",
    "Along",
    "Axes",
    "BatchMatmulAttributes",
    "Comparison",
    "Connective",
    "CustomOperator",
    "Cut",
    "Dimensions",
    "Filler",
    "FullyConnectedAttributes",
    "Fused",
    "Integers",
    "Interval",
    "Limit",
    "Masks",
    "NormalizeAttributes",
    "NumberConversion",
    "OperatorSpec",
    "Operators",
    "Options",
    "Real",
    "Reals",
    "Repeat",
    "Roles",
    "RowWindow",
    "Rule",
    "Selection",
    "Selector",
    "Shape",
    "Sliding",
    "SoftmaxAttributes",
    "Spacing",
    "State",
    "Steps",
    "Sums",
    "Traits",
    "Types",
    "Window",
    "accepted_types",
    "activation_range",
    "axes",
    "axis_of",
    "channels_of",
    "constant",
    "constants_of",
    "cycles_of",
    "declarations",
    "entries_of",
    "fixed_cuts",
    "fold",
    "four",
    "header_constant",
    "in_use",
    "input_is",
    "input_type",
    "instance_of",
    "instance_of_op",
    "is_hybrid",
    "is_int16",
    "is_per_channel",
    "normalize_axis",
    "of_array",
    "one_type",
    "output_is",
    "output_ranges",
    "paddings",
    "per_tensor",
    "permutation_of",
    "pool_by_rows",
    "reaches_out",
    "reader_of",
    "reads_of",
    "reduces_rows",
    "reference_runtimes",
    "rows_cut",
    "scale",
    "scratch_bytes",
    "static_shape",
    "table_of",
    "traits_of",
    "weights_of",
    "whole",
    "with_custom",
    "without_overlap",
    "zero_point",
]
