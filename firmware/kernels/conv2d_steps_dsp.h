/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* A pair of output channels in CONV_2D in int8 for cores with the DSP extension: pieces of assembly for the steps and
 * the outputs of three pixels, which the loops of conv2d_block_dsp.h and of conv2d_split_part_dsp.h are put together
 * from.
 *
 * A step is four values of a window. The im2col buffer has six words per step, X and Y (see dsp.h) of each of the
 * three windows; the words of one window are a lane:
 *
 *     step 0              step 1
 *     X0 X1 X2 Y0 Y1 Y2 | X0 X1 X2 Y0 Y1 Y2 | ...         lane n: words n and n + 3 of each step
 *
 * The stream has a record for each pair of output channels (0, 1), in the order of use:
 *
 *     bias0 bias1 | (4 weights of 0, 4 weights of 1) * steps | m0 addend0 m1 addend1 | s0 + 256 s1 + 65536 * advance
 *
 * `advance` is the number of channels to the next pair, 0 behind the last one. The last word is only there where
 * channels differ in their shifts, or their number is odd: the last pair then begins one channel earlier, and computes
 * a channel twice.
 *
 * Registers: r0 im2col buffer, r1 stream, r2 and r3 weights of channels 0 and 1, r4 to r6 and lr inputs, r7 to r9 sums
 * of channel 0 for pixels 0, 1 and 2, r10 to r12 those of channel 1.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_STEPS_DSP_H
#define TFLMGEN_KERNELS_CONV2D_STEPS_DSP_H

#include "dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* Bytes of code of a step, and of two. */
#define TFLMGEN_CONV2D_DSP_STEP_BYTES 68
#define TFLMGEN_CONV2D_DSP_STEP_PAIR_BYTES 132

#define TFLMGEN_CONV2D_DSP_REPEAT(number, code) ".rept " TFLMGEN_DSP_TEXT(number) "\n\t" code ".endr\n\t"

/* A step: four values of three pixels times two channels, 24 MACs, 1 LDRD + 2 LDM + 2 SXTB16 + 12 SMLAD = 17
 * instructions. */
/* clang-format off */
#define TFLMGEN_CONV2D_DSP_STEP           \
    "ldrd r2, r3, [r1], #8\n\t"           \
    "ldmia.w r0!, {r4, r5, r6}\n\t"       \
    "smlad r8, r2, r5, r8\n\t"            \
    "smlad r9, r2, r6, r9\n\t"            \
    "smlad r7, r2, r4, r7\n\t"            \
    "smlad r11, r3, r5, r11\n\t"          \
    "smlad r12, r3, r6, r12\n\t"          \
    "smlad r10, r3, r4, r10\n\t"          \
    "sxtb16 r2, r2\n\t"                   \
    "sxtb16 r3, r3\n\t"                   \
    "ldmia.w r0!, {r4, r5, r6}\n\t"       \
    "smlad r7, r2, r4, r7\n\t"            \
    "smlad r8, r2, r5, r8\n\t"            \
    "smlad r9, r2, r6, r9\n\t"            \
    "smlad r10, r3, r4, r10\n\t"          \
    "smlad r11, r3, r5, r11\n\t"          \
    "smlad r12, r3, r6, r12\n\t"
/* clang-format on */

/* Two steps, 48 MACs, all but the load of the first one's weights, which are in w0 and w1. The im2col buffer is read by
 * X0 X1 X2 Y0 | Y1 Y2 X0 X1 | X2 Y0 Y1 Y2. Sums of channel 0 are those of pixel0_0, start1_0 and start2_0, and go to
 * r7, r8 and r9; sums of channel 1 those of pixel0_1, start1_1 and start2_1, to r10, r11 and r12. */
