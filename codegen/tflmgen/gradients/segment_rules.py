"""Gradients of operators that sum, multiply or choose elements of segments and rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tflmgen.gradients.graph_arithmetic import Arithmetic
from tflmgen.gradients.movement_rules import kept_axes, reduced_axes
from tflmgen.gradients.rule import GradientRule, Gradients, RuleContext
from tflmgen.ir import DType

Spread = Callable[[int], int]
"""A reduction of elements in the shape of the input, each element with the result of its own segment."""


def _product(a: Arithmetic, x: int, gradient: int, product: Spread, total: Spread) -> int:
    """The gradient by each factor: the product of the others, 0 where another one is 0."""
    is_zero = a.compare("EQUAL", x, a.number(0))
    zeros = total(a.cast(is_zero, DType.FLOAT32))
    factors = a.choose(is_zero, a.number(1), x)
    others = product(factors)
    if_zero = a.where(a.compare("EQUAL", zeros, a.number(1)), others)
    if_not = a.where(a.compare("EQUAL", zeros, a.number(0)), a.divide(others, factors))
    return a.multiply(gradient, a.choose(is_zero, if_zero, if_not))


def _reduced_product(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    a, axes, shape = context.arithmetic, reduced_axes(context), context.shape(0)
    assert gradients[0] is not None
    short = [1 if axis in axes else size for axis, size in enumerate(shape)]

    def product(tensor: int) -> int:
        reduced = a.graph.compute("REDUCE_PROD", [tensor, a.integers(axes)], short, options={"keep_dims": True})
        return a.spread(reduced, shape)

    gradient = a.spread(kept_axes(context, gradients[0]), shape)
    by_input = _product(a, context.input(0), gradient, product, lambda t: a.spread(a.sum(t, axes, keep=True), shape))
    return [by_input]


class _Segments:
    """Rows of a tensor by their segments, those of negative ones, which belong to none, left out."""

    def __init__(self, context: RuleContext) -> None:
        a, self.shape, ids = context.arithmetic, context.shape(0), context.input(1)
        self.a, self.context = a, context
        if a.graph.dtype(ids) is not DType.INT32:
            ids = a.cast(ids, DType.INT32)
        self.ids = ids
        inner = (1,) * (len(self.shape) - len(a.shape(ids)))
        self.belongs = a.reshape(a.compare("GREATER_EQUAL", ids, a.integers(0)), (*a.shape(ids), *inner))
        known = a.graph.compute("MAXIMUM", [ids, a.integers(0)], a.shape(ids), DType.INT32)
        self.known = known

    def spread(self, rows: int) -> int:
        """Each element with that of its segment's row; 0 without a segment."""
        taken = self.a.graph.compute("GATHER", [rows, self.known], self.shape, options={"axis": 0, "batch_dims": 0})
        return self.a.where(self.belongs, taken)

    def reduced(self, name: str, tensor: int) -> int:
        """By segment the sum or product of its elements, each element with that of its own."""
        operands = [tensor, self.ids, self.a.integers(self.context.output_shape()[0])]
        return self.spread(self.a.graph.compute(f"UNSORTED_SEGMENT_{name}", operands, self.context.output_shape()))


def _segment_sum(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    assert gradients[0] is not None
    return [_Segments(context).spread(gradients[0])]


def _segment_product(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    segments = _Segments(context)
    assert gradients[0] is not None
    product, total = (lambda t: segments.reduced("PROD", t)), (lambda t: segments.reduced("SUM", t))
    return [_product(segments.a, context.input(0), segments.spread(gradients[0]), product, total)]


def _segment_extreme(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """In equal parts to all elements that are their segment's extreme one."""
    segments, a = _Segments(context), context.arithmetic
    assert gradients[0] is not None
    is_extreme = a.compare("EQUAL", context.input(0), segments.spread(context.output()))
    ones = a.where(segments.belongs, a.cast(is_extreme, DType.FLOAT32))
    count = a.maximum(segments.reduced("SUM", ones), a.number(1))
    return [a.multiply(ones, a.divide(segments.spread(gradients[0]), count))]


def _greatest(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """The greatest elements of rows back to their places."""
    a, gradient = context.arithmetic, gradients[0]
    if gradient is None:
        return [None]
    *outer, number = a.shape(gradient)
    shape = (*outer, number, context.shape(0)[-1])
    operands = [context.output(1), a.integers(shape[-1]), a.number(1), a.number(0)]
    places = a.graph.compute("ONE_HOT", operands, shape, options={"axis": -1})
    return [a.sum(a.multiply(places, a.reshape(gradient, (*outer, number, 1))), [-2])]


def _sparse_to_dense(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """Each value gets the gradient of its place; the default value those of all other places."""
    a, gradient, indices = context.arithmetic, gradients[0], context.input(0)
    assert gradient is not None
    count, rank = (*context.shape(0), 1, 1)[:2] if context.shape(0) else (1, 1)
    by_places = a.graph.compute("GATHER_ND", [gradient, a.reshape(indices, (count, rank))], (count,))
    by_values = by_default = None
    if context.needs(2):
        by_values = by_places if context.shape(2) else a.total(by_places)
    if context.needs(3):
        by_default = a.reshape(a.subtract(a.total(gradient), a.total(by_places)), context.shape(3))
    return [None, None, by_values, by_default]


RULES: Mapping[str, GradientRule] = {
    "REDUCE_PROD": _reduced_product,
    "SEGMENT_SUM": _segment_sum,
    "SPARSE_TO_DENSE": _sparse_to_dense,
    "TOPK_V2": _greatest,
    "UNSORTED_SEGMENT_MAX": _segment_extreme,
    "UNSORTED_SEGMENT_MIN": _segment_extreme,
    "UNSORTED_SEGMENT_PROD": _segment_product,
    "UNSORTED_SEGMENT_SUM": _segment_sum,
}
