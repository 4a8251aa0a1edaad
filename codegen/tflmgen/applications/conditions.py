"""The conditions of stages: comparisons of elements with numbers, joined by and, or, not. Nothing is evaluated here."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Element:
    """One element of an output. output: empty for the only one; index: empty for an output of one element."""

    stage: str
    output: str
    index: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """element OP number; `operator` is TFLite's."""

    element: Element
    operator: str
    number: float | int


@dataclass(frozen=True, slots=True)
class Logical:
    """`operator` of TFLite's on one or two conditions."""

    operator: str
    terms: tuple[Condition, ...]


Condition = Comparison | Logical | Element
"""An Element alone is a condition where it is a bool."""

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Gt: "GREATER",
    ast.GtE: "GREATER_EQUAL",
    ast.Lt: "LESS",
    ast.LtE: "LESS_EQUAL",
    ast.Eq: "EQUAL",
    ast.NotEq: "NOT_EQUAL",
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
        operator = "LOGICAL_AND" if isinstance(node.op, ast.And) else "LOGICAL_OR"
        first, *others = (_condition(value, depth + 1) for value in node.values)
        for other in others:
            first = Logical(operator, (first, other))
        return first
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return Logical("LOGICAL_NOT", (_condition(node.operand, depth + 1),))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        return Comparison(_element(node.left), _COMPARISONS[type(node.ops[0])], _number(node.comparators[0]))
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