#define TFLMGEN_CONV2D_DSP_STEP_PAIR_MACS(w0, w1, pixel0_0, pixel0_1, start1_0, start2_0, start1_1, start2_1) \
    "ldmia.w r0!, {r4, r5, r6, lr}\n\t"                                                                       \
    "smlad r8, " w0 ", r5, " start1_0 "\n\t"                                                                  \
    "smlad r9, " w0 ", r6, " start2_0 "\n\t"                                                                  \
    "smlad " pixel0_0 ", " w0 ", r4, " pixel0_0 "\n\t"                                                        \
    "smlad r11, " w1 ", r5, " start1_1 "\n\t"                                                                 \
    "smlad r12, " w1 ", r6, " start2_1 "\n\t"                                                                 \
    "smlad " pixel0_1 ", " w1 ", r4, " pixel0_1 "\n\t"                                                        \
    "sxtb16 " w0 ", " w0 "\n\t"                                                                               \
    "sxtb16 " w1 ", " w1 "\n\t"                                                                               \
    "smlad " pixel0_0 ", " w0 ", lr, " pixel0_0 "\n\t"                                                        \
    "smlad " pixel0_1 ", " w1 ", lr, " pixel0_1 "\n\t"                                                        \
    "ldmia.w r0!, {r4, r5, r6, lr}\n\t"                                                                       \
    "smlad r8, " w0 ", r4, r8\n\t"                                                                            \
    "smlad r9, " w0 ", r5, r9\n\t"                                                                            \
    "smlad r11, " w1 ", r4, r11\n\t"                                                                          \
    "smlad r12, " w1 ", r5, r12\n\t"                                                                          \
    "ldrd " w0 ", " w1 ", [r1], #8\n\t"                                                                       \
    "smlad " pixel0_0 ", " w0 ", r6, " pixel0_0 "\n\t"                                                        \
    "smlad r8, " w0 ", lr, r8\n\t"                                                                            \
    "smlad " pixel0_1 ", " w1 ", r6, " pixel0_1 "\n\t"                                                        \
    "smlad r11, " w1 ", lr, r11\n\t"                                                                          \
    "ldmia.w r0!, {r4, r5, r6, lr}\n\t"                                                                       \
    "smlad r9, " w0 ", r4, r9\n\t"                                                                            \
    "smlad r12, " w1 ", r4, r12\n\t"                                                                          \
    "sxtb16 " w0 ", " w0 "\n\t"                                                                               \
    "sxtb16 " w1 ", " w1 "\n\t"                                                                               \
    "smlad r8, " w0 ", r6, r8\n\t"                                                                            \
    "smlad r9, " w0 ", lr, r9\n\t"                                                                            \
    "smlad r7, " w0 ", r5, " pixel0_0 "\n\t"                                                                  \
    "smlad r11, " w1 ", r6, r11\n\t"                                                                          \
    "smlad r12, " w1 ", lr, r12\n\t"                                                                          \
    "smlad r10, " w1 ", r5, " pixel0_1 "\n\t"

/* Two steps: 2 LDRD + 3 LDM + 4 SXTB16 + 24 SMLAD = 33 instructions. */
/* clang-format off */
#define TFLMGEN_CONV2D_DSP_STEP_PAIR \
    "ldrd r2, r3, [r1], #8\n\t"      \
    TFLMGEN_CONV2D_DSP_STEP_PAIR_MACS("r2", "r3", "r7", "r10", "r8", "r9", "r11", "r12")

/* The first two steps of windows of an even number of steps, with the biases in front of their weights: 1 LDM for
 * both, 33 instructions. */
#define TFLMGEN_CONV2D_DSP_FIRST_even         \
    "ldmia.w r1!, {r2, r3, r7, r10}\n\t"      \
    TFLMGEN_CONV2D_DSP_STEP_PAIR_MACS("r7", "r10", "r2", "r3", "r2", "r2", "r3", "r3")

