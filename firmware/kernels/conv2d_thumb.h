/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D in int8 for every Cortex-M: im2col, and the loop over blocks of four output pixels. conv2d_block_thumb.h
 * multiplies the im2col buffer by the weights, and has the layout of both.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_THUMB_H
#define TFLMGEN_KERNELS_CONV2D_THUMB_H

#include "conv2d_block_thumb.h"
#include "window.h"

#ifdef __thumb__

struct tflmgen_conv2d_thumb_s8 {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t padding_value;
    bool backward; /* blocks from the last to the first; windows of one pixel in one line only */
    int32_t terms; /* values in a window */
    int32_t output_min;
    int32_t output_max;
};

/* One pixel's window: where its next value goes, which of a word's two pixels it is, and the words' other bits. */
struct tflmgen_conv2d_thumb_lane {
    tflmgen_u32 *at;
    uint32_t shift;
    uint32_t mask;
};

/* `count` values into a lane, `step` bytes apart. */
TFLMGEN_SHARED void tflmgen_conv2d_thumb_widen(struct tflmgen_conv2d_thumb_lane *lane, const int8_t *values,
                                               int32_t step, int32_t count)
{
    const uint32_t shift = lane->shift;
    const uint32_t mask = lane->mask;
    tflmgen_u32 *at = lane->at;
    for (; count > 0; --count, values += step, at += TFLMGEN_CONV2D_THUMB_LANES / 2) {
        *at = (*at & mask) - ((uint32_t)*values << shift);
    }
    lane->at = at;
}

/* One pixel's window, wherever it lies, into the lower half of words, or then into the upper one. */
TFLMGEN_SHARED void tflmgen_conv2d_thumb_gather(tflmgen_u32 *at, bool upper, const int8_t *image, int32_t y, int32_t x,
                                                const struct tflmgen_conv2d_thumb_s8 *p)
{
    struct tflmgen_conv2d_thumb_lane lane = {at, upper ? 16 : 0, upper ? ~(uint32_t)0 : 0};
    const int32_t channels = p->input_channels;
    const int8_t padding = (int8_t)p->padding_value;
    const struct tflmgen_taps inside = tflmgen_taps_inside(x, p->dilation_width, p->filter_width, p->input_width);
    const int32_t step = p->dilation_width * channels;
    for (int32_t ky = 0; ky < p->filter_height; ++ky, y += p->dilation_height) {
        if (y < 0 || y >= p->input_height) {
            tflmgen_conv2d_thumb_widen(&lane, &padding, 0, p->filter_width * channels);
            continue;
        }
        const int8_t *row = image + (y * p->input_width + x) * channels;
        tflmgen_conv2d_thumb_widen(&lane, &padding, 0, inside.first * channels);
        if (p->dilation_width == 1) {
            tflmgen_conv2d_thumb_widen(&lane, row + inside.first * step, 1, (inside.end - inside.first) * channels);
        } else {
            for (int32_t kx = inside.first; kx < inside.end; ++kx) {
                tflmgen_conv2d_thumb_widen(&lane, row + kx * step, 1, channels);
            }
        }
        tflmgen_conv2d_thumb_widen(&lane, &padding, 0, (p->filter_width - inside.end) * channels);
    }
}

/* One value of two pixels: 7 instructions, 14 bytes. */
#define TFLMGEN_CONV2D_THUMB_WIDEN2(i) \
    "ldrsb r4, [r1, r3]\n\t"           \
    "ldrsb r5, [r2, r3]\n\t"           \
    "lsls r5, r5, #16\n\t"             \
    "adds r4, r4, r5\n\t"              \
    "negs r4, r4\n\t"                  \
    "str r4, [r0, #8 * " i "]\n\t"     \
    "adds r3, #1\n\t"

