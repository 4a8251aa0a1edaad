"""Integer forms of operators, in int8 or int16: which operands share a scale, and which results have a fixed one.

That is asked of the operator table's rules, with trial scales: first with a different one for each operand, then with
one for all, then with the fixed results that TFLite's quantisation specification has. An operator without a form stays
in float, for the reason that `find_form` gives. TFLite Micro must have a kernel of the type that is no approximation;
of operators that it has in no type, such as GELU, TensorFlow Lite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.model_graph import (
    LOGARITHMS,
    PROBABILITIES,
    SIGNED_UNITS,
    ElementType,
    WeightOperands,
    bias_element,
    constant_values,
    weight_places,
)
from tflmgen.frontend.tflite import FileOperator, FileTensor, SubGraph
from tflmgen.ir import DType, Quantization, TensorType
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels import OPERATORS, reference_runtimes, traits_of
from tflmgen.quantize.element_types import quantized, range_quantization, weight_quantization

Array = NDArray[Any]
_ABSENT = -1
"""Number that a file has in place of an optional input's tensor."""


_OTHER_MEANING = frozenset(["CAST", "ZEROS_LIKE"])
"""Operators for which an integer is a number, not a scaled one."""

_OFF_BY_ZERO_POINT = frozenset(["ADD_N", "CUMSUM"])
"""Operators of which TFLite Micro's kernel is right where the zero point is 0 only: its sums begin with minus that."""


@dataclass(frozen=True, slots=True)
class Form:
    """An operator in integers.

    dtype   of its real operands and results
    shares  all of them have one scale and zero point
    result  quantisation of its results, if the operator fixes it
    """

    dtype: DType
    shares: bool
    result: Quantization | None = None


def weight_operands(op: FileOperator, graph: SubGraph) -> WeightOperands | None:
    """Places of constant weights, which have scales per channel; None for other operators, and for computed weights."""
    places = weight_places(op.name)
    if places is None or len(op.inputs) <= places.weights or graph.tensors[op.inputs[places.weights]].data is None:
        return None
    return places


def bias_operand(op: FileOperator) -> int | None:
    """Place of a bias that is present."""
    places = weight_places(op.name)
    is_present = places is not None and len(op.inputs) > places.bias and op.inputs[places.bias] != _ABSENT
    return places.bias if places is not None and is_present else None


def is_real(tensor: FileTensor) -> bool:
    """Whether a tensor holds real numbers that quantisation may represent otherwise."""
    return tensor.dtype is DType.FLOAT32 or (tensor.data is not None and tensor.quantization is not None)


def real_operands(op: FileOperator, graph: SubGraph) -> list[int]:
    """Places of inputs that are activations: real numbers, but neither weights with scales of their own nor bias."""
    weights, bias = weight_operands(op, graph), bias_operand(op)
    special = {bias, weights.weights if weights else None}
    return [
        place
        for place, tensor in enumerate(op.inputs)
        if tensor != _ABSENT and place not in special and is_real(graph.tensors[tensor])
    ]


def real_results(op: FileOperator, graph: SubGraph) -> list[int]:
    """Places of the float results among the operator's outputs, in ascending order."""
    return [place for place, tensor in enumerate(op.outputs) if graph.tensors[tensor].dtype is DType.FLOAT32]


def finite_range(values: Array) -> tuple[float, float] | None:
    """Least and greatest finite number of a constant; None if it has none."""
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else None


def _is_infinite(op: FileOperator, graph: SubGraph) -> bool:
    """Whether a constant operand is infinite or undefined, which no integer stands for.

    Padding with an infinity counts as finite: the least and greatest integer are as neutral for the maximum and minimum
    of a window as the infinities are.
    """
    constants = [graph.tensors[tensor] for tensor in op.inputs if tensor != _ABSENT]
    numbers = [constant_values(t) for t in constants if t.data and t.dtype is DType.FLOAT32]
    return not all(np.isfinite(n).all() or (op.name == "PADV2" and not np.isnan(n).any()) for n in numbers)


