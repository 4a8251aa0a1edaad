/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* The inner loops of conv2d_winograd_dsp.h: products of transformed inputs and weights, summed up over all input
 * channels.
 *
 * A quad is four input channels of one position of a tile, halves of two words: (0, 2) and (1, 3). Tiles and weights
 * are in the order of use, from the outermost dimension to the innermost one:
 *     quads of the two tiles:             16 positions | groups of four input channels | tile | 2 words
 *     stream, for each pair of channels:  16 positions | groups of four input channels | output channel | 2 words
 *                                         and behind them bias m addend s of either output channel
 */
#ifndef TFLMGEN_KERNELS_CONV2D_WINOGRAD_SUMS_DSP_H
#define TFLMGEN_KERNELS_CONV2D_WINOGRAD_SUMS_DSP_H

#include "dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

#define TFLMGEN_WINOGRAD_DSP_POSITIONS 16
#define TFLMGEN_WINOGRAD_DSP_TILES 2 /* at a time */

/* Steps of four input channels behind the first one, and bytes of code of each. */
#define TFLMGEN_WINOGRAD_DSP_UNROLLED 15
#define TFLMGEN_WINOGRAD_DSP_STEP_BYTES 40

/* What the sums of a channel pair need to know, in the order in which the assembly reads it. */
struct tflmgen_winograd_dsp_loop {
    int32_t skip; /* bytes of code that the first pass over the unrolled steps leaves out */
    int32_t passes;
};

/* For `steps` steps behind the first one, which may be none. */
TFLMGEN_HELPER struct tflmgen_winograd_dsp_loop tflmgen_winograd_dsp_loop_of(int32_t steps)
{
    const int32_t unrolled = TFLMGEN_WINOGRAD_DSP_UNROLLED;
    const int32_t passes = tflmgen_max_s32((steps + unrolled - 1) / unrolled, 1);
    const struct tflmgen_winograd_dsp_loop loop = {(unrolled * passes - steps) * TFLMGEN_WINOGRAD_DSP_STEP_BYTES,
                                                   passes};
    return loop;
}

/* sums[position][channel][tile] of a channel pair; where its weights end. */
typedef const tflmgen_u32 *tflmgen_winograd_dsp_sums_function(const tflmgen_u32 *tiles, const tflmgen_u32 *stream,
                                                              tflmgen_s32 *sums,
                                                              const struct tflmgen_winograd_dsp_loop *loop);

/* Four input channels of two tiles times two channels, 16 products: 2 LDM + 8 SMLAD = 10 instructions, 18 cycles. They
 * stand for 36 MACs of the sum itself. The first step of a position begins the sums. */
#define TFLMGEN_WINOGRAD_DSP_LOADS      \
    "ldmia.w r0!, {r2, r3, r4, r5}\n\t" \
    "ldmia.w r1!, {r6, r7, r8, r9}\n\t"
#define TFLMGEN_WINOGRAD_DSP_ODD_WORDS \
    "smlad r10, r3, r7, r10\n\t"       \
    "smlad r11, r5, r7, r11\n\t"       \
    "smlad r12, r3, r9, r12\n\t"       \
    "smlad lr, r5, r9, lr\n\t"
/* clang-format off */
#define TFLMGEN_WINOGRAD_DSP_FIRST \
    TFLMGEN_WINOGRAD_DSP_LOADS     \
    "smuad r10, r2, r6\n\t"        \
    "smuad r11, r4, r6\n\t"        \
    "smuad r12, r2, r8\n\t"        \
    "smuad lr, r4, r8\n\t"         \
    TFLMGEN_WINOGRAD_DSP_ODD_WORDS
#define TFLMGEN_WINOGRAD_DSP_STEP \
    TFLMGEN_WINOGRAD_DSP_LOADS    \
    "smlad r10, r2, r6, r10\n\t"  \
    "smlad r11, r4, r6, r11\n\t"  \
    "smlad r12, r2, r8, r12\n\t"  \
    "smlad lr, r4, r8, lr\n\t"    \
    TFLMGEN_WINOGRAD_DSP_ODD_WORDS
/* clang-format on */
#define TFLMGEN_WINOGRAD_DSP_STEPS(number) \
    ".rept " TFLMGEN_DSP_TEXT(number) "\n\t" TFLMGEN_WINOGRAD_DSP_STEP ".endr\n\t"

