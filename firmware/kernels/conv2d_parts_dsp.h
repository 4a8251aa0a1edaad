/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D in groups and TRANSPOSE_CONV in int8 for cores with the DSP extension: parts that are convolutions
 * (conv2d_parts.h), computed as CONV_2D is (conv2d_block_dsp.h).
 *
 * A block is three outputs of one output row, or a single one where rows are shorter. The stream has the records of
 * conv2d_steps_dsp.h for one part after the other, with control words. A single output channel is paired with itself.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_PARTS_DSP_H
#define TFLMGEN_KERNELS_CONV2D_PARTS_DSP_H

#include "conv2d_dsp.h"
#include "conv2d_parts.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

struct tflmgen_conv2d_groups_dsp_s8 {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t groups;
    int32_t group_inputs; /* channels that a group sees: its own, or others beside them, by weights of zero */
    int32_t padding_value;
    int32_t output_min;
    int32_t output_max;
};

/* The window is that of the convolution from the output to the input. */
struct tflmgen_transpose_conv_dsp_s8 {
    TFLMGEN_WINDOW_FIELDS
    int32_t padding_value;
    int32_t output_min;
    int32_t output_max;
};

/* The window at (y, x) of an image into a lane; the part's channels are whole words. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_part_words(tflmgen_u32 *lane, const int8_t *image, int32_t y, int32_t x,
                                                  const struct tflmgen_conv2d_part *p)
{
    const struct tflmgen_taps down = tflmgen_taps_inside(y, p->dilation_height, p->taps_height, p->height);
    const struct tflmgen_taps across = tflmgen_taps_inside(x, p->dilation_width, p->taps_width, p->width);
    const int32_t words = p->channels >> 2;
    const int32_t taps = across.end - across.first;
    const int32_t row_step = p->dilation_height * p->width * p->pixel_step;
    const int32_t tap_step = p->dilation_width * p->pixel_step;
    const uint32_t padding = tflmgen_splat4(p->padding_value);
    const int8_t *row =
        image + ((y + down.first * p->dilation_height) * p->width + x) * p->pixel_step + across.first * tap_step;
    const bool is_contiguous = tap_step == p->channels;
    lane = tflmgen_conv2d_dsp_pad_lane(lane, padding, down.first * p->taps_width * words, 6);
    for (int32_t ky = down.first; ky < down.end; ++ky, row += row_step) {
        lane = tflmgen_conv2d_dsp_pad_lane(lane, padding, across.first * words, 6);
        if (taps > 0) {
            lane = tflmgen_conv2d_dsp_widen_rows(lane, row, is_contiguous ? taps * words : words,
                                                 is_contiguous ? 1 : taps, tap_step);
        }
        lane = tflmgen_conv2d_dsp_pad_lane(lane, padding, (p->taps_width - across.end) * words, 6);
    }
    (void)tflmgen_conv2d_dsp_pad_lane(lane, padding, (p->taps_height - down.end) * p->taps_width * words, 6);
}

/* The same for any channels: first as bytes into `bytes`, which has room for 4 * steps of them. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_part_bytes(tflmgen_u32 *lane, int8_t *bytes, const int8_t *image, int32_t y,
                                                  int32_t x, const struct tflmgen_conv2d_part *p)
{
    const struct tflmgen_taps down = tflmgen_taps_inside(y, p->dilation_height, p->taps_height, p->height);
    const struct tflmgen_taps across = tflmgen_taps_inside(x, p->dilation_width, p->taps_width, p->width);
    const int32_t taps = across.end - across.first;
    const int32_t row_step = p->dilation_height * p->width * p->pixel_step;
    const int32_t tap_step = p->dilation_width * p->pixel_step;
    if ((down.end - down.first) * taps < p->taps_height * p->taps_width) {
        const uint32_t padding = tflmgen_splat4(p->padding_value);
        for (int32_t step = 0; step < p->steps; ++step) {
            tflmgen_store4(bytes + 4 * step, padding);
        }
    }
    const int8_t *row =
        image + ((y + down.first * p->dilation_height) * p->width + x) * p->pixel_step + across.first * tap_step;
    const bool is_contiguous = tap_step == p->channels;
    const int32_t segments = is_contiguous ? 1 : taps;
    const int32_t count = is_contiguous ? taps * p->channels : p->channels;
    for (int32_t ky = down.first; ky < down.end; ++ky, row += row_step) {
        int8_t *target = bytes + (ky * p->taps_width + across.first) * p->channels;
        const int8_t *source = row;
        for (int32_t segment = 0; segment < segments; ++segment, source += tap_step, target += count) {
            tflmgen_copy_few_dsp(target, source, count);
        }
    }
    (void)tflmgen_conv2d_dsp_widen_rows(lane, bytes, p->steps, 1, 0);
}

/* Three windows within the input; the part's channels are whole words. */
TFLMGEN_HELPER void tflmgen_conv2d_dsp_part_three(tflmgen_u32 *im2col, const int8_t *first_window,
                                                  const struct tflmgen_conv2d_part *p)
{
    const int32_t row_step = p->dilation_height * p->width * p->pixel_step;
    const int32_t tap_step = p->dilation_width * p->pixel_step;
    const int32_t window_row = p->taps_width * p->channels;
    if (tap_step == p->channels || p->taps_width == 1) {
        const struct tflmgen_conv2d_dsp_rows rows = {window_row, p->taps_height, row_step - window_row};
        tflmgen_conv2d_dsp_widen3(im2col, first_window, p->stride_width * p->pixel_step, &rows);
        return;
    }
    const struct tflmgen_conv2d_dsp_rows rows = {p->channels, p->taps_width, tap_step - p->channels};
    for (int32_t ky = 0; ky < p->taps_height; ++ky, first_window += row_step, im2col += window_row / 4 * 6) {
        tflmgen_conv2d_dsp_widen3(im2col, first_window, p->stride_width * p->pixel_step, &rows);
    }
}

