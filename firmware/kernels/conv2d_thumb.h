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

/* `count` values into a lane, 4 instructions each and 4 to loop over four. */
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

/* The window that begins at row y, column x of `image`. */
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

/* column: 6 words, what the sums begin with, and 3 * terms words. */
TFLMGEN_SHARED void tflmgen_conv2d_thumb_run(const int8_t *input, const uint32_t *stream, uint32_t *column,
                                             int8_t *output, const struct tflmgen_conv2d_thumb_s8 *p,
                                             tflmgen_conv2d_thumb_block_function *six,
                                             tflmgen_conv2d_thumb_block_function *two)
{
    uint32_t *const start = column;
    uint32_t *const values = column + TFLMGEN_CONV2D_THUMB_LANES;
    const int32_t span = (p->terms + 7) / 8 * 8;
    const int32_t skipped = span - p->terms;
    const int32_t pixel = p->output_channels;
    struct tflmgen_conv2d_thumb_block block;
    block.lead = (p->terms + 3) / 4 * 4 - span;
    block.span = span;
    const int32_t all = p->batches * p->output_height * p->output_width;
    const int8_t *image = input;
    int8_t *at = output;
    int32_t out_y = 0;
    int32_t out_x = 0;
    for (int32_t left = all; left > 0;) {
        const int32_t lanes = tflmgen_min_s32(left, TFLMGEN_CONV2D_THUMB_LANES);
        if (p->backward) {
            image = input;
            out_y = 0;
            out_x = left - lanes;
            at = output + out_x * pixel;
        }
        for (int32_t lane = 0; lane < lanes; ++lane) {
            const uint32_t sum = tflmgen_conv2d_thumb_gather((uint16_t *)(void *)values + lane, image,
                                                             out_y * p->stride_height - p->padding_top,
                                                             out_x * p->stride_width - p->padding_left, p);
            if (lane % 2) {
                start[lane - 1] -= sum << 16;
                start[lane] = 0u - sum;
            } else {
                start[lane] = 0u - sum;
                start[lane + 1] = 0;
            }
            if (++out_x == p->output_width) {
                out_x = 0;
                if (++out_y == p->output_height) {
                    out_y = 0;
                    image += p->input_height * p->input_width * p->input_channels;
                }
            }
        }
        block.start = start;
        if (lanes == TFLMGEN_CONV2D_THUMB_LANES) {
            block.skip = skipped * TFLMGEN_CONV2D_THUMB_STEP6_BYTES;
            block.pixel = pixel;
            block.end = at + pixel;
            six(values, stream, at, &block);
            at += TFLMGEN_CONV2D_THUMB_LANES * pixel;
        } else {
            block.skip = skipped * TFLMGEN_CONV2D_THUMB_STEP2_BYTES;
            for (int32_t lane = 0; lane < lanes; lane += 2, at += 2 * pixel, block.start += 2) {
                block.pixel = lane + 1 < lanes ? pixel : 0;
                block.end = at + pixel;
                two(values + lane / 2 - 3 * skipped, stream, at, &block);
            }
        }
        left -= lanes;
    }
    tflmgen_clamp_thumb_s8(output, all * pixel, p->output_min, p->output_max);
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
