/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D in int8 for cores with the DSP extension, for long windows: one part of a block's windows at a time, so that
 * the im2col buffer (conv2d_steps_dsp.h) stays short. From part to part, the sums of all channels wait in scratch
 * memory (conv2d_split_part_dsp.h).
 *
 * The stream has the parts one after the other, in each the pairs of channels, and behind them biases as in
 * conv2d_dsp.h:
 *
 *     first part   (bias0 bias1 | weights of the part's steps) of each pair
 *     next parts   (weights of the part's steps) of each pair
 *     last part    (weights of the part's steps | m0 addend0 m1 addend1 | s0 + 256 s1 + 65536 * advance) of each pair
 *
 * where the weights of a step, and the last words, are those of conv2d_steps_dsp.h.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_SPLIT_DSP_H
#define TFLMGEN_KERNELS_CONV2D_SPLIT_DSP_H

#include <string.h>

#include "conv2d_dsp.h"
#include "conv2d_split_part_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

#define TFLMGEN_CONV2D_SPLIT_DSP_PART_STEPS 24 /* at most */

/* Channels are whole words, dilation_width is 1. */
struct tflmgen_conv2d_split_dsp_s8 {
    TFLMGEN_WINDOW_FIELDS
    int32_t dilation_height;
    int32_t padding_value;
    int32_t steps;      /* of four values in a window */
    int32_t part_steps; /* of these at a time, either whole rows, or no more than are left of a row */
    bool skips_padding; /* parts of rows above or below the input are left out */
    int32_t output_min;
    int32_t output_max;
};

/* A window: its image, its row and column there, and which of its columns lie inside the input; whole: all of it
 * does. */
struct tflmgen_conv2d_split_dsp_window {
    const int8_t *image;
    int32_t y;
    int32_t x;
    struct tflmgen_taps inside;
    bool whole;
};

/* `count` steps of a window into a lane, from step `row_step` of its row ky on. */
TFLMGEN_SHARED void tflmgen_conv2d_split_dsp_gather(tflmgen_u32 *lane,
                                                    const struct tflmgen_conv2d_split_dsp_window *window, int32_t ky,
                                                    int32_t row_step, int32_t count,
                                                    const struct tflmgen_conv2d_split_dsp_s8 *p)
{
    const int32_t tap_steps = p->input_channels >> 2;
    const int32_t row_steps = p->filter_width * tap_steps;
    const uint32_t padding = tflmgen_splat4(p->padding_value);
    const int32_t row_stride = p->dilation_height * p->input_width * p->input_channels;
    const int8_t *from =
        window->image + ky * row_stride + 4 * row_step + (window->y * p->input_width + window->x) * p->input_channels;
    for (;;) {
        const int32_t run_steps = tflmgen_min_s32(row_steps - row_step, count);
        if (window->whole) {
            lane = tflmgen_conv2d_dsp_widen(lane, from, run_steps);
        } else {
            const int32_t y = window->y + ky * p->dilation_height;
            const bool inside = y >= 0 && y < p->input_height;
            const int32_t begin =
                inside ? tflmgen_clamp_s32(window->inside.first * tap_steps - row_step, 0, run_steps) : run_steps;
            const int32_t end =
                inside ? tflmgen_clamp_s32(window->inside.end * tap_steps - row_step, begin, run_steps) : run_steps;
            lane = tflmgen_conv2d_dsp_pad_lane(lane, padding, begin, 6);
            lane = tflmgen_conv2d_dsp_widen(lane, from + 4 * begin, end - begin);
            lane = tflmgen_conv2d_dsp_pad_lane(lane, padding, run_steps - end, 6);
        }
        count -= run_steps;
        if (count == 0) {
            return;
        }
        from += row_stride - 4 * row_step;
        ++ky;
        row_step = 0;
    }
}

/* The windows of three output pixels from `pixel` on, of `pixel_count`; beyond them, the last one again. */
TFLMGEN_SHARED void tflmgen_conv2d_split_dsp_windows(struct tflmgen_conv2d_split_dsp_window *window, int32_t pixel,
                                                     int32_t pixel_count, const int8_t *input,
                                                     const struct tflmgen_conv2d_split_dsp_s8 *p)
{
    for (int32_t lane = 0; lane < 3; ++lane, ++window) {
        const int32_t number = tflmgen_min_s32(pixel + lane, pixel_count - 1);
        const int32_t out_row = number / p->output_width;
        const int32_t batch = out_row / p->output_height;
        window->image = input + batch * p->input_height * p->input_width * p->input_channels;
        window->y = (out_row - batch * p->output_height) * p->stride_height - p->padding_top;
        window->x = (number - out_row * p->output_width) * p->stride_width - p->padding_left;
        window->inside = tflmgen_taps_inside(window->x, 1, p->filter_width, p->input_width);
        window->whole = window->x >= 0 && window->x + p->filter_width <= p->input_width && window->y >= 0 &&
                        window->y + (p->filter_height - 1) * p->dilation_height < p->input_height;
    }
}

/* `count` steps of three windows that lie side by side within the input: of one row, or whole rows. */
TFLMGEN_HELPER void tflmgen_conv2d_split_dsp_widen(tflmgen_u32 *im2col, const int8_t *first_window, int32_t count,
                                                   const struct tflmgen_conv2d_split_dsp_s8 *p)
{
    const int32_t row_steps = p->filter_width * p->input_channels >> 2;
    const int32_t row_count = tflmgen_max_s32(count / row_steps, 1);
    const int32_t bytes = 4 * count / row_count;
    const int32_t row_stride = p->dilation_height * p->input_width * p->input_channels;
    const struct tflmgen_conv2d_dsp_rows rows = {bytes, row_count, row_stride - bytes};
    const int32_t window_step = p->stride_width * p->input_channels;
    if (bytes == 4 * row_steps &&
        tflmgen_conv2d_dsp_has_adjacent(p->filter_width, p->stride_width, p->input_channels)) {
        tflmgen_conv2d_dsp_widen3_adjacent(im2col, first_window, window_step, &rows);
    } else {
        tflmgen_conv2d_dsp_widen3(im2col, first_window, window_step, &rows);
    }
}

/* Sets the passes of a part of `count` steps. */
TFLMGEN_HELPER void tflmgen_conv2d_split_dsp_set_steps(struct tflmgen_conv2d_split_dsp_part *part, int32_t count)
{
    const int32_t unrolled = TFLMGEN_CONV2D_SPLIT_DSP_STEP_PAIRS;
    const int32_t step_pairs = count >> 1;
    const int32_t passes = tflmgen_max_s32((step_pairs + unrolled - 1) / unrolled, 1);
    part->last_pass = passes > 1 ? 24 * (count - 2 * unrolled) : -4;
    part->skip_bytes = (passes * unrolled - step_pairs) * TFLMGEN_CONV2D_DSP_STEP_PAIR_BYTES;
    part->entry = count & 1 ? -TFLMGEN_CONV2D_SPLIT_DSP_SINGLE_BYTES : part->skip_bytes;
}

/* The rows of the windows of output row out_y that are computed: all but those of parts above or below the input. */
TFLMGEN_HELPER struct tflmgen_taps tflmgen_conv2d_split_dsp_rows(int32_t out_y, int32_t part_rows,
                                                                 const struct tflmgen_conv2d_split_dsp_s8 *p)
{
    struct tflmgen_taps rows = TFLMGEN_TAPS_OF_ROW(p, out_y);
    const int32_t last = (p->filter_height - 1) / part_rows * part_rows;
    const bool is_outside = rows.first == rows.end;
    /* The last part has the scales, and adds to the sums of another one. */
    rows.first = tflmgen_min_s32(rows.first / part_rows * part_rows, tflmgen_max_s32(last - part_rows, 0));
    rows.end = tflmgen_min_s32((rows.end + part_rows - 1) / part_rows * part_rows, p->filter_height);
    if (is_outside || (rows.first > 0 && rows.end < p->filter_height)) {
        rows.first = 0;
        rows.end = p->filter_height;
    }
    return rows;
}

/* Blocks of three pixels, one after the other. scratch: 6 words for each pair of channels, and three pixels of output
 * where their number is no multiple of three. pair_words: of a pair's records in all parts. */
TFLMGEN_SHARED void tflmgen_conv2d_split_dsp_run(const int8_t *input, const tflmgen_u32 *stream, tflmgen_u32 *scratch,
                                                 int8_t *output, const struct tflmgen_conv2d_split_dsp_s8 *p,
                                                 int32_t pair_words, tflmgen_conv2d_split_dsp_last_part *run_last_part)
{
    uint32_t im2col[6 * TFLMGEN_CONV2D_SPLIT_DSP_PART_STEPS];
    const int32_t channels = p->output_channels;
    const int32_t pairs = (channels + 1) >> 1;
    const int32_t pixel_count = p->batches * p->output_height * p->output_width;
    const int32_t row_steps = p->filter_width * p->input_channels >> 2;
    const int32_t row_stride = p->dilation_height * p->input_width * p->input_channels;
    /* Where three windows side by side lie inside the input. */
    const int32_t y_end = p->input_height - (p->filter_height - 1) * p->dilation_height;
    const int32_t x_end = p->input_width - p->filter_width + 1 - 2 * p->stride_width;
    const int8_t *image = input;
    int32_t out_x = 0;
    int32_t out_y = 0;
    struct tflmgen_conv2d_split_dsp_window windows[3];
    struct tflmgen_conv2d_split_dsp_part part;
    part.channels = channels;
    part.sums = scratch;
    part.sums_end = scratch + 6 * pairs;
    part.starts = stream;
    for (int32_t pixel = 0; pixel < pixel_count; pixel += 3, output += 3 * channels) {
        const tflmgen_u32 *weights = stream;
        const int32_t x = out_x * p->stride_width - p->padding_left;
        const int32_t y = out_y * p->stride_height - p->padding_top;
        const bool is_adjacent = out_x + 3 <= p->output_width && x >= 0 && x < x_end && y >= 0 && y < y_end;
        const int8_t *const first_window = image + (y * p->input_width + x) * p->input_channels;
        if (!is_adjacent) {
            tflmgen_conv2d_split_dsp_windows(windows, pixel, pixel_count, input, p);
        }
        struct tflmgen_taps computed = {0, 0, p->filter_height};
        int32_t sums_begin = TFLMGEN_CONV2D_SPLIT_DSP_BIASES;
        if (p->skips_padding && (y < 0 || y >= y_end) && out_x + 3 <= p->output_width) {
            computed = tflmgen_conv2d_split_dsp_rows(out_y, tflmgen_max_s32(p->part_steps / row_steps, 1), p);
            const int32_t below = p->filter_height - computed.end;
            if (computed.first > 0 || below > 0) {
                const int32_t max_above = (p->padding_top + p->dilation_height - 1) / p->dilation_height;
                const int32_t bias_set = computed.first ? computed.first - 1 : max_above + below - 1;
                part.starts = stream + pairs * (pair_words + 2 * bias_set);
                sums_begin = TFLMGEN_CONV2D_SPLIT_DSP_STARTS;
            }
        }
        int32_t ky = 0;
        int32_t row_step = 0;
        for (int32_t first = 0, count; first < p->steps; first += count) {
            count = tflmgen_min_s32(p->part_steps, p->part_steps < row_steps ? row_steps - row_step : p->steps - first);
            const bool is_computed = ky >= computed.first && ky < computed.end;
            if (is_computed) {
                if (is_adjacent) {
                    tflmgen_conv2d_split_dsp_widen(im2col, first_window + ky * row_stride + 4 * row_step, count, p);
                } else {
                    for (int32_t lane = 0; lane < 3; ++lane) {
                        tflmgen_conv2d_split_dsp_gather(im2col + lane, windows + lane, ky, row_step, count, p);
                    }
                }
                tflmgen_conv2d_split_dsp_set_steps(&part, count);
                part.skip_stream = first > 0 ? 0 : 8;
            } else {
                part.entry = -TFLMGEN_CONV2D_SPLIT_DSP_PASS_BYTES;
                part.skip_stream = 8 * count;
            }
            if (first + count < p->steps) {
                if (is_computed) {
                    tflmgen_conv2d_split_dsp_add_part(im2col, weights, sums_begin, &part);
                    sums_begin = TFLMGEN_CONV2D_SPLIT_DSP_CONTINUE;
                }
                weights += (first > 0 ? 2 * count : 2 * count + 2) * pairs;
            } else if (pixel + 3 <= pixel_count) {
                run_last_part(im2col, weights, output, &part);
            } else {
                int8_t *const last_outputs = (int8_t *)part.sums_end;
                run_last_part(im2col, weights, last_outputs, &part);
                memcpy(output, last_outputs, (size_t)((pixel_count - pixel) * channels));
                output -= (3 - (pixel_count - pixel)) * channels;
            }
            for (row_step += count; row_step >= row_steps; row_step -= row_steps) {
                ++ky;
            }
        }
        for (out_x += 3; out_x >= p->output_width; out_x -= p->output_width) {
            if (++out_y == p->output_height) {
                out_y = 0;
                image += p->input_height * p->input_width * p->input_channels;
            }
        }
    }
    tflmgen_clamp_dsp_s8(output - pixel_count * channels, pixel_count * channels, p->output_min, p->output_max);
}

/* Any outputs; those clamped at the zero point (relu), of which all channels have one shift (uniform). That which is
 * not called is not compiled. */
#define TFLMGEN_CONV2D_SPLIT_DSP(name, KIND, WORDS)                                                      \
    TFLMGEN_SHARED void name(const int8_t *input, const tflmgen_u32 *stream, void *sums, int8_t *output, \
                             const struct tflmgen_conv2d_split_dsp_s8 *p)                                \
    {                                                                                                    \
        tflmgen_conv2d_split_dsp_run(input, stream, sums, output, p, 2 * p->steps + (WORDS),             \
                                     tflmgen_conv2d_split_dsp_last_##KIND);                              \
    }

TFLMGEN_CONV2D_SPLIT_DSP(tflmgen_conv2d_split_dsp_s8, signed, 7)
TFLMGEN_CONV2D_SPLIT_DSP(tflmgen_conv2d_split_dsp_relu_uniform_s8, uniform, 6)

#endif

#endif
