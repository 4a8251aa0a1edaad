/* CONV_3D: tensors [batch, depth, height, width, channels], filter [output channel, depth, height, width, channel],
 * which files have with the output channels last. */
#ifndef TFLMGEN_KERNELS_CONV3D_H
#define TFLMGEN_KERNELS_CONV3D_H

#include "dot.h"
#include "window.h"

/* Extents along depth, height and width. */
struct tflmgen_conv3d_f32 {
    int32_t batches;
    int32_t input[3];
    int32_t input_channels;
    int32_t output[3];
    int32_t output_channels;
    int32_t filter[3];
    int32_t stride[3];
    int32_t dilation[3];
    int32_t padding[3];
    float output_min;
    float output_max;
};

/* One output channel's window. */
TFLMGEN_HELPER float tflmgen_conv3d_window_f32(const tflmgen_f32 *input, const tflmgen_f32 *filter,
                                               const struct tflmgen_taps *taps, const struct tflmgen_conv3d_f32 *p)
{
    const int32_t channels = p->input_channels;
    float sum = 0.0f;
    for (int32_t kz = taps[0].first; kz < taps[0].end; ++kz) {
        const int32_t plane = (taps[0].origin + kz * p->dilation[0]) * p->input[1];
        for (int32_t ky = taps[1].first; ky < taps[1].end; ++ky) {
            const int32_t line = (plane + taps[1].origin + ky * p->dilation[1]) * p->input[2];
            const tflmgen_f32 *const weights = filter + (kz * p->filter[1] + ky) * p->filter[2] * channels;
            for (int32_t kx = taps[2].first; kx < taps[2].end; ++kx) {
                sum = tflmgen_dot_f32(sum, input + (line + taps[2].origin + kx * p->dilation[2]) * channels,
                                      weights + kx * channels, channels);
            }
        }
    }
    return sum;
}

/* bias: one per output channel, or NULL. */
TFLMGEN_KERNEL void tflmgen_conv3d_f32(const tflmgen_f32 *restrict input, const tflmgen_f32 *restrict filter,
                                       const tflmgen_f32 *restrict bias, tflmgen_f32 *restrict output,
                                       const struct tflmgen_conv3d_f32 *p)
{
    const int32_t filter_size = p->filter[0] * p->filter[1] * p->filter[2] * p->input_channels;
    const int32_t positions = p->output[0] * p->output[1] * p->output[2];
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        int32_t at[3] = {0, 0, 0};
        for (int32_t position = 0; position < positions; ++position) {
            struct tflmgen_taps taps[3];
            for (int32_t d = 0; d < 3; ++d) {
                const int32_t origin = at[d] * p->stride[d] - p->padding[d];
                taps[d] = tflmgen_taps_inside(origin, p->dilation[d], p->filter[d], p->input[d]);
            }
            for (int32_t channel = 0; channel < p->output_channels; ++channel) {
                const float sum = tflmgen_conv3d_window_f32(input, filter + channel * filter_size, taps, p);
                *output++ = tflmgen_clamp_f32(sum + (bias ? bias[channel] : 0.0f), p->output_min, p->output_max);
            }
            for (int32_t d = 2; d >= 0 && ++at[d] == p->output[d]; --d) {
                at[d] = 0;
            }
        }
        input += p->input[0] * p->input[1] * p->input[2] * p->input_channels;
    }
}

#endif
