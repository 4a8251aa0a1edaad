"""The operators, a family a file: attributes, support rules, shape rule, portable kernel and traits.

In: one operator with its types, constants and attributes. Out: an entry of the operator table.
Decided here: what each operator means to the compiler.
"""

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

__all__ = [
    "ENTRIES",
    "OUTPUT_CHANNELS",
    "PERMUTATIONS",
    "Along",
    "Axes",
    "BatchMatmulAttributes",
    "CustomOperator",
    "Cut",
    "Dimensions",
    "Filler",
    "FullyConnectedAttributes",
    "Fused",
    "Limit",
    "Masks",
    "NormalizeAttributes",
    "Repeat",
    "RowWindow",
    "SoftmaxAttributes",
    "Spacing",
    "axes",
    "axis_of",
    "constants_of",
    "entries_of",
    "fixed_cuts",
    "in_use",
    "paddings",
    "permutation_of",
    "pool_by_rows",
    "reduces_rows",
    "rows_cut",
]
