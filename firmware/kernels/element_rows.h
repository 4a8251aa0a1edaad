/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Rows of elements by vectors: the innermost loops of portable kernels of one or two operands on cores with MVE.
 *
 * TFLMGEN_ROW_MVE is the loop over one row. Its assembly is put together from macros for the type of the elements,
 * whose names end with the suffix that arm_mve.h has for it: s8, s16, s32 or f32. MAXIMUM of two int8 rows becomes
 *
 *     wlstp.8 lr, %[count], 2f          TFLMGEN_LANE_BITS_s8
 *     1:
 *     vldrb.8 q0, [%[first]], #16       TFLMGEN_READ_s8("q0", "first")
 *     vldrb.8 q1, [%[second]], #16      TFLMGEN_READ_s8("q1", "second")
 *     vmax.s8 q0, q0, q1                TFLMGEN_MAX_q0(s8, "q0", "q1"), the OPERATION
 *     vstrb.8 q0, [%[result]], #16      TFLMGEN_WRITE_s8
 *     letp lr, 1b
 *     2:
 *
 * and where all of a first row meet a single second element, which is in all lanes of the vector `broadcast`, the
 * second READ is left out, and the operation is TFLMGEN_MAX_q0(s8, "q0", "%q[broadcast]").
 *
 * An OPERATION leaves in q0 what is written, and may change q1, q2 and q3. The vectors constant1 and constant2 are the
 * same for all elements: the limits of a range, for example. LETP stops at the last element. A vector is read as a
 * whole before its results are written: the output may lie over inputs wherever it may for one element after the
 * other. Floats below FLT_MIN count as zero.
 */
#ifndef TFLMGEN_KERNELS_ELEMENT_ROWS_H
#define TFLMGEN_KERNELS_ELEMENT_ROWS_H

#include "mve.h"
#include "nest.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* Vectors full of elements: the bits of a lane, READ to a register, WRITE from q0. */
#define TFLMGEN_LANE_BITS_s8 "8"
#define TFLMGEN_LANE_BITS_s16 "16"
#define TFLMGEN_LANE_BITS_s32 "32"
#define TFLMGEN_LANE_BITS_f32 "32"
#define TFLMGEN_READ_s8(q, pointer) "vldrb.8 " q ", [%[" pointer "]], #16\n\t"
#define TFLMGEN_READ_s16(q, pointer) "vldrh.16 " q ", [%[" pointer "]], #16\n\t"
#define TFLMGEN_READ_s32(q, pointer) "vldrw.32 " q ", [%[" pointer "]], #16\n\t"
#define TFLMGEN_READ_f32(q, pointer) TFLMGEN_READ_s32(q, pointer)
#define TFLMGEN_WRITE_s8 "vstrb.8 q0, [%[result]], #16\n\t"
#define TFLMGEN_WRITE_s16 "vstrh.16 q0, [%[result]], #16\n\t"
#define TFLMGEN_WRITE_s32 "vstrw.32 q0, [%[result]], #16\n\t"
#define TFLMGEN_WRITE_f32 TFLMGEN_WRITE_s32

/* Vectors of four elements: read and widened to 32 bits each, or written and wrapped to fewer. */
#define TFLMGEN_WIDEN_s8 "vldrb.s32 q0, [%[first]], #4\n\t"
#define TFLMGEN_WIDEN_u8 "vldrb.u32 q0, [%[first]], #4\n\t"
#define TFLMGEN_WIDEN_s16 "vldrh.s32 q0, [%[first]], #8\n\t"
#define TFLMGEN_WIDEN_u16 "vldrh.u32 q0, [%[first]], #8\n\t"
#define TFLMGEN_WIDEN_32 "vldrw.32 q0, [%[first]], #16\n\t"
#define TFLMGEN_NARROW_8 "vstrb.32 q0, [%[result]], #4\n\t"
#define TFLMGEN_NARROW_16 "vstrh.32 q0, [%[result]], #8\n\t"
#define TFLMGEN_NARROW_32 TFLMGEN_WRITE_s32

/* Writes the bools that VCMP left as predicates: constant1 is TFLMGEN_TRUES, constant2 TFLMGEN_ZEROS_MVE. */
#define TFLMGEN_TRUES vreinterpretq_u32_u8(vdupq_n_u8(1))
#define TFLMGEN_BOOLS_s8 "vpsel q0, %q[constant1], %q[constant2]\n\t" TFLMGEN_WRITE_s8
#define TFLMGEN_BOOLS_s16 "vpsel q0, %q[constant1], %q[constant2]\n\tvstrb.16 q0, [%[result]], #8\n\t"
#define TFLMGEN_BOOLS_s32 "vpsel q0, %q[constant1], %q[constant2]\n\t" TFLMGEN_NARROW_8

