/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* REQUANTIZE without a table: QUANTIZE of DEQUANTIZE, element by element. */
#ifndef TFLMGEN_KERNELS_REQUANTIZE_FLOAT_H
#define TFLMGEN_KERNELS_REQUANTIZE_FLOAT_H

#include "quantize.h"

struct tflmgen_requantize_float {
    int32_t elements;
    float input_scale;
    int32_t input_zero_point;
    float scale;
    int32_t zero_point;
};

TFLMGEN_KERNEL void tflmgen_requantize_float_s8(const int8_t *input, int8_t *output,
                                                const struct tflmgen_requantize_float *params)
{
    const struct tflmgen_quantize quantize = {params->elements, params->scale, params->zero_point};
    for (int32_t i = 0; i < params->elements; i++) {
        const float real = params->input_scale * (float)(input[i] - params->input_zero_point);
        output[i] = (int8_t)tflmgen_quantize_value(real, &quantize, INT8_MIN, INT8_MAX);
    }
}

#endif
