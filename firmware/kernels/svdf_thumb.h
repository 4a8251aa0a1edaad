/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* SVDF in int8 for every Cortex-M. The results are those of svdf.h. The sums of 16 filters are computed at a time. */
#ifndef TFLMGEN_KERNELS_SVDF_THUMB_H
#define TFLMGEN_KERNELS_SVDF_THUMB_H

#include "sums_thumb.h"
#include "svdf.h"

#ifdef __thumb__

/* Filters whose sums are on the stack. */
#define TFLMGEN_SVDF_THUMB_FILTERS 16

/* stream: weights [filters, inputs], see sums_thumb.h; biases: one per unit, the state's zero point folded in. An
 * activation to move and to weigh is 8 instructions on Armv6-M. */
#define TFLMGEN_SVDF_THUMB(name, element, least, most)                                                           \
    TFLMGEN_SHARED void name(const int8_t *input, const tflmgen_u32 *stream, const element *time_weights,        \
                             const tflmgen_s32 *biases, const element *state_in, int8_t *output, element *state, \
                             const struct tflmgen_svdf_s8 *p)                                                    \
    {                                                                                                            \
        const int32_t filters = p->units * p->rank, memory = p->memory;                                          \
        uint8_t copy[TFLMGEN_FULLY_CONNECTED_THUMB_STACK];                                                       \
        int32_t sums[TFLMGEN_SVDF_THUMB_FILTERS];                                                                \
        struct tflmgen_sums_thumb rows;                                                                          \
        for (int32_t batch = 0; batch < p->batches; ++batch, input += p->inputs) {                               \
            const element *weights = time_weights;                                                               \
            const tflmgen_s32 *bias = biases;                                                                    \
            tflmgen_sums_thumb_start(&rows, copy, input, p->inputs, stream);                                     \
            for (int32_t filter = 0; filter < filters; ++bias) {                                                 \
                int32_t total = *bias;                                                                           \
                for (int32_t part = p->rank; part > 0; --part, ++filter) {                                       \
                    const int32_t slot = filter % TFLMGEN_SVDF_THUMB_FILTERS;                                    \
                    if (slot == 0) {                                                                             \
                        const int32_t remaining = tflmgen_min_s32(filters - filter, TFLMGEN_SVDF_THUMB_FILTERS); \
                        tflmgen_sums_thumb_next(&rows, sums, (remaining + 3) / 4);                               \
                    }                                                                                            \
                    const int32_t sum = tflmgen_requantize(sums[slot], p->multiplier, p->shift);                 \
                    const element newest = (element)(tflmgen_clamp_s32(sum, least, most) + p->state_zero_point); \
                    for (int32_t i = 1; i < memory; ++i) {                                                       \
                        const element activation = state_in[i];                                                  \
                        state[i - 1] = activation;                                                               \
                        total = tflmgen_add_wrap_s32(total, activation * weights[i - 1]);                        \
                    }                                                                                            \
                    state[memory - 1] = newest;                                                                  \
                    total = tflmgen_add_wrap_s32(total, newest * weights[memory - 1]);                           \
                    state += memory;                                                                             \
                    state_in += memory;                                                                          \
                    weights += memory;                                                                           \
                }                                                                                                \
                total = tflmgen_requantize(total, p->output_multiplier, p->output_shift);                        \
                total = tflmgen_add_wrap_s32(total, p->output_zero_point);                                       \
                *output++ = (int8_t)tflmgen_clamp_s32(total, INT8_MIN, INT8_MAX);                                \
            }                                                                                                    \
        }                                                                                                        \
    }

TFLMGEN_SVDF_THUMB(tflmgen_svdf_thumb_s8, int8_t, INT8_MIN, INT8_MAX)
TFLMGEN_SVDF_THUMB(tflmgen_svdf_thumb_s8_s16, tflmgen_s16, INT16_MIN, INT16_MAX)

#endif

#endif
