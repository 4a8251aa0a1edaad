"""The operator table: what each TFLite operator means, and the C kernels that compute it.

In: one operator with its types, constants and attributes, and the target processor. Out: a Kernel, View or Pieces.
Decided here: support rules, shapes, compile-time folding, value ranges, packed weights, kernel costs and the choice.
"""

from tflmgen.kernels.accepted import ANY, AcceptedTypes, Types, accepted_types
from tflmgen.kernels.choice import scratch_bytes
from tflmgen.kernels.declaration import declarations, reader_of
from tflmgen.kernels.folding.evaluate import fold
from tflmgen.kernels.ranges.range_weighted import reaches_out, weights_of
from tflmgen.kernels.ranges.transfer import output_ranges, table_of
from tflmgen.kernels.reference_types import reference_runtimes
from tflmgen.kernels.selection import Selection, Selector, without_overlap
from tflmgen.kernels.table import OPERATORS, instance_of, instance_of_op, traits_of, with_custom
from tflmgen.kernels.traits import ELEMENTWISE, Comparison, Connective, NumberConversion, Roles, Sliding, Sums, Traits

__all__ = [
    "ANY",
    "ELEMENTWISE",
    "OPERATORS",
    "AcceptedTypes",
    "Comparison",
    "Connective",
    "NumberConversion",
    "Roles",
    "Selection",
    "Selector",
    "Sliding",
    "Sums",
    "Traits",
    "Types",
    "accepted_types",
    "declarations",
    "fold",
    "instance_of",
    "instance_of_op",
    "output_ranges",
    "reaches_out",
    "reader_of",
    "reference_runtimes",
    "scratch_bytes",
    "table_of",
    "traits_of",
    "weights_of",
    "with_custom",
    "without_overlap",
]
