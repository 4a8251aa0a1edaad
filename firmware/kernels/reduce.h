/* MEAN, SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_ANY, REDUCE_ALL.
 *
 * The outputs follow one another along the kept loops (outermost first); each takes in the values along the reduced
 * loops, in the input's order. Strides are in elements of the input. An output is written after its inputs were read,
 * and lies no further than they do, so the output may lie over the input where their elements have the same size.
 */
#ifndef TFLMGEN_KERNELS_REDUCE_H
#define TFLMGEN_KERNELS_REDUCE_H

#include <float.h>

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
                const element *line = input + a * p->kept_strides[0] + b * p->kept_strides[1];                  \
                for (int32_t c = 0; c < p->kept[2]; ++c) {                                                      \
                    const element *first = line + c * p->kept_strides[2];                                       \
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

/* Integer sums and products wrap: they are taken unsigned. */
TFLMGEN_REDUCE(tflmgen_sum_f32, tflmgen_reduce, tflmgen_f32, tflmgen_f32, 0.0f, sum + value, sum)
TFLMGEN_REDUCE(tflmgen_sum_s32, tflmgen_reduce, tflmgen_s32, tflmgen_u32, 0, sum + (uint32_t)value, sum)
TFLMGEN_REDUCE(tflmgen_sum_s64, tflmgen_reduce, tflmgen_s64, tflmgen_u64, 0, sum + (uint64_t)value, sum)
TFLMGEN_REDUCE(tflmgen_reduce_prod_f32, tflmgen_reduce, tflmgen_f32, tflmgen_f32, 1.0f, sum *value, sum)
TFLMGEN_REDUCE(tflmgen_reduce_prod_s32, tflmgen_reduce, tflmgen_s32, tflmgen_u32, 1, sum *(uint32_t)value, sum)
TFLMGEN_REDUCE(tflmgen_reduce_prod_s64, tflmgen_reduce, tflmgen_s64, tflmgen_u64, 1, sum *(uint64_t)value, sum)
TFLMGEN_REDUCE(tflmgen_mean_f32, tflmgen_reduce, tflmgen_f32, tflmgen_f32, 0.0f, sum + value,
               sum / (float)tflmgen_reduced_count(p->reduced))
TFLMGEN_REDUCE(tflmgen_mean_s32, tflmgen_reduce, tflmgen_s32, tflmgen_s64, 0, sum + value,
               sum / tflmgen_reduced_count(p->reduced))

#define TFLMGEN_REDUCE_EXTREMES(suffix, element, least, greatest)                                                      \
    TFLMGEN_REDUCE(tflmgen_reduce_max_##suffix, tflmgen_reduce, element, element, least, value > sum ? value : sum,    \
                   sum)                                                                                                \
    TFLMGEN_REDUCE(tflmgen_reduce_min_##suffix, tflmgen_reduce, element, element, greatest, value < sum ? value : sum, \
                   sum)

TFLMGEN_REDUCE_EXTREMES(f32, tflmgen_f32, -FLT_MAX, FLT_MAX)
TFLMGEN_REDUCE_EXTREMES(s8, int8_t, INT8_MIN, INT8_MAX)
TFLMGEN_REDUCE_EXTREMES(s16, tflmgen_s16, INT16_MIN, INT16_MAX)
TFLMGEN_REDUCE_EXTREMES(s32, tflmgen_s32, INT32_MIN, INT32_MAX)
TFLMGEN_REDUCE_EXTREMES(s64, tflmgen_s64, INT64_MIN, INT64_MAX)

TFLMGEN_REDUCE(tflmgen_reduce_any_bool, tflmgen_reduce, tflmgen_bool, tflmgen_bool, false, sum || value, sum)
TFLMGEN_REDUCE(tflmgen_reduce_all_bool, tflmgen_reduce, tflmgen_bool, tflmgen_bool, true, sum &&value, sum)

/* A sum of quantised values, requantised. A mean has its division in the multiplier. */
TFLMGEN_HELPER int32_t tflmgen_requantized_sum(int32_t sum, const struct tflmgen_reduce_quantized *p)
{
    const int32_t scaled = tflmgen_requantize(tflmgen_add_wrap_s32(sum, p->offset), p->multiplier, p->shift);
    return tflmgen_add_wrap_s32(scaled, p->output_zero_point);
}

/* Sums as they are, for a sliding window, which keeps them (rounded_sums.h). */
TFLMGEN_REDUCE_TO(tflmgen_wide_sum_s8, tflmgen_reduce, int8_t, tflmgen_s32, tflmgen_s32, 0, sum + value, sum)
TFLMGEN_REDUCE_TO(tflmgen_wide_sum_s16, tflmgen_reduce, tflmgen_s16, tflmgen_s32, tflmgen_s32, 0, sum + value, sum)

TFLMGEN_REDUCE(tflmgen_requantized_sum_s8, tflmgen_reduce_quantized, int8_t, tflmgen_s32, 0, sum + value,
               tflmgen_clamp_s32(tflmgen_requantized_sum(sum, p), INT8_MIN, INT8_MAX))
TFLMGEN_REDUCE(tflmgen_requantized_sum_s16, tflmgen_reduce_quantized, tflmgen_s16, tflmgen_s32, 0, sum + value,
               tflmgen_clamp_s32(tflmgen_requantized_sum(sum, p), INT16_MIN, INT16_MAX))

#endif
