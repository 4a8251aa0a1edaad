/* CONV_2D in int8 for cores with the DSP extension: blocks of three pixels times all output channels, two at a time.
 *
 * Here the windows are gathered; conv2d_block_dsp.h has what is computed from them. A window of which the number of
 * values is no multiple of four is filled up with zero weights.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_DSP_H
#define TFLMGEN_KERNELS_CONV2D_DSP_H

#include "conv2d_block_dsp.h"
#include "window.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* Column words on the stack: windows of 4 * 25 values at most. */
#define TFLMGEN_CONV2D_DSP_STACK_WORDS (6 * 25)

struct tflmgen_conv2d_dsp_s8 {
    TFLMGEN_WINDOW_FIELDS
    int32_t dilation_height;
    int32_t dilation_width;
    int32_t padding_value;
    int32_t row_pitch; /* values from one row of a packed window to the next: whole words, or a row's own length */
    int32_t steps;     /* fours of values in a window */
    bool backward;     /* blocks from the last to the first; windows of one pixel in one line only */
    int32_t output_min;
    int32_t output_max;
};

/* Four values of three pixels: 13 instructions. */
#define TFLMGEN_CONV2D_DSP_WIDEN3         \
    "ldr r5, [r1, r2]\n\t"                \
    "ldr r6, [r1, r10]\n\t"               \
    "ldr r4, [r1], #4\n\t"                \
    "rev16 r8, r5\n\t"                    \
    "rev16 r9, r6\n\t"                    \
    "rev16 r7, r4\n\t"                    \
    "eor r7, r7, #0x007F007F\n\t"         \
    "eor r8, r8, #0x007F007F\n\t"         \
    "eor r9, r9, #0x007F007F\n\t"         \
    "sxtb16 r4, r4, ror #8\n\t"           \
    "sxtb16 r5, r5, ror #8\n\t"           \
    "sxtb16 r6, r6, ror #8\n\t"           \
    "stmia r0!, {r4, r5, r6, r7, r8, r9}\n"

/* `bytes` of three pixels that are `pixel` bytes apart, eight at a time; an odd four comes first. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_widen3(uint32_t *column, const int8_t *input, int32_t pixel, int32_t bytes)
{
    register uint32_t *r0 __asm__("r0") = column;
    register const int8_t *r1 __asm__("r1") = input;
    register int32_t r2 __asm__("r2") = pixel;
    register int32_t r3 __asm__("r3") = bytes;
    __asm__ volatile("push {r4-r10}\n\t"
                     "lsl r10, r2, #1\n\t"
                     "lsls r4, r3, #29\n\t"
                     "add r3, r1, r3\n\t"
                     "bmi 2f\n"
                     "1:\n\t" TFLMGEN_CONV2D_DSP_WIDEN3
                     "2:\n\t" TFLMGEN_CONV2D_DSP_WIDEN3
                     "\tcmp r1, r3\n\t"
                     "bne 1b\n\t"
                     "pop {r4-r10}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "cc", "memory");
}

TFLMGEN_HELPER void tflmgen_conv2d_dsp_put(uint32_t *lane, uint32_t x)
{
    lane[0] = tflmgen_odd_bytes(x);
    lane[3] = tflmgen_shifted_inputs(x);
}

/* `words` fours of bytes at any address, into one lane of a column: 6 instructions each, and 4 to loop over 4. */
TFLMGEN_HELPER uint32_t *tflmgen_conv2d_dsp_widen(uint32_t *lane, const int8_t *input, int32_t words)
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
TFLMGEN_SHARED uint32_t *tflmgen_conv2d_dsp_widen_rows(uint32_t *lane, const int8_t *input, int32_t words,
                                                       int32_t rows, int32_t line)
{
    for (; rows > 0; --rows, input += line) {
        lane = tflmgen_conv2d_dsp_widen(lane, input, words);
    }
    return lane;
}

/* The same for `words` times the padding. */
TFLMGEN_HELPER uint32_t *tflmgen_conv2d_dsp_fill(uint32_t *lane, uint32_t padding, int32_t words)
{
    const uint32_t x = tflmgen_odd_bytes(padding);
    const uint32_t y = tflmgen_shifted_inputs(padding);
    for (; words > 0; --words, lane += 6) {
        lane[0] = x;
        lane[3] = y;
    }
    return lane;
}

