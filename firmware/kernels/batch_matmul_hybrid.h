/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* BATCH_MATMUL of float32 by int8 matrices, as batch_matmul.h has it: each left row is quantised before it is
 * multiplied (LiteRT's kernels/batch_matmul.cc). */
#ifndef TFLMGEN_KERNELS_BATCH_MATMUL_HYBRID_H
#define TFLMGEN_KERNELS_BATCH_MATMUL_HYBRID_H

#include "batch_matmul.h"
#include "dynamic_quantize.h"

struct tflmgen_batch_matmul_hybrid {
    TFLMGEN_DENSE_BATCH_MATMUL_FIELDS
    bool asymmetric;  /* rows are quantised with a zero point */
    bool per_channel; /* a scale for each column */
};

/* quantized: scratch for a row; gathered: scratch for a row, or NULL where the left matrices hold rows. */
TFLMGEN_HELPER tflmgen_f32 *tflmgen_batch_matmul_rows_hybrid(const tflmgen_f32 *left, const int8_t *right,
                                                             const tflmgen_f32 *scales, tflmgen_f32 *output,
                                                             int8_t *quantized, tflmgen_f32 *gathered,
                                                             const struct tflmgen_batch_matmul_hybrid *p)
{
    for (int32_t row = 0; row < p->rows; ++row) {
        const tflmgen_f32 *values = left + row * p->left_row_stride;
        if (gathered) {
            for (int32_t k = 0; k < p->depth; ++k) {
                gathered[k] = values[k * p->left_depth_stride];
            }
            values = gathered;
        }
        const struct tflmgen_row_scale range = tflmgen_quantize_row(values, quantized, p->depth, p->asymmetric);
        for (int32_t column = 0; column < p->columns; ++column) {
            const int8_t *weights = right + column * p->right_column_stride;
            int32_t sum = 0;
            if (p->right_depth_stride == 1) {
                sum = tflmgen_dot_s8(quantized, weights, p->depth, -range.zero_point);
            } else {
                for (int32_t k = 0; k < p->depth; ++k) {
                    sum += (quantized[k] - range.zero_point) * weights[k * p->right_depth_stride];
                }
            }
            *output++ = (float)sum * (range.scale * scales[p->per_channel ? column : 0]);
        }
    }
    return output;
}

/* scales: of the right matrices, one per column or one in all. */
TFLMGEN_KERNEL void tflmgen_batch_matmul_hybrid(const tflmgen_f32 *restrict left, const int8_t *restrict right,
                                                const tflmgen_f32 *restrict scales, tflmgen_f32 *restrict output,
                                                int8_t *restrict quantized, tflmgen_f32 *restrict gathered,
                                                const struct tflmgen_batch_matmul_hybrid *p)
{
    for (int32_t a = 0; a < p->batches[0]; ++a) {
        for (int32_t b = 0; b < p->batches[1]; ++b) {
            for (int32_t c = 0; c < p->batches[2]; ++c) {
                const tflmgen_f32 *matrix =
                    left + a * p->left_batch_strides[0] + b * p->left_batch_strides[1] + c * p->left_batch_strides[2];
                const int8_t *weights = right + a * p->right_batch_strides[0] + b * p->right_batch_strides[1] +
                                        c * p->right_batch_strides[2];
                output = tflmgen_batch_matmul_rows_hybrid(matrix, weights, scales, output, quantized, gathered, p);
            }
        }
    }
}

#endif
