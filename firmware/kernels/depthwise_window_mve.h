/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* DEPTHWISE_CONV_2D in int8 with any window and number of filters per channel, for cores with MVE: eight outputs of one
 * pixel at a time.
 *
 * Products of two taps fit 16 bits together, 2 * 127 * 128 < 2^15 (no weight is -128), and only their sums are widened.
 * The weights are a stream of groups of eight output channels, those that a gathered last group lacks are zeros:
 *     eight weights of each tap | bias, m, -r of channels 0, 2, 4, 6 | the same of 1, 3, 5, 7
 * Values lie side by side where each channel has one filter and there are eight at least; the last group then begins
 * so early that it is whole, and computes channels again. Others are gathered by a table of input channels; lanes
 * without an output read the last channel and are not stored.
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_WINDOW_MVE_H
#define TFLMGEN_KERNELS_DEPTHWISE_WINDOW_MVE_H

#include "depthwise3x3_mve.h"
#include "window.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

#define TFLMGEN_DEPTHWISE_WINDOW_MVE_CHANNELS 8 /* at a time */

struct tflmgen_depthwise_window_mve_s8 {
    TFLMGEN_DILATED_CHANNEL_WINDOW_FIELDS
    int32_t filters; /* of each channel */
    int32_t padding_value;
    bool by_twos; /* two neighbouring pixels of 3x3 windows at a time */
    int32_t output_zero_point;
    int32_t output_min;
    int32_t output_max;
};

/* Eight channels of any window. Two taps, 16 MACs: LDRD, 2 ADD, 4 VLDRB, 2 VMUL, VADD, 2 VMOVL, 2 VADD, and 3 to
 * loop. */
TFLMGEN_HELPER const int8_t *tflmgen_depthwise_window_mve_group(const int8_t *const *taps, int32_t count,
                                                                int32_t channel, const int8_t *stream, int8_t *output,
                                                                int32_t zero_point)
{
    const tflmgen_s32 *factors = (const tflmgen_s32 *)(const void *)(stream + 8 * count);
    int32x4_t even = vld1q_s32(factors);
    int32x4_t odd = vld1q_s32(factors + 12);
    for (int32_t pairs = count / 2; pairs > 0; --pairs, stream += 16, taps += 2) {
        int16x8_t sum = vmulq_s16(vldrbq_s16(taps[0] + channel), vldrbq_s16(stream));
        sum = vaddq_s16(sum, vmulq_s16(vldrbq_s16(taps[1] + channel), vldrbq_s16(stream + 8)));
        even = vaddq_s32(even, vmovlbq_s16(sum));
        odd = vaddq_s32(odd, vmovltq_s16(sum));
    }
    /* Not what is left of a count: GCC 12 for -Os forgets to look whether that is 0. */
    if (count % 2 != 0) {
        const int16x8_t last = vmulq_s16(vldrbq_s16(taps[0] + channel), vldrbq_s16(stream));
        even = vaddq_s32(even, vmovlbq_s16(last));
        odd = vaddq_s32(odd, vmovltq_s16(last));
    }
    even = tflmgen_depthwise_window_mve_requantize(even, factors);
    odd = tflmgen_depthwise_window_mve_requantize(odd, factors + 12);
    tflmgen_depthwise_window_mve_store(output, even, odd, zero_point);
    return (const int8_t *)(const void *)(factors + 24);
}

/* The same of up to eight outputs. channels: of each output the channel that it sees. Two taps: 2 LDR, 2 gathering and
 * 2 other VLDRB, and the arithmetic as above. */
