/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* FULLY_CONNECTED of int16 activations by int8 weights, as fully_connected.h has it. All zero points are 0. */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_S16_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_S16_H

#include "sum_s16.h"

struct tflmgen_fully_connected_s16 {
    int32_t batches;
    int32_t depth;
    int32_t units;
    int32_t output_min;
    int32_t output_max;
};

/* bias: one per unit, or NULL; multipliers, shifts: one per unit. */
#define TFLMGEN_FULLY_CONNECTED_S16(name, bias_element, finish)                                             \
    TFLMGEN_KERNEL void name(const tflmgen_s16 *input, const int8_t *restrict filter,                       \
                             const bias_element *restrict bias, const tflmgen_s32 *restrict multipliers,    \
                             const int8_t *restrict shifts, tflmgen_s16 *output,                            \
                             const struct tflmgen_fully_connected_s16 *p)                                   \
    {                                                                                                       \
        for (int32_t batch = 0; batch < p->batches; ++batch) {                                              \
            for (int32_t unit = 0; unit < p->units; ++unit) {                                               \
                const int64_t sum = tflmgen_dot_s16(input, filter + unit * p->depth, p->depth);             \
                const int32_t result = finish(sum, bias ? bias[unit] : 0, multipliers[unit], shifts[unit]); \
                *output++ = (int16_t)tflmgen_clamp_s32(result, p->output_min, p->output_max);               \
            }                                                                                               \
            input += p->depth;                                                                              \
        }                                                                                                   \
    }

TFLMGEN_FULLY_CONNECTED_S16(tflmgen_fully_connected_s16_b32, tflmgen_s32, tflmgen_finish_s16_b32)
TFLMGEN_FULLY_CONNECTED_S16(tflmgen_fully_connected_s16_b64, tflmgen_s64, tflmgen_finish_s16_b64)

#endif
