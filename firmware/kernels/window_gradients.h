/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Gradients of 2-D convolutions and pools in float32, tensors [batch, height, width, channels].
 *
 * "Input" and "output" are those of the layer, in the params as here: the gradient by the output comes in, that by the
 * filter or the input goes out. Filters are [output channel, height, width, channel] and, of depthwise layers, [1,
 * height, width, output channel]. A filter's gradient is a product of matrices for each tap: output gradients by the
 * input under that tap, with the pixels as the depth, in blocks of channels whose sums stay in registers. Gradients by
 * the input are added up window by window, on zeros.
 */
#ifndef TFLMGEN_KERNELS_WINDOW_GRADIENTS_H
#define TFLMGEN_KERNELS_WINDOW_GRADIENTS_H

#include <string.h>

#include "window.h"

struct tflmgen_conv2d_gradient {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t filter_channels; /* input channels that an output channel sees */
};

struct tflmgen_pool2d_gradient {
    TFLMGEN_CHANNEL_WINDOW_FIELDS
};

/* Output positions first <= i < end whose tap `offset` elements behind the window's origin lies in the input. */
TFLMGEN_HELPER struct tflmgen_taps tflmgen_windows_reaching(int32_t offset, int32_t stride, int32_t windows,
                                                            int32_t size)
{
    struct tflmgen_taps reach;
    reach.origin = offset;
    reach.first = offset < 0 ? tflmgen_min_s32((-offset + stride - 1) / stride, windows) : 0;
    reach.end = offset < size ? tflmgen_min_s32((size - offset + stride - 1) / stride, windows) : 0;
    reach.end = tflmgen_max_s32(reach.end, reach.first);
    return reach;
}

/* One tap's gradient of `rows` output channels by `columns` channels, over all pixels: 1 load for each channel, and
 * rows * columns multiply-accumulates. Literals of both make the sums registers. */
TFLMGEN_HELPER void tflmgen_filter_gradient_block(const tflmgen_f32 *input, const tflmgen_f32 *gradient,
                                                  tflmgen_f32 *result, struct tflmgen_taps y, struct tflmgen_taps x,
                                                  int32_t rows, int32_t columns, int32_t result_step,
                                                  const struct tflmgen_conv2d_gradient *p)
{
    float sums[4][4] = {{0.0f}};
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t out_y = y.first; out_y < y.end; ++out_y) {
            const int32_t line = batch * p->input_height + y.origin + out_y * p->stride_height;
            const tflmgen_f32 *value =
                input + (line * p->input_width + x.origin + x.first * p->stride_width) * p->input_channels;
            const tflmgen_f32 *slope =
                gradient + ((batch * p->output_height + out_y) * p->output_width + x.first) * p->output_channels;
            for (int32_t out_x = x.first; out_x < x.end; ++out_x) {
#pragma GCC unroll 4
                for (int32_t row = 0; row < rows; ++row) {
#pragma GCC unroll 4
                    for (int32_t column = 0; column < columns; ++column) {
                        sums[row][column] += slope[row] * value[column];
                    }
                }
                value += p->stride_width * p->input_channels;
                slope += p->output_channels;
            }
        }
    }
#pragma GCC unroll 4
    for (int32_t row = 0; row < rows; ++row) {
#pragma GCC unroll 4
        for (int32_t column = 0; column < columns; ++column) {
            result[row * result_step + column] = sums[row][column];
        }
    }
}

/* The gradient of one tap for `rows` output channels by all channels that they see. */
TFLMGEN_HELPER void tflmgen_filter_gradient_rows(const tflmgen_f32 *input, const tflmgen_f32 *gradient,
                                                 tflmgen_f32 *result, struct tflmgen_taps y, struct tflmgen_taps x,
                                                 int32_t rows, int32_t result_step,
                                                 const struct tflmgen_conv2d_gradient *p)
{
    int32_t channel = 0;
    for (; channel < p->filter_channels - 3; channel += 4) {
        tflmgen_filter_gradient_block(input + channel, gradient, result + channel, y, x, rows, 4, result_step, p);
    }
    for (; channel < p->filter_channels; ++channel) {
        tflmgen_filter_gradient_block(input + channel, gradient, result + channel, y, x, rows, 1, result_step, p);
    }
}

