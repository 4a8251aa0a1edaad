/* CONV_2D in int8 for cores with the DSP extension: blocks of three pixels times all output channels, two at a time.
 *
 * conv2d_gather_dsp.h gathers the windows, conv2d_block_dsp.h has what is computed from them.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_DSP_H
#define TFLMGEN_KERNELS_CONV2D_DSP_H

#include "conv2d_block_dsp.h"
#include "conv2d_gather_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* What computes outputs, see conv2d_block_dsp.h. */
struct tflmgen_conv2d_dsp_kind {
    tflmgen_conv2d_dsp_block_function *block;
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

/* column: 6 * steps words, and steps more where a tap's channels are not whole words. */
TFLMGEN_SHARED void tflmgen_conv2d_dsp_run(const int8_t *input, const tflmgen_u32 *stream, tflmgen_u32 *column,
                                           int8_t *output, const struct tflmgen_conv2d_dsp_s8 *p,
                                           const struct tflmgen_conv2d_dsp_kind *kind)
{
    const int32_t channels = p->input_channels;
    const int32_t steps = p->steps;
    const struct tflmgen_conv2d_dsp_block block = tflmgen_conv2d_dsp_block_of(steps, p->output_channels, kind->compact);
    const int32_t all = p->batches * p->output_height * p->output_width;
    const int32_t pixel = p->stride_width * channels;
    const int32_t line = p->dilation_height * p->input_width * channels;
    const int32_t whole_words = p->row_pitch & ~3;
    const struct tflmgen_conv2d_dsp_rows rows = {whole_words, p->filter_height, line - whole_words};
    /* Where three windows side by side lie inside the input. */
    const int32_t y_end = p->input_height - (p->filter_height - 1) * p->dilation_height;
    const int32_t x_end = p->dilation_width > 1 ? 0 : p->input_width - p->filter_width + 1 - 2 * p->stride_width;
    const int8_t *const last =
        input + p->batches * p->input_height * p->input_width * channels - (p->filter_height - 1) * line - p->row_pitch;
    int8_t *const bytes = (int8_t *)(column + 6 * steps);
    struct tflmgen_conv2d_dsp_cursor next = {input, 0, 0};
    int8_t *at = output;
    int32_t left = all;
    for (; left >= TFLMGEN_CONV2D_DSP_PIXELS; left -= TFLMGEN_CONV2D_DSP_PIXELS) {
        if (p->backward) {
            next.out_x = left - TFLMGEN_CONV2D_DSP_PIXELS;
            at = output + next.out_x * p->output_channels;
        }
        const int32_t y = next.out_y * p->stride_height - p->padding_top;
        const int32_t x = next.out_x * p->stride_width - p->padding_left;
        const int8_t *from = next.image + (y * p->input_width + x) * channels;
        if (next.out_x + TFLMGEN_CONV2D_DSP_PIXELS <= p->output_width && y >= 0 && y < y_end && x >= 0 && x < x_end &&
            from <= last - 2 * pixel) {
            tflmgen_conv2d_dsp_gather3(column, from, pixel, &rows, p);
            next.out_x += TFLMGEN_CONV2D_DSP_PIXELS;
        } else {
            tflmgen_conv2d_dsp_gather_next(column, bytes, last, &next, p);
            tflmgen_conv2d_dsp_gather_next(column + 1, bytes, last, &next, p);
            tflmgen_conv2d_dsp_gather_next(column + 2, bytes, last, &next, p);
        }
        kind->block(column, stream, at, &block);
        at += TFLMGEN_CONV2D_DSP_PIXELS * p->output_channels;
    }
    if (p->backward) {
        next.out_x = 0;
        at = output;
    }
    if (left == 2 && all > 2) {
        /* Two pixels alone take longer than three, one of which is the last block's. */
        const int32_t lane = p->backward ? 0 : 1;
        tflmgen_conv2d_dsp_move_lane(column, 2 * lane, 2 - 2 * lane, steps);
        tflmgen_conv2d_dsp_gather_next(column + lane, bytes, last, &next, p);
        tflmgen_conv2d_dsp_gather_next(column + lane + 1, bytes, last, &next, p);
        kind->block(column, stream, at - lane * p->output_channels, &block);
        left = 0;
    }
    for (int32_t lane = 0; lane < left; ++lane) {
        tflmgen_conv2d_dsp_gather_next(column + lane, bytes, last, &next, p);
    }
    for (int32_t lane = 0; lane < left; ++lane, at += p->output_channels) {
        tflmgen_conv2d_dsp_pixel(column + lane, stream, at, steps, p->output_channels, kind->sign_fix, kind->uniform);
    }
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
#define TFLMGEN_CONV2D_DSP(name, BLOCK, SIGN_FIX, UNIFORM, COMPACT)                                              \
    TFLMGEN_SHARED void name(const int8_t *input, const tflmgen_u32 *stream, void *column, int8_t *output,       \
                             const struct tflmgen_conv2d_dsp_s8 *p)                                              \
    {                                                                                                            \
        static const struct tflmgen_conv2d_dsp_kind kind = {tflmgen_conv2d_dsp_block_##BLOCK, SIGN_FIX, UNIFORM, \
                                                            COMPACT};                                            \
        if (column) {                                                                                            \
            tflmgen_conv2d_dsp_run(input, stream, (tflmgen_u32 *)column, output, p, &kind);                      \
        } else {                                                                                                 \
            tflmgen_conv2d_dsp_run_on_stack(input, stream, output, p, &kind);                                    \
        }                                                                                                        \
    }

/* Any outputs; those clamped at the zero point (relu), with a shift for each channel or one for all (uniform). Windows
 * of an even number of fours, or of an odd one. Compact: of any number, in the least code. Those that are not called
 * are not compiled. */
TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp_s8, signed_even, 128, false, false)
TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp_odd_s8, signed_odd, 128, false, false)
TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp_relu_s8, clamped_even, 0, false, false)
TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp_relu_odd_s8, clamped_odd, 0, false, false)
TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp_relu_uniform_s8, uniform_even, 0, true, false)
TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp_relu_uniform_odd_s8, uniform_odd, 0, true, false)
TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp_compact_s8, compact_signed, 128, false, true)
TFLMGEN_CONV2D_DSP(tflmgen_conv2d_dsp_compact_relu_s8, compact_clamped, 0, false, true)

#endif

#endif
