"""The Program as C and as plan.json.

In: a plan: kernels, schedule, storage, layout. Out: a Program, the generated library's text, and plan.json.
Decided here: names in C and the form of the text; every decision about computation and memory is already made.
"""

from tflmgen.backend.c_api import entry_names
from tflmgen.backend.c_library import Sources, constants_alone, emit
from tflmgen.backend.c_names import library_name
from tflmgen.backend.class_labels import label_header
from tflmgen.backend.lowering import lower
from tflmgen.backend.plan_report import Json, plan_json
from tflmgen.backend.remarks import remarks_of
from tflmgen.backend.rendering import render

__all__ = [
    "Json",
    "Sources",
    "constants_alone",
    "emit",
    "entry_names",
    "label_header",
    "library_name",
    "lower",
    "plan_json",
    "remarks_of",
    "render",
]
