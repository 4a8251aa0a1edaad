/* Fixed-point rescaling of integers, bit for bit as TFLite Micro's default build does it (two roundings). */
#ifndef TFLMGEN_KERNELS_REQUANTIZE_H
#define TFLMGEN_KERNELS_REQUANTIZE_H

#include "common.h"

/* round(a * b / 2^31), halves up; the one product that overflows, INT32_MIN squared, saturates. */
TFLMGEN_HELPER int32_t tflmgen_doubling_high_multiply(int32_t a, int32_t b)
{
    if (a == INT32_MIN && b == INT32_MIN) {
        return INT32_MAX;
    }
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}

/* round(value / 2^exponent), halves away from zero; 0 <= exponent <= 31. */
TFLMGEN_HELPER int32_t tflmgen_rounding_divide_by_power(int32_t value, int32_t exponent)
{
    const int32_t mask = (int32_t)(((uint32_t)1 << exponent) - 1u);
    const int32_t threshold = (mask >> 1) + (value < 0 ? 1 : 0);
    return (value >> exponent) + ((value & mask) > threshold ? 1 : 0);
}

/* value * multiplier * 2^(shift - 31); -31 <= shift <= 30. A left shift that overflows wraps. */
TFLMGEN_HELPER int32_t tflmgen_requantize(int32_t value, int32_t multiplier, int32_t shift)
{
    const int32_t left = shift > 0 ? shift : 0;
    const int32_t right = shift > 0 ? 0 : -shift;
    const int32_t shifted = (int32_t)((uint32_t)value << left);
    return tflmgen_rounding_divide_by_power(tflmgen_doubling_high_multiply(shifted, multiplier), right);
}

/* The same for a multiplier known to be at most 1 (shift <= 0). */
TFLMGEN_HELPER int32_t tflmgen_requantize_down(int32_t value, int32_t multiplier, int32_t shift)
{
    return tflmgen_rounding_divide_by_power(tflmgen_doubling_high_multiply(value, multiplier), -shift);
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
