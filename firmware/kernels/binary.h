/* Operators on two tensors, element by element, without quantised arithmetic: MAXIMUM, MINIMUM and their like. */
#ifndef TFLMGEN_KERNELS_BINARY_H
#define TFLMGEN_KERNELS_BINARY_H

#include "nest.h"

#define TFLMGEN_DEFINE_MAXIMUM_MINIMUM(suffix, type)                                            \
    TFLMGEN_DEFINE_BINARY(tflmgen_maximum_##suffix, type, type, tflmgen_binary, a > b ? a : b) \
    TFLMGEN_DEFINE_BINARY(tflmgen_minimum_##suffix, type, type, tflmgen_binary, a < b ? a : b)

TFLMGEN_DEFINE_MAXIMUM_MINIMUM(f32, float)
TFLMGEN_DEFINE_MAXIMUM_MINIMUM(s8, int8_t)
TFLMGEN_DEFINE_MAXIMUM_MINIMUM(u8, uint8_t)
TFLMGEN_DEFINE_MAXIMUM_MINIMUM(s16, int16_t)
TFLMGEN_DEFINE_MAXIMUM_MINIMUM(s32, int32_t)
TFLMGEN_DEFINE_MAXIMUM_MINIMUM(s64, int64_t)

#endif