/* `count` values of two pixels that are `pixel` bytes apart, 3 instructions to loop over 8; at least one. */
TFLMGEN_SHARED void tflmgen_conv2d_thumb_widen2(tflmgen_u32 *im2col, const int8_t *values, int32_t pixel, int32_t count)
{
    TFLMGEN_IN_REGISTERS_4(im2col, values, pixel, count);
    /* clang-format off */
    __asm__ volatile(".syntax unified\n\t"
                     "push {r4, r5}\n\t"
                     "adds r1, r1, r3\n\t"
                     "adds r2, r2, r1\n\t"
                     "negs r3, r3\n\t"
                     "movs r4, #7\n\t"
                     "ands r4, r4, r3\n\t"
                     "lsls r5, r4, #3\n\t"
                     "subs r0, r0, r5\n\t"
                     "movs r5, #14\n\t"
                     "muls r4, r5, r4\n\t"
                     "adr r5, 1f\n\t"
                     "adds r4, r4, r5\n\t"
                     "mov pc, r4\n\t"
                     ".p2align 2\n"
                     "1:\n\t"
                     TFLMGEN_CONV2D_THUMB_WIDEN2("0")
                     TFLMGEN_CONV2D_THUMB_WIDEN2("1")
                     TFLMGEN_CONV2D_THUMB_WIDEN2("2")
                     TFLMGEN_CONV2D_THUMB_WIDEN2("3")
                     TFLMGEN_CONV2D_THUMB_WIDEN2("4")
                     TFLMGEN_CONV2D_THUMB_WIDEN2("5")
                     TFLMGEN_CONV2D_THUMB_WIDEN2("6")
                     TFLMGEN_CONV2D_THUMB_WIDEN2("7")
                     "adds r0, #64\n\t"
                     "cmp r3, #0\n\t"
                     "bne 1b\n\t"
                     "pop {r4, r5}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "cc", "memory");
    /* clang-format on */
}

/* The windows of two pixels side by side, both within the input's width. `from`: where the first one begins, at row
 * y. */
TFLMGEN_SHARED void tflmgen_conv2d_thumb_gather2(tflmgen_u32 *im2col, const int8_t *from, int32_t y,
                                                 const struct tflmgen_conv2d_thumb_s8 *p)
{
    const int32_t row = p->filter_width * p->input_channels;
    const int32_t pixel = p->stride_width * p->input_channels;
    const int32_t line = p->dilation_height * p->input_width * p->input_channels;
    const uint32_t padding = 0u - (uint32_t)p->padding_value * 65537u;
    for (int32_t ky = 0; ky < p->filter_height; ++ky, y += p->dilation_height, from += line) {
        if (y >= 0 && y < p->input_height) {
            tflmgen_conv2d_thumb_widen2(im2col, from, pixel, row);
            im2col += TFLMGEN_CONV2D_THUMB_LANES / 2 * row;
            continue;
        }
        for (int32_t i = 0; i < row; ++i, im2col += TFLMGEN_CONV2D_THUMB_LANES / 2) {
            *im2col = padding;
        }
    }
}

/* Where the next window begins. */
struct tflmgen_conv2d_thumb_cursor {
    const int8_t *image;
    int32_t out_y;
    int32_t out_x;
};

TFLMGEN_HELPER void tflmgen_conv2d_thumb_skip(struct tflmgen_conv2d_thumb_cursor *next, int32_t pixels,
                                              const struct tflmgen_conv2d_thumb_s8 *p)
{
    next->out_x += pixels;
    if (next->out_x == p->output_width && !p->backward) {
        next->out_x = 0;
        if (++next->out_y == p->output_height) {
            next->out_y = 0;
            next->image += p->input_height * p->input_width * p->input_channels;
        }
    }
}

/* The next `count` windows, one or two, into a pair of lanes. */
TFLMGEN_SHARED void tflmgen_conv2d_thumb_gather_next(tflmgen_u32 *im2col, int32_t count,
                                                     struct tflmgen_conv2d_thumb_cursor *next,
                                                     const struct tflmgen_conv2d_thumb_s8 *p)
{
    int32_t y = next->out_y * p->stride_height - p->padding_top;
    int32_t x = next->out_x * p->stride_width - p->padding_left;
    if (count == 2 && next->out_x + 2 <= p->output_width && x >= 0 &&
        x + p->stride_width + p->filter_width <= p->input_width && p->dilation_width == 1) {
        tflmgen_conv2d_thumb_gather2(im2col, next->image + (y * p->input_width + x) * p->input_channels, y, p);
        tflmgen_conv2d_thumb_skip(next, 2, p);
        return;
    }
    tflmgen_conv2d_thumb_gather(im2col, false, next->image, y, x, p);
    tflmgen_conv2d_thumb_skip(next, 1, p);
    if (count == 2) {
        y = next->out_y * p->stride_height - p->padding_top;
        x = next->out_x * p->stride_width - p->padding_left;
        tflmgen_conv2d_thumb_gather(im2col, true, next->image, y, x, p);
        tflmgen_conv2d_thumb_skip(next, 1, p);
    }
}

/* im2col: 2 * rows words. */
TFLMGEN_SHARED void tflmgen_conv2d_thumb_run(const int8_t *input, const tflmgen_u32 *stream, tflmgen_u32 *im2col,
                                             int8_t *output, const struct tflmgen_conv2d_thumb_s8 *p, int32_t words,
                                             tflmgen_conv2d_thumb_block_function *four)
{
    const int32_t rows = (p->terms + 3) / 4 * 4;
    const int32_t groups = (p->output_channels + TFLMGEN_CONV2D_THUMB_GROUP - 1) / TFLMGEN_CONV2D_THUMB_GROUP;
    const int32_t pixel = p->output_channels;
    tflmgen_u32 *const values = im2col + TFLMGEN_CONV2D_THUMB_LANES / 2 * (rows - p->terms);
    struct tflmgen_conv2d_thumb_block block;
    block.entry = rows % 8 ? TFLMGEN_CONV2D_THUMB_HALF_BYTES : 0;
    block.im2col_bytes = 2 * TFLMGEN_CONV2D_THUMB_LANES * rows;
    block.constants = stream + groups * (TFLMGEN_CONV2D_THUMB_GROUP / 4) * rows;
    block.masks = block.constants + words * p->output_channels;
    block.group_step = TFLMGEN_CONV2D_THUMB_GROUP * (rows - 1);
    struct tflmgen_conv2d_thumb_cursor next = {input, 0, 0};
    int8_t *at = output;
    for (int32_t left = p->batches * p->output_height * p->output_width; left > 0; left -= TFLMGEN_CONV2D_THUMB_LANES) {
        const int32_t lanes = tflmgen_min_s32(left, TFLMGEN_CONV2D_THUMB_LANES);
        if (p->backward) {
            next.out_x = left - lanes;
            at = output + next.out_x * pixel;
        }
        tflmgen_conv2d_thumb_gather_next(values, tflmgen_min_s32(lanes, 2), &next, p);
        if (lanes > 2) {
            tflmgen_conv2d_thumb_gather_next(values + 1, lanes - 2, &next, p);
        }
        for (int32_t i = 0; i < TFLMGEN_CONV2D_THUMB_LANES - 1; ++i) {
            block.pixel_offsets[i] = i + 1 < lanes ? (i + 1) * pixel : 0;
        }
        block.outputs_end = at + pixel;
        four(im2col, (const int8_t *)stream, at, &block);
        at += TFLMGEN_CONV2D_THUMB_LANES * pixel;
    }
    const int32_t count = p->batches * p->output_height * p->output_width * pixel;
    tflmgen_clamp_thumb_s8(output, count, p->output_min, p->output_max);
}

/* All outputs that are not clamped in a window, or not. */
TFLMGEN_SHARED void tflmgen_conv2d_thumb_bounded_s8(const int8_t *input, const tflmgen_u32 *stream, void *im2col,
                                                    int8_t *output, const struct tflmgen_conv2d_thumb_s8 *p)
{
    tflmgen_conv2d_thumb_run(input, stream, im2col, output, p, 3, tflmgen_conv2d_thumb_block_clamped);
}

TFLMGEN_SHARED void tflmgen_conv2d_thumb_s8(const int8_t *input, const tflmgen_u32 *stream, void *im2col,
                                            int8_t *output, const struct tflmgen_conv2d_thumb_s8 *p)
{
    tflmgen_conv2d_thumb_run(input, stream, im2col, output, p, 6, tflmgen_conv2d_thumb_block_signed);
}

#endif

#endif
