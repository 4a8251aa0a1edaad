"""Functions of one element: each with its types, tables, kernels and rules; float32, plain integers, int8 and int16."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tflmgen.ir import DType, Quantization
from tflmgen.ir.kernel import Kernel, KernelChoice, OperatorInstance, Target
from tflmgen.kernels.folding.fold_elements import plain
from tflmgen.kernels.folding.fold_quantized import tabled
from tflmgen.kernels.numeric.int8_tables import (
    Table,
    clamped_table,
    hard_swish_table,
    logistic_table,
    of_real,
    relu6_table,
    rsqrt_table,
    scale_ratio_of,
    slopes_of,
    slopes_table,
    tanh_table,
)
from tflmgen.kernels.numeric.quantize_math import Activation
from tflmgen.kernels.numeric.real_functions import Real, Reals, elu, gelu, hard_swish, log, logistic, of_elements
from tflmgen.kernels.operators.lookup import lookup_kernel, table_operand
from tflmgen.kernels.operators.quantize_dequantize import same_shape
from tflmgen.kernels.operators.quantized_unary import (
    AT_MOST_1,
    HARD_SWISH_SCALES,
    LOGISTIC_OUTPUT,
    RATIO,
    RELU6_FAULT,
    REQUANTISED_SIX,
    ROOT_FITS,
    SHARES,
    SLOPES_FIT,
    SMALL_SCALE,
    TANH_OUTPUT,
    TANH_RESULTS,
    Factory,
    interpolated_s16,
    relu6_s16,
    rsqrt_s16,
    sigmoid_s16,
    two_slopes_s16,
    where_quantized,
)
from tflmgen.kernels.operators.unary import Alpha, Approximation, parse_alpha, parse_approximation, plain_unary
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, no_attributes
from tflmgen.kernels.specification.rules import COMMON, INT16_ZERO_POINTS, input_type, one_type, per_tensor, tensors
from tflmgen.kernels.traits import UNARY, Connective


def _type_rules(plain_types: tuple[DType, ...], int8: bool, int16: bool) -> tuple[Rule, ...]:
    types = plain_types + (DType.INT8,) * int8 + (DType.INT16,) * int16
    shared: tuple[Rule, ...] = (*COMMON, one_type(*types))
    if int8:
        shared += (
            where_quantized("one scale for each int8 and int16 tensor", lambda op: all(map(per_tensor, tensors(op)))),
        )
    if int16:
        shared += (INT16_ZERO_POINTS,)
    return shared


FLOAT = (DType.FLOAT32,)


@dataclass(frozen=True, slots=True)
class ElementFunction:
    """A function of one element, as its row of the operator table says it.

    real     the function of real numbers; None of truth values
    types    those whose elements the kernel takes as they are
    int8     its results for every int8, where there is a table
    int16    its kernel of int16, where there is one
    rules    beside those on types
    folds    the function by which constants of `types` are evaluated; None where libm's result is left to the kernel
    """

    name: str
    real: Real | None
    types: tuple[DType, ...] = FLOAT
    int8: Callable[[OperatorInstance], Table] | None = None
    int16: Factory | None = None
    rules: tuple[Rule, ...] = ()
    folds: Callable[[Any], Any] | None = None
    parse: Callable[[Options | None], Any] = no_attributes
    by_rows: bool = False
    clamp: Activation | None = None
    connective: Connective | None = None
    spelled_out: tuple[Any, ...] = ()
    of_slope: Callable[[float], Any] | None = None
    fixed: Mapping[DType, Quantization] = field(default_factory=dict)
    fault: str = ""

    @property
    def row(self) -> OperatorSpec:
        """The function as an entry of the operator table."""
        fold = None if self.folds is None else plain(self.folds)
        traits = replace(
            UNARY,
            by_rows=self.by_rows,
            tabled=self.int8 is not None,
            tabulable=self.int8 is not None or self.folds is not None,
            channelwise=True,
            clamp=self.clamp,
            connective=self.connective,
            spelled_out=self.spelled_out,
            of_slope=self.of_slope,
        )
        return OperatorSpec(
            self.name,
            self.parse,
            (1, 1),
            1,
            (*_type_rules(self.types, self.int8 is not None, self.int16 is not None), *self.rules),
            same_shape,
            self._kernel,
            real=self.real,
            fold=fold if self.int8 is None else tabled(self.int8, fold),
            fault=self.fault,
            fixed=self.fixed,
            traits=traits,
        )

    def _kernel(self, op: OperatorInstance, target: Target) -> Kernel | KernelChoice:
        dtype = input_type(op, 0).dtype
        if dtype is DType.INT8 and self.int8 is not None:
            return lookup_kernel(op, table_operand(self.int8(op)), target)
        if dtype is DType.INT16 and self.int16 is not None:
            return self.int16(op)
        return plain_unary(self.name)(op, target)


EXP, LOG, ELU = of_elements(np.exp), of_elements(log), of_elements(elu)


def _gelu(op: OperatorInstance, operands: Sequence[Reals]) -> Reals:
    return gelu(operands[0], op.attributes.approximate)


def _leaky_relu(op: OperatorInstance, operands: Sequence[Reals]) -> Reals:
    return np.where(operands[0] < 0, operands[0] * op.attributes.alpha, operands[0])


def _relu(x: Any) -> Any:
    return np.where(x < 0, np.float32(0), x)


def _clip(low: float, high: float) -> Real:
    return of_elements(lambda x: np.clip(x, low, high))


def _clamped(low: float, high: float) -> Callable[[Any], Any]:
    """The float kernel's clamp: NaN stays, as every comparison with it fails."""
    return lambda x: np.where(x < low, np.float32(low), np.where(x > high, np.float32(high), x))


