/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* im2col of CONV_2D in int8 for cores with the DSP extension, window by window: the values of a window are widened to X
 * and Y (see dsp.h) in one lane of the buffer that conv2d_block_dsp.h reads.
 *
 * A window's row has `row_pitch` values. Values and weights are in this order: the whole words of each row, then the
 * row tails, of 0 to 3 values each, one behind the other, filled up to whole words with zero weights:
 *
 *     row 0 | w w w t |                                  with words w
 *     row 1 | w w w t |   ->   w w w w w w | t t 0 0      and tails t
 *
 * What lies outside of the input is `padding_value`.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_GATHER_DSP_H
#define TFLMGEN_KERNELS_CONV2D_GATHER_DSP_H

#include "conv2d_fill_dsp.h"
#include "window.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

struct tflmgen_conv2d_dsp_s8 {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t padding_value;
    int32_t row_pitch; /* values of a row: whole words, with zero weights, or a row's own number */
    int32_t steps;     /* of four values in a window */
    bool backward;     /* blocks from the last to the first; windows of one pixel in one line only */
    int32_t output_min;
    int32_t output_max;
};

/* X and Y of four values, the bytes of x. */
TFLMGEN_HELPER void tflmgen_conv2d_dsp_put(tflmgen_u32 *lane, uint32_t x)
{
    lane[0] = tflmgen_odd_bytes(x);
    lane[3] = tflmgen_shifted_inputs(x);
}

/* `words` words of values at any address into one lane: 6 instructions each, and 4 to loop over 4. Returns where the
 * lane goes on. */
TFLMGEN_HELPER tflmgen_u32 *tflmgen_conv2d_dsp_widen(tflmgen_u32 *lane, const int8_t *input, int32_t words)
{
    for (; words >= 4; words -= 4, input += 16, lane += 24) {
        tflmgen_conv2d_dsp_put(lane, tflmgen_load4(input));
        tflmgen_conv2d_dsp_put(lane + 6, tflmgen_load4(input + 4));
        tflmgen_conv2d_dsp_put(lane + 12, tflmgen_load4(input + 8));
        tflmgen_conv2d_dsp_put(lane + 18, tflmgen_load4(input + 12));
    }
    if (words & 2) {
        tflmgen_conv2d_dsp_put(lane, tflmgen_load4(input));
        tflmgen_conv2d_dsp_put(lane + 6, tflmgen_load4(input + 4));
        input += 8;
        lane += 12;
    }
    if (words & 1) {
        tflmgen_conv2d_dsp_put(lane, tflmgen_load4(input));
        lane += 6;
    }
    return lane;
}

/* The same for `rows` rows of words, `line` bytes apart. */
TFLMGEN_SHARED tflmgen_u32 *tflmgen_conv2d_dsp_widen_rows(tflmgen_u32 *lane, const int8_t *input, int32_t words,
                                                          int32_t rows, int32_t line)
{
    for (; rows > 0; --rows, input += line) {
        lane = tflmgen_conv2d_dsp_widen(lane, input, words);
    }
    return lane;
}

/* The same word at `count` places of a lane, `step` words of the buffer apart. */
TFLMGEN_SPEED_HELPER tflmgen_u32 *tflmgen_conv2d_dsp_pad_lane(tflmgen_u32 *lane, uint32_t word, int32_t count,
                                                              int32_t step)
{
    const uint32_t x = tflmgen_odd_bytes(word);
    const uint32_t y = tflmgen_shifted_inputs(word);
    for (; count > 0; --count, lane += step) {
        lane[0] = x;
        lane[3] = y;
    }
    return lane;
}

