"""Fuses activation functions that are decomposed into several operators."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from tflmgen.ir.graph import Module, Op, Value
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels import OPERATORS, traits_of
from tflmgen.passes.element_forms import VARIABLE, ElementForm, form_of, is_same, number, slope_below_zero
from tflmgen.passes.exact_sums import NoFormError
from tflmgen.passes.fused_regions import MAX_OPERATORS, FusedRegion
from tflmgen.passes.operator_rewriter import RegionRewriter
from tflmgen.passes.real_evaluation import is_element_function, is_real, on_elements, real_function
from tflmgen.passes.single_precision import fits_float32

BEYOND_REALS = np.array([math.inf, -math.inf, math.nan])
"""Elements of float32 that are no real numbers."""

Spelling = tuple[str, Any]
"""An element-wise operator and its attributes."""

SPELLED_OUT: tuple[Spelling, ...] = tuple(
    (name, attributes) for name, row in OPERATORS.items() for attributes in row.traits.spelled_out
)
OF_SLOPE = {name: row.traits.of_slope for name, row in OPERATORS.items() if row.traits.of_slope is not None}


def fuse_functions(module: Module) -> Module:
    """Replaces groups of element-wise float operators that compute HARD_SWISH, SILU, GELU, LEAKY_RELU and similar.

    A group is recognised by the normal form of its function of real numbers, independently of order and grouping:
    x * relu6(x + 3) / 6 and relu6(x + 3) * (x * 0.16667) are the same function. At infinities and NaN, which are no
    real numbers, it must be equal, too.
    """
    return _Functions(module).rewritten()


class _Functions(RegionRewriter):
    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._forms: dict[tuple[Value, Value], ElementForm | None] = {}

    def is_fusible(self, op: Op) -> bool:
        if traits_of(op.operator).view:
            return is_real(op)
        if not (is_element_function(op) and is_real(op)):
            return False
        operands = [v for v in op.inputs if v is not None]
        shape = op.outputs[0].type.shape
        return all(self.flow.number(v) is not None if v.is_constant else v.type.shape == shape for v in operands)

    def is_source(self, source: Value, op: Op) -> bool:
        return source.type.shape == op.outputs[0].type.shape and self._spelling(source, op) is not None

    def fused(self, op: Op, region: FusedRegion) -> Op | None:
        spelling = self._spelling(region.source, op)
        if spelling is None or not self._is_equal_beyond(region, *spelling):
            return None
        name, attributes = spelling
        return self.legal(Op(op.id, name, (region.source,), op.outputs, attributes, op.origin))

    def _spelling(self, source: Value, op: Op) -> Spelling | None:
        """The operator that computes the function of `source` that `op` ends."""
        form = self._form(source, op.outputs[0], 0)
        if form is None:
            return None
        for spelling in (*SPELLED_OUT, *_with_slope(form)):
            if is_same(form, _spelled_form(spelling)):
                return spelling
        return None

    def _form(self, source: Value, value: Value, depth: int) -> ElementForm | None:
        """A value as a function of `source`, in its normal form; None where it has none."""
        if value == source:
            return VARIABLE
        if (source, value) not in self._forms:
            op = self.flow.producers.get(value)
            is_near = op is not None and depth <= MAX_OPERATORS
            self._forms[source, value] = self._computed(source, op, depth + 1) if op is not None and is_near else None
        return self._forms[source, value]

    def _computed(self, source: Value, op: Op, depth: int) -> ElementForm | None:
        try:
            if traits_of(op.operator).view:
                return self._operand(source, op.inputs[0], depth)
            return form_of(op.operator, op.attributes, [self._operand(source, v, depth) for v in op.inputs])
        except NoFormError:
            return None

    def _operand(self, source: Value, value: Value | None, depth: int) -> ElementForm:
        assert value is not None
        constant = self.flow.number(value) if value.is_constant else None
        form = self._form(source, value, depth) if constant is None else number(constant)
        if form is None:
            raise NoFormError
        return form

    def _is_equal_beyond(self, region: FusedRegion, name: str, attributes: Any) -> bool:
        function = real_function(name)
        assert function is not None
        with np.errstate(all="ignore"):
            expected = function(OperatorInstance((), (), (), attributes), [BEYOND_REALS])
        return np.array_equal(on_elements(region, BEYOND_REALS, self.flow), expected, equal_nan=True)


@lru_cache(maxsize=64)
def _spelled_form(spelling: Spelling) -> ElementForm:
    return form_of(*spelling, (VARIABLE,))


def _with_slope(form: ElementForm) -> Iterator[Spelling]:
    """Operators with the slope of the function below 0, if it has one."""
    slope = slope_below_zero(form)
    if slope is not None and fits_float32(slope):
        for name, attributes_of in OF_SLOPE.items():
            yield name, attributes_of(float(np.float32(slope)))
