/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* AVERAGE_POOL_2D in int8 for cores with the DSP extension: four channels at a time, the remaining ones one by one;
 * windows of 256 pixels at most, whose sums fit 16 bits. The results are those of pool2d.h.
 *
 * The mean of `count` values is their sum, with half of count added away from zero, times 1 + floor(2^24 / count),
 * shifted right by 24: of magnitudes below 2^16 that is the quotient rounded down, and never a whole number, so that
 * one more is the quotient rounded to zero where it is negative (Granlund and Montgomery 1994).
 */
#ifndef TFLMGEN_KERNELS_AVERAGE_POOL2D_DSP_H
#define TFLMGEN_KERNELS_AVERAGE_POOL2D_DSP_H

#include "dsp.h"
#include "pool2d.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* How a sum of `count` pixels becomes their mean. */
struct tflmgen_average_pool2d_dsp_mean {
    int32_t half;       /* of count, rounded down, times 2^8 */
    int32_t reciprocal; /* 2^24 / count, rounded down, plus 1 */
    int32_t extra;      /* what pixels of padding add to a sum, where they count */
};

/* The mean of a sum: 8 instructions. */
TFLMGEN_HELPER int32_t tflmgen_average_pool2d_dsp_mean_of(int32_t sum,
                                                          const struct tflmgen_average_pool2d_dsp_mean *mean)
{
    sum += mean->extra;
    const int32_t sign = tflmgen_sign_mask(sum);
    return tflmgen_smmla((int32_t)((uint32_t)sum << 8) + ((mean->half ^ sign) - sign), mean->reciprocal, 0) - sign;
}

/* Adds four channels of a pixel to sums of channels 0 and 2, and of 1 and 3: LDR + 2 SXTAB16. */
TFLMGEN_HELPER void tflmgen_average_pool2d_dsp_add(uint32_t sums[2], const int8_t *pixel)
{
    const uint32_t values = tflmgen_load4(pixel);
    sums[0] = tflmgen_add_even_bytes(sums[0], values);
    sums[1] = tflmgen_add_odd_bytes(sums[1], values);
}

/* Four channels of a window, which is `width` by `height` pixels: sums of channels 0 and 2 in sums[0], of 1 and 3 in
 * sums[1], of 16 bits each. Four pixels take 16 instructions, one by itself 6. */
TFLMGEN_HELPER void tflmgen_average_pool2d_dsp_sum_four(uint32_t sums[2], const int8_t *window, int32_t width,
                                                        int32_t height, int32_t row_step, int32_t channels)
{
    uint32_t accumulators[2] = {0, 0};
    for (; height > 0; --height, window += row_step) {
        const int8_t *pixel = window;
        int32_t remaining = width;
        for (; TFLMGEN_FOR_SPEED && remaining >= 4; remaining -= 4) {
            tflmgen_average_pool2d_dsp_add(accumulators, pixel);
            tflmgen_average_pool2d_dsp_add(accumulators, pixel + channels);
            pixel += 2 * channels;
            tflmgen_average_pool2d_dsp_add(accumulators, pixel);
            tflmgen_average_pool2d_dsp_add(accumulators, pixel + channels);
            pixel += 2 * channels;
        }
        for (; remaining > 0; --remaining, pixel += channels) {
            tflmgen_average_pool2d_dsp_add(accumulators, pixel);
        }
    }
    sums[0] = accumulators[0];
    sums[1] = accumulators[1];
}

/* The sum of one channel of a window. */
TFLMGEN_HELPER int32_t tflmgen_average_pool2d_dsp_sum_one(const int8_t *window, int32_t width, int32_t height,
                                                          int32_t row_step, int32_t channels)
{
    int32_t sum = 0;
    for (; height > 0; --height, window += row_step) {
        const int8_t *pixel = window;
        for (int32_t remaining = width; remaining > 0; --remaining, pixel += channels) {
            sum += *pixel;
        }
    }
    return sum;
}

/* PADDING: as in pool2d.h. */
#define TFLMGEN_AVERAGE_POOL2D_DSP(name, params, PADDING)                                                        \
    TFLMGEN_SHARED void name(const int8_t *input, int8_t *output, const struct params *p)                        \
    {                                                                                                            \
        const int32_t channels = p->input_channels;                                                              \
        const int32_t row_step = p->input_width * channels;                                                      \
        const int32_t size = p->batches * p->output_height * p->output_width * channels;                         \
        int8_t *const begin = output;                                                                            \
        for (int32_t batch = 0; batch < p->batches; ++batch, input += p->input_height * row_step) {              \
            for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {                                         \
                const int32_t top = out_y * p->stride_height - p->padding_top;                                   \
                const struct tflmgen_taps y = tflmgen_taps_inside(top, 1, p->filter_height, p->input_height);    \
                for (int32_t out_x = 0; out_x < p->output_width; ++out_x) {                                      \
                    const int32_t left = out_x * p->stride_width - p->padding_left;                              \
                    const struct tflmgen_taps x = tflmgen_taps_inside(left, 1, p->filter_width, p->input_width); \
                    int32_t width = x.end - x.first;                                                             \
                    int32_t height = y.end - y.first;                                                            \
                    int32_t count = width * height;                                                              \
                    if (width == p->input_width) {                                                               \
                        width = count;                                                                           \
                        height = 1;                                                                              \
                    }                                                                                            \
                    struct tflmgen_average_pool2d_dsp_mean mean = {0, 0, 0};                                     \
                    PADDING(mean.extra, count, p->filter_height * p->filter_width - count,                       \
                            TFLMGEN_POOL_ADD_AVERAGE_s8);                                                        \
                    mean.half = count / 2 * 256;                                                                 \
                    mean.reciprocal = (1 << 24) / count + 1;                                                     \
                    const int8_t *window = input + (top + y.first) * row_step + (left + x.first) * channels;     \
                    int32_t channel = channels;                                                                  \
                    for (; channel >= 4; channel -= 4, window += 4, output += 4) {                               \
                        uint32_t sums[2];                                                                        \
                        tflmgen_average_pool2d_dsp_sum_four(sums, window, width, height, row_step, channels);    \
                        output[0] = (int8_t)tflmgen_average_pool2d_dsp_mean_of((int16_t)sums[0], &mean);         \
                        output[1] = (int8_t)tflmgen_average_pool2d_dsp_mean_of((int16_t)sums[1], &mean);         \
                        output[2] = (int8_t)tflmgen_average_pool2d_dsp_mean_of((int32_t)sums[0] >> 16, &mean);   \
                        output[3] = (int8_t)tflmgen_average_pool2d_dsp_mean_of((int32_t)sums[1] >> 16, &mean);   \
                    }                                                                                            \
                    for (; channel > 0; --channel, ++window) {                                                   \
                        const int32_t sum =                                                                      \
                            tflmgen_average_pool2d_dsp_sum_one(window, width, height, row_step, channels);       \
                        *output++ = (int8_t)tflmgen_average_pool2d_dsp_mean_of(sum, &mean);                      \
                    }                                                                                            \
                }                                                                                                \
            }                                                                                                    \
        }                                                                                                        \
        tflmgen_clamp_dsp_s8(begin, size, p->output_min, p->output_max);                                         \
    }

TFLMGEN_AVERAGE_POOL2D_DSP(tflmgen_average_pool2d_dsp_s8, tflmgen_pool2d_s8, TFLMGEN_POOL_IGNORED)
TFLMGEN_AVERAGE_POOL2D_DSP(tflmgen_average_pool2d_zeros_dsp_s8, tflmgen_pool2d_zeros_s8, TFLMGEN_POOL_ZEROS_AVERAGE)

#endif

#endif
