"""Comparison of a lowered or converted file with its source, which its own framework runs, on data.

In: a Model and what runs its source. Out: how the comparison went, or a ModelError with the first tensor that differs.
Decided here: on which input sets, how far results may differ, who is asked, and what is remembered of the answer.
"""

from tflmgen.source_proof.compared_source import compared, entry_of, prove_lowered, read_compared
from tflmgen.source_proof.data_proof import ProofSettings, prove
from tflmgen.source_proof.proof_result import InputSet, Outputs, Proof
from tflmgen.source_proof.source_entry import SourceEntry, SourcePort

__all__ = [
    "InputSet",
    "Outputs",
    "Proof",
    "ProofSettings",
    "SourceEntry",
    "SourcePort",
    "compared",
    "entry_of",
    "prove",
    "prove_lowered",
    "read_compared",
]