/* Any number of steps. Beside them, a position takes 7 instructions, 18 cycles. The carry flag says all the time
 * whether there are several passes. Stack: sums, their end, entry of the first pass, passes left, passes. */
TFLMGEN_SHARED const tflmgen_u32 *tflmgen_winograd_dsp_sums_any(const tflmgen_u32 *tiles, const tflmgen_u32 *stream,
                                                                tflmgen_s32 *sums,
                                                                const struct tflmgen_winograd_dsp_loop *loop)
{
    TFLMGEN_IN_REGISTERS_4(tiles, stream, sums, loop);
    /* clang-format off */
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldrd r5, r6, [r3]\n\t"
                     "adr r4, 2f\n\t"
                     "add r5, r5, r4\n\t"
                     "orr r5, r5, #1\n\t"
                     "mov r7, r6\n\t"
                     "add r4, r2, #256\n\t"
                     "push {r2, r4, r5, r6, r7}\n\t"
                     "cmp r7, #2\n"
                     "1:\n\t"
                     TFLMGEN_WINOGRAD_DSP_FIRST
                     "ldr pc, [sp, #8]\n\t"
                     ".p2align 2\n"
                     "2:\n\t"
                     TFLMGEN_WINOGRAD_DSP_STEPS(TFLMGEN_WINOGRAD_DSP_UNROLLED)
                     "bcs 4f\n"
                     "3:\n\t"
                     "ldrd r2, r3, [sp]\n\t"
                     "stmia.w r2!, {r10, r11, r12, lr}\n\t"
                     "str r2, [sp]\n\t"
                     "teq r2, r3\n\t"
                     "bne.w 1b\n\t"
                     "b 6f\n"
                     "4:\n\t"
                     "ldr r2, [sp, #12]\n\t"
                     "sub r2, r2, #1\n\t"
                     "str r2, [sp, #12]\n\t"
                     "cbz r2, 5f\n\t"
                     "b.w 2b\n"
                     "5:\n\t"
                     "ldr r2, [sp, #16]\n\t"
                     "str r2, [sp, #12]\n\t"
                     "b 3b\n"
                     "6:\n\t"
                     "add sp, sp, #20\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "r12", "cc", "memory");
    /* clang-format on */
    return r1;
}

/* Few steps, whose number is known here, `more` of them behind the first one, for four positions at a time. Beside
 * them, a position takes 3.75 instructions, 9.5 cycles. Stack: sums, their end. */
/* clang-format off */
#define TFLMGEN_WINOGRAD_DSP_SUMS(name, more)                                                                        \
    TFLMGEN_SHARED const tflmgen_u32 *name(const tflmgen_u32 *tiles, const tflmgen_u32 *stream, tflmgen_s32 *sums,   \
                                           const struct tflmgen_winograd_dsp_loop *loop)                             \
    {                                                                                                                \
        TFLMGEN_IN_REGISTERS_3(tiles, stream, sums);                                                                 \
        (void)loop;                                                                                                  \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                                                     \
                         "add r3, r2, #256\n\t"                                                                      \
                         "push {r2, r3}\n"                                                                           \
                         "1:\n\t"                                                                                    \
                         ".rept 4\n\t"                                                                               \
                         TFLMGEN_WINOGRAD_DSP_FIRST                                                                  \
                         TFLMGEN_WINOGRAD_DSP_STEPS(more)                                                            \
                         "ldr r2, [sp]\n\t"                                                                          \
                         "stmia.w r2!, {r10, r11, r12, lr}\n\t"                                                      \
                         "str r2, [sp]\n\t"                                                                          \
                         ".endr\n\t"                                                                                 \
                         "ldr r3, [sp, #4]\n\t"                                                                      \
                         "cmp r2, r3\n\t"                                                                            \
                         "bne.w 1b\n\t"                                                                              \
                         "add sp, sp, #8\n\t"                                                                        \
                         "pop {r4-r11, lr}"                                                                          \
                         : "+r"(r0), "+r"(r1), "+r"(r2)                                                              \
                         :                                                                                           \
                         : "r3", "r12", "cc", "memory");                                                             \
        return r1;                                                                                                   \
    }
/* clang-format on */
TFLMGEN_WINOGRAD_DSP_SUMS(tflmgen_winograd_dsp_sums_16, 3)
TFLMGEN_WINOGRAD_DSP_SUMS(tflmgen_winograd_dsp_sums_32, 7)

#endif

#endif
