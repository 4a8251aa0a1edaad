/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* SOFTMAX and LOG_SOFTMAX over the rows of [rows, depth].
 *
 * The kernels read a row before they write it. Those of int8 have their exponentials from a table, by the distance i of
 * an element below the row's maximum: exps[i] is exp(-i * scale * beta) in Q0.31, 0 beyond the table's end. Integer
 * results are TFLite Micro's, bit for bit.
 */
#ifndef TFLMGEN_KERNELS_SOFTMAX_H
#define TFLMGEN_KERNELS_SOFTMAX_H

#include <math.h>

#include "fixed_point.h"
#include "interpolate.h"
#include "softmax_rows.h"

struct tflmgen_softmax_s8 {
    int32_t rows;
    int32_t depth;
    int32_t entries; /* of the table of exponentials */
};

#if !(defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE)
TFLMGEN_HELPER int32_t tflmgen_row_max_s8(const int8_t *row, int32_t depth)
{
    int32_t greatest = INT8_MIN;
    int32_t i = 0;
#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
    /* Four at a time, the last of which may overlap those before; then the maximum of the four maxima. */
    if (depth >= 4) {
        uint32_t maxima = tflmgen_load4(row + depth - 4);
        for (; i < depth - 4; i += 4) {
            maxima = tflmgen_max4(maxima, tflmgen_load4(row + i));
        }
        maxima = tflmgen_max4(maxima, maxima >> 16);
        return (int8_t)tflmgen_max4(maxima, maxima >> 8);
    }
#endif
    for (; i < depth; ++i) {
        greatest = tflmgen_max_s32(greatest, row[i]);
    }
    return greatest;
}

/* The sum of exponentials of a row in Q12.19, each rounded; at least 1. */
TFLMGEN_HELPER int32_t tflmgen_sum_of_exps(const int8_t *row, int32_t depth, int32_t greatest, const tflmgen_s32 *exps,
                                           int32_t entries)
{
    uint32_t sum = 0;
    for (const int8_t *const end = row + depth; row != end;) {
        const int32_t distance = greatest - *row++;
        sum += distance < entries ? ((uint32_t)exps[distance] + (1u << 11)) >> 12 : 0;
    }
    return (int32_t)sum;
}

/* The probabilities of a row, to which `least` is added.
 *
 * Neither factor of a product is negative, and so TFLite's two roundings, of the product in Q0.31 and of its shift to
 * the right by `exponent`, are one sum and one shift: a number rounded down twice is rounded down once. From a shift by
 * 32 on the result is 0. */
#define TFLMGEN_DEFINE_PROBABILITIES(name, element, output_max)                                                \
    TFLMGEN_HELPER void name(const int8_t *row, int32_t depth, int32_t greatest, const tflmgen_s32 *exps,      \
                             int32_t entries, int32_t scale, int32_t exponent, int32_t least, element *output) \
    {                                                                                                          \
        const int32_t right_shift = tflmgen_min_s32(exponent, 32) - 1;                                         \
        const uint32_t half = (uint32_t)1 << (right_shift - 1);                                                \
        for (const int8_t *const end = row + depth; row != end;) {                                             \
            const int32_t distance = greatest - *row++;                                                        \
            uint32_t result = 0;                                                                               \
            if (distance < entries) {                                                                          \
                result = tflmgen_high_sum((uint32_t)scale, (uint32_t)exps[distance], half) >> right_shift;     \
            }                                                                                                  \
            *output++ = (element)(tflmgen_min_s32((int32_t)result, (output_max) - least) + least);             \
        }                                                                                                      \
    }

TFLMGEN_DEFINE_PROBABILITIES(tflmgen_probabilities_s8, int8_t, INT8_MAX)
TFLMGEN_DEFINE_PROBABILITIES(tflmgen_probabilities_s16, tflmgen_s16, INT16_MAX)
#endif

