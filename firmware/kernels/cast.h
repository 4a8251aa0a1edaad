/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CAST between all element types: tflmgen_cast_<from>_<to>. */
#ifndef TFLMGEN_KERNELS_CAST_H
#define TFLMGEN_KERNELS_CAST_H

#include <math.h>

#include "element_rows.h"

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

/* By vectors of four: READ to q0, OPERATION and WRITE of element_rows.h. VCVT of floats to integers is that of
 * tflmgen_cast_to_32. */
#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
#define TFLMGEN_DEFINE_CAST_ROW(from, to, from_type, to_type, expression, READ, OPERATION, WRITE)                     \
    TFLMGEN_DEFINE_UNARY_ROW_MVE(tflmgen_cast_##from##_##to, from_type, to_type, tflmgen_cast, "32", READ, OPERATION, \
                                 WRITE, TFLMGEN_TRUES, TFLMGEN_ZEROS_MVE)
#else
#define TFLMGEN_DEFINE_CAST_ROW(from, to, from_type, to_type, expression, READ, OPERATION, WRITE) \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##from##_##to, from_type, to_type, expression)
#endif
#if TFLMGEN_HAS_MVE_F32
#define TFLMGEN_DEFINE_CAST_ROW_F32 TFLMGEN_DEFINE_CAST_ROW
#else
#define TFLMGEN_DEFINE_CAST_ROW_F32(from, to, from_type, to_type, expression, READ, OPERATION, WRITE) \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##from##_##to, from_type, to_type, expression)
#endif

#define TFLMGEN_DEFINE_CAST_F32(to, to_type, WRITE)                                                     \
    TFLMGEN_DEFINE_CAST_ROW_F32(f32, to, tflmgen_f32, to_type, tflmgen_cast_to_32(x), TFLMGEN_WIDEN_32, \
                                "vcvt.s32.f32 q0, q0\n\t", WRITE)
TFLMGEN_DEFINE_CAST_F32(s8, int8_t, TFLMGEN_NARROW_8)
TFLMGEN_DEFINE_CAST_F32(u8, uint8_t, TFLMGEN_NARROW_8)
TFLMGEN_DEFINE_CAST_F32(s16, tflmgen_s16, TFLMGEN_NARROW_16)
TFLMGEN_DEFINE_CAST_F32(u16, tflmgen_u16, TFLMGEN_NARROW_16)
TFLMGEN_DEFINE_CAST_F32(s32, tflmgen_s32, TFLMGEN_NARROW_32)
TFLMGEN_DEFINE_CAST(tflmgen_cast_f32_u32, tflmgen_f32, tflmgen_u32, tflmgen_cast_to_64(x))
TFLMGEN_DEFINE_CAST(tflmgen_cast_f32_s64, tflmgen_f32, tflmgen_s64, tflmgen_cast_to_64(x))
TFLMGEN_DEFINE_CAST_ROW_F32(f32, b8, tflmgen_f32, tflmgen_bool, !(x <= 0.0f && x >= 0.0f), TFLMGEN_WIDEN_32,
                            "vshl.i32 q0, q0, #1\n\tvcmp.i32 ne, q0, zr\n\t", TFLMGEN_BOOLS_s32)

