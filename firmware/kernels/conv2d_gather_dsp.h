/* The windows of CONV_2D in int8 for cores with the DSP extension, widened into the columns that conv2d_block_dsp.h
 * reads.
 *
 * Weights and windows are in this order: the whole words of each row, then what each row has beside them, which is
 * filled up to whole words with zero weights.
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
    int32_t steps;     /* fours of values in a window */
    bool backward;     /* blocks from the last to the first; windows of one pixel in one line only */
    int32_t output_min;
    int32_t output_max;
};

TFLMGEN_HELPER void tflmgen_conv2d_dsp_put(tflmgen_u32 *lane, uint32_t x)
{
    lane[0] = tflmgen_odd_bytes(x);
    lane[3] = tflmgen_shifted_inputs(x);
}

/* `words` fours of bytes at any address, into one lane of a column: 6 instructions each, and 4 to loop over 4. */
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

/* The words of `rows` rows, `line` bytes apart. */
TFLMGEN_SHARED tflmgen_u32 *tflmgen_conv2d_dsp_widen_rows(tflmgen_u32 *lane, const int8_t *input, int32_t words,
                                                          int32_t rows, int32_t line)
{
    for (; rows > 0; --rows, input += line) {
        lane = tflmgen_conv2d_dsp_widen(lane, input, words);
    }
    return lane;
}

/* The same word at `count` places of a lane, `step` words apart. */
TFLMGEN_SPEED_HELPER tflmgen_u32 *tflmgen_conv2d_dsp_fill(tflmgen_u32 *lane, uint32_t word, int32_t count, int32_t step)
{
    const uint32_t x = tflmgen_odd_bytes(word);
    const uint32_t y = tflmgen_shifted_inputs(word);
    for (; count > 0; --count, lane += step) {
        lane[0] = x;
        lane[3] = y;
    }
    return lane;
}

/* The window at (origin_y, origin_x); the channels are whole words. */
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
    lane = tflmgen_conv2d_dsp_fill(lane, padding, y.first * p->filter_width * channels >> 2, 6);
    for (int32_t ky = y.first; ky < y.end; ++ky, row += line) {
        lane = tflmgen_conv2d_dsp_fill(lane, padding, before, 6);
        if (p->dilation_width > 1) {
            lane =
                tflmgen_conv2d_dsp_widen_rows(lane, row, channels >> 2, x.end - x.first, p->dilation_width * channels);
        } else if (inside) {
            lane = tflmgen_conv2d_dsp_widen_rows(lane, row, inside, 1, 0);
        }
        lane = tflmgen_conv2d_dsp_fill(lane, padding, after, 6);
    }
    (void)tflmgen_conv2d_dsp_fill(lane, padding, (p->filter_height - y.end) * p->filter_width * channels >> 2, 6);
}

/* `count` bytes of each of `rows` rows, `line` bytes apart, one behind the other. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_widen_rest(tflmgen_u32 *lane, const int8_t *input, int32_t count, int32_t rows,
                                                  int32_t line)
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

/* One byte behind each row of three windows that are `pixel` bytes apart: 12 instructions a row, and 19 for each
 * four. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_widen_column3(tflmgen_u32 *column, const int8_t *input, int32_t pixel,
                                                     const struct tflmgen_conv2d_dsp_rows *rows)
{
    TFLMGEN_IN_REGISTERS_4(column, input, pixel, rows);
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

/* A window that lies inside, `line` bytes from row to row. */
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
        tflmgen_conv2d_dsp_widen_rest(lane + 6 * words * rows, window + 4 * words, p->row_pitch & 3, rows, line);
    }
}

/* What three windows, `pixel` bytes apart, that lie inside, have beside whole words: `rest` bytes a row. */
TFLMGEN_HELPER void tflmgen_conv2d_dsp_gather_rest3(tflmgen_u32 *column, const int8_t *window, int32_t pixel,
                                                    const struct tflmgen_conv2d_dsp_rows *rows, int32_t rest)
{
    column += rows->bytes * rows->count / 4 * 6;
    window += rows->bytes;
    if (rest == 1) {
        tflmgen_conv2d_dsp_widen_column3(column, window, pixel, rows);
        return;
    }
    for (int32_t lane = 0; lane < 3; ++lane, ++column, window += pixel) {
        tflmgen_conv2d_dsp_widen_rest(column, window, rest, rows->count, rows->bytes + rows->gap);
    }
}

/* Any window, by way of `bytes`, room for 4 * steps of them. */
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

/* What the windows of one line have in common: their rows above, in and below the input, bytes from row to row of it,
 * and words from row to row of a lane. */
struct tflmgen_conv2d_dsp_line {
    int32_t above;
    int32_t rows;
    int32_t below;
    int32_t line;
    int32_t step;
    uint32_t padding;
};