/* The window at (origin_y, origin_x), of which the taps `x` lie inside; the channels are whole words. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_gather(uint32_t *lane, const int8_t *input, int32_t origin_y, int32_t origin_x,
                                              struct tflmgen_taps x, const struct tflmgen_conv2d_dsp_s8 *p)
{
    const struct tflmgen_taps y =
        tflmgen_taps_inside(origin_y, p->dilation_height, p->filter_height, p->input_height);
    const int32_t channels = p->input_channels;
    const int32_t before = x.first * channels >> 2;
    const int32_t inside = (x.end - x.first) * channels >> 2;
    const int32_t after = (p->filter_width - x.end) * channels >> 2;
    const int32_t line = p->dilation_height * p->input_width * channels;
    const uint32_t padding = tflmgen_splat4(p->padding_value);
    const int8_t *row = input + ((origin_y + y.first * p->dilation_height) * p->input_width + origin_x +
                                 x.first * p->dilation_width) * channels;
    lane = tflmgen_conv2d_dsp_fill(lane, padding, y.first * p->filter_width * channels >> 2);
    for (int32_t ky = y.first; ky < y.end; ++ky, row += line) {
        lane = tflmgen_conv2d_dsp_fill(lane, padding, before);
        if (p->dilation_width > 1) {
            lane = tflmgen_conv2d_dsp_widen_rows(lane, row, channels >> 2, x.end - x.first,
                                                 p->dilation_width * channels);
        } else if (inside) {
            lane = tflmgen_conv2d_dsp_widen_rows(lane, row, inside, 1, 0);
        }
        lane = tflmgen_conv2d_dsp_fill(lane, padding, after);
    }
    (void)tflmgen_conv2d_dsp_fill(lane, padding, (p->filter_height - y.end) * p->filter_width * channels >> 2);
}

/* Copies `rows` rows of a window, `line` bytes apart, one behind the other, by words: the last one of a row overlaps
 * the next row, and reads up to 3 bytes more. */
TFLMGEN_HELPER void tflmgen_conv2d_dsp_copy_rows(int8_t *to, const int8_t *from, int32_t row, int32_t rows,
                                                 int32_t line)
{
    if (row > 8 && row <= 12) {
        for (; rows > 0; --rows, to += row, from += line) {
            tflmgen_store4(to, tflmgen_load4(from));
            tflmgen_store4(to + 4, tflmgen_load4(from + 4));
            tflmgen_store4(to + 8, tflmgen_load4(from + 8));
        }
    } else {
        for (; rows > 0; --rows, to += row, from += line) {
            for (int32_t i = 0; i < row; i += 4) {
                tflmgen_store4(to + i, tflmgen_load4(from + i));
            }
        }
    }
}

