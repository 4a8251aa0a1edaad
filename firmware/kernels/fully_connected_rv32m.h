/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* FULLY_CONNECTED in int8 for RV32IM, row by row of the input: eight units at a time. The results are those of
 * fully_connected.h.
 *
 * The stream has for each group of eight units, of which the last is filled up:
 *
 *     constants     struct tflmgen_rv32m_channel of each
 *     weights       of each value of a row:  w0 | w1 | ... | w7, bytes
 *
 * Registers: 8 sums, a value, 8 weights or products, two pointers. A value takes 9 loads, 8 MUL, 8 ADD for 8 MACs, and
 * four values 3 more to go on.
 */
#ifndef TFLMGEN_KERNELS_FULLY_CONNECTED_RV32M_H
#define TFLMGEN_KERNELS_FULLY_CONNECTED_RV32M_H

#include "rv32m.h"

#define TFLMGEN_FULLY_CONNECTED_RV32M_UNITS 8

struct tflmgen_fully_connected_rv32m_s8 {
    int32_t batches;
    int32_t depth; /* values in a row */
    int32_t units;
    int32_t scale_bits;
    int32_t output_min;
    int32_t output_max;
};

#define TFLMGEN_FULLY_CONNECTED_RV32M_VALUE(i) \
    {                                          \
        const int32_t x = values[i];           \
        s0 += x * weights[8 * (i)];            \
        s1 += x * weights[8 * (i) + 1];        \
        s2 += x * weights[8 * (i) + 2];        \
        s3 += x * weights[8 * (i) + 3];        \
        s4 += x * weights[8 * (i) + 4];        \
        s5 += x * weights[8 * (i) + 5];        \
        s6 += x * weights[8 * (i) + 6];        \
        s7 += x * weights[8 * (i) + 7];        \
    }

/* The sums of eight units. */
TFLMGEN_SHARED void tflmgen_fully_connected_rv32m_sums(const int8_t *values, const int8_t *weights, int32_t count,
                                                       tflmgen_s32 *sums)
{
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
    for (; count >= 4; count -= 4, values += 4, weights += 4 * TFLMGEN_FULLY_CONNECTED_RV32M_UNITS) {
        TFLMGEN_FULLY_CONNECTED_RV32M_VALUE(0)
        TFLMGEN_FULLY_CONNECTED_RV32M_VALUE(1)
        TFLMGEN_FULLY_CONNECTED_RV32M_VALUE(2)
        TFLMGEN_FULLY_CONNECTED_RV32M_VALUE(3)
    }
    for (; count > 0; --count, ++values, weights += TFLMGEN_FULLY_CONNECTED_RV32M_UNITS) {
        TFLMGEN_FULLY_CONNECTED_RV32M_VALUE(0)
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
    sums[4] = s4;
    sums[5] = s5;
    sums[6] = s6;
    sums[7] = s7;
}

TFLMGEN_HELPER void tflmgen_fully_connected_rv32m_run(const int8_t *input, const tflmgen_u32 *stream, int8_t *output,
                                                      const struct tflmgen_fully_connected_rv32m_s8 *p, bool is_signed)
{
    const int32_t bits = p->scale_bits;
    const int32_t sign_fix = is_signed ? 1 << (bits - 1) : 0;
    int8_t *const first = output;
    for (int32_t batch = 0; batch < p->batches; ++batch, input += p->depth) {
        const tflmgen_u32 *group = stream;
        for (int32_t unit = 0; unit < p->units; unit += TFLMGEN_FULLY_CONNECTED_RV32M_UNITS) {
            const struct tflmgen_rv32m_channel *channel = (const struct tflmgen_rv32m_channel *)(const void *)group;
            const int8_t *const weights = (const int8_t *)(channel + TFLMGEN_FULLY_CONNECTED_RV32M_UNITS);
            const int32_t left = tflmgen_min_s32(p->units - unit, TFLMGEN_FULLY_CONNECTED_RV32M_UNITS);
            tflmgen_s32 sums[TFLMGEN_FULLY_CONNECTED_RV32M_UNITS];
            tflmgen_fully_connected_rv32m_sums(input, weights, p->depth, sums);
            for (int32_t i = 0; i < left; ++i, ++channel) {
                const uint32_t scaled = ((uint32_t)sums[i] << bits) + (uint32_t)channel->start;
                *output++ = tflmgen_output_rv32m_s8((int32_t)scaled, channel->multiplier, channel->addend,
                                                    channel->shift, sign_fix);
            }
            group = (const tflmgen_u32 *)(const void *)(weights + TFLMGEN_FULLY_CONNECTED_RV32M_UNITS * p->depth);
        }
    }
    tflmgen_clamp_rv32m_s8(first, p->batches * p->units, p->output_min, p->output_max);
}

/* No output of a negative sum needs the sign fix, or some do. */
TFLMGEN_SHARED void tflmgen_fully_connected_rv32m_clamped_s8(const int8_t *input, const tflmgen_u32 *stream,
                                                             int8_t *output,
                                                             const struct tflmgen_fully_connected_rv32m_s8 *p)
{
    tflmgen_fully_connected_rv32m_run(input, stream, output, p, false);
}

TFLMGEN_SHARED void tflmgen_fully_connected_rv32m_s8(const int8_t *input, const tflmgen_u32 *stream, int8_t *output,
                                                     const struct tflmgen_fully_connected_rv32m_s8 *p)
{
    tflmgen_fully_connected_rv32m_run(input, stream, output, p, true);
}

#endif