#define TFLMGEN_ZEROS_MVE vdupq_n_u32(0)

/* Ends of the names of instructions: of those for which the sign matters, and of those for which it does not. */
#define TFLMGEN_SIGNED_s8 ".s8 "
#define TFLMGEN_SIGNED_s16 ".s16 "
#define TFLMGEN_SIGNED_s32 ".s32 "
#define TFLMGEN_SIGNED_f32 ".f32 "
#define TFLMGEN_ANY_SIGN_s8 ".i8 "
#define TFLMGEN_ANY_SIGN_s16 ".i16 "
#define TFLMGEN_ANY_SIGN_s32 ".i32 "
#define TFLMGEN_ANY_SIGN_f32 ".f32 "

/* The vector with `value` in each lane. */
#define TFLMGEN_DEFINE_SPLAT(suffix, type)                       \
    TFLMGEN_HELPER uint32x4_t tflmgen_splat_##suffix(type value) \
    {                                                            \
        return (uint32x4_t)vdupq_n_##suffix(value);              \
    }
TFLMGEN_DEFINE_SPLAT(s8, int8_t)
TFLMGEN_DEFINE_SPLAT(s16, tflmgen_s16)
TFLMGEN_DEFINE_SPLAT(s32, tflmgen_s32)
#if TFLMGEN_HAS_MVE_F32
TFLMGEN_DEFINE_SPLAT(f32, tflmgen_f32)

/* The range from constant1 to constant2; NaN stays, which is not greater than anything. */
#define TFLMGEN_CLAMP_q0_f32             \
    "vcmp.f32 gt, %q[constant1], q0\n\t" \
    "vpsel q0, %q[constant1], q0\n\t"    \
    "vcmp.f32 gt, q0, %q[constant2]\n\t" \
    "vpsel q0, %q[constant2], q0\n\t"

/* q0 = q2 / q1, and q0 = sqrt(q0), lane by lane, as there is neither for vectors: 4 VDIV, 4 VSQRT. */
#define TFLMGEN_DIVIDE_q2_BY_q1 \
    "vdiv.f32 s0, s8, s4\n\t"   \
    "vdiv.f32 s1, s9, s5\n\t"   \
    "vdiv.f32 s2, s10, s6\n\t"  \
    "vdiv.f32 s3, s11, s7\n\t"
#define TFLMGEN_ROOTS_OF_q0 \
    "vsqrt.f32 s0, s0\n\t"  \
    "vsqrt.f32 s1, s1\n\t"  \
    "vsqrt.f32 s2, s2\n\t"  \
    "vsqrt.f32 s3, s3\n\t"
#endif

/* The loop over a row.
 *
 *   lane_bits         a string, "8", "16" or "32": LETP counts elements of a lane each
 *   first_row, second_row, result_row    pointers, to %[first], %[second] and %[result]; the same where READS has one
 *   elements          of the row
 *   vector1, vector2  %q[constant1] and %q[constant2]
 *   broadcast_vector  %q[broadcast]: a single element in all lanes, or any vector
 *   READS, OPERATION, WRITE              assembly */
#define TFLMGEN_ROW_MVE(lane_bits, first_row, second_row, result_row, elements, vector1, vector2, broadcast_vector, \
                        READS, OPERATION, WRITE)                                                                    \
    do {                                                                                                            \
        const void *first = (first_row), *second = (second_row);                                                    \
        void *result = (result_row);                                                                                \
        __asm__ volatile("wlstp." lane_bits " lr, %[count], 2f\n"                                                   \
                         "1:\n\t" READS OPERATION WRITE "letp lr, 1b\n"                                             \
                         "2:"                                                                                       \
                         : [first] "+l"(first), [second] "+l"(second), [result] "+l"(result)                        \
                         : [constant1] "w"(vector1), [constant2] "w"(vector2), [broadcast] "w"(broadcast_vector),   \
                           [count] "r"(elements)                                                                    \
                         : "lr", "q0", "q1", "q2", "q3", "cc", "memory");                                           \
    } while (0)

