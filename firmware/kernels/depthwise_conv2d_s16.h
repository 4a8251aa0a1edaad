/* DEPTHWISE_CONV_2D of int16 activations by int8 weights, as depthwise_conv2d.h has it. All zero points are 0. */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_CONV2D_S16_H
#define TFLMGEN_KERNELS_DEPTHWISE_CONV2D_S16_H

#include "sum_s16.h"
#include "window.h"

struct tflmgen_depthwise_conv2d_s16 {
    TFLMGEN_WINDOW_FIELDS
    int32_t dilation_height;
    int32_t dilation_width;
    int32_t output_min;
    int32_t output_max;
};

/* One output channel's window, of which the taps `y` x `x` lie inside the input. */
TFLMGEN_HELPER int64_t tflmgen_depthwise_window_s16(const tflmgen_s16 *input, const int8_t *filter, int32_t origin_y,
                                                    int32_t origin_x, struct tflmgen_taps y, struct tflmgen_taps x,
                                                    const struct tflmgen_depthwise_conv2d_s16 *p)
{
    int64_t sum = 0;
    for (int32_t ky = y.first; ky < y.end; ++ky) {
        const int32_t line = (origin_y + ky * p->dilation_height) * p->input_width + origin_x;
        const int32_t weights = ky * p->filter_width;
        for (int32_t kx = x.first; kx < x.end; ++kx) {
            sum += input[(line + kx * p->dilation_width) * p->input_channels] *
                   filter[(weights + kx) * p->output_channels];
        }
    }
    return sum;
}

/* bias: one per output channel, or NULL; multipliers, shifts: one per output channel. */
TFLMGEN_KERNEL void tflmgen_depthwise_conv2d_s16(const tflmgen_s16 *input, const int8_t *restrict filter,
                                                 const tflmgen_s64 *restrict bias,
                                                 const tflmgen_s32 *restrict multipliers, const int8_t *restrict shifts,
                                                 tflmgen_s16 *output, const struct tflmgen_depthwise_conv2d_s16 *p)
{
    const int32_t depth_multiplier = p->output_channels / p->input_channels;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {
            const int32_t origin_y = out_y * p->stride_height - p->padding_top;
            const struct tflmgen_taps y =
                tflmgen_taps_inside(origin_y, p->dilation_height, p->filter_height, p->input_height);
            for (int32_t out_x = 0; out_x < p->output_width; ++out_x) {
                const int32_t origin_x = out_x * p->stride_width - p->padding_left;
                const struct tflmgen_taps x =
                    tflmgen_taps_inside(origin_x, p->dilation_width, p->filter_width, p->input_width);
                int32_t channel = 0;
                for (int32_t in_channel = 0; in_channel < p->input_channels; ++in_channel) {
                    for (int32_t m = 0; m < depth_multiplier; ++m, ++channel) {
                        const int64_t sum = tflmgen_depthwise_window_s16(input + in_channel, filter + channel, origin_y,
                                                                         origin_x, y, x, p);
                        const int32_t result = tflmgen_finish_s16_b64(sum, bias ? bias + channel : NULL,
                                                                      multipliers[channel], shifts[channel]);
                        *output++ = (int16_t)tflmgen_clamp_s32(result, p->output_min, p->output_max);
                    }
                }
            }
        }
        input += p->input_height * p->input_width * p->input_channels;
    }
}

#endif
