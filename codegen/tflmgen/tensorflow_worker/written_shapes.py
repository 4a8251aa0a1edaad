"""Shape checks of functions that write an operation with others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

Write = Callable[..., Any]
"""(attributes of the operation, operands) -> its result, or a tuple of its results; raises UnwritableError."""

Attributes = Mapping[str, Any]


class UnwritableError(Exception):
    """The operation cannot be written for these operands, for the reason in the text."""

    def __init__(self, reason: str, advice: str = "Write it with other operations") -> None:
        super().__init__(reason)
        self.advice = advice


class KeptError(Exception):
    """TFLite has the operation for these operands: it stays as it is."""


MOST_ELEMENTS = 1 << 24
"""Most elements of a constant that stands for an operation: a number in a graph must not take all memory."""


def check_size(elements: int, name: str) -> None:
    """Raises UnwritableError if a constant would have more than MOST_ELEMENTS."""
    if elements > MOST_ELEMENTS:
        raise UnwritableError(f"{name} would have {elements:,} elements")


def static_shape(tensor: Any, name: str) -> tuple[int, ...]:
    """Shape of a tensor or array. Raises UnwritableError if a dimension is not known."""
    shape = tuple(tensor.shape.as_list()) if isinstance(tensor, tf.Tensor) and tensor.shape.rank is not None else None
    shape = tensor.shape if isinstance(tensor, np.ndarray) else shape
    if shape is None or None in shape:
        raise UnwritableError(f"{name} has no static shape")
    return shape


def constant(operand: Any, name: str) -> np.ndarray[Any, Any]:
    """Value of a constant operand. Raises UnwritableError if it is computed."""
    if not isinstance(operand, np.ndarray | np.generic):
        raise UnwritableError(f"{name} is no constant")
    return np.asarray(operand)
