"""Functions of one element, and of two that broadcast."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from support.differential import Family, Rng, Run, finished, shape_of, typed
from support.kernel_harness import Array, Case, Tensor, constant, make_case, operands_of, run_tflm, tensor
from tflmgen.ir.types import DType, TensorType

Maker = Callable[[Rng, str], Run]
FIXED_OUTPUT = {
    ("TANH", "int8"): (1 / 128, 0),
    ("TANH", "int16"): (1 / 32768, 0),
    ("LOGISTIC", "int8"): (1 / 256, -128),
    ("LOGISTIC", "int16"): (1 / 32768, 0),
}
POSITIVE = ("SQRT", "RSQRT", "LOG")
WIDE = ("int32", "int64")


def broadcasting(rng: Rng, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes: equal, or with ones and missing dimensions on either side."""
    shape = shape_of(rng, 1, rank)
    if rng.random() < 0.3:
        return shape, shape
    kept = shape[int(rng.integers(0, len(shape) + 1)) :]
    sides = [tuple(1 if rng.random() < 0.3 else d for d in side) for side in (shape, kept)]
    return (sides[0], sides[1]) if rng.random() < 0.5 else (sides[1], sides[0])


def unary(operator: str, odd: float = 0.0, **options: Callable[[Rng], Any]) -> Maker:
    def make(rng: Rng, dtype: str) -> Run:
        source = typed(rng, dtype, shape_of(rng, 0, 5), 1e-5 if dtype == "int16" else 1e-3)
        result = typed(rng, dtype, (), 1e-5 if dtype == "int16" else 1e-3)
        if (operator, dtype) in FIXED_OUTPUT:
            result = tensor(dtype, (), *FIXED_OUTPUT[operator, dtype])
        elif rng.random() < 0.3 or operator in ("RELU6",):
            result = source
        case = make_case(operator, [source], [result], {name: value(rng) for name, value in options.items()})
        _, values = finished(rng, case, odd)
        x = values[0]
        assert x is not None
        if operator in POSITIVE and dtype == "float32":
            values[0] = abs(x)
        elif operator == "RSQRT" and source.type.quantization:
            # Of what is not positive TFLite Micro stops with an error.
            point = source.type.quantization.zero_point
            values[0] = np.clip(x, min(point + 1, np.iinfo(x.dtype).max), None).astype(x.dtype)
        elif operator in ("ABS", "NEG", "SQUARE", "SIGN") and dtype == "int32":
            values[0] = x >> int(rng.integers(0, 31))
        return case, values

    return make


def binary(operator: str, rank: int = 5, odd: float = 0.0, activations: tuple[int, ...] = ()) -> Maker:
    """TFLite Micro broadcasts to 4 dimensions with some operators, to 5 or 6 with others."""

    def make(rng: Rng, dtype: str) -> Run:
        shapes = broadcasting(rng, rank)
        low = 1e-5 if dtype == "int16" else 1e-3
        first, second, result = (typed(rng, dtype, s, low) for s in (*shapes, ()))
        if operator in ("MAXIMUM", "MINIMUM") or rng.random() < 0.15:
            second, result = Tensor(second.type, None), first
            second = tensor(dtype, shapes[1], *_scale_of(first))
        # TFLite Micro forgets the activation of an int32 ADD and MUL.
        fused = int(rng.choice(activations)) if activations and dtype not in WIDE else 0
        case = make_case(
            operator, [first, second], [result], {"fused_activation_function": fused} if activations else {}
        )
        case, values = finished(rng, case, odd)
        return _some_constant(rng, case, values, dtype)

    return make


def _scale_of(item: Tensor) -> tuple[float, int] | tuple[()]:
    q = item.type.quantization
    return (q.scale, q.zero_point) if q else ()


def _some_constant(rng: Rng, case: Case, values: list[Array | None], dtype: str) -> Run:
    """Now and then the second operand is a constant."""
    item, data = case.inputs[1], values[1]
    assert item is not None
    assert data is not None
    if rng.random() < 0.3 and not (dtype == "float32" and not np.isfinite(data).all()):
        fixed = Tensor(item.type, data)
        return make_case(case.operator, [case.inputs[0], fixed], [Tensor(case.outputs[0])], case.options), [
            values[0],
            None,
        ]
    return case, values


