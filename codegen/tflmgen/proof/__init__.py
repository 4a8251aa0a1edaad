"""The proof of each build: the Program computes its Module, and no byte is lost on the way.

In: the Module after the passes, the Program, and what computes each operator. Out: nothing, or an InternalError.
Decided here: nothing. Shares no code with schedule, memory, exploration and lowering.
"""

from tflmgen.proof.meaning import check_meaning
from tflmgen.proof.packed_constants import check_constants
from tflmgen.proof.symbolic_memory import check_memory

__all__ = ["check_constants", "check_meaning", "check_memory"]
