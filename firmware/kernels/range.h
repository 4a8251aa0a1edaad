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

TFLMGEN_DEFINE_RANGE(tflmgen_range_f32, float, float)
TFLMGEN_DEFINE_RANGE(tflmgen_range_s32, int32_t, uint32_t)
TFLMGEN_DEFINE_RANGE(tflmgen_range_s64, int64_t, uint64_t)

#endif
