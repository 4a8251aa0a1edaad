"""Costs of kernels: estimated cycles and reads of memory, and the numbers that were measured for them.

In: a kernel and the shapes that it computes. Out: cycles on a processor.
Decided here: how a kernel's time follows from its shapes.
"""

from tflmgen.kernels.costs.estimate import cycles_of, reads_of
from tflmgen.kernels.costs.flash_budget import WINOGRAD
from tflmgen.kernels.costs.tuning import TUNING

__all__ = ["TUNING", "WINOGRAD", "cycles_of", "reads_of"]
