/* Sums of products: the innermost loops of convolutions and matrix products. */
#ifndef TFLMGEN_KERNELS_DOT_H
#define TFLMGEN_KERNELS_DOT_H

#include "dsp.h"

/* sum of (input[i] + offset) * weights[i]; with the DSP extension four at a time, 2 LDR + 4 SXTAB16 + 2 SMLAD. */
TFLMGEN_HELPER int32_t tflmgen_dot_s8(const int8_t *input, const int8_t *weights, int32_t length, int32_t offset)
{
    int32_t sum = 0;
    int32_t i = 0;
#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
    const uint32_t offsets = (uint32_t)(uint16_t)offset * 0x10001u;
    for (; i < length - 3; i += 4) {
        const uint32_t x = tflmgen_load4(input + i);
        const uint32_t w = tflmgen_load4(weights + i);
        sum = tflmgen_smlad(tflmgen_add_even_bytes(offsets, x), tflmgen_even_bytes(w), sum);
        sum = tflmgen_smlad(tflmgen_add_odd_bytes(offsets, x), tflmgen_odd_bytes(w), sum);
    }
#endif
    for (; i < length; ++i) {
        sum += (input[i] + offset) * weights[i];
    }
    return sum;
}

/* sum of input[i] * weights[i] */
TFLMGEN_HELPER int64_t tflmgen_dot_s16(const int16_t *input, const int8_t *weights, int32_t length)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < length; ++i) {
        sum += input[i] * weights[i];
    }
    return sum;
}

TFLMGEN_HELPER int32_t tflmgen_sum_s8(const int8_t *values, int32_t length)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < length; ++i) {
        sum += values[i];
    }
    return sum;
}

/* `sum` with the products added one after the other, in this order. */
TFLMGEN_HELPER float tflmgen_dot_f32(float sum, const float *input, const float *weights, int32_t length)
{
    for (int32_t i = 0; i < length; ++i) {
        sum += input[i] * weights[i];
    }
    return sum;
}

#endif
