"""Fuses activation functions that are decomposed into several operators."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tflmgen.ir import Module, Op, OperatorInstance, Value, resolve
from tflmgen.kernels import OPERATORS, Alpha, traits_of
from tflmgen.passes.def_use import is_legal
from tflmgen.passes.element_forms import VARIABLE, ElementForm, form_of, is_same, number, slope_below_zero
from tflmgen.passes.exact_sums import NoFormError
from tflmgen.passes.fused_regions import Region
from tflmgen.passes.fusion import RegionFuser
from tflmgen.passes.real_evaluation import is_element_function, is_real, on_elements, real_function

BEYOND_REALS = np.array([math.inf, -math.inf, math.nan])
"""Elements of float32 that are no real numbers."""

Spelling = tuple[str, Any]
"""An element-wise operator and its attributes."""

SPELLED_OUT: tuple[Spelling, ...] = tuple(
    (name, attributes) for name, row in OPERATORS.items() for attributes in row.traits.spelled_out
)


def fuse_functions(module: Module) -> Module:
    """Replaces groups of element-wise float operators that compute HARD_SWISH, SILU, GELU, LEAKY_RELU and similar.

    A group is recognised by the normal form of its function of real numbers, independently of order and grouping:
    x * relu6(x + 3) / 6 and relu6(x + 3) * (x * 0.16667) are the same function. At infinities and NaN, which are no
    real numbers, it must be equal, too.
    """
    return _Functions(module).run(module)


class _Functions(RegionFuser):
    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._forms: dict[tuple[Value, Value], ElementForm | None] = {}

    def _is_fusible(self, op: Op) -> bool:
        if traits_of(op.operator).view:
            return is_real(op)
        if not (is_element_function(op) and is_real(op)):
            return False
        operands = [v for v in op.inputs if v is not None]
        shape = op.outputs[0].type.shape
        return all(self._flow.number(v) is not None if v.is_constant else v.type.shape == shape for v in operands)

    def _fused(self, op: Op, region: Region) -> Op | None:
        form = self._form(region) if region.source.type.shape == op.outputs[0].type.shape else None
        if form is None:
            return None
        for name, attributes in (*SPELLED_OUT, *_leaky(form)):
            if is_same(form, form_of(name, attributes, (VARIABLE,))) and self._is_equal_beyond(
                region, name, attributes
            ):
                inputs = (resolve(region.source, self.mapping),)
                fused = Op(op.id, name, inputs, op.outputs, attributes, op.origin)
                return fused if is_legal(fused, self._constants) else None
        return None

    def _form(self, region: Region) -> ElementForm | None:
        """The region's function in its normal form; None where it has none."""
        for op in region.ops:
            if (region.source, op.outputs[0]) not in self._forms:
                self._forms[region.source, op.outputs[0]] = self._computed(region.source, op)
            if self._forms[region.source, op.outputs[0]] is None:
                return None
        return self._forms[region.source, region.result]

    def _computed(self, source: Value, op: Op) -> ElementForm | None:
        try:
            operands = [self._operand(source, value) for value in op.inputs]
            return operands[0] if traits_of(op.operator).view else form_of(op.operator, op.attributes, operands)
        except NoFormError:
            return None

    def _operand(self, source: Value, value: Value | None) -> ElementForm:
        if value == source:
            return VARIABLE
        assert value is not None
        constant = self._flow.number(value) if value.is_constant else None
        form = self._forms[source, value] if constant is None else number(constant)
        if form is None:
            raise NoFormError
        return form

    def _is_equal_beyond(self, region: Region, name: str, attributes: Any) -> bool:
        function = real_function(name)
        assert function is not None
        with np.errstate(all="ignore"):
            expected = function(OperatorInstance((), (), (), attributes), [BEYOND_REALS])
        return np.array_equal(on_elements(region, BEYOND_REALS, self._flow), expected, equal_nan=True)


def _leaky(form: ElementForm) -> Iterator[Spelling]:
    """LEAKY_RELU with the slope of the function below 0, if it has one."""
    slope = slope_below_zero(form)
    if slope is not None and math.isfinite(np.float32(slope)):
        yield "LEAKY_RELU", Alpha(float(np.float32(slope)))