FUNCTIONS = (
    ElementFunction("NEG", of_elements(np.negative), (DType.FLOAT32, DType.INT32, DType.INT64), folds=np.negative),
    ElementFunction(
        "ABS",
        of_elements(np.abs),
        (DType.FLOAT32, DType.INT32),
        int8=lambda op: slopes_table(op, scale_ratio_of(op), -scale_ratio_of(op)),
        int16=lambda op: two_slopes_s16(op, scale_ratio_of(op), -scale_ratio_of(op)),
        rules=(RATIO,),
        folds=np.abs,
        spelled_out=(None,),
    ),
    ElementFunction("SIGN", of_elements(np.sign), (DType.FLOAT32, DType.INT32)),
    ElementFunction("SQUARE", of_elements(np.square), (DType.FLOAT32, DType.INT32), folds=np.square),
    ElementFunction("LOGICAL_NOT", None, (DType.BOOL,), folds=np.logical_not, connective=Connective.NOT),
    ElementFunction("SQRT", of_elements(np.sqrt), folds=np.sqrt),
    ElementFunction(
        "RSQRT", of_elements(lambda x: 1.0 / np.sqrt(x)), int8=rsqrt_table, int16=rsqrt_s16, rules=(ROOT_FITS,)
    ),
    ElementFunction("EXP", EXP, int8=of_real(EXP), int16=interpolated_s16(EXP), rules=(SMALL_SCALE,)),
    ElementFunction("LOG", LOG, int8=of_real(LOG)),
    ElementFunction("SIN", of_elements(np.sin)),
    ElementFunction("COS", of_elements(np.cos)),
    ElementFunction("FLOOR", of_elements(np.floor), folds=np.floor),
    ElementFunction("CEIL", of_elements(np.ceil), folds=np.ceil),
    ElementFunction("ROUND", of_elements(np.rint)),
    ElementFunction(
        "RELU",
        of_elements(_relu),
        int8=lambda op: slopes_table(op, scale_ratio_of(op), 0.0),
        int16=lambda op: two_slopes_s16(op, scale_ratio_of(op), 0.0),
        rules=(RATIO,),
        folds=_relu,
        by_rows=True,
        clamp=Activation.RELU,
        spelled_out=(None,),
    ),
    ElementFunction(
        "RELU6",
        _clip(0.0, 6.0),
        int8=relu6_table,
        int16=relu6_s16,
        rules=(RATIO, REQUANTISED_SIX),
        fault=RELU6_FAULT,
        folds=_clamped(0.0, 6.0),
        by_rows=True,
        clamp=Activation.RELU6,
        spelled_out=(None,),
    ),
    ElementFunction(
        "RELU_N1_TO_1",
        _clip(-1.0, 1.0),
        int8=lambda op: clamped_table(op, -1.0, 1.0),
        rules=(RATIO,),
        folds=_clamped(-1.0, 1.0),
        by_rows=True,
        clamp=Activation.RELU_N1_TO_1,
    ),
    ElementFunction(
        "RELU_0_TO_1",
        _clip(0.0, 1.0),
        int8=lambda op: clamped_table(op, 0.0, 1.0),
        rules=(RATIO,),
        folds=_clamped(0.0, 1.0),
        by_rows=True,
    ),
    ElementFunction(
        "LEAKY_RELU",
        _leaky_relu,
        int8=lambda op: slopes_table(op, *slopes_of(op)),
        int16=lambda op: two_slopes_s16(op, *slopes_of(op)),
        rules=SLOPES_FIT,
        parse=parse_alpha,
        by_rows=True,
        of_slope=Alpha,
    ),
    ElementFunction("ELU", ELU, int8=of_real(ELU)),
    ElementFunction(
        "TANH",
        of_elements(np.tanh),
        int8=tanh_table,
        int16=sigmoid_s16("tanh", 1),
        rules=(TANH_OUTPUT, AT_MOST_1),
        fixed=TANH_RESULTS,
        by_rows=True,
    ),
    ElementFunction(
        "HARD_SWISH",
        of_elements(hard_swish),
        int8=hard_swish_table,
        rules=(HARD_SWISH_SCALES,),
        by_rows=True,
        spelled_out=(None,),
    ),
    ElementFunction(
        "LOGISTIC",
        of_elements(logistic),
        int8=logistic_table,
        int16=sigmoid_s16("logistic", 0),
        rules=(LOGISTIC_OUTPUT, AT_MOST_1),
        fixed=SHARES,
        by_rows=True,
    ),
    ElementFunction(
        "GELU",
        _gelu,
        int8=of_real(_gelu),
        int16=interpolated_s16(_gelu),
        parse=parse_approximation,
        spelled_out=(Approximation(True), Approximation(False)),
    ),
)

OPERATORS = tuple(function.row for function in FUNCTIONS)
