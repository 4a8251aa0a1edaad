/* Rows of int8 weights times one row of int8 values, rescaled to int16, for cores with the DSP extension: the sums of SVDF
 * and of LSTM, which have one multiplier for many rows.
 *
 * The weights are groups of four rows (see dot_rows_dsp.h for the words):
 *     four starts | four weights of each row, times `steps`
 * The last group is filled up with rows of zeros.
 */
#ifndef TFLMGEN_KERNELS_RESCALED_ROWS_DSP_H
#define TFLMGEN_KERNELS_RESCALED_ROWS_DSP_H

#include "dot_rows_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* The row, widened, and what all rows of weights share; the first six in the order in which the assembly reads them. */
struct tflmgen_rescaled_rows_dsp {
    int32_t multiplier;
    int32_t addend;     /* both roundings' halves */
    int32_t downwards;  /* added to negative sums: what makes the second rounding go away from zero */
    int32_t shift;
    int32_t correction; /* of the sums of offset pairs */
    int32_t passes;     /* of the loop, which is unrolled 8 times */
    int32_t skip;       /* bytes of code that the first pass leaves out */
    const uint32_t *row;
};

#define TFLMGEN_RESCALED_ROWS_DSP_ROUND(sum)                                                                           \
    "smmla r10, " sum ", r6, r7\n\t"                                                                                   \
    "and " sum ", r11, " sum ", asr #31\n\t"                                                                           \
    "add " sum ", " sum ", r10\n\t"                                                                                    \
    "asr " sum ", " sum ", r0\n\t"                                                                                     \
    "ssat " sum ", #16, " sum "\n\t"

#define TFLMGEN_RESCALED_ROWS_DSP_CORRECT_PAIRS ""
#define TFLMGEN_RESCALED_ROWS_DSP_CORRECT_OFFSET TFLMGEN_DOT_ROWS_CORRECT("[sp, #16]")

/* Adds `groups` times four sums to `output`, saturated. Registers: r0 row, r1 stream, r2-r5 sums, r6-r9 weights, r10-r11
 * inputs, r12 output, lr passes. Stack: multiplier, addend, downwards, shift, correction, passes, entry of the first pass,
 * row, end. A group costs 4 instructions before its steps (9 of offset pairs) and 32 after them. Returns the stream's end. */
#define TFLMGEN_RESCALED_ROWS_DSP(name, PAIRS)                                                                         \
    TFLMGEN_SHARED const uint32_t *name(const struct tflmgen_rescaled_rows_dsp *rows, const uint32_t *stream,          \
                                        int16_t *output, int32_t groups)                                               \
    {                                                                                                                  \
        register const struct tflmgen_rescaled_rows_dsp *r0 __asm__("r0") = rows;                                      \
        register const uint32_t *r1 __asm__("r1") = stream;                                                            \
        register int16_t *r2 __asm__("r2") = output;                                                                   \
        register int32_t r3 __asm__("r3") = groups;                                                                    \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                                                       \
                         "mov r12, r2\n\t"                                                                             \
                         "add lr, r2, r3, lsl #3\n\t"                                                                  \
                         "ldmia.w r0, {r4, r5, r6, r7, r8, r9, r10, r11}\n\t"                                          \
                         "adr r3, 2f\n\t"                                                                              \
                         "add r10, r10, r3\n\t"                                                                        \
                         "orr r10, r10, #1\n\t"                                                                        \
                         "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"                                               \
                         "1:\n\t"                                                                                      \
                         "ldmia.w r1!, {r2, r3, r4, r5}\n\t" TFLMGEN_RESCALED_ROWS_DSP_CORRECT_##PAIRS                 \
                         "ldr r0, [sp, #28]\n\t"                                                                       \
                         "ldr lr, [sp, #20]\n\t"                                                                       \
                         "ldr pc, [sp, #24]\n\t"                                                                       \
                         ".p2align 2\n"                                                                                \
                         "2:\n\t"                                                                                      \
                         ".rept 8\n\t" TFLMGEN_DOT_ROWS_WIDENED(TFLMGEN_DOT_ROWS_##PAIRS) ".endr\n\t"                  \
                         "subs lr, lr, #1\n\t"                                                                         \
                         "bne.w 2b\n\t"                                                                                \
                         "ldrd r6, r7, [sp]\n\t"                                                                       \
                         "ldrd r11, r0, [sp, #8]\n\t"                                                                  \
                         TFLMGEN_RESCALED_ROWS_DSP_ROUND("r2") TFLMGEN_RESCALED_ROWS_DSP_ROUND("r3")                   \
                         TFLMGEN_RESCALED_ROWS_DSP_ROUND("r4") TFLMGEN_RESCALED_ROWS_DSP_ROUND("r5")                   \
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
        return (const uint32_t *)(const void *)r0;                                                                     \
    }

TFLMGEN_RESCALED_ROWS_DSP(tflmgen_rescaled_rows_dsp_pairs, PAIRS)
TFLMGEN_RESCALED_ROWS_DSP(tflmgen_rescaled_rows_dsp_offset, OFFSET)

/* Widens a row of at most 4 * TFLMGEN_DOT_ROWS_STACK_STEPS values, for which `widened` has room. */
TFLMGEN_HELPER void tflmgen_rescaled_rows_dsp_set_row(struct tflmgen_rescaled_rows_dsp *rows, uint32_t *widened,
                                                      const int8_t *row, int32_t depth)
{
    const int32_t steps = (depth + 3) / 4;
    rows->correction = tflmgen_dot_rows_widen(widened, row, depth);
    rows->row = widened;
    rows->passes = (steps + 7) / 8;
    rows->skip = (8 * rows->passes - steps) * TFLMGEN_DOT_ROWS_WIDENED_BYTES;
}

#endif

#endif