/* The first step, of weights r7 and r10, to sums that begin with r2 and r3: 16 instructions. */
#define TFLMGEN_CONV2D_DSP_FIRST_STEP_MACS \
    "ldmia.w r0!, {r4, r5, r6}\n\t"        \
    "smlad r8, r7, r5, r2\n\t"             \
    "smlad r9, r7, r6, r2\n\t"             \
    "smlad r2, r7, r4, r2\n\t"             \
    "smlad r11, r10, r5, r3\n\t"           \
    "smlad r12, r10, r6, r3\n\t"           \
    "smlad r3, r10, r4, r3\n\t"            \
    "sxtb16 r7, r7\n\t"                    \
    "sxtb16 r10, r10\n\t"                  \
    "ldmia.w r0!, {r4, r5, r6}\n\t"        \
    "smlad r8, r7, r5, r8\n\t"             \
    "smlad r9, r7, r6, r9\n\t"             \
    "smlad r7, r7, r4, r2\n\t"             \
    "smlad r11, r10, r5, r11\n\t"          \
    "smlad r12, r10, r6, r12\n\t"          \
    "smlad r10, r10, r4, r3\n\t"

/* The first step, of an odd number, with the biases in front of its weights: 1 + 2 LDM + 2 SXTB16 + 12 SMLAD = 17
 * instructions. */
#define TFLMGEN_CONV2D_DSP_FIRST_odd          \
    "ldmia.w r1!, {r2, r3, r7, r10}\n\t"      \
    TFLMGEN_CONV2D_DSP_FIRST_STEP_MACS

/* The same behind the weights of rows above the input, with biases of their own: 22 instructions. */
#define TFLMGEN_CONV2D_DSP_FIRST_edge         \
    "ldr lr, [sp, #28]\n\t"                   \
    "ldrd r4, r5, [lr, #44]\n\t"              \
    "ldrd r2, r3, [r4], #8\n\t"               \
    "str r4, [lr, #44]\n\t"                   \
    "add r1, r1, r5\n\t"                      \
    "ldrd r7, r10, [r1], #8\n\t"              \
    TFLMGEN_CONV2D_DSP_FIRST_STEP_MACS
/* clang-format on */

/* Behind a pair's steps: past its weights for rows below the input. */
#define TFLMGEN_CONV2D_DSP_SKIP_BELOW \
    "ldr r2, [sp, #28]\n\t"           \
    "ldr r2, [r2, #52]\n\t"           \
    "add r1, r1, r2\n\t"

/* The steps behind the first ones, in passes of UNROLLED times CODE, at 2. The first pass begins within it, from 4 on.
 * The condition is HI: CMP at the beginning sets C where there are several passes, and nothing from channel pair to
 * channel pair changes it; TEQ sets Z in the last one of several. */
/* clang-format off */
#define TFLMGEN_CONV2D_DSP_PASSES(UNROLLED, CODE) \
    "2:\n\t"                                      \
    "ldr lr, [sp, #20]\n\t"                       \
    "teq r0, lr\n"                                \
    "4:\n\t"                                      \
    TFLMGEN_CONV2D_DSP_REPEAT(UNROLLED, CODE)     \
    "bhi.w 2b\n\t"
/* clang-format on */

#define TFLMGEN_CONV2D_DSP_REQUANTIZE_CLAMPED(sum, m, addend) "smmla " sum ", " sum ", " m ", " addend "\n\t"
#define TFLMGEN_CONV2D_DSP_REQUANTIZE_SIGNED(sum, m, addend) \
    "asr lr, " sum ", #31\n\t"                               \
    "smmla " sum ", " sum ", " m ", " addend "\n\t"          \
    "add " sum ", " sum ", lr, lsl #7\n\t"

#define TFLMGEN_CONV2D_DSP_ROUND(sum) \
    "asr " sum ", " sum ", r6\n\t"    \
    "ssat " sum ", #8, " sum "\n\t"