/* By the filter of a convolution, whose groups see `filter_channels` channels each. */
TFLMGEN_KERNEL void tflmgen_conv2d_filter_gradient(const tflmgen_f32 *input, const tflmgen_f32 *gradient,
                                                   tflmgen_f32 *result, const struct tflmgen_conv2d_gradient *p)
{
    const int32_t group = p->output_channels / (p->input_channels / p->filter_channels);
    const int32_t step = p->filter_height * p->filter_width * p->filter_channels;
    for (int32_t ky = 0; ky < p->filter_height; ++ky) {
        const struct tflmgen_taps y = tflmgen_windows_reaching(ky * p->dilation_height - p->padding_top,
                                                               p->stride_height, p->output_height, p->input_height);
        for (int32_t kx = 0; kx < p->filter_width; ++kx) {
            const struct tflmgen_taps x = tflmgen_windows_reaching(kx * p->dilation_width - p->padding_left,
                                                                   p->stride_width, p->output_width, p->input_width);
            tflmgen_f32 *const tap = result + (ky * p->filter_width + kx) * p->filter_channels;
            for (int32_t first = 0; first < p->output_channels; first += group) {
                const tflmgen_f32 *const seen = input + first / group * p->filter_channels;
                int32_t row = first;
                for (; row < first + group - 3; row += 4) {
                    tflmgen_filter_gradient_rows(seen, gradient + row, tap + row * step, y, x, 4, step, p);
                }
                for (; row < first + group; ++row) {
                    tflmgen_filter_gradient_rows(seen, gradient + row, tap + row * step, y, x, 1, step, p);
                }
            }
        }
    }
}

/* Adds to `columns` channels of one pixel what `rows` output channels pass back to them through one tap. */
TFLMGEN_HELPER void tflmgen_input_gradient_block(const tflmgen_f32 *gradient, const tflmgen_f32 *filter,
                                                 tflmgen_f32 *result, int32_t rows, int32_t columns,
                                                 int32_t filter_step)
{
    float sums[4];
#pragma GCC unroll 4
    for (int32_t column = 0; column < columns; ++column) {
        sums[column] = result[column];
    }
    for (int32_t row = 0; row < rows; ++row) {
#pragma GCC unroll 4
        for (int32_t column = 0; column < columns; ++column) {
            sums[column] += gradient[row] * filter[row * filter_step + column];
        }
    }
#pragma GCC unroll 4
    for (int32_t column = 0; column < columns; ++column) {
        result[column] = sums[column];
    }
}

/* One window's share of the gradient by the input: `pixel` is the gradient by its output. */
TFLMGEN_HELPER void tflmgen_conv2d_spread_window(const tflmgen_f32 *pixel, const tflmgen_f32 *filter,
                                                 tflmgen_f32 *result, struct tflmgen_taps y, struct tflmgen_taps x,
                                                 const struct tflmgen_conv2d_gradient *p)
{
    const int32_t group = p->output_channels / (p->input_channels / p->filter_channels);
    const int32_t step = p->filter_height * p->filter_width * p->filter_channels;
    for (int32_t ky = y.first; ky < y.end; ++ky) {
        for (int32_t kx = x.first; kx < x.end; ++kx) {
            const int32_t line = (y.origin + ky * p->dilation_height) * p->input_width;
            tflmgen_f32 *to = result + (line + x.origin + kx * p->dilation_width) * p->input_channels;
            const tflmgen_f32 *const tap = filter + (ky * p->filter_width + kx) * p->filter_channels;
            for (int32_t first = 0; first < p->output_channels; first += group) {
                const tflmgen_f32 *const weights = tap + first * step;
                int32_t channel = 0;
                for (; channel < p->filter_channels - 3; channel += 4) {
                    tflmgen_input_gradient_block(pixel + first, weights + channel, to + channel, group, 4, step);
                }
                for (; channel < p->filter_channels; ++channel) {
                    tflmgen_input_gradient_block(pixel + first, weights + channel, to + channel, group, 1, step);
                }
                to += p->filter_channels;
            }
        }
    }
}

