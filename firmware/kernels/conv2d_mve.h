/* CONV_2D in int8 for cores with MVE: windows are gathered four at a time; conv2d_block_mve.h has what is computed from
 * them. */
#ifndef TFLMGEN_KERNELS_CONV2D_MVE_H
#define TFLMGEN_KERNELS_CONV2D_MVE_H

#include "conv2d_block_mve.h"
#include "window.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* A column on the stack: windows of 16 * 7 values, or 9 where a pixel is 16s of them. */
#define TFLMGEN_CONV2D_MVE_STACK_BYTES (5 * 16 * 7 + 16)

struct tflmgen_conv2d_mve_s8 {
    TFLMGEN_WINDOW_FIELDS
    int32_t dilation_height;
    int32_t dilation_width;
    int32_t padding_value;
    int32_t chunks; /* 16s of values in a window */
    int32_t output_zero_point;
    bool backward; /* blocks from the last to the first; windows of one pixel in one line only */
    int32_t output_min;
    int32_t output_max;
};

/* Where the next window begins. */
struct tflmgen_conv2d_mve_cursor {
    const int8_t *image;
    int32_t out_y;
    int32_t out_x;
};

/* 16s of bytes into one lane of a column. */
TFLMGEN_HELPER int8_t *tflmgen_conv2d_mve_lane(int8_t *lane, const int8_t *from, int32_t chunks)
{
    for (; chunks > 0; --chunks, from += 16, lane += 64) {
        vstrbq_s8(lane, vldrbq_s8(from));
    }
    return lane;
}

