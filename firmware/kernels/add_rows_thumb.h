/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* ADD and SUB of int8 tensors of which one is broadcast, for every Cortex-M: add_affine.h, row by row. */
#ifndef TFLMGEN_KERNELS_ADD_ROWS_THUMB_H
#define TFLMGEN_KERNELS_ADD_ROWS_THUMB_H

#include "add_affine.h"
#include "thumb.h"

#ifdef __thumb__

/* Of two rows both have an element for each of the output's, or one has a single element for all of them. */
TFLMGEN_HELPER void tflmgen_add_thumb_any_row(const int8_t *row1, const int8_t *row2, int8_t *output,
                                              const struct tflmgen_add_affine_rows_s8 *p)
{
    const int32_t row = p->rank - 1;
    const int32_t count = p->extent[row];
    if (p->stride1[row] && p->stride2[row]) {
        for (int32_t i = 0; i < count; ++i) {
            const int32_t sum = p->start + row1[i] * p->factor1 + row2[i] * p->factor2;
            output[i] = tflmgen_finish_thumb_s8(sum, p->shift);
        }
    } else {
        const bool second = !p->stride1[row];
        const int32_t factor = second ? p->factor2 : p->factor1;
        const int32_t start = p->start + (second ? *row1 * p->factor1 : *row2 * p->factor2);
        const int8_t *const varying = second ? row2 : row1;
        for (int32_t i = 0; i < count; ++i) {
            output[i] = tflmgen_finish_thumb_s8(start + varying[i] * factor, p->shift);
        }
    }
}

TFLMGEN_SHARED void tflmgen_add_thumb_nest(const int8_t *input1, const int8_t *input2, int8_t *output,
                                           const struct tflmgen_add_affine_rows_s8 *p)
{
    int8_t *const first = output;
    struct tflmgen_nest_cursor cursor = {{0}, 0, 0};
    do {
        tflmgen_add_thumb_any_row(input1 + cursor.offset1, input2 + cursor.offset2, output, p);
        output += p->extent[p->rank - 1];
    } while (tflmgen_nest_next_row(&cursor, p->rank, p->extent, p->stride1, p->stride2));
    tflmgen_clamp_thumb_s8(first, (int32_t)(output - first), p->least, p->greatest);
}

TFLMGEN_HELPER void tflmgen_add_rows_thumb_s8(const int8_t *input1, const int8_t *input2, int8_t *output,
                                              const struct tflmgen_add_affine_rows_s8 *p)
{
    if (p->rank == 1 && tflmgen_is_few(p->extent[0])) {
        tflmgen_add_thumb_any_row(input1, input2, output, p);
        tflmgen_clamp_thumb_s8(output, p->extent[0], p->least, p->greatest);
    } else {
        tflmgen_add_thumb_nest(input1, input2, output, p);
    }
}

#endif

#endif
