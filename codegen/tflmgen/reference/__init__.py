"""The reference: what a file and a Module compute, evaluated with numpy by TFLite's definitions.

In: a Model or a Module, and inputs. Out: outputs, with state kept between invokes.
Decided here: what each operator means, independent of its kernels, of the passes and of the importer.
"""

from tflmgen.reference.evaluations import EVALUATIONS
from tflmgen.reference.file_interpreter import Interpreter, Observe, type_of
from tflmgen.reference.function_tables import (
    SIGMOID_TABLE,
    SOFTMAX_TABLES,
    element_results,
    interpolated,
    results_on_constants,
    row_exponentials,
)
from tflmgen.reference.input_sets import InputSet, make_input_sets, with_small_integers
from tflmgen.reference.module_interpreter import ModuleInterpreter, ObserveValue
from tflmgen.reference.operation import Array, Operation, RunTimeError, UnsupportedError
from tflmgen.reference.range_claims import ClaimError, Claims
from tflmgen.reference.validation import EFFORTS, Effort, Validation, branches_of, validate
from tflmgen.reference.validation_cache import validated
from tflmgen.reference.work_budget import Budget, BudgetError

__all__ = [
    "EFFORTS",
    "EVALUATIONS",
    "SIGMOID_TABLE",
    "SOFTMAX_TABLES",
    "Array",
    "Budget",
    "BudgetError",
    "ClaimError",
    "Claims",
    "Effort",
    "InputSet",
    "Interpreter",
    "ModuleInterpreter",
    "Observe",
    "ObserveValue",
    "Operation",
    "RunTimeError",
    "UnsupportedError",
    "Validation",
    "branches_of",
    "element_results",
    "interpolated",
    "make_input_sets",
    "results_on_constants",
    "row_exponentials",
    "type_of",
    "validate",
    "validated",
    "with_small_integers",
]
