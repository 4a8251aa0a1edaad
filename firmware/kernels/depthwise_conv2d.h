/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* DEPTHWISE_CONV_2D: tensors [batch, height, width, channels], filter [1, height, width, output channel].
 *
 * Output channel c sees input channel c / (output channels / input channels) alone.
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_CONV2D_H
#define TFLMGEN_KERNELS_DEPTHWISE_CONV2D_H

#include "lanes_f32.h"
#include "requantize.h"
#include "window.h"

struct tflmgen_depthwise_conv2d_s8 {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t input_offset;  /* added to every input value; 0 where it is folded into the bias */
    int32_t padding_value; /* what the pixels around the input hold */
    int32_t output_zero_point;
    int32_t output_min;
    int32_t output_max;
};

/* One output channel's window, of which the taps `y` x `x` lie inside the input. */
TFLMGEN_HELPER int32_t tflmgen_depthwise_window_s8(const int8_t *input, const int8_t *filter, struct tflmgen_taps y,
                                                   struct tflmgen_taps x, const struct tflmgen_depthwise_conv2d_s8 *p)
{
    const int32_t channels = p->output_channels;
    const int32_t padding = p->padding_value + p->input_offset;
    const int32_t taps = p->filter_height * p->filter_width;
    const bool clipped = (y.end - y.first) * (x.end - x.first) < taps;
    int32_t sum = 0;
    for (int32_t ky = y.first; ky < y.end; ++ky) {
        const int32_t line = (y.origin + ky * p->dilation_height) * p->input_width + x.origin;
        const int32_t weights = ky * p->filter_width;
        for (int32_t kx = x.first; kx < x.end; ++kx) {
            sum += (input[(line + kx * p->dilation_width) * p->input_channels] + p->input_offset) *
                   filter[(weights + kx) * channels];
        }
    }
    if (clipped && padding) {
        for (int32_t ky = 0; ky < p->filter_height; ++ky) {
            for (int32_t kx = 0; kx < p->filter_width; ++kx) {
                if (ky < y.first || ky >= y.end || kx < x.first || kx >= x.end) {
                    sum += padding * filter[(ky * p->filter_width + kx) * channels];
                }
            }
        }
    }
    return sum;
}

/* One output channel of one window. */
TFLMGEN_HELPER int8_t tflmgen_depthwise_output_s8(const int8_t *input, const int8_t *filter, struct tflmgen_taps y,
                                                  struct tflmgen_taps x, int32_t bias, int32_t multiplier,
                                                  int32_t shift, const struct tflmgen_depthwise_conv2d_s8 *p)
{
    const int32_t sum = tflmgen_depthwise_window_s8(input, filter, y, x, p);
    return tflmgen_output_s8(sum, bias, multiplier, shift, p->output_zero_point, p->output_min, p->output_max);
}

TFLMGEN_WINDOW_KERNEL(tflmgen_depthwise_conv2d_s8, tflmgen_depthwise_conv2d_s8, int8_t, tflmgen_s32,
                      tflmgen_depthwise_output_s8, 1, 1, false)

struct tflmgen_depthwise_conv2d_f32 {
    TFLMGEN_DILATED_WINDOW_FIELDS
    float output_min;
    float output_max;
};

/* bias: one per output channel, or NULL. TFLMGEN_LANES_F32 channels at a time, of which the last may overlap those
 * before, where there are so many that see one input channel each, or all the same; others one by one. */
TFLMGEN_KERNEL void tflmgen_depthwise_conv2d_f32(const tflmgen_f32 *input, const tflmgen_f32 *restrict filter,
                                                 const tflmgen_f32 *restrict bias, tflmgen_f32 *output,
                                                 const struct tflmgen_depthwise_conv2d_f32 *p)
{
    const int32_t channels = p->output_channels;
    const int32_t depth_multiplier = p->output_channels / p->input_channels;
    const bool has_lanes =
        channels >= TFLMGEN_LANES_F32 && (depth_multiplier == 1 || depth_multiplier % TFLMGEN_LANES_F32 == 0);
    const int32_t step = p->dilation_width * p->input_channels;
    const int32_t line = p->dilation_height * p->input_width * p->input_channels;
    const int32_t row = p->filter_width * channels;
    const float least = p->output_min;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {
            const struct tflmgen_taps y = TFLMGEN_TAPS_OF_ROW(p, out_y);
            const int32_t first_y = y.origin + y.first * p->dilation_height;
            for (int32_t out_x = 0; out_x < p->output_width; ++out_x) {
                const struct tflmgen_taps x = TFLMGEN_TAPS_OF_COLUMN(p, out_x);
                const int32_t first_x = x.origin + x.first * p->dilation_width;
                const tflmgen_f32 *const window = input + (first_y * p->input_width + first_x) * p->input_channels;
                const tflmgen_f32 *const weights = filter + y.first * row + x.first * channels;
                const int32_t columns = x.end - x.first;
                const struct tflmgen_lanes_f32 taps = {columns,  line - columns * step, row - columns * channels, step,
                                                       channels, y.end - y.first};
                int32_t channel = 0;
                float total = 0.0f;
                if (has_lanes && columns > 0 && taps.lines > 0) {
                    total = tflmgen_window_lanes_f32(window, depth_multiplier, weights, bias, channels, least, output,
                                                     &taps);
                    channel = channels;
                }
                for (; channel < channels; ++channel) {
                    const tflmgen_f32 *const values = window + channel / depth_multiplier;
                    float sum = 0.0f;
                    for (int32_t ky = 0; ky < taps.lines; ++ky) {
                        for (int32_t kx = 0; kx < columns; ++kx) {
                            sum += values[ky * line + kx * step] * weights[ky * row + kx * channels + channel];
                        }
                    }
                    output[channel] =
                        tflmgen_clamp_f32(sum + (bias ? bias[channel] : 0.0f), p->output_min, p->output_max);
                }
                /* A total that is finite shows that no value is beyond the range of all finite floats. */
                if (p->output_max < FLT_MAX || !(total - total >= 0.0f)) {
                    tflmgen_clamp_row_f32(output, channels, p->output_min, p->output_max);
                }
                output += channels;
            }
        }
        input += p->input_height * p->input_width * p->input_channels;
    }
}

#endif
