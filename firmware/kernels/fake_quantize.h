/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* FAKE_QUANT: floats as they are after quantisation and dequantisation. */
#ifndef TFLMGEN_KERNELS_FAKE_QUANTIZE_H
#define TFLMGEN_KERNELS_FAKE_QUANTIZE_H

#include <math.h>

#include "common.h"

/* Of the quantised range, the ends and the step. */
struct tflmgen_fake_quantize {
    int32_t elements;
    float least;
    float greatest;
    float scale;
    float inverse_scale;
};

/* Safe where input and output begin at the same byte. */
TFLMGEN_KERNEL void tflmgen_fake_quantize_f32(const tflmgen_f32 *input, tflmgen_f32 *output,
                                              const struct tflmgen_fake_quantize *params)
{
    for (int32_t i = 0; i < params->elements; i++) {
        const float value = tflmgen_clamp_f32(input[i], params->least, params->greatest);
        output[i] = roundf((value - params->least) * params->inverse_scale) * params->scale + params->least;
    }
}

#endif
