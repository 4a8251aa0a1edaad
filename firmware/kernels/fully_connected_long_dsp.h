/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* FULLY_CONNECTED in int8 for cores with the DSP extension, of rows that are too long to be widened as a whole.
 *
 * A row is widened in parts on the stack, once for every 64 units, whose sums are there, too. The stream of weights is
 * that of fully_connected_dsp.h: a part has some of the steps of each group's record, and what is between them is a
 * gap.
 */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_LONG_DSP_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_LONG_DSP_H

#include <string.h>

#include "fully_connected_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* Units whose sums are on the stack. */
#define TFLMGEN_FULLY_CONNECTED_LONG_DSP_UNITS 64

/* A part of a row, in the order in which the assembly reads it. */
struct tflmgen_fully_connected_long_dsp_part {
    struct tflmgen_fully_connected_dsp_passes passes;
    const tflmgen_s32 *sums_end;
    int32_t gap; /* bytes from the end of a group's weights of this part to the next group's */
};

/* Adds the products of a part to the sums of groups of four units. Registers, flags and labels as in
 * fully_connected_dsp.h. Stack: from 0 to 16 as there, 20 end of the sums, 24 gap, 28 next sums. A group costs 9
 * instructions beside its values. */
TFLMGEN_SHARED void tflmgen_fully_connected_long_dsp_sums(const tflmgen_u32 *widened, const tflmgen_u32 *stream,
                                                          tflmgen_s32 *sums,
                                                          const struct tflmgen_fully_connected_long_dsp_part *part)
{
    TFLMGEN_IN_REGISTERS_4(widened, stream, sums, part);
    /* clang-format off */
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "mov r10, r2\n\t"
                     "ldmia r3, {r4, r5, r6, r7, r8, r9}\n\t"
                     "push {r8, r9, r10}\n\t"
                     TFLMGEN_FULLY_CONNECTED_DSP_PUSH_ROW
                     "msr apsr_nzcvq, r7\n\t"
                     "mov r8, r10\n\t"
                     "b 1f\n\t"
                     ".p2align 2\n"
                     TFLMGEN_FULLY_CONNECTED_DSP_ROW(TFLMGEN_FULLY_CONNECTED_DSP_STEP_PAIRS)
                     "add r6, sp, #20\n\t"
                     "ldmia r6, {r6, r7, r8}\n\t"
                     "stmia.w r8!, {r2, r3, r4, r5}\n\t"
                     "str r8, [sp, #28]\n\t"
                     "add r1, r1, r7\n\t"
                     "teq r8, r6\n\t"
                     "beq 3f\n"
                     "1:\n\t"
                     "ldmia.w r8, {r2, r3, r4, r5}\n\t"
                     "ldmia.w sp, {r0, r8, r9, pc}\n"
                     "3:\n\t"
                     "add sp, sp, #32\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "r12", "cc", "memory");
    /* clang-format on */
}

TFLMGEN_HELPER int8_t tflmgen_fully_connected_long_dsp_output(int32_t sum, uint32_t m, uint32_t addend, uint32_t shift,
                                                              int32_t sign_fix)
{
    const int32_t high = tflmgen_smmla(sum, (int32_t)m, (int32_t)addend);
    return (int8_t)tflmgen_saturate_s8((high + tflmgen_sign_mask(sum) * sign_fix) >> (shift & 31u));
}

/* The outputs of `count` sums. scales: what is behind the first group's weights, or m, addend and s of all. */
TFLMGEN_HELPER void tflmgen_fully_connected_long_dsp_finish(int8_t *output, const tflmgen_s32 *sums, int32_t count,
                                                            const tflmgen_u32 *scales, int32_t group_words,
                                                            bool uniform, int32_t sign_fix)
{
    if (uniform) {
        const uint32_t m = scales[0], addend = scales[1], shift = scales[2];
#pragma GCC unroll 4
        for (int32_t i = 0; i < count; ++i) {
            output[i] = tflmgen_fully_connected_long_dsp_output(sums[i], m, addend, shift, sign_fix);
        }
        return;
    }
    for (; count > 0; count -= 4, scales += group_words) {
        uint32_t shifts = scales[0];
        for (int32_t i = 1; i <= tflmgen_min_s32(count, 4); ++i, shifts >>= 8) {
            *output++ = tflmgen_fully_connected_long_dsp_output(*sums++, scales[i], scales[4 + i], shifts, sign_fix);
        }
    }
}

