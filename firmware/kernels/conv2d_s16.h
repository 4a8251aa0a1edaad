/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D of int16 activations by int8 weights, as conv2d.h has it. All zero points are 0. */
#ifndef TFLMGEN_KERNELS_CONV2D_S16_H
#define TFLMGEN_KERNELS_CONV2D_S16_H

#include "sum_s16.h"
#include "window.h"

struct tflmgen_conv2d_s16 {
    TFLMGEN_DILATED_WINDOW_FIELDS
    bool backward; /* a line's pixels from the last to the first */
    int32_t filter_channels;
    int32_t output_min;
    int32_t output_max;
};

/* One output channel's window, of which the taps `y` x `x` lie inside the input. */
TFLMGEN_HELPER int64_t tflmgen_conv2d_window_s16(const tflmgen_s16 *input, const int8_t *filter, struct tflmgen_taps y,
                                                 struct tflmgen_taps x, const struct tflmgen_conv2d_s16 *p)
{
    const bool contiguous = p->dilation_width == 1 && p->filter_channels == p->input_channels;
    int64_t sum = 0;
    for (int32_t ky = y.first; ky < y.end; ++ky) {
        const int8_t *weights = filter + ky * p->filter_width * p->filter_channels;
        const int32_t line = (y.origin + ky * p->dilation_height) * p->input_width;
        if (contiguous) {
            sum += tflmgen_dot_s16(input + (line + x.origin + x.first) * p->input_channels,
                                   weights + x.first * p->filter_channels, (x.end - x.first) * p->filter_channels);
        } else {
            for (int32_t kx = x.first; kx < x.end; ++kx) {
                sum += tflmgen_dot_s16(input + (line + x.origin + kx * p->dilation_width) * p->input_channels,
                                       weights + kx * p->filter_channels, p->filter_channels);
            }
        }
    }
    return sum;
}

/* One output channel of one window. */
#define TFLMGEN_CONV2D_S16(name, output_of, bias_element, finish)                                                  \
    TFLMGEN_HELPER int16_t output_of(const tflmgen_s16 *input, const int8_t *filter, struct tflmgen_taps y,        \
                                     struct tflmgen_taps x, bias_element bias, int32_t multiplier, int32_t shift,  \
                                     const struct tflmgen_conv2d_s16 *p)                                           \
    {                                                                                                              \
        const int32_t result = finish(tflmgen_conv2d_window_s16(input, filter, y, x, p), bias, multiplier, shift); \
        return (int16_t)tflmgen_clamp_s32(result, p->output_min, p->output_max);                                   \
    }                                                                                                              \
    TFLMGEN_WINDOW_KERNEL(name, tflmgen_conv2d_s16, tflmgen_s16, bias_element, output_of, p->filter_channels,      \
                          p->filter_height * p->filter_width * p->filter_channels, p->backward)

TFLMGEN_CONV2D_S16(tflmgen_conv2d_s16_b32, tflmgen_conv2d_output_s16_b32, tflmgen_s32, tflmgen_finish_s16_b32)
TFLMGEN_CONV2D_S16(tflmgen_conv2d_s16_b64, tflmgen_conv2d_output_s16_b64, tflmgen_s64, tflmgen_finish_s16_b64)

#endif
