"""Facts about operators, from which passes, streams, orders and importers conclude without knowing their names.

An operator says it where it is declared (`Operator.traits`); `traits_of` (table.py) looks it up. Each default is what
holds for an operator that nothing is known about, so that one without traits is compiled, but never rewritten.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.numeric.quantize_math import Activation

RowRule = Callable[[OperatorInstance, int], bool]
"""Whether an operator keeps the rows along an axis of its input apart."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums in 32 bits of an operator's int8 or int16 elements, which its output follows from.

    axes        of input 0, along which elements are added; the sum of any of them has 32 bits, too
    keeps_axes  whether the output has these axes, with one element
    rounded     the operator that makes the output of the sums (operators/rounded_sums.py)
    attributes  of that operator
    """

    axes: frozenset[int]
    keeps_axes: bool
    rounded: str
    attributes: Any


SumsRule = Callable[[OperatorInstance], Sums | None]
"""The sums that an operator's output follows from; None if it is no such operator."""


def no_axis(op: OperatorInstance, axis: int) -> bool:
    """The axes of an operator that keeps none apart."""
    del op, axis
    return False


def first_axis(op: OperatorInstance, axis: int) -> bool:
    """The axes of an operator that keeps only the slices along axis 0 apart."""
    del op
    return axis == 0


def any_axis(op: OperatorInstance, axis: int) -> bool:
    """The axes of an operator that keeps the slices along each axis apart."""
    del op, axis
    return True


@dataclass(frozen=True, slots=True)
class Roles:
    """Places of an operator's inputs by what they are to it; None: it has no such input.

    data        what it computes on; of operators that move elements, what these are elements of
    weights     the filter or matrix that its sums of products multiply the data by
    bias        what its sums begin with; optional
    scale_axis  axis of the weights that counts the output's channels, each of which may have a scale of its own
    table       what its indices choose rows of
    slopes      what it multiplies negative data by
    shapes      what says the output's shape, and may be known at run time only
    """

    data: int = 0
    weights: int | None = None
    bias: int | None = None
    scale_axis: int | None = None
    table: int | None = None
    slopes: int | None = None
    shapes: tuple[int, ...] = ()


class NumberConversion(Enum):
    """Types that an operator converts real numbers between."""

    QUANTIZES = "floats, or integers of one scale, to integers of another"
    DEQUANTIZES = "integers to floats"
    REQUANTIZES = "int8 to int8, as if through floats"

    @property
    def operator(self) -> str:
        """Operator that converts so."""
        return self.name.removesuffix("S")


class Sliding(Enum):
    """Kind of an operator that slides over an image [batch, height, width, channels] in `attributes.steps`.

    FILTER: the weights, input 1, whose dimensions 1 and 2 are the taps. POOL: a window of `attributes.taps`.
    """

    FILTER = "filter"
    POOL = "pool"


class Comparison(Enum):
    """Order of a comparison's operands, a and b, for true."""

    LESS = "a < b"
    LESS_EQUAL = "a <= b"
    GREATER = "a > b"
    GREATER_EQUAL = "a >= b"
    EQUAL = "a = b"
    NOT_EQUAL = "a /= b"

    @property
    def negated(self) -> Comparison:
        """The comparison that is true exactly where this one is false."""
        return _NEGATED[self]

    @property
    def operator(self) -> str:
        """Name of the operator that compares so."""
        return self.name

    @property
    def mirrored(self) -> Comparison:
        """The comparison of b and a that is true exactly where this one of a and b is."""
        return _MIRRORED.get(self, self)


_NEGATED = {
    left: right
    for pair in (
        (Comparison.LESS, Comparison.GREATER_EQUAL),
        (Comparison.GREATER, Comparison.LESS_EQUAL),
        (Comparison.EQUAL, Comparison.NOT_EQUAL),
    )
    for left, right in (pair, pair[::-1])
}
_MIRRORED = {
    left: right
    for pair in ((Comparison.LESS, Comparison.GREATER), (Comparison.LESS_EQUAL, Comparison.GREATER_EQUAL))
    for left, right in (pair, pair[::-1])
}


class Connective(Enum):
    """Operands for which a logical connective is true."""

    AND = "all of its operands are true"
    OR = "any of its operands is true"
    NOT = "its operand is false"


