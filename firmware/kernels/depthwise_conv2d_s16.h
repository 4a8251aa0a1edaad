/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* DEPTHWISE_CONV_2D of int16 activations by int8 weights, as depthwise_conv2d.h has it. All zero points are 0. */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_CONV2D_S16_H
#define TFLMGEN_KERNELS_DEPTHWISE_CONV2D_S16_H

#include "sum_s16.h"
#include "window.h"

struct tflmgen_depthwise_conv2d_s16 {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t output_min;
    int32_t output_max;
};

/* One output channel's window, of which the taps `y` x `x` lie inside the input. */
TFLMGEN_HELPER int64_t tflmgen_depthwise_window_s16(const tflmgen_s16 *input, const int8_t *filter,
                                                    struct tflmgen_taps y, struct tflmgen_taps x,
                                                    const struct tflmgen_depthwise_conv2d_s16 *p)
{
    int64_t sum = 0;
    for (int32_t ky = y.first; ky < y.end; ++ky) {
        const int32_t line = (y.origin + ky * p->dilation_height) * p->input_width + x.origin;
        const int32_t weights = ky * p->filter_width;
        for (int32_t kx = x.first; kx < x.end; ++kx) {
            sum += input[(line + kx * p->dilation_width) * p->input_channels] *
                   filter[(weights + kx) * p->output_channels];
        }
    }
    return sum;
}

/* One output channel of one window. */
TFLMGEN_HELPER int16_t tflmgen_depthwise_output_s16(const tflmgen_s16 *input, const int8_t *filter,
                                                    struct tflmgen_taps y, struct tflmgen_taps x, int64_t bias,
                                                    int32_t multiplier, int32_t shift,
                                                    const struct tflmgen_depthwise_conv2d_s16 *p)
{
    const int64_t sum = tflmgen_depthwise_window_s16(input, filter, y, x, p);
    const int32_t result = tflmgen_finish_s16_b64(sum, bias, multiplier, shift);
    return (int16_t)tflmgen_clamp_s32(result, p->output_min, p->output_max);
}

TFLMGEN_WINDOW_KERNEL(tflmgen_depthwise_conv2d_s16, tflmgen_depthwise_conv2d_s16, tflmgen_s16, tflmgen_s64,
                      tflmgen_depthwise_output_s16, 1, 1, false)

#endif
