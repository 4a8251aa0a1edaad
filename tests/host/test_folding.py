"""What compile-time evaluation gives is what the C kernels give, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.kernel_harness import HOST, Case, Tensor, broken_rules, constant, make_case, run_kernels, tensor
from support.litert import run_litert
from tflmgen.frontend.tflite.names import BUILTIN_OPERATORS
from tflmgen.ir.kernel.call import Kernel
from tflmgen.ir.kernel.kernel_choice import KernelChoice
from tflmgen.kernels.folding.evaluate import fold
from tflmgen.kernels.table import OPERATORS

Array = NDArray[Any]
TABLED = [name for name, row in OPERATORS.items() if row.traits.tabled and name != "LOOKUP"]
SPECIAL = (0.0, -0.0, 0.5, -0.5, 1.5, -2.5, 1e30, -1e30, np.inf, -np.inf, np.nan, 1e-40, 6.5, 7.0, 0.1, 3.0)
SEED = 3

BINARY = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM")
COMPARISONS = ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
NUMBERS = ("float32", "int32", "int64")
UNARY = {
    "NEG": NUMBERS,
    "ABS": ("float32", "int32"),
    "SQUARE": ("float32", "int32"),
    **dict.fromkeys(("SQRT", "FLOOR", "CEIL", "RELU"), ("float32",)),
    "LOGICAL_NOT": ("bool",),
}
CASTS = ("float32", "int8", "uint8", "int16", "int32", "int64", "bool")


TESTED_ELSEWHERE = {
    *("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "LOOKUP", "REQUANTIZE", "CUSTOM:TFLM_DECODE"),
    *("SHAPE", "RANK", "RANGE", "BROADCAST_ARGS"),
}
"""Views, what passes make, weights that are decoded, and shapes."""


def typed(dtype: str, shape: tuple[int, ...] = (16,)) -> Tensor:
    scales: tuple[Any, ...] = {"int8": (0.5, -3), "uint8": (0.25, 7), "int16": (0.125, 0)}.get(dtype, ())
    return tensor(dtype, shape, *scales)


FINITE = constant("float32", [*np.arange(-3, 3, 0.5), 300.25, -4000.5, 0.1])
"""For conversions that leave what no integer can hold to the kernels."""


def elementwise() -> list[Case]:
    cases = []
    for name in BINARY:
        for dtype in NUMBERS:
            cases.append(make_case(name, [typed(dtype), typed(dtype)], [typed(dtype)]))
            cases.append(make_case(name, [typed(dtype, (4, 1)), typed(dtype, (3,))], [typed(dtype)]))
        if name in ("ADD", "SUB", "MUL"):
            for activation in (1, 2, 3):
                options = {"fused_activation_function": activation}
                cases += [make_case(name, [typed(d), typed(d)], [typed(d)], options) for d in ("float32", "int32")]
        else:
            cases.append(make_case(name, [typed("int8"), typed("int8")], [typed("int8")]))
    for name in COMPARISONS:
        cases += [make_case(name, [typed(dtype), typed(dtype)], [typed("bool")]) for dtype in NUMBERS]
    for name in ("LOGICAL_AND", "LOGICAL_OR"):
        cases.append(make_case(name, [typed("bool"), typed("bool")], [typed("bool")]))
    for name, dtypes in UNARY.items():
        cases += [make_case(name, [typed(dtype)], [typed(dtype)]) for dtype in dtypes]
    for dtype in ("float32", "int32"):
        cases.append(make_case("SQUARED_DIFFERENCE", [typed(dtype), typed(dtype)], [typed(dtype)]))
    for name in ("FLOOR_DIV", "FLOOR_MOD"):
        cases += [make_case(name, [typed(d), typed(d)], [typed(d)]) for d in ("int32", "int64")]
    return cases


def conversions() -> list[Case]:
    cases = [make_case("CAST", [tensor(a, (16,))], [tensor(b, (16,))]) for a in CASTS for b in CASTS if a != b]
    cases += [make_case("QUANTIZE", [FINITE], [typed(dtype)]) for dtype in ("int8", "uint8", "int16")]
    cases += [make_case("CAST", [FINITE], [tensor(b, (15,))]) for b in ("int32", "int64", "uint32")]
    for dtype in ("int8", "uint8", "int16"):
        cases.append(make_case("QUANTIZE", [typed("float32")], [typed(dtype)]))
        cases.append(make_case("DEQUANTIZE", [typed(dtype)], [typed("float32")]))
        cases += [make_case("QUANTIZE", [typed(dtype)], [tensor(to, (16,), 0.3, 2)]) for to in ("int8", "uint8")]
    cases.append(make_case("DEQUANTIZE", [typed("float16")], [typed("float32")]))
    return cases


def quantised() -> list[Case]:
    rng = np.random.default_rng(SEED)
    cases = []
    for name in ("ADD", "SUB", "MUL"):
        for activation in range(4):
            options = {"fused_activation_function": activation}
            for dtype, shape in (("int8", (64,)), ("int16", (64,)), ("int8", (4, 1))):
                x, z, y = (
                    tensor(dtype, s, rng.uniform(0.01, 0.3), int(rng.integers(-128, 128)) if dtype == "int8" else 0)
                    for s in (shape, (64,), ())
                )
                cases.append(make_case(name, [x, z], [y], options))
    for name in TABLED:
        x, y = tensor("int8", (256,), 0.06, -20), tensor("int8", (), 0.05, -100)
        if name == "RELU6":
            y = tensor("int8", (), 0.06, -20)
        y = {"TANH": tensor("int8", (), 1 / 128, 0), "LOGISTIC": tensor("int8", (), 1 / 256, -128)}.get(name, y)
        cases.append(make_case(name, [x], [y], {"alpha": 0.1} if name == "LEAKY_RELU" else None))
    return cases


def reductions() -> list[Case]:
    cases = []
    for axes in ([0], [1, -1], [0, 1, 2]):
        for name in ("SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ANY", "REDUCE_ALL"):
            dtype = "bool" if name in ("REDUCE_ANY", "REDUCE_ALL") else "int32"
            operands = [typed(dtype, (2, 3, 4)), constant("int32", axes)]
            cases.append(make_case(name, operands, [typed(dtype)], {"keep_dims": len(axes) == 2}))
    return cases


def moves() -> list[Case]:
    ints: dict[str, Any] = {"dtype": "int32"}
    x, wide = typed("int16", (2, 3, 4)), typed("float32", (2, 3, 4))
    like = typed("int16")
    cut = {"begin_mask": 1, "end_mask": 2, "shrink_axis_mask": 4}
    return [
        make_case("TRANSPOSE", [x, constant(data=[2, 0, 1], **ints)], [like]),
        make_case("SLICE", [x, constant(data=[0, 1, 1], **ints), constant(data=[-1, 2, 3], **ints)], [like]),
        make_case("STRIDED_SLICE", [wide, *(constant(data=v, **ints) for v in ([0, 2, 1], [2, 0, 2], [1, -1, 1]))],
                  [typed("float32")], cut),
        make_case("BROADCAST_TO", [typed("int16", (3, 1)), constant(data=[2, 3, 5], **ints)], [like]),
        make_case("TILE", [x, constant(data=[1, 2, 3], **ints)], [like]),
        make_case("REVERSE_V2", [x, constant(data=[1], **ints)], [like]),
        make_case("CONCATENATION", [x, typed("int16", (2, 2, 4))], [like], {"axis": 1}),
        make_case("PACK", [x, x], [like], {"axis": -1, "values_count": 2}),
        make_case("UNPACK", [x], [like] * 3, {"axis": 1, "num": 3}),
        make_case("SPLIT", [constant(data=[2], **ints), x], [like] * 2, {"num_splits": 2}),
        make_case("SPLIT_V", [x, constant(data=[1, -1], **ints), constant(data=[1], **ints)], [like] * 2,
                  {"num_splits": 2}),
        make_case("GATHER", [x, typed("int32", (2, 2))], [like], {"axis": 1}),
        make_case("SELECT", [typed("bool", (2,)), x, x], [like]),
        make_case("SELECT_V2", [typed("bool", (3, 1)), x, typed("int16", ())], [like]),
        make_case("FILL", [constant(data=[2, 5], **ints), typed("int16", ())], [like]),
    ]  # fmt: skip


def random_elements(item: Tensor, rng: np.random.Generator) -> Array:
    """Any element, with floats that are special and integers that often meet."""
    if item.data is not None:
        return item.data
    dtype, shape = item.type.dtype, item.type.max_shape
    if dtype.is_float:
        with np.errstate(over="ignore"):
            return rng.choice(SPECIAL, shape).astype(dtype.numpy)
    low, high = dtype.limits
    any_ = rng.integers(low, high, shape, dtype.numpy, endpoint=True)
    return np.where(rng.random(shape) < 0.5, any_, rng.integers(0, 2, shape)).astype(dtype.numpy)


def evaluated(case: Case, values: list[Array]) -> list[Array] | None:
    folded = fold(case.operator, replace(case.instance, constants=tuple(values)))
    return None if folded is None else list(folded)


@pytest.mark.parametrize("cases", [elementwise, conversions, quantised, reductions, moves])
def test_folding_equals_the_kernels(cases: Callable[[], list[Case]]) -> None:
    rng = np.random.default_rng(SEED)
    runs, folded = [], []
    for case in cases():
        assert not (broken := broken_rules(case)), (case, broken)
        values = [random_elements(item, rng) for item in case.inputs if item is not None]
        got = evaluated(case, values)
        if got is None:
            assert case.operator in ("CAST", "QUANTIZE"), case
        elif isinstance(OPERATORS[case.operator].kernel(case.instance, HOST), Kernel | KernelChoice):
            runtime_values = [
                None if item.data is not None else v for item, v in zip(case.inputs, values, strict=True) if item
            ]
            runs.append((case, runtime_values))
            folded.append(got)
    for (case, _), results, wanted in zip(runs, run_kernels(runs), folded, strict=True):
        for index, (result, other) in enumerate(zip(results, wanted, strict=True)):
            assert other.dtype == case.outputs[index].dtype.numpy
            assert other.shape == case.outputs[index].max_shape
            np.testing.assert_array_equal(other, result, err_msg=f"{case} {values}")
            if other.dtype.kind == "f":
                np.testing.assert_array_equal(
                    np.signbit(other)[~np.isnan(other)], np.signbit(result)[~np.isnan(result)]
                )


def test_every_folded_operator_is_tested_above() -> None:
    tested = {case.operator for cases in (elementwise, conversions, reductions, moves) for case in cases()}
    tested |= {case.operator for case in quantised()}
    # The differential families compare what folding makes of operators of files, but for special floats.
    folded = {name for name, o in OPERATORS.items() if o.fold or o.traits.moves}
    assert folded - set(BUILTIN_OPERATORS) <= tested | TESTED_ELSEWHERE <= folded


def test_pieces_and_views_are_cut_and_joined_where_they_should() -> None:
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    shape = constant("int32", [4, 6])
    whole = Tensor(typed("int32", (2, 3, 4)).type, x)
    like = tensor("int32", ())
    for case, wanted in (
        (make_case("RESHAPE", [whole, shape], [tensor("int32", (4, 6))]), [x.reshape(4, 6)]),
        (make_case("CONCATENATION", [whole, whole], [like], {"axis": 0}), [np.concatenate([x, x])]),
        (make_case("UNPACK", [whole], [like] * 2, {"axis": 0, "num": 2}), [x[0], x[1]]),
    ):
        got = evaluated(case, [np.asarray(t.data) for t in case.inputs if t is not None])
        assert got is not None
        for result, other in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(result, other)


def test_what_depends_on_the_run_time_is_not_folded() -> None:
    case = make_case("ADD", [typed("float32"), typed("float32")], [typed("float32")])
    assert fold("ADD", replace(case.instance, constants=(np.zeros(16, np.float32), None))) is None


@pytest.mark.parametrize(
    "weights",
    [
        constant("int8", np.arange(-60, 60).reshape(2, 20, 3), [0.1, 0.02, 3.0], 0, 2),
        constant("int8", np.arange(-60, 60).reshape(2, 20, 3), [0.1, 0.02], 0, 0),
        constant("int8", np.arange(-60, 60), 0.3, -7),
        constant("int4", np.arange(-8, 8).reshape(4, 4)[:, :3], [0.1, 0.02, 3.0], 0, 1),
        constant("float16", np.linspace(-70000, 70000, 99)),
    ],
)
def test_dequantized_weights_are_those_of_litert(weights: Tensor) -> None:
    case = make_case("DEQUANTIZE", [weights], [tensor("float32", ())])
    assert not broken_rules(case)
    got = fold("DEQUANTIZE", case.instance)
    assert got is not None
    np.testing.assert_array_equal(got[0], run_litert(case, [None])[0])


def test_only_constants_are_dequantized_along_an_axis() -> None:
    at_run_time = tensor("int8", (2, 3), [0.1, 0.2, 0.3], 0, 1)
    (broken,) = broken_rules(make_case("DEQUANTIZE", [at_run_time], [tensor("float32", ())]))
    assert broken == "an integer input to be quantised, with one scale unless it is constant"
    (broken,) = broken_rules(make_case("DEQUANTIZE", [tensor("int4", (2, 3), 0.1)], [tensor("float32", ())]))
    assert broken == "an int4 input to be constant"