def small(draw_case: Maker, shift: int) -> Maker:
    """With wide integers small enough that nothing overflows, which C++ leaves undefined in the references."""

    def make(rng: Rng, dtype: str) -> Run:
        case, values = draw_case(rng, dtype)
        if dtype in WIDE:
            width = shift + (32 if dtype == "int64" else 0)
            values = [v if v is None else v >> width for v in values]
            inputs = [t if t is None or t.data is None else Tensor(t.type, t.data >> width) for t in case.inputs]
            case = make_case(case.operator, inputs, [Tensor(case.outputs[0])], case.options)
        return case, values

    return make


def divisor(draw_case: Maker) -> Maker:
    """Without zeros among integer divisors: TFLite Micro stops with an error."""

    def make(rng: Rng, dtype: str) -> Run:
        case, values = draw_case(rng, dtype)
        item = case.inputs[1]
        assert item is not None
        zero = item.type.quantization.zero_point if item.type.quantization else 0
        if dtype == "float32":
            return case, values
        away = zero + 1 if zero < 100 else zero - 1

        def without(a: Array | None) -> Array | None:
            return None if a is None else np.where(a == zero, a.dtype.type(away), a)

        fixed = Tensor(item.type, without(item.data))
        case = make_case(case.operator, [case.inputs[0], fixed], [Tensor(case.outputs[0])], case.options)
        return case, [values[0], without(values[1])]

    return make


def powers(rng: Rng, dtype: str) -> Run:
    case, values = binary("POW", 4)(rng, dtype)
    base, exponent = values
    item = case.inputs[1]
    assert item is not None
    if dtype == "float32":
        return case, [None if base is None else abs(base), exponent]
    if item.data is not None:
        case = make_case("POW", [case.inputs[0], constant("int32", abs(item.data) % 6)], [Tensor(case.outputs[0])])
    small_base = None if base is None else base % 9 - 4
    return case, [small_base, None if exponent is None else abs(exponent) % 6]


def shifts(rng: Rng, dtype: str) -> Run:
    case, values = binary("RIGHT_SHIFT", 4)(rng, dtype)
    bits = np.iinfo(dtype).bits
    item = case.inputs[1]
    assert item is not None
    fixed = Tensor(item.type, None if item.data is None else item.data % np.array(bits, item.data.dtype))
    case = make_case("RIGHT_SHIFT", [case.inputs[0], fixed], [Tensor(case.outputs[0])])
    return case, [values[0], None if values[1] is None else values[1] % np.array(bits, values[1].dtype)]


def _below_one(item: Tensor) -> Tensor:
    """With a scale for which TFLite Micro does not abort."""
    q = item.type.quantization
    if q is None:
        return item
    return tensor(item.type.dtype.label, item.type.max_shape, q.scale % 1 or 0.5, q.zero_point)


def comparison(operator: str, logical: bool = False) -> Maker:
    def make(rng: Rng, dtype: str) -> Run:
        shapes = broadcasting(rng, 4)
        first, second = (_below_one(typed(rng, dtype, shape)) for shape in shapes[:2])
        if dtype == "int16" or rng.random() < 0.3:
            second = tensor(dtype, shapes[1], *_scale_of(first))
        case = make_case(operator, [first, second], [tensor("bool", ())])
        case, values = finished(rng, case, 0.0 if logical else 0.2)
        if dtype in WIDE or dtype == "int16":
            values = [v if v is None else v % np.array(5, v.dtype) for v in values]
        return case, values

    return make


def prelu(rng: Rng, dtype: str) -> Run:
    shape = shape_of(rng, 1, 4)
    kept = shape[int(rng.integers(0, len(shape))) :]
    slopes = tuple(1 if rng.random() < 0.5 else d for d in kept)
    kinds = dtype, "int8" if dtype == "int16" else dtype, dtype
    items = [typed(rng, kind, s) for kind, s in zip(kinds, (shape, slopes, ()), strict=True)]
    case = make_case("PRELU", items[:2], items[2:])
    case, values = finished(rng, case, 0.05)
    return _some_constant(rng, case, values, dtype)