TFLMGEN_HELPER const int8_t *tflmgen_depthwise_window_mve_some(const int8_t *const *taps, int32_t count,
                                                               const tflmgen_u16 *channels, const int8_t *stream,
                                                               int8_t *output, int32_t outputs, int32_t zero_point)
{
    const uint16x8_t at = vldrhq_u16(channels);
    const tflmgen_s32 *factors = (const tflmgen_s32 *)(const void *)(stream + 8 * count);
    int32x4_t even = vld1q_s32(factors);
    int32x4_t odd = vld1q_s32(factors + 12);
    for (int32_t pairs = count / 2; pairs > 0; --pairs, stream += 16, taps += 2) {
        int16x8_t sum = vmulq_s16(vldrbq_gather_offset_s16(taps[0], at), vldrbq_s16(stream));
        sum = vaddq_s16(sum, vmulq_s16(vldrbq_gather_offset_s16(taps[1], at), vldrbq_s16(stream + 8)));
        even = vaddq_s32(even, vmovlbq_s16(sum));
        odd = vaddq_s32(odd, vmovltq_s16(sum));
    }
    if (count % 2 != 0) {
        const int16x8_t last = vmulq_s16(vldrbq_gather_offset_s16(taps[0], at), vldrbq_s16(stream));
        even = vaddq_s32(even, vmovlbq_s16(last));
        odd = vaddq_s32(odd, vmovltq_s16(last));
    }
    even = tflmgen_depthwise_window_mve_requantize(even, factors);
    odd = tflmgen_depthwise_window_mve_requantize(odd, factors + 12);
    tflmgen_depthwise_window_mve_store_some(output, even, odd, zero_point, outputs);
    return (const int8_t *)(const void *)(factors + 24);
}

/* Where each tap of a window begins; `outside` where it is not in the input. */
TFLMGEN_SHARED void tflmgen_depthwise_window_mve_taps(const int8_t **taps, const int8_t *outside, const int8_t *input,
                                                      int32_t origin_y, int32_t origin_x,
                                                      const struct tflmgen_depthwise_window_mve_s8 *p)
{
    const int32_t step = p->dilation_width * p->input_channels;
    for (int32_t ky = 0; ky < p->filter_height; ++ky) {
        const int32_t y = origin_y + ky * p->dilation_height;
        const bool inside = y >= 0 && y < p->input_height;
        const int8_t *at = input + (y * p->input_width + origin_x) * p->input_channels;
        int32_t x = origin_x;
        for (int32_t kx = 0; kx < p->filter_width; ++kx, x += p->dilation_width, at += step) {
            *taps++ = inside && x >= 0 && x < p->input_width ? at : outside;
        }
    }
}

/* Whether values are gathered: where channels have several filters, or are fewer than a group. */
#define TFLMGEN_DEPTHWISE_WINDOW_MVE_GATHERS(p) ((p)->filters > 1 || (p)->input_channels < 8)

/* All channels of one pixel. channels: of each output the channel that it sees. */
TFLMGEN_SHARED void tflmgen_depthwise_window_mve_pixel(const int8_t *const *taps, const tflmgen_u16 *channels,
                                                       const int8_t *stream, int8_t *output,
                                                       const struct tflmgen_depthwise_window_mve_s8 *p)
{
    const int32_t count = p->filter_height * p->filter_width;
    const int32_t outputs = p->input_channels * p->filters;
    const bool gathers = TFLMGEN_DEPTHWISE_WINDOW_MVE_GATHERS(p);
    for (int32_t begin = 0; begin < outputs; begin += TFLMGEN_DEPTHWISE_WINDOW_MVE_CHANNELS) {
        if (gathers) {
            stream = tflmgen_depthwise_window_mve_some(taps, count, channels + begin, stream, output + begin,
                                                       outputs - begin, p->output_zero_point);
        } else {
            const int32_t at = tflmgen_min_s32(begin, outputs - TFLMGEN_DEPTHWISE_WINDOW_MVE_CHANNELS);
            stream = tflmgen_depthwise_window_mve_group(taps, count, at, stream, output + at, p->output_zero_point);
        }
    }
}

