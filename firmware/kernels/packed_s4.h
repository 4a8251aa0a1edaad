/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* FULLY_CONNECTED and CONV_2D of int8 by int4 filters as files have them, two weights to a byte. One output channel's
 * weights are unpacked at a time, and then used for the whole tensor. */
#ifndef TFLMGEN_KERNELS_PACKED_S4_H
#define TFLMGEN_KERNELS_PACKED_S4_H

#include "conv2d.h"
#include "fully_connected.h"

/* Weights first <= i < first + count. The even ones lie in the lower halves of their bytes. */
TFLMGEN_HELPER void tflmgen_unpack_s4(const uint8_t *packed, int32_t first, int32_t count, int8_t *weights)
{
    for (int32_t i = first; i < first + count; ++i) {
        const uint8_t byte = packed[i >> 1];
        const int8_t upper = (int8_t)(i & 1 ? byte : (uint8_t)(byte << 4));
        *weights++ = (int8_t)(upper >> 4);
    }
}

/* As tflmgen_fully_connected_channels_s8. weights: scratch for one unit. */
TFLMGEN_KERNEL void tflmgen_fully_connected_s4(const int8_t *input, const uint8_t *restrict filter,
                                               const tflmgen_s32 *restrict bias,
                                               const tflmgen_s32 *restrict multipliers, const int8_t *restrict shifts,
                                               int8_t *output, int8_t *restrict weights,
                                               const struct tflmgen_fully_connected_channels_s8 *p)
{
    for (int32_t unit = 0; unit < p->units; ++unit) {
        tflmgen_unpack_s4(filter, unit * p->depth, p->depth, weights);
        for (int32_t batch = 0; batch < p->batches; ++batch) {
            const int32_t sum = tflmgen_dot_s8(input + batch * p->depth, weights, p->depth, p->input_offset);
            output[batch * p->units + unit] =
                tflmgen_output_s8(sum, bias ? bias[unit] : 0, multipliers[unit], shifts[unit], p->output_zero_point,
                                  p->output_min, p->output_max);
        }
    }
}

/* One output channel of one batch. */
TFLMGEN_HELPER void tflmgen_conv2d_channel_s8(const int8_t *input, const int8_t *weights, int32_t bias,
                                              int32_t multiplier, int32_t shift, int8_t *output,
                                              const struct tflmgen_conv2d_s8 *p)
{
    for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {
        const struct tflmgen_taps y = TFLMGEN_TAPS_OF_ROW(p, out_y);
        for (int32_t out_x = 0; out_x < p->output_width; ++out_x) {
            const struct tflmgen_taps x = TFLMGEN_TAPS_OF_COLUMN(p, out_x);
            *output = tflmgen_conv2d_output_s8(input, weights, y, x, bias, multiplier, shift, p);
            output += p->output_channels;
        }
    }
}

/* As tflmgen_conv2d_s8. weights: scratch for one output channel. */
TFLMGEN_KERNEL void tflmgen_conv2d_s4(const int8_t *restrict input, const uint8_t *restrict filter,
                                      const tflmgen_s32 *restrict bias, const tflmgen_s32 *restrict multipliers,
                                      const int8_t *restrict shifts, int8_t *restrict output, int8_t *restrict weights,
                                      const struct tflmgen_conv2d_s8 *p)
{
    const int32_t filter_size = p->filter_height * p->filter_width * p->filter_channels;
    const int32_t group_channels = p->output_channels / (p->input_channels / p->filter_channels);
    const int32_t input_size = p->input_height * p->input_width * p->input_channels;
    const int32_t output_size = p->output_height * p->output_width * p->output_channels;
    for (int32_t channel = 0; channel < p->output_channels; ++channel) {
        const int32_t first = channel / group_channels * p->filter_channels;
        tflmgen_unpack_s4(filter, channel * filter_size, filter_size, weights);
        for (int32_t batch = 0; batch < p->batches; ++batch) {
            tflmgen_conv2d_channel_s8(input + batch * input_size + first, weights, bias ? bias[channel] : 0,
                                      multipliers[channel], shifts[channel], output + batch * output_size + channel, p);
        }
    }
}

#endif
