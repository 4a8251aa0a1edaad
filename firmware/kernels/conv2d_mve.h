/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D in int8 for cores with MVE: the loop over blocks of four output pixels. conv2d_gather_mve.h brings their
 * windows into the im2col buffer, conv2d_block_mve.h multiplies it by the weights and has the layout of both. */
#ifndef TFLMGEN_KERNELS_CONV2D_MVE_H
#define TFLMGEN_KERNELS_CONV2D_MVE_H

#include "conv2d_block_mve.h"
#include "conv2d_gather_mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* Cursor over output pixels: the position, and for the windows of its row the numbers of the gather functions, of those
 * by the table (clipped) or of those by copies (window). */
struct tflmgen_conv2d_mve_cursor {
    const int8_t *image;
    const int8_t *row; /* the first one of the input that windows reach */
    int32_t out_y;
    int32_t out_x;
    int32_t y; /* of the row's windows in the input */
    union {
        struct tflmgen_conv2d_mve_window window;
        struct tflmgen_conv2d_mve_clipped clipped;
    } gather;
};

/* Whether there is a gather table in front of the stream. */
TFLMGEN_HELPER bool tflmgen_conv2d_mve_has_table(const struct tflmgen_conv2d_mve_s8 *p)
{
    return p->input_channels % 16 != 0 || p->dilation_width > 1;
}

