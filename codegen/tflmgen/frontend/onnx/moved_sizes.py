"""Nodes that move elements of vectors of sizes, of which some are known at run time only.

Exporters write shapes as arithmetic: they pick elements out of a shape and put them next to constants. ONNX's evaluator
moves the elements, with a number that no model has in place of each open size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tflmgen.frontend.onnx.constant_nodes import evaluated
from tflmgen.frontend.onnx.layout_graph import OnnxValue, constant
from tflmgen.frontend.onnx.node import OnnxNode, open_numbers
from tflmgen.frontend.onnx.open_size import is_open
from tflmgen.ir import DType

MOVES = frozenset(
    ["Cast", "Concat", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Unsqueeze"]
)

_FIRST = -(2**30)
"""Stands for the first open size, the next lower ones for others."""

_MOST = 64
"""Elements up to which integers are looked at as sizes."""


def moved_sizes(node: OnnxNode, domain: str) -> list[OnnxValue] | None:
    """The results, where the node has sizes among its operands and only moves them: constants with stand-ins.

    Empty where it computes others of them, and None where it has none.
    """
    if not any(value is not None and value.numbers is not None for value in node.inputs):
        return None
    sizes: list[int] = []
    operands = [_with_stand_ins(value, sizes) for value in node.inputs]
    if node.op not in MOVES or any(value is not None and value.constant is None for value in operands):
        return []
    moved = evaluated(replace(node, inputs=operands), domain)
    if moved is None or any(value.dtype not in (DType.INT32, DType.INT64) for value in moved):
        return []
    return [_with_sizes(value, sizes) for value in moved]


def with_numbers(lowered: Sequence[OnnxValue | None], moved: Sequence[OnnxValue]) -> list[OnnxValue | None]:
    """The results of a node that has sizes among its operands, with what is known of their elements."""
    if not moved:
        return [value if value is None else _computed(value) for value in lowered]
    return [
        value if value is None else replace(value, numbers=known.numbers or tuple(_ints(known)))
        for value, known in zip(lowered, moved, strict=False)
    ]


def _with_stand_ins(value: OnnxValue | None, sizes: list[int]) -> OnnxValue | None:
    if value is None or value.constant is not None:
        return value
    numbers = value.numbers if value.numbers is not None else _computed(value).numbers
    if numbers is None:
        return value
    elements = []
    for number in numbers:
        if is_open(number):
            sizes.append(number)
        elements.append(_FIRST - len(sizes) + 1 if is_open(number) else number)
    return constant(np.array(elements, value.dtype.numpy).reshape(value.shape))


def _with_sizes(value: OnnxValue, sizes: Sequence[int]) -> OnnxValue:
    numbers = [sizes[_FIRST - n] if _FIRST - len(sizes) < n <= _FIRST else n for n in _ints(value)]
    return replace(value, numbers=tuple(numbers)) if any(map(is_open, numbers)) else value


def _ints(value: OnnxValue) -> list[int]:
    assert value.constant is not None
    return [int(n) for n in value.constant.reshape(-1)]


def _computed(value: OnnxValue) -> OnnxValue:
    """A small vector of integers that is computed at run time, with elements that are open sizes."""
    is_vector = value.dtype in (DType.INT32, DType.INT64) and value.rank <= 1 and not value.is_open
    if value.constant is not None or value.numbers is not None or not is_vector or value.size > _MOST:
        return value
    return replace(value, numbers=open_numbers(value))
