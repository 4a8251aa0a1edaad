"""Float32 kernels by the instructions of a floating-point unit: the same bits as in C on this computer."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support import tight_cases
from support.conv_cases import conv2d, conv3d, depthwise_conv2d, fully_connected, geometry, pick
from support.emulated_kernels import M4F, M7F, M55, Machine, Run, check_on, kernel_for
from support.float_cases import CaseInputs, deep, wide
from support.kernel_harness import (
    Array,
    Case,
    broken_rules,
    claims,
    constant,
    host_outputs,
    make_case,
    random_values,
    tensor,
)
from support.kernel_program import KERNELS
from support.recurrent_cases import float_lstm, gru, rnn, svdf
from support.tight_claims import check_claims_are_tight

pytestmark = pytest.mark.emulator


def unary(rng: np.random.Generator) -> CaseInputs:
    """Values of all magnitudes, infinities and NaN among them."""
    kind = tensor("float32", (1, int(rng.integers(1, 30))))
    case = make_case(str(rng.choice(["EXP", "LOGISTIC", "TANH", "SOFTMAX"])), [kind], [kind], {"beta": 1.0})
    values = rng.normal(size=kind.type.max_shape) * 10.0 ** rng.integers(-6, 4, kind.type.max_shape)
    if rng.random() < 0.3:
        # Where infinities meet in SOFTMAX, the sign of NaN depends on the core.
        unbounded = [] if case.operator == "SOFTMAX" else [np.nan, np.inf, -np.inf]
        ends = rng.choice([*unbounded, 87.2, -87.4, 88.8, -104.5], values.shape)
        values = np.where(rng.random(values.shape) < 0.1, ends, values)
    return case, [values.astype(np.float32)]


UNARY = (
    *("ABS", "NEG", "SQUARE", "SQRT", "RSQRT", "FLOOR", "CEIL", "ROUND", "HARD_SWISH"),
    *("RELU", "RELU6", "RELU_N1_TO_1", "LEAKY_RELU"),
)
BINARY = ("MAXIMUM", "MINIMUM", "DIV", "SQUARED_DIFFERENCE", "PRELU", "LESS", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL")


def by_elements(rng: np.random.Generator) -> CaseInputs:
    """One of these of rows, and of rows and single elements; infinities, NaN and zeros of either sign."""
    rows = int(rng.integers(1, 4)), int(rng.integers(1, 30))
    operator = str(rng.choice(UNARY if rng.random() < 0.5 else BINARY))
    shapes = [rows]
    if operator in BINARY:
        other = [rows, rows, (rows[0], 1), (1, rows[1]), (1, 1)][int(rng.integers(5))]
        shapes = [rows, other] if operator == "PRELU" or rng.random() < 0.5 else [other, rows]
    result = "bool" if "LESS" in operator or "EQUAL" in operator else "float32"
    options = {"alpha": 0.3} if operator == "LEAKY_RELU" else {}
    if operator == "DIV":
        options = {"fused_activation_function": int(pick(rng, 0, 1, 3))}
    case = make_case(operator, [tensor("float32", s) for s in shapes], [tensor(result, rows)], options)
    values = []
    for shape in shapes:
        x = np.rint(4 * rng.normal(size=shape)) / 2 if rng.random() < 0.5 else rng.normal(size=shape) * 10
        # The sign of a NaN that is made of numbers depends on the core: roots of what is below zero, 0 / 0, inf - inf.
        x = abs(x) if "SQRT" in operator else np.where(x == 0, 1.0, x) if operator == "DIV" else x
        if "SQRT" in operator:
            ends = [0.0, np.inf]
        elif operator in ("HARD_SWISH", "SQUARED_DIFFERENCE", "PRELU", "DIV"):
            ends = [np.nan] if operator == "DIV" else [np.nan, 0.0, -0.0]
        else:
            ends = [np.nan, 0.0, -0.0, np.inf, -np.inf]
        values.append(np.where(rng.random(shape) < 0.1, rng.choice(ends, shape), x).astype(np.float32))
    return case, values


def reduction(rng: np.random.Generator) -> CaseInputs:
    """Along the outer, the middle or the inner axes; NaN and infinities, which are below no extreme."""
    shape = tuple(int(n) for n in rng.integers(1, (4, 6, 40)))
    reduced = [axis for axis in range(3) if rng.random() < 0.5]
    operator = str(pick(rng, "SUM", "MEAN", "REDUCE_MAX", "REDUCE_MIN"))
    inputs = [tensor("float32", shape), constant("int32", np.array(reduced, np.int32))]
    case = make_case(operator, inputs, [tensor("float32", ())], {"keep_dims": bool(rng.random() < 0.5)})
    ends = [np.nan, np.inf, -np.inf] if "REDUCE" in operator else [1e3]
    x = rng.normal(size=shape)
    return case, [np.where(rng.random(shape) < 0.1, rng.choice(ends, shape), x).astype(np.float32), None]


def pool(rng: np.random.Generator) -> CaseInputs:
    options, size, _ = geometry(rng, dilated=False)
    taps = rng.integers(1, np.array(size) + 1)
    options |= {"filter_height": int(taps[0]), "filter_width": int(taps[1])}
    options |= {"fused_activation_function": int(pick(rng, 0, 1, 3))}
    x = tensor("float32", (int(pick(rng, 1, 2)), *size, int(rng.integers(1, 40))))
    case = make_case(str(pick(rng, "AVERAGE_POOL_2D", "MAX_POOL_2D")), [x], [tensor("float32", ())], options)
    return case, random_values(case, rng)


def resize(rng: np.random.Generator) -> CaseInputs:
    shape = 1, *(int(n) for n in rng.integers(1, (7, 7, 20)))
    size = rng.integers(1, 9, 2).astype(np.int32)
    corners = bool(rng.random() < 0.3)
    options = {"align_corners": corners, "half_pixel_centers": not corners and bool(rng.random() < 0.5)}
    case = make_case(
        "RESIZE_BILINEAR", [tensor("float32", shape), constant("int32", size)], [tensor("float32", ())], options
    )
    return case, random_values(case, rng)


def cast(rng: np.random.Generator) -> CaseInputs:
    """Floats of all magnitudes to integers and back."""
    kinds = "int8", "uint8", "int16", "uint16", "int32", "bool"
    shape = (1, int(rng.integers(1, 40)))
    other = str(rng.choice(kinds))
    if rng.random() < 0.5:
        limits = (0, 2) if other == "bool" else (np.iinfo(other).min, np.iinfo(other).max)
        whole = rng.integers(*limits, shape).astype(other)
        return make_case("CAST", [tensor(other, shape)], [tensor("float32", shape)]), [whole]
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 12, shape)
    values = np.where(rng.random(shape) < 0.1, rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40], shape), values)
    return make_case("CAST", [tensor("float32", shape)], [tensor(other, shape)]), [values.astype(np.float32)]


def recurrent(rng: np.random.Generator, make: Callable[[np.random.Generator], tuple[Case, list[Array]]]) -> CaseInputs:
    case, _ = make(rng)
    return case, random_values(case, rng)


def arithmetic(rng: np.random.Generator) -> CaseInputs:
    """Rows and single elements of either operand, infinities and NaN; sums that are too large."""
    shape = int(rng.integers(1, 4)), int(rng.integers(1, 30))
    other = [shape, shape, (shape[0], 1), (1, shape[1]), (1, 1)][int(rng.integers(5))]
    operands = [tensor("float32", s) for s in (shape, other)]
    order = (0, 1) if rng.random() < 0.5 else (1, 0)
    options = {"fused_activation_function": int(pick(rng, 0, 1, 2, 3))}
    case = make_case(str(pick(rng, "ADD", "SUB", "MUL")), [operands[i] for i in order], [operands[0]], options)
    values = []
    for operand in (v for v in random_values(case, rng) if v is not None):
        large = np.where(rng.random(operand.shape) < 0.1, 3e38, operand)
        values.append(np.where(rng.random(operand.shape) < 0.05, rng.choice([np.nan, np.inf], operand.shape), large))
    return case, [v.astype(np.float32) for v in values]


def quantize(rng: np.random.Generator) -> CaseInputs:
    """Halves of steps and their neighbours, values far outside, infinities and NaN."""
    dtype = str(rng.choice(["int8", "uint8", "int16"]))
    scale = float(rng.choice([2.0**-7, 0.03, 1.7, 3e-5]))
    zero_point = 0 if dtype == "int16" else int(rng.integers(-100, 100)) + 128 * (dtype == "uint8")
    steps = rng.integers(-70000 if dtype == "int16" else -300, 300, 60) + 0.5
    halves = (steps * np.float64(np.float32(scale))).astype(np.float32)
    near = [np.nextafter(halves, np.float32(limit)) for limit in (-np.inf, np.inf)]
    special = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0, -0.0, 1e-40, -1e-40], np.float32)
    values = np.concatenate([halves, *near, special, halves[: rng.integers(4)]])
    rng.shuffle(values)
    values = values[None]
    source, result = tensor("float32", values.shape), tensor(dtype, values.shape, scale, zero_point)
    return make_case("QUANTIZE", [source], [result]), [values]


def dequantize(rng: np.random.Generator) -> CaseInputs:
    """Every int8 value, and some more, in tensors of all residues by four."""
    values = np.concatenate([np.arange(-128, 128), rng.integers(-128, 128, rng.integers(8))]).astype(np.int8)[None]
    values = values[:, int(rng.integers(200)) :]
    source = tensor("int8", values.shape, float(rng.choice([2.0**-7, 0.03, 1.7])), int(rng.integers(-128, 128)))
    return make_case("DEQUANTIZE", [source], [tensor("float32", values.shape)]), [values]


def batch_matmul(rng: np.random.Generator) -> CaseInputs:
    """Matrices of which either may be transposed, few rows or columns among them."""
    rows, columns = int(pick(rng, 1, 2, rng.integers(1, 40))), int(pick(rng, 1, 3, rng.integers(4, 40)))
    batches, depth = int(rng.integers(1, 3)), int(rng.integers(1, 30))
    adjoint = [bool(flag) for flag in rng.integers(0, 2, 2)]
    sides = [(rows, depth), (depth, columns)]
    shapes = [(batches, *(side[::-1] if turned else side)) for side, turned in zip(sides, adjoint, strict=True)]
    operands = [tensor("float32", shape) for shape in shapes]
    case = make_case("BATCH_MATMUL", operands, [tensor("float32", ())], {"adj_x": adjoint[0], "adj_y": adjoint[1]})
    return case, random_values(case, rng)


def depthwise_gradient(rng: np.random.Generator) -> CaseInputs:
    """By the filter or the input; fewer channels than lanes too, and several outputs of a channel."""
    batches, height, width, channels = (int(n) for n in rng.integers((1, 1, 1, 1), (2, 8, 8, 20), endpoint=True))
    strides, taps = rng.integers(1, 3, 2), (int(n) for n in rng.integers(1, 4, 2))
    dilations = rng.integers(1, 3, 2) if rng.random() < 0.3 else (1, 1)
    results = channels * int(pick(rng, 1, 1, 2))
    image = tensor("float32", (batches, height, width, channels))
    slopes = tensor("float32", (batches, -(-height // int(strides[0])), -(-width // int(strides[1])), results))
    filters = tensor("float32", (1, *taps, results))
    by_filter = bool(rng.integers(2))
    names = "stride_h", "stride_w", "dilation_h_factor", "dilation_w_factor"
    options = {"padding": 0, **dict(zip(names, map(int, (*strides, *dilations)), strict=True))}
    name = f"CUSTOM:TflmgenDepthwiseConv2D{'Filter' if by_filter else 'Input'}Gradient"
    operands, result = ([image, slopes], filters) if by_filter else ([slopes, filters], image)
    case = make_case(name, operands, [result], options)
    return case, random_values(case, rng)


CASES: dict[str, Callable[[np.random.Generator], CaseInputs]] = {
    "fully_connected": lambda rng: fully_connected(rng, "float32"),
    "fully_connected deep": deep,
    "batch_matmul": batch_matmul,
    "conv2d": lambda rng: conv2d(rng, "float32"),
    "conv2d by int8": lambda rng: conv2d(rng, "hybrid"),
    "conv2d wide": lambda rng: wide(rng, "CONV_2D"),
    "conv3d": lambda rng: conv3d(rng, "float32"),
    "depthwise gradient": depthwise_gradient,
    "depthwise_conv2d": lambda rng: depthwise_conv2d(rng, "float32"),
    "depthwise_conv2d wide": lambda rng: wide(rng, "DEPTHWISE_CONV_2D"),
    "unary": unary,
    "arithmetic": arithmetic,
    "by elements": by_elements,
    "cast": cast,
    "pool": pool,
    "reduction": reduction,
    "resize": resize,
    "quantize": quantize,
    "dequantize": dequantize,
    "lstm": lambda rng: recurrent(rng, lambda r: float_lstm(r, variants=True, largest_extent=20)),
    "rnn": lambda rng: recurrent(rng, lambda r: rnn(r, "UNIDIRECTIONAL_SEQUENCE_RNN", hybrid=False, largest_extent=20)),
    "gru": lambda rng: recurrent(rng, lambda r: gru(r, largest_extent=20)),
    "svdf": lambda rng: recurrent(rng, lambda r: svdf(r, "float32", svdf_sizes(r))),
}


def svdf_sizes(rng: np.random.Generator) -> tuple[int, ...]:
    """Filters in fours, and such as are left over."""
    return tuple(int(n) for n in rng.integers((1, 1, 1, 1, 1), (2, 20, 10, 3, 12), endpoint=True))


DRAWN = {
    "unary": 40,
    "batch_matmul": 40,
    "by elements": 100,
    "cast": 30,
    "pool": 20,
    "reduction": 30,
    "depthwise gradient": 40,
}
"""How many of those that are more operators than one; 10 of others."""


INLINE = ("rows_f32.h", "lanes_f32.h")
"""Loops with instructions of a floating-point unit, which kernels are made of."""


def test_every_kernel_with_such_instructions_has_a_case() -> None:
    includes = {path.name: re.findall(r'#include "(.+)"', path.read_text()) for path in KERNELS.glob("*.h")}
    headers = {name for name, included in includes.items() if name not in INLINE and set(included) & set(INLINE)}
    rng = np.random.default_rng(11)
    cases = [make(rng)[0] for make in CASES.values() for _ in range(10)]
    assert headers - {kernel_for(case, M4F).header for case in cases if not broken_rules(case)} == set()


@pytest.mark.parametrize(("machine", "optimize"), [(M4F, "-O2"), (M7F, "-Os"), (M55, "-O2")], ids=["m4", "m7", "m55"])
@pytest.mark.parametrize("name", CASES)
def test_float_kernels_give_the_same_bits(name: str, machine: Machine, optimize: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    cases = [case for case in (CASES[name](rng) for _ in range(DRAWN.get(name, 10))) if not broken_rules(case[0])]
    runs = []
    for (case, values), expected in zip(cases, host_outputs(cases), strict=True):
        for overlap in (None, *claims(kernel_for(case, machine))):
            runs.append(Run(case, values, expected, overlap))
    check_on(machine, runs, tmp_path, optimize)


def test_one_element_less_is_too_little(tmp_path: Path) -> None:
    make = (tight_cases.conv2d, tight_cases.depthwise)
    cases = [m(window, "float32") for m in make for window in tight_cases.WINDOWS]
    cases += [tight_cases.fully_connected(*sizes, "float32") for sizes in ((1, 8, 12), (3, 8, 10), (3, 12, 8))]
    check_claims_are_tight(M4F, cases, tmp_path)
