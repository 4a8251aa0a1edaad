/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D in groups and TRANSPOSE_CONV in int8 for cores with MVE: parts that are convolutions (conv2d_parts.h),
 * computed as CONV_2D is (conv2d_block_mve.h).
 *
 * A block is four outputs of one output row, whose windows are gathered by a table (conv2d_gather_mve.h). A step of
 * conv2d_parts.h is a chunk of 16 values. The stream has one table in front of all groups, or one in front of each
 * phase of a TRANSPOSE_CONV, and the records of conv2d_block_mve.h for one part after the other.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_PARTS_MVE_H
#define TFLMGEN_KERNELS_CONV2D_PARTS_MVE_H

#include "conv2d_mve.h"
#include "conv2d_parts.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

struct tflmgen_conv2d_groups_mve_s8 {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t groups;
    int32_t padding_value;
    int32_t chunks; /* of 16 values in a group's window */
    int32_t output_zero_point;
    int32_t output_min;
    int32_t output_max;
};

/* The window is that of the convolution from the output to the input. */
struct tflmgen_transpose_conv_mve_s8 {
    TFLMGEN_WINDOW_FIELDS
    int32_t padding_value;
    int32_t output_zero_point;
    int32_t output_min;
    int32_t output_max;
};

/* table: the part's gather table. im2col: room for 64 * chunks bytes. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_run_part(const int8_t *input, const int8_t *table, const int8_t *stream,
                                                int8_t *im2col, int8_t *output, const struct tflmgen_conv2d_part *p,
                                                int32_t zero_point)
{
    const int32_t chunks = p->steps;
    const int32_t y_end = p->height - (p->taps_height - 1) * p->dilation_height;
    const int32_t x_end = p->width - (p->taps_width - 1) * p->dilation_width - 3 * p->stride_width;
    const int32_t last_lane = tflmgen_min_s32(p->output_width, 4) - 1;
    const bool is_short = chunks <= TFLMGEN_CONV2D_MVE_SHORT;
    tflmgen_conv2d_mve_block_function *const run_block =
        is_short ? tflmgen_conv2d_mve_short_signed : tflmgen_conv2d_mve_any;
    struct tflmgen_conv2d_mve_blocks blocks =
        tflmgen_conv2d_mve_blocks_of(im2col, stream, chunks, zero_point, is_short, 1);
    struct tflmgen_conv2d_mve_clipped clipped = {0,
                                                 p->stride_width * p->pixel_step,
                                                 p->stride_width,
                                                 {0, 0, p->height, p->width, p->padding_value, table, chunks}};
    tflmgen_conv2d_mve_place(blocks.outputs, p->output_pixel_step, last_lane, p->is_single);
    for (int32_t batch = 0; batch < p->batches; ++batch, input += p->height * p->width * p->pixel_step) {
        for (int32_t y = 0; y < p->output_height; ++y) {
            int8_t *const output_row = output + batch * p->output_image_step + y * p->output_row_step;
            const int32_t in_y = y * p->stride_height - p->padding_top;
            const bool is_inside = in_y >= 0 && in_y < y_end;
            clipped.bounds.y = in_y;
            for (int32_t x = 0; x < p->output_width; x += 4) {
                /* The last block of a row overlaps with the one before. */
                const int32_t begin = tflmgen_max_s32(tflmgen_min_s32(x, p->output_width - 4), 0);
                const int32_t in_x = begin * p->stride_width - p->padding_left;
                const int32_t window_offset = (in_y * p->width + in_x) * p->pixel_step;
                if (is_inside && last_lane == 3 && in_x >= 0 && in_x < x_end) {
                    tflmgen_conv2d_mve_table_four(im2col, input + window_offset, &clipped);
                } else if (last_lane == 3) {
                    clipped.bounds.x = in_x;
                    clipped.from = (uint32_t)(uintptr_t)input + (uint32_t)window_offset;
                    tflmgen_conv2d_mve_table_clipped(im2col, &clipped);
                } else {
                    for (int32_t lane = 0; lane < 4; ++lane) {
                        clipped.bounds.x = in_x + tflmgen_min_s32(lane, last_lane) * p->stride_width;
                        const uint32_t first = (uint32_t)((in_y * p->width + clipped.bounds.x) * p->pixel_step);
                        tflmgen_conv2d_mve_table_one(im2col + 16 * lane, (uint32_t)(uintptr_t)input + first,
                                                     &clipped.bounds);
                    }
                }
                blocks.output = output_row + begin * p->output_pixel_step;
                run_block(&blocks);
            }
        }
    }
}

/* Bytes of the stream of a part with so many output channels: pairs of them, and of each 16 values per chunk and 3
 * words. */
TFLMGEN_HELPER int32_t tflmgen_conv2d_mve_part_bytes(int32_t channels, int32_t chunks)
{
    return (channels + 1) / 2 * (32 * chunks + 24);
}

/* Group after group, with one table. */
TFLMGEN_SHARED void tflmgen_conv2d_groups_mve_run(const int8_t *input, const int8_t *stream, int8_t *im2col,
                                                  int8_t *output, const struct tflmgen_conv2d_groups_mve_s8 *p)
{
    const int32_t channels = p->output_channels / p->groups;
    const struct tflmgen_conv2d_part part = TFLMGEN_CONV2D_PART_OF_GROUP(p, p->input_channels / p->groups, 16);
    const int8_t *group_stream = stream + TFLMGEN_CONV2D_MVE_TABLE_BYTES * p->chunks;
    for (int32_t group = 0; group < p->groups; ++group) {
        tflmgen_conv2d_mve_run_part(input + group * part.channels, stream, group_stream, im2col,
                                    output + group * channels, &part, p->output_zero_point);
        group_stream += tflmgen_conv2d_mve_part_bytes(channels, p->chunks);
    }
    tflmgen_clamp_dsp_s8(output, p->batches * part.output_image_step, p->output_min, p->output_max);
}

/* Each phase has a table of its own before its stream. */
#define TFLMGEN_TRANSPOSE_CONV_MVE_PART(part, first_output)                                                 \
    const int8_t *const table = stream;                                                                     \
    stream += TFLMGEN_CONV2D_MVE_TABLE_BYTES * (part).steps;                                                \
    tflmgen_conv2d_mve_run_part(input, table, stream, im2col, first_output, &(part), p->output_zero_point); \
    stream += tflmgen_conv2d_mve_part_bytes(channels, (part).steps)

TFLMGEN_SHARED void tflmgen_transpose_conv_mve_run(const int8_t *input, const int8_t *stream, int8_t *im2col,
                                                   int8_t *output, const struct tflmgen_transpose_conv_mve_s8 *p)
{
    TFLMGEN_TRANSPOSE_CONV_PHASES(16, TFLMGEN_TRANSPOSE_CONV_MVE_PART);
}

TFLMGEN_KERNEL_WITH_BUFFER(tflmgen_conv2d_groups_mve, int8_t, TFLMGEN_CONV2D_MVE_STACK_BYTES)
TFLMGEN_KERNEL_WITH_BUFFER(tflmgen_transpose_conv_mve, int8_t, TFLMGEN_CONV2D_MVE_STACK_BYTES)

#endif

#endif
