"""Removes QUANTIZE after DEQUANTIZE, so that no floats are computed in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.ir import DType, Module, Node, Op, Rewriter, Value

GREATEST_SCALE = 1e30
"""Largest scale for which no dequantised 16-bit element overflows float32."""


def cancel_quantization(module: Module) -> Module:
    """Replaces QUANTIZE(DEQUANTIZE(x)) by x if the types are equal, and by one requantisation from int8 to int8.

    The first is bit-exact: scale * n has a relative error of at most 2**-24, and its quotient by scale one of at most
    2**-23, so that it rounds to n for |n| < 2**16.
    """
    return _Cancel().run(module)


class _Cancel(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self._quantized: dict[Value, Value] = {}

    def node(self, node: Node) -> Sequence[Node]:
        if not isinstance(node, Op) or not node.inputs or node.inputs[0] is None:
            return (self.regions(node),)
        source, output = node.inputs[0], node.outputs[0]
        if node.operator == "DEQUANTIZE" and _is_simple(source):
            self._quantized[output] = source
        elif node.operator == "QUANTIZE" and source in self._quantized and _is_simple(output):
            quantized = self._quantized[source]
            if quantized.type == output.type:
                self.mapping[output] = quantized
                return ()
            if quantized.type.dtype is output.type.dtype is DType.INT8:
                return (replace(node, operator="REQUANTIZE", inputs=(quantized,)),)
        return (node,)


def _is_simple(value: Value) -> bool:
    quantization = value.type.quantization
    if quantization is None or quantization.per_channel or not value.type.is_static:
        return False
    return quantization.scale < GREATEST_SCALE
