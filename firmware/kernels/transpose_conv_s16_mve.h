/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* TRANSPOSE_CONV of int16 activations by int8 weights for cores with MVE, for layers whose sums provably fit 32 bits.
 *
 * Each phase of the outputs (conv2d_parts.h) is a convolution whose windows move by one pixel, one window times eight
 * output channels at a time (conv2d_s16_mve.h). The streams of weights of the phases follow each other, those of a row
 * of phases before the next row's. The results are those of transpose_conv.h.
 */
#ifndef TFLMGEN_KERNELS_TRANSPOSE_CONV_S16_MVE_H
#define TFLMGEN_KERNELS_TRANSPOSE_CONV_S16_MVE_H

#include "conv2d_parts.h"
#include "conv2d_s16_mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

struct tflmgen_transpose_conv_s16_mve {
    TFLMGEN_WINDOW_FIELDS
    int32_t output_min;
    int32_t output_max;
};

/* The outputs of a phase, the first of them at `output`. */
TFLMGEN_SHARED void tflmgen_transpose_conv_s16_mve_phase(const tflmgen_s16 *input, const tflmgen_u32 *stream,
                                                         tflmgen_s16 *row, tflmgen_s16 *output,
                                                         const struct tflmgen_conv2d_s16_mve *part,
                                                         const struct tflmgen_transpose_conv_s16_mve *p)
{
    const struct tflmgen_conv2d_s16_mve_groups groups =
        tflmgen_conv2d_s16_mve_groups_of(part->chunks, p->output_channels, p->output_min, p->output_max);
    int32_t pixel = 0;
    /* What fills up the last eight values is multiplied by zeros. */
    vst1q_s16(row + 8 * (part->chunks - 1), vdupq_n_s16(0));
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t y = 0; y < part->output_height; ++y) {
            const int32_t line = batch * p->output_height + y * p->stride_height;
            tflmgen_s16 *at = output + line * p->output_width * p->output_channels;
            for (int32_t x = 0; x < part->output_width; ++x, ++pixel, at += p->stride_width * p->output_channels) {
                tflmgen_conv2d_s16_mve_gather(row, input, pixel, part);
                tflmgen_conv2d_s16_mve_groups(row, stream, at, &groups);
            }
        }
    }
}

TFLMGEN_SHARED void tflmgen_transpose_conv_s16_mve_run(const tflmgen_s16 *input, const tflmgen_u32 *stream,
                                                       tflmgen_s16 *row, tflmgen_s16 *output,
                                                       const struct tflmgen_transpose_conv_s16_mve *p)
{
    const int32_t groups = (p->output_channels + 7) / 8;
    for (int32_t y = 0; y < p->stride_height; ++y) {
        const struct tflmgen_transpose_conv_phase down =
            tflmgen_transpose_conv_phase_of(y, p->output_height, p->filter_height, p->stride_height, p->padding_top);
        for (int32_t x = 0; x < p->stride_width; ++x) {
            const struct tflmgen_transpose_conv_phase across =
                tflmgen_transpose_conv_phase_of(x, p->output_width, p->filter_width, p->stride_width, p->padding_left);
            const int32_t chunks = (down.taps * across.taps * p->input_channels + 7) / 8;
            const struct tflmgen_conv2d_s16_mve part = {p->batches,
                                                        p->input_height,
                                                        p->input_width,
                                                        p->input_channels,
                                                        down.outputs,
                                                        across.outputs,
                                                        p->output_channels,
                                                        down.taps,
                                                        across.taps,
                                                        1,
                                                        1,
                                                        down.padding,
                                                        across.padding,
                                                        1,
                                                        1,
                                                        chunks,
                                                        false,
                                                        p->output_min,
                                                        p->output_max};
            tflmgen_transpose_conv_s16_mve_phase(input, stream, row,
                                                 output + (y * p->output_width + x) * p->output_channels, &part, p);
            stream += groups * (16 * chunks + 16);
        }
    }
}

TFLMGEN_SHARED void tflmgen_transpose_conv_s16_mve_on_stack(const tflmgen_s16 *input, const tflmgen_u32 *stream,
                                                            tflmgen_s16 *output,
                                                            const struct tflmgen_transpose_conv_s16_mve *p)
{
    int16_t row[TFLMGEN_CONV2D_S16_MVE_STACK_BYTES / 2];
    tflmgen_transpose_conv_s16_mve_run(input, stream, row, output, p);
}

/* row: scratch, or NULL where TFLMGEN_CONV2D_S16_MVE_STACK_BYTES are enough. */
TFLMGEN_SHARED void tflmgen_transpose_conv_s16_mve(const tflmgen_s16 *input, const tflmgen_u32 *stream, void *row,
                                                   tflmgen_s16 *output, const struct tflmgen_transpose_conv_s16_mve *p)
{
    if (row) {
        tflmgen_transpose_conv_s16_mve_run(input, stream, row, output, p);
    } else {
        tflmgen_transpose_conv_s16_mve_on_stack(input, stream, output, p);
    }
}

#endif

#endif
