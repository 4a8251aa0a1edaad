"""Dimensions whose size data decide at run time: how many elements are not zero, or which boxes remain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tflmgen.frontend.onnx.node_error import NodeError

if TYPE_CHECKING:
    _Number = int
else:
    _Number = object


FAR = 2**31 - 1
"""From here on a bound of a slice means the end of any axis."""


class OpenSize(_Number):
    """A size that is known at run time only; it stands in shapes where numbers stand, and equals itself alone.

    Whatever would take it for a number raises NodeError, so that a lowering either asks for open sizes or refuses them.

    place  the subgraph and the tensor that tell it, and the axis of the tensor, or the element of a vector of integers;
           None until a tensor has this size
    """

    place: tuple[Any, int, int, bool] | None = None

    def __str__(self) -> str:
        return "?"

    __repr__ = __str__


def _refuse(*_: Any) -> NoReturn:
    raise NodeError("needs a size at build time that the data decide at run time")


for _operation in (
    *("add", "radd", "sub", "rsub", "mul", "rmul", "floordiv", "rfloordiv", "truediv", "rtruediv", "mod", "rmod"),
    *("lt", "le", "gt", "ge", "neg", "pow", "rpow", "int", "index", "float", "array"),
):
    setattr(OpenSize, f"__{_operation}__", _refuse)


def is_open(size: int) -> bool:
    """Whether a size is known at run time only."""
    return isinstance(size, OpenSize)


def has_open(sizes: Sequence[int]) -> bool:
    """Whether any of these sizes is known at run time only."""
    return any(map(is_open, sizes))


def as_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """Sizes as Python's integers, of numpy's too; open ones as they are."""
    return tuple(size if is_open(size) else int(size) for size in sizes)


def file_sizes(sizes: Sequence[int]) -> list[int]:
    """Sizes as the file format writes them: -1 for open ones."""
    return [-1 if is_open(size) else int(size) for size in sizes]


def split_sizes(sizes: Sequence[int]) -> tuple[list[int], list[OpenSize]]:
    """The known sizes among these, and the open ones."""
    known = [size for size in sizes if not isinstance(size, OpenSize)]
    return known, [size for size in sizes if isinstance(size, OpenSize)]


def missing_size(whole: Sequence[int], others: Sequence[int]) -> int:
    """The size by which the product of `others` becomes that of `whole`; a new open one where none of these is."""
    (known, unknown), (known_others, unknown_others) = split_sizes(whole), split_sizes(others)
    for size in unknown_others:
        if size not in unknown:
            return OpenSize()
        unknown.remove(size)
    product, rest = math.prod(known), math.prod(known_others)
    if not unknown:
        return product // rest if rest else 0
    return unknown[0] if len(unknown) == 1 and product == rest else OpenSize()
