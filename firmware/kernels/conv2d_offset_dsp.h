/* CONV_2D in int8 for cores with the DSP extension, with weights that are no shifted pairs: -128 after one below zero.
 *
 * Of offset pairs the weight of each even value is 128 more, from 0 to 255, and is widened without a sign. What that
 * adds to a sum is the same for all output channels: 128 times the even values of a window. Behind a column's steps
 * there are further ones that take it away: their words X are the values' sums S, their weights -2^15, of which nothing
 * remains for the words Y.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_OFFSET_DSP_H
#define TFLMGEN_KERNELS_CONV2D_OFFSET_DSP_H

#include "conv2d_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* Steps whose values' sums fit halves of words. */
#define TFLMGEN_CONV2D_OFFSET_DSP_STEPS 255

/* The sums of a lane's values 0 and 2 of each of `steps` steps: the upper byte of X + Y is such a value. */
TFLMGEN_HELPER uint32_t tflmgen_conv2d_offset_dsp_sums(const uint32_t *lane, int32_t steps)
{
    uint32_t sums = 0;
#pragma GCC unroll 4
    for (; steps > 0; --steps, lane += 6) {
        sums = tflmgen_add_odd_bytes(sums, tflmgen_add2(lane[0], lane[3]));
    }
    return sums;
}

/* Appends the steps to the columns of three lanes; how many. */
TFLMGEN_SHARED int32_t tflmgen_conv2d_offset_dsp_append(uint32_t *column, int32_t steps)
{
    uint32_t *at = column + 6 * steps;
    int32_t more = 0;
    for (int32_t step = 0; step < steps; step += TFLMGEN_CONV2D_OFFSET_DSP_STEPS, at += 6, ++more) {
        const int32_t count = tflmgen_min_s32(TFLMGEN_CONV2D_OFFSET_DSP_STEPS, steps - step);
        for (int32_t lane = 0; lane < 3; ++lane) {
            at[lane] = tflmgen_conv2d_offset_dsp_sums(column + 6 * step + lane, count);
            at[lane + 3] = 0;
        }
    }
    return more;
}

/* Blocks as in conv2d_block_dsp.h, for columns and streams with the steps that follow. */
TFLMGEN_CONV2D_DSP_ANY_BLOCK(tflmgen_conv2d_offset_dsp_steps_clamped, "uxtb16", TFLMGEN_CONV2D_DSP_FINISH_clamped)
TFLMGEN_CONV2D_DSP_ANY_BLOCK(tflmgen_conv2d_offset_dsp_steps_signed, "uxtb16", TFLMGEN_CONV2D_DSP_FINISH_signed)

#define TFLMGEN_CONV2D_OFFSET_DSP_BLOCK(KIND)                                                                   \
    TFLMGEN_SHARED void tflmgen_conv2d_dsp_block_offset_##KIND(                                                 \
        uint32_t *column, const uint32_t *stream, int8_t *output, const struct tflmgen_conv2d_dsp_block *block) \
    {                                                                                                           \
        const int32_t steps = block->column / 24;                                                               \
        const int32_t more = tflmgen_conv2d_offset_dsp_append(column, steps);                                   \
        const struct tflmgen_conv2d_dsp_block all =                                                             \
            tflmgen_conv2d_dsp_block_of(steps + more, block->channels, TFLMGEN_CONV2D_DSP_STEPS, true);         \
        tflmgen_conv2d_offset_dsp_steps_##KIND(column, stream, output, &all);                                   \
    }

TFLMGEN_CONV2D_OFFSET_DSP_BLOCK(clamped)
TFLMGEN_CONV2D_OFFSET_DSP_BLOCK(signed)

/* One pixel, as tflmgen_conv2d_dsp_pixel. */
TFLMGEN_SHARED void tflmgen_conv2d_offset_dsp_pixel(const uint32_t *lane, const uint32_t *stream, int8_t *output,
                                                    int32_t steps, int32_t channels, int32_t sign_fix, int32_t shift)
{
    const int8_t *const end = output + channels;
    (void)shift;
    int32_t evens = 0;
    int32_t more = 0;
    for (int32_t step = 0; step < steps; step += TFLMGEN_CONV2D_OFFSET_DSP_STEPS, ++more) {
        const int32_t count = tflmgen_min_s32(TFLMGEN_CONV2D_OFFSET_DSP_STEPS, steps - step);
        evens = tflmgen_smlad(tflmgen_conv2d_offset_dsp_sums(lane + 6 * step, count), 0x00010001u, evens);
    }
    const uint32_t correction = (uint32_t)evens << 15;
    uint32_t control;
    do {
        const uint32_t *x = lane;
        int32_t sum0 = (int32_t)(stream[0] - correction);
        int32_t sum1 = (int32_t)(stream[1] - correction);
        stream += 2;
#pragma GCC unroll 4
        for (int32_t step = 0; step < steps; ++step, x += 6, stream += 2) {
            sum0 = tflmgen_smlad(stream[0], x[0], sum0);
            sum1 = tflmgen_smlad(stream[1], x[0], sum1);
            sum0 = tflmgen_smlad(stream[0] & 0x00FF00FFu, x[3], sum0);
            sum1 = tflmgen_smlad(stream[1] & 0x00FF00FFu, x[3], sum1);
        }
        stream += 2 * more;
        control = stream[4];
        const int32_t fix0 = tflmgen_sign_mask(sum0) * sign_fix;
        const int32_t fix1 = tflmgen_sign_mask(sum1) * sign_fix;
        const int32_t scaled0 = tflmgen_smmla(sum0, (int32_t)stream[0], (int32_t)stream[1]) + fix0;
        const int32_t scaled1 = tflmgen_smmla(sum1, (int32_t)stream[2], (int32_t)stream[3]) + fix1;
        output[0] = (int8_t)tflmgen_saturate_s8(scaled0 >> (control & 255u));
        output[1] = (int8_t)tflmgen_saturate_s8(scaled1 >> (control >> 8 & 255u));
        output += control >> 16;
        stream += 5;
    } while (control >> 16 && output != end);
}

TFLMGEN_SHARED void tflmgen_conv2d_offset_dsp_run(const int8_t *input, const uint32_t *stream, uint32_t *column,
                                                  int8_t *output, const struct tflmgen_conv2d_dsp_s8 *p,
                                                  const struct tflmgen_conv2d_dsp_kind *kind)
{
    tflmgen_conv2d_dsp_run_all(input, stream, column, output, p, kind, tflmgen_conv2d_offset_dsp_pixel);
}

TFLMGEN_CONV2D_DSP_ANY(offset_clamped, tflmgen_conv2d_offset_dsp_run, tflmgen_conv2d_dsp_block_offset_clamped, 0)
TFLMGEN_CONV2D_DSP_ANY(offset_signed, tflmgen_conv2d_offset_dsp_run, tflmgen_conv2d_dsp_block_offset_signed, 128)

#endif

#endif
