/* FULLY_CONNECTED in int8 for cores with the DSP extension: one row times four units at a time.
 *
 * The weights are a stream of groups of four units, in the order of use (see dsp.h for shifted pairs):
 *     four biases | four weights of each unit, times `steps` | s0 + 256 s1 + ... | m0 m1 m2 m3 | ra0 ra1 ra2 ra3
 * The last group is filled up with units of zeros. A short row is widened once, on the stack; a long one is widened again
 * for every group.
 */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_DSP_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_DSP_H

#include "dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* Fours of values of a row that is widened on the stack. */
#define TFLMGEN_FULLY_CONNECTED_DSP_STACK_STEPS 72

struct tflmgen_fully_connected_dsp_s8 {
    int32_t batches;
    int32_t depth;
    int32_t units;
    int32_t steps; /* fours of values in a row, the last one filled up */
    int32_t output_min;
    int32_t output_max;
};

/* What the groups need to know, in the order in which the assembly reads it. */
struct tflmgen_fully_connected_dsp_groups {
    int32_t passes; /* of the unrolled loop */
    int32_t skip;   /* bytes of code that the first pass leaves out */
    int8_t *end;    /* of the outputs */
};

typedef void tflmgen_fully_connected_dsp_function(const void *row, const uint32_t *stream, int8_t *output,
                                                  const struct tflmgen_fully_connected_dsp_groups *groups);

#define TFLMGEN_FULLY_CONNECTED_DSP_MACS \
    "ldmia.w r1!, {r6, r7, r8, r9}\n\t"  \
    "smlad r2, r6, r10, r2\n\t"          \
    "smlad r3, r7, r10, r3\n\t"          \
    "smlad r4, r8, r10, r4\n\t"          \
    "smlad r5, r9, r10, r5\n\t"          \
    "sxtb16 r6, r6\n\t"                  \
    "sxtb16 r7, r7\n\t"                  \
    "sxtb16 r8, r8\n\t"                  \
    "sxtb16 r9, r9\n\t"                  \
    "smlad r2, r6, r11, r2\n\t"          \
    "smlad r3, r7, r11, r3\n\t"          \
    "smlad r4, r8, r11, r4\n\t"          \
    "smlad r5, r9, r11, r5\n\t"

/* Four values times four units, 16 MACs: 1 LDRD + 1 LDM + 4 SXTB16 + 8 SMLAD = 14 instructions of a widened row, */
#define TFLMGEN_FULLY_CONNECTED_DSP_WIDENED_BYTES 56
#define TFLMGEN_FULLY_CONNECTED_DSP_WIDENED "ldrd r10, r11, [r0], #8\n\t" TFLMGEN_FULLY_CONNECTED_DSP_MACS

/* and 17 of the row itself. */
#define TFLMGEN_FULLY_CONNECTED_DSP_PLAIN_BYTES 68
#define TFLMGEN_FULLY_CONNECTED_DSP_PLAIN \
    "ldr.w r10, [r0], #4\n\t"             \
    "rev16.w r11, r10\n\t"                \
    "eor.w r11, r11, #0x007F007F\n\t"     \
    "sxtb16.w r10, r10, ror #8\n\t" TFLMGEN_FULLY_CONNECTED_DSP_MACS

#define TFLMGEN_FULLY_CONNECTED_DSP_CLAMPED(sum, m, ra) "smmla " sum ", " sum ", " m ", " ra "\n\t"
#define TFLMGEN_FULLY_CONNECTED_DSP_SIGNED(sum, m, ra) \
    "smmla " m ", " sum ", " m ", " ra "\n\t"          \
    "asr " sum ", " sum ", #31\n\t"                    \
    "add " sum ", " m ", " sum ", lsl #7\n\t"

#define TFLMGEN_FULLY_CONNECTED_DSP_ROUND(sum) \
    "asr " sum ", " sum ", r0\n\t"             \
    "ssat " sum ", #8, " sum "\n\t"            \
    "strb " sum ", [r12], #1\n\t"

/* Registers: r0 row, r1 stream, r2-r5 sums, r6-r9 weights, r10-r11 inputs, r12 output, lr passes. Stack: row, passes,
 * entry of the first pass, end. A group costs 4 instructions before its steps and 26 (34 where signed) after them. */
