/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* DEPTHWISE_CONV_2D in int8 as in depthwise_window_dsp.h for windows of nine taps, and one shift for all channels,
 * which clamps outputs at the zero point.
 *
 * The stream of weights, for each group of four channels c0..c3, all of them times 256. Of channels that are no whole
 * groups the last one begins so early that it has four, some of them again:
 *     four biases | (c0 t, c0 u) (c1 t, c1 u) (c2 t, c2 u) (c3 t, c3 u) as halves, of four pairs of taps |
 *     (c0, c1) (c2, c3) of the last tap | m0 m1 m2 m3 | addend0 addend1 addend2 addend3
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_NINE_DSP_H
#define TFLMGEN_KERNELS_DEPTHWISE_NINE_DSP_H

#include "depthwise_window_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* Four outputs, 36 MACs: 1 for the taps' addresses, 1 LDM for the biases, 4 * 15 for pairs of taps and 9 for the
 * last one, 2 LDM + 2 * 4 to requantise, 1 LDRD + 3 + 1 to store, 4 to go on: 90 instructions. */
/* clang-format off */
#define TFLMGEN_DEPTHWISE_NINE_DSP_GROUP(NEXT)                                                                   \
    "ldr r0, [sp, #8]\n\t"                                                                                       \
    "ldmia.w r2!, {r3, r4, r5, r6}\n\t"                                                                          \
    TFLMGEN_DEPTHWISE_WINDOW_DSP_PAIR TFLMGEN_DEPTHWISE_WINDOW_DSP_PAIR                                          \
    TFLMGEN_DEPTHWISE_WINDOW_DSP_PAIR TFLMGEN_DEPTHWISE_WINDOW_DSP_PAIR                                          \
    "ldr r7, [r0]\n\t"                                                                                           \
    "ldr r7, [r7, r1]\n\t"                                                                                       \
    "ldrd r11, r12, [r2], #8\n\t"                                                                                \
    "sxtb16 r8, r7\n\t"                                                                                          \
    "sxtb16 r9, r7, ror #8\n\t"                                                                                  \
    "smlabb r3, r8, r11, r3\n\t"                                                                                 \
    "smlabt r4, r9, r11, r4\n\t"                                                                                 \
    "smlatb r5, r8, r12, r5\n\t"                                                                                 \
    "smlatt r6, r9, r12, r6\n\t"                                                                                 \
    "ldmia.w r2!, {r7, r8, r9, r10}\n\t"                                                                         \
    "ldmia.w r2!, {r0, r11, r12, lr}\n\t"                                                                        \
    "smmla r3, r3, r7, r0\n\tsmmla r4, r4, r8, r11\n\tsmmla r5, r5, r9, r12\n\tsmmla r6, r6, r10, lr\n\t"        \
    TFLMGEN_DSP_SATURATE("r3") TFLMGEN_DSP_SATURATE("r4") TFLMGEN_DSP_SATURATE("r5") TFLMGEN_DSP_SATURATE("r6")  \
    "ldrd r7, r8, [sp]\n\t"                                                                                      \
    "bfi r3, r4, #8, #8\n\t"                                                                                     \
    "bfi r5, r6, #8, #8\n\t"                                                                                     \
    "pkhbt r3, r3, r5, lsl #16\n\t"                                                                              \
    "str r3, [r7], #4\n\t" NEXT

/* On to the next group of a pixel. */
#define TFLMGEN_DEPTHWISE_NINE_DSP_WHOLE \
    "str r7, [sp]\n\t"                   \
    "adds r1, r1, #4\n\t"                \
    "cmp r1, r8\n\t"                     \
    "bne.w 1b\n\t"