/* One window, value after value; what lies outside the input is padding. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_flatten(int8_t *to, const int8_t *image, int32_t origin_y, int32_t origin_x,
                                               const struct tflmgen_conv2d_mve_s8 *p)
{
    const int32_t channels = p->input_channels;
    const int32_t row = p->filter_width * channels;
    const int32_t line = p->dilation_height * p->input_width * channels;
    const struct tflmgen_taps y =
        tflmgen_taps_inside(origin_y, p->dilation_height, p->filter_height, p->input_height);
    const struct tflmgen_taps x = tflmgen_taps_inside(origin_x, p->dilation_width, p->filter_width, p->input_width);
    const int8_t *from = image + ((origin_y + y.first * p->dilation_height) * p->input_width + origin_x +
                                  x.first * p->dilation_width) * channels;
    for (int32_t chunk = 0; chunk < p->chunks; ++chunk) {
        vstrbq_s8(to + 16 * chunk, vdupq_n_s8((int8_t)p->padding_value));
    }
    to += y.first * row + x.first * channels;
    for (int32_t ky = y.first; ky < y.end; ++ky, from += line, to += row) {
        if (p->dilation_width == 1) {
            tflmgen_copy_mve(to, from, (x.end - x.first) * channels);
        } else {
            for (int32_t kx = 0; kx < x.end - x.first; ++kx) {
                tflmgen_copy_mve(to + kx * channels, from + kx * p->dilation_width * channels, channels);
            }
        }
    }
}

/* The same straight into a lane, where a pixel is 16s of values. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_flatten_lane(int8_t *lane, const int8_t *image, int32_t origin_y,
                                                    int32_t origin_x, const struct tflmgen_conv2d_mve_s8 *p)
{
    const int32_t channels = p->input_channels;
    const int8x16_t padding = vdupq_n_s8((int8_t)p->padding_value);
    for (int32_t ky = 0; ky < p->filter_height; ++ky) {
        const int32_t y = origin_y + ky * p->dilation_height;
        for (int32_t kx = 0; kx < p->filter_width; ++kx) {
            const int32_t x = origin_x + kx * p->dilation_width;
            if (y >= 0 && y < p->input_height && x >= 0 && x < p->input_width) {
                lane = tflmgen_conv2d_mve_lane(lane, image + (y * p->input_width + x) * channels, channels / 16);
            } else {
                for (int32_t channel = 0; channel < channels; channel += 16, lane += 64) {
                    vstrbq_s8(lane, padding);
                }
            }
        }
    }
}

/* `lanes` windows, `pixel` bytes apart, that lie inside, by way of `window`, room for a whole one and 16 bytes. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_gather_whole(int8_t *lane, int8_t *window, const int8_t *from, int32_t lanes,
                                                    int32_t pixel, const struct tflmgen_conv2d_mve_s8 *p)
{
    const int32_t row = p->filter_width * p->input_channels;
    const int32_t line = p->dilation_height * p->input_width * p->input_channels;
    const int32_t rows = p->filter_height;
    const int32_t chunks = p->chunks;
    const mve_pred16_t some = vctp8q((uint32_t)row);
    for (; lanes > 0; --lanes, lane += 16, from += pixel) {
        const int8_t *at = from;
        int8_t *to = row % 16 == 0 ? lane : window;
        if (row % 16 == 0) {
            for (int32_t left = rows; left > 0; --left, at += line) {
                to = tflmgen_conv2d_mve_lane(to, at, row / 16);
            }
            continue;
        }
        if (row < 16) {
            for (int32_t left = rows; left > 0; --left, at += line, to += row) {
                vstrbq_s8(to, vldrbq_z_s8(at, some));
            }
        } else {
            for (int32_t left = rows; left > 0; --left, at += line, to += row) {
                tflmgen_copy_mve(to, at, row);
            }
        }
        (void)tflmgen_conv2d_mve_lane(lane, window, chunks);
    }
}

/* Four windows of one row, `pixel` bytes apart. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_gather_rows(int8_t *column, const int8_t *from, int32_t pixel, int32_t bytes)
{
    const int8_t *from2 = from + 2 * pixel;
    for (; bytes > 0; bytes -= 16, from += 16, from2 += 16, column += 64) {
        const mve_pred16_t some = vctp8q((uint32_t)bytes);
        vstrbq_s8(column, vldrbq_z_s8(from, some));
        vstrbq_s8(column + 16, vldrbq_z_s8(from + pixel, some));
        vstrbq_s8(column + 32, vldrbq_z_s8(from2, some));
        vstrbq_s8(column + 48, vldrbq_z_s8(from2 + pixel, some));
    }
}

/* The next window into one lane, whatever it is. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_gather_next(int8_t *lane, int8_t *window,
                                                   struct tflmgen_conv2d_mve_cursor *next,
                                                   const struct tflmgen_conv2d_mve_s8 *p)
{
    if (next->out_x == p->output_width) {
        next->out_x = 0;
        if (++next->out_y == p->output_height) {
            next->out_y = 0;
            next->image += p->input_height * p->input_width * p->input_channels;
        }
    }
    const int32_t y = next->out_y * p->stride_height - p->padding_top;
    const int32_t x = next->out_x++ * p->stride_width - p->padding_left;
    if (p->dilation_width == 1 && x >= 0 && x + p->filter_width <= p->input_width && y >= 0 &&
        y + (p->filter_height - 1) * p->dilation_height < p->input_height) {
        const int8_t *from = next->image + (y * p->input_width + x) * p->input_channels;
        tflmgen_conv2d_mve_gather_whole(lane, window, from, 1, 0, p);
    } else if (p->input_channels % 16 == 0) {
        tflmgen_conv2d_mve_flatten_lane(lane, next->image, y, x, p);
    } else {
        tflmgen_conv2d_mve_flatten(window, next->image, y, x, p);
        (void)tflmgen_conv2d_mve_lane(lane, window, p->chunks);
    }
}

/* column: 64 * chunks bytes, and 16 * chunks + 16 more for one window where a pixel is not 16s of values. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_run(const int8_t *input, const int8_t *stream, int8_t *column, int8_t *output,
                                           const struct tflmgen_conv2d_mve_s8 *p,
                                           tflmgen_conv2d_mve_block_function *run_block)
{
    const int32_t passes = (p->chunks - 1 + 3) / 4;
    const int32_t skip = p->chunks == 1 ? TFLMGEN_CONV2D_MVE_LOOP_BYTES
                                        : (4 * passes - (p->chunks - 1)) * TFLMGEN_CONV2D_MVE_CHUNK_BYTES;
    struct tflmgen_conv2d_mve_block block = {passes, skip, p->output_channels, p->output_zero_point, 3};
    const int32_t channels = p->input_channels;
    const int32_t all = p->batches * p->output_height * p->output_width;
    const int32_t pixel = p->stride_width * channels;
    const int32_t y_end = p->input_height - (p->filter_height - 1) * p->dilation_height;
    const int32_t x_end = p->dilation_width > 1 ? 0 : p->input_width - p->filter_width + 1 - 3 * p->stride_width;
    int8_t *const window = column + 64 * p->chunks;
    const bool backward = p->backward;
    struct tflmgen_conv2d_mve_cursor next = {input, 0, 0};
    int8_t *at = output;
    for (int32_t left = all; left > 0; left -= 4, at += 4 * p->output_channels) {
        if (backward) {
            next.out_x = tflmgen_max_s32(left - 4, 0);
            at = output + next.out_x * p->output_channels;
        }
        const int32_t y = next.out_y * p->stride_height - p->padding_top;
        const int32_t x = next.out_x * p->stride_width - p->padding_left;
        const int8_t *from = next.image + (y * p->input_width + x) * channels;
        if (left >= 4 && next.out_x + 4 <= p->output_width && y >= 0 && y < y_end && x >= 0 && x < x_end) {
            if (p->filter_height == 1) {
                tflmgen_conv2d_mve_gather_rows(column, from, pixel, p->filter_width * channels);
            } else {
                tflmgen_conv2d_mve_gather_whole(column, window, from, 4, pixel, p);
            }
            next.out_x += 4;
        } else {
            const int32_t lanes = tflmgen_min_s32(left, 4);
            block.last = (uint32_t)(lanes - 1);
            for (int32_t lane = 0; lane < lanes; ++lane) {
                tflmgen_conv2d_mve_gather_next(column + 16 * lane, window, &next, p);
            }
            for (int32_t lane = lanes; lane < 4; ++lane) {
                for (int8_t *chunk = column; chunk != window; chunk += 64) {
                    vstrbq_s8(chunk + 16 * lane, vldrbq_s8(chunk + 16 * (lanes - 1)));
                }
            }
        }
        run_block(column, stream, at, &block);
    }
    if (p->output_min > -128 || p->output_max < 127) {
        tflmgen_clamp_dsp_s8(output, all * p->output_channels, p->output_min, p->output_max);
    }
}

/* The column is on the stack, or in the arena; outputs are clamped at the zero point, or not. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_clamped_stack_s8(const int8_t *input, const uint32_t *stream, int8_t *output,
                                                        const struct tflmgen_conv2d_mve_s8 *p)
{
    int8_t column[TFLMGEN_CONV2D_MVE_STACK_BYTES];
    tflmgen_conv2d_mve_run(input, (const int8_t *)stream, column, output, p, tflmgen_conv2d_mve_block_clamped);
}

TFLMGEN_SHARED void tflmgen_conv2d_mve_signed_stack_s8(const int8_t *input, const uint32_t *stream, int8_t *output,
                                                       const struct tflmgen_conv2d_mve_s8 *p)
{
    int8_t column[TFLMGEN_CONV2D_MVE_STACK_BYTES];
    tflmgen_conv2d_mve_run(input, (const int8_t *)stream, column, output, p, tflmgen_conv2d_mve_block_signed);
}

TFLMGEN_SHARED void tflmgen_conv2d_mve_clamped_s8(const int8_t *input, const uint32_t *stream, void *column,
                                                  int8_t *output, const struct tflmgen_conv2d_mve_s8 *p)
{
    tflmgen_conv2d_mve_run(input, (const int8_t *)stream, column, output, p, tflmgen_conv2d_mve_block_clamped);
}

TFLMGEN_SHARED void tflmgen_conv2d_mve_signed_s8(const int8_t *input, const uint32_t *stream, void *column,
                                                 int8_t *output, const struct tflmgen_conv2d_mve_s8 *p)
{
    tflmgen_conv2d_mve_run(input, (const int8_t *)stream, column, output, p, tflmgen_conv2d_mve_block_signed);
}

#endif

#endif