#define TFLMGEN_FULLY_CONNECTED_DSP_GROUPS(name, STEP, RESCALE)                                                        \
    TFLMGEN_SHARED void name(const void *row, const uint32_t *stream, int8_t *output,                                  \
                             const struct tflmgen_fully_connected_dsp_groups *groups)                                  \
    {                                                                                                                  \
        register const void *r0 __asm__("r0") = row;                                                                   \
        register const uint32_t *r1 __asm__("r1") = stream;                                                            \
        register int8_t *r2 __asm__("r2") = output;                                                                    \
        register const struct tflmgen_fully_connected_dsp_groups *r3 __asm__("r3") = groups;                           \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                                                       \
                         "mov r12, r2\n\t"                                                                             \
                         "ldmia r3, {r4, r5, r6}\n\t"                                                                  \
                         "adr r7, 2f\n\t"                                                                              \
                         "add r5, r5, r7\n\t"                                                                          \
                         "orr r5, r5, #1\n\t"                                                                          \
                         "push {r0, r4, r5, r6}\n"                                                                     \
                         "1:\n\t"                                                                                      \
                         "ldmia.w r1!, {r2, r3, r4, r5}\n\t"                                                           \
                         "ldr r0, [sp]\n\t"                                                                            \
                         "ldr lr, [sp, #4]\n\t"                                                                        \
                         "ldr pc, [sp, #8]\n\t"                                                                        \
                         ".p2align 2\n"                                                                                \
                         "2:\n\t"                                                                                      \
                         ".rept 8\n\t" STEP ".endr\n\t"                                                                \
                         "subs lr, lr, #1\n\t"                                                                         \
                         "bne.w 2b\n\t"                                                                                \
                         "ldmia.w r1!, {r0, r6, r7, r8, r9, r10, r11, lr}\n\t"                                         \
                         RESCALE("r2", "r6", "r10")                                                                    \
                         "ldr r10, [r1], #4\n\t"                                                                       \
                         RESCALE("r3", "r7", "r11") RESCALE("r4", "r8", "lr") RESCALE("r5", "r9", "r10")               \
                         TFLMGEN_FULLY_CONNECTED_DSP_ROUND("r2")                                                       \
                         "lsr r0, r0, #8\n\t"                                                                          \
                         TFLMGEN_FULLY_CONNECTED_DSP_ROUND("r3")                                                       \
                         "lsr r0, r0, #8\n\t"                                                                          \
                         TFLMGEN_FULLY_CONNECTED_DSP_ROUND("r4")                                                       \
                         "lsr r0, r0, #8\n\t"                                                                          \
                         TFLMGEN_FULLY_CONNECTED_DSP_ROUND("r5")                                                       \
                         "ldr r0, [sp, #12]\n\t"                                                                       \
                         "cmp r0, r12\n\t"                                                                             \
                         "bne.w 1b\n\t"                                                                                \
                         "add sp, sp, #16\n\t"                                                                         \
                         "pop {r4-r11, lr}"                                                                            \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                                      \
                         :                                                                                             \
                         : "r12", "cc", "memory");                                                                     \
    }

TFLMGEN_FULLY_CONNECTED_DSP_GROUPS(tflmgen_fully_connected_dsp_widened_clamped, TFLMGEN_FULLY_CONNECTED_DSP_WIDENED,
                                   TFLMGEN_FULLY_CONNECTED_DSP_CLAMPED)
TFLMGEN_FULLY_CONNECTED_DSP_GROUPS(tflmgen_fully_connected_dsp_widened_signed, TFLMGEN_FULLY_CONNECTED_DSP_WIDENED,
                                   TFLMGEN_FULLY_CONNECTED_DSP_SIGNED)
TFLMGEN_FULLY_CONNECTED_DSP_GROUPS(tflmgen_fully_connected_dsp_plain_clamped, TFLMGEN_FULLY_CONNECTED_DSP_PLAIN,
                                   TFLMGEN_FULLY_CONNECTED_DSP_CLAMPED)
TFLMGEN_FULLY_CONNECTED_DSP_GROUPS(tflmgen_fully_connected_dsp_plain_signed, TFLMGEN_FULLY_CONNECTED_DSP_PLAIN,
                                   TFLMGEN_FULLY_CONNECTED_DSP_SIGNED)

