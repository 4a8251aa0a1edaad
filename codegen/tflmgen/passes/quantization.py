"""QUANTIZE right after DEQUANTIZE, to the same scale and zero point, changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.graph import Module, Node, Op, Value
from tflmgen.passes.rewrite import Rewriter

GREATEST_SCALE = 1e30
"""Up to here no dequantised 16-bit element overflows."""


def cancel_quantization(module: Module) -> Module:
    """Replaces QUANTIZE(DEQUANTIZE(x)) by x where both have one type.

    Exact: scale * n has a relative error of at most 2**-24, the quotient by scale of 2**-23, so that it rounds to n for
    |n| < 2**16.
    """
    return _Cancel().run(module)


class _Cancel(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self._quantized: dict[Value, Value] = {}

    def node(self, node: Node) -> Sequence[Node]:
        if isinstance(node, Op) and node.inputs and node.inputs[0] is not None:
            source = node.inputs[0]
            if node.operator == "DEQUANTIZE":
                self._quantized[node.outputs[0]] = source
            elif node.operator == "QUANTIZE" and _is_inverse(self._quantized.get(source), node.outputs[0]):
                self.mapping[node.outputs[0]] = self._quantized[source]
                return ()
        return (self.regions(node),)


def _is_inverse(quantized: Value | None, output: Value) -> bool:
    if quantized is None or quantized.type != output.type or output.type.quantization is None:
        return False
    return not output.type.quantization.per_channel and output.type.quantization.scale < GREATEST_SCALE
