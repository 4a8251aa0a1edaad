/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Fixed-point functions on 16 bits, bit for bit as gemmlowp's fixedpoint.h computes them.
 *
 * A number in Qm.n has m integer bits, n = 15 - m fractional bits, and a sign. Numbers are held in int32_t.
 */
#ifndef TFLMGEN_KERNELS_FIXED_POINT_S16_H
#define TFLMGEN_KERNELS_FIXED_POINT_S16_H

#include "requantize.h"

/* The product of Qa and Qb numbers, in Q(a + b). */
TFLMGEN_HELPER int32_t tflmgen_fixed_multiply_s16(int32_t a, int32_t b)
{
    return a == INT16_MIN && b == INT16_MIN ? INT16_MAX : (a * b + (1 << 14)) >> 15;
}

TFLMGEN_HELPER int32_t tflmgen_saturate_s16(int32_t value)
{
    return tflmgen_clamp_s32(value, INT16_MIN, INT16_MAX);
}

/* exp(x) in Q0.15 for x in [-1/4, 0) in Q0.15: the Taylor polynomial of degree 4 around -1/8. */
TFLMGEN_HELPER int32_t tflmgen_exp_near_zero_s16(int32_t x)
{
    const int32_t exp_eighth = 28918, third = 10923;
    const int32_t x1 = x + (1 << 12);
    const int32_t x2 = tflmgen_fixed_multiply_s16(x1, x1);
    const int32_t x3 = tflmgen_fixed_multiply_s16(x2, x1);
    const int32_t x4 = tflmgen_fixed_multiply_s16(x2, x2);
    const int32_t cubic = tflmgen_fixed_multiply_s16(tflmgen_rounding_divide_by_power(x4, 2) + x3, third);
    const int32_t tail = x1 + tflmgen_rounding_divide_by_power(cubic + x2, 1);
    return tflmgen_saturate_s16(exp_eighth + tflmgen_fixed_multiply_s16(exp_eighth, tail));
}

/* exp(x) in Q0.15 for x <= 0 with at most 5 integer bits: x is a quarter's part and a sum of powers of two. */
TFLMGEN_HELPER int32_t tflmgen_exp_on_negative_s16(int32_t x, int32_t integer_bits)
{
    static const int16_t factors[7] = {25520, 19875, 12055, 4435, 600, 11, 0}; /* exp(-2^e) for e = -2 ... 4 */
    const int32_t quarter = 1 << (13 - integer_bits);
    const int32_t rest = (x & (quarter - 1)) - quarter;
    int32_t result = tflmgen_exp_near_zero_s16(tflmgen_saturate_s16(rest * (1 << integer_bits)));
    for (int32_t e = -2; e < integer_bits; ++e) {
        if ((rest - x) & (1 << (15 - integer_bits + e))) {
            result = tflmgen_fixed_multiply_s16(result, factors[e + 2]);
        }
    }
    return x == 0 ? INT16_MAX : result;
}

/* 2 / (1 + x) in Q2.13 for x in [0, 1] in Q0.15: three Newton-Raphson steps. */
TFLMGEN_HELPER int32_t tflmgen_two_over_one_plus_s16(int32_t x)
{
    const int32_t half_denominator = (x + INT16_MAX + 1) / 2;
    int32_t estimate = 23130 + tflmgen_fixed_multiply_s16(half_denominator, -15420);
    for (int32_t step = 0; step < 3; ++step) {
        const int32_t error = (1 << 13) - tflmgen_fixed_multiply_s16(half_denominator, estimate);
        estimate += tflmgen_saturate_s16(tflmgen_fixed_multiply_s16(estimate, error) * 4);
    }
    return estimate;
}

/* 1 / (1 + exp(-x)) in Q0.15. */
TFLMGEN_HELPER int16_t tflmgen_fixed_logistic_s16(int32_t x, int32_t integer_bits)
{
    const int32_t exponential = tflmgen_exp_on_negative_s16(x > 0 ? -x : x, integer_bits);
    const int32_t positive = tflmgen_saturate_s16(tflmgen_two_over_one_plus_s16(exponential) * 2);
    return (int16_t)(x == 0 ? 1 << 14 : x > 0 ? positive : INT16_MAX - positive);
}

/* tanh(x) in Q0.15; integer_bits <= 4. */
TFLMGEN_HELPER int16_t tflmgen_fixed_tanh_s16(int32_t x, int32_t integer_bits)
{
    const int32_t exponential = tflmgen_exp_on_negative_s16(x > 0 ? -x : x, integer_bits + 1);
    const int32_t magnitude = tflmgen_saturate_s16((tflmgen_two_over_one_plus_s16(exponential) - (1 << 13)) * 4);
    return (int16_t)(x == 0 ? 0 : x > 0 ? magnitude : -magnitude);
}

#endif