/* The output's scale is 1/256 or 1/65536, its zero point the least value. */
#define TFLMGEN_SOFTMAX_S8(name, element, bits, least, probabilities)                                        \
    TFLMGEN_KERNEL void name(const int8_t *input, const tflmgen_s32 *restrict exps, element *output,         \
                             const struct tflmgen_softmax_s8 *p)                                             \
    {                                                                                                        \
        for (int32_t row = 0; row < p->rows; ++row) {                                                        \
            const int32_t greatest = tflmgen_row_max_s8(input, p->depth);                                    \
            const int32_t sum = tflmgen_sum_of_exps(input, p->depth, greatest, exps, p->entries);            \
            const int32_t zeros = tflmgen_leading_zeros((uint32_t)sum);                                      \
            const int32_t scale = tflmgen_reciprocal_q31((int32_t)(((uint32_t)sum << zeros) - 0x80000000u)); \
            const int32_t exponent = 12 - zeros + 31 - (bits);                                               \
            probabilities(input, p->depth, greatest, exps, p->entries, scale, exponent, least, output);      \
            input += p->depth;                                                                               \
            output += p->depth;                                                                              \
        }                                                                                                    \
    }

TFLMGEN_SOFTMAX_S8(tflmgen_softmax_s8, int8_t, 8, INT8_MIN, tflmgen_probabilities_s8)
TFLMGEN_SOFTMAX_S8(tflmgen_softmax_s8_s16, tflmgen_s16, 16, INT16_MIN, tflmgen_probabilities_s16)

struct tflmgen_softmax_s16 {
    int32_t rows;
    int32_t depth;
    int32_t multiplier; /* from differences to 10 / 65535 */
    int32_t shift;
};

#if !(defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE)
TFLMGEN_HELPER int32_t tflmgen_row_max_of_s16(const tflmgen_s16 *row, int32_t depth, int32_t greatest)
{
    for (int32_t i = 0; i < depth; ++i) {
        greatest = tflmgen_max_s32(greatest, row[i]);
    }
    return greatest;
}

/* The exponentials of a row, and their sum. */
TFLMGEN_HELPER int32_t tflmgen_exps_s16(const tflmgen_s16 *row, int32_t depth, int32_t greatest, int32_t multiplier,
                                        int32_t shift, const tflmgen_s16 *exps, tflmgen_s16 *output)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < depth; ++i) {
        const int32_t scaled = tflmgen_requantize(row[i] - greatest, multiplier, shift);
        output[i] = (int16_t)tflmgen_interpolate_s16(
            exps, tflmgen_clamp_s32(tflmgen_add_wrap_s32(scaled, INT16_MAX), INT16_MIN, INT16_MAX));
        sum += output[i];
    }
    return sum;
}

TFLMGEN_HELPER void tflmgen_scale_row_s16(tflmgen_s16 *row, int32_t depth, int32_t scale, int32_t shift)
{
    for (int32_t i = 0; i < depth; ++i) {
        const int32_t result = (int32_t)(((int64_t)row[i] * scale + ((int64_t)1 << (shift - 1))) >> shift);
        row[i] = (int16_t)tflmgen_clamp_s32(result, 0, INT16_MAX);
    }
}
#endif

/* exps: exp(x) from -10 to 0; reciprocals: 1 / (1 + x) from 0 to 1; both in Q0.15 and for tflmgen_interpolate_s16. The
 * output has scale 1/32768. */
TFLMGEN_KERNEL void tflmgen_softmax_s16(const tflmgen_s16 *input, const tflmgen_s16 *restrict exps,
                                        const tflmgen_s16 *restrict reciprocals, tflmgen_s16 *output,
                                        const struct tflmgen_softmax_s16 *p)
{
    for (int32_t row = 0; row < p->rows; ++row) {
        const int32_t greatest = tflmgen_row_max_of_s16(input, p->depth, INT16_MIN);
        const int32_t sum = tflmgen_exps_s16(input, p->depth, greatest, p->multiplier, p->shift, exps, output);
        const int32_t zeros = tflmgen_leading_zeros((uint32_t)sum);
        const int32_t normal = (int32_t)((((int64_t)sum << (zeros - 1)) + (1 << 13)) >> 14);
        const int32_t fraction = tflmgen_clamp_s32(normal - (1 << 15) - (1 << 16), INT16_MIN, INT16_MAX);
        tflmgen_scale_row_s16(output, p->depth, tflmgen_interpolate_s16(reciprocals, fraction), 31 - zeros);
        input += p->depth;
        output += p->depth;
    }
}

