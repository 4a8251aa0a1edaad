"""The reference: what a file and a Module compute, evaluated with numpy by TFLite's definitions.

In: a Model or a Module, and inputs. Out: outputs, with state kept between invokes.
Decided here: what each operator means, independent of its kernels, of the passes and of the importer.
"""

from tflmgen.reference.evaluations import EVALUATIONS
from tflmgen.reference.file_interpreter import Interpreter, Observe, type_of
from tflmgen.reference.input_sets import InputSet, make_input_sets, with_small_integers
from tflmgen.reference.module_interpreter import ModuleInterpreter, ObserveValue
from tflmgen.reference.operation import Array, Operation, RunTimeError, UnsupportedError
from tflmgen.reference.validation import EFFORTS, Effort, Ranges, Validation, branches_of, validate
from tflmgen.reference.validation_cache import validated
from tflmgen.reference.work_budget import Budget, BudgetError

__all__ = [
    "EFFORTS",
    "EVALUATIONS",
    "Array",
    "Budget",
    "BudgetError",
    "Effort",
    "InputSet",
    "Interpreter",
    "ModuleInterpreter",
    "Observe",
    "ObserveValue",
    "Operation",
    "Ranges",
    "RunTimeError",
    "UnsupportedError",
    "Validation",
    "branches_of",
    "make_input_sets",
    "type_of",
    "validate",
    "validated",
    "with_small_integers",
]
