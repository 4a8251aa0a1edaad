/* CONV_2D in int8 for cores with the DSP extension: blocks of three pixels times all output channels, two at a time.
 *
 * conv2d_gather_dsp.h gathers the windows, conv2d_block_dsp.h has what is computed from them.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_DSP_H
#define TFLMGEN_KERNELS_CONV2D_DSP_H

#include "conv2d_block_dsp.h"
#include "conv2d_gather_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

struct tflmgen_conv2d_dsp_kind;

typedef void tflmgen_conv2d_dsp_in_line(struct tflmgen_conv2d_dsp_run *run, const tflmgen_u32 *stream, int8_t *output,
                                        int32_t out_y, const struct tflmgen_conv2d_dsp_s8 *p,
                                        const struct tflmgen_conv2d_dsp_kind *kind);

/* What computes outputs, see conv2d_block_dsp.h. in_line: of one line, by `edge` without rows of windows that lie
 * outside; both are NULL where none are left out. */
struct tflmgen_conv2d_dsp_kind {
    tflmgen_conv2d_dsp_blocks *blocks;
    tflmgen_conv2d_dsp_in_line *in_line;
    tflmgen_conv2d_dsp_blocks *edge;
    int32_t sign_fix;
    bool uniform;
    bool compact;
};

/* A lane of a column becomes another one. */
TFLMGEN_HELPER void tflmgen_conv2d_dsp_move_lane(tflmgen_u32 *column, int32_t from, int32_t to, int32_t steps)
{
    for (; steps > 0; --steps, column += 6) {
        column[to] = column[from];
        column[to + 3] = column[from + 3];
    }
}

/* Where the next window begins. */
TFLMGEN_HELPER const int8_t *tflmgen_conv2d_dsp_window_of(const struct tflmgen_conv2d_dsp_cursor *next,
                                                          const struct tflmgen_conv2d_dsp_s8 *p)
{
    const int32_t y = next->out_y * p->stride_height - p->padding_top;
    const int32_t x = next->out_x * p->stride_width - p->padding_left;
    return next->image + (y * p->input_width + x) * p->input_channels;
}

/* What all blocks of a layer have in common. */
TFLMGEN_HELPER struct tflmgen_conv2d_dsp_run tflmgen_conv2d_dsp_run_in(tflmgen_u32 *column,
                                                                       const struct tflmgen_conv2d_dsp_s8 *p,
                                                                       const struct tflmgen_conv2d_dsp_kind *kind)
{
    struct tflmgen_conv2d_dsp_run run = tflmgen_conv2d_dsp_run_of(
        p->steps, p->output_channels, kind->compact ? TFLMGEN_CONV2D_DSP_STEPS : TFLMGEN_CONV2D_DSP_UNROLLED,
        kind->compact ? 1 : 2);
    const int32_t step = p->backward ? -TFLMGEN_CONV2D_DSP_PIXELS : TFLMGEN_CONV2D_DSP_PIXELS;
    const int32_t bytes = p->row_pitch & ~3;
    /* A control word's last step is 0. */
    run.output_step = (step - 1) * p->output_channels + (kind->uniform ? 0 : 2);
    run.pixel = p->stride_width * p->input_channels;
    run.pixels = 2 * run.pixel;
    run.input_step = step * run.pixel;
    run.column = column;
    run.words.bytes = bytes;
    run.words.count = p->filter_height;
    run.words.gap = p->dilation_height * p->input_width * p->input_channels - bytes;
    return run;
}

/* How many blocks from `next` on, one after the other, have windows that lie side by side within the input, `left`
 * pixels being left. from: the first window. */
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
    const int32_t blocks = tflmgen_min_s32(left, windows) / TFLMGEN_CONV2D_DSP_PIXELS;
    return from + (TFLMGEN_CONV2D_DSP_PIXELS * blocks - 1) * pixel > last ? blocks - 1 : blocks;
}

/* `blocks` blocks from `output` on. */
TFLMGEN_HELPER void tflmgen_conv2d_dsp_run_blocks(struct tflmgen_conv2d_dsp_run *run, const tflmgen_u32 *stream,
                                                  int8_t *output, int32_t blocks, tflmgen_conv2d_dsp_filling *filling,
                                                  const struct tflmgen_conv2d_dsp_kind *kind)
{
    run->blocks = blocks;
    run->filling = filling;
    kind->blocks(run->column, stream, output, run);
}

