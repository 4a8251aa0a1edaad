/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D: tensors [batch, height, width, channels], filter [output channel, height, width, filter channel].
 *
 * Where the input has more channels than the filter, the output channels fall into groups, each of which sees its own
 * slice of the input channels.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_H
#define TFLMGEN_KERNELS_CONV2D_H

#include "requantize.h"
#include "rows_f32.h"
#include "window.h"

struct tflmgen_conv2d_s8 {
    TFLMGEN_DILATED_WINDOW_FIELDS
    bool backward; /* a line's pixels from the last to the first */
    int32_t filter_channels;
    int32_t input_offset;  /* added to every input value; 0 where it is folded into the bias */
    int32_t padding_value; /* what the pixels around the input hold */
    int32_t output_zero_point;
    int32_t output_min;
    int32_t output_max;
};

/* One output channel's window, of which the taps `y` x `x` lie inside the input. */
TFLMGEN_HELPER int32_t tflmgen_conv2d_window_s8(const int8_t *input, const int8_t *filter, struct tflmgen_taps y,
                                                struct tflmgen_taps x, const struct tflmgen_conv2d_s8 *p)
{
    const int32_t row = p->filter_width * p->filter_channels;
    const bool contiguous = p->dilation_width == 1 && p->filter_channels == p->input_channels;
    const int32_t padding = p->padding_value + p->input_offset;
    int32_t sum = 0;
    int32_t outside = 0;
    for (int32_t ky = 0; ky < p->filter_height; ++ky) {
        const int8_t *weights = filter + ky * row;
        if (ky < y.first || ky >= y.end) {
            outside += padding ? tflmgen_sum_s8(weights, row) : 0;
            continue;
        }
        const int32_t line = (y.origin + ky * p->dilation_height) * p->input_width;
        if (contiguous) {
            sum += tflmgen_dot_s8(input + (line + x.origin + x.first) * p->input_channels,
                                  weights + x.first * p->filter_channels, (x.end - x.first) * p->filter_channels,
                                  p->input_offset);
        } else {
            for (int32_t kx = x.first; kx < x.end; ++kx) {
                sum += tflmgen_dot_s8(input + (line + x.origin + kx * p->dilation_width) * p->input_channels,
                                      weights + kx * p->filter_channels, p->filter_channels, p->input_offset);
            }
        }
        if (padding) {
            outside += tflmgen_sum_s8(weights, x.first * p->filter_channels);
            outside += tflmgen_sum_s8(weights + x.end * p->filter_channels, row - x.end * p->filter_channels);
        }
    }
    return sum + outside * padding;
}

/* One output channel of one window. */
TFLMGEN_HELPER int8_t tflmgen_conv2d_output_s8(const int8_t *input, const int8_t *filter, struct tflmgen_taps y,
                                               struct tflmgen_taps x, int32_t bias, int32_t multiplier, int32_t shift,
                                               const struct tflmgen_conv2d_s8 *p)
{
    const int32_t sum = tflmgen_conv2d_window_s8(input, filter, y, x, p);
    return tflmgen_output_s8(sum, bias, multiplier, shift, p->output_zero_point, p->output_min, p->output_max);
}

TFLMGEN_WINDOW_KERNEL(tflmgen_conv2d_s8, tflmgen_conv2d_s8, int8_t, tflmgen_s32, tflmgen_conv2d_output_s8,
                      p->filter_channels, p->filter_height * p->filter_width * p->filter_channels, p->backward)

struct tflmgen_conv2d_f32 {
    TFLMGEN_DILATED_WINDOW_FIELDS
    bool backward; /* a line's pixels from the last to the first */
    int32_t filter_channels;
    bool gathered; /* windows are first copied to a row of TFLMGEN_CONV2D_F32_GATHERED floats, zeros for padding */
    float output_min;
    float output_max;
};

#define TFLMGEN_CONV2D_F32_GATHERED 64

TFLMGEN_GATHER_WINDOW(tflmgen_conv2d_gather_f32, tflmgen_f32, tflmgen_conv2d_f32)

