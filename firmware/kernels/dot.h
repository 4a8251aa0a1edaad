/* Sums of products: the innermost loops of convolutions and matrix products. */
#ifndef TFLMGEN_KERNELS_DOT_H
#define TFLMGEN_KERNELS_DOT_H

#include "common.h"

/* sum of (input[i] + offset) * weights[i] */
TFLMGEN_HELPER int32_t tflmgen_dot_s8(const int8_t *input, const int8_t *weights, int32_t length, int32_t offset)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < length; ++i) {
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
