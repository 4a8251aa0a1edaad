/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Rows of int8 weights times one row of int8 values, requantised to int16, for cores with the DSP extension: the
 * sums of SVDF and of LSTM. All rows have one multiplier, or those of each group of four the same four.
 *
 * The weights are groups of four rows (see dot_rows_dsp.h for the words):
 *     4 starts | (4 weights of each row) * steps
 * The last group is filled up with rows of zeros.
 */
#ifndef TFLMGEN_KERNELS_REQUANTIZED_ROWS_DSP_H
#define TFLMGEN_KERNELS_REQUANTIZED_ROWS_DSP_H

#include "dot_rows_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* A row, widened, in the order in which the assembly reads it. A scale is s, m, addend and
 * the sign fix (requantize.h), which is negative here: it is added to negative sums. */
struct tflmgen_requantized_rows_dsp {
    const tflmgen_s32 *scale;
    int32_t correction; /* of the sums of offset pairs */
    int32_t passes;     /* of the loop, which is unrolled 8 times */
    int32_t skip;       /* bytes of code that the first pass leaves out */
    const tflmgen_u32 *row;
};

/* A sum becomes an int16: SMMLA, AND and ADD for the sign fix, ASR, SSAT. */
#define TFLMGEN_REQUANTIZED_ROWS_DSP_ROUND(sum) \
    "smmla r10, " sum ", r6, r7\n\t"            \
    "and " sum ", r11, " sum ", asr #31\n\t"    \
    "add " sum ", " sum ", r10\n\t"             \
    "asr " sum ", " sum ", r0\n\t"              \
    "ssat " sum ", #16, " sum "\n\t"

/* One scale for all rows, and one for each of a group's four. */
#define TFLMGEN_REQUANTIZED_ROWS_DSP_KEEP_COMMON "ldmia.w r3, {r4, r5, r6, r7}\n\t"
#define TFLMGEN_REQUANTIZED_ROWS_DSP_FIRST_COMMON "ldmia.w sp, {r0, r6, r7, r11}\n\t"
#define TFLMGEN_REQUANTIZED_ROWS_DSP_NEXT_COMMON ""
#define TFLMGEN_REQUANTIZED_ROWS_DSP_KEEP_EACH "mov r4, r3\n\t"
#define TFLMGEN_REQUANTIZED_ROWS_DSP_FIRST_EACH "ldr r9, [sp]\n\t" TFLMGEN_REQUANTIZED_ROWS_DSP_NEXT_EACH
#define TFLMGEN_REQUANTIZED_ROWS_DSP_NEXT_EACH "ldmia.w r9!, {r0, r6, r7, r11}\n\t"

#define TFLMGEN_REQUANTIZED_ROWS_DSP_CORRECT_PAIRS ""
#define TFLMGEN_REQUANTIZED_ROWS_DSP_CORRECT_OFFSET TFLMGEN_DOT_ROWS_CORRECT("[sp, #16]")

/* Adds `groups` times four sums to `output`, saturated. SCALE: COMMON or EACH. Labels: 1 next group, 2 next pass.
 * Registers: r0 row, r1 stream, r2-r5 sums, r6-r9 weights, r10-r11 inputs, r12 output, lr passes; after the steps r0
 * s, r6 m, r7 addend, r11 sign fix. Stack: 0 the scale's four words, or at 0 the address of four scales, 16
 * correction, 20 passes, 24 entry of the first pass, 28 row, 32 end. A group costs 4 instructions before its steps (9
 * of offset pairs), and after them 30, or 34 with a scale for each. Returns the stream's end. */
