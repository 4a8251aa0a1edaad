"""Comparison of the firmware's outputs with vectors, the host build, or TFLite Micro.

In: outputs of runs and of references. Out: verdicts per output, and the first tensor that differs.
Decided here: tolerances; integers must be equal, floats within the user's limits.
"""

from tflmgen.compare.intermediate_values import (
    Expected,
    Layer,
    LayerDifference,
    comparable_pairs,
    first_difference,
    last_values,
    read_layers,
    with_layers,
)
from tflmgen.compare.junit import Case, junit_xml
from tflmgen.compare.oracle import TFLM, OracleError, tflm_tensors
from tflmgen.compare.references import HOST_BUILD, VECTORS, NoReferenceError, Reference, find_references
from tflmgen.compare.verdict import Difference, Tolerance, difference

__all__ = [
    "HOST_BUILD",
    "TFLM",
    "VECTORS",
    "Case",
    "Difference",
    "Expected",
    "Layer",
    "LayerDifference",
    "NoReferenceError",
    "OracleError",
    "Reference",
    "Tolerance",
    "comparable_pairs",
    "difference",
    "find_references",
    "first_difference",
    "junit_xml",
    "last_values",
    "read_layers",
    "tflm_tensors",
    "with_layers",
]
