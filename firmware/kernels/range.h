/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* RANGE: output[i] = start + i * step. */
#ifndef TFLMGEN_KERNELS_RANGE_H
#define TFLMGEN_KERNELS_RANGE_H

#include "common.h"

struct tflmgen_range {
    int32_t elements;
};

#define TFLMGEN_DEFINE_RANGE(name, type, sum_type)                                                                  \
    TFLMGEN_KERNEL void name(const type *start, const type *step, type *output, const struct tflmgen_range *params) \
    {                                                                                                               \
        sum_type value = (sum_type) * start;                                                                        \
        for (int32_t i = 0; i < params->elements; i++) {                                                            \
            output[i] = (type)value;                                                                                \
            value += (sum_type) * step;                                                                             \
        }                                                                                                           \
    }

TFLMGEN_DEFINE_RANGE(tflmgen_range_f32, tflmgen_f32, tflmgen_f32)
TFLMGEN_DEFINE_RANGE(tflmgen_range_s32, tflmgen_s32, tflmgen_u32)
TFLMGEN_DEFINE_RANGE(tflmgen_range_s64, tflmgen_s64, tflmgen_u64)

#endif