def add_n(rng: Rng, dtype: str) -> Run:
    first = typed(rng, dtype, shape_of(rng, 0, 5))
    items = [tensor(dtype, first.type.max_shape, *_scale_of(first)) for _ in range(int(rng.integers(2, 7)))]
    case, values = finished(rng, make_case("ADD_N", items, [typed(rng, dtype)]))
    return case, [v if v is None or dtype != "int32" else v >> 4 for v in values]


def select(operator: str) -> Maker:
    def make(rng: Rng, dtype: str) -> Run:
        shape = shape_of(rng, 1, 4)
        sides = [shape, shape, shape]
        if operator == "SELECT":
            sides[0] = sides[0] if rng.random() < 0.5 else shape[:1] if rng.random() < 0.7 else ()
        elif rng.random() < 0.7:
            sides = [
                tuple(1 if rng.random() < 0.3 else d for d in shape[int(rng.integers(len(shape))) :]) for _ in "abc"
            ]
        first = typed(rng, dtype, sides[1])
        second = tensor(dtype, sides[2], *_scale_of(first))
        case = make_case(operator, [tensor("bool", sides[0]), first, second], [first])
        return finished(rng, case)

    return make


def cast(rng: Rng, dtype: str) -> Run:
    source, result = dtype.split(">")
    case = make_case("CAST", [tensor(source, shape_of(rng))], [tensor(result, ())])
    case, values = finished(rng, case)
    if source == "float32":
        # What doesn't fit is undefined in C++.
        values = [v if v is None else (np.clip(abs(v) if result[0] == "u" else v, -120, 120)) for v in values]
    return case, values


def cast_values(case: Case, values: list[Array | None]) -> list[Array]:
    assert values[0] is not None
    return [values[0].astype(case.outputs[0].dtype.numpy)]


def quantize(rng: Rng, dtype: str) -> Run:
    source, result = dtype.split(">")
    kinds = [
        typed(rng, k, s, 1e-4) if k != "int32" else tensor(k, s, float(10 ** rng.uniform(-4, 0)))
        for k, s in ((source, shape_of(rng)), (result, ()))
    ]
    case = make_case("QUANTIZE", kinds[:1], kinds[1:])
    case, values = finished(rng, case, 0.0)
    if source == "float32" and values[0] is not None and kinds[1].type.quantization:
        # Full range and beyond, halves too.
        unit = np.float32(kinds[1].type.quantization.scale)
        span = {"int8": 200, "uint8": 300, "int16": 40000}[result]
        values[0] = (rng.integers(-2 * span, 2 * span, values[0].shape) * np.float32(0.5) * unit).astype(np.float32)
    return case, values


def as_int8(case: Case, values: list[Array | None]) -> list[Array]:
    """TFLite Micro's answer for the same numbers as int8: uint8 values and zero points differ by 128."""

    def shifted(kind: TensorType) -> TensorType:
        q = kind.quantization
        if kind.dtype is not DType.UINT8 or q is None:
            return kind
        return TensorType(DType.INT8, kind.shape, replace(q, zero_points=(q.zero_point - 128,)))

    source, value = case.inputs[0], values[0]
    assert source is not None
    assert value is not None
    if value.dtype == np.uint8:
        value = (value.astype(np.int16) - 128).astype(np.int8)
    changed = Case(case.operator, (Tensor(shifted(source.type)),), (shifted(case.outputs[0]),), case.options)
    (output,) = run_tflm(changed, [value])
    if case.outputs[0].dtype is DType.UINT8:
        output = (output.astype(np.int16) + 128).astype(np.uint8)
    return [output.reshape(case.outputs[0].max_shape)]


