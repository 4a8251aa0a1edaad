/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* FULLY_CONNECTED of int16 activations by int8 weights for cores with the DSP extension, for layers whose sums provably
 * fit 32 bits. The results are those of fully_connected_s16.h.
 *
 * Four units at a time, a step being four inputs; units behind the last whole group are computed one by one. The stream
 * has their records; words and multipliers are those of conv2d_s16_dsp.h:
 *
 *     group      bias of units 0 to 3 | (a word of four weights of units 0 to 3) * steps | multiplier of units 0 to 3
 *     one unit   bias | (a word of four weights) * steps | multiplier
 */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_S16_DSP_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_S16_DSP_H

#include <string.h>

#include "dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

struct tflmgen_fully_connected_s16_dsp {
    int32_t batches;
    int32_t depth;
    int32_t units;
    int32_t output_min;
    int32_t output_max;
};

#define TFLMGEN_FULLY_CONNECTED_S16_DSP_UNITS 4 /* of a group */

/* The most values of a row that is copied to the stack, because it is no whole number of steps; longer ones are copied
 * to scratch memory. */
#define TFLMGEN_FULLY_CONNECTED_S16_DSP_STACK 128

/* Four inputs of four units, 16 products: LDM + 2 LDR + 8 SXTB16 + 8 SMLAD, and 2 for the loop; then 4 SMMULR and 4
 * SSAT. Registers: r0 row, r1 stream, r2-r5 weights, r6 and r12 inputs, r7-r10 sums, lr steps that remain; the loop
 * over them is at 1. Stack: 0 results. Returns the stream's next group. */
TFLMGEN_SHARED const tflmgen_u32 *tflmgen_fully_connected_s16_dsp_group(const tflmgen_s16 *row,
                                                                        const tflmgen_u32 *stream, int32_t steps,
                                                                        int32_t results[4])
{
    TFLMGEN_IN_REGISTERS_4(row, stream, steps, results);
    __asm__ volatile("push {r3-r11, lr}\n\t"
                     "mov lr, r2\n\t"
                     "ldmia r1!, {r7-r10}\n"
                     "1:\n\t"
                     "ldmia r1!, {r2-r5}\n\t"
                     "ldr r6, [r0], #4\n\t"
                     "ldr r12, [r0], #4\n\t"
                     "sxtb16 r11, r2\n\tsmlad r7, r11, r6, r7\n\tsxtb16 r11, r3\n\tsmlad r8, r11, r6, r8\n\t"
                     "sxtb16 r11, r4\n\tsmlad r9, r11, r6, r9\n\tsxtb16 r11, r5\n\tsmlad r10, r11, r6, r10\n\t"
                     "sxtb16 r2, r2, ror #8\n\tsmlad r7, r2, r12, r7\n\tsxtb16 r3, r3, ror #8\n\t"
                     "smlad r8, r3, r12, r8\n\tsxtb16 r4, r4, ror #8\n\tsmlad r9, r4, r12, r9\n\t"
                     "sxtb16 r5, r5, ror #8\n\tsmlad r10, r5, r12, r10\n\t"
                     "subs lr, lr, #1\n\t"
                     "bne 1b\n\t"
                     "ldmia r1!, {r2-r5}\n\t"
                     "smmulr r7, r7, r2\n\tsmmulr r8, r8, r3\n\tsmmulr r9, r9, r4\n\tsmmulr r10, r10, r5\n\t"
                     "ssat r7, #16, r7\n\tssat r8, #16, r8\n\tssat r9, #16, r9\n\tssat r10, #16, r10\n\t"
                     "ldr r3, [sp], #4\n\t"
                     "stmia r3, {r7-r10}\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "r12", "cc", "memory");
    return r1;
}

/* The result of one unit, whose record `stream` begins with. */
TFLMGEN_HELPER int32_t tflmgen_fully_connected_s16_dsp_unit(const tflmgen_s16 *row, const tflmgen_u32 *stream,
                                                            int32_t steps)
{
    int32_t sum = (int32_t)stream[0];
    for (int32_t step = 1; step <= steps; ++step, row += 4) {
        sum = tflmgen_smlad(tflmgen_even_bytes(stream[step]), tflmgen_load4(row), sum);
        sum = tflmgen_smlad(tflmgen_odd_bytes(stream[step]), tflmgen_load4(row + 2), sum);
    }
    return tflmgen_smmulr(sum, (int32_t)stream[steps + 1]);
}

/* scratch: room for a row of whole steps, or NULL. */
TFLMGEN_SHARED void tflmgen_fully_connected_s16_dsp(const tflmgen_s16 *input, const tflmgen_u32 *restrict stream,
                                                    void *scratch, tflmgen_s16 *output,
                                                    const struct tflmgen_fully_connected_s16_dsp *p)
{
    const int32_t steps = (p->depth + 3) / 4;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const tflmgen_u32 *record = stream;
        const tflmgen_s16 *row = input;
        int16_t on_stack[TFLMGEN_FULLY_CONNECTED_S16_DSP_STACK];
        tflmgen_s16 *const copy = scratch ? scratch : on_stack;
        if (p->depth % 4 != 0) {
            memset(copy + 4 * (steps - 1), 0, 4 * sizeof *copy);
            memcpy(copy, input, (size_t)p->depth * sizeof *copy);
            row = copy;
        }
        int32_t unit = 0;
        for (; unit + TFLMGEN_FULLY_CONNECTED_S16_DSP_UNITS <= p->units;
             unit += TFLMGEN_FULLY_CONNECTED_S16_DSP_UNITS) {
            int32_t results[TFLMGEN_FULLY_CONNECTED_S16_DSP_UNITS];
            record = tflmgen_fully_connected_s16_dsp_group(row, record, steps, results);
            for (int32_t i = 0; i < TFLMGEN_FULLY_CONNECTED_S16_DSP_UNITS; ++i) {
                *output++ = (int16_t)tflmgen_clamp_s32(results[i], p->output_min, p->output_max);
            }
        }
        for (; unit < p->units; ++unit, record += steps + 2) {
            const int32_t result = tflmgen_fully_connected_s16_dsp_unit(row, record, steps);
            *output++ = (int16_t)tflmgen_clamp_s32(result, p->output_min, p->output_max);
        }
        input += p->depth;
    }
}

#endif

#endif