/* Of each output the channel that it sees, and of lanes beyond them the last one. */
TFLMGEN_HELPER void tflmgen_depthwise_window_mve_channels(tflmgen_u16 *channels, int32_t outputs,
                                                          const struct tflmgen_depthwise_window_mve_s8 *p)
{
    int32_t channel = 0;
    int32_t filter = 0;
    for (int32_t i = 0; i < outputs; ++i) {
        channels[i] = (tflmgen_u16)channel;
        if (++filter == p->filters && channel < p->input_channels - 1) {
            filter = 0;
            ++channel;
        }
    }
}

TFLMGEN_HELPER void tflmgen_depthwise_window_mve_run(const int8_t *input, const int8_t *stream, void *scratch,
                                                     int8_t *output, const struct tflmgen_depthwise_window_mve_s8 *p)
{
    const int8_t **const taps = (const int8_t **)scratch;
    tflmgen_u16 *const seen = (tflmgen_u16 *)(taps + p->filter_height * p->filter_width);
    const int32_t channels = p->input_channels;
    const int32_t outputs = channels * p->filters;
    const bool gathers = TFLMGEN_DEPTHWISE_WINDOW_MVE_GATHERS(p);
    const int32_t lanes = gathers ? (outputs + 7) / 8 * 8 : 0;
    int8_t *const outside = (int8_t *)(seen + lanes);
    const bool three =
        p->filter_height == 3 && p->filter_width == 3 && p->dilation_height == 1 && p->dilation_width == 1 && !gathers;
    /* The last columns at which a window of three, and two of them side by side, may begin inside. */
    const int32_t last = three ? p->input_width - 3 : -1;
    const int32_t last_of_two = p->by_twos ? last - 1 : -1;
    tflmgen_depthwise_window_mve_channels(seen, lanes, p);
    tflmgen_fill_mve(outside, p->padding_value, three ? (p->by_twos ? 4 : 3) * channels : channels);
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t y = 0; y < p->output_height; ++y) {
            const int32_t in_y = y * p->stride_height - p->padding_top;
            const int8_t *rows[3];
            for (int32_t k = 0; k < 3; ++k) {
                const bool inside = in_y + k >= 0 && in_y + k < p->input_height;
                rows[k] = inside ? input + (in_y + k) * p->input_width * channels : outside;
            }
            const bool whole = in_y >= 0 && in_y + 3 <= p->input_height;
            const int8_t *const padding = whole ? NULL : outside;
            for (int32_t x = 0; x < p->output_width; ++x, output += outputs) {
                const int32_t in_x = x * p->stride_width - p->padding_left;
                if (in_x >= 0 && in_x <= last) {
                    if (in_x <= last_of_two) {
                        tflmgen_depthwise3x3_mve_pixels(rows, padding, in_x * channels, channels, stream, output,
                                                        p->output_zero_point, true);
                        ++x;
                        output += channels;
                    } else {
                        tflmgen_depthwise3x3_mve_pixels(rows, padding, in_x * channels, channels, stream, output,
                                                        p->output_zero_point, false);
                    }
                    continue;
                }
                tflmgen_depthwise_window_mve_taps(taps, outside, input, in_y, in_x, p);
                tflmgen_depthwise_window_mve_pixel(taps, seen, stream, output, p);
            }
        }
        input += p->input_height * p->input_width * channels;
    }
    const int32_t size = p->batches * p->output_height * p->output_width * outputs;
    tflmgen_clamp_dsp_s8(output - size, size, p->output_min, p->output_max);
}

/* scratch: an address for each tap, a table of channels where some are gathered, and a pixel of padding; where windows
 * are 3x3 and nothing is gathered, three, or four for two at a time. */
TFLMGEN_SHARED void tflmgen_depthwise_window_mve_s8(const int8_t *input, const tflmgen_u32 *stream, void *scratch,
                                                    int8_t *output, const struct tflmgen_depthwise_window_mve_s8 *p)
{
    tflmgen_depthwise_window_mve_run(input, (const int8_t *)stream, scratch, output, p);
}

#endif

#endif
