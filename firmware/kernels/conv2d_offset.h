/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D and DEPTHWISE_CONV_2D in int8 whose filter has a zero point, as that of uint8 networks: TFLite's
 * reference_ops/conv.h and depthwiseconv_uint8.h, with codes less 128. Pixels around the input are its zero point. */
#ifndef TFLMGEN_KERNELS_CONV2D_OFFSET_H
#define TFLMGEN_KERNELS_CONV2D_OFFSET_H

#include "requantize.h"
#include "window.h"

struct tflmgen_conv2d_offset_s8 {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t slice;         /* input channels that one output channel sees */
    int32_t filter_step;   /* weights from one output channel's first to the next one's */
    int32_t tap_step;      /* weights from one tap to the next */
    int32_t input_offset;  /* added to every input value */
    int32_t filter_offset; /* added to every weight */
    int32_t output_zero_point;
    int32_t output_min;
    int32_t output_max;
};

/* One output channel of one window. */
TFLMGEN_HELPER int8_t tflmgen_conv2d_offset_output_s8(const int8_t *input, const int8_t *filter, struct tflmgen_taps y,
                                                      struct tflmgen_taps x, int32_t bias, int32_t multiplier,
                                                      int32_t shift, const struct tflmgen_conv2d_offset_s8 *p)
{
    int32_t sum = 0;
    for (int32_t ky = y.first; ky < y.end; ++ky) {
        const int32_t line = (y.origin + ky * p->dilation_height) * p->input_width + x.origin;
        for (int32_t kx = x.first; kx < x.end; ++kx) {
            const int8_t *const values = input + (line + kx * p->dilation_width) * p->input_channels;
            const int8_t *const weights = filter + (ky * p->filter_width + kx) * p->tap_step;
            for (int32_t channel = 0; channel < p->slice; ++channel) {
                sum += (values[channel] + p->input_offset) * (weights[channel] + p->filter_offset);
            }
        }
    }
    return tflmgen_output_s8(sum, bias, multiplier, shift, p->output_zero_point, p->output_min, p->output_max);
}

TFLMGEN_WINDOW_KERNEL(tflmgen_conv2d_offset_s8, tflmgen_conv2d_offset_s8, int8_t, tflmgen_s32,
                      tflmgen_conv2d_offset_output_s8, p->slice, p->filter_step, false)

#endif
