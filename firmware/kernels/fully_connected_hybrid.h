/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* FULLY_CONNECTED of float32 by int8 weights, as fully_connected.h has it: each row is quantised before it is
 * multiplied (LiteRT's kernels/fully_connected.cc). */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_HYBRID_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_HYBRID_H

#include "dynamic_quantize.h"
#include "rows_s8.h"

struct tflmgen_fully_connected_hybrid {
    int32_t batches;
    int32_t depth;
    int32_t units;
    bool asymmetric;  /* rows are quantised with a zero point */
    bool per_channel; /* a scale for each unit */
    float output_min;
    float output_max;
};

/* scales: of the weights, one per unit or one in all; bias: one per unit, or NULL; quantized: scratch for a row. */
TFLMGEN_KERNEL void tflmgen_fully_connected_hybrid(const tflmgen_f32 *input, const int8_t *restrict filter,
                                                   const tflmgen_f32 *restrict scales, const tflmgen_f32 *restrict bias,
                                                   tflmgen_f32 *output, int8_t *restrict quantized,
                                                   const struct tflmgen_fully_connected_hybrid *p)
{
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const struct tflmgen_row_scale row = tflmgen_quantize_row(input, quantized, p->depth, p->asymmetric);
        const int32_t rows = p->units < 4 ? 1 : 4;
        for (int32_t unit = 0; unit < p->units;) {
            const int32_t first = tflmgen_min_s32(unit, p->units - rows);
            const int8_t *const weights = filter + first * p->depth;
            int32_t sums[4] = {0, 0, 0, 0};
            if (rows == 4) {
                tflmgen_dot_rows_s8(sums, quantized, weights, p->depth, p->depth, -row.zero_point);
            } else {
                sums[0] = tflmgen_dot_s8(quantized, weights, p->depth, -row.zero_point);
            }
            for (; unit < first + rows; ++unit) {
                const float scaled = (float)sums[unit - first] * (row.scale * scales[p->per_channel ? unit : 0]);
                *output++ = tflmgen_clamp_f32((bias ? bias[unit] : 0.0f) + scaled, p->output_min, p->output_max);
            }
        }
        input += p->depth;
    }
}

#endif