def picks_a_row(op: FileOperator, graph: SubGraph) -> bool:
    """Whether an operator is GATHER with one index, which SLICE can stand in for (`row_picks`)."""
    if op.name != "GATHER":
        return False
    rows, index, result = (graph.tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    is_static = not any(-1 in (tensor.shape_signature or ()) for tensor in (rows, result))
    is_plain = not (op.options or {}).get("batch_dims", 0) and rows.data is None and bool(rows.shape)
    return is_static and is_plain and index.dtype is DType.INT32 and index.shape in ((), (1,))


def find_form(op: FileOperator, graph: SubGraph, dtype: DType) -> Form | str:
    """The form of an operator with real operands or results in `dtype`, or why there is none, as a sentence."""
    operands, results = real_operands(op, graph), real_results(op, graph)
    if op.name in _OTHER_MEANING or op.name not in OPERATORS or op.intermediates or traits_of(op.name).converts:
        return f"{op.name} has no form in {dtype.label}"
    if any(tensor >= 0 and graph.tensors[tensor].is_variable for tensor in op.inputs):
        return f"{op.name} keeps its state in float32"
    if not operands:
        return f"{op.name} makes real numbers of others"
    if op.name in _OFF_BY_ZERO_POINT:
        return f"TFLite Micro's kernel of {op.name} is wrong where the zero point is not 0"
    if _is_infinite(op, graph):
        return f"{op.name} has an infinite or undefined operand"
    traits = traits_of(op.name)
    if traits.compares is not None:
        return Form(dtype, False)
    is_sliced = dtype is DType.INT16 and picks_a_row(op, graph)
    if not _has_kernel(op.name, dtype) and not is_sliced:
        return f"TFLite Micro has no {dtype.label} kernel of {op.name}"
    reason = ""
    only_shared = traits.moves or traits.view or traits.cuts or traits.same_if_typed or traits.ignores_scales
    for form in [Form(dtype, True)] if only_shared else _candidates(dtype, bool(results)):
        trial = _trial(op, graph, form)
        reason = check_form(op, graph, form, trial)
        if not reason:
            return form
    return reason


@dataclass(slots=True)
class KnownForms:
    """Forms that were asked for before: all candidates of one model ask for the same."""

    _forms: dict[tuple[int, int, DType], tuple[SubGraph, Form | str]] = field(default_factory=dict)

    def find(self, op: FileOperator, graph: SubGraph, dtype: DType) -> Form | str:
        """`find_form`, once for each operator of a subgraph."""
        key = id(graph), op.index, dtype
        if key not in self._forms:
            self._forms[key] = graph, find_form(op, graph, dtype)  # what is kept here keeps its id
        return self._forms[key][1]


def _has_kernel(name: str, dtype: DType) -> bool:
    """Whether an operator may be written in a type.

    In int8, TFLite Micro has a kernel, or, for operators that it lacks in float32, too, TensorFlow Lite. In int16,
    where TFLite Micro has few, tflmgen's own kernel is enough: the operator's rules say whether it has one.
    """
    if dtype is DType.INT16:
        return name in OPERATORS
    runtimes = reference_runtimes(name, dtype.label)
    return runtimes == "TFLM" or (runtimes == "LiteRT" and "TFLM" not in reference_runtimes(name, DType.FLOAT32.label))


def _candidates(dtype: DType, has_results: bool) -> list[Form]:
    results = dict.fromkeys((PROBABILITIES[dtype], SIGNED_UNITS[dtype]))
    if dtype is DType.INT8:
        results[LOGARITHMS] = None
    fixed = [Form(dtype, False, quantization) for quantization in results] if has_results else []
    return [Form(dtype, False), *fixed, Form(dtype, True)]


def _trial(op: FileOperator, graph: SubGraph, form: Form) -> Callable[[str, int], ElementType]:
    """Scales like those of real layers: operands within 1, results in proportion to the sums of weights."""
    weights = weight_operands(op, graph)
    reach = 1.0
    if weights is not None:
        values = constant_values(graph.tensors[op.inputs[weights.weights]])
        reach = max(float(np.abs(values).sum()) / max(values.shape[weights.axis], 1), 2.0**-10)

    def typed(side: str, place: int) -> ElementType:
        if form.result is not None and side == "output":
            return ElementType(form.dtype, form.result)
        limit = 1.0 if form.shares else reach * 0.9 if side == "output" else 1 + place / 16
        return ElementType(form.dtype, range_quantization(-limit, limit * 0.75, form.dtype))

    return typed


def check_form(op: FileOperator, graph: SubGraph, form: Form, typed: Callable[[str, int], ElementType]) -> str:
    """The first rule of the operator table that an operator breaks with these types, as a sentence; empty: none.

    typed  element type of an activation, by "input" or "output" and its place
    """
    entry = OPERATORS[op.name]
    try:
        attributes = entry.attributes(op.options)
    except ValueError as error:
        return str(error)
    floats = [TensorType(_dtype(graph.tensors[i]), graph.tensors[i].shape) for i in op.outputs]
    outputs = list(floats)
    for place in real_results(op, graph):
        outputs[place] = _with(outputs[place], typed("output", place))
    before = OperatorInstance(*_float_inputs(op, graph, tuple(floats)), attributes)
    after = OperatorInstance(*_typed_inputs(op, graph, typed, tuple(outputs)), attributes)
    for rule in entry.rules:
        if not rule.holds(after):
            # A rule that the operator in float breaks too is about shapes known at run time; later ones rely on it.
            return f"{op.name} in {form.dtype.label} requires {rule.requirement}" if rule.holds(before) else ""
    return ""


def float_instance(op: FileOperator, graph: SubGraph) -> OperatorInstance:
    """An operator of the table as it is in float32. Raises ValueError for options that it cannot have."""
    outputs = tuple(TensorType(_dtype(graph.tensors[i]), graph.tensors[i].shape) for i in op.outputs)
    return OperatorInstance(*_float_inputs(op, graph, outputs), OPERATORS[op.name].attributes(op.options))


_Operands = tuple[tuple[TensorType | None, ...], tuple[TensorType, ...], tuple[Array | None, ...]]
"""Types of inputs and outputs, and constants."""


def _float_inputs(op: FileOperator, graph: SubGraph, outputs: tuple[TensorType, ...]) -> _Operands:
    """The operator as it is, but for constants that the file has quantised."""
    tensors = [None if index == _ABSENT else graph.tensors[index] for index in op.inputs]
    types = tuple(
        None if t is None else TensorType(DType.FLOAT32 if is_real(t) else _dtype(t), t.shape) for t in tensors
    )
    return types, outputs, tuple(None if t is None or t.data is None else constant_values(t) for t in tensors)


def _typed_inputs(
    op: FileOperator,
    graph: SubGraph,
    typed: Callable[[str, int], ElementType],
    outputs: tuple[TensorType, ...],
) -> _Operands:
    weights, bias, operands = weight_operands(op, graph), bias_operand(op), set(real_operands(op, graph))
    types: list[TensorType | None] = []
    constants: list[Array | None] = []
    for place, index in enumerate(op.inputs):
        tensor = None if index == _ABSENT else graph.tensors[index]
        if tensor is None:
            types.append(None)
            constants.append(None)
            continue
        values = None if tensor.data is None else constant_values(tensor)
        element = ElementType(_dtype(tensor))
        if place in operands:
            element = typed("input", place)
        elif weights is not None and place == weights.weights and values is not None:
            element = ElementType(DType.INT8, weight_quantization(values, weights.axis))
        elif place == bias:
            element = bias_type(op, graph, typed)
        if values is not None and element.quantization is not None:
            values = quantized(values, element.quantization, element.dtype)
        types.append(_with(TensorType(element.dtype, tensor.shape), element))
        constants.append(values)
    return tuple(types), outputs, tuple(constants)


def bias_type(op: FileOperator, graph: SubGraph, typed: Callable[[str, int], ElementType]) -> ElementType:
    """Element type of a bias, where `typed` has the activations'."""
    places = weight_places(op.name)
    assert places is not None
    weights = graph.tensors[op.inputs[places.weights]]
    factors = (
        typed("input", places.weights).affine
        if weights.data is None
        else weight_quantization(constant_values(weights), places.axis)
    )
    return bias_element(typed("input", places.source), factors)


def _with(type_: TensorType, element: ElementType) -> TensorType:
    return replace(type_, dtype=element.dtype, quantization=element.quantization)


def _dtype(tensor: FileTensor) -> DType:
    """Element type; that of a handle, which no rule of an operator with real operands asks for, is not known."""
    return tensor.dtype if tensor.dtype is not None else DType.INT32