/* The window at (origin_y, origin_x) into a lane, row by row; a pixel's channels are whole words. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_gather(tflmgen_u32 *lane, const int8_t *input, int32_t origin_y,
                                              int32_t origin_x, const struct tflmgen_conv2d_dsp_s8 *p)
{
    const struct tflmgen_taps x = tflmgen_taps_inside(origin_x, p->dilation_width, p->filter_width, p->input_width);
    const struct tflmgen_taps y = tflmgen_taps_inside(origin_y, p->dilation_height, p->filter_height, p->input_height);
    const int32_t channels = p->input_channels;
    const int32_t before = x.first * channels >> 2;
    const int32_t inside = (x.end - x.first) * channels >> 2;
    const int32_t after = (p->filter_width - x.end) * channels >> 2;
    const int32_t line = p->dilation_height * p->input_width * channels;
    const uint32_t padding = tflmgen_splat4(p->padding_value);
    const int8_t *row =
        input + ((origin_y + y.first * p->dilation_height) * p->input_width + origin_x + x.first * p->dilation_width) *
                    channels;
    lane = tflmgen_conv2d_dsp_pad_lane(lane, padding, y.first * p->filter_width * channels >> 2, 6);
    for (int32_t ky = y.first; ky < y.end; ++ky, row += line) {
        lane = tflmgen_conv2d_dsp_pad_lane(lane, padding, before, 6);
        if (p->dilation_width > 1) {
            lane =
                tflmgen_conv2d_dsp_widen_rows(lane, row, channels >> 2, x.end - x.first, p->dilation_width * channels);
        } else if (inside) {
            lane = tflmgen_conv2d_dsp_widen_rows(lane, row, inside, 1, 0);
        }
        lane = tflmgen_conv2d_dsp_pad_lane(lane, padding, after, 6);
    }
    (void)tflmgen_conv2d_dsp_pad_lane(lane, padding, (p->filter_height - y.end) * p->filter_width * channels >> 2, 6);
}

/* The tails, `count` bytes each, of `rows` rows that are `line` bytes apart, one behind the other. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_widen_row_tails(tflmgen_u32 *lane, const int8_t *input, int32_t count,
                                                       int32_t rows, int32_t line)
{
    uint32_t word = 0;
    uint32_t shift = 0;
    for (; rows > 0; --rows, input += line) {
        for (int32_t i = 0; i < count; ++i) {
            word |= (uint32_t)(uint8_t)input[i] << shift;
            shift += 8u;
            if (shift == 32u) {
                tflmgen_conv2d_dsp_put(lane, word);
                lane += 6;
                word = shift = 0;
            }
        }
    }
    if (shift) {
        tflmgen_conv2d_dsp_put(lane, word);
    }
}

/* Row tails of one byte of three windows that are `pixel` bytes apart: 12 instructions a row, and 19 for each four
 * rows. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_widen_byte_tails3(tflmgen_u32 *im2col, const int8_t *input, int32_t pixel,
                                                         const struct tflmgen_conv2d_dsp_rows *rows)
{
    TFLMGEN_IN_REGISTERS_4(im2col, input, pixel, rows);
    /* clang-format off */
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldmia.w r3, {r3, r11, r12}\n\t"
                     "add r12, r12, r3\n\t"
                     "lsl r10, r2, #1\n"
                     "0:\n\t"
                     "mov r7, #0\n\t"
                     "mov r8, #0\n\t"
                     "mov r9, #0\n\t"
                     "mov lr, #40\n"
                     "1:\n\t"
                     "ldrb r5, [r1, r2]\n\t"
                     "ldrb r6, [r1, r10]\n\t"
                     "ldrb r4, [r1]\n\t"
                     "add r1, r1, r12\n\t"
                     "orr r7, r4, r7, ror #8\n\t"
                     "orr r8, r5, r8, ror #8\n\t"
                     "orr r9, r6, r9, ror #8\n\t"
                     "sub lr, lr, #8\n\t"
                     "subs r11, r11, #1\n\t"
                     "beq 2f\n\t"
                     "cmp lr, #8\n\t"
                     "bne 1b\n"
                     "2:\n\t"
                     "ror r4, r7, lr\n\t"
                     "ror r5, r8, lr\n\t"
                     "ror r6, r9, lr\n\t" TFLMGEN_CONV2D_DSP_PUT3
                     "\tcmp r11, #0\n\t"
                     "bne 0b\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "r12", "cc", "memory");
    /* clang-format on */
}

/* A window within the input, `line` bytes from row to row, into a lane. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_gather_whole(tflmgen_u32 *lane, const int8_t *window, int32_t line,
                                                    const struct tflmgen_conv2d_dsp_s8 *p)
{
    const int32_t words = p->row_pitch >> 2;
    const int32_t rows = p->filter_height;
    if (4 * words == line) {
        (void)tflmgen_conv2d_dsp_widen_rows(lane, window, words * rows, 1, 0);
    } else {
        (void)tflmgen_conv2d_dsp_widen_rows(lane, window, words, rows, line);
    }
    if (p->row_pitch & 3) {
        tflmgen_conv2d_dsp_widen_row_tails(lane + 6 * words * rows, window + 4 * words, p->row_pitch & 3, rows, line);
    }
}

/* The row tails, of `tail_bytes` bytes, of three windows within the input that are `pixel` bytes apart. */
TFLMGEN_HELPER void tflmgen_conv2d_dsp_gather_row_tails3(tflmgen_u32 *im2col, const int8_t *window, int32_t pixel,
                                                         const struct tflmgen_conv2d_dsp_rows *rows, int32_t tail_bytes)
{
    im2col += rows->bytes * rows->count / 4 * 6;
    window += rows->bytes;
    if (tail_bytes == 1) {
        tflmgen_conv2d_dsp_widen_byte_tails3(im2col, window, pixel, rows);
        return;
    }
    for (int32_t lane = 0; lane < 3; ++lane, ++im2col, window += pixel) {
        tflmgen_conv2d_dsp_widen_row_tails(im2col, window, tail_bytes, rows->count, rows->bytes + rows->gap);
    }
}

