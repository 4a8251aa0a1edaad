/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* DEPTHWISE_CONV_2D of int16 activations by int8 weights, one filter per channel, for cores with the DSP extension and
 * layers whose sums provably fit 32 bits. Multipliers are those of conv2d_s16_dsp.h.
 *
 * Four channels at a time, of which the last four may overlap those before; fewer than four one by one. `filter` has
 * for each tap the weights of all groups in the order 0, 2, 1, 3, `bias` four of each group, and `multipliers` four of
 * each group and the bytes from its values to the next group's, 0 behind the last one.
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_CONV2D_S16_DSP_H
#define TFLMGEN_KERNELS_DEPTHWISE_CONV2D_S16_DSP_H

#include "dsp.h"
#include "window.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

#define TFLMGEN_DEPTHWISE_S16_DSP_CHANNELS 4 /* of a group */

struct tflmgen_depthwise_conv2d_s16_dsp {
    TFLMGEN_DILATED_CHANNEL_WINDOW_FIELDS
    int32_t output_min;
    int32_t output_max;
};

/* What one pixel's groups of four channels need, as the assembly reads it: where the next group is (moved on from group
 * to group), and the taps inside the input. Steps and skips, from the end of a line of taps to the next, are in
 * bytes. */
struct tflmgen_depthwise_s16_dsp_pixel {
    const tflmgen_s16 *x;
    const int8_t *weights;
    const tflmgen_s32 *bias;
    const tflmgen_s32 *multipliers;
    tflmgen_s16 *output;
    int32_t columns;
    int32_t x_step;
    int32_t weight_step;
    int32_t x_skip;
    int32_t weight_skip;
    int32_t lines;
    int32_t lines_left;
};

/* Four products per tap: 3 LDR + 2 ADD + 2 SXTB16 + 2 SMLABB + 2 SMLATT + 2 for the loop. Registers: r0 values, r1
 * weights, r4-r7 sums, r8 and r9 steps, lr columns left. */
TFLMGEN_SHARED void tflmgen_depthwise_s16_dsp_groups(struct tflmgen_depthwise_s16_dsp_pixel *pixel)
{
    register struct tflmgen_depthwise_s16_dsp_pixel *r2 __asm__("r2") = pixel;
    __asm__ volatile("push {r4-r11, lr}\n"
                     "1:\n\t"
                     "ldr r3, [r2, #8]\n\t"
                     "ldmia r3!, {r4-r7}\n\t"
                     "str r3, [r2, #8]\n\t"
                     "ldrd r0, r1, [r2]\n\t"
                     "ldrd r8, r9, [r2, #24]\n\t"
                     "ldr r12, [r2, #40]\n"
                     "2:\n\t"
                     "str r12, [r2, #44]\n\t"
                     "ldr lr, [r2, #20]\n"
                     "3:\n\t"
                     "ldr r3, [r0]\n\t"
                     "ldr r11, [r0, #4]\n\t"
                     "ldr r12, [r1]\n\t"
                     "add r0, r0, r8\n\t"
                     "add r1, r1, r9\n\t"
                     "sxtb16 r10, r12\n\t"
                     "smlabb r4, r3, r10, r4\n\t"
                     "smlatt r5, r3, r10, r5\n\t"
                     "sxtb16 r12, r12, ror #8\n\t"
                     "smlabb r6, r11, r12, r6\n\t"
                     "smlatt r7, r11, r12, r7\n\t"
                     "subs lr, lr, #1\n\t"
                     "bne 3b\n\t"
                     "ldrd r3, r11, [r2, #32]\n\t"
                     "ldr r12, [r2, #44]\n\t"
                     "add r0, r0, r3\n\t"
                     "add r1, r1, r11\n\t"
                     "subs r12, r12, #1\n\t"
                     "bne 2b\n\t"
                     "ldr r12, [r2, #12]\n\t"
                     "ldmia r12!, {r8-r11, lr}\n\t"
                     "str r12, [r2, #12]\n\t"
                     "smmulr r4, r4, r8\n\tsmmulr r5, r5, r9\n\tsmmulr r6, r6, r10\n\tsmmulr r7, r7, r11\n\t"
                     "ssat r4, #16, r4\n\tssat r5, #16, r5\n\tssat r6, #16, r6\n\tssat r7, #16, r7\n\t"
                     "pkhbt r4, r4, r5, lsl #16\n\t"
                     "pkhbt r6, r6, r7, lsl #16\n\t"
                     "ldr r12, [r2, #16]\n\t"
                     "str r4, [r12]\n\t"
                     "str r6, [r12, #4]\n\t"
                     "add r12, r12, lr\n\t"
                     "str r12, [r2, #16]\n\t"
                     "ldrd r0, r1, [r2]\n\t"
                     "add r0, r0, lr\n\t"
                     "add r1, r1, #4\n\t"
                     "strd r0, r1, [r2]\n\t"
                     "cmp lr, #0\n\t"
                     "bne 1b\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r2)
                     :
                     : "r0", "r1", "r3", "r12", "cc", "memory");
}

