/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* FULLY_CONNECTED in int8 for cores with the DSP extension: one row times four units at a time.
 *
 * A step is four values of a row, which is widened once, on the stack, to words X Y of each step (see dsp.h); rows that
 * are too long for that are those of fully_connected_long_dsp.h. The stream has a record for each group of four units,
 * in the order of use (see dot_rows_dsp.h for the words); the last group is filled up with units of zeros:
 *
 *     bias of units 0, 1, 2, 3
 *     (a word of four weights of units 0, 1, 2, 3) * steps
 *     s0 + 256 s1 + 65536 s2 + 2^24 s3 | m0 m1 m2 m3 | addend0 addend1 addend2 addend3
 *
 * Where all units have the same s, m and addend (`uniform`), these are parameters instead, and a record ends with its
 * weights.
 *
 * Flags: C and V are set once for a row, from the parameters. TEQ, which ends passes and groups, changes neither, nor
 * does any other instruction of the loops. So HI, which is C and not Z, is `several passes, and not in the last one`,
 * and VS is `no sum needs the sign fix`.
 */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_DSP_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_DSP_H

#include "dot_rows_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

struct tflmgen_fully_connected_dsp_s8 {
    int32_t batches;
    int32_t depth;
    int32_t units;
    int32_t steps; /* of four values in a row, the last one filled up with zeros */
    int32_t output_min;
    int32_t output_max;
    bool signed_sums; /* negative sums need the sign fix (dsp.h) */
    int32_t scale[3]; /* m, addend and s of all units */
};

/* The passes of the loop over a row, in the order in which the assembly reads it. */
struct tflmgen_fully_connected_dsp_passes {
    int32_t skip_bytes; /* of code that the first pass leaves out */
    int32_t last_pass;  /* bytes of the row in front of it */
    int32_t odd_step;   /* bytes of the first step where the number of steps is odd, else 0 */
    uint32_t flags;     /* of the core: C where there are several passes, V where no sum needs the sign fix */
};

/* All groups of units of one row, in the order in which the assembly reads it. */
struct tflmgen_fully_connected_dsp_groups {
    struct tflmgen_fully_connected_dsp_passes passes;
    int8_t *output_end;
    int32_t scale[3]; /* m, addend and s of all units */
};

typedef void tflmgen_fully_connected_dsp_function(const void *row, const tflmgen_u32 *stream, int8_t *output,
                                                  const struct tflmgen_fully_connected_dsp_groups *groups);

/* Two steps times four units, 32 MACs: 3 LDM + 8 SXTB16 + 16 SMLAD = 27 instructions. Registers: r0 row, r1 weights,
 * r2-r5 sums, r6-r9 inputs, r10-r12 and lr weights. A row of an odd number of steps begins with the second one, whose
 * inputs are in r8 and r9 then. x, y: the step's inputs X and Y. */
#define TFLMGEN_FULLY_CONNECTED_DSP_STEP_PAIRS 8 /* of a pass */
#define TFLMGEN_FULLY_CONNECTED_DSP_STEP_PAIR_BYTES 108
#define TFLMGEN_FULLY_CONNECTED_DSP_STEP_BYTES 56
/* clang-format off */
#define TFLMGEN_FULLY_CONNECTED_DSP_STEP(x, y)                                           \
    "ldmia.w r1!, {r10, r11, r12, lr}\n\t"                                               \
    "smlad r2, r10, " x ", r2\n\tsmlad r3, r11, " x ", r3\n\t"                           \
    "smlad r4, r12, " x ", r4\n\tsmlad r5, lr, " x ", r5\n\t"                            \
    "sxtb16.w r10, r10\n\tsxtb16.w r11, r11\n\tsxtb16.w r12, r12\n\tsxtb16.w lr, lr\n\t" \
    "smlad r2, r10, " y ", r2\n\tsmlad r3, r11, " y ", r3\n\t"                           \
    "smlad r4, r12, " y ", r4\n\tsmlad r5, lr, " y ", r5\n\t"