/* `lanes` windows, `pixel` bytes apart, that lie inside, and end at least 3 bytes before the input does, where their
 * rows are not whole words. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_gather_whole(uint32_t *lane, int8_t *bytes, const int8_t *window,
                                                    int32_t lanes, int32_t pixel,
                                                    const struct tflmgen_conv2d_dsp_s8 *p)
{
    const int32_t row = p->row_pitch;
    const int32_t line = p->dilation_height * p->input_width * p->input_channels;
    const int32_t rows = p->filter_height;
    const int32_t steps = p->steps;
    for (; lanes > 0; --lanes, ++lane, window += pixel) {
        if (row == 4) {
            const int8_t *from = window;
            uint32_t *to = lane;
            for (int32_t left = rows; left > 0; --left, from += line, to += 6) {
                tflmgen_conv2d_dsp_put(to, tflmgen_load4(from));
            }
        } else if (row % 4 == 0) {
            (void)tflmgen_conv2d_dsp_widen_rows(lane, window, row >> 2, rows, line);
        } else {
            tflmgen_conv2d_dsp_copy_rows(bytes, window, row, rows, line);
            (void)tflmgen_conv2d_dsp_widen(lane, bytes, steps);
        }
    }
}

/* Any window, by way of `bytes`, room for 4 * steps + 4 of them. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_gather_bytes(uint32_t *lane, int8_t *bytes, const int8_t *input,
                                                    int32_t origin_y, int32_t origin_x, struct tflmgen_taps x,
                                                    const struct tflmgen_conv2d_dsp_s8 *p)
{
    const struct tflmgen_taps y =
        tflmgen_taps_inside(origin_y, p->dilation_height, p->filter_height, p->input_height);
    const int32_t channels = p->input_channels;
    const int32_t row = p->row_pitch;
    const int32_t line = p->dilation_height * p->input_width * channels;
    const uint32_t padding = tflmgen_splat4(p->padding_value);
    for (int32_t step = 0; step < p->steps; ++step) {
        tflmgen_store4(bytes + 4 * step, padding);
    }
    const int8_t *from = input + ((origin_y + y.first * p->dilation_height) * p->input_width + origin_x +
                                  x.first * p->dilation_width) * channels;
    int8_t *to = bytes + y.first * row + x.first * channels;
    for (int32_t ky = y.first; ky < y.end; ++ky, from += line, to += row) {
        for (int32_t kx = 0; kx < x.end - x.first; ++kx) {
            const int8_t *tap = from + kx * p->dilation_width * channels;
            for (int32_t c = 0; c < channels; ++c) {
                to[kx * channels + c] = tap[c];
            }
        }
    }
    (void)tflmgen_conv2d_dsp_widen(lane, bytes, p->steps);
}

/* Where the next window begins. */
struct tflmgen_conv2d_dsp_cursor {
    const int8_t *image;
    int32_t out_y;
    int32_t out_x;
};

/* One lane, whatever its window. last: where the last whole window may begin that has 3 bytes of input behind it. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_gather_next(uint32_t *lane, int8_t *bytes, const int8_t *last,
                                                   struct tflmgen_conv2d_dsp_cursor *next,
                                                   const struct tflmgen_conv2d_dsp_s8 *p)
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
    const int8_t *from = next->image + (y * p->input_width + x) * p->input_channels;
    if (p->dilation_width == 1 && x >= 0 && x + p->filter_width <= p->input_width && y >= 0 &&
        y + (p->filter_height - 1) * p->dilation_height < p->input_height && from <= last) {
        tflmgen_conv2d_dsp_gather_whole(lane, bytes, from, 1, 0, p);
        return;
    }
    const struct tflmgen_taps inside = tflmgen_taps_inside(x, p->dilation_width, p->filter_width, p->input_width);
    if (p->input_channels % 4 == 0) {
        tflmgen_conv2d_dsp_gather(lane, next->image, y, x, inside, p);
    } else {
        tflmgen_conv2d_dsp_gather_bytes(lane, bytes, next->image, y, x, inside, p);
    }
}

/* column: 6 * steps words, and steps + 1 more where a tap's channels are not whole words. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_run(const int8_t *input, const uint32_t *stream, uint32_t *column,
                                           int8_t *output, const struct tflmgen_conv2d_dsp_s8 *p,
                                           tflmgen_conv2d_dsp_block_function *run_block, int32_t sign_fix)
{
    const int32_t channels = p->input_channels;
    const int32_t passes = tflmgen_max_s32((p->steps - 1 + 7) / 8, 1);
    const struct tflmgen_conv2d_dsp_block block = {
        passes, (8 * passes - (p->steps - 1)) * TFLMGEN_CONV2D_DSP_STEP_BYTES, p->output_channels};
    const int32_t all = p->batches * p->output_height * p->output_width;
    const bool one_tap = channels % 4 == 0 && p->filter_height * p->filter_width == 1;
    const int32_t pixel = p->stride_width * channels;
    /* Where three windows side by side lie inside the input. */
    const int32_t y_end = p->input_height - (p->filter_height - 1) * p->dilation_height;
    const int32_t x_end = p->dilation_width > 1 ? 0 : p->input_width - p->filter_width + 1 - 2 * p->stride_width;
    const int8_t *const last =
        input + p->batches * p->input_height * p->input_width * channels -
        ((p->filter_height - 1) * p->dilation_height * p->input_width + p->filter_width) * channels -
        (p->filter_width * channels % 4 ? 3 : 0);
    int8_t *const bytes = (int8_t *)(column + 6 * p->steps);
    struct tflmgen_conv2d_dsp_cursor next = {input, 0, 0};
    int8_t *at = output;
    int32_t left = all;
    for (; left >= 2; left -= 3) {
        if (p->backward) {
            if (left == 2) {
                break;
            }
            next.out_x = left - 3;
            at = output + next.out_x * p->output_channels;
        } else if (left == 2) {
            /* Two pixels alone take longer than the three that end with them. */
            const int32_t last_block = p->output_height * p->output_width - 3;
            if (last_block < 0) {
                break;
            }
            next.out_y = last_block / p->output_width;
            next.out_x = last_block % p->output_width;
            at -= p->output_channels;
            left = 3;
        }
        const int32_t y = next.out_y * p->stride_height - p->padding_top;
        const int32_t x = next.out_x * p->stride_width - p->padding_left;
        const int8_t *from = next.image + (y * p->input_width + x) * channels;
        if (next.out_x + 3 <= p->output_width && y >= 0 && y < y_end && x >= 0 && x < x_end && from <= last - 2 * pixel) {
            if (one_tap) {
                tflmgen_conv2d_dsp_widen3(column, from, pixel, channels);
            } else {
                tflmgen_conv2d_dsp_gather_whole(column, bytes, from, 3, pixel, p);
            }
            next.out_x += 3;
        } else {
            tflmgen_conv2d_dsp_gather_next(column, bytes, last, &next, p);
            tflmgen_conv2d_dsp_gather_next(column + 1, bytes, last, &next, p);
            tflmgen_conv2d_dsp_gather_next(column + 2, bytes, last, &next, p);
        }
        run_block(column, stream, at, &block);
        at += 3 * p->output_channels;
    }
    if (p->backward) {
        next.out_x = 0;
        at = output;
    }
    for (int32_t lane = 0; lane < left; ++lane) {
        tflmgen_conv2d_dsp_gather_next(column + lane, bytes, last, &next, p);
    }
    for (int32_t lane = 0; lane < left; ++lane, at += p->output_channels) {
        tflmgen_conv2d_dsp_pixel(column + lane, stream, at, p->steps, sign_fix);
    }
    if (p->output_min > -128 || p->output_max < 127) {
        tflmgen_clamp_dsp_s8(output, all * p->output_channels, p->output_min, p->output_max);
    }
}

