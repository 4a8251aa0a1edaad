"""Fixed-point multipliers and activation ranges, at the edges of their ranges."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tflmgen.ir.types import DType, Quantization
from tflmgen.kernels.numeric.quantize_math import (
    Activation,
    activation_range,
    is_representable,
    parse_activation,
    quantize_multiplier,
    quantize_value,
    round_half_away,
)


@pytest.mark.parametrize(
    ("real", "expected"),
    [
        (0.0, (0, 0)),
        (1.0, (2**30, 1)),
        (0.5, (2**30, 0)),
        (-0.75, (-3 * 2**29, 0)),
        (math.nextafter(1.0, 0.0), (2**30, 1)),
        (2.0**-32, (2**30, -31)),
        (math.nextafter(2.0**-32, 0.0), (2**30, -31)),
        (2.0**-33, (0, 0)),
        (2.0**29, (2**30, 30)),
    ],
)
def test_multiplier(real: float, expected: tuple[int, int]) -> None:
    assert quantize_multiplier(real) == expected


@given(st.floats(2.0**-31, 2.0**29))
def test_multiplier_is_within_half_a_unit(real: float) -> None:
    multiplier, shift = quantize_multiplier(real)
    assert 2**30 <= multiplier < 2**31
    assert abs(math.ldexp(multiplier, shift - 31) - real) <= math.ldexp(0.5, shift - 31)


@pytest.mark.parametrize(("real", "holds"), [(2.0**29, True), (2.0**30, False), (math.inf, False), (math.nan, False)])
def test_representable(real: float, holds: bool) -> None:
    assert is_representable(real) is holds


@pytest.mark.parametrize(
    ("value", "expected"), [(0.5, 1), (-0.5, -1), (1.4999, 1), (-2.5, -3), (0.0, 0), (2.0**60, 2**60)]
)
def test_halves_round_away_from_zero(value: float, expected: int) -> None:
    assert round_half_away(value) == expected


def test_tiny_scales_do_not_overflow() -> None:
    assert quantize_value(6.0, Quantization((1e-38,), (3,))) == 2**31 + 3


@pytest.mark.parametrize(
    ("activation", "expected"),
    [
        (Activation.NONE, (-128, 127)),
        (Activation.RELU, (10, 127)),
        (Activation.RELU6, (10, 70)),
        (Activation.RELU_N1_TO_1, (0, 20)),
    ],
)
def test_activation_range(activation: Activation, expected: tuple[int, int]) -> None:
    assert activation_range(activation, DType.INT8, Quantization((0.1,), (10,))) == expected


@pytest.mark.parametrize(("code", "name"), [(4, "tanh"), (5, "sign bit"), (99, "99")])
def test_other_activations_are_refused_by_name(code: int, name: str) -> None:
    with pytest.raises(ValueError, match=f"the fused activation {name} is not supported"):
        parse_activation(code)
