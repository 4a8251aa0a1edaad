/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D in int8 for cores with the DSP extension: the loop over blocks of three output pixels, each times all output
 * channels.
 *
 * conv2d_gather_dsp.h and conv2d_fill_dsp.h bring the windows of a block into the im2col buffer, conv2d_block_dsp.h
 * multiplies it by the weights and has the layout of both. Blocks, in the order of output pixels, are
 *   whole  the windows lie side by side within the input: the assembly fills the buffer and computes several in a call;
 *   edge   of one output row, whose windows have rows above or below the input, and kernels `_edges`: these rows are
 *          left out of the products, which biases of their own contain;
 *   other  each window is gathered by itself, padding included;
 * and then comes the tail, one or two pixels. Behind the records of conv2d_block_dsp.h, the stream of kernels `_edges`
 * has two biases of each pair of channels for 1, 2, ... rows left out above, and then for 1, 2, ... below.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_DSP_H
#define TFLMGEN_KERNELS_CONV2D_DSP_H

#include "conv2d_block_dsp.h"
#include "conv2d_gather_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

struct tflmgen_conv2d_dsp_variant;

typedef void tflmgen_conv2d_dsp_edge_block_function(struct tflmgen_conv2d_dsp_blocks *blocks, const tflmgen_u32 *stream,
                                                    int8_t *output, int32_t out_y,
                                                    const struct tflmgen_conv2d_dsp_s8 *p,
                                                    const struct tflmgen_conv2d_dsp_variant *variant);

/* The functions of conv2d_block_dsp.h that a kernel uses. run_edge_block and edge_blocks, which it calls, are NULL
 * where no rows are left out. sign_fix: what a negative sum's requantised value loses (dsp.h). */
struct tflmgen_conv2d_dsp_variant {
    tflmgen_conv2d_dsp_block_function *blocks;
    tflmgen_conv2d_dsp_edge_block_function *run_edge_block;
    tflmgen_conv2d_dsp_block_function *edge_blocks;
    int32_t sign_fix;
    bool uniform;
    bool compact;
};

/* Copies one lane of the im2col buffer to another one. */
TFLMGEN_HELPER void tflmgen_conv2d_dsp_move_lane(tflmgen_u32 *im2col, int32_t from, int32_t to, int32_t steps)
{
    for (; steps > 0; --steps, im2col += 6) {
        im2col[to] = im2col[from];
        im2col[to + 3] = im2col[from + 3];
    }
}

/* The input's value at which the next window begins; outside of the input where the window does. */
TFLMGEN_HELPER const int8_t *tflmgen_conv2d_dsp_window_of(const struct tflmgen_conv2d_dsp_cursor *next,
                                                          const struct tflmgen_conv2d_dsp_s8 *p)
{
    const int32_t y = next->out_y * p->stride_height - p->padding_top;
    const int32_t x = next->out_x * p->stride_width - p->padding_left;
    return next->image + (y * p->input_width + x) * p->input_channels;
}

/* What all blocks of a layer have in common. */
TFLMGEN_HELPER struct tflmgen_conv2d_dsp_blocks
tflmgen_conv2d_dsp_blocks_of_layer(tflmgen_u32 *im2col, const struct tflmgen_conv2d_dsp_s8 *p,
                                   const struct tflmgen_conv2d_dsp_variant *variant)
{
    struct tflmgen_conv2d_dsp_blocks blocks = tflmgen_conv2d_dsp_blocks_of(
        p->steps, p->output_channels, variant->compact ? TFLMGEN_CONV2D_DSP_STEPS : TFLMGEN_CONV2D_DSP_STEP_PAIRS,
        variant->compact ? 1 : 2);
    const int32_t step = p->backward ? -TFLMGEN_CONV2D_DSP_PIXELS : TFLMGEN_CONV2D_DSP_PIXELS;
    const int32_t bytes = p->row_pitch & ~3;
    /* A control word's last step is 0. */
    blocks.output_step = (step - 1) * p->output_channels + (variant->uniform ? 0 : 2);
    blocks.pixel = p->stride_width * p->input_channels;
    blocks.pixels = 2 * blocks.pixel;
    blocks.input_step = step * blocks.pixel;
    blocks.im2col = im2col;
    blocks.words.bytes = bytes;
    blocks.words.count = p->filter_height;
    blocks.words.gap = p->dilation_height * p->input_width * p->input_channels - bytes;
    return blocks;
}

/* Number of whole blocks from `next` on, `left` pixels being left. from: the first window. last: where the last window
 * may begin whose words all lie in the input. pixel: bytes from window to window. */
