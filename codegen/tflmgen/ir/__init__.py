"""The program between its representations: types, constants, and rewrites, checks and text of a Module.

In: nothing of tflmgen but its errors. Out: the frozen values that every later room takes and gives.
Decided here: well-formedness of a Module (verify), and nothing about any operator.
"""

from tflmgen.ir.constants import constant_array, contents, elements_of
from tflmgen.ir.device_checks import GUARD_BYTES, NO_CHECKS, DeviceChecks
from tflmgen.ir.hop_work import HopWork, LayerWork
from tflmgen.ir.json_form import module_json
from tflmgen.ir.rewrite import Ids, Rewriter, clone, keep, resolve, resolve_operands, substitute, with_regions
from tflmgen.ir.text import module_text
from tflmgen.ir.types import BlockQuantization, Bound, Dim, DType, Quantization, TensorType
from tflmgen.ir.well_formed import verify

__all__ = [
    "GUARD_BYTES",
    "NO_CHECKS",
    "BlockQuantization",
    "Bound",
    "DType",
    "DeviceChecks",
    "Dim",
    "HopWork",
    "Ids",
    "LayerWork",
    "Quantization",
    "Rewriter",
    "TensorType",
    "clone",
    "constant_array",
    "contents",
    "elements_of",
    "keep",
    "module_json",
    "module_text",
    "resolve",
    "resolve_operands",
    "substitute",
    "verify",
    "with_regions",
]
