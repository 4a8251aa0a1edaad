/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* MEAN, SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_ANY, REDUCE_ALL.
 *
 * The input's dimensions are three kept and three reduced ones, each outermost first, with 1 for those that it lacks:
 *
 *     output [kept[0], kept[1], kept[2]] = sum, or other step, over reduced[0], reduced[1], reduced[2], in that order
 *
 * Strides are in elements of the input. An output is written after its inputs were read,
 * and lies no further than they do, so the output may lie over the input where their elements have the same size.
 */
#ifndef TFLMGEN_KERNELS_REDUCE_H
#define TFLMGEN_KERNELS_REDUCE_H

#include <float.h>

#include "move.h"
#include "reduced_rows.h"
#include "requantize.h"

#define TFLMGEN_REDUCE_FIELDS \
    int32_t kept[3];          \
    int32_t kept_strides[3];  \
    int32_t reduced[3];       \
    int32_t reduced_strides[3];

struct tflmgen_reduce {
    TFLMGEN_REDUCE_FIELDS
};

struct tflmgen_reduce_quantized {
    TFLMGEN_REDUCE_FIELDS
    int32_t offset; /* added to each sum of inputs */
    int32_t multiplier;
    int32_t shift;
    int32_t output_zero_point;
};

TFLMGEN_HELPER int32_t tflmgen_reduced_count(const tflmgen_s32 *reduced)
{
    return reduced[0] * reduced[1] * reduced[2];
}

/* `step` is an expression of the accumulator `sum` and the input `value`; `result` one of `sum` and the params `p`. */
#define TFLMGEN_REDUCE_TO(name, params, element, output_element, accumulator, start, step, result)              \
    TFLMGEN_KERNEL void name(const element *input, output_element *output, const struct params *p)              \
    {                                                                                                           \
        for (int32_t a = 0; a < p->kept[0]; ++a) {                                                              \
            for (int32_t b = 0; b < p->kept[1]; ++b) {                                                          \
                const element *kept_row = input + a * p->kept_strides[0] + b * p->kept_strides[1];              \
                for (int32_t c = 0; c < p->kept[2]; ++c) {                                                      \
                    const element *first = kept_row + c * p->kept_strides[2];                                   \
                    accumulator sum = (start);                                                                  \
                    for (int32_t i = 0; i < p->reduced[0]; ++i) {                                               \
                        for (int32_t j = 0; j < p->reduced[1]; ++j) {                                           \
                            const element *row = first + i * p->reduced_strides[0] + j * p->reduced_strides[1]; \
                            for (int32_t k = 0; k < p->reduced[2]; ++k) {                                       \
                                const element value = row[k * p->reduced_strides[2]];                           \
                                sum = (accumulator)(step);                                                      \
                            }                                                                                   \
                        }                                                                                       \
                    }                                                                                           \
                    *output++ = (output_element)(result);                                                       \
                }                                                                                               \
            }                                                                                                   \
        }                                                                                                       \
    }

#define TFLMGEN_REDUCE(name, params, element, accumulator, start, step, result) \
    TFLMGEN_REDUCE_TO(name, params, element, element, accumulator, start, step, result)

#define TFLMGEN_REDUCE_EXTREMES(suffix, element, least, greatest)                                                      \
    TFLMGEN_REDUCE(tflmgen_reduce_max_##suffix, tflmgen_reduce, element, element, least, value > sum ? value : sum,    \
                   sum)                                                                                                \
    TFLMGEN_REDUCE(tflmgen_reduce_min_##suffix, tflmgen_reduce, element, element, greatest, value < sum ? value : sum, \
                   sum)

#if (defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE) || (defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP)
/* The same by the loops of reduced_rows.h: of rows, or of columns where the innermost loop is a kept one. 64 bytes of
 * results at a time become outputs.
 *
 *   name, params               the kernel, and the struct of its parameters
 *   element, output_element    types of the input's and of the output's elements
 *   accumulator                type of a result in memory
 *   word                       type of a result in a register: what ROW takes and returns
 *   start                      a result before the first element, in each accumulator of a word
 *   ROW(row, elements, result) the result with the elements of a row
 *   COLUMNS(first, count, columns, start, results)    `count` results, of neighbouring columns
 *   FINISH(results, output, count)                    makes outputs of results */
