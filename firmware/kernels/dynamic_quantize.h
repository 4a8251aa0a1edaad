/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Rows of float32 quantised to int8 at run time, as TFLite's hybrid kernels do it before they multiply by int8 weights
 * (kernels/internal/reference/portable_tensor_utils.cc). */
#ifndef TFLMGEN_KERNELS_DYNAMIC_QUANTIZE_H
#define TFLMGEN_KERNELS_DYNAMIC_QUANTIZE_H

#include <math.h>

#include "common.h"

/* value = scale * (quantized - zero_point) */
struct tflmgen_row_scale {
    float scale;
    int32_t zero_point;
};

/* The nearest integer, halves away from zero, from `least` to 127. NaN becomes the least. */
TFLMGEN_HELPER int8_t tflmgen_round_to_s8(float value, float least)
{
    const float inside = value > least ? (value < 127.0f ? value : 127.0f) : least;
    const int32_t whole = (int32_t)inside;
    const float rest = inside - (float)whole;
    return (int8_t)(whole + (rest >= 0.5f ? 1 : 0) - (rest <= -0.5f ? 1 : 0));
}

TFLMGEN_HELPER struct tflmgen_row_scale tflmgen_quantize_symmetric(const tflmgen_f32 *values, int8_t *quantized,
                                                                   int32_t length)
{
    struct tflmgen_row_scale result = {1.0f, 0};
    float range = 0.0f;
    for (int32_t i = 0; i < length; ++i) {
        const float magnitude = fabsf(values[i]);
        range = magnitude > range ? magnitude : range;
    }
    float inverse = 0.0f;
    if (range > 0.0f) {
        result.scale = range / 127.0f;
        inverse = 127.0f / range;
    }
    for (int32_t i = 0; i < length; ++i) {
        quantized[i] = tflmgen_round_to_s8(values[i] * inverse, -127.0f);
    }
    return result;
}

/* The zero point is the one of the two from the ends of the range that rounding moves less. */
TFLMGEN_HELPER struct tflmgen_row_scale tflmgen_quantize_asymmetric(const tflmgen_f32 *values, int8_t *quantized,
                                                                    int32_t length)
{
    struct tflmgen_row_scale result = {1.0f, 0};
    float low = 0.0f;
    float high = 0.0f;
    for (int32_t i = 0; i < length; ++i) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    float inverse = 0.0f;
    if (low < high) {
        const double least = (double)low;
        const double greatest = (double)high;
        const double scale = (greatest - least) / 255.0;
        const double from_least = -128.0 - least / scale;
        const double from_greatest = 127.0 - greatest / scale;
        const double point = 128.0 + fabs(least / scale) < 127.0 + fabs(greatest / scale) ? from_least : from_greatest;
        const double inside = point > -128.0 ? (point < 127.0 ? point : 127.0) : -128.0;
        result.zero_point = (int32_t)(inside < 0.0 ? inside - 0.5 : inside + 0.5);
        result.scale = (float)scale;
        inverse = 1.0f / result.scale;
    }
    for (int32_t i = 0; i < length; ++i) {
        quantized[i] = tflmgen_round_to_s8((float)result.zero_point + values[i] * inverse, -128.0f);
    }
    return result;
}

TFLMGEN_HELPER struct tflmgen_row_scale tflmgen_quantize_row(const tflmgen_f32 *values, int8_t *quantized,
                                                             int32_t length, bool asymmetric)
{
    return asymmetric ? tflmgen_quantize_asymmetric(values, quantized, length)
                      : tflmgen_quantize_symmetric(values, quantized, length);
}

#endif
