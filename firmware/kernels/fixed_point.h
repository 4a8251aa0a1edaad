/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Fixed-point functions of TFLite's integer kernels, bit for bit (gemmlowp's fixedpoint.h, TFLite's internal/common.h).
 *
 * A number in Qm.n has m integer bits, n = 31 - m fractional bits, and a sign.
 */
#ifndef TFLMGEN_KERNELS_FIXED_POINT_H
#define TFLMGEN_KERNELS_FIXED_POINT_H

#include "requantize.h"

/* The product of Qa and Qb numbers, in Q(a + b). */
TFLMGEN_HELPER int32_t tflmgen_fixed_multiply(int32_t a, int32_t b)
{
    return tflmgen_doubling_high_multiply(a, b);
}

/* value * 2^exponent, saturated. */
TFLMGEN_HELPER int32_t tflmgen_saturating_shift_left(int32_t value, int32_t exponent)
{
    const int64_t shifted = (int64_t)value * ((int64_t)1 << exponent);
    return shifted > INT32_MAX ? INT32_MAX : shifted < INT32_MIN ? INT32_MIN : (int32_t)shifted;
}

/* (a + b) / 2 of which the sum is not negative, halves up. */
TFLMGEN_HELPER int32_t tflmgen_fixed_mean(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a + b + 1) / 2);
}

/* 32 for 0. */
TFLMGEN_HELPER int32_t tflmgen_leading_zeros(uint32_t value)
{
    return value ? __builtin_clz(value) : 32;
}

/* 1 / (1 + x) in Q0.31 for x in [0, 1) in Q0.31: three Newton steps from 48/17 - 32/17 d with d = (1 + x) / 2. */
TFLMGEN_HELPER int32_t tflmgen_reciprocal_q31(int32_t x)
{
    const int32_t denominator = tflmgen_fixed_mean(x, INT32_MAX);
    const int32_t one = (int32_t)1 << 29;
    int32_t estimate = 1515870810 + tflmgen_fixed_multiply(denominator, -1010580540);
    for (int32_t step = 0; step < 3; ++step) {
        const int32_t error = one - tflmgen_fixed_multiply(denominator, estimate);
        estimate += tflmgen_saturating_shift_left(tflmgen_fixed_multiply(estimate, error), 2);
    }
    return tflmgen_saturating_shift_left(estimate, 1);
}

/* log(x) in Q5.26 for x >= 1 in Q12.19.
 *
 * x = 2^k r with r near sqrt(sqrt(1/2)); of the two candidates for (k, r) the one nearer is taken, k in quarters. A
 * rational function gives log(r) around that point.
 */
TFLMGEN_HELPER int32_t tflmgen_log_q12_to_q5(int32_t x)
{
    const int32_t sqrt_half = 1518500250, fourth_root_half = 1805811301, log_2 = 1488522236;
    const int32_t alpha_n = 117049297, alpha_d = 127690142, alpha_i = 1057819769, alpha_f = 638450708;
    const int32_t quarter_q6 = (int32_t)1 << 23;

    const int32_t zeros_a = tflmgen_leading_zeros((uint32_t)x);
    const int32_t whole_a = tflmgen_saturating_shift_left(x, zeros_a - 1);
    const int32_t r_a = tflmgen_saturating_shift_left(tflmgen_fixed_multiply(whole_a, sqrt_half), 1);
    const int32_t power_a = tflmgen_saturating_shift_left(12 - zeros_a, 25) + quarter_q6;

    const int32_t headroom_b = tflmgen_leading_zeros((uint32_t)tflmgen_fixed_multiply(x, sqrt_half)) - 1;
    const int32_t r_b = tflmgen_saturating_shift_left(x, headroom_b);
    const int32_t power_b = tflmgen_saturating_shift_left(12 - headroom_b, 25) - quarter_q6;

    const int32_t r = tflmgen_min_s32(r_a, r_b);
    const int32_t power = tflmgen_max_s32(power_a, power_b);
    const int32_t p = tflmgen_fixed_mean(r, fourth_root_half);
    const int32_t q = 2 * (r - fourth_root_half);
    const int32_t q2 = tflmgen_fixed_multiply(q, q);
    const int32_t numerator =
        tflmgen_fixed_multiply(q, r) + tflmgen_fixed_multiply(tflmgen_fixed_multiply(q, q2), alpha_n);
    const int32_t denominator_less_one = tflmgen_fixed_multiply(p, alpha_i + q + tflmgen_fixed_multiply(alpha_d, q2)) +
                                         tflmgen_fixed_multiply(alpha_f, q);
    const int32_t reciprocal = tflmgen_reciprocal_q31(denominator_less_one);
    const int32_t log_r = tflmgen_fixed_multiply(tflmgen_rounding_divide_by_power(numerator, 6), reciprocal);
    return tflmgen_saturating_shift_left(tflmgen_fixed_multiply(power, log_2) + log_r, 1);
}

#endif
