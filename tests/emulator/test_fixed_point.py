"""Fixed-point helpers of requantize.h on cores with and without a long multiplication and the DSP extension."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.emulated_kernels import M0, M3, M4, M55, Machine, lines_of
from support.emulated_start import START
from support.tools import requires_compiler, requires_qemu

pytestmark = [pytest.mark.emulator, requires_compiler, requires_qemu]

MAIN = """
static uint32_t count;
static void compare(int64_t is, int64_t expected, const char *name)
{
    ++count;
    if (is != expected) {
        call_host(4, name);
        say(" case ", count);
        call_host(4, "\\n");
    }
}
/* The definitions: gemmlowp's SaturatingRoundingDoublingHighMul and RoundingDivideByPOT. */
static __attribute__((noinline)) int64_t high(int64_t a, int64_t b)
{
    const int64_t product = a * b;
    const int64_t sum = product + (product >= 0 ? 1 << 30 : 1 - (1 << 30));
    return sum / ((int64_t)1 << 31);
}
static __attribute__((noinline)) int64_t divided(int64_t value, int32_t exponent)
{
    const int64_t half = ((int64_t)1 << exponent) / 2;
    return (value >= 0 ? value + half : value - half) / ((int64_t)1 << exponent);
}
static void check_pair(int32_t a, int32_t b, int32_t exponent)
{
    if (a != INT32_MIN || b != INT32_MIN) {
        compare(tflmgen_doubling_high_product(a, b), high(a, b), "product");
    }
    if (b > INT32_MIN) {
        compare(tflmgen_requantize(a, b, -exponent), divided(high(a, b), exponent), "requantize");
        compare(tflmgen_requantize((int16_t)a, b, exponent % 15), high((int16_t)a * (1 << exponent % 15), b), "left");
        compare(tflmgen_requantize_s31(a >> 1, b, -exponent), divided(high(a >> 1, b), exponent), "small");
        compare(tflmgen_doubling_high_product_s16((int16_t)a, b), high((int16_t)a * (1 << 15), b), "int16");
    }
    if (a > INT32_MIN && exponent > 0) {
        compare(tflmgen_rounding_shift_right(a, exponent), divided(a, exponent), "shift");
    }
    compare(tflmgen_rounding_divide_by_power(a, exponent), divided(a, exponent), "divide");
    if (a >= 0 && b >= 0) {
        const uint64_t sum = (uint64_t)a * (uint64_t)b + (1u << 30) + ((uint64_t)1 << (32 + exponent % 31));
        compare(tflmgen_high_sum((uint32_t)a, (uint32_t)b, 1u << exponent % 31), (int64_t)(sum >> 32), "sum");
    }
}
static uint32_t state = 1;
static int32_t drawn(void)
{
    state = state * 1664525u + 1013904223u;
    const uint32_t upper = state;
    state = state * 1664525u + 1013904223u;
    return (int32_t)(upper ^ state >> 16) >> (state >> 8) % 32;
}
int main(void)
{
    int32_t *const edges = (int32_t *)(void *)ram;
    for (int32_t i = 0; i < 96; ++i) {
        edges[i] = (int32_t)((1u << i / 3) + (uint32_t)(i % 3) - 1u) * (i & 1 ? -1 : 1);
    }
    edges[96] = INT32_MIN, edges[97] = INT32_MAX, edges[98] = INT32_MIN + 1, edges[99] = 0x7FFF8000;
    for (int32_t i = 0; i < 100; ++i) {
        for (int32_t j = 0; j < 100; ++j) {
            check_pair(edges[i], edges[j], (i + 3 * j) % 32);
        }
    }
    for (int32_t i = 0; i < 20000; ++i) {
        check_pair(drawn(), drawn(), i % 32);
    }
    /* What ADD takes one half for, 2^31 - 1 and a shift by 1, is a half of every int16. */
    for (int32_t x = INT16_MIN; x <= INT16_MAX; ++x) {
        const int32_t half = tflmgen_doubling_high_product_s16(x, INT32_MAX);
        compare(tflmgen_rounding_shift_right(half, 1), x * (1 << 14), "half");
    }
    say("done ", count);
    call_host(4, "\\n");
    return 0;
}
"""


@pytest.mark.parametrize("machine", [M0, M3, M4, M55], ids=lambda machine: machine.target.core)
def test_edges_and_random_factors(machine: Machine, tmp_path: Path) -> None:
    source = '#include "requantize.h"\n' + START + MAIN
    (line,) = lines_of(machine, source, tmp_path, "-O2")
    assert int(line.removeprefix("done ")) > 200_000
