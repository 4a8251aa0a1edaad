/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, and the LOGICAL operators. */
#ifndef TFLMGEN_KERNELS_COMPARISON_H
#define TFLMGEN_KERNELS_COMPARISON_H

#include "element_rows.h"
#include "requantize.h"

/* OPERATIONs of element_rows.h, which leave predicates for TFLMGEN_BOOLS. LT and LE of VCMP hold for NaN, and so they
 * are not used. */
#define TFLMGEN_EQUAL_q0(suffix, first, second) "vcmp" TFLMGEN_ANY_SIGN_##suffix "eq, " first ", " second "\n\t"
#define TFLMGEN_NOT_EQUAL_q0(suffix, first, second) "vcmp" TFLMGEN_ANY_SIGN_##suffix "ne, " first ", " second "\n\t"
#define TFLMGEN_GREATER_q0(suffix, first, second) "vcmp" TFLMGEN_SIGNED_##suffix "gt, " first ", " second "\n\t"
#define TFLMGEN_GREATER_EQUAL_q0(suffix, first, second) "vcmp" TFLMGEN_SIGNED_##suffix "ge, " first ", " second "\n\t"
#define TFLMGEN_LESS_q0(suffix, first, second) TFLMGEN_GREATER_q0(suffix, second, first)
#define TFLMGEN_LESS_EQUAL_q0(suffix, first, second) TFLMGEN_GREATER_EQUAL_q0(suffix, second, first)

#define TFLMGEN_DEFINE_COMPARISON(name, OPERATION, type, suffix, expression)                                      \
    TFLMGEN_DEFINE_BINARY_ROWS(tflmgen_##name##_##suffix, type, tflmgen_bool, tflmgen_binary, expression, suffix, \
                               OPERATION, TFLMGEN_BOOLS, TFLMGEN_TRUES, TFLMGEN_ZEROS_MVE)
/* Not by vectors: of int64 there are none, and those of floats take denormal numbers for zero, which would decide an If
 * or a While otherwise. */
#define TFLMGEN_DEFINE_SCALAR_COMPARISON(name, OPERATION, type, suffix, expression) \
    TFLMGEN_DEFINE_BINARY(tflmgen_##name##_##suffix, type, tflmgen_bool, tflmgen_binary, expression)

#define TFLMGEN_DEFINE_ORDER(DEFINE, type, suffix)                  \
    DEFINE(less, TFLMGEN_LESS_q0, type, suffix, a < b)              \
    DEFINE(less_equal, TFLMGEN_LESS_EQUAL_q0, type, suffix, a <= b) \
    DEFINE(greater, TFLMGEN_GREATER_q0, type, suffix, a > b)        \
    DEFINE(greater_equal, TFLMGEN_GREATER_EQUAL_q0, type, suffix, a >= b)

#define TFLMGEN_DEFINE_EQUALITY(DEFINE, type, suffix)     \
    DEFINE(equal, TFLMGEN_EQUAL_q0, type, suffix, a == b) \
    DEFINE(not_equal, TFLMGEN_NOT_EQUAL_q0, type, suffix, a != b)

/* Floats are equal as IEEE 754 says: NaN equals nothing. Two inequalities spare a warning that means well. */
TFLMGEN_DEFINE_SCALAR_COMPARISON(equal, TFLMGEN_EQUAL_q0, tflmgen_f32, f32, a <= b && a >= b)
TFLMGEN_DEFINE_SCALAR_COMPARISON(not_equal, TFLMGEN_NOT_EQUAL_q0, tflmgen_f32, f32, !(a <= b && a >= b))
TFLMGEN_DEFINE_ORDER(TFLMGEN_DEFINE_SCALAR_COMPARISON, tflmgen_f32, f32)

TFLMGEN_DEFINE_EQUALITY(TFLMGEN_DEFINE_COMPARISON, tflmgen_s16, s16)
TFLMGEN_DEFINE_EQUALITY(TFLMGEN_DEFINE_COMPARISON, tflmgen_s32, s32)
TFLMGEN_DEFINE_EQUALITY(TFLMGEN_DEFINE_SCALAR_COMPARISON, tflmgen_s64, s64)
TFLMGEN_DEFINE_ORDER(TFLMGEN_DEFINE_COMPARISON, tflmgen_s16, s16)
TFLMGEN_DEFINE_ORDER(TFLMGEN_DEFINE_COMPARISON, tflmgen_s32, s32)
TFLMGEN_DEFINE_ORDER(TFLMGEN_DEFINE_SCALAR_COMPARISON, tflmgen_s64, s64)
TFLMGEN_DEFINE_BINARY(tflmgen_equal_b8, tflmgen_bool, tflmgen_bool, tflmgen_binary, a == b)
TFLMGEN_DEFINE_BINARY(tflmgen_not_equal_b8, tflmgen_bool, tflmgen_bool, tflmgen_binary, a != b)

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

#define TFLMGEN_AND_q0(suffix, first, second) "vand q0, " first ", " second "\n\t"
#define TFLMGEN_OR_q0(suffix, first, second) "vorr q0, " first ", " second "\n\t"

TFLMGEN_DEFINE_BINARY_ROWS(tflmgen_logical_and_b8, tflmgen_bool, tflmgen_bool, tflmgen_binary, a &&b, s8,
                           TFLMGEN_AND_q0, TFLMGEN_WRITE, TFLMGEN_ZEROS_MVE, TFLMGEN_ZEROS_MVE)
TFLMGEN_DEFINE_BINARY_ROWS(tflmgen_logical_or_b8, tflmgen_bool, tflmgen_bool, tflmgen_binary, a || b, s8, TFLMGEN_OR_q0,
                           TFLMGEN_WRITE, TFLMGEN_ZEROS_MVE, TFLMGEN_ZEROS_MVE)

#endif
