/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Operators on two tensors, element by element, in floats and plain integers: MAXIMUM, DIV, POW and their like. */
#ifndef TFLMGEN_KERNELS_BINARY_H
#define TFLMGEN_KERNELS_BINARY_H

#include <math.h>

#include "dsp.h"
#include "element_rows.h"

/* OPERATIONs of element_rows.h: q0 of the elements of two operands. */
#define TFLMGEN_MAX_q0(suffix, first, second) "vmax" TFLMGEN_SIGNED_##suffix "q0, " first ", " second "\n\t"
#define TFLMGEN_MIN_q0(suffix, first, second) "vmin" TFLMGEN_SIGNED_##suffix "q0, " first ", " second "\n\t"
#define TFLMGEN_MAX_q0_F32(suffix, first, second) \
    "vcmp.f32 gt, " first ", " second "\n\tvpsel q0, " first ", " second "\n\t"
#define TFLMGEN_MIN_q0_F32(suffix, first, second) \
    "vcmp.f32 gt, " second ", " first "\n\tvpsel q0, " first ", " second "\n\t"

#define TFLMGEN_DEFINE_EXTREMES(suffix, type)                                                               \
    TFLMGEN_DEFINE_BINARY_ROWS(tflmgen_maximum_##suffix, type, type, tflmgen_binary, a > b ? a : b, suffix, \
                               TFLMGEN_MAX_q0, TFLMGEN_WRITE, TFLMGEN_ZEROS_MVE, TFLMGEN_ZEROS_MVE)         \
    TFLMGEN_DEFINE_BINARY_ROWS(tflmgen_minimum_##suffix, type, type, tflmgen_binary, a < b ? a : b, suffix, \
                               TFLMGEN_MIN_q0, TFLMGEN_WRITE, TFLMGEN_ZEROS_MVE, TFLMGEN_ZEROS_MVE)

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP && !(defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE)
/* Tensors of one shape (dense), or one of any shape and a single element (one): by words of `lanes` elements, 2 LDR,
 * SSUB, SEL, STR and 2 to loop, or a LDR less. A word is read before its results are written: the output may lie over
 * inputs as for one element after the other.
 *
 *   SPLAT(element)     the word with the element in each lane
 *   EXTREME(x, y)      the words' greater or lesser lanes
 *   expression         the same of the elements `a` and `b` */
