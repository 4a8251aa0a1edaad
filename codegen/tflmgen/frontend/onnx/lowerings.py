"""The table of lowerings: ONNX operator -> function that appends TFLite operators and gives its results.

A lowering gets a Node and returns one Value, or a sequence of them for operators of several results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tflmgen.frontend.onnx.layout_graph import OnnxValue
from tflmgen.frontend.onnx.node import OnnxNode

Results = OnnxValue | Sequence[OnnxValue | None]
Lowering = Callable[[OnnxNode], Results]

LOWERINGS: dict[str, Lowering] = {}
"""Lowerings of operators in ONNX's own domain, by the operator's name."""


NOT_EVALUATED: set[str] = {"MeanVarianceNormalization"}
"""Operators that are lowered, or expanded, even where all operands are constants: ONNX's evaluator differs from ONNX
Runtime, or from older versions of the operator set."""


def lowers(*names: str, evaluated: bool = True) -> Callable[[Lowering], Lowering]:
    """Enters a function as the lowering of these operators.

    evaluated  ONNX's evaluator computes the operators of constants
    """

    def enter(lowering: Lowering) -> Lowering:
        LOWERINGS.update(dict.fromkeys(names, lowering))
        NOT_EVALUATED.update(() if evaluated else names)
        return lowering

    return enter
