/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* SVDF: a dense layer through time whose weights are of low rank (singular value decomposition filters).
 *
 *     activation [filter] = weights [filter, inputs] * input [inputs]
 *     output [unit]       = bias + sum over the unit's filters and times of time_weights * activation
 *
 * Input [batches, inputs], output [batches, units]; each unit has `rank` filters, one after the other; time_weights
 * [filters, memory]. Each filter keeps its last `memory` activations, the newest last: state [batches, filters,
 * memory]. It moves on by one at each call:
 *
 *     state_in   a0 a1 a2 ... a(n-1)          state   a1 a2 ... a(n-1) newest
 *
 * state_in and `state` may be the same. Results of int8, with a state of int8 or int16, are TFLite Micro's, bit for
 * bit.
 */
#ifndef TFLMGEN_KERNELS_SVDF_H
#define TFLMGEN_KERNELS_SVDF_H

#include <string.h>

#include "dot.h"
#include "dynamic_quantize.h"
#include "requantize.h"
#include "rows_f32.h"

#define TFLMGEN_SVDF_FIELDS \
    int32_t batches;        \
    int32_t inputs;         \
    int32_t units;          \
    int32_t rank;           \
    int32_t memory;

struct tflmgen_svdf_s8 {
    TFLMGEN_SVDF_FIELDS
    int32_t multiplier; /* from sums of products to the state */
    int32_t shift;
    int32_t state_zero_point;
    int32_t output_multiplier;
    int32_t output_shift;
    int32_t output_zero_point;
};

/* offsets: added to the sums of products, or NULL; bias: one per unit, or NULL. Sums through time wrap, and so does
 * an activation that its zero point takes out of range: TFLite Micro clamps first. */
#define TFLMGEN_SVDF_S8(name, element, least, most)                                                                    \
    TFLMGEN_KERNEL void name(const int8_t *input, const int8_t *restrict weights, const tflmgen_s32 *restrict offsets, \
                             const element *restrict time_weights, const tflmgen_s32 *restrict bias,                   \
                             const element *state_in, int8_t *output, element *state, const struct tflmgen_svdf_s8 *p) \
    {                                                                                                                  \
        for (int32_t batch = 0; batch < p->batches; ++batch) {                                                         \
            for (int32_t unit = 0, filter = 0; unit < p->units; ++unit) {                                              \
                int32_t total = bias ? bias[unit] : 0;                                                                 \
                for (int32_t part = 0; part < p->rank; ++part, ++filter) {                                             \
                    int32_t sum = tflmgen_dot_s8(input, weights + filter * p->inputs, p->inputs, 0);                   \
                    sum = tflmgen_add_wrap_s32(sum, offsets ? offsets[filter] : 0);                                    \
                    sum = tflmgen_requantize(sum, p->multiplier, p->shift);                                            \
                    memmove(state, state_in + 1, (size_t)(p->memory - 1) * sizeof(element));                           \
                    state[p->memory - 1] = (element)(tflmgen_clamp_s32(sum, least, most) + p->state_zero_point);       \
                    for (int32_t i = 0; i < p->memory; ++i) {                                                          \
                        const int32_t weight = time_weights[filter * p->memory + i];                                   \
                        total = tflmgen_add_wrap_s32(total, weight * (state[i] - p->state_zero_point));                \
                    }                                                                                                  \
                    state += p->memory;                                                                                \
                    state_in += p->memory;                                                                             \
                }                                                                                                      \
                total = tflmgen_requantize(total, p->output_multiplier, p->output_shift);                              \
                total = tflmgen_add_wrap_s32(total, p->output_zero_point);                                             \
                *output++ = (int8_t)tflmgen_clamp_s32(total, INT8_MIN, INT8_MAX);                                      \
            }                                                                                                          \
            input += p->inputs;                                                                                        \
        }                                                                                                              \
    }

TFLMGEN_SVDF_S8(tflmgen_svdf_s8, int8_t, INT8_MIN, INT8_MAX)
TFLMGEN_SVDF_S8(tflmgen_svdf_s8_s16, tflmgen_s16, INT16_MIN, INT16_MAX)