/* clang-format off */
#define TFLMGEN_REQUANTIZED_ROWS_DSP(name, PAIRS, SCALE)                                                               \
    TFLMGEN_SHARED const tflmgen_u32 *name(const struct tflmgen_requantized_rows_dsp *rows, const tflmgen_u32 *stream, \
                                           tflmgen_s16 *output, int32_t groups)                                        \
    {                                                                                                                  \
        TFLMGEN_IN_REGISTERS_4(rows, stream, output, groups);                                                          \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                                                       \
                         "mov r12, r2\n\t"                                                                             \
                         "add lr, r2, r3, lsl #3\n\t"                                                                  \
                         "ldmia.w r0, {r3, r8, r9, r10, r11}\n\t"                                                      \
                         TFLMGEN_REQUANTIZED_ROWS_DSP_KEEP_##SCALE                                                     \
                         "adr r3, 2f\n\t"                                                                              \
                         "add r10, r10, r3\n\t"                                                                        \
                         "orr r10, r10, #1\n\t"                                                                        \
                         "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"                                               \
                         "1:\n\t"                                                                                      \
                         "ldmia.w r1!, {r2, r3, r4, r5}\n\t" TFLMGEN_REQUANTIZED_ROWS_DSP_CORRECT_##PAIRS              \
                         "ldr r0, [sp, #28]\n\t"                                                                       \
                         "ldr lr, [sp, #20]\n\t"                                                                       \
                         "ldr pc, [sp, #24]\n\t"                                                                       \
                         ".p2align 2\n"                                                                                \
                         "2:\n\t"                                                                                      \
                         ".rept 8\n\t" TFLMGEN_DOT_ROWS_WIDENED(TFLMGEN_DOT_ROWS_##PAIRS) ".endr\n\t"                  \
                         "subs lr, lr, #1\n\t"                                                                         \
                         "bne.w 2b\n\t"                                                                                \
                         TFLMGEN_REQUANTIZED_ROWS_DSP_FIRST_##SCALE TFLMGEN_REQUANTIZED_ROWS_DSP_ROUND("r2")           \
                         TFLMGEN_REQUANTIZED_ROWS_DSP_NEXT_##SCALE TFLMGEN_REQUANTIZED_ROWS_DSP_ROUND("r3")            \
                         TFLMGEN_REQUANTIZED_ROWS_DSP_NEXT_##SCALE TFLMGEN_REQUANTIZED_ROWS_DSP_ROUND("r4")            \
                         TFLMGEN_REQUANTIZED_ROWS_DSP_NEXT_##SCALE TFLMGEN_REQUANTIZED_ROWS_DSP_ROUND("r5")            \
                         "ldrd r8, r9, [r12]\n\t"                                                                      \
                         "pkhbt r2, r2, r3, lsl #16\n\t"                                                               \
                         "pkhbt r4, r4, r5, lsl #16\n\t"                                                               \
                         "qadd16 r2, r2, r8\n\t"                                                                       \
                         "qadd16 r4, r4, r9\n\t"                                                                       \
                         "strd r2, r4, [r12], #8\n\t"                                                                  \
                         "ldr r0, [sp, #32]\n\t"                                                                       \
                         "cmp r0, r12\n\t"                                                                             \
                         "bne.w 1b\n\t"                                                                                \
                         "add sp, sp, #36\n\t"                                                                         \
                         "mov r0, r1\n\t"                                                                              \
                         "pop {r4-r11, lr}"                                                                            \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                                      \
                         :                                                                                             \
                         : "r12", "cc", "memory");                                                                     \
        return (const tflmgen_u32 *)(const void *)r0;                                                                  \
    }
/* clang-format on */

TFLMGEN_REQUANTIZED_ROWS_DSP(tflmgen_requantized_rows_dsp, OFFSET, COMMON)
TFLMGEN_REQUANTIZED_ROWS_DSP(tflmgen_requantized_fours_dsp, PAIRS, EACH)

/* Widens a row of at most 4 * TFLMGEN_DOT_ROWS_STACK_STEPS values, for which `widened` has room. */
TFLMGEN_HELPER void tflmgen_requantized_rows_dsp_set_row(struct tflmgen_requantized_rows_dsp *rows,
                                                         tflmgen_u32 *widened, const int8_t *row, int32_t depth)
{
    const int32_t steps = (depth + 3) / 4;
    rows->correction = tflmgen_dot_rows_widen(widened, row, depth);
    rows->row = widened;
    rows->passes = (steps + 7) / 8;
    rows->skip = (8 * rows->passes - steps) * TFLMGEN_DOT_ROWS_WIDENED_BYTES;
}

#endif

#endif