/* Two channels of three pixels to r2, r2 + r4 and r2 + 2 * r4. */
#define TFLMGEN_CONV2D_DSP_STORE \
    "bfi r7, r10, #8, #8\n\t"    \
    "bfi r8, r11, #8, #8\n\t"    \
    "bfi r9, r12, #8, #8\n\t"    \
    "strh r8, [r2, r4]\n\t"      \
    "strh r9, [r2, r4, lsl #1]\n\t"

/* After the last step of a pair of channels, whose sums are r7 to r12: its outputs. On the stack: 0 the im2col buffer,
 * where r0 goes again, 4 the next output, 8 its channels, 12 its end. Z at the end: whether this was the last pair.
 * Each channel with its own shift: 32 instructions, 44 where signed. */
/* clang-format off */
#define TFLMGEN_CONV2D_DSP_FINISH(REQUANTIZE)                                                 \
    "ldmia.w r1!, {r2, r3, r4, r5, r6}\n\t"                                                   \
    REQUANTIZE("r7", "r2", "r3") REQUANTIZE("r8", "r2", "r3") REQUANTIZE("r9", "r2", "r3")    \
    REQUANTIZE("r10", "r4", "r5") REQUANTIZE("r11", "r4", "r5") REQUANTIZE("r12", "r4", "r5") \
    TFLMGEN_CONV2D_DSP_ROUND("r7") TFLMGEN_CONV2D_DSP_ROUND("r8")                             \
    TFLMGEN_CONV2D_DSP_ROUND("r9")                                                            \
    "lsr r6, r6, #8\n\t"                                                                      \
    TFLMGEN_CONV2D_DSP_ROUND("r10") TFLMGEN_CONV2D_DSP_ROUND("r11")                           \
    TFLMGEN_CONV2D_DSP_ROUND("r12")                                                           \
    "ldmia.w sp, {r0, r2, r4}\n\t" TFLMGEN_CONV2D_DSP_STORE                                   \
    "strh r7, [r2]\n\t"                                                                       \
    "lsr r6, r6, #8\n\t"                                                                      \
    "add r2, r2, r6\n\t"                                                                      \
    "str r2, [sp, #4]\n\t"                                                                    \
    "tst r6, r6\n\t"
/* clang-format on */
#define TFLMGEN_CONV2D_DSP_FINISH_clamped TFLMGEN_CONV2D_DSP_FINISH(TFLMGEN_CONV2D_DSP_REQUANTIZE_CLAMPED)
#define TFLMGEN_CONV2D_DSP_FINISH_signed TFLMGEN_CONV2D_DSP_FINISH(TFLMGEN_CONV2D_DSP_REQUANTIZE_SIGNED)

/* All channels with the shift TFLMGEN_DSP_SHIFT, which SSAT takes along: 22 instructions. */
/* clang-format off */
#define TFLMGEN_CONV2D_DSP_FINISH_uniform                                                                \
    "ldmia.w r1!, {r2, r3, r4, r5}\n\t"                                                                  \
    "smmla r7, r7, r2, r3\n\tsmmla r8, r8, r2, r3\n\tsmmla r9, r9, r2, r3\n\t"                           \
    "smmla r10, r10, r4, r5\n\tsmmla r11, r11, r4, r5\n\tsmmla r12, r12, r4, r5\n\t"                     \
    TFLMGEN_DSP_SATURATE("r7") TFLMGEN_DSP_SATURATE("r8")                                                \
    TFLMGEN_DSP_SATURATE("r9") TFLMGEN_DSP_SATURATE("r10")                                               \
    TFLMGEN_DSP_SATURATE("r11") TFLMGEN_DSP_SATURATE("r12")                                              \
    "ldmia.w sp, {r0, r2, r4, r5}\n\t" TFLMGEN_CONV2D_DSP_STORE                                          \
    "strh r7, [r2], #2\n\t"                                                                              \
    "str r2, [sp, #4]\n\t"                                                                               \
    "teq r2, r5\n\t"
/* clang-format on */

#endif

#endif
