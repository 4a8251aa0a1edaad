"""Functions of rows as operators spell them out, in a normal form: one sum of products for the elements of each row.

A value has an element for each element of the source, or one for each of its rows. Its atoms are the element x and
exp(x), the row's sums of x, of squares and of powers, its greatest element, and roots, logarithms and exponentials of
sums of those. Coefficients are floats; of elements, they may be arrays along the row. Reference: a value's elements lie
in the order of the source's, or its numbers in the order of rows, which is compared element by element.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir.graph import Value
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.numeric import Activation
from tflmgen.kernels.operators import axes
from tflmgen.passes.exact_sums import NoFormError, Product, Sum, atom, constant

Array = NDArray[Any]
Shape = tuple[int, ...]

X, EXP = "x", "exp x"
"""Atoms that each element of a row has for itself."""
SUM, SQUARES, EXPS = "sum of x", "sum of squares", "sum of exp x"
_SUMS: Mapping[tuple[int, int], str] = {(1, 0): SUM, (2, 0): SQUARES, (0, 1): EXPS}
"""Exponents of x and of exp(x) -> the sum along a row."""
LOG_OF_EXPS = "logarithm of the sum of exp x"

_GREATEST = "greatest x"
_MAY_BE_ZERO = frozenset({X, SUM, SQUARES, _GREATEST})
_X: Product = frozenset({(X, 1)})


@dataclass(frozen=True, slots=True)
class Rows:
    """`count` rows of `depth` contiguous elements."""

    count: int
    depth: int


@dataclass(frozen=True, slots=True, eq=False)
class RowForm:
    """A value of a shape, that has an element for each element of the rows or one for each row; neither: a constant.

    of_rows: one for each row.
    """

    shape: Shape
    sum: Sum
    of_rows: bool = False

    @property
    def is_number(self) -> bool:
        """Whether all its elements are one constant."""
        number = self.sum.number
        return number is not None and not isinstance(number, np.ndarray)


def form_of(instance: OperatorInstance, name: str, operands: Sequence[RowForm], rows: Rows) -> RowForm:
    """The value that an operator makes of values; NoFormError where it is none of this form."""
    if getattr(instance.attributes, "activation", Activation.NONE) is not Activation.NONE:
        raise NoFormError
    shape = instance.outputs[0].max_shape
    if name in _REDUCTIONS:
        return _reduced(name, instance, operands[0], rows)
    if name == "BROADCAST_TO":
        return RowForm(shape, _broadcast(operands[0], shape, rows), operands[0].of_rows and operands[0].shape == shape)
    if name in _UNARY:
        return RowForm(shape, _UNARY[name](operands[0].sum), operands[0].of_rows)
    if name not in _BINARY:
        raise NoFormError
    forms = [_broadcast(form, shape, rows) for form in operands]
    return RowForm(shape, _BINARY[name](*forms), all(form.of_rows or form.is_number for form in operands))


def constant_form(array: Array, rows: Rows, shape: Shape) -> RowForm:
    """A constant operand of an operator with this output: a number, or an array along each row."""
    values = np.broadcast_to(array, shape).astype(np.float64)
    if (values == values.flat[0]).all():
        return RowForm(shape, constant(float(values.flat[0])))
    if values.size != rows.count * rows.depth:
        raise NoFormError
    by_row = values.reshape(rows.count, rows.depth)
    if not (by_row == by_row[0]).all():
        raise NoFormError
    return RowForm(shape, constant(by_row[0].copy()))


def row_variable(source: Value) -> RowForm:
    """The source itself."""
    return RowForm(source.type.max_shape, atom(X))


def viewed(form: RowForm, value: Value) -> RowForm:
    """The value under another shape."""
    return RowForm(value.type.max_shape, form.sum, form.of_rows)


def _broadcast(form: RowForm, shape: Shape, rows: Rows) -> Sum:
    """The sum of an operand, if each element of the output meets the operand's element of its place or row."""
    if form.is_number:
        return form.sum
    size = math.prod(shape)
    if form.of_rows and size != rows.count * rows.depth:
        if form.shape != shape:
            raise NoFormError
        return form.sum
    numbers = np.arange(rows.count * rows.depth)
    own = np.arange(rows.count) if form.of_rows else numbers
    if size != numbers.size or own.size != math.prod(form.shape):
        raise NoFormError
    met = np.broadcast_to(own.reshape(form.shape), shape).reshape(-1)
    if not np.array_equal(met, numbers // rows.depth if form.of_rows else numbers):
        raise NoFormError
    return form.sum


def _reduced(name: str, instance: OperatorInstance, operand: RowForm, rows: Rows) -> RowForm:
    """Along each row, whose elements the axes must have."""
    reduced = tuple(axes(instance) or ())
    if operand.of_rows or math.prod(operand.shape) != rows.count * rows.depth:
        raise NoFormError
    row = (np.arange(rows.count * rows.depth) // rows.depth).reshape(operand.shape)
    least = row.min(axis=reduced)
    if not (np.array_equal(least, row.max(axis=reduced)) and np.array_equal(least.reshape(-1), np.arange(rows.count))):
        raise NoFormError
    total = _greatest(operand.sum) if name == "REDUCE_MAX" else _total(operand.sum, rows.depth)
    if name == "MEAN":
        total = total.scaled(1.0 / rows.depth)
    return RowForm(instance.outputs[0].max_shape, total, of_rows=True)


def _total(summed: Sum, depth: int) -> Sum:
    total = Sum({})
    for product, coefficient in summed.terms.items():
        if isinstance(coefficient, np.ndarray):
            raise NoFormError
        powers = dict(product)
        exponents = powers.pop(X, 0), powers.pop(EXP, 0)
        factor = constant(float(depth)) if exponents == (0, 0) else atom(_named_sum(exponents))
        total += factor * Sum({frozenset(powers.items()): coefficient})
    return total


def _named_sum(exponents: tuple[int, int]) -> str:
    if exponents not in _SUMS:
        raise NoFormError
    return _SUMS[exponents]


def _greatest(summed: Sum) -> Sum:
    if summed.terms.keys() != {_X} or np.any(summed.terms[_X] != 1):
        raise NoFormError
    return atom(_GREATEST)


def _divided(dividend: Sum, divisor: Sum) -> Sum:
    return dividend * _power(divisor, -1)


def _power(base: Sum, exponent: int) -> Sum:
    """A power of one term; of a negative exponent, only where no atom can be 0."""
    if exponent > 0:
        return base if exponent == 1 else base * base
    if len(base.terms) != 1:
        raise NoFormError
    ((product, coefficient),) = base.terms.items()
    if not np.all(coefficient) or any(name in _MAY_BE_ZERO for name, _ in product):
        raise NoFormError
    return Sum({frozenset((name, -power) for name, power in product): 1.0 / coefficient})


def _root(summed: Sum) -> Sum:
    """The square root of numbers of rows."""
    if any(name in (X, EXP) for product in summed.terms for name, _ in product):
        raise NoFormError
    return atom(("root", summed.key))


def _exponential(summed: Sum) -> Sum:
    """exp(x + r) is exp(x) exp(r), for any number r of the row."""
    rest = dict(summed.terms)
    own = rest.pop(_X, 0)
    if any(name in (X, EXP) for product in rest for name, _ in product) or np.any(own != 1):
        raise NoFormError
    result = atom(EXP)
    for product, coefficient in rest.items():
        result = result * atom(("exp", Sum({product: 1}).key), _whole(coefficient))
    return result


def _whole(number: Any) -> int:
    if isinstance(number, np.ndarray) or int(number) != number or abs(number) > 1:
        raise NoFormError
    return int(number)


def _logarithm(summed: Sum) -> Sum:
    """log of one product of powers and their sums: the sum of their logarithms."""
    if len(summed.terms) != 1:
        raise NoFormError
    ((product, coefficient),) = summed.terms.items()
    if np.any(coefficient != 1):
        raise NoFormError
    total = Sum({})
    for name, exponent in product:
        if name == EXP:
            total += atom(X).scaled(exponent)
        elif name == EXPS:
            total += atom(LOG_OF_EXPS).scaled(exponent)
        elif isinstance(name, tuple) and name[0] == "exp":
            total += Sum(dict(name[1])).scaled(exponent)
        else:
            raise NoFormError
    return total


def _of_exponent(base: Sum, exponent: Sum) -> Sum:
    number = exponent.number
    if number is None or isinstance(number, np.ndarray):
        raise NoFormError
    if number in (0.5, -0.5):
        return _power(_root(base), int(2 * number))
    if number == 2:
        return base * base
    raise NoFormError


_REDUCTIONS = ("MEAN", "SUM", "REDUCE_MAX")
_UNARY: Mapping[str, Callable[[Sum], Sum]] = {
    "NEG": lambda a: a.scaled(-1.0),
    "SQUARE": lambda a: a * a,
    "SQRT": _root,
    "RSQRT": lambda a: _power(_root(a), -1),
    "EXP": _exponential,
    "LOG": _logarithm,
}
_BINARY: Mapping[str, Callable[[Sum, Sum], Sum]] = {
    "ADD": Sum.__add__,
    "SUB": Sum.__sub__,
    "MUL": Sum.__mul__,
    "DIV": _divided,
    "SQUARED_DIFFERENCE": lambda a, b: (a - b) * (a - b),
    "POW": _of_exponent,
}
