/* FULLY_CONNECTED in int8 for cores with the DSP extension, of rows that are too long to be widened as a whole.
 *
 * A row is widened in parts on the stack, once for every 64 units, whose sums are there, too. The stream of weights is
 * that of fully_connected_dsp.h.
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
    int32_t passes;         /* of the unrolled loop */
    int32_t skip;           /* bytes of code that the first pass leaves out */
    const tflmgen_s32 *end; /* of the sums */
    int32_t stride;         /* bytes from a group's weights of this part to the next group's, less these weights */
};

/* Adds the products of a part to the sums of groups of four units. Registers: r0 row, r1 stream, r2-r5 sums, r6-r9
 * weights, r10-r11 inputs, r12 passes, lr sums in memory. Stack: row, passes, entry of the first pass, end, stride.
 * A group costs 2 instructions before its steps, 2 for each pass over them and 5 after them. */
TFLMGEN_SHARED void tflmgen_fully_connected_long_dsp_sums(const tflmgen_u32 *widened, const tflmgen_u32 *stream,
                                                          tflmgen_s32 *sums,
                                                          const struct tflmgen_fully_connected_long_dsp_part *part)
{
    TFLMGEN_IN_REGISTERS_4(widened, stream, sums, part);
    /* clang-format off */
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "mov lr, r2\n\t"
                     "ldmia r3, {r4, r5, r6, r7}\n\t"
                     "adr r8, 2f\n\t"
                     "add r5, r5, r8\n\t"
                     "orr r5, r5, #1\n\t"
                     "push {r0, r4, r5, r6, r7}\n"
                     "1:\n\t"
                     "ldmia.w lr, {r2, r3, r4, r5}\n\t"
                     "ldmia.w sp, {r0, r12, pc}\n\t"
                     ".p2align 2\n"
                     "2:\n\t"
                     TFLMGEN_DOT_ROWS_STEPS(TFLMGEN_DOT_ROWS_UNROLLED, TFLMGEN_DOT_ROWS_PAIRS)
                     "subs r12, r12, #1\n\t"
                     "bne.w 2b\n\t"
                     "ldrd r6, r7, [sp, #12]\n\t"
                     "stmia.w lr!, {r2, r3, r4, r5}\n\t"
                     "add r1, r1, r7\n\t"
                     "cmp lr, r6\n\t"
                     "bne.w 1b\n\t"
                     "add sp, sp, #20\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "r12", "cc", "memory");
    /* clang-format on */
}

TFLMGEN_HELPER int8_t tflmgen_fully_connected_long_dsp_output(int32_t sum, uint32_t m, uint32_t ra, uint32_t shift)
{
    const int32_t high = tflmgen_smmla(sum, (int32_t)m, (int32_t)ra);
    return (int8_t)tflmgen_saturate_s8((high + tflmgen_sign_mask(sum) * 128) >> (shift & 31u));
}

/* The outputs of `count` sums. factors: what is behind the first group's weights, or m, ra and s of all. */
TFLMGEN_HELPER void tflmgen_fully_connected_long_dsp_finish(int8_t *output, const tflmgen_s32 *sums, int32_t count,
                                                            const tflmgen_u32 *factors, int32_t group_words,
                                                            bool common)
{
    if (common) {
        const uint32_t m = factors[0], ra = factors[1], shift = factors[2];
#pragma GCC unroll 4
        for (int32_t i = 0; i < count; ++i) {
            output[i] = tflmgen_fully_connected_long_dsp_output(sums[i], m, ra, shift);
        }
        return;
    }
    for (; count > 0; count -= 4, factors += group_words) {
        uint32_t shifts = factors[0];
        for (int32_t i = 1; i <= tflmgen_min_s32(count, 4); ++i, shifts >>= 8) {
            *output++ = tflmgen_fully_connected_long_dsp_output(*sums++, factors[i], factors[4 + i], shifts);
        }
    }
}

TFLMGEN_HELPER void tflmgen_fully_connected_long_dsp_run(const int8_t *input, const tflmgen_u32 *stream, int8_t *output,
                                                         const struct tflmgen_fully_connected_dsp_s8 *p, bool common)
{
    const int32_t group_words = 4 * p->steps + (common ? 4 : 13);
    const uint32_t all[3] = {(uint32_t)p->scale[0], (uint32_t)p->scale[1], (uint32_t)p->scale[2]};
    const int32_t unrolled = TFLMGEN_DOT_ROWS_UNROLLED;
    const int32_t parts = (p->steps + TFLMGEN_DOT_ROWS_STACK_STEPS - 1) / TFLMGEN_DOT_ROWS_STACK_STEPS;
    const int32_t most = ((p->steps + parts - 1) / parts + 7) / 8 * 8;
    uint32_t widened[2 * TFLMGEN_DOT_ROWS_STACK_STEPS];
    int32_t sums[TFLMGEN_FULLY_CONNECTED_LONG_DSP_UNITS];
    for (int32_t batch = 0; batch < p->batches; ++batch, input += p->depth, output += p->units) {
        for (int32_t unit = 0; unit < p->units; unit += TFLMGEN_FULLY_CONNECTED_LONG_DSP_UNITS) {
            const tflmgen_u32 *const block = stream + unit / TFLMGEN_DOT_ROWS_GROUP * group_words;
            const int32_t count = tflmgen_min_s32(p->units - unit, TFLMGEN_FULLY_CONNECTED_LONG_DSP_UNITS);
            const int32_t groups = (count + TFLMGEN_DOT_ROWS_GROUP - 1) / TFLMGEN_DOT_ROWS_GROUP;
            struct tflmgen_fully_connected_long_dsp_part part;
            part.end = sums + TFLMGEN_DOT_ROWS_GROUP * groups;
            for (int32_t group = 0; group < groups; ++group) {
                memcpy(sums + TFLMGEN_DOT_ROWS_GROUP * group, block + group * group_words, 16);
            }
            for (int32_t step = 0; step < p->steps; step += most) {
                const int32_t steps = tflmgen_min_s32(p->steps - step, most);
                const int32_t values = tflmgen_min_s32(4 * steps, p->depth - 4 * step);
                (void)tflmgen_dot_rows_widen(widened, input + 4 * step, values);
                part.passes = (steps + unrolled - 1) / unrolled;
                part.skip = (unrolled * part.passes - steps) * TFLMGEN_DOT_ROWS_WIDENED_BYTES;
                part.stride = 4 * (group_words - 4 * steps);
                tflmgen_fully_connected_long_dsp_sums(widened, block + 4 + 4 * step, sums, &part);
            }
            tflmgen_fully_connected_long_dsp_finish(output + unit, sums, count, common ? all : block + 4 + 4 * p->steps,
                                                    group_words, common);
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
