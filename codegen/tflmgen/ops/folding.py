"""Operators evaluated at compile time: the same bits that their kernels give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernel import OperatorInstance, Target
from tflmgen.ops import OPERATORS
from tflmgen.ops.fold_elements import ELEMENTS, Fold
from tflmgen.ops.fold_moves import FROM_ELEMENTS, MOVES, moved
from tflmgen.ops.fold_quantized import fold_quantized

FOLDS: Mapping[str, Fold] = {**ELEMENTS, **FROM_ELEMENTS}


def fold(name: str, op: OperatorInstance) -> Sequence[NDArray[Any]] | None:
    """The outputs of operator `name`, in their own types and shapes; None where they are not known at compile time.

    An operator whose row of the table says how it is folded decides which of its inputs must be known; all others need
    every one.
    """
    entry = OPERATORS[name]
    if not all(t.is_static for t in op.outputs):
        return None
    with np.errstate(all="ignore"):
        if entry.fold is not None:
            return entry.fold(op)
        if not op.inputs or any(array is None for array in op.constants):
            return None
        if (quantized := fold_quantized(name, op)) is not None:
            return quantized
        if name in FOLDS:
            return FOLDS[name](op)
        return moved(entry.kernel(op, Target("generic")), op) if name in MOVES else None