/* All pairs of steps of a row, in passes of `pairs`, at 2. The first pass begins within the unrolled code from 4 on. */
#define TFLMGEN_FULLY_CONNECTED_DSP_ROW(pairs)   \
    "2:\n\t"                                     \
    "ldr r6, [sp, #16]\n\t"                      \
    "teq r0, r6\n"                               \
    "4:\n\t"                                     \
    ".rept " TFLMGEN_DSP_TEXT(pairs) "\n\t"      \
    "ldmia.w r0!, {r6, r7, r8, r9}\n\t"          \
    TFLMGEN_FULLY_CONNECTED_DSP_STEP("r6", "r7") \
    TFLMGEN_FULLY_CONNECTED_DSP_STEP("r8", "r9") \
    ".endr\n\t"                                  \
    "bhi.w 2b\n\t"

/* The stack, from the row in r0 and its passes in r4 to r6:
 *
 *      0  row, where r0 begins                    20  end of the outputs
 *      4  first inputs, for r8 and r9             24  next output
 *     12  entry of the first pass, for pc         28  m, addend, s where uniform
 *     16  row in the last pass */
#define TFLMGEN_FULLY_CONNECTED_DSP_PUSH_ROW \
    "ldrd r2, r3, [r0]\n\t"                  \
    "adr r9, 4f\n\t"                         \
    "add r4, r4, r9\n\t"                     \
    "orr r4, r4, #1\n\t"                     \
    "add r5, r5, r0\n\t"                     \
    "add r0, r0, r6\n\t"                     \
    "push {r0, r2, r3, r4, r5}\n\t"

#define TFLMGEN_FULLY_CONNECTED_DSP_SIGN_FIX(sum, scaled) "add " scaled ", " scaled ", " sum ", lsl #7\n\t"
#define TFLMGEN_FULLY_CONNECTED_DSP_SIGN_FIXES(a, b, c, d)                                      \
    "bvs 5f\n\t"                                                                                \
    "asr r2, r2, #31\n\tasr r3, r3, #31\n\tasr r4, r4, #31\n\tasr r5, r5, #31\n\t"              \
    TFLMGEN_FULLY_CONNECTED_DSP_SIGN_FIX("r2", a) TFLMGEN_FULLY_CONNECTED_DSP_SIGN_FIX("r3", b) \
    TFLMGEN_FULLY_CONNECTED_DSP_SIGN_FIX("r4", c) TFLMGEN_FULLY_CONNECTED_DSP_SIGN_FIX("r5", d) \
    "5:\n\t"

#define TFLMGEN_FULLY_CONNECTED_DSP_STORE(scaled, shift, output) \
    "asr " scaled ", " scaled ", " shift "\n\t"                  \
    "ssat " scaled ", #8, " scaled "\n\t"                        \
    "strb " scaled ", [" output "], #1\n\t"

/* Four sums become outputs, with an m, addend and s for each: 25 instructions, 33 with the sign fix. */
#define TFLMGEN_FULLY_CONNECTED_DSP_FINISH_EACH                                  \
    "ldmia.w r1!, {r0, r6, r7, r8, r9, r10, r11, r12}\n\t"                       \
    "ldr lr, [r1], #4\n\t"                                                       \
    "smmla r6, r2, r6, r10\n\tsmmla r7, r3, r7, r11\n\t"                         \
    "smmla r8, r4, r8, r12\n\tsmmla r9, r5, r9, lr\n\t"                          \
    TFLMGEN_FULLY_CONNECTED_DSP_SIGN_FIXES("r6", "r7", "r8", "r9")               \
    "ldrd r10, r11, [sp, #20]\n\t"                                               \
    TFLMGEN_FULLY_CONNECTED_DSP_STORE("r6", "r0", "r11")                         \
    "lsr r0, r0, #8\n\t" TFLMGEN_FULLY_CONNECTED_DSP_STORE("r7", "r0", "r11")    \
    "lsr r0, r0, #8\n\t" TFLMGEN_FULLY_CONNECTED_DSP_STORE("r8", "r0", "r11")    \
    "lsr r0, r0, #8\n\t" TFLMGEN_FULLY_CONNECTED_DSP_STORE("r9", "r0", "r11")    \
    "str r11, [sp, #24]\n\t"                                                     \
    "teq r11, r10\n\t"

