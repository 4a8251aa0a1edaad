/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* DEPTHWISE_CONV_2D of float32 by int8 weights, as depthwise_conv2d.h has it: each batch is quantised, with a zero
 * point, before it is multiplied (LiteRT's kernels/depthwise_conv.cc). */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_CONV2D_HYBRID_H
#define TFLMGEN_KERNELS_DEPTHWISE_CONV2D_HYBRID_H

#include "depthwise_conv2d.h"
#include "dynamic_quantize.h"

struct tflmgen_depthwise_conv2d_hybrid {
    TFLMGEN_DILATED_WINDOW_FIELDS
    bool per_channel; /* a scale for each output channel */
    float output_min;
    float output_max;
};

/* What the window of one output channel needs. Taps outside the input count as zero. */
TFLMGEN_HELPER struct tflmgen_depthwise_conv2d_s8
tflmgen_depthwise_quantized(const struct tflmgen_depthwise_conv2d_hybrid *p, int32_t zero_point)
{
    const struct tflmgen_depthwise_conv2d_s8 window = {
        .input_width = p->input_width,
        .input_channels = p->input_channels,
        .output_channels = p->output_channels,
        .filter_height = p->filter_height,
        .filter_width = p->filter_width,
        .dilation_height = p->dilation_height,
        .dilation_width = p->dilation_width,
        .input_offset = -zero_point,
        .padding_value = zero_point,
    };
    return window;
}

/* scales: of the filter, one per output channel or one in all; bias: one per output channel, or NULL; quantized:
 * scratch for one batch. */
TFLMGEN_KERNEL void tflmgen_depthwise_conv2d_hybrid(const tflmgen_f32 *input, const int8_t *restrict filter,
                                                    const tflmgen_f32 *restrict scales,
                                                    const tflmgen_f32 *restrict bias, tflmgen_f32 *output,
                                                    int8_t *restrict quantized,
                                                    const struct tflmgen_depthwise_conv2d_hybrid *p)
{
    const int32_t depth_multiplier = p->output_channels / p->input_channels;
    const int32_t input_size = p->input_height * p->input_width * p->input_channels;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const struct tflmgen_row_scale range = tflmgen_quantize_asymmetric(input, quantized, input_size);
        const struct tflmgen_depthwise_conv2d_s8 window = tflmgen_depthwise_quantized(p, range.zero_point);
        for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {
            const struct tflmgen_taps y = TFLMGEN_TAPS_OF_ROW(p, out_y);
            for (int32_t out_x = 0; out_x < p->output_width; ++out_x) {
                const struct tflmgen_taps x = TFLMGEN_TAPS_OF_COLUMN(p, out_x);
                for (int32_t channel = 0; channel < p->output_channels; ++channel) {
                    const int32_t sum = tflmgen_depthwise_window_s8(quantized + channel / depth_multiplier,
                                                                    filter + channel, y, x, &window);
                    const float scaled = (float)sum * (scales[p->per_channel ? channel : 0] * range.scale);
                    *output++ = tflmgen_clamp_f32(scaled + (bias ? bias[channel] : 0.0f), p->output_min, p->output_max);
                }
            }
        }
        input += input_size;
    }
}

#endif
