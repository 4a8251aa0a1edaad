/* CONV_2D in int8 for cores with MVE: windows are gathered four at a time; conv2d_block_mve.h has what is computed from
 * them. */
#ifndef TFLMGEN_KERNELS_CONV2D_MVE_H
#define TFLMGEN_KERNELS_CONV2D_MVE_H

#include "conv2d_block_mve.h"
#include "conv2d_gather_mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* A column on the stack: windows of 16 * 9 values. */
#define TFLMGEN_CONV2D_MVE_STACK_BYTES (64 * 9)

/* The next window: of its row, what there is to know of windows of either kind. */
struct tflmgen_conv2d_mve_cursor {
    const int8_t *image;
    const int8_t *row; /* the first one of the input that windows reach */
    int32_t out_y;
    int32_t out_x;
    struct tflmgen_conv2d_mve_window window;
    struct tflmgen_conv2d_mve_cut cut;
};

/* Whether there is a table before the stream. */
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
    next->cut.bounds.y = out_y * p->stride_height - p->padding_top;
    const struct tflmgen_taps taps =
        tflmgen_taps_inside(next->cut.bounds.y, p->dilation_height, p->filter_height, p->input_height);
    next->row = next->image + (next->cut.bounds.y + taps.first * p->dilation_height) * line;
    next->window.above = taps.first * row;
    next->window.rows = taps.end - taps.first;
    next->window.below = (p->filter_height - taps.end) * row;
}

/* The next window into one lane, whatever it is. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_gather_next(int8_t *lane, struct tflmgen_conv2d_mve_cursor *next,
                                                   const struct tflmgen_conv2d_mve_s8 *p)
{
    if (next->out_x == p->output_width) {
        tflmgen_conv2d_mve_go_to_row(next, next->out_y + 1, p);
    }
    const int32_t channels = p->input_channels;
    const int32_t x = next->out_x++ * p->stride_width - p->padding_left;
    if (tflmgen_conv2d_mve_has_table(p)) {
        const int32_t first = (next->cut.bounds.y * p->input_width + x) * channels;
        next->cut.bounds.x = x;
        tflmgen_conv2d_mve_table_one(lane, (uint32_t)(uintptr_t)next->image + (uint32_t)first, &next->cut.bounds);
    } else {
        const int32_t first = tflmgen_max_s32(-x, 0);
        const int32_t end = tflmgen_min_s32(p->input_width - x, p->filter_width);
        next->window.left = first * channels / 16;
        next->window.inside = (end - first) * channels / 16;
        next->window.right = (p->filter_width - end) * channels / 16;
        tflmgen_conv2d_mve_copy_one(lane, next->row + (x + first) * channels, &next->window);
    }
}

/* column: 64 * chunks bytes. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_run(const int8_t *input, const int8_t *stream, int8_t *column, int8_t *output,
                                           const struct tflmgen_conv2d_mve_s8 *p,
                                           tflmgen_conv2d_mve_block_function *run_short,
                                           tflmgen_conv2d_mve_block_function *run_long)
{
    tflmgen_conv2d_mve_block_function *const run_block = p->chunks > TFLMGEN_CONV2D_MVE_SHORT ? run_long : run_short;
    struct tflmgen_conv2d_mve_block block = tflmgen_conv2d_mve_block_of(p->chunks, p->output_zero_point);
    const int32_t channels = p->input_channels;
    const int32_t line = p->input_width * channels;
    const int32_t row = p->filter_width * channels;
    const bool has_table = tflmgen_conv2d_mve_has_table(p);
    const bool by_rows = p->dilation_width == 1 && (row % 16 == 0 || p->filter_height == 1);
    const struct tflmgen_conv2d_mve_four four = {p->stride_width * channels, row,    p->dilation_height * line,
                                                 p->filter_height,           stream, p->chunks};
    const int32_t y_end = p->input_height - (p->filter_height - 1) * p->dilation_height;
    const int32_t x_end = p->input_width - (p->filter_width - 1) * p->dilation_width - 3 * p->stride_width;
    const int32_t all = p->batches * p->output_height * p->output_width;
    struct tflmgen_conv2d_mve_cursor next;
    int8_t *at = output;
    next.image = input;
    next.window.padding = p->padding_value;
    next.window.line = p->dilation_height * line;
    next.cut.pixel = four.pixel;
    next.cut.step = p->stride_width;
    next.cut.bounds.height = p->input_height;
    next.cut.bounds.width = p->input_width;
    next.cut.bounds.padding = p->padding_value;
    next.cut.bounds.table = stream;
    next.cut.bounds.chunks = p->chunks;
    tflmgen_conv2d_mve_go_to_row(&next, 0, p);
    tflmgen_conv2d_mve_place(&block, p->output_channels, 3, p->output_channels == 1);
    stream += has_table ? TFLMGEN_CONV2D_MVE_TABLE_BYTES * p->chunks : 0;
    int32_t left = all;
    if (p->filter_height == 1 && p->filter_width == 1 && p->output_width == all && p->input_width == all) {
        for (; left >= TFLMGEN_CONV2D_MVE_PIXELS; left -= TFLMGEN_CONV2D_MVE_PIXELS) {
            const int32_t x = p->backward ? left - TFLMGEN_CONV2D_MVE_PIXELS : all - left;
            const int8_t *windows = column;
            block.pixel = 16;
            if (p->chunks == 1 && (x + 3) * channels + 16 <= all * channels) {
                /* Lanes behind a pixel have weights of zero. */
                windows = input + x * channels;
                block.pixel = channels;
            } else if (by_rows) {
                tflmgen_conv2d_mve_copy_four(column, input + x * channels, &four);
            } else {
                tflmgen_conv2d_mve_table_four(column, input + x * channels, &four);
            }
            run_block(windows, stream, output + x * p->output_channels, &block);
        }
        block.pixel = 16;
        next.out_x = all - left;
        at = output + next.out_x * p->output_channels;
    }
    for (; left > 0; left -= TFLMGEN_CONV2D_MVE_PIXELS, at += TFLMGEN_CONV2D_MVE_PIXELS * p->output_channels) {
        if (p->backward) {
            next.out_x = tflmgen_max_s32(left - TFLMGEN_CONV2D_MVE_PIXELS, 0);
            at = output + next.out_x * p->output_channels;
        } else if (next.out_x == p->output_width) {
            tflmgen_conv2d_mve_go_to_row(&next, next.out_y + 1, p);
        }
        const int32_t y = next.cut.bounds.y;
        const int32_t x = next.out_x * p->stride_width - p->padding_left;
        if (left >= TFLMGEN_CONV2D_MVE_PIXELS && next.out_x + TFLMGEN_CONV2D_MVE_PIXELS <= p->output_width && y >= 0 &&
            y < y_end && x >= 0 && x < x_end) {
            const int8_t *from = next.image + y * line + x * channels;
            if (by_rows) {
                tflmgen_conv2d_mve_copy_four(column, from, &four);
            } else {
                tflmgen_conv2d_mve_table_four(column, from, &four);
            }
            next.out_x += TFLMGEN_CONV2D_MVE_PIXELS;
        } else if (has_table && left >= TFLMGEN_CONV2D_MVE_PIXELS &&
                   next.out_x + TFLMGEN_CONV2D_MVE_PIXELS <= p->output_width) {
            next.cut.bounds.x = x;
            next.cut.from = (uint32_t)(uintptr_t)next.image + (uint32_t)(y * line + x * channels);
            tflmgen_conv2d_mve_table_cut(column, &next.cut);
            next.out_x += TFLMGEN_CONV2D_MVE_PIXELS;
        } else {
            const int32_t lanes = tflmgen_min_s32(left, TFLMGEN_CONV2D_MVE_PIXELS);
            tflmgen_conv2d_mve_place(&block, p->output_channels, lanes - 1, p->output_channels == 1);
            for (int32_t lane = 0; lane < lanes; ++lane) {
                tflmgen_conv2d_mve_gather_next(column + 16 * lane, &next, p);
            }
            for (int32_t lane = lanes; lane < TFLMGEN_CONV2D_MVE_PIXELS; ++lane) {
                for (int32_t chunk = 0; chunk < p->chunks; ++chunk) {
                    int8_t *const to = column + 64 * chunk;
                    vstrbq_s8(to + 16 * lane, vldrbq_s8(to + 16 * (lanes - 1)));
                }
            }
        }
        run_block(column, stream, at, &block);
    }
    tflmgen_clamp_dsp_s8(output, all * p->output_channels, p->output_min, p->output_max);
}