/* `sign`: of the elements, s or u. */
#define TFLMGEN_DEFINE_CASTS_FROM(suffix, type, READ, sign)                                                \
    TFLMGEN_DEFINE_CAST_ROW(suffix, s8, type, int8_t, x, READ, , TFLMGEN_NARROW_8)                         \
    TFLMGEN_DEFINE_CAST_ROW(suffix, u8, type, uint8_t, x, READ, , TFLMGEN_NARROW_8)                        \
    TFLMGEN_DEFINE_CAST_ROW(suffix, s16, type, tflmgen_s16, x, READ, , TFLMGEN_NARROW_16)                  \
    TFLMGEN_DEFINE_CAST_ROW(suffix, u16, type, tflmgen_u16, x, READ, , TFLMGEN_NARROW_16)                  \
    TFLMGEN_DEFINE_CAST_ROW(suffix, s32, type, tflmgen_s32, x, READ, , TFLMGEN_NARROW_32)                  \
    TFLMGEN_DEFINE_CAST_ROW(suffix, u32, type, tflmgen_u32, x, READ, , TFLMGEN_NARROW_32)                  \
    TFLMGEN_DEFINE_CAST(tflmgen_cast_##suffix##_s64, type, tflmgen_s64, x)                                 \
    TFLMGEN_DEFINE_CAST_ROW_F32(suffix, f32, type, tflmgen_f32, x, READ, "vcvt.f32." sign "32 q0, q0\n\t", \
                                TFLMGEN_NARROW_32)                                                         \
    TFLMGEN_DEFINE_CAST_ROW(suffix, b8, type, tflmgen_bool, x != 0, READ, "vcmp.i32 ne, q0, zr\n\t", TFLMGEN_BOOLS_s32)

TFLMGEN_DEFINE_CASTS_FROM(s8, int8_t, TFLMGEN_WIDEN_s8, "s")
TFLMGEN_DEFINE_CASTS_FROM(u8, uint8_t, TFLMGEN_WIDEN_u8, "u")
TFLMGEN_DEFINE_CASTS_FROM(s16, tflmgen_s16, TFLMGEN_WIDEN_s16, "s")
TFLMGEN_DEFINE_CASTS_FROM(u16, tflmgen_u16, TFLMGEN_WIDEN_u16, "u")
TFLMGEN_DEFINE_CASTS_FROM(s32, tflmgen_s32, TFLMGEN_WIDEN_32, "s")
TFLMGEN_DEFINE_CASTS_FROM(u32, tflmgen_u32, TFLMGEN_WIDEN_32, "u")

#define TFLMGEN_DEFINE_CASTS_FROM_S64(suffix, type) TFLMGEN_DEFINE_CAST(tflmgen_cast_s64_##suffix, tflmgen_s64, type, x)
TFLMGEN_DEFINE_CASTS_FROM_S64(s8, int8_t)
TFLMGEN_DEFINE_CASTS_FROM_S64(u8, uint8_t)
TFLMGEN_DEFINE_CASTS_FROM_S64(s16, tflmgen_s16)
TFLMGEN_DEFINE_CASTS_FROM_S64(u16, tflmgen_u16)
TFLMGEN_DEFINE_CASTS_FROM_S64(s32, tflmgen_s32)
TFLMGEN_DEFINE_CASTS_FROM_S64(u32, tflmgen_u32)
TFLMGEN_DEFINE_CASTS_FROM_S64(s64, tflmgen_s64)
TFLMGEN_DEFINE_CASTS_FROM_S64(f32, tflmgen_f32)
TFLMGEN_DEFINE_CAST(tflmgen_cast_s64_b8, tflmgen_s64, tflmgen_bool, x != 0)

#define TFLMGEN_DEFINE_CAST_B8(to, to_type, WRITE) \
    TFLMGEN_DEFINE_CAST_ROW(b8, to, tflmgen_bool, to_type, x, TFLMGEN_WIDEN_u8, , WRITE)
TFLMGEN_DEFINE_CAST_B8(s16, tflmgen_s16, TFLMGEN_NARROW_16)
TFLMGEN_DEFINE_CAST_B8(u16, tflmgen_u16, TFLMGEN_NARROW_16)
TFLMGEN_DEFINE_CAST_B8(s32, tflmgen_s32, TFLMGEN_NARROW_32)
TFLMGEN_DEFINE_CAST_B8(u32, tflmgen_u32, TFLMGEN_NARROW_32)
TFLMGEN_DEFINE_CAST(tflmgen_cast_b8_s64, tflmgen_bool, tflmgen_s64, x)
TFLMGEN_DEFINE_CAST_ROW_F32(b8, f32, tflmgen_bool, tflmgen_f32, x, TFLMGEN_WIDEN_u8, "vcvt.f32.u32 q0, q0\n\t",
                            TFLMGEN_NARROW_32)

#endif