TFLMGEN_HELPER void tflmgen_fully_connected_long_dsp_run(const int8_t *input, const tflmgen_u32 *stream, int8_t *output,
                                                         const struct tflmgen_fully_connected_dsp_s8 *p, bool uniform)
{
    const int32_t group_words = 4 * p->steps + (uniform ? 4 : 13);
    const uint32_t uniform_scale[3] = {(uint32_t)p->scale[0], (uint32_t)p->scale[1], (uint32_t)p->scale[2]};
    const int32_t parts = (p->steps + TFLMGEN_DOT_ROWS_STACK_STEPS - 1) / TFLMGEN_DOT_ROWS_STACK_STEPS;
    const int32_t steps_per_part = ((p->steps + parts - 1) / parts + 7) / 8 * 8;
    uint32_t widened[2 * TFLMGEN_DOT_ROWS_STACK_STEPS];
    int32_t sums[TFLMGEN_FULLY_CONNECTED_LONG_DSP_UNITS];
    for (int32_t batch = 0; batch < p->batches; ++batch, input += p->depth, output += p->units) {
        for (int32_t unit = 0; unit < p->units; unit += TFLMGEN_FULLY_CONNECTED_LONG_DSP_UNITS) {
            const tflmgen_u32 *const first_group = stream + unit / TFLMGEN_DOT_ROWS_GROUP * group_words;
            const int32_t count = tflmgen_min_s32(p->units - unit, TFLMGEN_FULLY_CONNECTED_LONG_DSP_UNITS);
            const int32_t groups = (count + TFLMGEN_DOT_ROWS_GROUP - 1) / TFLMGEN_DOT_ROWS_GROUP;
            struct tflmgen_fully_connected_long_dsp_part part;
            part.sums_end = sums + TFLMGEN_DOT_ROWS_GROUP * groups;
            for (int32_t group = 0; group < groups; ++group) {
                memcpy(sums + TFLMGEN_DOT_ROWS_GROUP * group, first_group + group * group_words, 16);
            }
            for (int32_t step = 0; step < p->steps; step += steps_per_part) {
                const int32_t steps = tflmgen_min_s32(p->steps - step, steps_per_part);
                const int32_t values = tflmgen_min_s32(4 * steps, p->depth - 4 * step);
                (void)tflmgen_dot_rows_widen(widened, input + 4 * step, values);
                part.passes = tflmgen_fully_connected_dsp_passes_of(steps, false);
                part.gap = 4 * (group_words - 4 * steps);
                tflmgen_fully_connected_long_dsp_sums(widened, first_group + 4 + 4 * step, sums, &part);
            }
            tflmgen_fully_connected_long_dsp_finish(output + unit, sums, count,
                                                    uniform ? uniform_scale : first_group + 4 + 4 * p->steps,
                                                    group_words, uniform, p->signed_sums ? 128 : 0);
        }
    }
    const int32_t count = p->batches * p->units;
    tflmgen_clamp_dsp_s8(output - count, count, p->output_min, p->output_max);
}

/* Units with a scale for each, or one for all (uniform). */
TFLMGEN_SHARED void tflmgen_fully_connected_dsp_long_s8(const int8_t *input, const tflmgen_u32 *stream, int8_t *output,
                                                        const struct tflmgen_fully_connected_dsp_s8 *p)
{
    tflmgen_fully_connected_long_dsp_run(input, stream, output, p, false);
}

TFLMGEN_SHARED void tflmgen_fully_connected_dsp_long_uniform_s8(const int8_t *input, const tflmgen_u32 *stream,
                                                                int8_t *output,
                                                                const struct tflmgen_fully_connected_dsp_s8 *p)
{
    tflmgen_fully_connected_long_dsp_run(input, stream, output, p, true);
}

#endif

#endif
