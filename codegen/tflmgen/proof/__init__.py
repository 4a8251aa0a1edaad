"""The proof of each build: the Program computes its Module, no byte is lost on the way, and the C text says the same.

In: the Module after the passes, the Program, what computes operators, and Sources. Out: nothing, or an InternalError.
Decided here: nothing. Shares no code with schedule, memory, exploration, lowering and emission.
"""

from tflmgen.proof.c_text_check import check_text
from tflmgen.proof.instance_text import without_handles
from tflmgen.proof.meaning import check_meaning
from tflmgen.proof.packed_constants import check_constants
from tflmgen.proof.signature_functions import Entry
from tflmgen.proof.symbolic_memory import check_memory

__all__ = ["PROVED", "Entry", "check_constants", "check_meaning", "check_memory", "check_text", "without_handles"]

PROVED = ("plan", "lowering", "constants", "C text")
"""Parts of each build's proof: check_memory, check_meaning, check_constants, check_text. A failure ends the build."""