/* The same of windows whose lines are side by side in the input: without dilation and groups. */
static __attribute__((noinline, unused)) void
tflmgen_conv2d_gather_lines_f32(tflmgen_f32 *im2col, const tflmgen_f32 *input, struct tflmgen_taps y,
                                struct tflmgen_taps x, const struct tflmgen_conv2d_f32 *p)
{
    const int32_t tap = p->input_channels;
    const int32_t line = p->dilation_height * p->input_width * tap;
    const tflmgen_f32 *from = input + (y.origin * p->input_width + x.origin + x.first) * tap;
    for (int32_t ky = 0; ky < p->filter_height; ++ky, from += line) {
        const bool is_inside = ky >= y.first && ky < y.end;
        tflmgen_f32 *const first = im2col + (is_inside ? x.first : p->filter_width) * tap;
        tflmgen_f32 *const end = im2col + (is_inside ? x.end : p->filter_width) * tap;
        tflmgen_f32 *const next = im2col + p->filter_width * tap;
        while (im2col < first) {
            *im2col++ = 0.0f;
        }
        for (const tflmgen_f32 *value = from; im2col < end;) {
            *im2col++ = *value++;
        }
        while (im2col < next) {
            *im2col++ = 0.0f;
        }
    }
}

/* bias: one per output channel, or NULL. */
TFLMGEN_KERNEL void tflmgen_conv2d_f32(const tflmgen_f32 *input, const tflmgen_f32 *restrict filter,
                                       const tflmgen_f32 *restrict bias, tflmgen_f32 *output,
                                       const struct tflmgen_conv2d_f32 *p)
{
    const int32_t tap = p->filter_channels;
    const int32_t row = p->filter_width * tap;
    const int32_t groups = p->input_channels / tap;
    const int32_t group_channels = p->output_channels / groups;
    const bool contiguous = p->dilation_width == 1 && groups == 1;
    const int32_t line = p->dilation_height * p->input_width * p->input_channels;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {
            const struct tflmgen_taps y = TFLMGEN_TAPS_OF_ROW(p, out_y);
            for (int32_t i = 0; i < p->output_width; ++i) {
                const int32_t out_x = p->backward ? p->output_width - 1 - i : i;
                tflmgen_f32 *const pixel = output + out_x * p->output_channels;
                const struct tflmgen_taps x = TFLMGEN_TAPS_OF_COLUMN(p, out_x);
                const int32_t columns = x.end - x.first;
                const int32_t lines = y.end - y.first;
                const int32_t size = p->filter_height * row;
                struct tflmgen_runs_f32 runs = {
                    columns * tap, lines, line - columns * tap, row - columns * tap, 1, 0, 0, size};
                if (!contiguous) {
                    const int32_t skip = p->dilation_width * p->input_channels - tap;
                    runs = (struct tflmgen_runs_f32){tap, columns, skip, 0, lines, line, row, size};
                }
                const int32_t first_y = y.origin + y.first * p->dilation_height;
                const int32_t first_x = x.origin + x.first * p->dilation_width;
                const tflmgen_f32 *const window = input + (first_y * p->input_width + first_x) * p->input_channels;
                float im2col[TFLMGEN_CONV2D_F32_GATHERED];
                for (int32_t group = 0; group < groups; ++group) {
                    const int32_t channel = group * group_channels;
                    const tflmgen_f32 *values = window + group * tap;
                    const tflmgen_f32 *weights = filter + channel * size + y.first * row + x.first * tap;
                    if (p->gathered) {
                        if (contiguous) {
                            tflmgen_conv2d_gather_lines_f32(im2col, input, y, x, p);
                        } else {
                            tflmgen_conv2d_gather_f32(im2col, input + group * tap, y, x, 0.0f, p);
                        }
                        values = im2col;
                        weights = filter + channel * size;
                        runs = (struct tflmgen_runs_f32){size, 1, 0, 0, 1, 0, 0, size};
                    }
                    tflmgen_rows_f32(values, weights, bias ? bias + channel : NULL, pixel + channel, group_channels,
                                     &runs);
                }
                tflmgen_clamp_row_f32(pixel, p->output_channels, p->output_min, p->output_max);
            }
            output += p->output_width * p->output_channels;
        }
        input += p->input_height * p->input_width * p->input_channels;
    }
}

#endif
