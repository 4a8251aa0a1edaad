/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* ADD and SUB of int8 tensors of which one is broadcast, for cores with the DSP extension: add_dsp.h, row by row.
 *
 * Of two rows both have an element for each of the output's, or one has a single element for all of them, whose share
 * of the sum is then the same in the whole row.
 */
#ifndef TFLMGEN_KERNELS_ADD_ROWS_DSP_H
#define TFLMGEN_KERNELS_ADD_ROWS_DSP_H

#include "add_dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* A row and one element. Four results: 1 LDR, 3 to bring bytes to halves, 4 SMLAW, 8 to finish, 4 STRB, 3 to loop. */
TFLMGEN_HELPER void tflmgen_add_dsp_row_and_one(const int8_t *row, int32_t row_factor, int8_t one, int32_t one_factor,
                                                int8_t *output, int32_t count,
                                                const struct tflmgen_add_affine_rows_s8 *p)
{
    const int32_t start = tflmgen_smlaw_high(one_factor, (uint32_t)one << 24, p->start);
    const int32_t shift = p->shift;
    for (; count >= 4; count -= 4, row += 4, output += 4) {
        const uint32_t bytes = tflmgen_load4(row);
        const uint32_t even = bytes << 8 & 0xFF00FF00u, odd = bytes & 0xFF00FF00u;
        const int32_t sum0 = tflmgen_smlaw_low(row_factor, even, start);
        const int32_t sum1 = tflmgen_smlaw_low(row_factor, odd, start);
        const int32_t sum2 = tflmgen_smlaw_high(row_factor, even, start);
        const int32_t sum3 = tflmgen_smlaw_high(row_factor, odd, start);
        output[0] = tflmgen_add_dsp_finish(sum0, shift);
        output[1] = tflmgen_add_dsp_finish(sum1, shift);
        output[2] = tflmgen_add_dsp_finish(sum2, shift);
        output[3] = tflmgen_add_dsp_finish(sum3, shift);
    }
    for (; count > 0; --count) {
        const int32_t sum = tflmgen_smlaw_high(row_factor, (uint32_t)*row++ << 24, start);
        *output++ = tflmgen_add_dsp_finish(sum, shift);
    }
}

/* A row of which one operand is a single element. */
TFLMGEN_HELPER void tflmgen_add_dsp_broadcast_row(const int8_t *row1, const int8_t *row2, int8_t *output,
                                                  const struct tflmgen_add_affine_rows_s8 *p)
{
    const int32_t row = p->rank - 1;
    if (!p->stride2[row]) {
        tflmgen_add_dsp_row_and_one(row1, p->factor1, *row2, p->factor2, output, p->extent[row], p);
    } else {
        tflmgen_add_dsp_row_and_one(row2, p->factor2, *row1, p->factor1, output, p->extent[row], p);
    }
}

TFLMGEN_SHARED void tflmgen_add_dsp_broadcast_rows(const int8_t *input1, const int8_t *input2, int8_t *output,
                                                   const struct tflmgen_add_affine_rows_s8 *p)
{
    const int32_t row = p->rank - 1;
    const int32_t count = p->extent[row];
    const struct tflmgen_add_affine_s8 both = {count, p->factor1, p->factor2, p->start, p->shift, -128, 127};
    int8_t *const first = output;
    struct tflmgen_nest_cursor cursor = {{0}, 0, 0};
    do {
        const int8_t *const row1 = input1 + cursor.offset1;
        const int8_t *const row2 = input2 + cursor.offset2;
        if (p->stride1[row] && p->stride2[row]) {
            tflmgen_add_dsp_long_row(row1, row2, output, &both);
        } else {
            tflmgen_add_dsp_broadcast_row(row1, row2, output, p);
        }
        output += count;
    } while (tflmgen_nest_next_row(&cursor, p->rank, p->extent, p->stride1, p->stride2));
    tflmgen_clamp_dsp_s8(first, (int32_t)(output - first), p->least, p->greatest);
}

/* One row is of a broadcast operand: others are tensors of one shape. */
TFLMGEN_HELPER void tflmgen_add_rows_dsp_s8(const int8_t *input1, const int8_t *input2, int8_t *output,
                                            const struct tflmgen_add_affine_rows_s8 *p)
{
    if (p->rank == 1 && tflmgen_is_few(p->extent[0])) {
        tflmgen_add_dsp_broadcast_row(input1, input2, output, p);
        tflmgen_clamp_dsp_s8(output, p->extent[0], p->least, p->greatest);
    } else {
        tflmgen_add_dsp_broadcast_rows(input1, input2, output, p);
    }
}

#endif

#endif
