/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Windows of convolutions and pools: which of their taps lie inside the input. */
#ifndef TFLMGEN_KERNELS_WINDOW_H
#define TFLMGEN_KERNELS_WINDOW_H

#include "common.h"

/* The params of every kernel with windows: tensors are [batch, height, width, channels]. */
#define TFLMGEN_IMAGE_FIELDS \
    int32_t batches;         \
    int32_t input_height;    \
    int32_t input_width;     \
    int32_t input_channels;  \
    int32_t output_height;   \
    int32_t output_width;

#define TFLMGEN_FILTER_FIELDS \
    int32_t filter_height;    \
    int32_t filter_width;     \
    int32_t stride_height;    \
    int32_t stride_width;     \
    int32_t padding_top;      \
    int32_t padding_left;

/* How far apart a convolution's taps are. */
#define TFLMGEN_DILATION_FIELDS \
    int32_t dilation_height;    \
    int32_t dilation_width;

/* Windows that see all channels of the input, or several: any number of output channels. */
#define TFLMGEN_WINDOW_FIELDS \
    TFLMGEN_IMAGE_FIELDS      \
    int32_t output_channels;  \
    TFLMGEN_FILTER_FIELDS

#define TFLMGEN_DILATED_WINDOW_FIELDS \
    TFLMGEN_WINDOW_FIELDS             \
    TFLMGEN_DILATION_FIELDS

/* Windows of one channel: there are as many output channels as input channels. */
#define TFLMGEN_CHANNEL_WINDOW_FIELDS \
    TFLMGEN_IMAGE_FIELDS              \
    TFLMGEN_FILTER_FIELDS

#define TFLMGEN_DILATED_CHANNEL_WINDOW_FIELDS \
    TFLMGEN_CHANNEL_WINDOW_FIELDS             \
    TFLMGEN_DILATION_FIELDS

/* Where a window lies along one dimension: tap i at origin + i * dilation, those with first <= i < end in the input. */
struct tflmgen_taps {
    int32_t origin;
    int32_t first;
    int32_t end;
};

/* The taps i in [0, taps) with 0 <= origin + i * dilation < size. */
TFLMGEN_HELPER struct tflmgen_taps tflmgen_taps_inside(int32_t origin, int32_t dilation, int32_t taps, int32_t size)
{
    struct tflmgen_taps inside;
    inside.origin = origin;
    inside.first = origin < 0 ? tflmgen_min_s32((-origin + dilation - 1) / dilation, taps) : 0;
    inside.end = origin < size ? tflmgen_min_s32((size - origin + dilation - 1) / dilation, taps) : 0;
    inside.end = tflmgen_max_s32(inside.end, inside.first);
    return inside;
}

/* The taps of the windows of an output row, and of an output column, by the params of a convolution. */
#define TFLMGEN_TAPS_OF_ROW(p, out_y)                                                                              \
    tflmgen_taps_inside((out_y) * (p)->stride_height - (p)->padding_top, (p)->dilation_height, (p)->filter_height, \
                        (p)->input_height)
#define TFLMGEN_TAPS_OF_COLUMN(p, out_x)                                                                         \
    tflmgen_taps_inside((out_x) * (p)->stride_width - (p)->padding_left, (p)->dilation_width, (p)->filter_width, \
                        (p)->input_width)

/* Defines a kernel of integers that computes one channel of one output at a time:
 * output_of(input, filter, y, x, bias, multiplier, shift, p). Groups of output channels see `slice` channels of the
 * input each, and their filters begin `filter_step` apart. is_backward: a line's pixels from the last to the first.
 *
 * bias: one per output channel, or NULL; multipliers, shifts: one per output channel. */