def quotients(case: Case, values: list[Array | None]) -> list[Array]:
    """TFLite Micro's; but it shifts quotients of less than half a step by more than 31 bits, which gives anything."""
    (output,) = run_tflm(case, values)
    operands = operands_of(case, values)
    kinds = [t.type.quantization for t in case.inputs if t] + [case.outputs[0].quantization]
    (a, b, result), (x, y) = kinds, operands
    assert a is not None
    assert b is not None
    assert result is not None
    assert x is not None
    assert y is not None
    steps = (x.astype(int) - a.zero_point) / (y.astype(int) - b.zero_point) * a.scale / (b.scale * result.scale)
    params = case.kernel.params
    assert params is not None
    fields: dict[str, Any] = dict(params.fields)
    nothing = np.clip(fields["output_offset"], fields["least"], fields["greatest"])
    return [np.where(abs(steps) < 0.49, nothing, output.reshape(steps.shape)).astype(output.dtype)]


def numpy_as(function: Callable[..., Any]) -> Callable[[Case, list[Array | None]], list[Array]]:
    """For plain numbers: what NumPy says of the operands, constant ones included."""

    def expected(case: Case, values: list[Array | None]) -> list[Array]:
        operands = operands_of(case, values)
        with np.errstate(all="ignore"):
            result = np.asarray(function(*operands))
        return [np.broadcast_to(result, case.outputs[0].max_shape).astype(case.outputs[0].dtype.numpy)]

    return expected


def dequantize(rng: Rng, dtype: str) -> Run:
    source = typed(rng, dtype, shape_of(rng), 1e-5, 10.0)
    return finished(rng, make_case("DEQUANTIZE", [source], [tensor("float32", ())]))


def halves(case: Case, values: list[Array | None]) -> list[Array]:
    del case
    assert values[0] is not None
    return [values[0].astype(np.float32)]


FLOAT = ("float32",)
NUMBERS = ("float32", "int8", "int16", "int32")
ALL = ("float32", "int8", "uint8", "int16", "int32", "int64")
COMPARED = ("float32", "int8", "int32", "int64")
MOVED = ("float32", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")
CASTS = ("float32", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "bool")
INTEGERS = ("int8", "uint8", "int16")
QUANTIZED = (
    *(f"{a}>{b}" for a in ("float32", *INTEGERS, "int32") for b in INTEGERS),
    *(f"{a}>int32" for a in INTEGERS),
)
BITS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "bool")
TIGHT: dict[str, Any] = {"rtol": 2e-7, "atol": 1e-37}
ORDER = (
    ("EQUAL", np.equal),
    ("NOT_EQUAL", np.not_equal),
    ("LESS", np.less),
    ("LESS_EQUAL", np.less_equal),
    ("GREATER", np.greater),
    ("GREATER_EQUAL", np.greater_equal),
)
BASIC = (0, 0, 1, 3)


def slope(rng: Rng) -> float:
    return float(np.float32(rng.uniform(-1.5, 1.5)))


def flag(rng: Rng) -> bool:
    return bool(rng.integers(2))


