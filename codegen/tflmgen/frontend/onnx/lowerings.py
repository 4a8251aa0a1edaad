"""The table of lowerings: ONNX operator -> function that appends TFLite operators and gives its results.

A lowering gets a Node and returns one Value, or a sequence of them for operators of several results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tflmgen.frontend.onnx.laid_out import Value
from tflmgen.frontend.onnx.node import Node

Results = Value | Sequence[Value | None]
Lowering = Callable[[Node], Results]

LOWERINGS: dict[str, Lowering] = {}
"""Lowerings of operators in ONNX's own domain, by the operator's name."""


def lowers(*names: str) -> Callable[[Lowering], Lowering]:
    """Enters a function as the lowering of these operators."""

    def enter(lowering: Lowering) -> Lowering:
        for name in names:
            LOWERINGS[name] = lowering
        return lowering

    return enter
