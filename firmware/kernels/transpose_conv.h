/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* TRANSPOSE_CONV: tensors [batch, height, width, channels], filter [output channel, height, width, input channel].
 *
 * Each output pixel gathers the input pixels that reach it, row by row, as they would be added up if each were spread
 * over its window. Strides and padding are those of the convolution that goes the other way.
 */
#ifndef TFLMGEN_KERNELS_TRANSPOSE_CONV_H
#define TFLMGEN_KERNELS_TRANSPOSE_CONV_H

#include "dot.h"
#include "requantize.h"
#include "sum_s16.h"
#include "window.h"

struct tflmgen_transpose_conv_s8 {
    TFLMGEN_WINDOW_FIELDS
    int32_t input_offset; /* added to every input value */
    int32_t output_zero_point;
    int32_t output_min;
    int32_t output_max;
};

struct tflmgen_transpose_conv_s16 {
    TFLMGEN_WINDOW_FIELDS
    int32_t output_min;
    int32_t output_max;
};

struct tflmgen_transpose_conv_f32 {
    TFLMGEN_WINDOW_FIELDS
    float output_min;
    float output_max;
};

/* The input positions first <= i < end with 0 <= at - i * stride < taps; at >= 0. */
TFLMGEN_HELPER struct tflmgen_taps tflmgen_positions_reaching(int32_t at, int32_t stride, int32_t taps, int32_t size)
{
    struct tflmgen_taps found;
    found.origin = 0;
    found.first = at < taps ? 0 : (at - taps) / stride + 1;
    found.end = tflmgen_max_s32(tflmgen_min_s32(at / stride + 1, size), found.first);
    return found;
}

#define TFLMGEN_TRANSPOSE_DOT_s8(sum, x, w, length) ((sum) + tflmgen_dot_s8(x, w, length, p->input_offset))
#define TFLMGEN_TRANSPOSE_DOT_s16(sum, x, w, length) ((sum) + tflmgen_dot_s16(x, w, length))
#define TFLMGEN_TRANSPOSE_DOT_f32(sum, x, w, length) tflmgen_dot_f32(sum, x, w, length)

/* name: what the pixels around output pixel (at_y, at_x), padding included, add up to in one channel's filter. */
#define TFLMGEN_TRANSPOSE_WINDOW(name, type, element, weight, sum_type)                                             \
    TFLMGEN_HELPER sum_type name(const element *input, const weight *filter, int32_t at_y, int32_t at_x,            \
                                 const struct tflmgen_transpose_conv_##type *p)                                     \
    {                                                                                                               \
        const struct tflmgen_taps y =                                                                               \
            tflmgen_positions_reaching(at_y, p->stride_height, p->filter_height, p->input_height);                  \
        const struct tflmgen_taps x =                                                                               \
            tflmgen_positions_reaching(at_x, p->stride_width, p->filter_width, p->input_width);                     \
        sum_type sum = 0;                                                                                           \
        for (int32_t in_y = y.first; in_y < y.end; ++in_y) {                                                        \
            const int32_t row = (at_y - in_y * p->stride_height) * p->filter_width;                                 \
            for (int32_t in_x = x.first; in_x < x.end; ++in_x) {                                                    \
                const int32_t tap = row + at_x - in_x * p->stride_width;                                            \
                sum = TFLMGEN_TRANSPOSE_DOT_##type(sum, input + (in_y * p->input_width + in_x) * p->input_channels, \
                                                   filter + tap * p->input_channels, p->input_channels);            \
            }                                                                                                       \
        }                                                                                                           \
        return sum;                                                                                                 \
    }

TFLMGEN_TRANSPOSE_WINDOW(tflmgen_transpose_window_s8, s8, int8_t, int8_t, tflmgen_s32)
TFLMGEN_TRANSPOSE_WINDOW(tflmgen_transpose_window_s16, s16, tflmgen_s16, int8_t, tflmgen_s64)
TFLMGEN_TRANSPOSE_WINDOW(tflmgen_transpose_window_f32, f32, tflmgen_f32, tflmgen_f32, tflmgen_f32)

/* Runs `write` for each output element, in order; `sum` is its window's. */
#define TFLMGEN_TRANSPOSE_EACH(window, sum_type, write)                                                        \
    const int32_t filter_size = p->filter_height * p->filter_width * p->input_channels;                        \
    for (int32_t batch = 0; batch < p->batches; ++batch) {                                                     \
        for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {                                           \
            for (int32_t out_x = 0; out_x < p->output_width; ++out_x) {                                        \
                for (int32_t channel = 0; channel < p->output_channels; ++channel) {                           \
                    const sum_type sum = window(input, filter + channel * filter_size, out_y + p->padding_top, \
                                                out_x + p->padding_left, p);                                   \
                    write;                                                                                     \
                }                                                                                              \
            }                                                                                                  \
        }                                                                                                      \
        input += p->input_height * p->input_width * p->input_channels;                                         \
    }

/* bias: one per output channel, or NULL; multipliers, shifts: one per output channel. */
TFLMGEN_KERNEL void tflmgen_transpose_conv_s8(const int8_t *input, const int8_t *filter, const tflmgen_s32 *bias,
                                              const tflmgen_s32 *multipliers, const int8_t *shifts, int8_t *output,
                                              const struct tflmgen_transpose_conv_s8 *p){
    TFLMGEN_TRANSPOSE_EACH(tflmgen_transpose_window_s8, tflmgen_s32,
                           {
                               *output++ = tflmgen_output_s8(sum, bias ? bias[channel] : 0, multipliers[channel],
                                                             shifts[channel], p->output_zero_point, p->output_min,
                                                             p->output_max);
                           })}

TFLMGEN_KERNEL void tflmgen_transpose_conv_s16(const tflmgen_s16 *input, const int8_t *filter, const tflmgen_s64 *bias,
                                               const tflmgen_s32 *multipliers, const int8_t *shifts,
                                               tflmgen_s16 *output, const struct tflmgen_transpose_conv_s16 *p){
    TFLMGEN_TRANSPOSE_EACH(tflmgen_transpose_window_s16, tflmgen_s64,
                           {
                               const int32_t result = tflmgen_finish_s16_b64(sum, bias ? bias[channel] : 0,
                                                                             multipliers[channel], shifts[channel]);
                               *output++ = (int16_t)tflmgen_clamp_s32(result, p->output_min, p->output_max);
                           })}

TFLMGEN_KERNEL
    void tflmgen_transpose_conv_f32(const tflmgen_f32 *input, const tflmgen_f32 *filter, const tflmgen_f32 *bias,
                                    tflmgen_f32 *output, const struct tflmgen_transpose_conv_f32 *p)
{
    TFLMGEN_TRANSPOSE_EACH(tflmgen_transpose_window_f32, tflmgen_f32, {
        *output++ = tflmgen_clamp_f32(sum + (bias ? bias[channel] : 0.0f), p->output_min, p->output_max);
    })
}

#endif