/* The same, where the last group may overlap the one before: 6 instructions more, or 7 in front of it. */
#define TFLMGEN_DEPTHWISE_NINE_DSP_ODD \
    "adds r1, r1, #4\n\t"              \
    "subs r9, r8, r1\n\t"              \
    "beq 3f\n\t"                       \
    "cmp r9, #4\n\t"                   \
    "bge 2f\n\t"                       \
    "add r7, r7, r9\n\t"               \
    "sub r7, r7, #4\n\t"               \
    "sub r1, r8, #4\n"                 \
    "2:\n\t"                           \
    "str r7, [sp]\n\t"                 \
    "b.w 1b\n"                         \
    "3:\n\t"                           \
    "str r7, [sp]\n\t"
/* clang-format on */

/* All channels of pixels of one line. Registers: r0 taps, r1 from the first pixel's taps on, r2 stream, r3-r6 sums,
 * r7-r10 inputs, r11-r12 weights. Stack: output, r1 behind the pixel's last group, taps, stream, pixels, from there
 * to the next pixel, channels. A pixel costs 10 instructions beside its groups. */
/* clang-format off */
#define TFLMGEN_DEPTHWISE_NINE_DSP_LINE(name, NEXT) \
    TFLMGEN_SHARED void name(const int8_t *const *taps, const tflmgen_u32 *stream, \
                                                        int8_t *output, \
                                                        const struct tflmgen_depthwise_window_dsp_line *line) \
    { \
        TFLMGEN_IN_REGISTERS_4(taps, stream, output, line); \
        __asm__ volatile("push {r4-r11, lr}\n\t" \
                         "ldmia.w r3, {r4, r5, r6, r7, r8}\n\t" \
                         "add r3, r6, #4\n\t" \
                         "mov r4, r0\n\t" \
                         "mov r5, r1\n\t" \
                         "mov r6, r7\n\t" \
                         "sub r7, r8, #4\n\t" \
                         "mov r8, r3\n\t" \
                         "push {r2, r3, r4, r5, r6, r7, r8}\n\t" \
                         "mov r2, r1\n\t" \
                         "mov r1, #0\n" \
                         "1:\n\t" TFLMGEN_DEPTHWISE_NINE_DSP_GROUP(NEXT) \
                         "ldrd r9, r10, [sp, #16]\n\t" \
                         "ldr r8, [sp, #24]\n\t" \
                         "ldr r2, [sp, #12]\n\t" \
                         "add r1, r1, r10\n\t" \
                         "add r8, r8, r1\n\t" \
                         "str r8, [sp, #4]\n\t" \
                         "subs r9, r9, #1\n\t" \
                         "str r9, [sp, #16]\n\t" \
                         "bne.w 1b\n\t" \
                         "add sp, sp, #28\n\t" \
                         "pop {r4-r11, lr}" \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3) \
                         : \
                         : "r12", "cc", "memory"); \
    }

TFLMGEN_DEPTHWISE_NINE_DSP_LINE(tflmgen_depthwise_nine_dsp_line, TFLMGEN_DEPTHWISE_NINE_DSP_WHOLE)
TFLMGEN_DEPTHWISE_NINE_DSP_LINE(tflmgen_depthwise_nine_dsp_odd_line, TFLMGEN_DEPTHWISE_NINE_DSP_ODD)
/* clang-format on */

TFLMGEN_SHARED void tflmgen_depthwise_nine_dsp_s8(const int8_t *input, const tflmgen_u32 *stream, void *scratch,
                                                  int8_t *output, const struct tflmgen_depthwise_window_dsp_s8 *p)
{
    tflmgen_depthwise_window_dsp_run(input, stream, scratch, output, p, tflmgen_depthwise_nine_dsp_line);
}

TFLMGEN_SHARED void tflmgen_depthwise_nine_dsp_odd_s8(const int8_t *input, const tflmgen_u32 *stream, void *scratch,
                                                      int8_t *output, const struct tflmgen_depthwise_window_dsp_s8 *p)
{
    tflmgen_depthwise_window_dsp_run(input, stream, scratch, output, p, tflmgen_depthwise_nine_dsp_odd_line);
}

#endif

#endif
