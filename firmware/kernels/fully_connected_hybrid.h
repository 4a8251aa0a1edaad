/* FULLY_CONNECTED of float32 by int8 weights, as fully_connected.h has it: each row is quantised before it is
 * multiplied (LiteRT's kernels/fully_connected.cc). */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_HYBRID_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_HYBRID_H

#include "dot.h"
#include "dynamic_quantize.h"

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
TFLMGEN_KERNEL void tflmgen_fully_connected_hybrid(const float *input, const int8_t *restrict filter,
                                                   const float *restrict scales, const float *restrict bias,
                                                   float *output, int8_t *restrict quantized,
                                                   const struct tflmgen_fully_connected_hybrid *p)
{
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const struct tflmgen_row_scale row = tflmgen_quantize_row(input, quantized, p->depth, p->asymmetric);
        for (int32_t unit = 0; unit < p->units; unit += 2) {
            const int32_t count = tflmgen_min_s32(p->units - unit, 2);
            const int8_t *const weights = filter + unit * p->depth;
            int32_t sums[2] = {0, 0};
            tflmgen_dot_pair_s8(sums, quantized, weights, weights + (count - 1) * p->depth, p->depth,
                                -row.zero_point);
            for (int32_t i = 0; i < count; ++i) {
                const float scaled = (float)sums[i] * (row.scale * scales[p->per_channel ? unit + i : 0]);
                *output++ =
                    tflmgen_clamp_f32((bias ? bias[unit + i] : 0.0f) + scaled, p->output_min, p->output_max);
            }
        }
        input += p->depth;
    }
}

#endif
