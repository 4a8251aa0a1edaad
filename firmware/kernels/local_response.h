/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* LOCAL_RESPONSE_NORMALIZATION: each element over a power of the squares around it, along the last dimension. */
#ifndef TFLMGEN_KERNELS_LOCAL_RESPONSE_H
#define TFLMGEN_KERNELS_LOCAL_RESPONSE_H

#include <math.h>

#include "common.h"

struct tflmgen_local_response {
    int32_t rows;
    int32_t depth;
    int32_t radius;
    float bias;
    float alpha;
    float beta;
};

/* y[c] = x[c] * (bias + alpha * s)^-beta, for s the sum of the squares of x[c - radius] to x[c + radius - 1]. Elements
 * beyond a row's ends are 0. */
TFLMGEN_KERNEL void tflmgen_local_response_f32(const tflmgen_f32 *restrict input, tflmgen_f32 *restrict output,
                                               const struct tflmgen_local_response *params)
{
    for (int32_t row = 0; row < params->rows; row++, input += params->depth, output += params->depth) {
        for (int32_t c = 0; c < params->depth; c++) {
            const int32_t first = c > params->radius ? c - params->radius : 0;
            const int32_t end = params->depth - c > params->radius ? c + params->radius : params->depth;
            float sum = 0.0f;
            for (int32_t i = first; i < end; i++) {
                sum += input[i] * input[i];
            }
            output[c] = input[c] * powf(params->bias + params->alpha * sum, -params->beta);
        }
    }
}

#endif