#define TFLMGEN_REDUCE_BY_ROWS(name, params, element, output_element, accumulator, word, start, ROW, COLUMNS, FINISH) \
    TFLMGEN_KERNEL void name(const element *input, output_element *output, const struct params *p)                    \
    {                                                                                                                 \
        const int32_t block_results = 64 / (int32_t)sizeof(accumulator);                                              \
        const struct tflmgen_columns columns = {                                                                      \
            {p->reduced[0], p->reduced[1], p->reduced[2]},                                                            \
            {p->reduced_strides[0], p->reduced_strides[1], p->reduced_strides[2]},                                    \
        };                                                                                                            \
        for (int32_t a = 0; a < p->kept[0]; ++a) {                                                                    \
            for (int32_t b = 0; b < p->kept[1]; ++b) {                                                                \
                const element *first = input + a * p->kept_strides[0] + b * p->kept_strides[1];                       \
                for (int32_t remaining = p->kept[2]; remaining > 0; remaining -= block_results) {                     \
                    const int32_t count = tflmgen_min_s32(remaining, block_results);                                  \
                    __attribute__((aligned(4))) accumulator results[64 / sizeof(accumulator)];                        \
                    if (p->kept_strides[2] == 1) {                                                                    \
                        COLUMNS(first, count, &columns, start, results);                                              \
                        first += count;                                                                               \
                    } else {                                                                                          \
                        int32_t k = 0;                                                                                \
                        do {                                                                                          \
                            word result = (word)start;                                                                \
                            for (int32_t i = 0; i < p->reduced[0]; ++i) {                                             \
                                for (int32_t j = 0; j < p->reduced[1]; ++j) {                                         \
                                    const element *row =                                                              \
                                        first + i * p->reduced_strides[0] + j * p->reduced_strides[1];                \
                                    result = ROW(row, p->reduced[2], result);                                         \
                                }                                                                                     \
                            }                                                                                         \
                            results[k] = (accumulator)result;                                                         \
                            first += p->kept_strides[2];                                                              \
                        } while (++k < count);                                                                        \
                    }                                                                                                 \
                    FINISH(results, output, count);                                                                   \
                    output += count;                                                                                  \
                }                                                                                                     \
            }                                                                                                         \
        }                                                                                                             \
    }

