/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* FULLY_CONNECTED of float32 by int8 weights with a scale for each block of a row: output[b][u] = bias[u] +
 * sum over blocks k of scale[u][k] * sum over i in k of input[b][i] * weight[u][i]. Each row of the input is quantised
 * with a zero point before it is multiplied, as LiteRT's kernels do it (4bit/fully_connected_reference_impl.h).
 *
 * filter: int8[units][depth], four rows of which are multiplied at a time (rows_s8.h); the sums of a
 * block are exact. */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_BLOCKS_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_BLOCKS_H

#include "dynamic_quantize.h"
#include "rows_s8.h"

struct tflmgen_fully_connected_blocks {
    int32_t batches;
    int32_t depth;
    int32_t units;
    int32_t block_size; /* divides depth */
    float output_min;
    float output_max;
};

/* scales: float[units][depth / block_size]; bias: one per unit, or NULL; quantized: scratch for a row. */
TFLMGEN_KERNEL void tflmgen_fully_connected_blocks(const tflmgen_f32 *input, const int8_t *restrict filter,
                                                   const tflmgen_f32 *restrict scales, const tflmgen_f32 *restrict bias,
                                                   tflmgen_f32 *output, int8_t *restrict quantized,
                                                   const struct tflmgen_fully_connected_blocks *p)
{
    const int32_t blocks = p->depth / p->block_size;
    const int32_t rows = p->units < 4 ? 1 : 4;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const struct tflmgen_row_scale row = tflmgen_quantize_row(input, quantized, p->depth, true);
        for (int32_t unit = 0; unit < p->units;) {
            const int32_t first = tflmgen_min_s32(unit, p->units - rows);
            float totals[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            for (int32_t block = 0; block < blocks; ++block) {
                const int8_t *const inputs = quantized + block * p->block_size;
                const int8_t *const weights = filter + first * p->depth + block * p->block_size;
                int32_t sums[4] = {0, 0, 0, 0};
                if (rows == 4) {
                    tflmgen_dot_rows_s8(sums, inputs, weights, p->depth, p->block_size, -row.zero_point);
                } else {
                    sums[0] = tflmgen_dot_s8(inputs, weights, p->block_size, -row.zero_point);
                }
                for (int32_t i = 0; i < rows; ++i) {
                    totals[i] += (float)sums[i] * scales[(first + i) * blocks + block];
                }
            }
            for (; unit < first + rows; ++unit) {
                const float scaled = totals[unit - first] * row.scale;
                *output++ = tflmgen_clamp_f32((bias ? bias[unit] : 0.0f) + scaled, p->output_min, p->output_max);
            }
        }
        input += p->depth;
    }
}

#endif
