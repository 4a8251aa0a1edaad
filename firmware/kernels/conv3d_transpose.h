/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_3D_TRANSPOSE: each element of the input [batch, depth, height, width, channels] adds its multiple of the filter
 * [depth, height, width, output channels, input channels] to the output. */
#ifndef TFLMGEN_KERNELS_CONV3D_TRANSPOSE_H
#define TFLMGEN_KERNELS_CONV3D_TRANSPOSE_H

#include "conv3d.h"

/* What one element adds to one batch of the output. filter: its weights, of which `input_channels` lie side by side;
 * origin: where the filter begins in the output. */
TFLMGEN_HELPER void tflmgen_conv3d_transpose_element(float element, const tflmgen_f32 *filter, const int32_t origin[3],
                                                     tflmgen_f32 *output, const struct tflmgen_conv3d_f32 *p)
{
    const int32_t step = p->output_channels * p->input_channels;
    for (int32_t kz = 0; kz < p->filter[0]; ++kz) {
        const int32_t z = origin[0] + kz * p->dilation[0];
        for (int32_t ky = 0; ky < p->filter[1]; ++ky) {
            const int32_t y = origin[1] + ky * p->dilation[1];
            for (int32_t kx = 0; kx < p->filter[2]; ++kx, filter += step) {
                const int32_t x = origin[2] + kx * p->dilation[2];
                if (z < 0 || z >= p->output[0] || y < 0 || y >= p->output[1] || x < 0 || x >= p->output[2]) {
                    continue;
                }
                tflmgen_f32 *to = output + ((z * p->output[1] + y) * p->output[2] + x) * p->output_channels;
                for (int32_t channel = 0; channel < p->output_channels; ++channel) {
                    to[channel] += element * filter[channel * p->input_channels];
                }
            }
        }
    }
}

/* bias: one per output channel, or NULL. */
TFLMGEN_KERNEL void tflmgen_conv3d_transpose_f32(const tflmgen_f32 *restrict input, const tflmgen_f32 *restrict filter,
                                                 const tflmgen_f32 *restrict bias, tflmgen_f32 *restrict output,
                                                 const struct tflmgen_conv3d_f32 *p)
{
    const int32_t positions = p->input[0] * p->input[1] * p->input[2];
    const int32_t elements = p->output[0] * p->output[1] * p->output[2] * p->output_channels;
    for (int32_t batch = 0; batch < p->batches; ++batch, output += elements) {
        int32_t at[3] = {0, 0, 0};
        for (int32_t i = 0; i < elements; ++i) {
            output[i] = 0.0f;
        }
        for (int32_t position = 0; position < positions; ++position) {
            int32_t origin[3];
            for (int32_t d = 0; d < 3; ++d) {
                origin[d] = at[d] * p->stride[d] - p->padding[d];
            }
            for (int32_t channel = 0; channel < p->input_channels; ++channel) {
                tflmgen_conv3d_transpose_element(*input++, filter + channel, origin, output, p);
            }
            for (int32_t d = 2; d >= 0 && ++at[d] == p->input[d]; --d) {
                at[d] = 0;
            }
        }
        for (int32_t i = 0; i < elements; ++i) {
            const float sum = output[i] + (bias ? bias[i % p->output_channels] : 0.0f);
            output[i] = tflmgen_clamp_f32(sum, p->output_min, p->output_max);
        }
    }
}

#endif
