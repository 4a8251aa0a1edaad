"""Arrays that know which parameters of the source their elements were computed from.

Lowerings cut, turn, join and scale constants with numpy. Which of the constants that they write are parameters, and
which they made themselves, follows from the arrays: a result of floats has the names of all its operands.

numpy's protocols: https://numpy.org/doc/stable/user/basics.subclassing.html, NEP 13 and NEP 18.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class ParameterArray(np.ndarray[Any, np.dtype[Any]]):
    """An array with the names of the parameters that its elements were computed from."""

    names: frozenset[str]

    def __array_finalize__(self, source: object) -> None:
        """Views, parts and copies of floats have the names of their source."""
        self.names = names_of(source) if self.dtype.kind == "f" else frozenset()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Element by element: the result has the names of all operands."""
        names = _all_names(inputs)
        if "out" in options:
            options["out"] = _plain(options["out"])
        return _named(getattr(ufunc, method)(*_plain(inputs), **options), names)

    def __array_function__(
        self, function: Callable[..., Any], types: Iterable[type], args: Iterable[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Other functions of numpy, such as concatenate: as for operators."""
        del types
        arguments = tuple(args)
        names = _all_names((*arguments, *kwargs.values()))
        return _named(function(*_plain(arguments), **{name: _plain(value) for name, value in kwargs.items()}), names)


def as_parameter(array: Array, names: Iterable[str]) -> Array:
    """The array as one that was computed from these parameters."""
    return _named(array, frozenset(names))  # type: ignore[no-any-return]


def names_of(array: object) -> frozenset[str]:
    """Names of the parameters that an array was computed from; empty for all others."""
    return getattr(array, "names", frozenset()) if isinstance(array, ParameterArray) else frozenset()


def _all_names(values: Iterable[Any]) -> frozenset[str]:
    names = frozenset[str]()
    for value in values:
        names |= _all_names(value) if isinstance(value, tuple | list) else names_of(value)
    return names


def _plain(value: Any) -> Any:
    """The value with arrays of numpy's own class, which share their elements."""
    if isinstance(value, tuple | list):
        return type(value)(_plain(part) for part in value)
    return value.view(np.ndarray) if isinstance(value, ParameterArray) else value


def _named(result: Any, names: frozenset[str]) -> Any:
    """A result with names: of floats only, since places, sizes and comparisons are no parameters."""
    if isinstance(result, tuple | list):
        return type(result)(_named(part, names) for part in result)
    if not isinstance(result, np.ndarray) or result.dtype.kind != "f" or not names:
        return result
    named = result.view(ParameterArray)
    named.names = names
    return named