TFLMGEN_HELPER int32_t tflmgen_conv2d_dsp_count_whole(const struct tflmgen_conv2d_dsp_cursor *next, const int8_t *from,
                                                      const int8_t *last, int32_t left, int32_t pixel,
                                                      const struct tflmgen_conv2d_dsp_s8 *p)
{
    if (p->backward) {
        return from + 2 * pixel > last ? 0 : left / TFLMGEN_CONV2D_DSP_PIXELS;
    }
    const int32_t y = next->out_y * p->stride_height - p->padding_top;
    const int32_t x = next->out_x * p->stride_width - p->padding_left;
    const int32_t y_end = p->input_height - (p->filter_height - 1) * p->dilation_height;
    const int32_t right = p->input_width - p->filter_width - x;
    if (y < 0 || y >= y_end || x < 0 || right < 0 || p->dilation_width > 1) {
        return 0;
    }
    const int32_t windows = tflmgen_min_s32(right / p->stride_width + 1, p->output_width - next->out_x);
    const int32_t block_count = tflmgen_min_s32(left, windows) / TFLMGEN_CONV2D_DSP_PIXELS;
    return from + (TFLMGEN_CONV2D_DSP_PIXELS * block_count - 1) * pixel > last ? block_count - 1 : block_count;
}

/* Computes `block_count` blocks from `output` on. */
TFLMGEN_HELPER void tflmgen_conv2d_dsp_run_blocks(struct tflmgen_conv2d_dsp_blocks *blocks, const tflmgen_u32 *stream,
                                                  int8_t *output, int32_t block_count,
                                                  tflmgen_conv2d_dsp_fill_function *fill,
                                                  const struct tflmgen_conv2d_dsp_variant *variant)
{
    blocks->count = block_count;
    blocks->fill = fill;
    variant->blocks(blocks->im2col, stream, output, blocks);
}

/* One block of output row `out_y`, whose im2col buffer is filled. Where the windows reach out of the input above or
 * below, not both, the rows outside are left out. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_run_edge_block(struct tflmgen_conv2d_dsp_blocks *blocks,
                                                      const tflmgen_u32 *stream, int8_t *output, int32_t out_y,
                                                      const struct tflmgen_conv2d_dsp_s8 *p,
                                                      const struct tflmgen_conv2d_dsp_variant *variant)
{
    const struct tflmgen_taps rows = TFLMGEN_TAPS_OF_ROW(p, out_y);
    const int32_t below = p->filter_height - rows.end;
    if ((rows.first == 0) == (below == 0) || rows.first == rows.end) {
        tflmgen_conv2d_dsp_run_blocks(blocks, stream, output, 1, tflmgen_conv2d_dsp_fill_nothing, variant);
        return;
    }
    const int32_t max_above = (p->padding_top + p->dilation_height - 1) / p->dilation_height;
    const int32_t bias_set = rows.first ? rows.first - 1 : max_above + below - 1;
    const int32_t pair_words = 2 * p->steps + (variant->uniform ? 6 : 7);
    const int32_t steps = p->row_pitch / 4;
    struct tflmgen_conv2d_dsp_edge edge;
    edge.blocks = tflmgen_conv2d_dsp_blocks_of(steps * (rows.end - rows.first), p->output_channels,
                                               TFLMGEN_CONV2D_DSP_EDGE_STEPS, 1);
    edge.biases = stream + (p->output_channels + 1) / 2 * (pair_words + 2 * bias_set);
    edge.above = 8 + 8 * steps * rows.first;
    edge.below = 8 * steps * below;
    variant->edge_blocks(blocks->im2col + 6 * steps * rows.first, stream, output, &edge.blocks);
}

/* Computes `block_count` whole blocks from first_window on. tail_bytes: of a window's row
 * beside whole words, which C gathers before each block. */
TFLMGEN_HELPER void tflmgen_conv2d_dsp_whole_blocks(struct tflmgen_conv2d_dsp_blocks *blocks, const tflmgen_u32 *stream,
                                                    int8_t *output, int32_t block_count, const int8_t *first_window,
                                                    int32_t tail_bytes, tflmgen_conv2d_dsp_fill_function *fill,
                                                    const struct tflmgen_conv2d_dsp_variant *variant)
{
    const int32_t output_step = blocks->output_step + blocks->channels - (variant->uniform ? 0 : 2);
    const int32_t blocks_per_call = tail_bytes ? 1 : block_count;
    for (; block_count > 0; block_count -= blocks_per_call, first_window += blocks->input_step, output += output_step) {
        if (tail_bytes) {
            tflmgen_conv2d_dsp_gather_row_tails3(blocks->im2col, first_window, blocks->pixel, &blocks->words,
                                                 tail_bytes);
        }
        blocks->input = first_window - blocks->input_step;
        tflmgen_conv2d_dsp_run_blocks(blocks, stream, output, blocks_per_call,
                                      blocks->words.bytes ? fill : tflmgen_conv2d_dsp_fill_nothing, variant);
    }
}

