/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Rows of [rows, depth] normalised to mean 0 and variance 1 (Ba, Kiros and Hinton, Layer Normalization, 2016), or
 * divided by the root of their mean square (Zhang and Sennrich, Root Mean Square Layer Normalization, 2019), or by
 * their length. */
#ifndef TFLMGEN_KERNELS_NORMALIZE_H
#define TFLMGEN_KERNELS_NORMALIZE_H

#include <math.h>

#include "common.h"

struct tflmgen_normalize_f32 {
    int32_t rows;
    int32_t depth;
    float epsilon;
    float factor; /* of the sum of squares: 1 / depth for a mean, 1 for a length */
    bool centred;
};

/* output = (input - mean) / sqrt(factor * sum of squares + epsilon) * gain + bias; gain and bias, `depth` of each, may
 * be NULL. Safe where input and output begin at the same byte. */
TFLMGEN_KERNEL void tflmgen_normalize_f32(const tflmgen_f32 *input, const tflmgen_f32 *gain, const tflmgen_f32 *bias,
                                          tflmgen_f32 *output, const struct tflmgen_normalize_f32 *p)
{
    for (int32_t row = 0; row < p->rows; ++row) {
        float mean = 0.0f;
        if (p->centred) {
            for (int32_t i = 0; i < p->depth; ++i) {
                mean += input[i];
            }
            mean /= (float)p->depth;
        }
        float sum_of_squares = 0.0f;
        for (int32_t i = 0; i < p->depth; ++i) {
            const float difference = input[i] - mean;
            sum_of_squares += difference * difference;
        }
        const float scale = 1.0f / sqrtf(sum_of_squares * p->factor + p->epsilon);
        for (int32_t i = 0; i < p->depth; ++i) {
            const float value = (input[i] - mean) * scale;
            const float scaled = gain == NULL ? value : value * gain[i];
            output[i] = bias == NULL ? scaled : scaled + bias[i];
        }
        input += p->depth;
        output += p->depth;
    }
}

#endif
