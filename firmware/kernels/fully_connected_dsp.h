/* FULLY_CONNECTED in int8 for cores with the DSP extension: one row times four units at a time.
 *
 * The weights are a stream of groups of four units, in the order of use (see dot_rows_dsp.h for the words):
 *     four biases | four weights of each unit, times `steps` | s0 + 256 s1 + ... | m0 m1 m2 m3 | ra0 ra1 ra2 ra3
 * Where all units have the same s, m and ra, these are parameters instead, and a group ends with its weights. The last
 * group is filled up with units of zeros. A row is widened once, on the stack; longer ones are those of
 * fully_connected_long_dsp.h.
 */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_DSP_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_DSP_H

#include "dot_rows_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

struct tflmgen_fully_connected_dsp_s8 {
    int32_t batches;
    int32_t depth;
    int32_t units;
    int32_t steps; /* fours of values in a row, the last one filled up */
    int32_t output_min;
    int32_t output_max;
    int32_t scale[3]; /* m, ra and s of all units */
};

/* What the groups need to know, in the order in which the assembly reads it. */
struct tflmgen_fully_connected_dsp_groups {
    int32_t passes; /* of the unrolled loop */
    int32_t skip;   /* bytes of code that the first pass leaves out */
    int8_t *end;    /* of the outputs */
    int32_t shift;  /* s, m and ra of all units */
    int32_t multiplier;
    int32_t addend;
};

typedef void tflmgen_fully_connected_dsp_function(const void *row, const tflmgen_u32 *stream, int8_t *output,
                                                  const struct tflmgen_fully_connected_dsp_groups *groups);

#define TFLMGEN_FULLY_CONNECTED_DSP_REQUANTIZE(sum, m, ra, free) \
    "smmla " free ", " sum ", " m ", " ra "\n\t"                 \
    "asr " sum ", " sum ", #31\n\t"                              \
    "add " sum ", " free ", " sum ", lsl #7\n\t"

#define TFLMGEN_FULLY_CONNECTED_DSP_ROUND(sum) \
    "asr " sum ", " sum ", r0\n\t"             \
    "ssat " sum ", #8, " sum "\n\t"            \
    "strb " sum ", [lr], #1\n\t"

/* Four sums become outputs, with an m, ra and s for each: 30 instructions; r12 becomes the end. */
/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_DSP_FINISH_EACH                           \
    "ldmia.w r1!, {r0, r6, r7, r8, r9, r10, r11, r12}\n\t"                \
    TFLMGEN_FULLY_CONNECTED_DSP_REQUANTIZE("r2", "r6", "r10", "r6")                                      \
    "ldr r10, [r1], #4\n\t"                                               \
    TFLMGEN_FULLY_CONNECTED_DSP_REQUANTIZE("r3", "r7", "r11", "r7")                                      \
    TFLMGEN_FULLY_CONNECTED_DSP_REQUANTIZE("r4", "r8", "r12", "r8")                                      \
    TFLMGEN_FULLY_CONNECTED_DSP_REQUANTIZE("r5", "r9", "r10", "r9")                                      \
    TFLMGEN_FULLY_CONNECTED_DSP_ROUND("r2")                               \
    "lsr r0, r0, #8\n\t" TFLMGEN_FULLY_CONNECTED_DSP_ROUND("r3")          \
    "lsr r0, r0, #8\n\t" TFLMGEN_FULLY_CONNECTED_DSP_ROUND("r4")          \
    "lsr r0, r0, #8\n\t" TFLMGEN_FULLY_CONNECTED_DSP_ROUND("r5")          \
    "ldr r12, [sp, #12]\n\t"

/* With the same for all: 26. */
#define TFLMGEN_FULLY_CONNECTED_DSP_FINISH_COMMON                                         \
    "ldrd r6, r7, [sp, #20]\n\t"                                                          \
    "ldrd r12, r0, [sp, #12]\n\t"                                                         \
    TFLMGEN_FULLY_CONNECTED_DSP_REQUANTIZE("r2", "r6", "r7", "r8")                           \
    TFLMGEN_FULLY_CONNECTED_DSP_REQUANTIZE("r3", "r6", "r7", "r9")                           \
    TFLMGEN_FULLY_CONNECTED_DSP_REQUANTIZE("r4", "r6", "r7", "r10")                          \
    TFLMGEN_FULLY_CONNECTED_DSP_REQUANTIZE("r5", "r6", "r7", "r11")                          \
    TFLMGEN_FULLY_CONNECTED_DSP_ROUND("r2") TFLMGEN_FULLY_CONNECTED_DSP_ROUND("r3")       \
    TFLMGEN_FULLY_CONNECTED_DSP_ROUND("r4") TFLMGEN_FULLY_CONNECTED_DSP_ROUND("r5")
/* clang-format on */

/* What lies on the stack behind that which all need: nothing, or s, m and ra. */
#define TFLMGEN_FULLY_CONNECTED_DSP_KEEP_EACH ""
#define TFLMGEN_FULLY_CONNECTED_DSP_FREE_EACH "add sp, sp, #16\n\t"
#define TFLMGEN_FULLY_CONNECTED_DSP_KEEP_COMMON \
    "add r4, r3, #12\n\t"                       \
    "ldmia r4, {r4, r5, r6}\n\t"                \
    "push {r4, r5, r6}\n\t"