/* The tail: the last `remaining` pixels. Two of them by themselves take longer than a block, so that they are computed
 * together with the neighbouring pixel of the last block, whose lane stays in the im2col buffer. is_alone: there was no
 * block. */
TFLMGEN_HELPER void tflmgen_conv2d_dsp_run_tail(const tflmgen_u32 *stream, int8_t *output, int32_t remaining,
                                                bool is_alone, struct tflmgen_conv2d_dsp_cursor *cursor,
                                                const int8_t *last, struct tflmgen_conv2d_dsp_blocks *blocks,
                                                const struct tflmgen_conv2d_dsp_s8 *p,
                                                const struct tflmgen_conv2d_dsp_variant *variant)
{
    tflmgen_u32 *const im2col = blocks->im2col;
    if (remaining == 2 && !is_alone) {
        const int32_t lane = p->backward ? 0 : 1;
        tflmgen_conv2d_dsp_move_lane(im2col, 2 * lane, 2 - 2 * lane, p->steps);
        tflmgen_conv2d_dsp_gather_lanes(im2col, lane, lane + 2, last, cursor, p);
        tflmgen_conv2d_dsp_run_blocks(blocks, stream, output - lane * p->output_channels, 1,
                                      tflmgen_conv2d_dsp_fill_nothing, variant);
        return;
    }
    tflmgen_conv2d_dsp_gather_lanes(im2col, 0, remaining, last, cursor, p);
    for (int32_t lane = 0; lane < remaining; ++lane, output += p->output_channels) {
        tflmgen_conv2d_dsp_pixel(im2col + lane, stream, output, p->steps, p->output_channels, variant->sign_fix,
                                 variant->uniform);
    }
}