/* The same where uniform: 21, or 29. */
#define TFLMGEN_FULLY_CONNECTED_DSP_FINISH_UNIFORM                                                              \
    "add r6, sp, #20\n\t"                                                                                       \
    "ldmia r6, {r6, r7, r8, r9, r10}\n\t"                                                                       \
    "smmla r11, r2, r8, r9\n\tsmmla r12, r3, r8, r9\n\t"                                                        \
    "smmla lr, r4, r8, r9\n\tsmmla r0, r5, r8, r9\n\t"                                                          \
    TFLMGEN_FULLY_CONNECTED_DSP_SIGN_FIXES("r11", "r12", "lr", "r0")                                            \
    TFLMGEN_FULLY_CONNECTED_DSP_STORE("r11", "r10", "r7") TFLMGEN_FULLY_CONNECTED_DSP_STORE("r12", "r10", "r7") \
    TFLMGEN_FULLY_CONNECTED_DSP_STORE("lr", "r10", "r7") TFLMGEN_FULLY_CONNECTED_DSP_STORE("r0", "r10", "r7")   \
    "str r7, [sp, #24]\n\t"                                                                                     \
    "teq r7, r6\n\t"

/* The words of the stack from 20 on. */
#define TFLMGEN_FULLY_CONNECTED_DSP_PUSH_EACH "push {r8, r9}\n\t"
#define TFLMGEN_FULLY_CONNECTED_DSP_POP_EACH "add sp, sp, #28\n\t"
#define TFLMGEN_FULLY_CONNECTED_DSP_PUSH_UNIFORM \
    "ldmia r3, {r10, r11, r12}\n\t"              \
    "push {r8, r9, r10, r11, r12}\n\t"
#define TFLMGEN_FULLY_CONNECTED_DSP_POP_UNIFORM "add sp, sp, #40\n\t"

/* All groups of one row: 1 begins a group, 2 its steps, 3 is the end. A group costs 4 instructions beside its values
 * and requantisation. SCALE: EACH or UNIFORM. */
#define TFLMGEN_FULLY_CONNECTED_DSP_GROUPS(name, SCALE)                                          \
    TFLMGEN_SHARED void name(const void *row, const tflmgen_u32 *stream, int8_t *output,         \
                             const struct tflmgen_fully_connected_dsp_groups *groups)            \
    {                                                                                            \
        TFLMGEN_IN_REGISTERS_4(row, stream, output, groups);                                     \
        __asm__ volatile("push {r4-r11, lr}\n\t"                                                 \
                         "ldmia r3!, {r4, r5, r6, r7}\n\t"                                       \
                         "ldr r8, [r3], #4\n\t"                                                  \
                         "mov r9, r2\n\t" TFLMGEN_FULLY_CONNECTED_DSP_PUSH_##SCALE               \
                         TFLMGEN_FULLY_CONNECTED_DSP_PUSH_ROW                                    \
                         "msr apsr_nzcvq, r7\n\t"                                                \
                         "b 1f\n\t"                                                              \
                         ".p2align 2\n"                                                          \
                         TFLMGEN_FULLY_CONNECTED_DSP_ROW(TFLMGEN_FULLY_CONNECTED_DSP_STEP_PAIRS) \
                         TFLMGEN_FULLY_CONNECTED_DSP_FINISH_##SCALE                              \
                         "beq 3f\n"                                                              \
                         "1:\n\t"                                                                \
                         "ldmia.w r1!, {r2, r3, r4, r5}\n\t"                                     \
                         "ldmia.w sp, {r0, r8, r9, pc}\n"                                        \
                         "3:\n\t" TFLMGEN_FULLY_CONNECTED_DSP_POP_##SCALE                        \
                         "pop {r4-r11, lr}"                                                      \
                         : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)                                \
                         :                                                                       \
                         : "r12", "cc", "memory");                                               \
    }
