/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* MEAN of integers over dimensions known at run time only. What is not in use is a zero (the zero point), so that the
 * sums are those of the largest tensor; what they are divided by is the number of elements in use. The mean of none is
 * 0, whatever the zero point, as in TFLite's reference/reduce.h. */
#ifndef TFLMGEN_KERNELS_MEAN_IN_USE_H
#define TFLMGEN_KERNELS_MEAN_IN_USE_H

#include "fixed_point.h"
#include "reduce.h"

/* The multiplier of the sum divided by the count, which keeps as many bits as TFLite's reference/reduce.h does. */
#define TFLMGEN_MEAN_IN_USE(suffix, element)                                                                          \
    TFLMGEN_KERNEL void tflmgen_mean_in_use_##suffix(const element *input, const tflmgen_s32 *count, element *output, \
                                                     const struct tflmgen_reduce_quantized *params)                   \
    {                                                                                                                 \
        struct tflmgen_reduce_quantized mean = *params;                                                               \
        if (*count == 0) {                                                                                            \
            mean.multiplier = 0;                                                                                      \
            mean.output_zero_point = 0;                                                                               \
        } else {                                                                                                      \
            const int32_t bits = tflmgen_min_s32(31 - tflmgen_leading_zeros((uint32_t)*count), 31 + params->shift);   \
            mean.multiplier = (int32_t)((int64_t)params->multiplier * ((int64_t)1 << bits) / *count);                 \
            mean.shift = params->shift - bits;                                                                        \
        }                                                                                                             \
        tflmgen_requantized_sum_##suffix(input, output, &mean);                                                       \
    }

TFLMGEN_MEAN_IN_USE(s8, int8_t)
TFLMGEN_MEAN_IN_USE(s16, tflmgen_s16)

struct tflmgen_counted_mean {
    TFLMGEN_REDUCE_FIELDS
    int32_t count;
};

TFLMGEN_REDUCE(tflmgen_counted_mean_s32, tflmgen_counted_mean, tflmgen_s32, tflmgen_s64, 0, sum + value, sum / p->count)

TFLMGEN_KERNEL void tflmgen_mean_in_use_s32(const tflmgen_s32 *input, const tflmgen_s32 *count, tflmgen_s32 *output,
                                            const struct tflmgen_counted_mean *params)
{
    struct tflmgen_counted_mean mean = *params;
    mean.count = tflmgen_max_s32(*count, 1);
    tflmgen_counted_mean_s32(input, output, &mean);
}

#endif