FAMILIES = (
    Family("ABS", ("float32", "int8", "int16", "int32"), unary("ABS", 0.1)),
    Family("NEG", ("float32", "int32", "int64"), small(unary("NEG", 0.1), 1)),
    Family("SIGN", ("float32", "int32"), unary("SIGN", 0.0)),
    Family("SQUARE", ("float32", "int32"), small(unary("SQUARE", 0.1), 16), expected=numpy_as(np.square)),
    Family("SQRT", FLOAT, unary("SQRT", 0.1), **TIGHT),
    Family("RSQRT", ("float32", "int8", "int16"), unary("RSQRT", 0.0), **TIGHT),
    *(Family(name, FLOAT, unary(name, 0.1), **TIGHT) for name in ("FLOOR", "CEIL", "ROUND")),
    Family("EXP", ("float32", "int8", "int16"), unary("EXP", 0.1), **TIGHT),
    Family("LOG", ("float32", "int8"), unary("LOG", 0.0), rtol=2e-7, atol=1e-7),
    *(Family(name, FLOAT, unary(name), rtol=2e-7, atol=1e-7) for name in ("SIN", "COS")),
    Family("RELU", ("float32", "int8", "int16"), unary("RELU", 0.1)),
    Family("RELU6", ("float32", "int8", "int16"), unary("RELU6", 0.1)),
    *(Family(name, ("float32", "int8"), unary(name)) for name in ("RELU_N1_TO_1", "RELU_0_TO_1")),
    Family("LEAKY_RELU", ("float32", "int8", "int16"), unary("LEAKY_RELU", 0.1, alpha=slope)),
    Family("ELU", ("float32", "int8"), unary("ELU", 0.1), rtol=2e-7, atol=1e-7),
    Family("TANH", ("float32", "int8", "int16"), unary("TANH", 0.1), rtol=3e-7, atol=1e-7),
    Family("HARD_SWISH", ("float32", "int8"), unary("HARD_SWISH", 0.0), **TIGHT),
    Family("LOGISTIC", ("float32", "int8", "int16"), unary("LOGISTIC", 0.1), rtol=3e-7, atol=1e-7),
    Family("GELU", ("float32", "int8"), unary("GELU", 0.0, approximate=flag), rtol=1e-5, atol=1e-6),
    # A table's entry may be a tie in single precision, where C libraries differ.
    Family("GELU", ("int16",), unary("GELU", 0.0, approximate=flag), atol=1.0),
    Family("LOGICAL_NOT", ("bool",), unary("LOGICAL_NOT")),
    Family("ZEROS_LIKE", MOVED, unary("ZEROS_LIKE"), moves=True, expected=numpy_as(np.zeros_like)),
    Family("CAST", tuple(f"{a}>{b}" for a in CASTS for b in CASTS), cast, expected=cast_values),
    Family("QUANTIZE", QUANTIZED, quantize, expected=as_int8),
    Family("DEQUANTIZE", ("int8", "uint8", "int16", "float16"), dequantize, expected=halves),
    *(
        Family(name, (*NUMBERS, "int64"), small(binary(name, 5, 0.1, BASIC), shift))
        for name, shift in (("ADD", 1), ("SUB", 1), ("MUL", 16))
    ),
    Family("DIV", ("float32", "int32"), divisor(binary("DIV", 4, 0.1, BASIC))),
    Family("DIV", ("int8",), divisor(binary("DIV", 4, 0.1, BASIC)), tflm=False, litert=False, expected=quotients),
    *(
        Family(name, ("float32", "int32", "int64"), divisor(binary(name, 4)), expected=numpy_as(function))
        for name, function in (("FLOOR_DIV", np.floor_divide), ("FLOOR_MOD", np.mod))
    ),
    *(Family(name, ALL, binary(name, 5, 0.1)) for name in ("MAXIMUM", "MINIMUM")),
    Family("SQUARED_DIFFERENCE", NUMBERS, small(binary("SQUARED_DIFFERENCE", 4, 0.1), 17)),
    # LiteRT reads other elements where shapes differ.
    Family("ATAN2", FLOAT, binary("ATAN2", 4), litert=False, rtol=1e-6, expected=numpy_as(np.arctan2)),
    Family("POW", ("float32", "int32"), powers, rtol=1e-6),
    Family("BITWISE_XOR", BITS, binary("BITWISE_XOR", 4), expected=numpy_as(np.bitwise_xor)),
    Family("RIGHT_SHIFT", BITS[:-1], shifts),
    Family("PRELU", ("float32", "int8", "int16"), prelu),
    Family("ADD_N", ("float32", "int8", "int32"), add_n),
    *(Family(name, (*COMPARED, "bool"), comparison(name)) for name in ("EQUAL", "NOT_EQUAL")),
    *(Family(name, COMPARED, comparison(name)) for name in ("LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")),
    # LiteRT rounds int16 operands to 8 bits before it compares them.
    *(
        Family(name, ("int16",), comparison(name), tflm=False, litert=False, expected=numpy_as(function))
        for name, function in ORDER
    ),
    *(Family(name, ("bool",), comparison(name, logical=True)) for name in ("LOGICAL_AND", "LOGICAL_OR")),
    *(Family(name, MOVED, select(name), moves=True) for name in ("SELECT", "SELECT_V2")),
)
