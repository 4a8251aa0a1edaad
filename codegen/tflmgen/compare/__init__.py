"""Comparison of the firmware's outputs with vectors, the host build, or TFLite Micro.

In: outputs of runs and of references. Out: verdicts per output, and the first tensor that differs.
Decided here: tolerances; integers must be equal, floats within the user's limits.
"""

from tflmgen.compare.intermediate_values import (
    ComparedValue,
    Expected,
    LayerDifference,
    comparable_pairs,
    first_difference,
    last_values,
    read_layers,
    with_layers,
)
from tflmgen.compare.junit import Case, junit_xml
from tflmgen.compare.label_agreement import (
    ClassAccuracy,
    NumberAccuracy,
    class_accuracy,
    number_accuracy,
    predicted_classes,
)
from tflmgen.compare.oracle import TFLM, OracleError, tflm_tensors
from tflmgen.compare.references import HOST_BUILD, VECTORS, NoReferenceError, Reference, find_references
from tflmgen.compare.verdict import Difference, Tolerance, difference

__all__ = [
    "HOST_BUILD",
    "TFLM",
    "VECTORS",
    "Case",
    "ClassAccuracy",
    "ComparedValue",
    "Difference",
    "Expected",
    "LayerDifference",
    "NoReferenceError",
    "NumberAccuracy",
    "OracleError",
    "Reference",
    "Tolerance",
    "class_accuracy",
    "comparable_pairs",
    "difference",
    "find_references",
    "first_difference",
    "junit_xml",
    "last_values",
    "number_accuracy",
    "predicted_classes",
    "read_layers",
    "tflm_tensors",
    "with_layers",
]
