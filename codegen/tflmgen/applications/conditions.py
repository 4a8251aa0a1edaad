"""The conditions of stages: comparisons of elements with numbers, joined by and, or, not. Nothing is evaluated here."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tflmgen.kernels import Comparison, Connective


@dataclass(frozen=True, slots=True)
class Element:
    """An element of an output. output: empty for the only one; index: empty for an output of one element."""

    stage: str
    output: str
    index: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ElementComparison:
    """A comparison of an element with a number, in this order."""

    element: Element
    comparison: Comparison
    number: float | int


@dataclass(frozen=True, slots=True)
class Logical:
    """A connective on one or two conditions."""

    connective: Connective
    terms: tuple[Condition, ...]


Condition = ElementComparison | Logical | Element
"""An Element alone is a condition where it is a bool."""

_COMPARISONS: dict[type[ast.cmpop], Comparison] = {
    ast.Gt: Comparison.GREATER,
    ast.GtE: Comparison.GREATER_EQUAL,
    ast.Lt: Comparison.LESS,
    ast.LtE: Comparison.LESS_EQUAL,
    ast.Eq: Comparison.EQUAL,
    ast.NotEq: Comparison.NOT_EQUAL,
}
DEPTH = 32
"""Levels of a condition at most."""


def parse_condition(text: str) -> Condition:
    """Raises ValueError with a sentence for a text that is not a condition."""
    if len(text) > 4096:
        raise ValueError("a condition has at most 4096 characters")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ValueError(f"'{text}' is not a condition") from None
    return _condition(tree.body, 0)


def _condition(node: ast.expr, depth: int) -> Condition:
    if depth > DEPTH:
        raise ValueError(f"a condition has at most {DEPTH} levels")
    if isinstance(node, ast.BoolOp):
        connective = Connective.AND if isinstance(node.op, ast.And) else Connective.OR
        first, *others = (_condition(value, depth + 1) for value in node.values)
        for other in others:
            first = Logical(connective, (first, other))
        return first
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return Logical(Connective.NOT, (_condition(node.operand, depth + 1),))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        return ElementComparison(_element(node.left), _COMPARISONS[type(node.ops[0])], _number(node.comparators[0]))
    return _element(node)


def _number(node: ast.expr) -> float | int:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(node.operand)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float) and abs(node.value) < 1e30:  # type: ignore[arg-type]
        return node.value  # type: ignore[return-value]
    raise ValueError(f"'{ast.unparse(node)}' is not a number")


def _element(node: ast.expr) -> Element:
    index: tuple[int, ...] = ()
    whole = node
    if isinstance(node, ast.Subscript):
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        index = tuple(_place(place) for place in places)
        node = node.value
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return Element(node.value.id, node.attr, index)
    if isinstance(node, ast.Name):
        return Element(node.id, "", index)
    raise ValueError(f"'{ast.unparse(whole)}' is not an element: write STAGE.OUTPUT[index]")


def _place(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int and 0 <= node.value < 1 << 31:
        return node.value
    raise ValueError(f"'{ast.unparse(node)}' is not an index")