/* Any window into a lane: first its values as bytes into `bytes`, which has room for 4 * steps of them. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_gather_bytes(tflmgen_u32 *lane, int8_t *bytes, const int8_t *input,
                                                    int32_t origin_y, int32_t origin_x,
                                                    const struct tflmgen_conv2d_dsp_s8 *p)
{
    const struct tflmgen_taps x = tflmgen_taps_inside(origin_x, p->dilation_width, p->filter_width, p->input_width);
    const struct tflmgen_taps y = tflmgen_taps_inside(origin_y, p->dilation_height, p->filter_height, p->input_height);
    const int32_t channels = p->input_channels;
    const int32_t row = p->row_pitch;
    const int32_t line = p->dilation_height * p->input_width * channels;
    const uint32_t padding = tflmgen_splat4(p->padding_value);
    for (int32_t step = 0; step < p->steps; ++step) {
        tflmgen_store4(bytes + 4 * step, padding);
    }
    const int8_t *from =
        input + ((origin_y + y.first * p->dilation_height) * p->input_width + origin_x + x.first * p->dilation_width) *
                    channels;
    int8_t *to = bytes + y.first * row + x.first * channels;
    const int32_t together = p->dilation_width > 1 ? channels : (x.end - x.first) * channels;
    for (int32_t ky = y.end - y.first; ky > 0; --ky, from += line, to += row) {
        const int8_t *tap = from;
        for (int32_t at = 0; at < (x.end - x.first) * channels; at += together, tap += p->dilation_width * channels) {
            tflmgen_copy_few_dsp(to + at, tap, together);
        }
    }
    tflmgen_conv2d_dsp_gather_whole(lane, bytes, row, p);
}

/* What the windows of one output row have in common. */
struct tflmgen_conv2d_dsp_bounds {
    int32_t above; /* rows of a window above the input */
    int32_t rows;  /* in it */
    int32_t below;
    int32_t line;     /* bytes of the input from row to row */
    int32_t step;     /* words of the im2col buffer from row to row of a lane */
    uint32_t padding; /* in all four bytes */
};

/* One word of `count` rows outside of the input; most windows have none. */
TFLMGEN_SHARED tflmgen_u32 *tflmgen_conv2d_dsp_pad_rows(tflmgen_u32 *lane, int32_t count,
                                                        const struct tflmgen_conv2d_dsp_bounds *bounds)
{
    return tflmgen_conv2d_dsp_pad_lane(lane, bounds->padding, count, bounds->step);
}

/* One word of each row. The first of them begins `before` bytes in front of `next`, four bytes of the input, which are
 * shifted to their places; the others are padding. A word costs 11 instructions. */
TFLMGEN_HELPER void tflmgen_conv2d_dsp_gather_word(tflmgen_u32 *lane, const int8_t *next, int32_t before,
                                                   const struct tflmgen_conv2d_dsp_bounds *bounds)
{
    if (before >= 4 || before <= -4) {
        (void)tflmgen_conv2d_dsp_pad_rows(lane, bounds->above + bounds->rows + bounds->below, bounds);
        return;
    }
    if (bounds->above) {
        lane = tflmgen_conv2d_dsp_pad_rows(lane, bounds->above, bounds);
    }
    const int32_t step = bounds->step;
    const int32_t line = bounds->line;
    const uint32_t left = (uint32_t)tflmgen_max_s32(8 * before, 0);
    const uint32_t right = (uint32_t)tflmgen_max_s32(-8 * before, 0);
    const uint32_t beside = bounds->padding & ~(0xFFFFFFFFu << left >> right);
    for (int32_t rows = bounds->rows; rows > 0; --rows, next += line, lane += step) {
        tflmgen_conv2d_dsp_put(lane, (tflmgen_load4(next) << left >> right) | beside);
    }
    if (bounds->below) {
        (void)tflmgen_conv2d_dsp_pad_rows(lane, bounds->below, bounds);
    }
}