/* Sums of integers. */
#define TFLMGEN_SUMS_BY_ROWS(name, params, suffix, element, output_element, FINISH)             \
    TFLMGEN_REDUCE_BY_ROWS(name, params, element, output_element, tflmgen_s32, tflmgen_s32, 0u, \
                           tflmgen_row_sum_##suffix, tflmgen_column_sums_##suffix, FINISH)
#endif

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
#define TFLMGEN_RESULTS_AS_THEY_ARE(results, output, count) \
    tflmgen_copy_mve((int8_t *)(output), (const int8_t *)(results), (count) * (int32_t)sizeof *(output))
#define TFLMGEN_RESULTS_REQUANTIZED(suffix) \
    tflmgen_requantized_row_##suffix(results, output, count, p->offset, p->multiplier, p->shift, p->output_zero_point)
#define TFLMGEN_RESULTS_REQUANTIZED_s8(results, output, count) TFLMGEN_RESULTS_REQUANTIZED(s8)
#define TFLMGEN_RESULTS_REQUANTIZED_s16(results, output, count) TFLMGEN_RESULTS_REQUANTIZED(s16)

/* Extremes: `word` has a start in all lanes of a vector, and in 32 bits. */
#define TFLMGEN_EXTREMES_BY_ROWS(suffix, element, word, least, greatest)                                           \
    TFLMGEN_REDUCE_BY_ROWS(tflmgen_reduce_max_##suffix, tflmgen_reduce, element, element, element, word, least,    \
                           tflmgen_row_max_of_##suffix, tflmgen_column_max_##suffix, TFLMGEN_RESULTS_AS_THEY_ARE)  \
    TFLMGEN_REDUCE_BY_ROWS(tflmgen_reduce_min_##suffix, tflmgen_reduce, element, element, element, word, greatest, \
                           tflmgen_row_min_of_##suffix, tflmgen_column_min_##suffix, TFLMGEN_RESULTS_AS_THEY_ARE)

TFLMGEN_SUMS_BY_ROWS(tflmgen_sum_s32, tflmgen_reduce, s32, tflmgen_s32, tflmgen_s32, TFLMGEN_RESULTS_AS_THEY_ARE)
TFLMGEN_SUMS_BY_ROWS(tflmgen_wide_sum_s8, tflmgen_reduce, s8, int8_t, tflmgen_s32, TFLMGEN_RESULTS_AS_THEY_ARE)
TFLMGEN_SUMS_BY_ROWS(tflmgen_wide_sum_s16, tflmgen_reduce, s16, tflmgen_s16, tflmgen_s32, TFLMGEN_RESULTS_AS_THEY_ARE)
TFLMGEN_SUMS_BY_ROWS(tflmgen_requantized_sum_s8, tflmgen_reduce_quantized, s8, int8_t, int8_t,
                     TFLMGEN_RESULTS_REQUANTIZED_s8)
TFLMGEN_SUMS_BY_ROWS(tflmgen_requantized_sum_s16, tflmgen_reduce_quantized, s16, tflmgen_s16, tflmgen_s16,
                     TFLMGEN_RESULTS_REQUANTIZED_s16)
TFLMGEN_EXTREMES_BY_ROWS(s8, int8_t, tflmgen_s32, 0x80808080u, 0x7F7F7F7Fu)
TFLMGEN_EXTREMES_BY_ROWS(s16, tflmgen_s16, tflmgen_s32, 0x80008000u, 0x7FFF7FFFu)
TFLMGEN_EXTREMES_BY_ROWS(s32, tflmgen_s32, tflmgen_s32, 0x80000000u, 0x7FFFFFFFu)
#else
/* Integer sums wrap: they are taken unsigned. */
TFLMGEN_REDUCE(tflmgen_sum_s32, tflmgen_reduce, tflmgen_s32, tflmgen_u32, 0, sum + (uint32_t)value, sum)
TFLMGEN_REDUCE_EXTREMES(s8, int8_t, INT8_MIN, INT8_MAX)
TFLMGEN_REDUCE_EXTREMES(s16, tflmgen_s16, INT16_MIN, INT16_MAX)
TFLMGEN_REDUCE_EXTREMES(s32, tflmgen_s32, INT32_MIN, INT32_MAX)

/* A sum of quantised values, requantised. A mean has its division in the multiplier. */
TFLMGEN_HELPER int32_t tflmgen_requantized_sum(int32_t sum, const struct tflmgen_reduce_quantized *p)
{
    const int32_t scaled = tflmgen_requantize(tflmgen_add_wrap_s32(sum, p->offset), p->multiplier, p->shift);
    return tflmgen_add_wrap_s32(scaled, p->output_zero_point);
}

/* Wide sums are as they are, for a sliding window, which keeps them (rounded_sums.h). */
#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
#define TFLMGEN_RESULTS_AS_THEY_ARE(results, output, count) \
    tflmgen_move(output, results, (count) * (int32_t)sizeof *(output))
#define TFLMGEN_RESULTS_REQUANTIZED_s8(results, output, count)                                                 \
    for (int32_t i = 0; i < (count); ++i) {                                                                    \
        (output)[i] = (int8_t)tflmgen_clamp_s32(tflmgen_requantized_sum((results)[i], p), INT8_MIN, INT8_MAX); \
    }
TFLMGEN_SUMS_BY_ROWS(tflmgen_wide_sum_s8, tflmgen_reduce, s8, int8_t, tflmgen_s32, TFLMGEN_RESULTS_AS_THEY_ARE)
TFLMGEN_SUMS_BY_ROWS(tflmgen_requantized_sum_s8, tflmgen_reduce_quantized, s8, int8_t, int8_t,
                     TFLMGEN_RESULTS_REQUANTIZED_s8)
#else
TFLMGEN_REDUCE_TO(tflmgen_wide_sum_s8, tflmgen_reduce, int8_t, tflmgen_s32, tflmgen_s32, 0, sum + value, sum)
TFLMGEN_REDUCE(tflmgen_requantized_sum_s8, tflmgen_reduce_quantized, int8_t, tflmgen_s32, 0, sum + value,
               tflmgen_clamp_s32(tflmgen_requantized_sum(sum, p), INT8_MIN, INT8_MAX))
#endif
TFLMGEN_REDUCE_TO(tflmgen_wide_sum_s16, tflmgen_reduce, tflmgen_s16, tflmgen_s32, tflmgen_s32, 0, sum + value, sum)
TFLMGEN_REDUCE(tflmgen_requantized_sum_s16, tflmgen_reduce_quantized, tflmgen_s16, tflmgen_s32, 0, sum + value,
               tflmgen_clamp_s32(tflmgen_requantized_sum(sum, p), INT16_MIN, INT16_MAX))
#endif

#if TFLMGEN_HAS_MVE_F32
#define TFLMGEN_RESULTS_DIVIDED(results, output, count)                                                 \
    const uint32x4_t divisor = tflmgen_splat_f32((float)tflmgen_reduced_count(p->reduced));             \
    TFLMGEN_ROW_MVE("32", results, results, output, count, divisor, divisor, divisor, TFLMGEN_WIDEN_32, \
                    "vmov q2, q0\n\tvmov q1, %q[constant1]\n\t" TFLMGEN_DIVIDE_q2_BY_q1, TFLMGEN_WRITE_f32)
#define TFLMGEN_SUMS_BY_ROWS_F32(name, FINISH)                                                           \
    TFLMGEN_REDUCE_BY_ROWS(name, tflmgen_reduce, tflmgen_f32, tflmgen_f32, tflmgen_f32, tflmgen_f32, 0u, \
                           tflmgen_row_sum_f32, tflmgen_column_sums_f32, FINISH)
TFLMGEN_SUMS_BY_ROWS_F32(tflmgen_sum_f32, TFLMGEN_RESULTS_AS_THEY_ARE)
TFLMGEN_SUMS_BY_ROWS_F32(tflmgen_mean_f32, TFLMGEN_RESULTS_DIVIDED)
/* The words are the bits of the least and the greatest float. */
TFLMGEN_REDUCE_BY_ROWS(tflmgen_reduce_max_f32, tflmgen_reduce, tflmgen_f32, tflmgen_f32, tflmgen_u32, tflmgen_u32,
                       0xFF7FFFFFu, tflmgen_row_max_of_f32, tflmgen_column_max_f32, TFLMGEN_RESULTS_AS_THEY_ARE)
TFLMGEN_REDUCE_BY_ROWS(tflmgen_reduce_min_f32, tflmgen_reduce, tflmgen_f32, tflmgen_f32, tflmgen_u32, tflmgen_u32,
                       0x7F7FFFFFu, tflmgen_row_min_of_f32, tflmgen_column_min_f32, TFLMGEN_RESULTS_AS_THEY_ARE)
#else
TFLMGEN_REDUCE(tflmgen_sum_f32, tflmgen_reduce, tflmgen_f32, tflmgen_f32, 0.0f, sum + value, sum)
TFLMGEN_REDUCE(tflmgen_mean_f32, tflmgen_reduce, tflmgen_f32, tflmgen_f32, 0.0f, sum + value,
               sum / (float)tflmgen_reduced_count(p->reduced))
TFLMGEN_REDUCE_EXTREMES(f32, tflmgen_f32, -FLT_MAX, FLT_MAX)
#endif

/* Integer sums and products wrap: they are taken unsigned. */
TFLMGEN_REDUCE(tflmgen_sum_s64, tflmgen_reduce, tflmgen_s64, tflmgen_u64, 0, sum + (uint64_t)value, sum)
TFLMGEN_REDUCE(tflmgen_reduce_prod_f32, tflmgen_reduce, tflmgen_f32, tflmgen_f32, 1.0f, sum *value, sum)
TFLMGEN_REDUCE(tflmgen_reduce_prod_s32, tflmgen_reduce, tflmgen_s32, tflmgen_u32, 1, sum *(uint32_t)value, sum)
TFLMGEN_REDUCE(tflmgen_reduce_prod_s64, tflmgen_reduce, tflmgen_s64, tflmgen_u64, 1, sum *(uint64_t)value, sum)
TFLMGEN_REDUCE(tflmgen_mean_s32, tflmgen_reduce, tflmgen_s32, tflmgen_s64, 0, sum + value,
               sum / tflmgen_reduced_count(p->reduced))

TFLMGEN_REDUCE_EXTREMES(s64, tflmgen_s64, INT64_MIN, INT64_MAX)

TFLMGEN_REDUCE(tflmgen_reduce_any_bool, tflmgen_reduce, tflmgen_bool, tflmgen_bool, false, sum || value, sum)
TFLMGEN_REDUCE(tflmgen_reduce_all_bool, tflmgen_reduce, tflmgen_bool, tflmgen_bool, true, sum &&value, sum)

#endif
