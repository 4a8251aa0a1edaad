/* CONV_2D in int8 for every Cortex-M: blocks of six pixels times all output channels, what is left in twos.
 *
 * Here the windows are gathered into the lanes of a column; conv2d_block_thumb.h has what is computed from them.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_THUMB_H
#define TFLMGEN_KERNELS_CONV2D_THUMB_H

#include "conv2d_block_thumb.h"
#include "window.h"

#ifdef __thumb__

struct tflmgen_conv2d_thumb_s8 {
    TFLMGEN_WINDOW_FIELDS
    int32_t dilation_height;
    int32_t dilation_width;
    int32_t padding_value;
    bool backward; /* blocks from the last to the first; windows of one pixel in one line only */
    int32_t terms; /* values in a window */
    int32_t output_min;
    int32_t output_max;
};

/* One pixel's window: where its next value goes, and the sum of the values so far, each with 128 added. */
struct tflmgen_conv2d_thumb_lane {
    uint16_t *at;
    uint32_t sum;
};

/* `count` values into a lane. */
TFLMGEN_SHARED void tflmgen_conv2d_thumb_widen(struct tflmgen_conv2d_thumb_lane *lane, const int8_t *values,
                                               int32_t count)
{
    uint16_t *at = lane->at;
    uint32_t sum = lane->sum;
    for (; count >= 4; count -= 4, values += 4, at += 4 * TFLMGEN_CONV2D_THUMB_LANES) {
        uint32_t x = (uint8_t)values[0] ^ 128u;
        at[0] = (uint16_t)x;
        sum += x;
        x = (uint8_t)values[1] ^ 128u;
        at[TFLMGEN_CONV2D_THUMB_LANES] = (uint16_t)x;
        sum += x;
        x = (uint8_t)values[2] ^ 128u;
        at[2 * TFLMGEN_CONV2D_THUMB_LANES] = (uint16_t)x;
        sum += x;
        x = (uint8_t)values[3] ^ 128u;
        at[3 * TFLMGEN_CONV2D_THUMB_LANES] = (uint16_t)x;
        sum += x;
    }
    for (; count > 0; --count, ++values, at += TFLMGEN_CONV2D_THUMB_LANES) {
        const uint32_t x = (uint8_t)*values ^ 128u;
        *at = (uint16_t)x;
        sum += x;
    }
    lane->at = at;
    lane->sum = sum;
}

TFLMGEN_SHARED void tflmgen_conv2d_thumb_pad(struct tflmgen_conv2d_thumb_lane *lane, uint32_t padding, int32_t count)
{
    lane->sum += padding * (uint32_t)count;
    for (; count > 0; --count, lane->at += TFLMGEN_CONV2D_THUMB_LANES) {
        *lane->at = (uint16_t)padding;
    }
}

/* One pixel's window, wherever it lies; returns 128 times the sum of its values. */
TFLMGEN_SHARED uint32_t tflmgen_conv2d_thumb_gather(uint16_t *at, const int8_t *image, int32_t y, int32_t x,
                                                    const struct tflmgen_conv2d_thumb_s8 *p)
{
    struct tflmgen_conv2d_thumb_lane lane = {at, 0};
    const int32_t channels = p->input_channels;
    const uint32_t padding = (uint32_t)(p->padding_value + 128);
    const struct tflmgen_taps inside = tflmgen_taps_inside(x, p->dilation_width, p->filter_width, p->input_width);
    const int32_t step = p->dilation_width * channels;
    for (int32_t ky = 0; ky < p->filter_height; ++ky, y += p->dilation_height) {
        if (y < 0 || y >= p->input_height) {
            tflmgen_conv2d_thumb_pad(&lane, padding, p->filter_width * channels);
            continue;
        }
        const int8_t *row = image + (y * p->input_width + x) * channels;
        tflmgen_conv2d_thumb_pad(&lane, padding, inside.first * channels);
        if (p->dilation_width == 1) {
            tflmgen_conv2d_thumb_widen(&lane, row + inside.first * step, (inside.end - inside.first) * channels);
        } else {
            for (int32_t kx = inside.first; kx < inside.end; ++kx) {
                tflmgen_conv2d_thumb_widen(&lane, row + kx * step, channels);
            }
        }
        tflmgen_conv2d_thumb_pad(&lane, padding, (p->filter_width - inside.end) * channels);
    }
    return lane.sum * 128u;
}

