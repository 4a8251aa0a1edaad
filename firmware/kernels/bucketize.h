/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* BUCKETIZE: for each element the number of boundaries, which ascend, that are no greater. */
#ifndef TFLMGEN_KERNELS_BUCKETIZE_H
#define TFLMGEN_KERNELS_BUCKETIZE_H

#include "common.h"

struct tflmgen_bucketize {
    int32_t elements;
    int32_t boundaries;
};

/* By bisection. Integers are compared as floats; NaN is behind every boundary. */
#define TFLMGEN_DEFINE_BUCKETIZE(name, type)                                                        \
    TFLMGEN_KERNEL void name(const type *input, const tflmgen_f32 *boundaries, tflmgen_s32 *output, \
                             const struct tflmgen_bucketize *params)                                \
    {                                                                                               \
        for (int32_t i = 0; i < params->elements; i++) {                                            \
            const float value = (float)input[i];                                                    \
            int32_t first = 0, count = params->boundaries;                                          \
            while (count > 0) {                                                                     \
                const int32_t half = count >> 1;                                                    \
                if (value < boundaries[first + half]) {                                             \
                    count = half;                                                                   \
                } else {                                                                            \
                    first += half + 1;                                                              \
                    count -= half + 1;                                                              \
                }                                                                                   \
            }                                                                                       \
            output[i] = first;                                                                      \
        }                                                                                           \
    }

TFLMGEN_DEFINE_BUCKETIZE(tflmgen_bucketize_f32, tflmgen_f32)
TFLMGEN_DEFINE_BUCKETIZE(tflmgen_bucketize_s32, tflmgen_s32)
TFLMGEN_DEFINE_BUCKETIZE(tflmgen_bucketize_s64, tflmgen_s64)

#endif