/* To the row out_y of this image, or else the first of the next one. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_go_to_row(struct tflmgen_conv2d_mve_cursor *next, int32_t out_y,
                                                 const struct tflmgen_conv2d_mve_s8 *p)
{
    const int32_t line = p->input_width * p->input_channels;
    const int32_t row = p->filter_width * p->input_channels / 16;
    if (out_y == p->output_height) {
        out_y = 0;
        next->image += p->input_height * line;
    }
    next->out_y = out_y;
    next->out_x = 0;
    next->y = out_y * p->stride_height - p->padding_top;
    if (tflmgen_conv2d_mve_has_table(p)) {
        next->gather.clipped.bounds.y = next->y;
    } else {
        const struct tflmgen_taps taps =
            tflmgen_taps_inside(next->y, p->dilation_height, p->filter_height, p->input_height);
        next->row = next->image + (next->y + taps.first * p->dilation_height) * line;
        next->gather.window.above = taps.first * row;
        next->gather.window.rows = taps.end - taps.first;
        next->gather.window.below = (p->filter_height - taps.end) * row;
    }
}

/* The next window into a lane, whatever it is. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_gather_next(int8_t *lane, struct tflmgen_conv2d_mve_cursor *cursor,
                                                   const struct tflmgen_conv2d_mve_s8 *p)
{
    if (cursor->out_x == p->output_width) {
        tflmgen_conv2d_mve_go_to_row(cursor, cursor->out_y + 1, p);
    }
    const int32_t channels = p->input_channels;
    const int32_t x = cursor->out_x++ * p->stride_width - p->padding_left;
    if (tflmgen_conv2d_mve_has_table(p)) {
        const int32_t first = (cursor->y * p->input_width + x) * channels;
        cursor->gather.clipped.bounds.x = x;
        tflmgen_conv2d_mve_table_one(lane, (uint32_t)(uintptr_t)cursor->image + (uint32_t)first,
                                     &cursor->gather.clipped.bounds);
    } else {
        const int32_t first = tflmgen_max_s32(-x, 0);
        const int32_t end = tflmgen_min_s32(p->input_width - x, p->filter_width);
        cursor->gather.window.left = first * channels / 16;
        cursor->gather.window.inside = (end - first) * channels / 16;
        cursor->gather.window.right = (p->filter_width - end) * channels / 16;
        tflmgen_conv2d_mve_copy_one(lane, cursor->row + (x + first) * channels, &cursor->gather.window);
    }
}

/* im2col: room for 64 * chunks bytes. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_run(const int8_t *input, const int8_t *stream, int8_t *im2col, int8_t *output,
                                           const struct tflmgen_conv2d_mve_s8 *p,
                                           tflmgen_conv2d_mve_block_function *run_block, bool is_short)
{
    struct tflmgen_conv2d_mve_blocks blocks = tflmgen_conv2d_mve_blocks_of(
        im2col, stream + (tflmgen_conv2d_mve_has_table(p) ? TFLMGEN_CONV2D_MVE_TABLE_BYTES * p->chunks : 0), p->chunks,
        p->output_zero_point, is_short, p->sign_fix);
    const int32_t channels = p->input_channels;
    const int32_t input_row_bytes = p->input_width * channels;
    const int32_t window_row_bytes = p->filter_width * channels;
    const bool has_table = tflmgen_conv2d_mve_has_table(p);
    const bool by_rows = p->dilation_width == 1 && (window_row_bytes % 16 == 0 || p->filter_height == 1);
    const struct tflmgen_conv2d_mve_four four = {p->stride_width * channels, window_row_bytes,
                                                 p->dilation_height * input_row_bytes, p->filter_height};
    const int32_t y_end = p->input_height - (p->filter_height - 1) * p->dilation_height;
    const int32_t x_end = p->input_width - (p->filter_width - 1) * p->dilation_width - 3 * p->stride_width;
    const int32_t pixel_count = p->batches * p->output_height * p->output_width;
    struct tflmgen_conv2d_mve_cursor cursor;
    int8_t *block_output = output;
    cursor.image = input;
    if (has_table) {
        const struct tflmgen_conv2d_mve_bounds bounds = {
            0, 0, p->input_height, p->input_width, p->padding_value, stream, p->chunks};
        cursor.gather.clipped.pixel = four.pixel;
        cursor.gather.clipped.step = p->stride_width;
        cursor.gather.clipped.bounds = bounds;
    } else {
        cursor.gather.window.padding = p->padding_value;
        cursor.gather.window.line = p->dilation_height * input_row_bytes;
    }
    tflmgen_conv2d_mve_go_to_row(&cursor, 0, p);
    tflmgen_conv2d_mve_place(blocks.outputs, p->output_channels, 3, p->output_channels == 1);
    int32_t remaining = pixel_count;
    for (; remaining > 0;
         remaining -= TFLMGEN_CONV2D_MVE_PIXELS, block_output += TFLMGEN_CONV2D_MVE_PIXELS * p->output_channels) {
        if (cursor.out_x == p->output_width) {
            tflmgen_conv2d_mve_go_to_row(&cursor, cursor.out_y + 1, p);
        }
        const int32_t y = cursor.y;
        const int32_t x = cursor.out_x * p->stride_width - p->padding_left;
        if (remaining >= TFLMGEN_CONV2D_MVE_PIXELS && cursor.out_x + TFLMGEN_CONV2D_MVE_PIXELS <= p->output_width &&
            y >= 0 && y < y_end && x >= 0 && x < x_end) {
            const int8_t *first_window = cursor.image + y * input_row_bytes + x * channels;
            if (by_rows) {
                tflmgen_conv2d_mve_copy_four(im2col, first_window, &four);
            } else {
                tflmgen_conv2d_mve_table_four(im2col, first_window, &cursor.gather.clipped);
            }
            cursor.out_x += TFLMGEN_CONV2D_MVE_PIXELS;
        } else if (has_table && remaining >= TFLMGEN_CONV2D_MVE_PIXELS &&
                   cursor.out_x + TFLMGEN_CONV2D_MVE_PIXELS <= p->output_width) {
            cursor.gather.clipped.bounds.x = x;
            cursor.gather.clipped.from =
                (uint32_t)(uintptr_t)cursor.image + (uint32_t)(y * input_row_bytes + x * channels);
            tflmgen_conv2d_mve_table_clipped(im2col, &cursor.gather.clipped);
            cursor.out_x += TFLMGEN_CONV2D_MVE_PIXELS;
        } else {
            const int32_t lanes = tflmgen_min_s32(remaining, TFLMGEN_CONV2D_MVE_PIXELS);
            tflmgen_conv2d_mve_place(blocks.outputs, p->output_channels, lanes - 1, p->output_channels == 1);
            for (int32_t lane = 0; lane < lanes; ++lane) {
                tflmgen_conv2d_mve_gather_next(im2col + 16 * lane, &cursor, p);
            }
            for (int32_t lane = lanes; lane < TFLMGEN_CONV2D_MVE_PIXELS; ++lane) {
                for (int32_t chunk = 0; chunk < p->chunks; ++chunk) {
                    int8_t *const to = im2col + 64 * chunk;
                    vstrbq_s8(to + 16 * lane, vldrbq_s8(to + 16 * (lanes - 1)));
                }
            }
        }
        blocks.output = block_output;
        run_block(&blocks);
    }
    tflmgen_clamp_dsp_s8(output, pixel_count * p->output_channels, p->output_min, p->output_max);
}

TFLMGEN_SHARED void tflmgen_conv2d_mve_run_on_stack(const int8_t *input, const int8_t *stream, int8_t *output,
                                                    const struct tflmgen_conv2d_mve_s8 *p,
                                                    tflmgen_conv2d_mve_block_function *run_block, bool is_short)
{
    int8_t im2col[TFLMGEN_CONV2D_MVE_STACK_BYTES] __attribute__((aligned(4)));
    tflmgen_conv2d_mve_run(input, stream, im2col, output, p, run_block, is_short);
}

/* Any windows, or short ones whose outputs are clamped at the zero point (relu). */
TFLMGEN_CONV2D_MVE(tflmgen_conv2d_mve, s8, tflmgen_conv2d_mve_any, false)
TFLMGEN_CONV2D_MVE(tflmgen_conv2d_mve, relu_s8, tflmgen_conv2d_mve_short_clamped, true)

#endif

#endif