struct tflmgen_svdf_f32 {
    TFLMGEN_SVDF_FIELDS
    float output_min;
    float output_max;
};

/* A filter's memory moves on as it is weighed; `newest` comes last. */
TFLMGEN_HELPER float tflmgen_svdf_weigh_f32(const tflmgen_f32 *state_in, tflmgen_f32 *state, float newest,
                                            const tflmgen_f32 *restrict weights, int32_t memory)
{
    const int32_t last = memory - 1;
    float sum = 0.0f;
    for (int32_t i = 0; i < last; ++i) {
        const float activation = state_in[i + 1];
        state[i] = activation;
        sum += activation * weights[i];
    }
    state[last] = newest;
    return sum + newest * weights[last];
}

/* Filters whose newest activations are on the stack. */
#define TFLMGEN_SVDF_F32_FILTERS 32

/* bias: one per unit, or NULL. */
TFLMGEN_KERNEL void tflmgen_svdf_f32(const tflmgen_f32 *input, const tflmgen_f32 *restrict weights,
                                     const tflmgen_f32 *restrict time_weights, const tflmgen_f32 *restrict bias,
                                     const tflmgen_f32 *state_in, tflmgen_f32 *output, tflmgen_f32 *state,
                                     const struct tflmgen_svdf_f32 *p)
{
    const int32_t filters = p->units * p->rank;
    float newest[TFLMGEN_SVDF_F32_FILTERS];
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t unit = 0, filter = 0; unit < p->units; ++unit) {
            float total = bias ? bias[unit] : 0.0f;
            for (int32_t part = 0; part < p->rank; ++part, ++filter) {
                const int32_t slot = filter % TFLMGEN_SVDF_F32_FILTERS;
                if (slot == 0) {
                    tflmgen_matrix_f32(input, weights + filter * p->inputs, NULL, newest, p->inputs,
                                       tflmgen_min_s32(filters - filter, TFLMGEN_SVDF_F32_FILTERS));
                }
                total +=
                    tflmgen_svdf_weigh_f32(state_in, state, newest[slot], time_weights + filter * p->memory, p->memory);
                state += p->memory;
                state_in += p->memory;
            }
            *output++ = tflmgen_clamp_f32(total, p->output_min, p->output_max);
        }
        input += p->inputs;
    }
}

struct tflmgen_svdf_hybrid {
    TFLMGEN_SVDF_FIELDS
    float output_min;
    float output_max;
    bool asymmetric; /* inputs are quantised with a zero point */
    float scale;     /* of the weights */
};

/* The same by int8 weights, for which inputs are quantised first. quantized: scratch for one number per input. */
TFLMGEN_KERNEL void tflmgen_svdf_hybrid(const tflmgen_f32 *input, const int8_t *restrict weights,
                                        const tflmgen_f32 *restrict time_weights, const tflmgen_f32 *restrict bias,
                                        const tflmgen_f32 *state_in, tflmgen_f32 *output, tflmgen_f32 *state,
                                        int8_t *restrict quantized, const struct tflmgen_svdf_hybrid *p)
{
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const struct tflmgen_row_scale input_scale = tflmgen_quantize_row(input, quantized, p->inputs, p->asymmetric);
        for (int32_t unit = 0, filter = 0; unit < p->units; ++unit) {
            float total = bias ? bias[unit] : 0.0f;
            for (int32_t part = 0; part < p->rank; ++part, ++filter) {
                const int32_t sum =
                    tflmgen_dot_s8(quantized, weights + filter * p->inputs, p->inputs, -input_scale.zero_point);
                const float newest = (float)sum * (input_scale.scale * p->scale);
                total += tflmgen_svdf_weigh_f32(state_in, state, newest, time_weights + filter * p->memory, p->memory);
                state += p->memory;
                state_in += p->memory;
            }
            *output++ = tflmgen_clamp_f32(total, p->output_min, p->output_max);
        }
        input += p->inputs;
    }
}

#endif
