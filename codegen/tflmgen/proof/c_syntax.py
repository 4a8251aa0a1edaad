"""Syntax of the generated C: trees of tree-sitter, and the few kinds of expression that stand in it.

Whatever is of another kind raises UnreadableError: nothing is passed over but comments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Protocol

import numpy as np

from tflmgen.errors import UsageError
from tflmgen.ir.kernel import ParamValue

Number = int | float | bool

_ATTRIBUTES = re.compile(rb"\bTFLMGEN_(?:ARENA_PART\(\d+\)|(?:ARENA|STATE|ZERO_STATE|WEIGHTS)\b)")
"""Macros before declarations that say where the linker puts them, and hide syntax."""

_PLACES = re.compile(rb"(?<!define )\b((?:STATE_)?AT(?:_\d+)?)\((?=\w)")
"""Uses of macros that paste at_ before a name, which may begin with a digit."""


class Node(Protocol):
    """Interface of those attributes of tree-sitter's nodes that are used."""

    @property
    def type(self) -> str:
        """Kind of the node in tree-sitter's grammar of C."""

    @property
    def text(self) -> bytes | None:
        """The source text that the node covers, in UTF-8."""

    @property
    def children(self) -> Sequence[Node]:
        """All nodes directly below it, punctuation included, in order."""

    @property
    def named_children(self) -> Sequence[Node]:
        """The nodes directly below it without punctuation, in order."""

    @property
    def start_point(self) -> Sequence[int]:
        """(row, column) of its first byte, both from 0."""

    @property
    def is_error(self) -> bool:
        """Whether it covers text that the grammar does not know."""

    @property
    def is_missing(self) -> bool:
        """Whether the grammar wants it, but the text lacks it."""

    @property
    def has_error(self) -> bool:
        """Whether it or a node below it is an error."""

    def child_by_field_name(self, name: str, /) -> Node | None:
        """The node below it that has this role in the grammar; None if there is none."""


class UnreadableError(ValueError):
    """Text that is not C as the library has it."""

    def __init__(self, node: Node, complaint: str) -> None:
        line = node.text.decode(errors="replace").splitlines()[0][:60] if node.text else ""
        super().__init__(f"line {node.start_point[0] + 1}: {complaint}: {line}")


@cache
def _parser() -> Callable[[bytes], Node]:
    """tree-sitter's parser of C. Raises UsageError where its packages are missing."""
    try:
        import tree_sitter
        import tree_sitter_c
    except ImportError as error:
        raise UsageError(f"{error}: install tflmgen anew, the generated C cannot be checked without") from None
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_c.language()))
    return lambda text: parser.parse(text).root_node


def parse(text: str) -> Node:
    """The tree of a C file. Raises UnreadableError at the first error of syntax."""
    plain = _ATTRIBUTES.sub(lambda m: b" " * len(m[0]), text.encode())
    root = _parser()(_PLACES.sub(rb"\1(at_", plain))
    if root.has_error:
        raise UnreadableError(_error(root), "this is no C")
    return root


def _error(node: Node) -> Node:
    for child in node.children:
        if child.is_error or child.is_missing:
            return child
        if child.has_error:
            return _error(child)
    return node


def text_of(node: Node | None) -> str:
    """The source text of a node that is known to be there."""
    assert node is not None
    assert node.text is not None
    return node.text.decode()


def parts(node: Node) -> Iterator[Node]:
    """The named children that are no comments."""
    return (child for child in node.named_children if child.type != "comment")


def field(node: Node, name: str) -> Node:
    """A child by its role. Raises UnreadableError where there is none."""
    child = node.child_by_field_name(name)
    if child is None:
        raise UnreadableError(node, f"there is no {name}")
    return child


def unwrapped(node: Node) -> Node:
    """An expression without its parentheses."""
    while node.type == "parenthesized_expression":
        (node,) = parts(node)
    return node


def words_of(node: Node) -> str:
    """The tokens of a node, with one space between them and without comments."""
    if node.type == "comment":
        return ""
    if not node.children:
        return text_of(node)
    return " ".join(filter(None, map(words_of, node.children)))


_NAMED: Mapping[str, Number] = {
    "true": True,
    "false": False,
    "INT32_MIN": -(2**31),
    "INT64_MIN": -(2**63),
    "INFINITY": float("inf"),
    "NAN": float("nan"),
}
_MACROS = ("UINT32_C", "INT64_C", "UINT64_C")


def number(node: Node) -> Number:
    """The value of a literal, perhaps with a sign."""
    node = unwrapped(node)
    if node.type == "unary_expression" and text_of(field(node, "operator")) == "-":
        return -number(field(node, "argument"))
    if node.type == "call_expression" and text_of(field(node, "function")) in _MACROS:
        (argument,) = parts(field(node, "arguments"))
        return number(argument)
    if node.type == "number_literal":
        return literal(text_of(node))
    if text_of(node) in _NAMED:
        return _NAMED[text_of(node)]
    raise UnreadableError(node, "this is no number")


