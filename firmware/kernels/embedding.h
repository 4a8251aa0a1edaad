/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* EMBEDDING_LOOKUP of a table of integers as float32. */
#ifndef TFLMGEN_KERNELS_EMBEDDING_H
#define TFLMGEN_KERNELS_EMBEDDING_H

#include "common.h"

struct tflmgen_embedding_dequantized {
    int32_t indices;
    int32_t rows;
    int32_t columns;
    bool per_row; /* a scale for each row of the table */
};

/* scales: one per row or one in all. An index out of range is moved to the nearest that exists. */
TFLMGEN_KERNEL void tflmgen_embedding_dequantized(const int8_t *restrict table, const tflmgen_f32 *restrict scales,
                                                  const tflmgen_s32 *restrict indices, tflmgen_f32 *restrict output,
                                                  const struct tflmgen_embedding_dequantized *p)
{
    for (int32_t i = 0; i < p->indices; ++i) {
        const int32_t row = tflmgen_clamp_s32(indices[i], 0, p->rows - 1);
        const float scale = scales[p->per_row ? row : 0];
        for (int32_t column = 0; column < p->columns; ++column) {
            *output++ = (float)table[row * p->columns + column] * scale;
        }
    }
}

#endif