/* `count` windows side by side into as many lanes, where windows have rows of whole words, and the input has rows of at
 * least four bytes: all rows of one word, then of the next. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_gather_by_words(tflmgen_u32 *lane, int32_t count, const int8_t *image,
                                                       int32_t origin_y, int32_t origin_x,
                                                       const struct tflmgen_conv2d_dsp_s8 *p)
{
    const struct tflmgen_taps y = tflmgen_taps_inside(origin_y, p->dilation_height, p->filter_height, p->input_height);
    const int32_t row_bytes = p->input_width * p->input_channels;
    const struct tflmgen_conv2d_dsp_bounds bounds = {y.first,
                                                     y.end - y.first,
                                                     p->filter_height - y.end,
                                                     p->dilation_height * row_bytes,
                                                     p->row_pitch / 4 * 6,
                                                     tflmgen_splat4(p->padding_value)};
    const int8_t *const row = image + (origin_y + y.first * p->dilation_height) * row_bytes;
    int32_t begin = origin_x * p->input_channels;
    for (; count > 0; --count, ++lane, begin += p->stride_width * p->input_channels) {
        for (int32_t at = 0; at < p->row_pitch; at += 4) {
            const int32_t from = tflmgen_clamp_s32(begin + at, 0, row_bytes - 4);
            tflmgen_conv2d_dsp_gather_word(lane + at / 4 * 6, row + from, from - begin - at, &bounds);
        }
    }
}

/* The longest rows of windows, in bytes, that are gathered word by word: longer ones take less time by way of bytes,
 * and all of them less code. */
#ifdef __OPTIMIZE_SIZE__
#define TFLMGEN_CONV2D_DSP_BY_WORDS_BYTES 0
#else
#define TFLMGEN_CONV2D_DSP_BY_WORDS_BYTES 16
#endif

/* The next output pixel. */
struct tflmgen_conv2d_dsp_cursor {
    const int8_t *image;
    int32_t out_y;
    int32_t out_x;
};

/* From the end of an output row to the next one. */
TFLMGEN_HELPER void tflmgen_conv2d_dsp_begin_line(struct tflmgen_conv2d_dsp_cursor *next,
                                                  const struct tflmgen_conv2d_dsp_s8 *p)
{
    if (next->out_x == p->output_width) {
        next->out_x = 0;
        if (++next->out_y == p->output_height) {
            next->out_y = 0;
            next->image += p->input_height * p->input_width * p->input_channels;
        }
    }
}

/* The next window into a lane, whatever it is. bytes: room for 4 * steps of them. last: where the last window may begin
 * that is read as it lies. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_gather_next(tflmgen_u32 *lane, int8_t *bytes, const int8_t *last,
                                                   struct tflmgen_conv2d_dsp_cursor *next,
                                                   const struct tflmgen_conv2d_dsp_s8 *p)
{
    tflmgen_conv2d_dsp_begin_line(next, p);
    const int32_t y = next->out_y * p->stride_height - p->padding_top;
    const int32_t x = next->out_x++ * p->stride_width - p->padding_left;
    const int32_t row = p->input_width * p->input_channels;
    const int8_t *from = next->image + y * row + x * p->input_channels;
    if (p->dilation_width == 1 && x >= 0 && x + p->filter_width <= p->input_width && y >= 0 &&
        y + (p->filter_height - 1) * p->dilation_height < p->input_height && from <= last) {
        tflmgen_conv2d_dsp_gather_whole(lane, from, p->dilation_height * row, p);
        return;
    }
    if (p->input_channels % 4 == 0) {
        tflmgen_conv2d_dsp_gather(lane, next->image, y, x, p);
    } else if (TFLMGEN_CONV2D_DSP_BY_WORDS_BYTES > 0 && p->row_pitch <= TFLMGEN_CONV2D_DSP_BY_WORDS_BYTES &&
               p->row_pitch % 4 == 0 && p->dilation_width == 1 && row >= 4) {
        tflmgen_conv2d_dsp_gather_by_words(lane, 1, next->image, y, x, p);
    } else {
        tflmgen_conv2d_dsp_gather_bytes(lane, bytes, next->image, y, x, p);
    }
}

/* The next windows into the lanes from `lane` to `end`, whatever they are; those with one word a row together, for each
 * output row. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_gather_lanes(tflmgen_u32 *im2col, int32_t lane, int32_t end, const int8_t *last,
                                                    struct tflmgen_conv2d_dsp_cursor *next,
                                                    const struct tflmgen_conv2d_dsp_s8 *p)
{
    if (TFLMGEN_CONV2D_DSP_BY_WORDS_BYTES > 0 && p->row_pitch == 4 && p->dilation_width == 1 &&
        p->input_width * p->input_channels >= 4) {
        while (lane < end) {
            tflmgen_conv2d_dsp_begin_line(next, p);
            const int32_t count = tflmgen_min_s32(end - lane, p->output_width - next->out_x);
            tflmgen_conv2d_dsp_gather_by_words(im2col + lane, count, next->image,
                                               next->out_y * p->stride_height - p->padding_top,
                                               next->out_x * p->stride_width - p->padding_left, p);
            next->out_x += count;
            lane += count;
        }
        return;
    }
    for (; lane < end; ++lane) {
        tflmgen_conv2d_dsp_gather_next(im2col + lane, (int8_t *)(im2col + 6 * p->steps), last, next, p);
    }
}

#endif

#endif