/* A kernel on two tensors.
 *
 *   name, params_struct   of the kernel, and of its parameters, which begin with TFLMGEN_BINARY_NEST
 *   type, result          of the inputs' elements, and of the output's
 *   expression            of `a` and `b`: the output's element, on cores without MVE (nest.h)
 *   suffix                of the inputs' type
 *   OPERATION             a macro of the suffix and the registers of the first and of the second operand
 *   WRITE                 TFLMGEN_WRITE or TFLMGEN_BOOLS, which get the suffix
 *   constant1, constant2  vectors, which may be made of `params` */
#define TFLMGEN_DEFINE_BINARY_ROWS(name, type, result, params_struct, expression, suffix, OPERATION, WRITE, constant1, \
                                   constant2)                                                                          \
    TFLMGEN_KERNEL void name(const type *input1, const type *input2, result *output,                                   \
                             const struct params_struct *params)                                                       \
    {                                                                                                                  \
        const int32_t count = params->extent[params->rank - 1];                                                        \
        const uint32x4_t vector1 = (constant1), vector2 = (constant2);                                                 \
        if (!params->stride2[params->rank - 1]) {                                                                      \
            TFLMGEN_EACH_BINARY_ROW(type, input1, input2, output, params,                                              \
                                    TFLMGEN_ROW_MVE(TFLMGEN_LANE_BITS_##suffix, row1, row2, output, count, vector1,    \
                                                    vector2, tflmgen_splat_##suffix(*row2),                            \
                                                    TFLMGEN_READ_##suffix("q0", "first"),                              \
                                                    OPERATION(suffix, "q0", "%q[broadcast]"), WRITE##_##suffix));      \
        } else if (!params->stride1[params->rank - 1]) {                                                               \
            TFLMGEN_EACH_BINARY_ROW(type, input1, input2, output, params,                                              \
                                    TFLMGEN_ROW_MVE(TFLMGEN_LANE_BITS_##suffix, row1, row2, output, count, vector1,    \
                                                    vector2, tflmgen_splat_##suffix(*row1),                            \
                                                    TFLMGEN_READ_##suffix("q1", "second"),                             \
                                                    OPERATION(suffix, "%q[broadcast]", "q1"), WRITE##_##suffix));      \
        } else {                                                                                                       \
            TFLMGEN_EACH_BINARY_ROW(                                                                                   \
                type, input1, input2, output, params,                                                                  \
                TFLMGEN_ROW_MVE(TFLMGEN_LANE_BITS_##suffix, row1, row2, output, count, vector1, vector2, vector1,      \
                                TFLMGEN_READ_##suffix("q0", "first") TFLMGEN_READ_##suffix("q1", "second"),            \
                                OPERATION(suffix, "q0", "q1"), WRITE##_##suffix));                                     \
        }                                                                                                              \
    }

/* A kernel on one tensor, of as many elements as its params say. Parameters as above; READ is to q0. */
#define TFLMGEN_DEFINE_UNARY_ROW_MVE(name, type, result, params_struct, lane_bits, READ, OPERATION, WRITE, constant1,  \
                                     constant2)                                                                        \
    TFLMGEN_KERNEL void name(const type *input, result *output, const struct params_struct *params)                    \
    {                                                                                                                  \
        const uint32x4_t vector1 = (constant1), vector2 = (constant2);                                                 \
        TFLMGEN_ROW_MVE(lane_bits, input, input, output, params->elements, vector1, vector2, vector1, READ, OPERATION, \
                        WRITE);                                                                                        \
    }
#else
#define TFLMGEN_DEFINE_BINARY_ROWS(name, type, result, params_struct, expression, suffix, OPERATION, WRITE, constant1, \
                                   constant2)                                                                          \
    TFLMGEN_DEFINE_BINARY(name, type, result, params_struct, expression)
#endif

/* The same of floats, which not every core with MVE has vectors of. */
#if TFLMGEN_HAS_MVE_F32
#define TFLMGEN_DEFINE_BINARY_ROWS_F32(name, params_struct, expression, OPERATION, WRITE, constant1, constant2)  \
    TFLMGEN_DEFINE_BINARY_ROWS(name, tflmgen_f32, tflmgen_f32, params_struct, expression, f32, OPERATION, WRITE, \
                               constant1, constant2)
#else
#define TFLMGEN_DEFINE_BINARY_ROWS_F32(name, params_struct, expression, OPERATION, WRITE, constant1, constant2) \
    TFLMGEN_DEFINE_BINARY(name, tflmgen_f32, tflmgen_f32, params_struct, expression)
#endif

#endif
