/* EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, and the LOGICAL operators. */
#ifndef TFLMGEN_KERNELS_COMPARISON_H
#define TFLMGEN_KERNELS_COMPARISON_H

#include "nest.h"
#include "requantize.h"

#define TFLMGEN_DEFINE_ORDER(suffix, type)                                                         \
    TFLMGEN_DEFINE_BINARY(tflmgen_less_##suffix, type, tflmgen_bool, tflmgen_binary, a < b)        \
    TFLMGEN_DEFINE_BINARY(tflmgen_less_equal_##suffix, type, tflmgen_bool, tflmgen_binary, a <= b) \
    TFLMGEN_DEFINE_BINARY(tflmgen_greater_##suffix, type, tflmgen_bool, tflmgen_binary, a > b)     \
    TFLMGEN_DEFINE_BINARY(tflmgen_greater_equal_##suffix, type, tflmgen_bool, tflmgen_binary, a >= b)

/* Floats are equal as IEEE 754 says: NaN equals nothing. Two inequalities spare a warning that means well. */
TFLMGEN_DEFINE_BINARY(tflmgen_equal_f32, tflmgen_f32, tflmgen_bool, tflmgen_binary, a <= b && a >= b)
TFLMGEN_DEFINE_BINARY(tflmgen_not_equal_f32, tflmgen_f32, tflmgen_bool, tflmgen_binary, !(a <= b && a >= b))
TFLMGEN_DEFINE_ORDER(f32, tflmgen_f32)

#define TFLMGEN_DEFINE_EQUALITY(suffix, type)                                                 \
    TFLMGEN_DEFINE_BINARY(tflmgen_equal_##suffix, type, tflmgen_bool, tflmgen_binary, a == b) \
    TFLMGEN_DEFINE_BINARY(tflmgen_not_equal_##suffix, type, tflmgen_bool, tflmgen_binary, a != b)

TFLMGEN_DEFINE_EQUALITY(b8, tflmgen_bool)
TFLMGEN_DEFINE_EQUALITY(s16, tflmgen_s16)
TFLMGEN_DEFINE_EQUALITY(s32, tflmgen_s32)
TFLMGEN_DEFINE_EQUALITY(s64, tflmgen_s64)
TFLMGEN_DEFINE_ORDER(s16, tflmgen_s16)
TFLMGEN_DEFINE_ORDER(s32, tflmgen_s32)
TFLMGEN_DEFINE_ORDER(s64, tflmgen_s64)

/* Quantised elements are compared as multiples of 1/256, to which both inputs are rounded. */
struct tflmgen_compare_quantized {
    TFLMGEN_BINARY_NEST
    int32_t offset1; /* minus the zero point */
    int32_t multiplier1;
    int32_t shift1;
    int32_t offset2;
    int32_t multiplier2;
    int32_t shift2;
};

TFLMGEN_HELPER int32_t tflmgen_compare_scale(int32_t centred, int32_t multiplier, int32_t shift)
{
    return tflmgen_requantize(centred * 256, multiplier, shift);
}

#define TFLMGEN_DEFINE_COMPARE_QUANTIZED(name, operator)                                                            \
    TFLMGEN_DEFINE_BINARY(name, int8_t, tflmgen_bool, tflmgen_compare_quantized,                                    \
                          tflmgen_compare_scale(a + params->offset1, params->multiplier1,                           \
                                                params->shift1) operator tflmgen_compare_scale(b + params->offset2, \
                                                                                               params->multiplier2, \
                                                                                               params->shift2))

TFLMGEN_DEFINE_COMPARE_QUANTIZED(tflmgen_equal_s8, ==)
TFLMGEN_DEFINE_COMPARE_QUANTIZED(tflmgen_not_equal_s8, !=)
TFLMGEN_DEFINE_COMPARE_QUANTIZED(tflmgen_less_s8, <)
TFLMGEN_DEFINE_COMPARE_QUANTIZED(tflmgen_less_equal_s8, <=)
TFLMGEN_DEFINE_COMPARE_QUANTIZED(tflmgen_greater_s8, >)
TFLMGEN_DEFINE_COMPARE_QUANTIZED(tflmgen_greater_equal_s8, >=)

TFLMGEN_DEFINE_BINARY(tflmgen_logical_and_b8, tflmgen_bool, tflmgen_bool, tflmgen_binary, a &&b)
TFLMGEN_DEFINE_BINARY(tflmgen_logical_or_b8, tflmgen_bool, tflmgen_bool, tflmgen_binary, a || b)

#endif
