"""Which kernel a layer gets: the fast one where it is exact for every input, another one where a condition fails."""

from __future__ import annotations

import numpy as np
import pytest
from support.emulated_kernels import M4, M55, Machine, kernel_for
from support.kernel_harness import Array, Case, constant, make_case, tensor


def conv(weights: Array, bias: Array | None = None, output_scale: float = 0.5) -> Case:
    x, w = tensor("int8", (1, 4, 4, weights.shape[3]), 0.05, -128), constant("int8", weights, 0.01)
    b = None if bias is None else constant("int32", bias, 0.0005)
    options = {"padding": 0, "stride_h": 1, "stride_w": 1, "fused_activation_function": 0}
    return make_case("CONV_2D", [x, w, b], [tensor("int8", (), output_scale, -128)], options)


def variant(case: Case, machine: Machine) -> str:
    return kernel_for(case, machine).variant


ONES = np.ones((4, 1, 1, 8), dtype=np.int8)


def test_each_core_gets_its_own_kernel() -> None:
    assert (variant(conv(ONES), M4), variant(conv(ONES), M55)) == ("dsp", "mve")
    assert conv(ONES).kernel.variant == "portable"


@pytest.mark.parametrize(("even", "odd", "borrows"), [(1, -128, False), (-128, -128, True), (-128, 5, False)])
def test_weights_of_minus_128_fit_unless_the_even_one_before_borrows(even: int, odd: int, borrows: bool) -> None:
    weights = np.ones((16, 1, 1, 8), dtype=np.int8)
    weights[2, 0, 0, 4:6] = even, odd
    chosen = kernel_for(conv(weights), M4)
    assert chosen.variant == "dsp"
    assert ("dot" in chosen.function) == borrows
    assert variant(conv(weights), M55) == "mve"


def test_accumulators_beyond_24_bits_need_another_kernel() -> None:
    large = np.array([0, 0, 2**23 - 1, 0])
    assert "dot" in kernel_for(conv(100 * ONES, large, output_scale=20.0), M4).function
    assert variant(conv(100 * ONES, large, output_scale=20.0), M55) == "mve"


def test_a_channel_that_is_constant_needs_no_condition() -> None:
    weights = ONES.copy()
    weights[2] = 0
    assert variant(conv(weights, np.array([0, 0, 2**30, 0])), M4) == "dsp"


def test_multipliers_above_one_are_beyond_the_vector_kernels() -> None:
    assert variant(conv(ONES, output_scale=0.0001), M55) == "dsp"


def test_runtime_weights_have_the_portable_kernel() -> None:
    x, w, y = tensor("int8", (2, 8), 0.05), tensor("int8", (4, 8), 0.01), tensor("int8", (), 0.5)
    case = make_case("FULLY_CONNECTED", [x, w, None], [y], {"fused_activation_function": 0, "keep_num_dims": False})
    assert variant(case, M4) == "portable"


@pytest.mark.parametrize("scales", [(0.0625, 0.0625, 0.125), (0.05, 0.05, 0.1), (0.0625, 0.03125, 0.0625)])
@pytest.mark.parametrize("operator", ["ADD", "SUB"])
def test_sums_that_meet_halves_are_affine(operator: str, scales: tuple[float, float, float]) -> None:
    first, y = (tensor("int8", (2, 40), scale, 3) for scale in scales[::2])
    for row in ((2, 40), (40,)):
        inputs = [first, tensor("int8", row, scales[1], -7)]
        case = make_case(operator, inputs, [y], {"fused_activation_function": 0})
        assert "dsp" in kernel_for(case, M4).function
