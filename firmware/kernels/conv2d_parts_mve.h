/* Convolutions in int8 for cores with MVE that are several ones: one for each group of channels, or for each phase of a
 * TRANSPOSE_CONV. Every part reads some channels of the input's pixels and writes some values of the output, apart from
 * it.
 *
 * A part's windows are gathered value by value (conv2d_gather_mve.h), of four outputs of a line at a time, and computed
 * as those of CONV_2D are (conv2d_block_mve.h).
 */
#ifndef TFLMGEN_KERNELS_CONV2D_PARTS_MVE_H
#define TFLMGEN_KERNELS_CONV2D_PARTS_MVE_H

#include "conv2d_mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

struct tflmgen_conv2d_groups_mve_s8 {
    TFLMGEN_DILATED_WINDOW_FIELDS
    int32_t groups;
    int32_t padding_value;
    int32_t chunks; /* 16s of values in a group's window */
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

/* What a part is, in pixels, and in bytes from one to the next. */
struct tflmgen_conv2d_mve_part {
    int32_t batches;
    int32_t height; /* of the input */
    int32_t width;
    int32_t pixel;
    int32_t stride_height;
    int32_t stride_width;
    int32_t reach_height; /* from a window's first tap to its last */
    int32_t reach_width;
    int32_t padding_top;
    int32_t padding_left;
    int32_t padding_value;
    int32_t chunks;
    int32_t output_height;
    int32_t output_width;
    int32_t output_pixel;
    int32_t output_line;
    int32_t output_image;
    int32_t output_zero_point;
    bool is_single; /* there is one output channel */
};

/* table: before the part's stream. column: 64 * chunks bytes. */
TFLMGEN_SHARED void tflmgen_conv2d_mve_run_part(const int8_t *input, const int8_t *table, const int8_t *stream,
                                                int8_t *column, int8_t *output, const struct tflmgen_conv2d_mve_part *p,
                                                tflmgen_conv2d_mve_block_function *run_short,
                                                tflmgen_conv2d_mve_block_function *run_long)
{
    const int32_t passes = (p->chunks - 1 + 3) / 4;
    const int32_t skipped = passes > 1 ? 4 * passes - (p->chunks - 1) : 5 - p->chunks;
    const int32_t last = tflmgen_min_s32(p->output_width, 4) - 1;
    tflmgen_conv2d_mve_block_function *const run_block = passes > 1 ? run_long : run_short;
    const struct tflmgen_conv2d_mve_block block = {passes,          skipped * TFLMGEN_CONV2D_MVE_CHUNK_BYTES,
                                                   p->output_pixel, p->output_zero_point,
                                                   (uint32_t)last,  !p->is_single};
    const struct tflmgen_conv2d_mve_four four = {p->stride_width * p->pixel, 0, 0, 0, table, p->chunks};
    struct tflmgen_conv2d_mve_cut cut = {0,
                                         p->stride_width * p->pixel,
                                         p->stride_width,
                                         {0, 0, p->height, p->width, p->padding_value, table, p->chunks}};
    for (int32_t batch = 0; batch < p->batches; ++batch, input += p->height * p->width * p->pixel) {
        for (int32_t y = 0; y < p->output_height; ++y) {
            int8_t *const line = output + batch * p->output_image + y * p->output_line;
            const int32_t in_y = y * p->stride_height - p->padding_top;
            const bool is_inside = in_y >= 0 && in_y + p->reach_height <= p->height;
            cut.bounds.y = in_y;
            for (int32_t x = 0; x < p->output_width; x += 4) {
                /* The last block of a line overlaps with the one before. */
                const int32_t begin = tflmgen_max_s32(tflmgen_min_s32(x, p->output_width - 4), 0);
                const int32_t in_x = begin * p->stride_width - p->padding_left;
                const int32_t at = (in_y * p->width + in_x) * p->pixel;
                if (is_inside && last == 3 && in_x >= 0 && in_x + 3 * p->stride_width + p->reach_width <= p->width) {
                    tflmgen_conv2d_mve_table_four(column, input + at, &four);
                } else if (last == 3) {
                    cut.bounds.x = in_x;
                    cut.from = (uint32_t)(uintptr_t)input + (uint32_t)at;
                    tflmgen_conv2d_mve_table_cut(column, &cut);
                } else {
                    for (int32_t lane = 0; lane < 4; ++lane) {
                        cut.bounds.x = in_x + tflmgen_min_s32(lane, last) * p->stride_width;
                        const uint32_t first = (uint32_t)((in_y * p->width + cut.bounds.x) * p->pixel);
                        tflmgen_conv2d_mve_table_one(column + 16 * lane, (uint32_t)(uintptr_t)input + first,
                                                     &cut.bounds);
                    }
                }
                run_block(column, stream, line + begin * p->output_pixel, &block);
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
TFLMGEN_SHARED void tflmgen_conv2d_groups_mve_run(const int8_t *input, const int8_t *stream, int8_t *column,
                                                  int8_t *output, const struct tflmgen_conv2d_groups_mve_s8 *p,
                                                  tflmgen_conv2d_mve_block_function *run_short,
                                                  tflmgen_conv2d_mve_block_function *run_long)
{
    const int32_t channels = p->output_channels / p->groups;
    const int32_t line = p->output_width * p->output_channels;
    const struct tflmgen_conv2d_mve_part part = {p->batches,
                                                 p->input_height,
                                                 p->input_width,
                                                 p->input_channels,
                                                 p->stride_height,
                                                 p->stride_width,
                                                 (p->filter_height - 1) * p->dilation_height + 1,
                                                 (p->filter_width - 1) * p->dilation_width + 1,
                                                 p->padding_top,
                                                 p->padding_left,
                                                 p->padding_value,
                                                 p->chunks,
                                                 p->output_height,
                                                 p->output_width,
                                                 p->output_channels,
                                                 line,
                                                 p->output_height * line,
                                                 p->output_zero_point,
                                                 channels == 1};
    const int8_t *at = stream + TFLMGEN_CONV2D_MVE_TABLE_BYTES * p->chunks;
    for (int32_t group = 0; group < p->groups; ++group) {
        tflmgen_conv2d_mve_run_part(input + group * (p->input_channels / p->groups), stream, at, column,
                                    output + group * channels, &part, run_short, run_long);
        at += tflmgen_conv2d_mve_part_bytes(channels, p->chunks);
    }
    tflmgen_clamp_dsp_s8(output, p->batches * part.output_image, p->output_min, p->output_max);
}

/* Of the outputs that are `stride` apart, from the one at `phase` on: what reaches them is a window that moves by
 * one. */
struct tflmgen_transpose_conv_mve_phase {
    int32_t outputs;
    int32_t taps;
    int32_t padding;
};

TFLMGEN_HELPER struct tflmgen_transpose_conv_mve_phase
tflmgen_transpose_conv_mve_phase_of(int32_t phase, int32_t size, int32_t taps, int32_t stride, int32_t padding)
{
    const int32_t first = (phase + padding) % stride;
    struct tflmgen_transpose_conv_mve_phase of;
    of.outputs = (size - phase + stride - 1) / stride;
    of.taps = (taps - first + stride - 1) / stride;
    of.padding = of.taps - 1 - (phase + padding - first) / stride;
    return of;
}

/* Phase after phase, each with a table of its own before its stream. */
TFLMGEN_SHARED void tflmgen_transpose_conv_mve_run(const int8_t *input, const int8_t *stream, int8_t *column,
                                                   int8_t *output, const struct tflmgen_transpose_conv_mve_s8 *p,
                                                   tflmgen_conv2d_mve_block_function *run_short,
                                                   tflmgen_conv2d_mve_block_function *run_long)
{
    const int32_t channels = p->output_channels;
    const int32_t line = p->output_width * channels;
    for (int32_t y = 0; y < p->stride_height; ++y) {
        const struct tflmgen_transpose_conv_mve_phase down = tflmgen_transpose_conv_mve_phase_of(
            y, p->output_height, p->filter_height, p->stride_height, p->padding_top);
        for (int32_t x = 0; x < p->stride_width; ++x) {
            const struct tflmgen_transpose_conv_mve_phase across = tflmgen_transpose_conv_mve_phase_of(
                x, p->output_width, p->filter_width, p->stride_width, p->padding_left);
            const int32_t chunks = (down.taps * across.taps * p->input_channels + 15) / 16;
            const struct tflmgen_conv2d_mve_part part = {p->batches,
                                                         p->input_height,
                                                         p->input_width,
                                                         p->input_channels,
                                                         1,
                                                         1,
                                                         down.taps,
                                                         across.taps,
                                                         down.padding,
                                                         across.padding,
                                                         p->padding_value,
                                                         chunks,
                                                         down.outputs,
                                                         across.outputs,
                                                         p->stride_width * channels,
                                                         p->stride_height * line,
                                                         p->output_height * line,
                                                         p->output_zero_point,
                                                         channels == 1};
            const int8_t *const table = stream;
            stream += TFLMGEN_CONV2D_MVE_TABLE_BYTES * chunks;
            tflmgen_conv2d_mve_run_part(input, table, stream, column, output + y * line + x * channels, &part,
                                        run_short, run_long);
            stream += tflmgen_conv2d_mve_part_bytes(channels, chunks);
        }
    }
    tflmgen_clamp_dsp_s8(output, p->batches * p->output_height * line, p->output_min, p->output_max);
}

/* The column is on the stack, or in the arena; outputs are clamped at the zero point, or not. */
#define TFLMGEN_CONV2D_PARTS_MVE(name, params, run, rounding)                                                    \
    TFLMGEN_SHARED void name##_mve_##rounding##_stack_s8(const int8_t *input, const tflmgen_u32 *stream,         \
                                                         int8_t *output, const struct params *p)                 \
    {                                                                                                            \
        int8_t column[TFLMGEN_CONV2D_MVE_STACK_BYTES];                                                           \
        run(input, (const int8_t *)stream, column, output, p, tflmgen_conv2d_mve_short_##rounding,               \
            tflmgen_conv2d_mve_long_##rounding);                                                                 \
    }                                                                                                            \
                                                                                                                 \
    TFLMGEN_SHARED void name##_mve_##rounding##_s8(const int8_t *input, const tflmgen_u32 *stream, void *column, \
                                                   int8_t *output, const struct params *p)                       \
    {                                                                                                            \
        run(input, (const int8_t *)stream, column, output, p, tflmgen_conv2d_mve_short_##rounding,               \
            tflmgen_conv2d_mve_long_##rounding);                                                                 \
    }

TFLMGEN_CONV2D_PARTS_MVE(tflmgen_conv2d_groups, tflmgen_conv2d_groups_mve_s8, tflmgen_conv2d_groups_mve_run, clamped)
TFLMGEN_CONV2D_PARTS_MVE(tflmgen_conv2d_groups, tflmgen_conv2d_groups_mve_s8, tflmgen_conv2d_groups_mve_run, signed)
TFLMGEN_CONV2D_PARTS_MVE(tflmgen_transpose_conv, tflmgen_transpose_conv_mve_s8, tflmgen_transpose_conv_mve_run, clamped)
TFLMGEN_CONV2D_PARTS_MVE(tflmgen_transpose_conv, tflmgen_transpose_conv_mve_s8, tflmgen_transpose_conv_mve_run, signed)

#endif

#endif