/* One block of line `out_y`, whose column is filled. Where the line's windows reach out of the input above or below,
 * not both, the rows outside are left out: the stream is followed by the pairs' biases with one row above, two, and so
 * on, then with one row below. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_run_in_line(struct tflmgen_conv2d_dsp_run *run, const tflmgen_u32 *stream,
                                                   int8_t *output, int32_t out_y, const struct tflmgen_conv2d_dsp_s8 *p,
                                                   const struct tflmgen_conv2d_dsp_kind *kind)
{
    const struct tflmgen_taps rows = TFLMGEN_TAPS_OF_ROW(p, out_y);
    const int32_t below = p->filter_height - rows.end;
    if ((rows.first == 0) == (below == 0) || rows.first == rows.end) {
        tflmgen_conv2d_dsp_run_blocks(run, stream, output, 1, tflmgen_conv2d_dsp_filled, kind);
        return;
    }
    const int32_t max_above = (p->padding_top + p->dilation_height - 1) / p->dilation_height;
    const int32_t place = rows.first ? rows.first - 1 : max_above + below - 1;
    const int32_t pair_words = 2 * p->steps + (kind->uniform ? 6 : 7);
    const int32_t steps = p->row_pitch / 4;
    struct tflmgen_conv2d_dsp_edge edge = {tflmgen_conv2d_dsp_run_of(steps * (rows.end - rows.first),
                                                                     p->output_channels, TFLMGEN_CONV2D_DSP_EDGE_STEPS,
                                                                     1),
                                           stream + (p->output_channels + 1) / 2 * (pair_words + 2 * place),
                                           8 + 8 * steps * rows.first, 8 * steps * below};
    kind->edge(run->column + 6 * steps * rows.first, stream, output, &edge.run);
}

/* `blocks` blocks whose windows lie within the input, the first of them at `from`. */
TFLMGEN_HELPER void tflmgen_conv2d_dsp_whole_blocks(struct tflmgen_conv2d_dsp_run *run, const tflmgen_u32 *stream,
                                                    int8_t *output, int32_t blocks, const int8_t *from, int32_t rest,
                                                    tflmgen_conv2d_dsp_filling *filling,
                                                    const struct tflmgen_conv2d_dsp_kind *kind)
{
    const int32_t output_step = run->output_step + run->channels - (kind->uniform ? 0 : 2);
    const int32_t together = rest ? 1 : blocks;
    for (; blocks > 0; blocks -= together, from += run->input_step, output += output_step) {
        if (rest) {
            tflmgen_conv2d_dsp_gather_rest3(run->column, from, run->pixel, &run->words, rest);
        }
        run->input = from - run->input_step;
        tflmgen_conv2d_dsp_run_blocks(run, stream, output, together,
                                      run->words.bytes ? filling : tflmgen_conv2d_dsp_filled, kind);
    }
}

/* The last `left` pixels, of which no block is left. Two of them take longer than a block, one of whose pixels is the
 * last block's, of whose column the lane stays. */
TFLMGEN_HELPER void tflmgen_conv2d_dsp_run_rest(const tflmgen_u32 *stream, int8_t *output, int32_t left, bool is_alone,
                                                struct tflmgen_conv2d_dsp_cursor *next, const int8_t *last,
                                                struct tflmgen_conv2d_dsp_run *run,
                                                const struct tflmgen_conv2d_dsp_s8 *p,
                                                const struct tflmgen_conv2d_dsp_kind *kind)
{
    tflmgen_u32 *const column = run->column;
    if (left == 2 && !is_alone) {
        const int32_t lane = p->backward ? 0 : 1;
        tflmgen_conv2d_dsp_move_lane(column, 2 * lane, 2 - 2 * lane, p->steps);
        tflmgen_conv2d_dsp_gather_lanes(column, lane, lane + 2, last, next, p);
        tflmgen_conv2d_dsp_run_blocks(run, stream, output - lane * p->output_channels, 1, tflmgen_conv2d_dsp_filled,
                                      kind);
        return;
    }
    tflmgen_conv2d_dsp_gather_lanes(column, 0, left, last, next, p);
    for (int32_t lane = 0; lane < left; ++lane, output += p->output_channels) {
        tflmgen_conv2d_dsp_pixel(column + lane, stream, output, p->steps, p->output_channels, kind->sign_fix,
                                 kind->uniform);
    }
}