/* `count` rows of padding; most windows have none. */
TFLMGEN_SHARED tflmgen_u32 *tflmgen_conv2d_dsp_pad_column(tflmgen_u32 *lane, int32_t count,
                                                          const struct tflmgen_conv2d_dsp_line *of)
{
    return tflmgen_conv2d_dsp_fill(lane, of->padding, count, of->step);
}

/* A word of each row, the first of them `before` bytes in front of `next`, four bytes of the input: those are shifted
 * to their places, and padding joins them. A word costs 11 instructions. */
TFLMGEN_HELPER void tflmgen_conv2d_dsp_gather_column(tflmgen_u32 *lane, const int8_t *next, int32_t before,
                                                     const struct tflmgen_conv2d_dsp_line *of)
{
    if (before >= 4 || before <= -4) {
        (void)tflmgen_conv2d_dsp_pad_column(lane, of->above + of->rows + of->below, of);
        return;
    }
    if (of->above) {
        lane = tflmgen_conv2d_dsp_pad_column(lane, of->above, of);
    }
    const int32_t step = of->step;
    const int32_t line = of->line;
    const uint32_t left = (uint32_t)tflmgen_max_s32(8 * before, 0);
    const uint32_t right = (uint32_t)tflmgen_max_s32(-8 * before, 0);
    const uint32_t beside = of->padding & ~(0xFFFFFFFFu << left >> right);
    for (int32_t rows = of->rows; rows > 0; --rows, next += line, lane += step) {
        tflmgen_conv2d_dsp_put(lane, (tflmgen_load4(next) << left >> right) | beside);
    }
    if (of->below) {
        (void)tflmgen_conv2d_dsp_pad_column(lane, of->below, of);
    }
}

/* `count` windows side by side, with rows of whole words, in an input with rows of four bytes or more: the words below
 * each other, one after the other. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_gather_columns(tflmgen_u32 *lane, int32_t count, const int8_t *image,
                                                      int32_t origin_y, int32_t origin_x,
                                                      const struct tflmgen_conv2d_dsp_s8 *p)
{
    const struct tflmgen_taps y = tflmgen_taps_inside(origin_y, p->dilation_height, p->filter_height, p->input_height);
    const int32_t row_bytes = p->input_width * p->input_channels;
    const struct tflmgen_conv2d_dsp_line line = {y.first,
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
            tflmgen_conv2d_dsp_gather_column(lane + at / 4 * 6, row + from, from - begin - at, &line);
        }
    }
}

/* The longest rows, in bytes, whose windows are gathered column by column: longer ones take less time by way of bytes,
 * and all of them less code. */
#ifdef __OPTIMIZE_SIZE__
#define TFLMGEN_CONV2D_DSP_COLUMNS 0
#else
#define TFLMGEN_CONV2D_DSP_COLUMNS 16
#endif

/* Where the next window begins. */
struct tflmgen_conv2d_dsp_cursor {
    const int8_t *image;
    int32_t out_y;
    int32_t out_x;
};

/* From a line's end to the next line. */
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

/* One lane, whatever its window. last: where the last whole window may begin. */
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
    } else if (TFLMGEN_CONV2D_DSP_COLUMNS > 0 && p->row_pitch <= TFLMGEN_CONV2D_DSP_COLUMNS && p->row_pitch % 4 == 0 &&
               p->dilation_width == 1 && row >= 4) {
        tflmgen_conv2d_dsp_gather_columns(lane, 1, next->image, y, x, p);
    } else {
        tflmgen_conv2d_dsp_gather_bytes(lane, bytes, next->image, y, x, p);
    }
}

/* Lanes from `lane` to `end`, whatever their windows; those with one word a row together, line by line. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_gather_lanes(tflmgen_u32 *column, int32_t lane, int32_t end, const int8_t *last,
                                                    struct tflmgen_conv2d_dsp_cursor *next,
                                                    const struct tflmgen_conv2d_dsp_s8 *p)
{
    if (TFLMGEN_CONV2D_DSP_COLUMNS > 0 && p->row_pitch == 4 && p->dilation_width == 1 &&
        p->input_width * p->input_channels >= 4) {
        while (lane < end) {
            tflmgen_conv2d_dsp_begin_line(next, p);
            const int32_t count = tflmgen_min_s32(end - lane, p->output_width - next->out_x);
            tflmgen_conv2d_dsp_gather_columns(column + lane, count, next->image,
                                              next->out_y * p->stride_height - p->padding_top,
                                              next->out_x * p->stride_width - p->padding_left, p);
            next->out_x += count;
            lane += count;
        }
        return;
    }
    for (; lane < end; ++lane) {
        tflmgen_conv2d_dsp_gather_next(column + lane, (int8_t *)(column + 6 * p->steps), last, next, p);
    }
}

#endif

#endif
