/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D of float32 by int8 weights, as conv2d.h has it: each batch is quantised before it is multiplied (LiteRT's
 * kernels/conv.cc). */
#ifndef TFLMGEN_KERNELS_CONV2D_HYBRID_H
#define TFLMGEN_KERNELS_CONV2D_HYBRID_H

#include "dynamic_quantize.h"
#include "rows_f32.h"
#include "rows_s8.h"
#include "window.h"

struct tflmgen_conv2d_hybrid {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t filter_channels;
    bool asymmetric;  /* batches are quantised with a zero point */
    bool per_channel; /* a scale for each output channel */
    float output_min;
    float output_max;
};

/* The longest window that is copied before it is multiplied, so that it lies in one piece. */
#define TFLMGEN_CONV2D_HYBRID_GATHERED 256

TFLMGEN_GATHER_WINDOW(tflmgen_conv2d_gather_hybrid, int8_t, tflmgen_conv2d_hybrid)

/* Sums of four channels (`four`), or of one, over the taps `y` x `x` of a window. */
TFLMGEN_HELPER void tflmgen_conv2d_window_hybrid(tflmgen_s32 *sums, bool four, const int8_t *input,
                                                 const int8_t *filter, struct tflmgen_taps y, struct tflmgen_taps x,
                                                 int32_t offset, const struct tflmgen_conv2d_hybrid *p)
{
    const bool contiguous = p->dilation_width == 1 && p->filter_channels == p->input_channels;
    const int32_t size = p->filter_height * p->filter_width * p->filter_channels;
    const int32_t runs = contiguous && x.end > x.first ? 1 : x.end - x.first;
    const int32_t length = contiguous ? (x.end - x.first) * p->filter_channels : p->filter_channels;
    for (int32_t ky = y.first; ky < y.end; ++ky) {
        const int32_t line = (y.origin + ky * p->dilation_height) * p->input_width + x.origin;
        for (int32_t run = 0; run < runs; ++run) {
            const int32_t kx = x.first + run;
            const int8_t *const values = input + (line + kx * p->dilation_width) * p->input_channels;
            const int8_t *const weights = filter + (ky * p->filter_width + kx) * p->filter_channels;
            if (four) {
                tflmgen_dot_rows_s8(sums, values, weights, size, length, offset);
            } else {
                sums[0] += tflmgen_dot_s8(values, weights, length, offset);
            }
        }
    }
}

/* scales: of the filter, one per output channel or one in all; bias: one per output channel, or NULL; quantized:
 * scratch for one batch. Four channels of a group are computed at a time, the last four over again in part where they
 * are not of whole fours, and fewer than four one by one. */
TFLMGEN_KERNEL void tflmgen_conv2d_hybrid(const tflmgen_f32 *input, const int8_t *restrict filter,
                                          const tflmgen_f32 *restrict scales, const tflmgen_f32 *restrict bias,
                                          tflmgen_f32 *output, int8_t *restrict quantized,
                                          const struct tflmgen_conv2d_hybrid *p)
{
    const int32_t size = p->filter_height * p->filter_width * p->filter_channels;
    const int32_t groups = p->input_channels / p->filter_channels;
    const int32_t group_channels = p->output_channels / groups;
    const int32_t input_size = p->input_height * p->input_width * p->input_channels;
    const int32_t rows = group_channels < 4 ? 1 : 4;
    const bool gathered = size > p->filter_channels && size <= TFLMGEN_CONV2D_HYBRID_GATHERED;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const struct tflmgen_row_scale range = tflmgen_quantize_row(input, quantized, input_size, p->asymmetric);
        for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {
            const struct tflmgen_taps y = TFLMGEN_TAPS_OF_ROW(p, out_y);
            for (int32_t out_x = 0; out_x < p->output_width; ++out_x) {
                const struct tflmgen_taps x = TFLMGEN_TAPS_OF_COLUMN(p, out_x);
                for (int32_t group = 0, channel = 0; group < groups; ++group) {
                    const int32_t end = channel + group_channels;
                    const int8_t *const slice = quantized + group * p->filter_channels;
                    int8_t im2col[TFLMGEN_CONV2D_HYBRID_GATHERED];
                    const int8_t *window = NULL;
                    if (gathered) {
                        tflmgen_conv2d_gather_hybrid(im2col, slice, y, x, (int8_t)range.zero_point, p);
                        window = im2col;
                    } else if (size == p->filter_channels && y.end > y.first && x.end > x.first) {
                        window = slice + (y.origin * p->input_width + x.origin) * p->input_channels;
                    }
                    while (channel < end) {
                        const int32_t first = tflmgen_min_s32(channel, end - rows);
                        const int8_t *const weights = filter + first * size;
                        int32_t sums[4] = {0, 0, 0, 0};
                        if (window == NULL) {
                            tflmgen_conv2d_window_hybrid(sums, rows == 4, slice, weights, y, x, -range.zero_point, p);
                        } else if (rows == 4) {
                            tflmgen_dot_rows_s8(sums, window, weights, size, size, -range.zero_point);
                        } else {
                            sums[0] = tflmgen_dot_s8(window, weights, size, -range.zero_point);
                        }
                        for (; channel < first + rows; ++channel) {
                            const float sum = (float)sums[channel - first];
                            const float scale = scales[p->per_channel ? channel : 0];
                            const float scaled =
                                p->asymmetric ? sum * scale * range.scale : sum * (range.scale * scale);
                            output[channel] = scaled + (bias ? bias[channel] : 0.0f);
                        }
                    }
                }
                tflmgen_clamp_row_f32(output, p->output_channels, p->output_min, p->output_max);
                output += p->output_channels;
            }
        }
        input += input_size;
    }
}

#endif
