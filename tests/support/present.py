"""Operands of a case that have values at run time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]


def present(values: Sequence[Array | None]) -> list[Array]:
    """Values of a case none of whose operands is constant or left out."""
    arrays = [value for value in values if value is not None]
    assert len(arrays) == len(values)
    return arrays
