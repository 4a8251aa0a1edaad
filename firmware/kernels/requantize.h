/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Fixed-point requantisation of integers, bit for bit as TFLite Micro's default build does it (two roundings).
 *
 * The words are the same in all kernels, and in the code that packs their operands:
 *     multiplier, m    TFLite's quantized multiplier, a fraction of 2^31
 *     shift            TFLite's, of values to the left: they are scaled by multiplier * 2^(shift - 31)
 *     right_shift, s   -shift. Packed records and their pictures have shifts to the right
 *     first rounding   that of value * multiplier / 2^31: halves up (gemmlowp's SaturatingRoundingDoublingHighMul)
 *     second rounding  that of the shift to the right: halves away from zero (gemmlowp's RoundingDivideByPOT)
 *     addend           what a kernel adds before a plain shift to the right: the roundings' halves and, scaled, the
 *                      output's zero point
 *     sign_fix         what a negative value also loses there, since a plain shift takes halves up (gemmlowp's fixup)
 *     scale            all of these, of a tensor or of a channel
 */
#ifndef TFLMGEN_KERNELS_REQUANTIZE_H
#define TFLMGEN_KERNELS_REQUANTIZE_H

#include "dsp.h"

/* Armv6-M and Armv8-M Baseline have no long multiplication. */
#if defined(__thumb__) && !defined(__thumb2__)
#define TFLMGEN_HAS_LONG_MULTIPLY 0
#elif !defined(TFLMGEN_HAS_LONG_MULTIPLY)
#define TFLMGEN_HAS_LONG_MULTIPLY 1
#endif

/* round(a * b / 2^31), halves up; not of INT32_MIN squared, which does not fit. Without a long multiplication four
 * short ones: the lowest product's lower half stands below the bit that is rounded at, and carries nothing. */
TFLMGEN_HELPER int32_t tflmgen_doubling_high_product(int32_t a, int32_t b)
{
#if TFLMGEN_HAS_LONG_MULTIPLY
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
#else
    const uint32_t a_low = (uint32_t)a & 0xFFFFu, b_low = (uint32_t)b & 0xFFFFu;
    const uint32_t a_high = (uint32_t)(a >> 16), b_high = (uint32_t)(b >> 16);
    const int32_t first = (int32_t)(a_low * b_high + (a_low * b_low >> 16) + (1u << 14));
    const int32_t second = (int32_t)(a_high * b_low);
    const int32_t mean = (first & second) + ((first ^ second) >> 1); /* rounded down */
    return (int32_t)(2u * (a_high * b_high) + (uint32_t)(mean >> 14));
#endif
}

/* The same for any factors: INT32_MIN squared saturates. */
TFLMGEN_HELPER int32_t tflmgen_doubling_high_multiply(int32_t a, int32_t b)
{
    return a == INT32_MIN && b == INT32_MIN ? INT32_MAX : tflmgen_doubling_high_product(a, b);
}

/* round(value * multiplier / 2^16), halves up: tflmgen_doubling_high_product of 2^15 times an int16. */
TFLMGEN_HELPER int32_t tflmgen_doubling_high_product_s16(int32_t value, int32_t multiplier)
{
#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
    return tflmgen_smmulr(value * (1 << 16), multiplier);
#elif TFLMGEN_HAS_LONG_MULTIPLY
    return tflmgen_doubling_high_product(value * (1 << 15), multiplier);
#else
    const int32_t low = value * (multiplier & 0xFFFF);
    return value * (multiplier >> 16) + ((low + (1 << 15)) >> 16);
#endif
}

/* The upper 32 bits of a * b + 2^30 + 2^32 * add, of a and b below 2^31; the sum is below 2^64. */
TFLMGEN_HELPER uint32_t tflmgen_high_sum(uint32_t a, uint32_t b, uint32_t add)
{
#if TFLMGEN_HAS_LONG_MULTIPLY
    return (uint32_t)(((uint64_t)a * b + (((uint64_t)add << 32) | (1u << 30))) >> 32);
#else
    const uint32_t a_low = a & 0xFFFFu, b_low = b & 0xFFFFu, a_high = a >> 16, b_high = b >> 16;
    const uint32_t middle = (a_low * b_low >> 16) + a_low * b_high + a_high * b_low + (1u << 14);
    return a_high * b_high + (middle >> 16) + add;
#endif
}

/* round(value / 2^exponent), halves away from zero; 0 <= exponent <= 31. */
TFLMGEN_HELPER int32_t tflmgen_rounding_divide_by_power(int32_t value, int32_t exponent)
{
    const int32_t mask = (int32_t)(((uint32_t)1 << exponent) - 1u);
    const int32_t threshold = (mask >> 1) + (value < 0 ? 1 : 0);
    return (value >> exponent) + ((value & mask) > threshold ? 1 : 0);
}

/* The same for INT32_MIN < value and 1 <= exponent: 3 instructions. ASR leaves the last bit that it shifts out, which
 * is what ADC adds. */
TFLMGEN_HELPER int32_t tflmgen_rounding_shift_right(int32_t value, int32_t exponent)
{
    value += tflmgen_sign_mask(value);
#if defined(__thumb2__)
    __asm__("asrs %0, %0, %1\n\tadc %0, %0, #0" : "+r"(value) : "rI"(exponent) : "cc");
    return value;
#elif defined(__thumb__)
    __asm__(".syntax unified\n\tasrs %0, %1\n\tadcs %0, %2" : "+l"(value) : "lI"(exponent), "l"(0) : "cc");
    return value;
#else
    return (value >> exponent) + (value >> (exponent - 1) & 1);
#endif
}

/* value * multiplier * 2^(shift - 31); -31 <= shift <= 30. A left shift that overflows wraps. The multiplier is above
 * INT32_MIN, so that the first rounding gives no INT32_MIN. */
TFLMGEN_HELPER int32_t tflmgen_requantize(int32_t value, int32_t multiplier, int32_t shift)
{
    if (shift >= 0) {
        return tflmgen_doubling_high_product((int32_t)((uint32_t)value << shift), multiplier);
    }
    return tflmgen_rounding_shift_right(tflmgen_doubling_high_product(value, multiplier), -shift);
}

/* The same for -2^30 <= value < 2^30 and shift <= 0. */
TFLMGEN_HELPER int32_t tflmgen_requantize_s31(int32_t value, int32_t multiplier, int32_t shift)
{
#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
    const int32_t high = tflmgen_smmulr(value * 2, multiplier);
#else
    const int32_t high = tflmgen_doubling_high_product(value, multiplier);
#endif
    return shift < 0 ? tflmgen_rounding_shift_right(high, -shift) : high;
}

/* An int8 output of a sum and a bias. */
TFLMGEN_HELPER int8_t tflmgen_output_s8(int32_t sum, int32_t bias, int32_t multiplier, int32_t shift,
                                        int32_t zero_point, int32_t least, int32_t greatest)
{
    const int32_t result = tflmgen_requantize(tflmgen_add_wrap_s32(sum, bias), multiplier, shift);
    return (int8_t)tflmgen_clamp_s32(tflmgen_add_wrap_s32(result, zero_point), least, greatest);
}

/* 64-bit accumulators (16-bit activations): the multiplier is cut to 16 bits and rounds once, halves up.
 * |value| < 2^47, -31 <= shift <= 8. */
TFLMGEN_HELPER int32_t tflmgen_requantize_s64(int64_t value, int32_t multiplier, int32_t shift)
{
    const int32_t reduced = multiplier < 0x7FFF0000 ? (multiplier + (1 << 15)) >> 16 : 0x7FFF;
    const int32_t total = 15 - shift;
    return (int32_t)((value * reduced + ((int64_t)1 << (total - 1))) >> total);
}

#endif
