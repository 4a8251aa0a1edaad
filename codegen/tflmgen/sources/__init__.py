"""Sources: model files of any format as a Model, and what the framework of a lowered or converted one computes.

In: a path. Out: a Model, and how it compares with its source, or a ModelError with the first tensor that differs.
Decided here: the format of a file; how far results may differ, who is asked, and what is remembered of the answer.
"""

from tflmgen.sources.compared_source import (
    compared,
    entry_of,
    keep_verdict,
    kept_verdict,
    prove_lowered,
    read_compared,
)
from tflmgen.sources.data_proof import ProofSettings, prove
from tflmgen.sources.label_files import class_labels
from tflmgen.sources.model_source import (
    TFLITE_ONLY,
    has_no_framework,
    is_lowered,
    is_tflite,
    read_source,
    shape_options,
    source_inputs,
    source_program,
    source_types,
)
from tflmgen.sources.proof_result import InputSet, Outputs, Proof
from tflmgen.sources.source_entry import SourceEntry, SourcePort

__all__ = [
    "TFLITE_ONLY",
    "InputSet",
    "Outputs",
    "Proof",
    "ProofSettings",
    "SourceEntry",
    "SourcePort",
    "class_labels",
    "compared",
    "entry_of",
    "has_no_framework",
    "is_lowered",
    "is_tflite",
    "keep_verdict",
    "kept_verdict",
    "prove",
    "prove_lowered",
    "read_compared",
    "read_source",
    "shape_options",
    "source_inputs",
    "source_program",
    "source_types",
]
