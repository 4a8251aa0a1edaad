/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* From sums of int8 or int16 elements to the outputs of MEAN, SUM and AVERAGE_POOL_2D. A sliding window keeps the sums
 * from call to call, and adds and takes away rows of elements.
 */
#ifndef TFLMGEN_KERNELS_ROUNDED_SUMS_H
#define TFLMGEN_KERNELS_ROUNDED_SUMS_H

#include "reduced_rows.h"
#include "requantize.h"

struct tflmgen_requantized_sums {
    int32_t elements;
    int32_t offset; /* added to each sum */
    int32_t multiplier;
    int32_t shift;
    int32_t output_zero_point;
};

struct tflmgen_averaged_sums {
    int32_t elements;
    int32_t count; /* of the elements in each sum */
    int32_t output_min;
    int32_t output_max;
};

/* Of MEAN and SUM, as in reduce.h, a mean has its division in the multiplier; AVERAGE_POOL_2D rounds halves away from
 * zero, as in pool2d.h. */
#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
#define TFLMGEN_REQUANTIZED_SUMS(suffix, element, least, greatest)                                      \
    TFLMGEN_KERNEL void tflmgen_requantized_sums_##suffix(const tflmgen_s32 *sums, element *output,     \
                                                          const struct tflmgen_requantized_sums *p)     \
    {                                                                                                   \
        tflmgen_requantized_row_##suffix(sums, output, p->elements, p->offset, p->multiplier, p->shift, \
                                         p->output_zero_point);                                         \
    }
#define TFLMGEN_AVERAGED_SUMS(suffix, element)                                                            \
    TFLMGEN_KERNEL void tflmgen_averaged_sums_##suffix(const tflmgen_s32 *sums, element *output,          \
                                                       const struct tflmgen_averaged_sums *p)             \
    {                                                                                                     \
        tflmgen_averaged_row_##suffix(sums, output, p->elements, p->count, p->output_min, p->output_max); \
    }
#else
#define TFLMGEN_REQUANTIZED_SUMS(suffix, element, least, greatest)                                  \
    TFLMGEN_KERNEL void tflmgen_requantized_sums_##suffix(const tflmgen_s32 *sums, element *output, \
                                                          const struct tflmgen_requantized_sums *p) \
    {                                                                                               \
        for (int32_t i = 0; i < p->elements; ++i) {                                                 \
            const int32_t sum = tflmgen_add_wrap_s32(sums[i], p->offset);                           \
            const int32_t scaled = tflmgen_requantize(sum, p->multiplier, p->shift);                \
            const int32_t result = tflmgen_add_wrap_s32(scaled, p->output_zero_point);              \
            output[i] = (element)tflmgen_clamp_s32(result, least, greatest);                        \
        }                                                                                           \
    }

#define TFLMGEN_AVERAGED_SUMS(suffix, element)                                                   \
    TFLMGEN_KERNEL void tflmgen_averaged_sums_##suffix(const tflmgen_s32 *sums, element *output, \
                                                       const struct tflmgen_averaged_sums *p)    \
    {                                                                                            \
        for (int32_t i = 0; i < p->elements; ++i) {                                              \
            const int32_t sum = sums[i];                                                         \
            const int32_t mean = (sum > 0 ? sum + p->count / 2 : sum - p->count / 2) / p->count; \
            output[i] = (element)tflmgen_clamp_s32(mean, p->output_min, p->output_max);          \
        }                                                                                        \
    }
#endif

TFLMGEN_REQUANTIZED_SUMS(s8, int8_t, INT8_MIN, INT8_MAX)
TFLMGEN_REQUANTIZED_SUMS(s16, tflmgen_s16, INT16_MIN, INT16_MAX)
TFLMGEN_AVERAGED_SUMS(s8, int8_t)
TFLMGEN_AVERAGED_SUMS(s16, tflmgen_s16)

#endif
