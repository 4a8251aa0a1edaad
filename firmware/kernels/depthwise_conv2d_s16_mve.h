/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* DEPTHWISE_CONV_2D of int16 activations by int8 weights, one filter per channel, for cores with MVE and layers whose
 * sums provably fit 32 bits. Multipliers are those of conv2d_s16_mve.h.
 *
 * One pixel of eight channels at a time. The weights are a stream of groups of eight channels; channels that fill up
 * the last one are zeros:
 *
 *     biases of channels 0, 2, 4, 6 | of 1, 3, 5, 7 | multipliers in the same order | 8 weights of each tap
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_CONV2D_S16_MVE_H
#define TFLMGEN_KERNELS_DEPTHWISE_CONV2D_S16_MVE_H

#include "mve.h"
#include "window.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

#define TFLMGEN_DEPTHWISE_S16_MVE_CHANNELS 8 /* of a group */

struct tflmgen_depthwise_conv2d_s16_mve {
    TFLMGEN_DILATED_CHANNEL_WINDOW_FIELDS
    int32_t output_min;
    int32_t output_max;
};

/* What one pixel's groups need, as the assembly reads it. Steps and skips, from the end of a line of taps to the next,
 * are in bytes. */
struct tflmgen_depthwise_s16_mve_pixel {
    int32_t least;
    int32_t greatest;
    int32_t channels;
    int32_t lines;
    int32_t columns;
    int32_t x_step;
    int32_t x_skip;
    int32_t weight_skip;
    int32_t first; /* from the begin of a group to the weights of the first tap inside */
    int32_t group; /* from one group to the next */
};

#define TFLMGEN_DEPTHWISE_S16_MVE_FIRST 64 /* from the begin of a group to its weights */

/* Eight products per tap: VPST, VLDRH, VLDRB, ADD, VMULLB, VADD, VMULLT, VADD, LE; 6 for a line of taps, and 24 for a
 * group. Registers: r0 values, r1 weights, r2 output, r3 pixel, r4 channels left, r5 lines left, r6 columns, r7 step,
 * r8 and r9 skips, r10 the group's values, r11 the group, r12 lines; q4 and q5 sums, q6 and q7 limits. */
TFLMGEN_SHARED void tflmgen_depthwise_s16_mve_groups(const tflmgen_s16 *x, const int8_t *stream, tflmgen_s16 *output,
                                                     const struct tflmgen_depthwise_s16_mve_pixel *pixel)
{
    TFLMGEN_IN_REGISTERS_4(x, stream, output, pixel);
    /* clang-format off */
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "mov r10, r0\n\t"
                     "mov r11, r1\n\t"
                     "ldmia.w r3!, {r0, r1, r4, r5, r6, r7, r8, r9}\n\t"
                     "vdup.16 q6, r0\n\t"
                     "vdup.16 q7, r1\n\t"
                     "mov r12, r5\n"
                     "1:\n\t"
                     "mov r5, r12\n\t"
                     "mov r0, r10\n\t"
                     "ldr r1, [r3]\n\t"
                     "add r1, r1, r11\n\t"
                     "vldrw.u32 q4, [r11]\n\t"
                     "vldrw.u32 q5, [r11, #16]\n\t"
                     "vctp.16 r4\n"
                     "2:\n\t"
                     "wls lr, r6, 4f\n"
                     "3:\n\t"
                     "vpst\n\t"
                     "vldrht.u16 q0, [r0]\n\t"
                     "vldrb.s16 q1, [r1], #8\n\t"
                     "add r0, r0, r7\n\t"
                     "vmullb.s16 q2, q0, q1\n\t"
                     "vadd.i32 q4, q4, q2\n\t"
                     "vmullt.s16 q2, q0, q1\n\t"
                     "vadd.i32 q5, q5, q2\n\t"
                     "le lr, 3b\n"
                     "4:\n\t"
                     "add r0, r0, r8\n\t"
                     "add r1, r1, r9\n\t"
                     "subs r5, r5, #1\n\t"
                     "bne 2b\n\t"
                     "vldrw.u32 q0, [r11, #32]\n\t"
                     "vrmulh.s32 q4, q4, q0\n\t"
                     "vldrw.u32 q1, [r11, #48]\n\t"
                     "vrmulh.s32 q5, q5, q1\n\t"
                     "vqmovnb.s32 q4, q4\n\t"
                     "vqmovnt.s32 q4, q5\n\t"
                     "vmax.s16 q4, q4, q6\n\t"
                     "vmin.s16 q4, q4, q7\n\t"
                     "vpst\n\t"
                     "vstrht.16 q4, [r2], #16\n\t"
                     "ldr r1, [r3, #4]\n\t"
                     "add r11, r11, r1\n\t"
                     "add r10, r10, #16\n\t"
                     "subs r4, r4, #8\n\t"
                     "bgt 1b\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "r12", "q0", "q1", "q2", "q4", "q5", "q6", "q7", "cc", "memory");
    /* clang-format on */
}

TFLMGEN_SHARED void tflmgen_depthwise_conv2d_s16_mve(const tflmgen_s16 *input, const tflmgen_u32 *stream,
                                                     tflmgen_s16 *output,
                                                     const struct tflmgen_depthwise_conv2d_s16_mve *p)
{
    const int32_t channels = p->input_channels;
    const int32_t step = p->dilation_width * channels;
    const int32_t line = p->dilation_height * p->input_width * channels;
    const int32_t row = TFLMGEN_DEPTHWISE_S16_MVE_CHANNELS * p->filter_width;
    struct tflmgen_depthwise_s16_mve_pixel pixel = {p->output_min, p->output_max, channels, 0, 0, 2 * step, 0, 0, 0, 0};
    pixel.group = TFLMGEN_DEPTHWISE_S16_MVE_FIRST + row * p->filter_height;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {
            const struct tflmgen_taps y = TFLMGEN_TAPS_OF_ROW(p, out_y);
            const int32_t first_y = y.origin + y.first * p->dilation_height;
            pixel.lines = tflmgen_max_s32(y.end - y.first, 1);
            for (int32_t out_x = 0; out_x < p->output_width; ++out_x, output += channels) {
                const struct tflmgen_taps x = TFLMGEN_TAPS_OF_COLUMN(p, out_x);
                const int32_t first_x = x.origin + x.first * p->dilation_width;
                /* A window without taps inside is one line of no columns. */
                pixel.columns = y.end > y.first ? x.end - x.first : 0;
                pixel.x_skip = 2 * (line - pixel.columns * step);
                pixel.weight_skip = row - TFLMGEN_DEPTHWISE_S16_MVE_CHANNELS * pixel.columns;
                pixel.first =
                    TFLMGEN_DEPTHWISE_S16_MVE_FIRST + y.first * row + TFLMGEN_DEPTHWISE_S16_MVE_CHANNELS * x.first;
                tflmgen_depthwise_s16_mve_groups(input + (first_y * p->input_width + first_x) * channels,
                                                 (const int8_t *)stream, output, &pixel);
            }
        }
        input += p->input_height * p->input_width * channels;
    }
}

#endif

#endif
