/* Functions of one quantised element: arithmetic for 16 bits; tables for 8 bits are in lookup.h. */
#ifndef TFLMGEN_KERNELS_QUANTIZED_UNARY_H
#define TFLMGEN_KERNELS_QUANTIZED_UNARY_H

#include "inverse_sqrt.h"
#include "requantize.h"

struct tflmgen_clamp_s16 {
    int32_t elements;
    int32_t least;
    int32_t greatest;
};

TFLMGEN_KERNEL void tflmgen_clamp_s16(const tflmgen_s16 *input, tflmgen_s16 *output,
                                      const struct tflmgen_clamp_s16 *params)
{
    for (int32_t i = 0; i < params->elements; i++) {
        output[i] = (int16_t)tflmgen_clamp_s32(input[i], params->least, params->greatest);
    }
}

/* Both zero points are 0. Negative elements have a factor of their own. */
struct tflmgen_two_slopes_s16 {
    int32_t elements;
    int32_t multiplier_positive;
    int32_t shift_positive;
    int32_t multiplier_negative; /* of the element as it is: a negative multiplier makes the result positive */
    int32_t shift_negative;
};

/* RELU, LEAKY_RELU and ABS. */
TFLMGEN_KERNEL void tflmgen_two_slopes_s16(const tflmgen_s16 *input, tflmgen_s16 *output,
                                           const struct tflmgen_two_slopes_s16 *params)
{
    for (int32_t i = 0; i < params->elements; i++) {
        const int32_t x = input[i];
        const int32_t scaled = x >= 0 ? tflmgen_requantize(x, params->multiplier_positive, params->shift_positive)
                                      : tflmgen_requantize(x, params->multiplier_negative, params->shift_negative);
        output[i] = (int16_t)tflmgen_clamp_s32(scaled, INT16_MIN, INT16_MAX);
    }
}

struct tflmgen_rsqrt_s16 {
    int32_t elements;
    int32_t multiplier;
    int32_t shift;
};

/* Both zero points are 0. An element that is not positive gives the greatest output. */
TFLMGEN_KERNEL void tflmgen_rsqrt_s16(const tflmgen_s16 *input, tflmgen_s16 *output,
                                      const struct tflmgen_rsqrt_s16 *params)
{
    for (int32_t i = 0; i < params->elements; i++) {
        const int32_t x = input[i];
        int32_t result = INT16_MAX;
        if (x > 0) {
            int32_t multiplier;
            int32_t shift;
            tflmgen_inverse_sqrt(x, &multiplier, &shift);
            const int32_t inverse = tflmgen_requantize(1, multiplier, shift + TFLMGEN_INVERSE_SQRT_BITS);
            result = tflmgen_requantize(inverse, params->multiplier, params->shift - TFLMGEN_INVERSE_SQRT_BITS);
        }
        output[i] = (int16_t)tflmgen_clamp_s32(result, INT16_MIN, INT16_MAX);
    }
}

/* LOGISTIC and TANH of 16 bits: table[i] = 65536 / (1 + exp(-i / 24)), interpolated. Elements are first brought to
 * steps of 1 / 12288 by (element * multiplier) >> shift, rounded. */
struct tflmgen_sigmoid_s16 {
    int32_t elements;
    int32_t multiplier;
    int32_t shift;
};

TFLMGEN_HELPER int32_t tflmgen_sigmoid_steps(int32_t element, int32_t multiplier, int32_t shift)
{
    const int32_t rounding = (1 << shift) >> 1;
    return (element * multiplier + rounding) >> shift;
}

/* table[position / 2^bits], interpolated, times 2^bits; `saturated` beyond the table's end. */
TFLMGEN_HELPER int32_t tflmgen_sigmoid_interpolate(const tflmgen_u16 *table, int32_t position, int32_t bits,
                                                   int32_t saturated)
{
    const int32_t index = position >> bits;
    const int32_t rest = position & ((1 << bits) - 1);
    if (index >= 255) {
        return saturated;
    }
    return table[index] * (1 << bits) + rest * (table[index + 1] - table[index]);
}

/* `x` in steps of 1 / 12288; the result in 1 / 32768. */
TFLMGEN_HELPER int16_t tflmgen_logistic_of_steps(const tflmgen_u16 *table, int32_t x)
{
    const int32_t positive = tflmgen_sigmoid_interpolate(table, x < 0 ? -x : x, 9, 0x7FFF * 1024);
    const int32_t value = x >= 0 ? positive + 512 : (1 << 25) - positive + 511;
    return (int16_t)(value >> 10);
}

/* The same for tanh(x) = 2 / (1 + exp(-2 * x)) - 1. */
TFLMGEN_HELPER int16_t tflmgen_tanh_of_steps(const tflmgen_u16 *table, int32_t x)
{
    const int32_t positive = tflmgen_sigmoid_interpolate(table, x < 0 ? -x : x, 8, 0xFFFF * 256) - (1 << 23);
    return (int16_t)((x >= 0 ? positive + 128 : 127 - positive) >> 8);
}

TFLMGEN_KERNEL void tflmgen_logistic_s16(const tflmgen_s16 *input, const tflmgen_u16 *table, tflmgen_s16 *output,
                                         const struct tflmgen_sigmoid_s16 *params)
{
    for (int32_t i = 0; i < params->elements; i++) {
        const int32_t steps = tflmgen_sigmoid_steps(input[i], params->multiplier, params->shift);
        output[i] = tflmgen_logistic_of_steps(table, steps);
    }
}

TFLMGEN_KERNEL void tflmgen_tanh_s16(const tflmgen_s16 *input, const tflmgen_u16 *table, tflmgen_s16 *output,
                                     const struct tflmgen_sigmoid_s16 *params)
{
    for (int32_t i = 0; i < params->elements; i++) {
        const int32_t steps = tflmgen_sigmoid_steps(input[i], params->multiplier, params->shift);
        output[i] = tflmgen_tanh_of_steps(table, steps);
    }
}

#endif