@dataclass(frozen=True, slots=True)
class Traits:
    """Facts about an operator; whatever they say holds for every attribute and every type that its rules let through.

    roles           which input is what

    Places of elements
    view            output 0 is input 0's bytes under another shape: it may move past what treats elements alike
    same_if_typed   output 0 is input 0 wherever their types are equal
    unary           each element of the output is one function of the element at its place in input 0; other inputs, if
                    any, are constants that belong to the function
    elementwise     each element of the output is one function of the elements at its place in the inputs, which are
                    broadcast: the operator may run on permuted or cut tensors
    aligns_leading  element-wise, but an operand of lower rank has the output's leading dimensions
    cuts            output 0 is a part of input 0, in order: it may be moved to its place over what it was cut from
    permutes        output 0 is input 0 with its dimensions in the order that input 1 lists
    moves           its outputs are elements of input `roles.data` (of each input if it `joins`), at places that no
                    element decides
    joins           every input is data, and all agree in every dimension but the one along which they are joined
    splits          its outputs are consecutive parts of input `roles.data` along one axis
    concatenates    it joins along an axis that its inputs have, the attribute `axis`, not along a new one
    pads            input 1 has the padding of each dimension, input 2, if any, what it consists of
    reduces         input 1 lists the axes that become one element each; the attribute keep_dims
    sums            the sums of elements that its output follows from
    along_named     input 1 is the one axis along which it looks for elements, and which its output lacks
    converts        each element of the output is the real number of input 0 in another type, as near as it has: how
    along_last      each row along the last dimension is computed from the same row, by one function
    reshapes_rows   sees input 0 under another shape: it may make several rows in place of each row, in order
    row_wise        whether it keeps the rows along an axis apart, if the shapes that it infers do (import_row_wise)
    by_rows         its kernel may run on single rows of an image, as an operator of a stream (explore/streams)
    window          what slides over its input, an image
    fills_with_0    elements of its output that no operand gives are the integer 0, whatever the zero point
    takes_nothing   it has a result with elements even where an operand has none
    may_fail        it may return an error: it must not run where the model would not have run it
    ignores_scales  its kernels take integers as they are, whatever the scales: in a quantised model all its operands
                    and results need one scale, though its rules, which accept what runtimes accept, ask for none

    Channels, which are the last dimension
    channelwise     each channel of the output depends on this channel of the operands only
    channel_axis    the axis of the weights, input 1, that counts the output's channels
    depth_axis      the axis of the weights that counts the input's channels, each of which every output depends on

    Algebra
    clamped         the attribute `activation` clamps the output, after rounding (in recurrent operators it does not)
    clamp           it does nothing but clamp to this range
    compares        its output is whether the operands compare so
    connective      its output is whether this holds of the operands
    adds            it is the sum of its two operands (1), or their difference (-1)
    multiplies      it is the product of its two operands (1), or their quotient (-1)
    products        its last two dimensions are the product of the matrices that its two operands' are
    commutative     operands may change places
    tabled          its kernel of int8 is a table of the 256 results
    tabulable       its elements may become entries of a table: evaluated for every int8, also through floats
    same_if_equal   two inputs of which it gives the first operand where both are one value: MAXIMUM(x, x) is x
    extreme         it gives the greater of its two operands (1), or the lesser (-1)
    selects         input 0 chooses between inputs 1 and 2, element by element
    spelled_out     attributes with which converters spell it out in several operators, to be recognised by its values
    of_slope        attributes with which it is x from 0 on and below 0 x times a slope
    monotone_from   it falls with no operand, as long as all their elements are at least so much
    neutral         f(x, neutral) is x, but for quantised elements and a fused activation; where it reduces or runs
                    along an axis, elements beside which the others' result is the same: +-inf for the type's limits
    absorbing       f(x, absorbing) is absorbing
    """

    roles: Roles = Roles()
    view: bool = False
    same_if_typed: bool = False
    unary: bool = False
    elementwise: bool = False
    aligns_leading: bool = False
    cuts: bool = False
    permutes: bool = False
    moves: bool = False
    joins: bool = False
    splits: bool = False
    concatenates: bool = False
    pads: bool = False
    reduces: bool = False
    sums: SumsRule | None = None
    along_named: bool = False
    converts: NumberConversion | None = None
    along_last: bool = False
    reshapes_rows: bool = False
    row_wise: RowRule = no_axis
    by_rows: bool = False
    window: Sliding | None = None
    fills_with_0: bool = False
    takes_nothing: bool = False
    may_fail: bool = False
    ignores_scales: bool = False
    channelwise: bool = False
    channel_axis: int | None = None
    depth_axis: int | None = None
    clamped: bool = False
    clamp: Activation | None = None
    compares: Comparison | None = None
    connective: Connective | None = None
    adds: int = 0
    multiplies: int = 0
    products: bool = False
    commutative: bool = False
    tabled: bool = False
    tabulable: bool = False
    same_if_equal: tuple[int, int] | None = None
    extreme: int = 0
    selects: bool = False
    spelled_out: tuple[Any, ...] = ()
    of_slope: Callable[[float], Any] | None = None
    monotone_from: float | None = None
    neutral: float | None = None
    absorbing: int | None = None

    @property
    def is_arithmetic(self) -> bool:
        """Whether it combines the elements of its operands, under a fused activation."""
        return self.elementwise and self.clamped

    @property
    def is_matrix_layer(self) -> bool:
        """Whether it multiplies each row of its input by one matrix of weights."""
        return self.channel_axis is not None and self.window is None

    @property
    def is_row_wise_by_shape(self) -> bool:
        """Whether the inferred shapes alone tell which rows are kept apart."""
        return self.row_wise in (any_axis, first_axis)


UNKNOWN = Traits()

ELEMENTWISE = Traits(elementwise=True, row_wise=any_axis)

UNARY = replace(ELEMENTWISE, unary=True)

BY_AXIS = Traits(row_wise=any_axis)
"""Operators that mix no rows, along any dimension, where the inferred shapes don't show it."""

MONOTONE = -math.inf
"""Traits.monotone_from of what falls with no operand, whatever these are."""

BY_BATCH = Traits(row_wise=first_axis)
"""Operators that mix no rows along the first dimension."""
