"""Fuses decomposed normalisations and softmaxes of rows into one operator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tflmgen.ir import DType, TensorType
from tflmgen.ir.graph import Module, Op, Value
from tflmgen.kernels import traits_of
from tflmgen.kernels.numeric import Reals
from tflmgen.kernels.operators import NormalizeAttributes, SoftmaxAttributes
from tflmgen.passes.exact_sums import HALF_STEP, ONE, Coefficient, NoFormError, Product, Sum
from tflmgen.passes.fused_regions import FusedRegion, Regions
from tflmgen.passes.operator_rewriter import OperatorRewriter, Replacement
from tflmgen.passes.real_evaluation import is_real, real_function
from tflmgen.passes.row_forms import (
    EXP,
    EXPS,
    LOG_OF_EXPS,
    SQUARES,
    SUM,
    RowForm,
    Rows,
    X,
    constant_form,
    form_of,
    row_variable,
    viewed,
)
from tflmgen.passes.single_precision import fits_float32

_SOFTMAX = frozenset({(EXP, 1), (EXPS, -1)})
_LOG_SOFTMAX = {frozenset({(X, 1)}): 1, frozenset({(LOG_OF_EXPS, 1)}): -1}
_LIST = RowForm((), Sum({}))
"""A list of axes or of dimensions: it is read as a constant."""
_EXACT = 2.0**-46
"""Relative error of coefficients that only float64 has rounded, and of squares about a mean that float32 has."""


def fuse_normalization(module: Module) -> Module:
    """Replaces groups of float operators that compute a normalisation or a softmax of contiguous rows.

    Layer, group and instance normalisation with gain and bias along a row, RMS and L2 normalisation, SOFTMAX and
    LOG_SOFTMAX. They are recognised by the normal form of what they compute of real numbers, independently of the
    order of operations and of views between.
    """
    return _Normalization(module).rewritten()


def _is_fusible(op: Op) -> bool:
    """Whether an operator may be part of a normalisation."""
    return (real_function(op.operator) is not None or traits_of(op.operator).view) and is_real(op)


class _Normalization(OperatorRewriter):
    def __init__(self, module: Module) -> None:
        super().__init__(module)
        regions = Regions(module, self.flow, _is_fusible)
        self._forms: dict[tuple[Value, int, Value], RowForm | None] = {}
        self._fused: dict[int, Op] = {}
        covered: set[int] = set()
        if not any(traits_of(op.operator).reduces for op in self.flow.producers.values()):
            return
        # Last operators first, so that a region includes the gain and bias after a normalisation.
        for op in reversed(list(self.flow.producers.values())):
            if not traits_of(op.operator).is_arithmetic or op.id in covered:
                continue
            elements = op.outputs[0].type.elements
            for region in regions.ending_with(op, lambda source, n=elements: source.type.elements == n):  # type: ignore[misc]
                if fused := self._match(region):
                    self._fused[op.id] = fused
                    covered.update(covered_op.id for covered_op in region.ops)
                    break

    def op(self, op: Op) -> Replacement:
        return self._fused.get(op.id)

    def _match(self, region: FusedRegion) -> Op | None:
        depths = {_depth(op) for op in region.ops if traits_of(op.operator).reduces}
        if len(depths) != 1 or (depth := depths.pop()) < 2:
            return None
        rows = Rows(region.source.type.elements // depth, depth)
        if rows.count * depth != region.source.type.elements:
            return None
        form = self._form(region, rows)
        if form is None or form.of_rows:
            return None
        return self._softmax(region, depth, form.sum) or self._normalization(region, depth, form.sum)

    def _form(self, region: FusedRegion, rows: Rows) -> RowForm | None:
        """The function of rows that the region computes, in its normal form; None where it has none."""
        for op in region.ops:
            key = (region.source, rows.depth, op.outputs[0])
            if key not in self._forms:
                self._forms[key] = self._computed(region.source, rows, op)
            if self._forms[key] is None:
                return None
        return self._forms[region.source, rows.depth, region.result]

    def _computed(self, source: Value, rows: Rows, op: Op) -> RowForm | None:
        try:
            operands = [self._operand(source, rows, op, value) for value in op.inputs]
            if traits_of(op.operator).view:
                return viewed(operands[0], op.outputs[0])
            return form_of(self.flow.instance(op), op.operator, operands, rows)
        except NoFormError:
            return None

    def _operand(self, source: Value, rows: Rows, op: Op, value: Value | None) -> RowForm:
        if value == source:
            return row_variable(source)
        array = self.flow.array(value)
        if array is not None:
            is_real_number = array.dtype == np.float32
            return constant_form(array, rows, op.outputs[0].type.max_shape) if is_real_number else _LIST
        assert value is not None
        form = self._forms[source, rows.depth, value]
        if form is None:
            raise NoFormError
        return form

    def _softmax(self, region: FusedRegion, depth: int, computed: Sum) -> Op | None:
        last = region.ops[-1]
        if depth != region.source.type.max_shape[-1] or region.source.type.shape != last.outputs[0].type.shape:
            return None
        for name, expected, attributes in (
            ("SOFTMAX", {_SOFTMAX: 1}, SoftmaxAttributes(1.0)),
            ("LOG_SOFTMAX", _LOG_SOFTMAX, None),
        ):
            if computed.terms.keys() == expected.keys() and all(
                np.all(computed.terms[product] == number) for product, number in expected.items()
            ):
                return self.legal(replace(last, operator=name, inputs=(region.source,), attributes=attributes))
        return None

    def _normalization(self, region: FusedRegion, depth: int, computed: Sum) -> Op | None:
        terms = dict(computed.terms)
        bias = _along(terms.pop(ONE, 0.0), depth)
        scaled = next((product for product in terms if len(product) == 2 and dict(product).get(X) == 1), None)
        if scaled is None:
            return None
        gain = _along(terms.pop(scaled), depth)
        ((root, exponent),) = (power for power in scaled if power[0] != X)
        if not isinstance(root, tuple) or root[0] != "root" or exponent != -1:
            return None
        attributes = _attributes(dict(root[1]), depth)
        mean = {frozenset({(SUM, 1), (root, -1)}): -gain / depth} if attributes and attributes.centred else {}
        if attributes is None or terms.keys() != mean.keys():
            return None
        if not all(_is_mean(terms[product], expected, depth) for product, expected in mean.items()):
            return None
        return self._build(region, attributes, gain, bias) if fits_float32(gain) and fits_float32(bias) else None

    def _build(self, region: FusedRegion, attributes: NormalizeAttributes, gain: Reals, bias: Reals) -> Op | None:
        last = region.ops[-1]
        kind = TensorType(DType.FLOAT32, (attributes.depth,))
        source = region.source
        gains = None if (gain == 1.0).all() else self.pool.add(gain, Value(0, "gain", kind))
        biases = None if not bias.any() else self.pool.add(bias, Value(0, "bias", kind))
        return self.legal(replace(last, operator="NORMALIZE", inputs=(source, gains, biases), attributes=attributes))


def _depth(op: Op) -> int:
    """Number of elements that a reduction combines into one."""
    source = op.inputs[0]
    return source.type.elements // max(1, op.outputs[0].type.elements) if source is not None else 0


def _along(coefficient: Coefficient, depth: int) -> Reals:
    return np.broadcast_to(np.asarray(coefficient, np.float64), (depth,))


def _attributes(squares: dict[Product, Coefficient], depth: int) -> NormalizeAttributes | None:
    """The normalisation by the root of these sums: of squares about the mean or about 0, and a positive epsilon."""
    factor, epsilon = squares.pop(frozenset({(SQUARES, 1)}), 0.0), squares.pop(ONE, 0.0)
    mean = squares.pop(frozenset({(SUM, 2)}), None)
    if squares or not (factor > 0 and epsilon > 0 and fits_float32(factor) and fits_float32(epsilon)):
        return None
    if mean is not None and abs(mean + factor / depth) > _EXACT * factor / depth:
        return None
    return NormalizeAttributes(depth, float(np.float32(epsilon)), float(np.float32(factor)), mean is not None)


def _is_mean(coefficient: Coefficient, expected: Coefficient, depth: int) -> bool:
    """Whether coefficients of a row's sum are those of its mean; 1 / depth may be a constant of float32."""
    error = float(HALF_STEP) if depth & (depth - 1) else _EXACT
    return bool(np.all(np.abs(coefficient - expected) <= 1.01 * error * np.abs(expected)))