/* clang-format on */

/* The passes over a row of `steps` steps. */
TFLMGEN_HELPER struct tflmgen_fully_connected_dsp_passes tflmgen_fully_connected_dsp_passes_of(int32_t steps,
                                                                                               bool signed_sums)
{
    const uint32_t count = (uint32_t)steps, unrolled = TFLMGEN_FULLY_CONNECTED_DSP_STEP_PAIRS;
    const uint32_t step_pairs = (count + 1u) >> 1, odd = count & 1u;
    const uint32_t carry = step_pairs > unrolled ? 1u << 29 : 0u;
    const struct tflmgen_fully_connected_dsp_passes passes = {
        (int32_t)((0u - step_pairs) % unrolled * TFLMGEN_FULLY_CONNECTED_DSP_STEP_PAIR_BYTES +
                  odd * TFLMGEN_FULLY_CONNECTED_DSP_STEP_BYTES),
        (int32_t)(8u * count - 16u * unrolled), (int32_t)(8u * odd), carry | (signed_sums ? 0u : 1u << 28)};
    return passes;
}

/* All units of rows of at most 4 * TFLMGEN_DOT_ROWS_STACK_STEPS values. */
TFLMGEN_HELPER void tflmgen_fully_connected_dsp_run(const int8_t *input, const tflmgen_u32 *stream, int8_t *output,
                                                    const struct tflmgen_fully_connected_dsp_s8 *p, bool uniform,
                                                    tflmgen_fully_connected_dsp_function *run_groups)
{
    const int32_t tail_units = (int32_t)((uint32_t)p->units % TFLMGEN_DOT_ROWS_GROUP);
    const int32_t whole_units = p->units - tail_units;
    uint32_t row[2 * TFLMGEN_DOT_ROWS_STACK_STEPS];
    struct tflmgen_fully_connected_dsp_groups groups;
    if (uniform) {
        groups.scale[0] = p->scale[0];
        groups.scale[1] = p->scale[1];
        groups.scale[2] = p->scale[2];
    }
    groups.passes = tflmgen_fully_connected_dsp_passes_of(p->steps, p->signed_sums);
    for (int32_t batch = 0; batch < p->batches; ++batch, input += p->depth, output += p->units) {
        (void)tflmgen_dot_rows_widen(row, input, p->depth);
        if (whole_units > 0) {
            groups.output_end = output + whole_units;
            run_groups(row, stream, output, &groups);
        }
        if (tail_units > 0) {
            const int32_t group_words = 4 * p->steps + (uniform ? 4 : 13);
            int8_t last[TFLMGEN_DOT_ROWS_GROUP];
            groups.output_end = last + TFLMGEN_DOT_ROWS_GROUP;
            run_groups(row, stream + whole_units / TFLMGEN_DOT_ROWS_GROUP * group_words, last, &groups);
            for (int32_t i = 0; i < tail_units; ++i) {
                output[whole_units + i] = last[i];
            }
        }
    }
    const int32_t count = p->batches * p->units;
    tflmgen_clamp_dsp_s8(output - count, count, p->output_min, p->output_max);
}

#define TFLMGEN_FULLY_CONNECTED_DSP(name, SCALE, uniform)                                         \
    TFLMGEN_FULLY_CONNECTED_DSP_GROUPS(name##_groups, SCALE)                                      \
    TFLMGEN_SHARED void name##_s8(const int8_t *input, const tflmgen_u32 *stream, int8_t *output, \
                                  const struct tflmgen_fully_connected_dsp_s8 *p)                 \
    {                                                                                             \
        tflmgen_fully_connected_dsp_run(input, stream, output, p, uniform, name##_groups);        \
    }

/* Units with a scale for each, or one for all (uniform). */
TFLMGEN_FULLY_CONNECTED_DSP(tflmgen_fully_connected_dsp, EACH, false)
TFLMGEN_FULLY_CONNECTED_DSP(tflmgen_fully_connected_dsp_uniform, UNIFORM, true)

#endif

#endif