/* Three outputs that are `pixel_step` bytes apart; where that is 0, the first one only. */
TFLMGEN_HELPER void tflmgen_conv2d_dsp_part_block(tflmgen_u32 *im2col, const tflmgen_u32 *stream, int8_t *output,
                                                  int32_t pixel_step, const struct tflmgen_conv2d_part *p)
{
    if (!p->is_single) {
        struct tflmgen_conv2d_dsp_blocks blocks =
            tflmgen_conv2d_dsp_blocks_of(p->steps, pixel_step, TFLMGEN_CONV2D_DSP_STEPS, 1);
        tflmgen_conv2d_dsp_block_compact_signed(im2col, stream, output, &blocks);
        return;
    }
    int8_t pairs[6];
    struct tflmgen_conv2d_dsp_blocks blocks = tflmgen_conv2d_dsp_blocks_of(p->steps, 2, TFLMGEN_CONV2D_DSP_STEPS, 1);
    tflmgen_conv2d_dsp_block_compact_signed(im2col, stream, pairs, &blocks);
    output[2 * pixel_step] = pairs[4];
    output[pixel_step] = pairs[2];
    output[0] = pairs[0];
}

/* im2col: room for 6 * steps words, and for `steps` more where the part's channels are not whole words. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_run_part(const int8_t *input, const tflmgen_u32 *stream, tflmgen_u32 *im2col,
                                                int8_t *output, const struct tflmgen_conv2d_part *p)
{
    const bool by_words = p->channels % 4 == 0;
    const int32_t lanes = p->output_width < 3 ? 1 : 3;
    const int32_t output_pixel_step = lanes == 3 ? p->output_pixel_step : 0;
    const int32_t y_end = p->height - (p->taps_height - 1) * p->dilation_height;
    const int32_t x_end = p->width - (p->taps_width - 1) * p->dilation_width - (lanes - 1) * p->stride_width;
    int8_t *const bytes = (int8_t *)(im2col + 6 * p->steps);
    for (int32_t batch = 0; batch < p->batches; ++batch, input += p->height * p->width * p->pixel_step) {
        for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {
            int8_t *const output_row = output + batch * p->output_image_step + out_y * p->output_row_step;
            const int32_t y = out_y * p->stride_height - p->padding_top;
            for (int32_t out_x = 0; out_x < p->output_width; out_x += lanes) {
                /* The last block of a row overlaps with the one before. */
                const int32_t begin = tflmgen_min_s32(out_x, p->output_width - lanes);
                const int32_t x = begin * p->stride_width - p->padding_left;
                if (by_words && lanes == 3 && y >= 0 && y < y_end && x >= 0 && x < x_end) {
                    tflmgen_conv2d_dsp_part_three(im2col, input + (y * p->width + x) * p->pixel_step, p);
                } else {
                    for (int32_t lane = 0; lane < lanes; ++lane) {
                        const int32_t lane_x = x + lane * p->stride_width;
                        if (by_words) {
                            tflmgen_conv2d_dsp_part_words(im2col + lane, input, y, lane_x, p);
                        } else {
                            tflmgen_conv2d_dsp_part_bytes(im2col + lane, bytes, input, y, lane_x, p);
                        }
                    }
                }
                tflmgen_conv2d_dsp_part_block(im2col, stream, output_row + begin * p->output_pixel_step,
                                              output_pixel_step, p);
            }
        }
    }
}