#define TFLMGEN_FULLY_CONNECTED_DSP_FREE_COMMON "add sp, sp, #28\n\t"

/* Registers: r0 row, r1 stream, r2-r5 sums, r6-r9 weights, r10-r11 inputs, r12 passes, lr output. Stack: row, passes,
 * entry of the first pass, end. A group costs 2 instructions before its steps, 2 for each pass
 * over them and 2 after them, besides requantisation. */
/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_DSP_GROUPS(name, SCALE)                                                                \
    TFLMGEN_SHARED void name(const void *row, const tflmgen_u32 *stream, int8_t *output,                               \
                             const struct tflmgen_fully_connected_dsp_groups *groups)                                  \
    {                                                                                                                  \
        TFLMGEN_IN_REGISTERS_4(row, stream, output, groups);                                                           \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                                                       \
                         "mov lr, r2\n\t" TFLMGEN_FULLY_CONNECTED_DSP_KEEP_##SCALE                          \
                         "ldmia r3, {r4, r5, r6}\n\t"                                                                  \
                         "adr r7, 2f\n\t"                                                                              \
                         "add r5, r5, r7\n\t"                                                                          \
                         "orr r5, r5, #1\n\t"                                                                          \
                         "push {r0, r4, r5, r6}\n"                                                                     \
                         "1:\n\t"                                                                                      \
                         "ldmia.w r1!, {r2, r3, r4, r5}\n\t" \
                         "ldmia.w sp, {r0, r12, pc}\n\t"                                                              \
                         ".p2align 2\n"                                                                                \
                         "2:\n\t"                                                                                      \
                         TFLMGEN_DOT_ROWS_STEPS(TFLMGEN_DOT_ROWS_UNROLLED, TFLMGEN_DOT_ROWS_PAIRS)                   \
                         "subs r12, r12, #1\n\t"                                                                      \
                         "bne.w 2b\n\t" TFLMGEN_FULLY_CONNECTED_DSP_FINISH_##SCALE                          \
                         "cmp r12, lr\n\t"                                                                            \
                         "bne.w 1b\n\t"                                                                               \
                         TFLMGEN_FULLY_CONNECTED_DSP_FREE_##SCALE                                            \
                         "pop {r4-r11, lr}"                                                                            \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                                      \
                         :                                                                                             \
                         : "r12", "cc", "memory");                                                                     \
    }
/* clang-format on */

/* All units of rows of at most 4 * TFLMGEN_DOT_ROWS_STACK_STEPS values. */
TFLMGEN_HELPER void tflmgen_fully_connected_dsp_run(const int8_t *input, const tflmgen_u32 *stream, int8_t *output,
                                                    const struct tflmgen_fully_connected_dsp_s8 *p, bool common,
                                                    tflmgen_fully_connected_dsp_function *run)
{
    const int32_t passes = (p->steps + TFLMGEN_DOT_ROWS_UNROLLED - 1) / TFLMGEN_DOT_ROWS_UNROLLED;
    const int32_t rest = p->units % TFLMGEN_DOT_ROWS_GROUP;
    const int32_t group_words = 4 * p->steps + (common ? 4 : 13);
    uint32_t row[2 * TFLMGEN_DOT_ROWS_STACK_STEPS];
    struct tflmgen_fully_connected_dsp_groups groups;
    if (common) {
        groups.multiplier = p->scale[0];
        groups.addend = p->scale[1];
        groups.shift = p->scale[2];
    }
    groups.passes = passes;
    groups.skip = (TFLMGEN_DOT_ROWS_UNROLLED * passes - p->steps) * TFLMGEN_DOT_ROWS_WIDENED_BYTES;
    for (int32_t batch = 0; batch < p->batches; ++batch, input += p->depth, output += p->units) {
        (void)tflmgen_dot_rows_widen(row, input, p->depth);
        if (p->units >= TFLMGEN_DOT_ROWS_GROUP) {
            groups.end = output + (p->units - rest);
            run(row, stream, output, &groups);
        }
        if (rest > 0) {
            int8_t last[TFLMGEN_DOT_ROWS_GROUP];
            groups.end = last + TFLMGEN_DOT_ROWS_GROUP;
            run(row, stream + p->units / TFLMGEN_DOT_ROWS_GROUP * group_words, last, &groups);
            for (int32_t i = 0; i < rest; ++i) {
                output[p->units - rest + i] = last[i];
            }
        }
    }
    const int32_t count = p->batches * p->units;
    tflmgen_clamp_dsp_s8(output - count, count, p->output_min, p->output_max);
}

#define TFLMGEN_FULLY_CONNECTED_DSP(name, SCALE, common)                                          \
    TFLMGEN_FULLY_CONNECTED_DSP_GROUPS(name##_groups, SCALE)                                      \
    TFLMGEN_SHARED void name##_s8(const int8_t *input, const tflmgen_u32 *stream, int8_t *output, \
                                  const struct tflmgen_fully_connected_dsp_s8 *p)                 \
    {                                                                                             \
        tflmgen_fully_connected_dsp_run(input, stream, output, p, common, name##_groups);         \
    }

/* Units with a scale for each, or one for all (uniform). */
TFLMGEN_FULLY_CONNECTED_DSP(tflmgen_fully_connected_dsp, EACH, false)
TFLMGEN_FULLY_CONNECTED_DSP(tflmgen_fully_connected_dsp_uniform, COMMON, true)

#endif

#endif
