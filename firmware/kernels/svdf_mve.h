/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* SVDF in int8 for cores with MVE. The results are those of svdf.h.
 *
 * The newest activations of up to 64 filters are computed at a time. Then each filter's memory moves on as it is
 * weighed, 16 bytes at a time, and units are requantised four at a time.
 */
#ifndef TFLMGEN_KERNELS_SVDF_MVE_H
#define TFLMGEN_KERNELS_SVDF_MVE_H

#include "sums_mve.h"
#include "svdf.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* Filters whose sums are on the stack. */
#define TFLMGEN_SVDF_MVE_FILTERS 64

/* The newest activations of `count` filters, and of those that fill up the last group of eight. */
TFLMGEN_HELPER const int8_t *tflmgen_svdf_mve_newest(tflmgen_s32 *newest, const int8_t *row, const int8_t *stream,
                                                     int32_t count, int32_t least, int32_t greatest,
                                                     const struct tflmgen_svdf_s8 *p)
{
    const int32_t chunks = (p->inputs + 15) / 16;
    for (; count > 0; count -= 8) {
        stream = tflmgen_sums_mve(row, stream, chunks, newest);
        for (int32_t half = 0; half < 2; ++half, newest += 4) {
            const int32x4_t requantised = tflmgen_requantize_mve(vld1q_s32(newest), p->multiplier, p->shift);
            vst1q_s32(newest, vaddq_n_s32(tflmgen_clamp_mve(requantised, least, greatest), p->state_zero_point));
        }
    }
    return stream;
}

/* From newest activations to sums through time: the activations after the oldest one move on and are weighed, 2 VLDR,
 * 1 VSTR and 1 VMLADAVA for 16 bytes. size: the letter of the instructions that access an activation. */
#define TFLMGEN_SVDF_MVE_WEIGH(size, bits, lanes)                                                                  \
    TFLMGEN_SHARED void tflmgen_svdf_mve_weigh_s##bits(tflmgen_s32 *sums, int32_t count, const int##bits##_t *old, \
                                                       int##bits##_t *state, const int##bits##_t *weights,         \
                                                       int32_t memory)                                             \
    {                                                                                                              \
        const int32_t last = memory - 1;                                                                           \
        for (; count > 0; --count, ++sums, old += memory, state += memory, weights += memory) {                    \
            const int##bits##_t newest = (int##bits##_t) * sums;                                                   \
            int32_t total = newest * weights[last];                                                                \
            for (int32_t i = 0; i < last; i += lanes) {                                                            \
                const mve_pred16_t active = vctp##bits##q((uint32_t)(last - i));                                   \
                const int##bits##x##lanes##_t activations = vldr##size##q_z_s##bits(old + i + 1, active);          \
                vstr##size##q_p_s##bits(state + i, activations, active);                                           \
                total = vmladavaq_s##bits(total, activations, vldr##size##q_z_s##bits(weights + i, active));       \
            }                                                                                                      \
            state[last] = newest;                                                                                  \
            *sums = total;                                                                                         \
        }                                                                                                          \
    }

TFLMGEN_SVDF_MVE_WEIGH(b, 8, 16)
TFLMGEN_SVDF_MVE_WEIGH(h, 16, 8)

/* The outputs of `count` units. sums: of their filters, rank after rank; those of units take the first places. */
TFLMGEN_HELPER void tflmgen_svdf_mve_finish(int8_t *output, tflmgen_s32 *sums, const tflmgen_s32 *biases, int32_t count,
                                            const struct tflmgen_svdf_s8 *p)
{
    for (int32_t unit = 0; p->rank > 1 && unit < count; ++unit) {
        int32_t total = 0;
        for (int32_t part = 0; part < p->rank; ++part) {
            total = tflmgen_add_wrap_s32(total, sums[unit * p->rank + part]);
        }
        sums[unit] = total;
    }
    for (; count > 0; count -= 4, sums += 4, biases += 4, output += 4) {
        const mve_pred16_t active = vctp32q((uint32_t)count);
        const int32x4_t total = vaddq_s32(vld1q_s32(sums), vldrwq_z_s32(biases, active));
        const int32x4_t requantised = tflmgen_requantize_mve(total, p->output_multiplier, p->output_shift);
        const int32x4_t result = vaddq_n_s32(requantised, p->output_zero_point);
        vstrbq_p_s32(output, tflmgen_clamp_mve(result, INT8_MIN, INT8_MAX), active);
    }
}

/* stream: weights [filters, inputs], see sums_mve.h; biases: one per unit, the state's zero point folded in; p: ranks
 * are at most 8. */
#define TFLMGEN_SVDF_MVE(name, element, weigh, least, most)                                                      \
    TFLMGEN_SHARED void name(const int8_t *input, const tflmgen_u32 *stream, const element *time_weights,        \
                             const tflmgen_s32 *biases, const element *state_in, int8_t *output, element *state, \
                             const struct tflmgen_svdf_s8 *p)                                                    \
    {                                                                                                            \
        const int32_t units_per_pass = TFLMGEN_SVDF_MVE_FILTERS / p->rank & ~7;                                  \
        int8_t row[TFLMGEN_SUMS_MVE_STACK_BYTES];                                                                \
        int32_t sums[TFLMGEN_SVDF_MVE_FILTERS];                                                                  \
        for (int32_t batch = 0; batch < p->batches; ++batch) {                                                   \
            const element *weights = time_weights;                                                               \
            const int8_t *group = (const int8_t *)stream;                                                        \
            tflmgen_copy_mve(row, input + batch * p->inputs, p->inputs);                                         \
            for (int32_t unit = 0; unit < p->units; unit += units_per_pass) {                                    \
                const int32_t count = tflmgen_min_s32(p->units - unit, units_per_pass);                          \
                const int32_t state_elements = count * p->rank * p->memory;                                      \
                group = tflmgen_svdf_mve_newest(sums, row, group, count * p->rank, least, most, p);              \
                weigh(sums, count * p->rank, state_in, state, weights, p->memory);                               \
                tflmgen_svdf_mve_finish(output, sums, biases + unit, count, p);                                  \
                state += state_elements;                                                                         \
                state_in += state_elements;                                                                      \
                weights += state_elements;                                                                       \
                output += count;                                                                                 \
            }                                                                                                    \
        }                                                                                                        \
    }

TFLMGEN_SVDF_MVE(tflmgen_svdf_mve_s8, int8_t, tflmgen_svdf_mve_weigh_s8, INT8_MIN, INT8_MAX)
TFLMGEN_SVDF_MVE(tflmgen_svdf_mve_s8_s16, tflmgen_s16, tflmgen_svdf_mve_weigh_s16, INT16_MIN, INT16_MAX)

#endif

#endif