def literal(text: str) -> Number:
    """A literal of decimal or hexadecimal digits; a float ends with f."""
    if text.startswith("0x"):
        return int(text.rstrip("uU"), 16)
    if text.endswith("f"):
        return float(np.float32(text[:-1]))
    return int(text.rstrip("uU"))


def integer(node: Node) -> int:
    """Value of an integer literal or of an expression of such ones. Raises UnreadableError if it is another number."""
    value = number(node)
    if not isinstance(value, int):
        raise UnreadableError(node, "this is no integer")
    return int(value)


def initializer(node: Node) -> ParamValue:
    """The value of a field: a number, or a list of them."""
    if node.type != "initializer_list":
        return number(node)
    return tuple(number(child) for child in parts(node))


def struct_fields(node: Node) -> dict[str, ParamValue]:
    """The designated initializers {.name = value, ...}."""
    fields: dict[str, ParamValue] = {}
    for pair in parts(node):
        if pair.type != "initializer_pair":
            raise UnreadableError(pair, "this is no field")
        name = text_of(field(pair, "designator")).removeprefix(".").strip()
        if name in fields:
            raise UnreadableError(pair, "a field has two values")
        fields[name] = initializer(field(pair, "value"))
    return fields


_ARRAY = re.compile(r"static const (\w+) (\w+)\[(\d+)\] = \{([^}]*)\};")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)

TYPES: Mapping[str, str] = {
    "float": "<f4",
    "double": "<f8",
    "bool": "|u1",
    "tflmgen_bool": "|u1",
    **{
        f"{sign}int{bits}_t": f"<{kind}{bits // 8}"
        for sign, kind in (("", "i"), ("u", "u"))
        for bits in (8, 16, 32, 64)
    },
}
"""Element types of arrays: how they lie in memory, with the lowest byte first."""


LINES = 1 << 12
"""Lines of an array that are read at a time."""


def arrays(text: str) -> dict[str, tuple[str, bytes]]:
    """The constant arrays of a file, read by tokens since they are long: name -> (C type, bytes)."""
    contents: dict[str, tuple[str, bytes]] = {}
    for declared in _ARRAY.finditer(_COMMENT.sub(" ", text)):
        c_type, name, count, body = declared.groups()
        if c_type not in TYPES or name in contents:
            raise ValueError(f"array '{name}' is declared twice, or of an unknown type")
        values = elements(body, np.dtype(TYPES[c_type]))
        if len(values) > int(count):
            raise ValueError(f"array '{name}' has more elements than it has room for")
        contents[name] = c_type, values.tobytes() + bytes((int(count) - len(values)) * values.itemsize)
    return contents


def elements(body: str, dtype: np.dtype[np.generic]) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """The elements of an array's braces; a part at a time, since a token takes much more than its element."""
    lines = body.strip().split("\n")
    parts = ["\n".join(lines[start : start + LINES]) for start in range(0, len(lines), LINES)]
    if not all(part.rstrip().endswith(",") for part in parts[:-1]):
        raise ValueError("an element goes on in the next line")
    return np.concatenate([_elements(part, dtype) for part in parts])


def _elements(body: str, dtype: np.dtype[np.generic]) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    tokens = body.replace("\n", " ").replace(" ", "").split(",")
    if tokens and not tokens[-1]:
        tokens.pop()
    if dtype.kind == "f":
        return np.array([_real(token) for token in tokens], dtype=dtype)
    if any("_" in token for token in tokens):
        tokens = [_plain(token) for token in tokens]
    values = [_NAMED[token] if token in _NAMED else int(token, 0) for token in tokens]
    return np.array(values, dtype=dtype)


def _plain(token: str) -> str:
    named = {"INT32_MIN": str(-(2**31)), "INT64_MIN": str(-(2**63))}
    inner = re.fullmatch(r"-?(?:U?INT(?:32|64)_C)\((\d+)\)", token)
    if inner is not None:
        return f"-{inner[1]}" if token.startswith("-") else inner[1]
    inner = re.fullmatch(r"U?INT(?:32|64)_C\((-\d+)\)", token)
    return inner[1] if inner is not None else named.get(token, token)


def _real(token: str) -> float:
    sign, name = (-1.0, token[1:]) if token.startswith("-") else (1.0, token)
    if name in _NAMED:
        return sign * float(_NAMED[name])
    if not name.endswith("f") and not name.isdecimal():
        raise ValueError(f"'{token}' is no float")
    return sign * float(name.removesuffix("f"))
