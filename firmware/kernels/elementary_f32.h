/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* exp, the logistic function and tanh in float32, by single-precision operations alone: on every core the same bits.
 * From the exact result exp is less than 0.6 units in the last place away (1.1 where it is subnormal), tanh 1.4 or 1.
 *
 * The reductions are those of W. Cody and W. Waite, "Software Manual for the Elementary Functions" (1980), the
 * polynomials minimax for the relative error, by Lawson's algorithm.
 */
#ifndef TFLMGEN_KERNELS_ELEMENTARY_F32_H
#define TFLMGEN_KERNELS_ELEMENTARY_F32_H

#include <math.h>
#include <string.h>

#include "common.h"

#ifdef __FAST_MATH__
#error "float functions of tflmgen need their operations in order, NaN and infinities: -fno-fast-math, no -Ofast"
#endif

/* exp(x) for -87.3 < x < 88.72, where the result is normal: 2^n exp(r) with n = round(x / log 2), |r| <= log(2) / 2.
 *
 * Adding 1.5 * 2^23 leaves n in the low bits of the sum. log 2 comes in two parts, of which the first has 16 bits, so
 * that n times it is exact. What the roundings of r and of 1 + r lose is added at the end. */
TFLMGEN_HELPER float tflmgen_exp_normal_f32(float x)
{
    const float shifter = 12582912.0f;
    const float shifted = x * 1.44269504f + shifter;
    const float n = shifted - shifter;
    const float high = x - n * 0.693145752f;
    const float low = n * 1.42860677e-6f;
    const float r = high - low;
    const float tail = 0.49999994f + r * (0.1666652f + r * (0.041668393f + r * (0.008368781f + r * 0.0013814467f)));
    const float sum = 1.0f + r;
    const float rounding_error = (r - (sum - 1.0f)) + ((high - r) - low);
    const float power = sum + (r * r * tail + rounding_error);
    uint32_t exponent;
    uint32_t bits;
    float result;
    memcpy(&exponent, &shifted, sizeof exponent);
    memcpy(&bits, &power, sizeof bits);
    bits += exponent << 23;
    memcpy(&result, &bits, sizeof result);
    return result;
}

/* exp(x) where it is huge, tiny, 0 or NaN. */
static __attribute__((noinline, cold, unused)) float tflmgen_exp_extreme_f32(float x)
{
    if (x > 0.0f) {
        return x < 88.7228394f ? tflmgen_exp_normal_f32(x) : INFINITY;
    }
    if (isnan(x)) {
        return x;
    }
    return x < -104.0f ? 0.0f : tflmgen_exp_normal_f32(x + 40.0f) * 4.24835426e-18f;
}

TFLMGEN_HELPER float tflmgen_exp_f32_of(float x)
{
    return fabsf(x) < 87.3f ? tflmgen_exp_normal_f32(x) : tflmgen_exp_extreme_f32(x);
}

/* 1 / (1 + exp(-x)); below -9 exp(x) instead, as TFLite has it. */
TFLMGEN_HELPER float tflmgen_logistic_f32_of(float x)
{
    return x < -9.0f ? tflmgen_exp_f32_of(x) : 1.0f / (1.0f + tflmgen_exp_f32_of(-x));
}

/* tanh within 1 unit in the last place: an odd polynomial below 0.8, else 1 - 2 / (exp(2 |x|) + 1), which is 1 beyond
 * 9.1. The polynomial has two terms more than that of tflmgen_tanh_f32_of, so that it reaches to where the quotient is
 * below 0.34 and its roundings count a third. */
static __attribute__((noinline, unused)) float tflmgen_tanh_accurate_f32(float x)
{
    const float magnitude = fabsf(x);
    if (magnitude < 0.8f) {
        const float square = x * x;
        const float tail =
            -0.333333313f +
            square *
                (0.133332253f + square * (-0.0539533310f +
                                          square * (0.0217705796f +
                                                    square * (-0.00850489456f +
                                                              square * (0.00284770318f + square * -0.000569641357f)))));
        return copysignf(magnitude + magnitude * (square * tail), x);
    }
    if (isnan(x)) {
        return x;
    }
    const float quotient = magnitude < 9.1f ? 2.0f / (tflmgen_exp_normal_f32(2.0f * magnitude) + 1.0f) : 0.0f;
    return copysignf(1.0f - quotient, x);
}

/* An odd polynomial near 0, else 1 - 2 / (exp(2 |x|) + 1) with the sign of x, which is 1 beyond 9.1. */
TFLMGEN_HELPER float tflmgen_tanh_f32_of(float x)
{
    const float magnitude = fabsf(x);
    if (magnitude >= 0.625f) {
        const float power = tflmgen_exp_normal_f32(2.0f * (magnitude < 9.1f ? magnitude : 9.1f));
        return copysignf(1.0f - 2.0f / (power + 1.0f), x);
    }
    const float square = x * x;
    const float tail =
        -0.33333284f +
        square * (0.1333147f + square * (-0.053741623f + square * (0.020644136f + square * -0.005709497f)));
    return x + x * (square * tail);
}

#endif
