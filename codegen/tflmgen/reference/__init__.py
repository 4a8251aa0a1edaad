"""The reference: what a file and a Module compute, evaluated with numpy by TFLite's definitions.

In: a Model or a Module, and inputs. Out: outputs, with state kept between invokes.
Decided here: what each operator means, independent of its kernels, of the passes and of the importer.
"""

from tflmgen.reference.branch_search import branches_of
from tflmgen.reference.element_distance import distance, largest_distance
from tflmgen.reference.file_interpreter import Interpreter, type_of
from tflmgen.reference.first_difference import magnitude_of
from tflmgen.reference.function_tables import (
    SIGMOID_TABLE,
    SOFTMAX_TABLES,
    element_results,
    interpolated,
    linear_steps,
    results_on_constants,
    row_exponentials,
)
from tflmgen.reference.input_sets import make_input_sets, with_small_integers
from tflmgen.reference.operation import (
    Array,
    CustomReference,
    CustomReferences,
    Operation,
    RunTimeError,
    UnsupportedError,
)
from tflmgen.reference.range_claims import Claims
from tflmgen.reference.validation import ValidationContext
from tflmgen.reference.validation_cache import validated
from tflmgen.reference.work_budget import Budget, WorkError

__all__ = [
    "SIGMOID_TABLE",
    "SOFTMAX_TABLES",
    "Array",
    "Budget",
    "Claims",
    "CustomReference",
    "CustomReferences",
    "Interpreter",
    "Operation",
    "RunTimeError",
    "UnsupportedError",
    "ValidationContext",
    "WorkError",
    "branches_of",
    "distance",
    "element_results",
    "interpolated",
    "largest_distance",
    "linear_steps",
    "magnitude_of",
    "make_input_sets",
    "results_on_constants",
    "row_exponentials",
    "type_of",
    "validated",
    "with_small_integers",
]