/* Runs `spread` for each window, in order: on its output `pixel`, with its taps `y` and `x` in `image`, the zeros on
 * which the gradient by the input is added up. */
#define TFLMGEN_EACH_WINDOW(p, channels, spread)                                                                \
    const int32_t image_size = (p)->input_height * (p)->input_width * (p)->input_channels;                      \
    memset(result, 0, (size_t)((p)->batches * image_size) * sizeof *result);                                    \
    for (int32_t batch = 0; batch < (p)->batches; ++batch) {                                                    \
        tflmgen_f32 *const image = result + batch * image_size;                                                 \
        for (int32_t out_y = 0; out_y < (p)->output_height; ++out_y) {                                          \
            for (int32_t out_x = 0; out_x < (p)->output_width; ++out_x) {                                       \
                const tflmgen_f32 *const pixel =                                                                \
                    gradient + ((batch * (p)->output_height + out_y) * (p)->output_width + out_x) * (channels); \
                spread;                                                                                         \
            }                                                                                                   \
        }                                                                                                       \
    }

/* By the input of a convolution. */
TFLMGEN_KERNEL void tflmgen_conv2d_input_gradient(const tflmgen_f32 *gradient, const tflmgen_f32 *filter,
                                                  tflmgen_f32 *result, const struct tflmgen_conv2d_gradient *p){
    TFLMGEN_EACH_WINDOW(p, p -> output_channels,
                        {
                            const struct tflmgen_taps y = TFLMGEN_TAPS_OF_ROW(p, out_y);
                            const struct tflmgen_taps x = TFLMGEN_TAPS_OF_COLUMN(p, out_x);
                            tflmgen_conv2d_spread_window(pixel, filter, image, y, x, p);
                        })}

/* By the filter of a depthwise convolution: one sum over all pixels for each tap and output channel. */
TFLMGEN_KERNEL
    void tflmgen_depthwise_conv2d_filter_gradient(const tflmgen_f32 *input, const tflmgen_f32 *gradient,
                                                  tflmgen_f32 *result, const struct tflmgen_conv2d_gradient *p)
{
    const int32_t multiplier = p->output_channels / p->input_channels;
    for (int32_t ky = 0; ky < p->filter_height; ++ky) {
        const struct tflmgen_taps y = tflmgen_windows_reaching(ky * p->dilation_height - p->padding_top,
                                                               p->stride_height, p->output_height, p->input_height);
        for (int32_t kx = 0; kx < p->filter_width; ++kx) {
            const struct tflmgen_taps x = tflmgen_windows_reaching(kx * p->dilation_width - p->padding_left,
                                                                   p->stride_width, p->output_width, p->input_width);
            for (int32_t channel = 0; channel < p->output_channels; ++channel) {
                tflmgen_filter_gradient_block(input + channel / multiplier, gradient + channel, result++, y, x, 1, 1, 1,
                                              p);
            }
        }
    }
}

