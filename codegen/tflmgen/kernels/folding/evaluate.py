"""Operators evaluated at compile time: the same bits that their kernels give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import KernelChoice, OperatorInstance, Target, View
from tflmgen.kernels.folding.fold_moves import moved
from tflmgen.kernels.operator import Operator, Operators
from tflmgen.kernels.table import OPERATORS


def fold(name: str, op: OperatorInstance, operators: Operators = OPERATORS) -> Sequence[NDArray[Any]] | None:
    """The outputs of operator `name`, in their own types and shapes; None where they are not known at compile time.

    An operator's `fold` decides which of its inputs must be known; a view needs the input that it renames, what moves
    elements every one.
    """
    entry = operators[name]
    if not all(t.is_static for t in op.outputs):
        return None
    with np.errstate(all="ignore"):
        if entry.fold is not None and (folded := entry.fold(op)) is not None:
            return folded
        if (view := _view_of_constant(entry, op)) is not None:
            return moved(view, op)
        if not entry.traits.moves or any(array is None for array in op.constants):
            return None
        kernel = entry.kernel(op, Target("generic"))
        return moved(kernel.kernel if isinstance(kernel, KernelChoice) else kernel, op)


def _view_of_constant(entry: Operator, op: OperatorInstance) -> View | None:
    """The view that the operator is, where what it renames is constant: a constant has no place in RAM to rename."""
    inputs = zip(op.inputs, op.constants, strict=True)
    same_size = (t.bytes == op.outputs[0].bytes for t, array in inputs if t is not None and array is not None)
    if len(op.outputs) != 1 or not any(same_size):
        return None
    kernel = entry.kernel(op, Target("generic"))
    return kernel if isinstance(kernel, View) and op.constants[kernel.input] is not None else None