#define TFLMGEN_DEFINE_EXTREME_DSP(name, type, lanes, SPLAT, EXTREME, expression)                         \
    TFLMGEN_SHARED void name##_dense(const type *input1, const type *input2, type *output, int32_t count) \
    {                                                                                                     \
        for (; count >= lanes; count -= lanes, input1 += lanes, input2 += lanes, output += lanes) {       \
            tflmgen_store4(output, EXTREME(tflmgen_load4(input1), tflmgen_load4(input2)));                \
        }                                                                                                 \
        for (; count > 0; --count) {                                                                      \
            const type a = *input1++, b = *input2++;                                                      \
            *output++ = expression;                                                                       \
        }                                                                                                 \
    }                                                                                                     \
    TFLMGEN_SHARED void name##_one(const type *input, type b, type *output, int32_t count)                \
    {                                                                                                     \
        const uint32_t broadcast = SPLAT(b);                                                              \
        for (; count >= lanes; count -= lanes, input += lanes, output += lanes) {                         \
            tflmgen_store4(output, EXTREME(tflmgen_load4(input), broadcast));                             \
        }                                                                                                 \
        for (; count > 0; --count) {                                                                      \
            const type a = *input++;                                                                      \
            *output++ = expression;                                                                       \
        }                                                                                                 \
    }                                                                                                     \
    TFLMGEN_DEFINE_BINARY(name##_nest, type, type, tflmgen_binary, expression)                            \
    TFLMGEN_KERNEL void name(const type *input1, const type *input2, type *output,                        \
                             const struct tflmgen_binary *params)                                         \
    {                                                                                                     \
        const int32_t count = params->extent[0];                                                          \
        if (params->rank > 1) {                                                                           \
            name##_nest(input1, input2, output, params);                                                  \
        } else if (!params->stride2[0]) {                                                                 \
            name##_one(input1, *input2, output, count);                                                   \
        } else if (!params->stride1[0]) {                                                                 \
            name##_one(input2, *input1, output, count);                                                   \
        } else {                                                                                          \
            name##_dense(input1, input2, output, count);                                                  \
        }                                                                                                 \
    }
#define TFLMGEN_DEFINE_EXTREMES_DSP(suffix, type, lanes, SPLAT)                                                 \
    TFLMGEN_DEFINE_EXTREME_DSP(tflmgen_maximum_##suffix, type, lanes, SPLAT, tflmgen_max##lanes, a > b ? a : b) \
    TFLMGEN_DEFINE_EXTREME_DSP(tflmgen_minimum_##suffix, type, lanes, SPLAT, tflmgen_min##lanes, a < b ? a : b)

TFLMGEN_DEFINE_EXTREMES_DSP(s8, int8_t, 4, tflmgen_splat4)
TFLMGEN_DEFINE_EXTREMES_DSP(s16, tflmgen_s16, 2, tflmgen_splat2)
#else
TFLMGEN_DEFINE_EXTREMES(s8, int8_t)
TFLMGEN_DEFINE_EXTREMES(s16, tflmgen_s16)
#endif
TFLMGEN_DEFINE_EXTREMES(s32, tflmgen_s32)

TFLMGEN_DEFINE_BINARY_ROWS_F32(tflmgen_maximum_f32, tflmgen_binary, a > b ? a : b, TFLMGEN_MAX_q0_F32, TFLMGEN_WRITE,
                               TFLMGEN_ZEROS_MVE, TFLMGEN_ZEROS_MVE)
TFLMGEN_DEFINE_BINARY_ROWS_F32(tflmgen_minimum_f32, tflmgen_binary, a < b ? a : b, TFLMGEN_MIN_q0_F32, TFLMGEN_WRITE,
                               TFLMGEN_ZEROS_MVE, TFLMGEN_ZEROS_MVE)
TFLMGEN_DEFINE_BINARY(tflmgen_maximum_u8, uint8_t, uint8_t, tflmgen_binary, a > b ? a : b)
TFLMGEN_DEFINE_BINARY(tflmgen_minimum_u8, uint8_t, uint8_t, tflmgen_binary, a < b ? a : b)
TFLMGEN_DEFINE_BINARY(tflmgen_maximum_s64, tflmgen_s64, tflmgen_s64, tflmgen_binary, a > b ? a : b)
TFLMGEN_DEFINE_BINARY(tflmgen_minimum_s64, tflmgen_s64, tflmgen_s64, tflmgen_binary, a < b ? a : b)

/* Integer division never traps: by 0 it gives 0, and the least integer by -1 wraps to itself. */
#define TFLMGEN_DEFINE_DIVISION(suffix, type, least)                                                             \
    TFLMGEN_HELPER type tflmgen_quotient_##suffix(type a, type b)                                                \
    {                                                                                                            \
        if (b == 0) {                                                                                            \
            return 0;                                                                                            \
        }                                                                                                        \
        return a == least && b == -1 ? least : (type)(a / b);                                                    \
    }                                                                                                            \
    TFLMGEN_HELPER type tflmgen_remainder_##suffix(type a, type b)                                               \
    {                                                                                                            \
        return b == 0 || b == -1 ? 0 : (type)(a % b);                                                            \
    }                                                                                                            \
    TFLMGEN_HELPER type tflmgen_floor_quotient_##suffix(type a, type b)                                          \
    {                                                                                                            \
        const type remainder = tflmgen_remainder_##suffix(a, b);                                                 \
        return (type)(tflmgen_quotient_##suffix(a, b) - (remainder != 0 && (remainder < 0) != (b < 0) ? 1 : 0)); \
    }                                                                                                            \
    TFLMGEN_HELPER type tflmgen_floor_remainder_##suffix(type a, type b)                                         \
    {                                                                                                            \
        const type remainder = tflmgen_remainder_##suffix(a, b);                                                 \
        return (type)(remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder);                 \
    }                                                                                                            \
    TFLMGEN_DEFINE_BINARY(tflmgen_floor_div_##suffix, type, type, tflmgen_binary,                                \
                          tflmgen_floor_quotient_##suffix(a, b))                                                 \
    TFLMGEN_DEFINE_BINARY(tflmgen_floor_mod_##suffix, type, type, tflmgen_binary,                                \
                          tflmgen_floor_remainder_##suffix(a, b))

TFLMGEN_DEFINE_DIVISION(s32, tflmgen_s32, INT32_MIN)
TFLMGEN_DEFINE_DIVISION(s64, tflmgen_s64, INT64_MIN)

/* The quotient is rounded down from double precision: in single precision it could round up to the next integer. */
TFLMGEN_DEFINE_BINARY(tflmgen_floor_div_f32, tflmgen_f32, tflmgen_f32, tflmgen_binary, floor((double)a / (double)b))

TFLMGEN_HELPER float tflmgen_floor_remainder_f32(float a, float b)
{
    const float remainder = fmodf(a, b);
    const bool is_zero = remainder <= 0.0f && remainder >= 0.0f;
    return !is_zero && (remainder < 0.0f) != (b < 0.0f) ? remainder + b : remainder;
}

TFLMGEN_DEFINE_BINARY(tflmgen_floor_mod_f32, tflmgen_f32, tflmgen_f32, tflmgen_binary,
                      tflmgen_floor_remainder_f32(a, b))

struct tflmgen_div_f32 {
    TFLMGEN_BINARY_NEST
    float least;
    float greatest;
};

struct tflmgen_div_s32 {
    TFLMGEN_BINARY_NEST
    int32_t least;
    int32_t greatest;
};

#define TFLMGEN_QUOTIENTS_q0(suffix, first, second) \
    "vmov q2, " first "\n\tvmov q1, " second "\n\t" TFLMGEN_DIVIDE_q2_BY_q1 TFLMGEN_CLAMP_q0_f32

TFLMGEN_DEFINE_BINARY_ROWS_F32(tflmgen_div_f32, tflmgen_div_f32,
                               tflmgen_clamp_f32(a / b, params->least, params->greatest), TFLMGEN_QUOTIENTS_q0,
                               TFLMGEN_WRITE, tflmgen_splat_f32(params->least), tflmgen_splat_f32(params->greatest))
TFLMGEN_DEFINE_BINARY(tflmgen_div_s32, tflmgen_s32, tflmgen_s32, tflmgen_div_s32,
                      tflmgen_clamp_s32(tflmgen_quotient_s32(a, b), params->least, params->greatest))

TFLMGEN_DEFINE_BINARY(tflmgen_atan2_f32, tflmgen_f32, tflmgen_f32, tflmgen_binary, atan2f(a, b))
TFLMGEN_DEFINE_BINARY(tflmgen_pow_f32, tflmgen_f32, tflmgen_f32, tflmgen_binary, powf(a, b))

/* Wraps; a negative exponent gives 0 but for the bases 1 and -1. */
TFLMGEN_HELPER int32_t tflmgen_power_s32(int32_t base, int32_t exponent)
{
    if (exponent < 0) {
        return base == 1 ? 1 : base == -1 ? ((exponent & 1) != 0 ? -1 : 1) : 0;
    }
    uint32_t result = 1;
    uint32_t square = (uint32_t)base;
    for (uint32_t bits = (uint32_t)exponent; bits != 0; bits >>= 1) {
        if ((bits & 1u) != 0) {
            result *= square;
        }
        square *= square;
    }
    return (int32_t)result;
}

TFLMGEN_DEFINE_BINARY(tflmgen_pow_s32, tflmgen_s32, tflmgen_s32, tflmgen_binary, tflmgen_power_s32(a, b))

#define TFLMGEN_SQUARES_q0(suffix, first, second) \
    "vsub" TFLMGEN_ANY_SIGN_##suffix "q0, " first ", " second "\n\tvmul" TFLMGEN_ANY_SIGN_##suffix "q0, q0, q0\n\t"
#define TFLMGEN_PRELU_q0(suffix, first, second) \
    "vmul.f32 q2, " first ", " second "\n\tvcmp.f32 ge, " first ", zr\n\tvpsel q0, " first ", q2\n\t"

TFLMGEN_DEFINE_BINARY_ROWS_F32(tflmgen_squared_difference_f32, tflmgen_binary, (a - b) * (a - b), TFLMGEN_SQUARES_q0,
                               TFLMGEN_WRITE, TFLMGEN_ZEROS_MVE, TFLMGEN_ZEROS_MVE)
TFLMGEN_DEFINE_BINARY_ROWS(tflmgen_squared_difference_s32, tflmgen_s32, tflmgen_s32, tflmgen_binary,
                           ((uint32_t)a - (uint32_t)b) * ((uint32_t)a - (uint32_t)b), s32, TFLMGEN_SQUARES_q0,
                           TFLMGEN_WRITE, TFLMGEN_ZEROS_MVE, TFLMGEN_ZEROS_MVE)
TFLMGEN_DEFINE_BINARY_ROWS_F32(tflmgen_prelu_f32, tflmgen_binary, a >= 0.0f ? a : a * b, TFLMGEN_PRELU_q0,
                               TFLMGEN_WRITE, TFLMGEN_ZEROS_MVE, TFLMGEN_ZEROS_MVE)

TFLMGEN_DEFINE_BINARY(tflmgen_bitwise_xor_s8, int8_t, int8_t, tflmgen_binary, a ^ b)
TFLMGEN_DEFINE_BINARY(tflmgen_bitwise_xor_u8, uint8_t, uint8_t, tflmgen_binary, a ^ b)
TFLMGEN_DEFINE_BINARY(tflmgen_bitwise_xor_s16, tflmgen_s16, tflmgen_s16, tflmgen_binary, a ^ b)
TFLMGEN_DEFINE_BINARY(tflmgen_bitwise_xor_u16, tflmgen_u16, tflmgen_u16, tflmgen_binary, a ^ b)
TFLMGEN_DEFINE_BINARY(tflmgen_bitwise_xor_s32, tflmgen_s32, tflmgen_s32, tflmgen_binary, a ^ b)
TFLMGEN_DEFINE_BINARY(tflmgen_bitwise_xor_u32, tflmgen_u32, tflmgen_u32, tflmgen_binary, a ^ b)
TFLMGEN_DEFINE_BINARY(tflmgen_bitwise_xor_b8, tflmgen_bool, tflmgen_bool, tflmgen_binary, a != b)

/* Counts out of range count as 0 or as all bits but one, so that the sign remains. */
#define TFLMGEN_DEFINE_RIGHT_SHIFT(suffix, type, count) \
    TFLMGEN_DEFINE_BINARY(tflmgen_right_shift_##suffix, type, type, tflmgen_binary, a >> (count))

TFLMGEN_DEFINE_RIGHT_SHIFT(s8, int8_t, tflmgen_clamp_s32(b, 0, 7))
TFLMGEN_DEFINE_RIGHT_SHIFT(s16, tflmgen_s16, tflmgen_clamp_s32(b, 0, 15))
TFLMGEN_DEFINE_RIGHT_SHIFT(s32, tflmgen_s32, tflmgen_clamp_s32(b, 0, 31))
TFLMGEN_DEFINE_RIGHT_SHIFT(u8, uint8_t, b > 7 ? 7 : b)
TFLMGEN_DEFINE_RIGHT_SHIFT(u16, tflmgen_u16, b > 15 ? 15 : b)
TFLMGEN_DEFINE_RIGHT_SHIFT(u32, tflmgen_u32, b > 31 ? 31 : b)

/* A count out of range, also a negative one, leaves no bit. */
#define TFLMGEN_DEFINE_BITS(suffix, type, bits)                                                      \
    TFLMGEN_DEFINE_BINARY(tflmgen_stablehlo_and_##suffix, type, type, tflmgen_binary, (type)(a & b)) \
    TFLMGEN_DEFINE_BINARY(tflmgen_stablehlo_shift_left_##suffix, type, type, tflmgen_binary,         \
                          (type)((uint32_t)b < bits ? (uint32_t)a << b : 0))

TFLMGEN_DEFINE_BITS(s8, int8_t, 8)
TFLMGEN_DEFINE_BITS(u8, uint8_t, 8)
TFLMGEN_DEFINE_BITS(s16, tflmgen_s16, 16)
TFLMGEN_DEFINE_BITS(u16, tflmgen_u16, 16)
TFLMGEN_DEFINE_BITS(s32, tflmgen_s32, 32)
TFLMGEN_DEFINE_BITS(u32, tflmgen_u32, 32)

#endif
