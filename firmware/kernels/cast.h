/* CAST between all element types: tflmgen_cast_<from>_<to>. */
#ifndef TFLMGEN_KERNELS_CAST_H
#define TFLMGEN_KERNELS_CAST_H

#include <math.h>

#include "common.h"

struct tflmgen_cast {
    int32_t elements;
};

/* Floats are cut towards zero. What is out of the range of the wide type that a target goes through becomes its nearest
 * end, and NaN becomes 0, where C leaves it open; narrowing from there wraps. */
TFLMGEN_HELPER int32_t tflmgen_cast_to_32(float value)
{
    if (value >= 2147483648.0f) {
        return INT32_MAX;
    }
    if (value < -2147483648.0f) {
        return INT32_MIN;
    }
    return isnan(value) ? 0 : (int32_t)value;
}

TFLMGEN_HELPER int64_t tflmgen_cast_to_64(float value)
{
    if (value >= 9223372036854775808.0f) {
        return INT64_MAX;
    }
    if (value < -9223372036854775808.0f) {
        return INT64_MIN;
    }
    return isnan(value) ? 0 : (int64_t)value;
}

#define TFLMGEN_DEFINE_CAST(name, from_type, to_type, expression)                                        \
    TFLMGEN_KERNEL void name(const from_type *input, to_type *output, const struct tflmgen_cast *params) \
    {                                                                                                    \
        for (int32_t i = 0; i < params->elements; i++) {                                                 \
            const from_type x = input[i];                                                                \
            output[i] = (to_type)(expression);                                                           \
        }                                                                                                \
    }

TFLMGEN_DEFINE_CAST(tflmgen_cast_f32_s8, tflmgen_f32, int8_t, tflmgen_cast_to_32(x))
TFLMGEN_DEFINE_CAST(tflmgen_cast_f32_u8, tflmgen_f32, uint8_t, tflmgen_cast_to_32(x))
TFLMGEN_DEFINE_CAST(tflmgen_cast_f32_s16, tflmgen_f32, tflmgen_s16, tflmgen_cast_to_32(x))
TFLMGEN_DEFINE_CAST(tflmgen_cast_f32_u16, tflmgen_f32, tflmgen_u16, tflmgen_cast_to_32(x))
TFLMGEN_DEFINE_CAST(tflmgen_cast_f32_s32, tflmgen_f32, tflmgen_s32, tflmgen_cast_to_32(x))
TFLMGEN_DEFINE_CAST(tflmgen_cast_f32_u32, tflmgen_f32, tflmgen_u32, tflmgen_cast_to_64(x))
TFLMGEN_DEFINE_CAST(tflmgen_cast_f32_s64, tflmgen_f32, tflmgen_s64, tflmgen_cast_to_64(x))
TFLMGEN_DEFINE_CAST(tflmgen_cast_f32_b8, tflmgen_f32, tflmgen_bool, !(x <= 0.0f && x >= 0.0f))

#define TFLMGEN_DEFINE_CASTS_FROM(suffix, type)                            \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_s8, type, int8_t, x)       \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_u8, type, uint8_t, x)      \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_s16, type, tflmgen_s16, x) \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_u16, type, tflmgen_u16, x) \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_s32, type, tflmgen_s32, x) \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_u32, type, tflmgen_u32, x) \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_s64, type, tflmgen_s64, x) \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_f32, type, tflmgen_f32, x) \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_b8, type, tflmgen_bool, x != 0)

TFLMGEN_DEFINE_CASTS_FROM(s8, int8_t)
TFLMGEN_DEFINE_CASTS_FROM(u8, uint8_t)
TFLMGEN_DEFINE_CASTS_FROM(s16, tflmgen_s16)
TFLMGEN_DEFINE_CASTS_FROM(u16, tflmgen_u16)
TFLMGEN_DEFINE_CASTS_FROM(s32, tflmgen_s32)
TFLMGEN_DEFINE_CASTS_FROM(u32, tflmgen_u32)
TFLMGEN_DEFINE_CASTS_FROM(s64, tflmgen_s64)

TFLMGEN_DEFINE_CAST(tflmgen_cast_b8_s16, tflmgen_bool, tflmgen_s16, x)
TFLMGEN_DEFINE_CAST(tflmgen_cast_b8_u16, tflmgen_bool, tflmgen_u16, x)
TFLMGEN_DEFINE_CAST(tflmgen_cast_b8_s32, tflmgen_bool, tflmgen_s32, x)
TFLMGEN_DEFINE_CAST(tflmgen_cast_b8_u32, tflmgen_bool, tflmgen_u32, x)
TFLMGEN_DEFINE_CAST(tflmgen_cast_b8_s64, tflmgen_bool, tflmgen_s64, x)
TFLMGEN_DEFINE_CAST(tflmgen_cast_b8_f32, tflmgen_bool, tflmgen_f32, x)

#endif
