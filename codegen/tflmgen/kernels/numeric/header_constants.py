"""Numbers that C kernels and their declarations share: read from the headers, which are their one source.

Only the form that such constants have is understood, `#define NAME` with an expression of integers, other such names of
the header, `+ - * / <<` and parentheses. A constant that depends on how the C is compiled has no value here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+)$", re.MULTILINE)
_SUFFIX = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b")


def header_constant(header: str, name: str) -> int:
    """The number that firmware/kernels/`header` defines as `name`.

    Raises LookupError, naming both, where the header or the constant is missing, defined in several ways or no number.
    """
    try:
        definitions = _definitions(header)
    except FileNotFoundError:
        raise LookupError(f"{header}, which should define {name}, is not among the kernels' headers") from None
    try:
        return constant_in(definitions, name)
    except LookupError as error:
        raise LookupError(f"{header}: {error.args[0]}") from None


def definitions_in(source: str) -> dict[str, tuple[str, ...]]:
    """Name -> each text that C source defines it as, of macros without parameters."""
    definitions: dict[str, tuple[str, ...]] = {}
    for name, text in _DEFINE.findall(_COMMENT.sub(" ", source.replace("\\\n", " "))):
        definitions[name] = (*definitions.get(name, ()), text.strip())
    return definitions


def constant_in(definitions: Mapping[str, tuple[str, ...]], name: str) -> int:
    """The number that `name` stands for. Raises LookupError where there is no single one."""
    texts = definitions.get(name, ())
    if len(texts) != 1:
        raise LookupError(f"{name} has {len(texts)} definitions" if texts else f"{name} is not defined")
    try:
        return _value(ast.parse(_SUFFIX.sub(r"\1", texts[0]), mode="eval").body, definitions)
    except (SyntaxError, ValueError):
        raise LookupError(f"{name} is not a number but {texts[0]}") from None


@cache
def _definitions(header: str) -> Mapping[str, tuple[str, ...]]:
    return definitions_in(files("tflmgen.firmware").joinpath(f"kernels/{header}").read_text(encoding="utf-8"))


def _value(node: ast.expr, definitions: Mapping[str, tuple[str, ...]]) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return constant_in(definitions, name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, definitions)
        case ast.BinOp(left=left, op=operator, right=right):
            a, b = _value(left, definitions), _value(right, definitions)
            match operator:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.Div() if a >= 0 and b > 0:
                    return a // b
                case ast.LShift():
                    return a << b
    raise ValueError(ast.unparse(node))