TFLMGEN_SHARED void tflmgen_conv2d_mve_run_on_stack(const int8_t *input, const int8_t *stream, int8_t *output,
                                                    const struct tflmgen_conv2d_mve_s8 *p,
                                                    tflmgen_conv2d_mve_block_function *run_short,
                                                    tflmgen_conv2d_mve_block_function *run_long)
{
    int8_t column[TFLMGEN_CONV2D_MVE_STACK_BYTES] __attribute__((aligned(4)));
    tflmgen_conv2d_mve_run(input, stream, column, output, p, run_short, run_long);
}

/* column: scratch, or NULL where TFLMGEN_CONV2D_MVE_STACK_BYTES are enough. */
#define TFLMGEN_CONV2D_MVE(name, KIND)                                                                                 \
    TFLMGEN_SHARED void name(const int8_t *input, const tflmgen_u32 *stream, void *column, int8_t *output,             \
                             const struct tflmgen_conv2d_mve_s8 *p)                                                    \
    {                                                                                                                  \
        if (column) {                                                                                                  \
            tflmgen_conv2d_mve_run(input, (const int8_t *)stream, (int8_t *)column, output, p,                         \
                                   tflmgen_conv2d_mve_short_##KIND, tflmgen_conv2d_mve_long_##KIND);                   \
        } else {                                                                                                       \
            tflmgen_conv2d_mve_run_on_stack(input, (const int8_t *)stream, output, p, tflmgen_conv2d_mve_short_##KIND, \
                                            tflmgen_conv2d_mve_long_##KIND);                                           \
        }                                                                                                              \
    }

/* Any outputs, or those clamped at the zero point (relu). */
TFLMGEN_CONV2D_MVE(tflmgen_conv2d_mve_s8, signed)
TFLMGEN_CONV2D_MVE(tflmgen_conv2d_mve_relu_s8, clamped)

#endif

#endif
