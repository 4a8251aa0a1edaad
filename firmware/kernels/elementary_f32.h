/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* exp, the logistic function and tanh in float32, by single-precision operations alone: on every core the same bits.
 * From the exact result exp is less than 0.6 units in the last place away (1.1 where it is subnormal), the logistic
 * function 2, tanh 1.8.
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

TFLMGEN_HELPER uint32_t tflmgen_bits_of_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

TFLMGEN_HELPER float tflmgen_f32_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* 2^n power, where both are normal, with n in the low bits of `shifted`. */
TFLMGEN_HELPER float tflmgen_scaled_f32(float power, float shifted)
{
    return tflmgen_f32_of_bits(tflmgen_bits_of_f32(power) + (tflmgen_bits_of_f32(shifted) << 23));
}

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
    return tflmgen_scaled_f32(power, shifted);
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

/* The logistic function where it is 1 or tiny, or of NaN. */
static __attribute__((noinline, cold, unused)) float tflmgen_logistic_extreme_f32(float x)
{
    return x > 0.0f ? 1.0f : tflmgen_exp_extreme_f32(x);
}

/* 1 / (1 + exp(-x)), and below -9 exp(x), as TFLite has it, for |x| < 87.3. The power is that of tflmgen_exp_normal_f32
 * without its rounding error, whose signs and order here spare the negation of x. */
TFLMGEN_HELPER float tflmgen_logistic_normal_f32(float x)
{
    const float shifter = 12582912.0f;
    const float shifted = x * -1.44269504f + shifter;
    const float n = shifted - shifter;
    const float r = (x + n * 0.693145752f) + n * 1.42860677e-6f;
    const float tail = 0.49999994f + r * (-0.1666652f + r * (0.041668393f + r * (-0.008368781f + r * 0.0013814467f)));
    const float power = tflmgen_scaled_f32(1.0f + (r * r * tail - r), shifted);
    return 1.0f / (x < -9.0f ? power : 1.0f + power);
}

TFLMGEN_HELPER float tflmgen_logistic_f32_of(float x)
{
    return fabsf(x) < 87.3f ? tflmgen_logistic_normal_f32(x) : tflmgen_logistic_extreme_f32(x);
}

/* tanh: below 0.55 an odd polynomial, else 1 - 2 v / (2^n u + v), which is 1 beyond 9.1, with
 *
 *     n = round(2 |x| / log 2), q = |x| - n log(2) / 2, tanh q = b / a, u = a + b, v = a - b: exp(2 q) = u / v
 *
 * The fraction b / a is minimax with three coefficients. */
TFLMGEN_HELPER float tflmgen_tanh_f32_of(float x)
{
    const uint32_t bits = tflmgen_bits_of_f32(x);
    const uint32_t magnitude_bits = bits & 0x7FFFFFFF;
    if (magnitude_bits < 0x3F0CCCCD) { /* 0.55 */
        const float square = x * x;
        const float tail = -0.33332947f + square * (0.13320725f + square * (-0.052671812f + square * 0.01643758f));
        return x * (1.0f + square * tail);
    }
    if (magnitude_bits >= 0x4111999A) { /* 9.1 */
        return isnan(x) ? x : copysignf(1.0f, x);
    }
    const float shifter = 12582912.0f;
    const float magnitude = tflmgen_f32_of_bits(magnitude_bits);
    const float shifted = magnitude * 2.88539008f + shifter;
    const float q = magnitude - (shifted - shifter) * 0.34657359f;
    const float b = q * (q * q + 15.019367f);
    const float a = q * q * 6.0064507f + 15.019367f;
    const float v = a - b;
    const float result = 1.0f - (v + v) / (tflmgen_scaled_f32(a + b, shifted) + v);
    return tflmgen_f32_of_bits(tflmgen_bits_of_f32(result) | (bits & 0x80000000u));
}

#endif