/* One value of two pixels: 7 instructions. */
#define TFLMGEN_CONV2D_THUMB_WIDEN2_BYTES 14
#define TFLMGEN_CONV2D_THUMB_WIDEN2(i) \
    "ldrb r4, [r1, #" i "]\n\t"        \
    "ldrb r5, [r2, #" i "]\n\t"        \
    "lsls r5, r5, #16\n\t"             \
    "orrs r4, r4, r5\n\t"              \
    "eors r4, r4, r6\n\t"              \
    "str r4, [r0, #12 * " i "]\n\t"    \
    "adds r7, r7, r4\n\t"

/* `count` values of two pixels that are `pixel` bytes apart, 5 instructions to loop over 8; at least one. Returns the sum
 * of the first pixel's values and 65536 times that of the second one's. */
TFLMGEN_SHARED uint32_t tflmgen_conv2d_thumb_widen2(uint32_t *column, const int8_t *values, int32_t pixel,
                                                    int32_t count)
{
    register uint32_t *r0 __asm__("r0") = column;
    register const int8_t *r1 __asm__("r1") = values;
    register int32_t r2 __asm__("r2") = pixel;
    register int32_t r3 __asm__("r3") = count;
    __asm__ volatile(".syntax unified\n\t"
                     "push {r4, r5, r6, r7}\n\t"
                     "adds r2, r2, r1\n\t"
                     "adds r3, r3, r1\n\t"
                     "subs r4, r1, r3\n\t"
                     "movs r5, #7\n\t"
                     "ands r4, r4, r5\n\t"
                     "subs r1, r1, r4\n\t"
                     "subs r2, r2, r4\n\t"
                     "movs r5, #12\n\t"
                     "muls r5, r4, r5\n\t"
                     "subs r0, r0, r5\n\t"
                     "movs r5, #14\n\t"
                     "muls r4, r5, r4\n\t"
                     "adr r5, 1f\n\t"
                     "adds r4, r4, r5\n\t"
                     "movs r6, #128\n\t"
                     "lsls r5, r6, #16\n\t"
                     "orrs r6, r6, r5\n\t"
                     "movs r7, #0\n\t"
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
                     "adds r0, #96\n\t"
                     "adds r1, #8\n\t"
                     "adds r2, #8\n\t"
                     "cmp r1, r3\n\t"
                     "bne 1b\n\t"
                     "mov r2, r7\n\t"
                     "pop {r4, r5, r6, r7}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "cc", "memory");
    return (uint32_t)r2;
}

/* Values of which a sum of two pixels' still fits into halves. */
#define TFLMGEN_CONV2D_THUMB_SUMMED 256

/* The windows of two pixels side by side, both within the input's width. `from`: where the first one begins, at row y. */
TFLMGEN_SHARED void tflmgen_conv2d_thumb_gather2(uint32_t *column, uint32_t *start, const int8_t *from, int32_t y,
                                                 const struct tflmgen_conv2d_thumb_s8 *p)
{
    const int32_t row = p->filter_width * p->input_channels;
    const int32_t pixel = p->stride_width * p->input_channels;
    const int32_t line = p->dilation_height * p->input_width * p->input_channels;
    uint32_t low = 0;
    uint32_t high = 0;
    for (int32_t ky = 0; ky < p->filter_height; ++ky, y += p->dilation_height, from += line) {
        if (y < 0 || y >= p->input_height) {
            const uint32_t padding = (uint32_t)(p->padding_value + 128);
            for (int32_t i = 0; i < row; ++i, column += TFLMGEN_CONV2D_THUMB_LANES / 2) {
                *column = padding * 65537u;
            }
            low += (uint32_t)row * padding * 65537u;
            high += (uint32_t)row * padding;
            continue;
        }
        for (int32_t done = 0; done < row; done += TFLMGEN_CONV2D_THUMB_SUMMED) {
            const int32_t count = tflmgen_min_s32(row - done, TFLMGEN_CONV2D_THUMB_SUMMED);
            const uint32_t sum = tflmgen_conv2d_thumb_widen2(column, from + done, pixel, count);
            column += TFLMGEN_CONV2D_THUMB_LANES / 2 * count;
            low += sum;
            high += sum >> 16;
        }
    }
    start[0] = 0u - 128u * low;
    start[1] = 0u - 128u * high;
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
TFLMGEN_SHARED void tflmgen_conv2d_thumb_gather_next(uint32_t *column, uint32_t *start, int32_t count,
                                                     struct tflmgen_conv2d_thumb_cursor *next,
                                                     const struct tflmgen_conv2d_thumb_s8 *p)
{
    int32_t y = next->out_y * p->stride_height - p->padding_top;
    int32_t x = next->out_x * p->stride_width - p->padding_left;
    if (count == 2 && next->out_x + 2 <= p->output_width && x >= 0 &&
        x + p->stride_width + p->filter_width <= p->input_width && p->dilation_width == 1) {
        const int8_t *from = next->image + (y * p->input_width + x) * p->input_channels;
        tflmgen_conv2d_thumb_gather2(column, start, from, y, p);
        tflmgen_conv2d_thumb_skip(next, 2, p);
        return;
    }
    uint16_t *const lane = (uint16_t *)(void *)column;
    start[0] = 0u - tflmgen_conv2d_thumb_gather(lane, next->image, y, x, p);
    start[1] = 0;
    tflmgen_conv2d_thumb_skip(next, 1, p);
    if (count == 2) {
        y = next->out_y * p->stride_height - p->padding_top;
        x = next->out_x * p->stride_width - p->padding_left;
        start[1] = 0u - tflmgen_conv2d_thumb_gather(lane + 1, next->image, y, x, p);
        start[0] += start[1] << 16;
        tflmgen_conv2d_thumb_skip(next, 1, p);
    }
}

/* column: 6 words, what the sums begin with, and 3 * terms words. */
TFLMGEN_SHARED void tflmgen_conv2d_thumb_run(const int8_t *input, const uint32_t *stream, uint32_t *column,
                                             int8_t *output, const struct tflmgen_conv2d_thumb_s8 *p,
                                             tflmgen_conv2d_thumb_block_function *six,
                                             tflmgen_conv2d_thumb_block_function *two)
{
    uint32_t *const values = column + TFLMGEN_CONV2D_THUMB_LANES;
    const int32_t span = (p->terms + 7) / 8 * 8;
    const int32_t skipped = span - p->terms;
    const int32_t pixel = p->output_channels;
    struct tflmgen_conv2d_thumb_block block;
    block.lead = (p->terms + 3) / 4 * 4 - span;
    block.span = span;
    struct tflmgen_conv2d_thumb_cursor next = {input, 0, 0};
    int8_t *at = output;
    int32_t left = p->batches * p->output_height * p->output_width;
    for (; left >= TFLMGEN_CONV2D_THUMB_LANES; left -= TFLMGEN_CONV2D_THUMB_LANES) {
        if (p->backward) {
            next.out_x = left - TFLMGEN_CONV2D_THUMB_LANES;
            at = output + next.out_x * pixel;
        }
        tflmgen_conv2d_thumb_gather_next(values, column, 2, &next, p);
        tflmgen_conv2d_thumb_gather_next(values + 1, column + 2, 2, &next, p);
        tflmgen_conv2d_thumb_gather_next(values + 2, column + 4, 2, &next, p);
        block.skip = skipped * TFLMGEN_CONV2D_THUMB_STEP6_BYTES;
        block.pixel = pixel;
        block.start = column;
        block.end = at + pixel;
        six(values, stream, at, &block);
        at += TFLMGEN_CONV2D_THUMB_LANES * pixel;
    }
    if (p->backward) {
        next.out_x = 0;
        at = output;
    }
    for (int32_t lane = 0; lane < left; lane += 2) {
        tflmgen_conv2d_thumb_gather_next(values + lane / 2, column + lane, tflmgen_min_s32(left - lane, 2), &next, p);
    }
    block.skip = skipped * TFLMGEN_CONV2D_THUMB_STEP2_BYTES;
    for (int32_t lane = 0; lane < left; lane += 2, at += 2 * pixel) {
        block.pixel = lane + 1 < left ? pixel : 0;
        block.start = column + lane;
        block.end = at + pixel;
        two(values + lane / 2 - 3 * skipped, stream, at, &block);
    }
    const int32_t count = p->batches * p->output_height * p->output_width * pixel;
    tflmgen_clamp_thumb_s8(output, count, p->output_min, p->output_max);
}

/* Outputs clamped at the zero point, or not. */
TFLMGEN_SHARED void tflmgen_conv2d_thumb_clamped_s8(const int8_t *input, const uint32_t *stream, void *column,
                                                    int8_t *output, const struct tflmgen_conv2d_thumb_s8 *p)
{
    tflmgen_conv2d_thumb_run(input, stream, column, output, p, tflmgen_conv2d_thumb_block6_clamped,
                             tflmgen_conv2d_thumb_block2_clamped);
}

TFLMGEN_SHARED void tflmgen_conv2d_thumb_signed_s8(const int8_t *input, const uint32_t *stream, void *column,
                                                   int8_t *output, const struct tflmgen_conv2d_thumb_s8 *p)
{
    tflmgen_conv2d_thumb_run(input, stream, column, output, p, tflmgen_conv2d_thumb_block6_signed,
                             tflmgen_conv2d_thumb_block2_signed);
}

#endif

#endif
