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

TFLMGEN_DEFINE_CAST(tflmgen_cast_f32_s8, float, int8_t, tflmgen_cast_to_32(x))
TFLMGEN_DEFINE_CAST(tflmgen_cast_f32_u8, float, uint8_t, tflmgen_cast_to_32(x))
TFLMGEN_DEFINE_CAST(tflmgen_cast_f32_s16, float, int16_t, tflmgen_cast_to_32(x))
TFLMGEN_DEFINE_CAST(tflmgen_cast_f32_u16, float, uint16_t, tflmgen_cast_to_32(x))
TFLMGEN_DEFINE_CAST(tflmgen_cast_f32_s32, float, int32_t, tflmgen_cast_to_32(x))
TFLMGEN_DEFINE_CAST(tflmgen_cast_f32_u32, float, uint32_t, tflmgen_cast_to_64(x))
TFLMGEN_DEFINE_CAST(tflmgen_cast_f32_s64, float, int64_t, tflmgen_cast_to_64(x))
TFLMGEN_DEFINE_CAST(tflmgen_cast_f32_b8, float, bool, !(x <= 0.0f && x >= 0.0f))

#define TFLMGEN_DEFINE_CASTS_FROM(suffix, type)                         \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_s8, type, int8_t, x)    \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_u8, type, uint8_t, x)   \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_s16, type, int16_t, x)  \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_u16, type, uint16_t, x) \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_s32, type, int32_t, x)  \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_u32, type, uint32_t, x) \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_s64, type, int64_t, x)  \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_f32, type, float, x)    \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_b8, type, bool, x != 0)

TFLMGEN_DEFINE_CASTS_FROM(s8, int8_t)
TFLMGEN_DEFINE_CASTS_FROM(u8, uint8_t)
TFLMGEN_DEFINE_CASTS_FROM(s16, int16_t)
TFLMGEN_DEFINE_CASTS_FROM(u16, uint16_t)
TFLMGEN_DEFINE_CASTS_FROM(s32, int32_t)
TFLMGEN_DEFINE_CASTS_FROM(u32, uint32_t)
TFLMGEN_DEFINE_CASTS_FROM(s64, int64_t)

TFLMGEN_DEFINE_CAST(tflmgen_cast_b8_s16, bool, int16_t, x)
TFLMGEN_DEFINE_CAST(tflmgen_cast_b8_u16, bool, uint16_t, x)
TFLMGEN_DEFINE_CAST(tflmgen_cast_b8_s32, bool, int32_t, x)
TFLMGEN_DEFINE_CAST(tflmgen_cast_b8_u32, bool, uint32_t, x)
TFLMGEN_DEFINE_CAST(tflmgen_cast_b8_s64, bool, int64_t, x)
TFLMGEN_DEFINE_CAST(tflmgen_cast_b8_f32, bool, float, x)

#endif
