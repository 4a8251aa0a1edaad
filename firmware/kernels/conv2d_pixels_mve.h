/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D in int8 with 1x1 windows that move by one pixel, for cores with MVE: all pixels are one line.
 *
 * Windows are read where the input has them, four at a time; conv2d_block_mve.h has what is computed from them, and the
 * stream of weights. Where the last 16 values of a window reach beyond the input, the window is copied. The results are
 * those of conv2d.h.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_PIXELS_MVE_H
#define TFLMGEN_KERNELS_CONV2D_PIXELS_MVE_H

#include "conv2d_block_mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

struct tflmgen_conv2d_pixels_mve_s8 {
    int32_t pixels;
    int32_t input_channels;
    int32_t output_channels;
    int32_t chunks; /* of 16 values in a pixel */
    int32_t output_zero_point;
    int32_t sign_fix; /* 1, or 0 where sums below zero are clamped anyway (mve.h) */
    bool backward;    /* blocks from the last to the first */
    int32_t output_min;
    int32_t output_max;
};

/* Copies pixels to the lanes of the im2col buffer; lanes behind the last pixel repeat it. */
TFLMGEN_HELPER void tflmgen_conv2d_pixels_mve_copy(int8_t *im2col, const int8_t *from, int32_t count, int32_t channels)
{
    for (int32_t lane = 0; lane < TFLMGEN_CONV2D_MVE_PIXELS; ++lane, im2col += 16) {
        int8_t *to = im2col;
        for (int32_t channel = 0; channel < channels; channel += 16, to += 64) {
            vstrbq_s8(to, vldrbq_z_s8(from + channel, vctp8q((uint32_t)(channels - channel))));
        }
        from += lane + 1 < count ? channels : 0;
    }
}

/* im2col: room for 64 * chunks bytes. */
TFLMGEN_SHARED void tflmgen_conv2d_pixels_mve_run(const int8_t *input, const int8_t *stream, int8_t *im2col,
                                                  int8_t *output, const struct tflmgen_conv2d_pixels_mve_s8 *p,
                                                  tflmgen_conv2d_mve_block_function *run_block, bool is_short)
{
    const int32_t channels = p->input_channels;
    const int32_t step = p->backward ? -TFLMGEN_CONV2D_MVE_PIXELS : TFLMGEN_CONV2D_MVE_PIXELS;
    /* Pixels from which on the input has as many values as the chunks. */
    const int32_t whole = p->pixels - (16 * p->chunks - 1) / channels;
    struct tflmgen_conv2d_mve_blocks blocks =
        tflmgen_conv2d_mve_blocks_of(im2col, stream, p->chunks, p->output_zero_point, is_short, p->sign_fix);
    int32_t remaining = p->pixels;
    blocks.advance[0] = step * channels;
    blocks.advance[1] = step * p->output_channels;
    blocks.advance[2] = -1;
    tflmgen_conv2d_mve_place(blocks.outputs, p->output_channels, TFLMGEN_CONV2D_MVE_PIXELS - 1,
                             p->output_channels == 1);
    while (remaining > 0) {
        const int32_t first =
            p->backward ? tflmgen_max_s32(remaining - TFLMGEN_CONV2D_MVE_PIXELS, 0) : p->pixels - remaining;
        const int32_t readable = p->backward ? (remaining <= whole ? remaining : 0) : whole - first;
        blocks.output = output + first * p->output_channels;
        if (readable >= TFLMGEN_CONV2D_MVE_PIXELS) {
            blocks.windows = input + first * channels;
            blocks.pixel_step = channels;
            blocks.copied = p->chunks - 1;
            blocks.count = readable / TFLMGEN_CONV2D_MVE_PIXELS;
            remaining -= TFLMGEN_CONV2D_MVE_PIXELS * blocks.count;
        } else {
            const int32_t count = tflmgen_min_s32(remaining, TFLMGEN_CONV2D_MVE_PIXELS);
            tflmgen_conv2d_pixels_mve_copy(im2col, input + first * channels, count, channels);
            tflmgen_conv2d_mve_place(blocks.outputs, p->output_channels, count - 1, p->output_channels == 1);
            blocks.windows = im2col;
            blocks.pixel_step = 16;
            blocks.copied = 0;
            blocks.count = 1;
            remaining -= count;
        }
        run_block(&blocks);
    }
    tflmgen_clamp_dsp_s8(output, p->pixels * p->output_channels, p->output_min, p->output_max);
}

TFLMGEN_SHARED void tflmgen_conv2d_pixels_mve_run_on_stack(const int8_t *input, const int8_t *stream, int8_t *output,
                                                           const struct tflmgen_conv2d_pixels_mve_s8 *p,
                                                           tflmgen_conv2d_mve_block_function *run_block, bool is_short)
{
    int8_t im2col[TFLMGEN_CONV2D_MVE_STACK_BYTES] __attribute__((aligned(4)));
    tflmgen_conv2d_pixels_mve_run(input, stream, im2col, output, p, run_block, is_short);
}

/* Short windows, those whose outputs are clamped at the zero point (relu), and any windows (long). */
TFLMGEN_CONV2D_MVE(tflmgen_conv2d_pixels_mve, s8, tflmgen_conv2d_mve_short_signed, true)
TFLMGEN_CONV2D_MVE(tflmgen_conv2d_pixels_mve, relu_s8, tflmgen_conv2d_mve_short_clamped, true)
TFLMGEN_CONV2D_MVE(tflmgen_conv2d_pixels_mve, long_s8, tflmgen_conv2d_mve_any, false)

#endif

#endif
