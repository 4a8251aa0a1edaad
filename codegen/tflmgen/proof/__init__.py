"""Translation validation: shows that a Program computes its Module, whatever the stages in between have done.

In: the Module after the passes, the Program, the operator table. Out: nothing, or an InternalError.
Decided here: nothing. Shares no code with schedule, memory, exploration and lowering.
"""

from tflmgen.proof.meaning import check_meaning

__all__ = ["check_meaning"]