TFLMGEN_HELPER float tflmgen_row_max_f32(const tflmgen_f32 *row, int32_t depth)
{
    float greatest = row[0];
    for (int32_t i = 1; i < depth; ++i) {
        greatest = row[i] > greatest ? row[i] : greatest;
    }
    return greatest;
}

struct tflmgen_softmax_f32 {
    int32_t rows;
    int32_t depth;
    float beta;
};

#if !TFLMGEN_HAS_MVE_F32
/* The exponentials of a row, and their sum. */
TFLMGEN_HELPER float tflmgen_exps_f32(const tflmgen_f32 *row, int32_t depth, float greatest, float beta,
                                      tflmgen_f32 *output)
{
    float sum = 0.0f;
    for (int32_t i = 0; i < depth; ++i) {
        output[i] = tflmgen_exp_f32_of((row[i] - greatest) * beta);
        sum += output[i];
    }
    return sum;
}

TFLMGEN_HELPER void tflmgen_divide_row_f32(tflmgen_f32 *row, int32_t depth, float divisor)
{
    for (int32_t i = 0; i < depth; ++i) {
        row[i] = row[i] / divisor;
    }
}
#endif

TFLMGEN_KERNEL void tflmgen_softmax_f32(const tflmgen_f32 *input, tflmgen_f32 *output,
                                        const struct tflmgen_softmax_f32 *p)
{
    for (int32_t row = 0; row < p->rows; ++row) {
        const float greatest = tflmgen_row_max_f32(input, p->depth);
        const float sum = tflmgen_exps_f32(input, p->depth, greatest, p->beta, output);
        tflmgen_divide_row_f32(output, p->depth, sum);
        input += p->depth;
        output += p->depth;
    }
}

struct tflmgen_log_softmax_s8 {
    int32_t rows;
    int32_t depth;
    int32_t entries; /* of the table of exponentials */
    int32_t multiplier;
    int32_t shift;
    int32_t least_difference; /* that Q5.26 can hold, less 1 */
    int32_t inverse_multiplier;
    int32_t inverse_shift;
};

/* The output's scale is 1/16, its zero point 127. */
TFLMGEN_KERNEL void tflmgen_log_softmax_s8(const int8_t *input, const tflmgen_s32 *restrict exps, int8_t *output,
                                           const struct tflmgen_log_softmax_s8 *p)
{
    for (int32_t row = 0; row < p->rows; ++row) {
        const int32_t greatest = tflmgen_row_max_s8(input, p->depth);
        const int32_t sum = tflmgen_sum_of_exps(input, p->depth, greatest, exps, p->entries);
        const int32_t log_sum = tflmgen_log_q12_to_q5(sum);
        const int32_t bound = tflmgen_requantize(log_sum + INT32_MIN, p->inverse_multiplier, p->inverse_shift);
        const int32_t least = tflmgen_max_s32(p->least_difference, bound);
        for (int32_t i = 0; i < p->depth; ++i) {
            const int32_t difference = input[i] - greatest;
            int32_t result = INT8_MIN;
            if (difference > least) {
                const int32_t scaled = tflmgen_requantize(difference, p->multiplier, p->shift);
                result = tflmgen_rounding_divide_by_power(scaled - log_sum, 22) + INT8_MAX;
            }
            output[i] = (int8_t)tflmgen_clamp_s32(result, INT8_MIN, INT8_MAX);
        }
        input += p->depth;
        output += p->depth;
    }
}

struct tflmgen_log_softmax_f32 {
    int32_t rows;
    int32_t depth;
};

TFLMGEN_KERNEL void tflmgen_log_softmax_f32(const tflmgen_f32 *input, tflmgen_f32 *output,
                                            const struct tflmgen_log_softmax_f32 *p)
{
    for (int32_t row = 0; row < p->rows; ++row) {
        const float greatest = tflmgen_row_max_f32(input, p->depth);
        float sum = tflmgen_exp_f32_of(input[0] - greatest);
        for (int32_t i = 1; i < p->depth; ++i) {
            sum += tflmgen_exp_f32_of(input[i] - greatest);
        }
        const float log_sum = logf(sum);
        for (int32_t i = 0; i < p->depth; ++i) {
            output[i] = input[i] - greatest - log_sum;
        }
        input += p->depth;
        output += p->depth;
    }
}

#endif