#define TFLMGEN_WINDOW_KERNEL(name, params_struct, element, bias_element, output_of, slice, filter_step, is_backward) \
    TFLMGEN_KERNEL void name(const element *input, const int8_t *restrict filter, const bias_element *restrict bias,  \
                             const tflmgen_s32 *restrict multipliers, const int8_t *restrict shifts, element *output, \
                             const struct params_struct *p)                                                           \
    {                                                                                                                 \
        const int32_t group_channels = p->output_channels / (p->input_channels / (slice));                            \
        for (int32_t batch = 0; batch < p->batches; ++batch) {                                                        \
            for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {                                              \
                const struct tflmgen_taps y = TFLMGEN_TAPS_OF_ROW(p, out_y);                                          \
                for (int32_t i = 0; i < p->output_width; ++i) {                                                       \
                    const int32_t out_x = (is_backward) ? p->output_width - 1 - i : i;                                \
                    const struct tflmgen_taps x = TFLMGEN_TAPS_OF_COLUMN(p, out_x);                                   \
                    element *const pixel = output + out_x * p->output_channels;                                       \
                    const element *seen = input;                                                                      \
                    for (int32_t channel = 0, left = group_channels; channel < p->output_channels; ++channel) {       \
                        pixel[channel] =                                                                              \
                            output_of(seen, filter + channel * (filter_step), y, x, bias ? bias[channel] : 0,         \
                                      multipliers[channel], shifts[channel], p);                                      \
                        if (--left == 0) {                                                                            \
                            left = group_channels;                                                                    \
                            seen += (slice);                                                                          \
                        }                                                                                             \
                    }                                                                                                 \
                }                                                                                                     \
                output += p->output_width * p->output_channels;                                                       \
            }                                                                                                         \
            input += p->input_height * p->input_width * p->input_channels;                                            \
        }                                                                                                             \
    }

/* Defines a function that copies a convolution's window to an im2col buffer; taps outside of the input become
 * `outside`. */
#define TFLMGEN_GATHER_WINDOW(name, element, params_struct)                                                       \
    TFLMGEN_HELPER void name(element *im2col, const element *input, struct tflmgen_taps y, struct tflmgen_taps x, \
                             element outside, const struct params_struct *p)                                      \
    {                                                                                                             \
        for (int32_t ky = 0; ky < p->filter_height; ++ky) {                                                       \
            const int32_t line = (y.origin + ky * p->dilation_height) * p->input_width + x.origin;                \
            for (int32_t kx = 0; kx < p->filter_width; ++kx) {                                                    \
                const bool inside = ky >= y.first && ky < y.end && kx >= x.first && kx < x.end;                   \
                const int32_t at = (line + kx * p->dilation_width) * p->input_channels;                           \
                for (int32_t channel = 0; channel < p->filter_channels; ++channel) {                              \
                    *im2col++ = inside ? input[at + channel] : outside;                                           \
                }                                                                                                 \
            }                                                                                                     \
        }                                                                                                         \
    }

/* Defines the kernel name_s8 by name_run, which needs a buffer: scratch memory, or, where that is NULL, an array of
 * `elements` on the stack. */
#define TFLMGEN_KERNEL_WITH_BUFFER(name, element, elements)                                                     \
    TFLMGEN_SHARED void name##_run_on_stack(const int8_t *input, const element *stream, int8_t *output,         \
                                            const struct name##_s8 *p)                                          \
    {                                                                                                           \
        element buffer[elements];                                                                               \
        name##_run(input, stream, buffer, output, p);                                                           \
    }                                                                                                           \
                                                                                                                \
    TFLMGEN_SHARED void name##_s8(const int8_t *input, const tflmgen_u32 *stream, void *buffer, int8_t *output, \
                                  const struct name##_s8 *p)                                                    \
    {                                                                                                           \
        if (buffer) {                                                                                           \
            name##_run(input, (const element *)stream, (element *)buffer, output, p);                           \
        } else {                                                                                                \
            name##_run_on_stack(input, (const element *)stream, output, p);                                     \
        }                                                                                                       \
    }

#endif