/* column: 6 * steps words, and steps more where a tap's channels are not whole words. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_run(const int8_t *input, const tflmgen_u32 *stream, tflmgen_u32 *column,
                                           int8_t *output, const struct tflmgen_conv2d_dsp_s8 *p,
                                           const struct tflmgen_conv2d_dsp_kind *kind)
{
    const int32_t all = p->batches * p->output_height * p->output_width;
    const int32_t row = p->input_width * p->input_channels;
    const int8_t *const last =
        input + (p->batches * p->input_height - (p->filter_height - 1) * p->dilation_height) * row - p->row_pitch;
    struct tflmgen_conv2d_dsp_run run = tflmgen_conv2d_dsp_run_in(column, p, kind);
    tflmgen_conv2d_dsp_filling *const filling =
        tflmgen_conv2d_dsp_filling_of(p->filter_width, p->stride_width, p->input_channels);
    struct tflmgen_conv2d_dsp_cursor next = {input, 0, 0};
    int8_t *at = output;
    int32_t left = all;
    for (int32_t blocks; left >= TFLMGEN_CONV2D_DSP_PIXELS; left -= TFLMGEN_CONV2D_DSP_PIXELS * blocks) {
        if (p->backward) {
            next.out_x = left - TFLMGEN_CONV2D_DSP_PIXELS;
            at = output + next.out_x * p->output_channels;
        }
        const int8_t *const from = tflmgen_conv2d_dsp_window_of(&next, p);
        blocks = tflmgen_conv2d_dsp_count_whole(&next, from, last, left, run.pixel, p);
        if (blocks > 0) {
            tflmgen_conv2d_dsp_whole_blocks(&run, stream, at, blocks, from, p->row_pitch & 3, filling, kind);
            next.out_x += TFLMGEN_CONV2D_DSP_PIXELS * blocks;
        } else {
            blocks = 1;
            tflmgen_conv2d_dsp_gather_lanes(column, 0, TFLMGEN_CONV2D_DSP_PIXELS, last, &next, p);
            if (kind->in_line && next.out_x >= TFLMGEN_CONV2D_DSP_PIXELS) {
                kind->in_line(&run, stream, at, next.out_y, p, kind);
            } else {
                tflmgen_conv2d_dsp_run_blocks(&run, stream, at, 1, tflmgen_conv2d_dsp_filled, kind);
            }
        }
        at += TFLMGEN_CONV2D_DSP_PIXELS * blocks * p->output_channels;
    }
    if (p->backward) {
        next.out_x = 0;
        at = output;
    }
    tflmgen_conv2d_dsp_run_rest(stream, at, left, all == left, &next, last, &run, p, kind);
    tflmgen_clamp_dsp_s8(output, all * p->output_channels, p->output_min, p->output_max);
}

TFLMGEN_SHARED void tflmgen_conv2d_dsp_run_on_stack(const int8_t *input, const tflmgen_u32 *stream, int8_t *output,
                                                    const struct tflmgen_conv2d_dsp_s8 *p,
                                                    const struct tflmgen_conv2d_dsp_kind *kind)
{
    uint32_t column[TFLMGEN_CONV2D_DSP_STACK_WORDS];
    tflmgen_conv2d_dsp_run(input, stream, column, output, p, kind);
}

/* column: scratch, or NULL where TFLMGEN_CONV2D_DSP_STACK_WORDS are enough. */
#define TFLMGEN_CONV2D_DSP(name, BLOCKS, IN_LINE, EDGE, SIGN_FIX, UNIFORM, COMPACT)                             \
    TFLMGEN_SHARED void name(const int8_t *input, const tflmgen_u32 *stream, void *column, int8_t *output,      \
                             const struct tflmgen_conv2d_dsp_s8 *p)                                             \
    {                                                                                                           \
        static const struct tflmgen_conv2d_dsp_kind kind = {BLOCKS, IN_LINE, EDGE, SIGN_FIX, UNIFORM, COMPACT}; \
        if (column) {                                                                                           \
            tflmgen_conv2d_dsp_run(input, stream, (tflmgen_u32 *)column, output, p, &kind);                     \
        } else {                                                                                                \
            tflmgen_conv2d_dsp_run_on_stack(input, stream, output, p, &kind);                                   \
        }                                                                                                       \
    }

/* Windows of an even number of fours, or of an odd one; edges: without the rows of padding above and below. */
#define TFLMGEN_CONV2D_DSP_COUNTED(kind, BLOCK, SIGN_FIX, UNIFORM)                                                   \
    TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp##kind##_s8, tflmgen_conv2d_dsp_block_##BLOCK##_even, NULL, NULL, SIGN_FIX, \
                       UNIFORM, false)                                                                               \
    TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp##kind##_odd_s8, tflmgen_conv2d_dsp_block_##BLOCK##_odd, NULL, NULL,        \
                       SIGN_FIX, UNIFORM, false)                                                                     \
    TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp##kind##_edges_s8, tflmgen_conv2d_dsp_block_##BLOCK##_even,                 \
                       tflmgen_conv2d_dsp_run_in_line, tflmgen_conv2d_dsp_block_##BLOCK##_edge, SIGN_FIX, UNIFORM,   \
                       false)                                                                                        \
    TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp##kind##_odd_edges_s8, tflmgen_conv2d_dsp_block_##BLOCK##_odd,              \
                       tflmgen_conv2d_dsp_run_in_line, tflmgen_conv2d_dsp_block_##BLOCK##_edge, SIGN_FIX, UNIFORM,   \
                       false)

/* Any outputs; those clamped at the zero point (relu), with a shift for each channel or one for all (uniform). Compact:
 * windows of any number of fours, in the least code. Those that are not called are not compiled. */
TFLMGEN_CONV2D_DSP_COUNTED(, signed, 128, false)
TFLMGEN_CONV2D_DSP_COUNTED(_relu, clamped, 0, false)
TFLMGEN_CONV2D_DSP_COUNTED(_relu_uniform, uniform, 0, true)
TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp_compact_s8, tflmgen_conv2d_dsp_block_compact_signed, NULL, NULL, 128, false, true)
TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp_compact_relu_s8, tflmgen_conv2d_dsp_block_compact_clamped, NULL, NULL, 0, false,
                   true)

#endif

#endif