/* A row as words X, Y of each four values; the last four are filled up with anything. */
TFLMGEN_HELPER void tflmgen_fully_connected_dsp_widen(uint32_t *to, const int8_t *row, int32_t depth)
{
    for (; depth >= 4; depth -= 4, row += 4, to += 2) {
        const uint32_t x = tflmgen_load4(row);
        to[0] = tflmgen_odd_bytes(x);
        to[1] = tflmgen_shifted_inputs(x);
    }
    if (depth > 0) {
        uint32_t x = 0;
        for (int32_t i = depth; i > 0; --i) {
            x = x << 8 | (uint8_t)row[i - 1];
        }
        to[0] = tflmgen_odd_bytes(x);
        to[1] = tflmgen_shifted_inputs(x);
    }
}

/* All units of one row; `widened` has room for a row, or there is none. */
TFLMGEN_HELPER void tflmgen_fully_connected_dsp_run(const int8_t *input, const uint32_t *stream, int8_t *output,
                                                    const struct tflmgen_fully_connected_dsp_s8 *p, uint32_t *widened,
                                                    tflmgen_fully_connected_dsp_function *run, int32_t step_bytes)
{
    const int32_t passes = (p->steps + 7) / 8;
    const int32_t rest = p->units % 4;
    const int32_t group_words = 4 * p->steps + 13;
    struct tflmgen_fully_connected_dsp_groups groups = {passes, (8 * passes - p->steps) * step_bytes, NULL};
    for (int32_t batch = 0; batch < p->batches; ++batch, input += p->depth, output += p->units) {
        const void *row = input;
        if (widened) {
            tflmgen_fully_connected_dsp_widen(widened, input, p->depth);
            row = widened;
        }
        if (p->units >= 4) {
            groups.end = output + (p->units - rest);
            run(row, stream, output, &groups);
        }
        if (rest > 0) {
            int8_t last[4];
            groups.end = last + 4;
            run(row, stream + p->units / 4 * group_words, last, &groups);
            for (int32_t i = 0; i < rest; ++i) {
                output[p->units - rest + i] = last[i];
            }
        }
    }
    if (p->output_min > -128 || p->output_max < 127) {
        const int32_t count = p->batches * p->units;
        tflmgen_clamp_dsp_s8(output - count, count, p->output_min, p->output_max);
    }
}

#define TFLMGEN_FULLY_CONNECTED_DSP(name, groups, words, step_bytes)                          \
    TFLMGEN_SHARED void name(const int8_t *input, const uint32_t *stream, int8_t *output,     \
                             const struct tflmgen_fully_connected_dsp_s8 *p)                  \
    {                                                                                         \
        uint32_t widened[words];                                                              \
        tflmgen_fully_connected_dsp_run(input, stream, output, p, (words) > 1 ? widened : NULL, groups, step_bytes); \
    }

/* Rows of at most 4 * 72 values; longer ones, of whole fours. Outputs clamped at the zero point, or not. */
TFLMGEN_FULLY_CONNECTED_DSP(tflmgen_fully_connected_dsp_widened_clamped_s8,
                            tflmgen_fully_connected_dsp_widened_clamped, 2 * TFLMGEN_FULLY_CONNECTED_DSP_STACK_STEPS,
                            TFLMGEN_FULLY_CONNECTED_DSP_WIDENED_BYTES)
TFLMGEN_FULLY_CONNECTED_DSP(tflmgen_fully_connected_dsp_widened_signed_s8,
                            tflmgen_fully_connected_dsp_widened_signed, 2 * TFLMGEN_FULLY_CONNECTED_DSP_STACK_STEPS,
                            TFLMGEN_FULLY_CONNECTED_DSP_WIDENED_BYTES)
TFLMGEN_FULLY_CONNECTED_DSP(tflmgen_fully_connected_dsp_plain_clamped_s8, tflmgen_fully_connected_dsp_plain_clamped, 1,
                            TFLMGEN_FULLY_CONNECTED_DSP_PLAIN_BYTES)
TFLMGEN_FULLY_CONNECTED_DSP(tflmgen_fully_connected_dsp_plain_signed_s8, tflmgen_fully_connected_dsp_plain_signed, 1,
                            TFLMGEN_FULLY_CONNECTED_DSP_PLAIN_BYTES)

#endif

#endif
