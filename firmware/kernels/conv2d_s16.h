/* CONV_2D of int16 activations by int8 weights, as conv2d.h has it. All zero points are 0. */
#ifndef TFLMGEN_KERNELS_CONV2D_S16_H
#define TFLMGEN_KERNELS_CONV2D_S16_H

#include "sum_s16.h"
#include "window.h"

struct tflmgen_conv2d_s16 {
    TFLMGEN_WINDOW_FIELDS
    int32_t dilation_height;
    int32_t dilation_width;
    bool backward; /* a line's pixels from the last to the first */
    int32_t filter_channels;
    int32_t output_min;
    int32_t output_max;
};

/* One output channel's window, of which the taps `y` x `x` lie inside the input. */
TFLMGEN_HELPER int64_t tflmgen_conv2d_window_s16(const tflmgen_s16 *input, const int8_t *filter, int32_t origin_y,
                                                 int32_t origin_x, struct tflmgen_taps y, struct tflmgen_taps x,
                                                 const struct tflmgen_conv2d_s16 *p)
{
    const bool contiguous = p->dilation_width == 1 && p->filter_channels == p->input_channels;
    int64_t sum = 0;
    for (int32_t ky = y.first; ky < y.end; ++ky) {
        const int8_t *weights = filter + ky * p->filter_width * p->filter_channels;
        const int32_t line = (origin_y + ky * p->dilation_height) * p->input_width;
        if (contiguous) {
            sum += tflmgen_dot_s16(input + (line + origin_x + x.first) * p->input_channels,
                                   weights + x.first * p->filter_channels, (x.end - x.first) * p->filter_channels);
        } else {
            for (int32_t kx = x.first; kx < x.end; ++kx) {
                sum += tflmgen_dot_s16(input + (line + origin_x + kx * p->dilation_width) * p->input_channels,
                                       weights + kx * p->filter_channels, p->filter_channels);
            }
        }
    }
    return sum;
}

/* bias: one per output channel, or NULL; multipliers, shifts: one per output channel. */
#define TFLMGEN_CONV2D_S16(name, bias_element, finish)                                                               \
    TFLMGEN_KERNEL void name(const tflmgen_s16 *input, const int8_t *restrict filter,                                \
                             const bias_element *restrict bias, const tflmgen_s32 *restrict multipliers,             \
                             const int8_t *restrict shifts, tflmgen_s16 *output, const struct tflmgen_conv2d_s16 *p) \
    {                                                                                                                \
        const int32_t filter_size = p->filter_height * p->filter_width * p->filter_channels;                         \
        const int32_t group_channels = p->output_channels / (p->input_channels / p->filter_channels);                \
        for (int32_t batch = 0; batch < p->batches; ++batch) {                                                       \
            for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {                                             \
                const int32_t origin_y = out_y * p->stride_height - p->padding_top;                                  \
                const struct tflmgen_taps y =                                                                        \
                    tflmgen_taps_inside(origin_y, p->dilation_height, p->filter_height, p->input_height);            \
                for (int32_t i = 0; i < p->output_width; ++i) {                                                      \
                    const int32_t out_x = p->backward ? p->output_width - 1 - i : i;                                 \
                    tflmgen_s16 *const pixel = output + out_x * p->output_channels;                                  \
                    const int32_t origin_x = out_x * p->stride_width - p->padding_left;                              \
                    const struct tflmgen_taps x =                                                                    \
                        tflmgen_taps_inside(origin_x, p->dilation_width, p->filter_width, p->input_width);           \
                    for (int32_t channel = 0; channel < p->output_channels; ++channel) {                             \
                        const int32_t first = channel / group_channels * p->filter_channels;                         \
                        const int64_t sum = tflmgen_conv2d_window_s16(input + first, filter + channel * filter_size, \
                                                                      origin_y, origin_x, y, x, p);                  \
                        const int32_t result =                                                                       \
                            finish(sum, bias ? bias + channel : NULL, multipliers[channel], shifts[channel]);        \
                        pixel[channel] = (int16_t)tflmgen_clamp_s32(result, p->output_min, p->output_max);           \
                    }                                                                                                \
                }                                                                                                    \
                output += p->output_width * p->output_channels;                                                      \
            }                                                                                                        \
            input += p->input_height * p->input_width * p->input_channels;                                           \
        }                                                                                                            \
    }

TFLMGEN_CONV2D_S16(tflmgen_conv2d_s16_b32, tflmgen_s32, tflmgen_finish_s16_b32)
TFLMGEN_CONV2D_S16(tflmgen_conv2d_s16_b64, tflmgen_s64, tflmgen_finish_s16_b64)

#endif