/* The column is on the stack, or in the arena; outputs are clamped at the zero point, or not. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_clamped_stack_s8(const int8_t *input, const uint32_t *stream, int8_t *output,
                                                        const struct tflmgen_conv2d_dsp_s8 *p)
{
    uint32_t column[TFLMGEN_CONV2D_DSP_STACK_WORDS];
    tflmgen_conv2d_dsp_run(input, stream, column, output, p, tflmgen_conv2d_dsp_block_clamped, 0);
}

TFLMGEN_SHARED void tflmgen_conv2d_dsp_signed_stack_s8(const int8_t *input, const uint32_t *stream, int8_t *output,
                                                       const struct tflmgen_conv2d_dsp_s8 *p)
{
    uint32_t column[TFLMGEN_CONV2D_DSP_STACK_WORDS];
    tflmgen_conv2d_dsp_run(input, stream, column, output, p, tflmgen_conv2d_dsp_block_signed, 128);
}

TFLMGEN_SHARED void tflmgen_conv2d_dsp_clamped_s8(const int8_t *input, const uint32_t *stream, void *column,
                                                  int8_t *output, const struct tflmgen_conv2d_dsp_s8 *p)
{
    tflmgen_conv2d_dsp_run(input, stream, column, output, p, tflmgen_conv2d_dsp_block_clamped, 0);
}

TFLMGEN_SHARED void tflmgen_conv2d_dsp_signed_s8(const int8_t *input, const uint32_t *stream, void *column,
                                                 int8_t *output, const struct tflmgen_conv2d_dsp_s8 *p)
{
    tflmgen_conv2d_dsp_run(input, stream, column, output, p, tflmgen_conv2d_dsp_block_signed, 128);
}

#endif

#endif
