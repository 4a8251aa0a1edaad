"""Kernel calls: the C function that computes an operator, with its operands, memory and constants, and the processor.

In: types. Out: a Kernel, View or Pieces, and the choice among them.
Decided here: what a kernel may say of itself.
"""

from tflmgen.ir.kernel.call import (
    ArenaRooms,
    ConstantArray,
    Cost,
    Input,
    Kernel,
    Memory,
    Null,
    Operand,
    OperatorInstance,
    Output,
    Overlap,
    Params,
    ParamValue,
    Part,
    Pieces,
    Scratch,
    Target,
    View,
)
from tflmgen.ir.kernel.kernel_choice import CostedKernel, KernelChoice, Selected
from tflmgen.ir.kernel.unpacked_constants import Outputs, PackedCall, Reader, Unpacked, UnpackedPart, UnpackedSums

__all__ = [
    "ArenaRooms",
    "ConstantArray",
    "Cost",
    "CostedKernel",
    "Input",
    "Kernel",
    "KernelChoice",
    "Memory",
    "Null",
    "Operand",
    "OperatorInstance",
    "Output",
    "Outputs",
    "Overlap",
    "PackedCall",
    "ParamValue",
    "Params",
    "Part",
    "Pieces",
    "Reader",
    "Scratch",
    "Selected",
    "Target",
    "Unpacked",
    "UnpackedPart",
    "UnpackedSums",
    "View",
]
