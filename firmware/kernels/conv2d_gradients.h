/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Gradients of CONV_2D in float32, tensors [batch, height, width, channels].
 *
 * "Input" and "output" are those of the layer, in the params as here: the gradient by the output comes in, that by the
 * filter or the input goes out. Filters are [output channel, height, width, channel]. A filter's gradient is a product
 * of matrices for each tap: output gradients by the input under that tap, with the pixels as the depth, in blocks of
 * channels whose sums stay in registers. Gradients by the input are such products, too, tap by tap on zeros, with the
 * output channels as the depth. Four by four products: 8 loads, 16 multiplications, 16 additions; with MVE 5 loads, 4
 * and 4. Each product and each sum is rounded, on every core; MVE takes denormal numbers for zero.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_GRADIENTS_H
#define TFLMGEN_KERNELS_CONV2D_GRADIENTS_H

#include <string.h>

#include "mve.h"
#include "window.h"

struct tflmgen_conv2d_gradient {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t filter_channels; /* input channels that an output channel sees */
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

/* The pixels that one tap has to do with: output pixels whose window has it in the image, and the input pixels under
 * it. Places and steps count elements. Lines that follow each other without a gap are one. */
struct tflmgen_tap_pixels {
    int32_t lines;
    int32_t columns;
    int32_t input;      /* the first input pixel */
    int32_t input_step; /* from pixel to pixel */
    int32_t input_line; /* from line to line */
    int32_t output;
    int32_t output_line;
};

TFLMGEN_HELPER struct tflmgen_tap_pixels tflmgen_pixels_of_tap(int32_t ky, int32_t kx,
                                                               const struct tflmgen_conv2d_gradient *p)
{
    const struct tflmgen_taps y = tflmgen_windows_reaching(ky * p->dilation_height - p->padding_top, p->stride_height,
                                                           p->output_height, p->input_height);
    const struct tflmgen_taps x = tflmgen_windows_reaching(kx * p->dilation_width - p->padding_left, p->stride_width,
                                                           p->output_width, p->input_width);
    const int32_t row = y.origin + y.first * p->stride_height;
    const int32_t column = x.origin + x.first * p->stride_width;
    struct tflmgen_tap_pixels pixels;
    pixels.lines = x.end > x.first ? y.end - y.first : 0;
    pixels.columns = x.end - x.first;
    pixels.input = (row * p->input_width + column) * p->input_channels;
    pixels.input_step = p->stride_width * p->input_channels;
    pixels.input_line = p->stride_height * p->input_width * p->input_channels;
    pixels.output = (y.first * p->output_width + x.first) * p->output_channels;
    pixels.output_line = p->output_width * p->output_channels;
    if (pixels.columns == p->output_width && pixels.columns * pixels.input_step == pixels.input_line) {
        pixels.columns *= pixels.lines;
        pixels.lines = pixels.lines > 0;
    }
    return pixels;
}

/* Two operands of a sum of products, and their steps from one product to the next; `left_row` is the distance between
 * the left operands of two rows. */
struct tflmgen_products {
    const tflmgen_f32 *left;
    int32_t left_row;
    int32_t left_step;
    const tflmgen_f32 *right;
    int32_t right_step;
};

/* sums[row][column] += left[row] * right[column] at `depth` places: 1 load for each row and column. Literals of both
 * make the sums registers. */
TFLMGEN_HELPER void tflmgen_add_products(float sums[4][4], struct tflmgen_products from, int32_t depth, int32_t rows,
                                         int32_t columns)
{
#if TFLMGEN_HAS_MVE_F32
    if (columns == 4) {
        float32x4_t lanes[4];
#pragma GCC unroll 4
        for (int32_t row = 0; row < rows; ++row) {
            lanes[row] = vld1q_f32(sums[row]);
        }
        for (int32_t i = 0; i < depth; ++i) {
            const float32x4_t right = vld1q_f32(from.right);
#pragma GCC unroll 4
            for (int32_t row = 0; row < rows; ++row) {
                lanes[row] = vaddq_f32(lanes[row], vmulq_n_f32(right, from.left[row * from.left_row]));
            }
            from.left += from.left_step;
            from.right += from.right_step;
        }
#pragma GCC unroll 4
        for (int32_t row = 0; row < rows; ++row) {
            vst1q_f32(sums[row], lanes[row]);
        }
        return;
    }
#endif
    for (int32_t i = 0; i < depth; ++i) {
#pragma GCC unroll 4
        for (int32_t row = 0; row < rows; ++row) {
#pragma GCC unroll 4
            for (int32_t column = 0; column < columns; ++column) {
                sums[row][column] += from.left[row * from.left_row] * from.right[column];
            }
        }
        from.left += from.left_step;
        from.right += from.right_step;
    }
}

/* One tap's gradient of `rows` output channels by `columns` channels, over all pixels. */
TFLMGEN_HELPER void tflmgen_filter_gradient_block(const tflmgen_f32 *input, const tflmgen_f32 *gradient,
                                                  tflmgen_f32 *result, const struct tflmgen_tap_pixels *pixels,
                                                  int32_t rows, int32_t columns, int32_t result_step,
                                                  const struct tflmgen_conv2d_gradient *p)
{
    float sums[4][4] = {{0.0f}};
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const tflmgen_f32 *const image = input + batch * p->input_height * p->input_width * p->input_channels;
        const tflmgen_f32 *const slopes = gradient + batch * p->output_height * p->output_width * p->output_channels;
        for (int32_t line = 0; line < pixels->lines; ++line) {
            const struct tflmgen_products from = {slopes + pixels->output + line * pixels->output_line, 1,
                                                  p->output_channels, image + pixels->input + line * pixels->input_line,
                                                  pixels->input_step};
            tflmgen_add_products(sums, from, pixels->columns, rows, columns);
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
                                                 tflmgen_f32 *result, const struct tflmgen_tap_pixels *pixels,
                                                 int32_t rows, int32_t result_step,
                                                 const struct tflmgen_conv2d_gradient *p)
{
    int32_t channel = 0;
    for (; channel < p->filter_channels - 3; channel += 4) {
        tflmgen_filter_gradient_block(input + channel, gradient, result + channel, pixels, rows, 4, result_step, p);
    }
    for (; channel < p->filter_channels; ++channel) {
        tflmgen_filter_gradient_block(input + channel, gradient, result + channel, pixels, rows, 1, result_step, p);
    }
}

/* By the filter of a convolution, whose groups see `filter_channels` channels each. */
TFLMGEN_KERNEL void tflmgen_conv2d_filter_gradient(const tflmgen_f32 *input, const tflmgen_f32 *gradient,
                                                   tflmgen_f32 *result, const struct tflmgen_conv2d_gradient *p)
{
    const int32_t group = p->output_channels / (p->input_channels / p->filter_channels);
    const int32_t step = p->filter_height * p->filter_width * p->filter_channels;
    for (int32_t ky = 0; ky < p->filter_height; ++ky) {
        for (int32_t kx = 0; kx < p->filter_width; ++kx) {
            const struct tflmgen_tap_pixels pixels = tflmgen_pixels_of_tap(ky, kx, p);
            tflmgen_f32 *const tap = result + (ky * p->filter_width + kx) * p->filter_channels;
            for (int32_t first = 0; first < p->output_channels; first += group) {
                const tflmgen_f32 *const seen = input + first / group * p->filter_channels;
                int32_t row = first;
                for (; row < first + group - 3; row += 4) {
                    tflmgen_filter_gradient_rows(seen, gradient + row, tap + row * step, &pixels, 4, step, p);
                }
                for (; row < first + group; ++row) {
                    tflmgen_filter_gradient_rows(seen, gradient + row, tap + row * step, &pixels, 1, step, p);
                }
            }
        }
    }
}

/* Adds to `columns` channels of `rows` pixels, `step` apart, what `depth` output channels pass back to them. */
TFLMGEN_HELPER void tflmgen_input_gradient_block(struct tflmgen_products from, tflmgen_f32 *result, int32_t step,
                                                 int32_t depth, int32_t rows, int32_t columns)
{
    float sums[4][4];
#pragma GCC unroll 4
    for (int32_t row = 0; row < rows; ++row) {
#pragma GCC unroll 4
        for (int32_t column = 0; column < columns; ++column) {
            sums[row][column] = result[row * step + column];
        }
    }
    tflmgen_add_products(sums, from, depth, rows, columns);
#pragma GCC unroll 4
    for (int32_t row = 0; row < rows; ++row) {
#pragma GCC unroll 4
        for (int32_t column = 0; column < columns; ++column) {
            result[row * step + column] = sums[row][column];
        }
    }
}

/* `columns` channels of all pixels of a tap: `from` has their first products, `result` their first pixel. */
TFLMGEN_HELPER void tflmgen_input_gradient_columns(struct tflmgen_products from, tflmgen_f32 *result,
                                                   const struct tflmgen_tap_pixels *pixels, int32_t depth,
                                                   int32_t columns)
{
    for (int32_t line = 0; line < pixels->lines; ++line) {
        struct tflmgen_products next = from;
        tflmgen_f32 *to = result + line * pixels->input_line;
        int32_t pixel = 0;
        next.left += line * pixels->output_line;
        for (; pixel < pixels->columns - 3; pixel += 4, to += 4 * pixels->input_step, next.left += 4 * next.left_row) {
            tflmgen_input_gradient_block(next, to, pixels->input_step, depth, 4, columns);
        }
        for (; pixel < pixels->columns; ++pixel, to += pixels->input_step, next.left += next.left_row) {
            tflmgen_input_gradient_block(next, to, pixels->input_step, depth, 1, columns);
        }
    }
}

/* By one image of the input of a convolution: tap by tap, four pixels and channels at a time. */
TFLMGEN_HELPER void tflmgen_conv2d_image_gradient(const tflmgen_f32 *gradient, const tflmgen_f32 *filter,
                                                  tflmgen_f32 *image, const struct tflmgen_conv2d_gradient *p)
{
    const int32_t group = p->output_channels / (p->input_channels / p->filter_channels);
    const int32_t step = p->filter_height * p->filter_width * p->filter_channels;
    for (int32_t tap = 0; tap < p->filter_height * p->filter_width; ++tap) {
        const struct tflmgen_tap_pixels pixels = tflmgen_pixels_of_tap(tap / p->filter_width, tap % p->filter_width, p);
        for (int32_t first = 0; first < p->output_channels; first += group) {
            tflmgen_f32 *const seen = image + pixels.input + first / group * p->filter_channels;
            struct tflmgen_products from = {gradient + pixels.output + first, p->output_channels, 1,
                                            filter + first * step + tap * p->filter_channels, step};
            int32_t channel = 0;
            for (; channel < p->filter_channels - 3; channel += 4, from.right += 4) {
                tflmgen_input_gradient_columns(from, seen + channel, &pixels, group, 4);
            }
            for (; channel < p->filter_channels; ++channel, ++from.right) {
                tflmgen_input_gradient_columns(from, seen + channel, &pixels, group, 1);
            }
        }
    }
}

/* By the input of a convolution. */
TFLMGEN_KERNEL void tflmgen_conv2d_input_gradient(const tflmgen_f32 *gradient, const tflmgen_f32 *filter,
                                                  tflmgen_f32 *result, const struct tflmgen_conv2d_gradient *p)
{
    const int32_t image_size = p->input_height * p->input_width * p->input_channels;
    memset(result, 0, (size_t)(p->batches * image_size) * sizeof *result);
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const tflmgen_f32 *const slopes = gradient + batch * p->output_height * p->output_width * p->output_channels;
        tflmgen_conv2d_image_gradient(slopes, filter, result + batch * image_size, p);
    }
}

#endif