/* By the input of a depthwise convolution. */
TFLMGEN_KERNEL void tflmgen_depthwise_conv2d_input_gradient(const tflmgen_f32 *gradient, const tflmgen_f32 *filter,
                                                            tflmgen_f32 *result,
                                                            const struct tflmgen_conv2d_gradient *p)
{
    const int32_t multiplier = p->output_channels / p->input_channels;
    TFLMGEN_EACH_WINDOW(p, p->output_channels, {
        const struct tflmgen_taps y = TFLMGEN_TAPS_OF_ROW(p, out_y);
        const struct tflmgen_taps x = TFLMGEN_TAPS_OF_COLUMN(p, out_x);
        for (int32_t ky = y.first; ky < y.end; ++ky) {
            for (int32_t kx = x.first; kx < x.end; ++kx) {
                const int32_t line = (y.origin + ky * p->dilation_height) * p->input_width;
                tflmgen_f32 *const to = image + (line + x.origin + kx * p->dilation_width) * p->input_channels;
                const tflmgen_f32 *const tap = filter + (ky * p->filter_width + kx) * p->output_channels;
                for (int32_t channel = 0; channel < p->input_channels; ++channel) {
                    for (int32_t i = channel * multiplier; i < (channel + 1) * multiplier; ++i) {
                        to[channel] += pixel[i] * tap[i];
                    }
                }
            }
        }
    })
}

#define TFLMGEN_POOL_TAPS_OF_ROW(p, out_y) \
    tflmgen_taps_inside((out_y) * (p)->stride_height - (p)->padding_top, 1, (p)->filter_height, (p)->input_height)
#define TFLMGEN_POOL_TAPS_OF_COLUMN(p, out_x) \
    tflmgen_taps_inside((out_x) * (p)->stride_width - (p)->padding_left, 1, (p)->filter_width, (p)->input_width)

/* By the input of MAX_POOL_2D: to the first of the greatest elements of each window. */
TFLMGEN_KERNEL void tflmgen_max_pool2d_gradient(const tflmgen_f32 *input, const tflmgen_f32 *gradient,
                                                tflmgen_f32 *result, const struct tflmgen_pool2d_gradient *p){
    TFLMGEN_EACH_WINDOW(p, p -> input_channels,
                        {
                            const struct tflmgen_taps y = TFLMGEN_POOL_TAPS_OF_ROW(p, out_y);
                            const struct tflmgen_taps x = TFLMGEN_POOL_TAPS_OF_COLUMN(p, out_x);
                            const tflmgen_f32 *const values = input + batch * image_size;
                            for (int32_t channel = 0; channel < p->input_channels; ++channel) {
                                int32_t greatest = -1;
                                for (int32_t ky = y.first; ky < y.end; ++ky) {
                                    for (int32_t kx = x.first; kx < x.end; ++kx) {
                                        const int32_t at =
                                            ((y.origin + ky) * p->input_width + x.origin + kx) * p->input_channels +
                                            channel;
                                        if (greatest < 0 || values[at] > values[greatest]) {
                                            greatest = at;
                                        }
                                    }
                                }
                                if (greatest >= 0) {
                                    image[greatest] += pixel[channel];
                                }
                            }
                        })}

/* By the input of AVERAGE_POOL_2D: in equal parts to the elements of each window, padding left out. */
TFLMGEN_KERNEL void tflmgen_average_pool2d_gradient(const tflmgen_f32 *gradient, tflmgen_f32 *result,
                                                    const struct tflmgen_pool2d_gradient *p)
{
    TFLMGEN_EACH_WINDOW(p, p->input_channels, {
        const struct tflmgen_taps y = TFLMGEN_POOL_TAPS_OF_ROW(p, out_y);
        const struct tflmgen_taps x = TFLMGEN_POOL_TAPS_OF_COLUMN(p, out_x);
        const float share = 1.0f / (float)tflmgen_max_s32((y.end - y.first) * (x.end - x.first), 1);
        for (int32_t ky = y.first; ky < y.end; ++ky) {
            for (int32_t kx = x.first; kx < x.end; ++kx) {
                tflmgen_f32 *const to = image + ((y.origin + ky) * p->input_width + x.origin + kx) * p->input_channels;
                for (int32_t channel = 0; channel < p->input_channels; ++channel) {
                    to[channel] += pixel[channel] * share;
                }
            }
        }
    })
}

#endif