/* Words of the stream of a part with so many output channels: pairs of them, of each the steps, and 7 words. */
TFLMGEN_HELPER int32_t tflmgen_conv2d_dsp_part_stream(int32_t channels, int32_t steps)
{
    return (channels + 1) / 2 * (2 * steps + 7);
}

/* A CONV_2D, group after group. */
TFLMGEN_SHARED void tflmgen_conv2d_groups_dsp_run(const int8_t *input, const tflmgen_u32 *stream, tflmgen_u32 *im2col,
                                                  int8_t *output, const struct tflmgen_conv2d_groups_dsp_s8 *p)
{
    const int32_t channels = p->output_channels / p->groups;
    const struct tflmgen_conv2d_part part = TFLMGEN_CONV2D_PART_OF_GROUP(p, p->group_inputs, 4);
    for (int32_t group = 0; group < p->groups; ++group) {
        const int32_t first =
            tflmgen_min_s32(group * (p->input_channels / p->groups), p->input_channels - p->group_inputs);
        tflmgen_conv2d_dsp_run_part(input + first, stream, im2col, output + group * channels, &part);
        stream += tflmgen_conv2d_dsp_part_stream(channels, part.steps);
    }
    tflmgen_clamp_dsp_s8(output, p->batches * part.output_image_step, p->output_min, p->output_max);
}

#define TFLMGEN_TRANSPOSE_CONV_DSP_PART(part, first_output)                    \
    tflmgen_conv2d_dsp_run_part(input, stream, im2col, first_output, &(part)); \
    stream += tflmgen_conv2d_dsp_part_stream(channels, (part).steps)

TFLMGEN_SHARED void tflmgen_transpose_conv_dsp_run(const int8_t *input, const tflmgen_u32 *stream, tflmgen_u32 *im2col,
                                                   int8_t *output, const struct tflmgen_transpose_conv_dsp_s8 *p)
{
    TFLMGEN_TRANSPOSE_CONV_PHASES(4, TFLMGEN_TRANSPOSE_CONV_DSP_PART);
}

TFLMGEN_KERNEL_WITH_BUFFER(tflmgen_conv2d_groups_dsp, tflmgen_u32, TFLMGEN_CONV2D_DSP_STACK_WORDS)
TFLMGEN_KERNEL_WITH_BUFFER(tflmgen_transpose_conv_dsp, tflmgen_u32, TFLMGEN_CONV2D_DSP_STACK_WORDS)

#endif

#endif