/* One output, of channel `i` of a group whose window and weights begin there. */
TFLMGEN_HELPER int16_t tflmgen_depthwise_s16_dsp_one(struct tflmgen_depthwise_s16_dsp_pixel *group, int32_t i)
{
    const int32_t place = (i & 1) * 2 + (i >> 1); /* of its weights */
    const tflmgen_s16 *x = group->x + i;
    const int8_t *weight = group->weights + place;
    int32_t sum = group->bias[i];
    for (int32_t line = 0; line < group->lines; ++line) {
        for (int32_t column = 0; column < group->columns; ++column) {
            sum += *x * *weight;
            x += group->x_step / 2;
            weight += group->weight_step;
        }
        x += group->x_skip / 2;
        weight += group->weight_skip;
    }
    return (int16_t)tflmgen_clamp_s32(tflmgen_smmulr(sum, group->multipliers[i]), INT16_MIN, INT16_MAX);
}

TFLMGEN_SHARED void tflmgen_depthwise_conv2d_s16_dsp(const tflmgen_s16 *input, const int8_t *restrict filter,
                                                     const tflmgen_s32 *restrict bias,
                                                     const tflmgen_s32 *restrict multipliers, tflmgen_s16 *output,
                                                     const struct tflmgen_depthwise_conv2d_s16_dsp *p)
{
    const int32_t channels = p->input_channels;
    const int32_t few = tflmgen_min_s32(channels, TFLMGEN_DEPTHWISE_S16_DSP_CHANNELS);
    const int32_t pitch = (channels + 3) / 4 * 4;
    const int32_t step = p->dilation_width * channels;
    const int32_t line = p->dilation_height * p->input_width * channels;
    const int32_t row = p->filter_width * pitch;
    tflmgen_s16 *next = output;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {
            const struct tflmgen_taps y = TFLMGEN_TAPS_OF_ROW(p, out_y);
            const int32_t first_y = y.origin + y.first * p->dilation_height;
            for (int32_t out_x = 0; out_x < p->output_width; ++out_x, next += channels) {
                const struct tflmgen_taps x = TFLMGEN_TAPS_OF_COLUMN(p, out_x);
                const int32_t first_x = x.origin + x.first * p->dilation_width;
                const int32_t columns = x.end - x.first;
                const int32_t lines = y.end - y.first;
                struct tflmgen_depthwise_s16_dsp_pixel pixel = {input + (first_y * p->input_width + first_x) * channels,
                                                                filter + y.first * row + x.first * pitch,
                                                                bias,
                                                                multipliers,
                                                                next,
                                                                columns,
                                                                2 * step,
                                                                pitch,
                                                                2 * (line - columns * step),
                                                                row - columns * pitch,
                                                                lines,
                                                                0};
                if (few == TFLMGEN_DEPTHWISE_S16_DSP_CHANNELS && columns > 0 && lines > 0) {
                    tflmgen_depthwise_s16_dsp_groups(&pixel);
                    continue;
                }
                for (int32_t channel = 0; channel < channels; channel += 4) {
                    const int32_t first = tflmgen_min_s32(channel, channels - few);
                    for (int32_t i = 0; i < few; ++i) {
                        next[first + i] = tflmgen_depthwise_s16_dsp_one(&pixel, i);
                    }
                    pixel.bias += TFLMGEN_DEPTHWISE_S16_DSP_CHANNELS;
                    pixel.multipliers += TFLMGEN_DEPTHWISE_S16_DSP_CHANNELS + 1;
                }
            }
        }
        input += p->input_height * p->input_width * channels;
    }
    tflmgen_clamp_dsp_s16(output, (int32_t)(next - output), p->output_min, p->output_max);
}

#endif

#endif
