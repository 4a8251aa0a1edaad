/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* FULLY_CONNECTED in int8 for every Cortex-M, of few units: one row times one unit at a time, both as they are.
 *
 * The stream has a record for each unit, whose constants are those of thumb.h:
 *
 *     bytes of zeros that fill up whole words | a weight for each value of a row | m | c | 256 f + s | bias | sign fix
 */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_FEW_THUMB_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_FEW_THUMB_H

#include "fully_connected_thumb.h"

#ifdef __thumb__

struct tflmgen_fully_connected_few_thumb_s8 {
    int32_t batches;
    int32_t depth;
    int32_t units;
    int32_t unit_words;
    int32_t output_min;
    int32_t output_max;
};

/* One value times one weight: 2 LDRSB, MULS, 2 ADDS. */
#define TFLMGEN_FULLY_CONNECTED_FEW_THUMB_VALUE \
    "ldrsb r4, [r2, r3]\n\t"                    \
    "ldrsb r7, [r0, r3]\n\t"                    \
    "muls r7, r4, r7\n\t"                       \
    "adds r6, r6, r7\n\t"                       \
    "adds r3, #1\n\t"

/* One output. Values and weights are counted from the ends of both: `begin`, the first one's number, is negative, and
 * behind the last one, number -1, come the constants. ADDS of the number leaves Z set at the end. The loop begins at
 * 1, the first pass within it. Registers: r0 end of the weights, r2 end of the row, r3 number, r4 value, r6 sum, r7
 * weight, r12 output. A value takes 5 instructions and a pass over 8 of them 1; beside that and what requantises the
 * sum there are 16. */
TFLMGEN_SHARED void tflmgen_fully_connected_few_thumb_one(const int8_t *weights_end, int8_t *output,
                                                          const int8_t *row_end, int32_t begin)
{
    TFLMGEN_IN_REGISTERS_4(weights_end, output, row_end, begin);
    /* clang-format off */
    __asm__ volatile(".syntax unified\n\t"
                     "push {r4, r5, r6, r7}\n\t"
                     "mov r12, r1\n\t"
                     "movs r4, #7\n\t"
                     "ands r4, r4, r3\n\t"
                     "movs r5, #10\n\t"
                     "muls r4, r5, r4\n\t"
                     "adr r5, 1f\n\t"
                     "adds r4, r4, r5\n\t"
                     "movs r6, #0\n\t"
                     "mov pc, r4\n\t"
                     ".p2align 2\n"
                     "1:\n\t"
                     ".rept 8\n\t" TFLMGEN_FULLY_CONNECTED_FEW_THUMB_VALUE
                     ".endr\n\t"
                     "bne 1b\n\t"
                     "mov r1, r0\n\t"
                     "mov r2, r6\n\t" TFLMGEN_FULLY_CONNECTED_THUMB_OUTPUT_SIGNED
                     "mov r1, r12\n\t"
                     "strb r2, [r1]\n\t"
                     "pop {r4, r5, r6, r7}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "r12", "cc", "memory");
    /* clang-format on */
}

TFLMGEN_SHARED void tflmgen_fully_connected_few_thumb_s8(const int8_t *input, const tflmgen_u32 *stream, int8_t *output,
                                                         const struct tflmgen_fully_connected_few_thumb_s8 *p)
{
    const int32_t begin = -p->depth;
    int8_t *const results = output;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const int8_t *weights_end = (const int8_t *)stream + (p->depth + 3) / 4 * 4;
        input += p->depth;
        for (int32_t unit = 0; unit < p->units; ++unit, weights_end += 4 * p->unit_words) {
            tflmgen_fully_connected_few_thumb_one(weights_end, output++, input, begin);
        }
    }
    tflmgen_clamp_thumb_s8(results, (int32_t)(output - results), p->output_min, p->output_max);
}

#endif

#endif
