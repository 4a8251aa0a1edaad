/* DEPTHWISE_CONV_2D of int16 activations by int8 weights, one filter per channel, for cores with the DSP extension and
 * layers whose sums provably fit 32 bits. Multipliers are those of conv2d_s16_dsp.h.
 *
 * Four channels at a time, their weights in the order 0, 2, 1, 3, and at last those that are left.
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_CONV2D_S16_DSP_H
#define TFLMGEN_KERNELS_DEPTHWISE_CONV2D_S16_DSP_H

#include "dsp.h"
#include "window.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

struct tflmgen_depthwise_conv2d_s16_dsp {
    TFLMGEN_WINDOW_FIELDS
    int32_t dilation_height;
    int32_t dilation_width;
    int32_t output_min;
    int32_t output_max;
};

/* sums of four channels += `taps` values of each by their weights; steps in elements. Four products per tap: 3 LDR + 2
 * SXTB16 + 2 SMLABB + 2 SMLATT. */
TFLMGEN_HELPER void tflmgen_depthwise_taps_s16_dsp(int32_t sums[4], const int16_t *x, int32_t x_step,
                                                   const int8_t *weights, int32_t weight_step, int32_t taps)
{
    for (; taps > 0; --taps, x += x_step, weights += weight_step) {
        const uint32_t x01 = tflmgen_load4(x);
        const uint32_t x23 = tflmgen_load4(x + 2);
        const uint32_t w = tflmgen_load4(weights);
        const uint32_t w01 = tflmgen_even_bytes(w);
        const uint32_t w23 = tflmgen_odd_bytes(w);
        sums[0] = tflmgen_smlabb(x01, w01, sums[0]);
        sums[1] = tflmgen_smlatt(x01, w01, sums[1]);
        sums[2] = tflmgen_smlabb(x23, w23, sums[2]);
        sums[3] = tflmgen_smlatt(x23, w23, sums[3]);
    }
}

/* bias, multipliers: one per channel. */
TFLMGEN_KERNEL void tflmgen_depthwise_conv2d_s16_dsp(const int16_t *input, const int8_t *restrict filter,
                                                     const int32_t *restrict bias, const int32_t *restrict multipliers,
                                                     int16_t *output, const struct tflmgen_depthwise_conv2d_s16_dsp *p)
{
    const int32_t channels = p->input_channels;
    const int32_t step = p->dilation_width * channels;
    const int32_t line = p->dilation_height * p->input_width * channels;
    const int32_t row = p->filter_width * channels;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {
            const int32_t origin_y = out_y * p->stride_height - p->padding_top;
            const struct tflmgen_taps y =
                tflmgen_taps_inside(origin_y, p->dilation_height, p->filter_height, p->input_height);
            const int32_t first_y = origin_y + y.first * p->dilation_height;
            for (int32_t out_x = 0; out_x < p->output_width; ++out_x) {
                const int32_t origin_x = out_x * p->stride_width - p->padding_left;
                const struct tflmgen_taps x =
                    tflmgen_taps_inside(origin_x, p->dilation_width, p->filter_width, p->input_width);
                const int32_t first_x = origin_x + x.first * p->dilation_width;
                const int16_t *const window = input + (first_y * p->input_width + first_x) * channels;
                const int8_t *const weights = filter + y.first * row + x.first * channels;
                const int32_t columns = x.end - x.first;
                const int32_t lines = y.end - y.first;
                int32_t channel = 0;
                for (; channel + 4 <= channels; channel += 4) {
                    int32_t sums[4] = {bias[channel], bias[channel + 1], bias[channel + 2], bias[channel + 3]};
                    for (int32_t ky = 0; ky < lines; ++ky) {
                        tflmgen_depthwise_taps_s16_dsp(sums, window + ky * line + channel, step,
                                                       weights + ky * row + channel, channels, columns);
                    }
                    for (int32_t i = 0; i < 4; ++i) {
                        const int32_t result = tflmgen_smmulr(sums[i], multipliers[channel + i]);
                        *output++ = (int16_t)tflmgen_clamp_s32(result, p->output_min, p->output_max);
                    }
                }
                for (; channel < channels; ++channel) {
                    int32_t sum = bias[channel];
                    for (int32_t ky = 0; ky < lines; ++ky) {
                        for (int32_t kx = 0; kx < columns; ++kx) {
                            sum += window[ky * line + kx * step + channel] *
                                   weights[ky * row + kx * channels + channel];
                        }
                    }
                    const int32_t result = tflmgen_smmulr(sum, multipliers[channel]);
                    *output++ = (int16_t)tflmgen_clamp_s32(result, p->output_min, p->output_max);
                }
            }
        }
        input += p->input_height * p->input_width * channels;
    }
}

#endif

#endif