/* im2col: room for 6 * steps words, and for `steps` more where a pixel's channels are not whole words. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_run(const int8_t *input, const tflmgen_u32 *stream, tflmgen_u32 *im2col,
                                           int8_t *output, const struct tflmgen_conv2d_dsp_s8 *p,
                                           const struct tflmgen_conv2d_dsp_variant *variant)
{
    const int32_t pixel_count = p->batches * p->output_height * p->output_width;
    const int32_t row = p->input_width * p->input_channels;
    const int8_t *const last =
        input + (p->batches * p->input_height - (p->filter_height - 1) * p->dilation_height) * row - p->row_pitch;
    struct tflmgen_conv2d_dsp_blocks blocks = tflmgen_conv2d_dsp_blocks_of_layer(im2col, p, variant);
    tflmgen_conv2d_dsp_fill_function *const fill =
        tflmgen_conv2d_dsp_select_fill(p->filter_width, p->stride_width, p->input_channels);
    struct tflmgen_conv2d_dsp_cursor cursor = {input, 0, 0};
    int8_t *block_output = output;
    int32_t remaining = pixel_count;
    for (int32_t block_count; remaining >= TFLMGEN_CONV2D_DSP_PIXELS;
         remaining -= TFLMGEN_CONV2D_DSP_PIXELS * block_count) {
        if (p->backward) {
            cursor.out_x = remaining - TFLMGEN_CONV2D_DSP_PIXELS;
            block_output = output + cursor.out_x * p->output_channels;
        } else {
            tflmgen_conv2d_dsp_begin_line(&cursor, p);
        }
        const int8_t *const first_window = tflmgen_conv2d_dsp_window_of(&cursor, p);
        block_count = tflmgen_conv2d_dsp_count_whole(&cursor, first_window, last, remaining, blocks.pixel, p);
        if (block_count > 0) {
            tflmgen_conv2d_dsp_whole_blocks(&blocks, stream, block_output, block_count, first_window, p->row_pitch & 3,
                                            fill, variant);
            cursor.out_x += TFLMGEN_CONV2D_DSP_PIXELS * block_count;
        } else {
            block_count = 1;
            tflmgen_conv2d_dsp_gather_lanes(im2col, 0, TFLMGEN_CONV2D_DSP_PIXELS, last, &cursor, p);
            if (variant->run_edge_block && cursor.out_x >= TFLMGEN_CONV2D_DSP_PIXELS) {
                variant->run_edge_block(&blocks, stream, block_output, cursor.out_y, p, variant);
            } else {
                tflmgen_conv2d_dsp_run_blocks(&blocks, stream, block_output, 1, tflmgen_conv2d_dsp_fill_nothing,
                                              variant);
            }
        }
        block_output += TFLMGEN_CONV2D_DSP_PIXELS * block_count * p->output_channels;
    }
    if (p->backward) {
        cursor.out_x = 0;
        block_output = output;
    }
    tflmgen_conv2d_dsp_run_tail(stream, block_output, remaining, pixel_count == remaining, &cursor, last, &blocks, p,
                                variant);
    tflmgen_clamp_dsp_s8(output, pixel_count * p->output_channels, p->output_min, p->output_max);
}

TFLMGEN_SHARED void tflmgen_conv2d_dsp_run_on_stack(const int8_t *input, const tflmgen_u32 *stream, int8_t *output,
                                                    const struct tflmgen_conv2d_dsp_s8 *p,
                                                    const struct tflmgen_conv2d_dsp_variant *variant)
{
    uint32_t im2col[TFLMGEN_CONV2D_DSP_STACK_WORDS];
    tflmgen_conv2d_dsp_run(input, stream, im2col, output, p, variant);
}

/* im2col: scratch, or NULL where TFLMGEN_CONV2D_DSP_STACK_WORDS are enough. */
#define TFLMGEN_CONV2D_DSP(name, BLOCKS, RUN_EDGE_BLOCK, EDGE_BLOCKS, SIGN_FIX, UNIFORM, COMPACT)          \
    TFLMGEN_SHARED void name(const int8_t *input, const tflmgen_u32 *stream, void *im2col, int8_t *output, \
                             const struct tflmgen_conv2d_dsp_s8 *p)                                        \
    {                                                                                                      \
        static const struct tflmgen_conv2d_dsp_variant variant = {BLOCKS,   RUN_EDGE_BLOCK, EDGE_BLOCKS,   \
                                                                  SIGN_FIX, UNIFORM,        COMPACT};      \
        if (im2col) {                                                                                      \
            tflmgen_conv2d_dsp_run(input, stream, (tflmgen_u32 *)im2col, output, p, &variant);             \
        } else {                                                                                           \
            tflmgen_conv2d_dsp_run_on_stack(input, stream, output, p, &variant);                           \
        }                                                                                                  \
    }

/* Windows of an even number of steps, or of an odd one; edges: without the rows above and below the input. */
#define TFLMGEN_CONV2D_DSP_COUNTED(suffix, BLOCK, SIGN_FIX, UNIFORM)                                                   \
    TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp##suffix##_s8, tflmgen_conv2d_dsp_block_##BLOCK##_even, NULL, NULL, SIGN_FIX, \
                       UNIFORM, false)                                                                                 \
    TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp##suffix##_odd_s8, tflmgen_conv2d_dsp_block_##BLOCK##_odd, NULL, NULL,        \
                       SIGN_FIX, UNIFORM, false)                                                                       \
    TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp##suffix##_edges_s8, tflmgen_conv2d_dsp_block_##BLOCK##_even,                 \
                       tflmgen_conv2d_dsp_run_edge_block, tflmgen_conv2d_dsp_block_##BLOCK##_edge, SIGN_FIX, UNIFORM,  \
                       false)                                                                                          \
    TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp##suffix##_odd_edges_s8, tflmgen_conv2d_dsp_block_##BLOCK##_odd,              \
                       tflmgen_conv2d_dsp_run_edge_block, tflmgen_conv2d_dsp_block_##BLOCK##_edge, SIGN_FIX, UNIFORM,  \
                       false)

/* Any outputs; those clamped at the zero point (relu), with a shift for each channel or one for all (uniform). Compact:
 * windows of any number of steps, in the least code. Functions that are not called are not compiled. */
TFLMGEN_CONV2D_DSP_COUNTED(, signed, 128, false)
TFLMGEN_CONV2D_DSP_COUNTED(_relu, clamped, 0, false)
TFLMGEN_CONV2D_DSP_COUNTED(_relu_uniform, uniform, 0, true)
TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp_compact_s8, tflmgen_conv2d_dsp_block_compact_signed, NULL, NULL, 128, false, true)
TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp_compact_relu_s8, tflmgen_conv2d_dsp_block_compact_clamped, NULL, NULL, 0, false,
                   true)

#endif

#endif
