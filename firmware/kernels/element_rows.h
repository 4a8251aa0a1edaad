/* Rows of elements by vectors: the innermost loops of portable kernels of one or two operands on cores with MVE.
 *
 * A loop reads an operand to q0, or two to q0 and q1; OPERATION leaves in q0 what is written, and may change q2 and q3.
 * The vectors va and vb are the same for all elements. LETP stops at the last element. A vector is read as a whole
 * before its results are written: the output may lie over inputs wherever it may for one element after the other.
 * Floats below FLT_MIN count as zero.
 */
#ifndef TFLMGEN_KERNELS_ELEMENT_ROWS_H
#define TFLMGEN_KERNELS_ELEMENT_ROWS_H

#include "mve.h"
#include "nest.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* Elements, and results, of as many lanes as a vector has of them. */
#define TFLMGEN_LANES_s8 "8"
#define TFLMGEN_LANES_s16 "16"
#define TFLMGEN_LANES_s32 "32"
#define TFLMGEN_LANES_f32 "32"
#define TFLMGEN_READ_s8(q, from) "vldrb.8 " q ", [%[" from "]], #16\n\t"
#define TFLMGEN_READ_s16(q, from) "vldrh.16 " q ", [%[" from "]], #16\n\t"
#define TFLMGEN_READ_s32(q, from) "vldrw.32 " q ", [%[" from "]], #16\n\t"
#define TFLMGEN_READ_f32(q, from) TFLMGEN_READ_s32(q, from)
#define TFLMGEN_WRITE_s8 "vstrb.8 q0, [%[to]], #16\n\t"
#define TFLMGEN_WRITE_s16 "vstrh.16 q0, [%[to]], #16\n\t"
#define TFLMGEN_WRITE_s32 "vstrw.32 q0, [%[to]], #16\n\t"
#define TFLMGEN_WRITE_f32 TFLMGEN_WRITE_s32

/* Of four lanes: what is widened to 32 bits, and what wraps to fewer. */
#define TFLMGEN_WIDEN_s8 "vldrb.s32 q0, [%[from1]], #4\n\t"
#define TFLMGEN_WIDEN_u8 "vldrb.u32 q0, [%[from1]], #4\n\t"
#define TFLMGEN_WIDEN_s16 "vldrh.s32 q0, [%[from1]], #8\n\t"
#define TFLMGEN_WIDEN_u16 "vldrh.u32 q0, [%[from1]], #8\n\t"
#define TFLMGEN_WIDEN_32 "vldrw.32 q0, [%[from1]], #16\n\t"
#define TFLMGEN_NARROW_8 "vstrb.32 q0, [%[to]], #4\n\t"
#define TFLMGEN_NARROW_16 "vstrh.32 q0, [%[to]], #8\n\t"
#define TFLMGEN_NARROW_32 TFLMGEN_WRITE_s32

/* Bools by what VCMP left: va is TFLMGEN_TRUES. */
#define TFLMGEN_TRUES vreinterpretq_u32_u8(vdupq_n_u8(1))
#define TFLMGEN_BOOLS_s8 "vpsel q0, %q[va], %q[vb]\n\t" TFLMGEN_WRITE_s8
#define TFLMGEN_BOOLS_s16 "vpsel q0, %q[va], %q[vb]\n\tvstrb.16 q0, [%[to]], #8\n\t"
#define TFLMGEN_BOOLS_s32 "vpsel q0, %q[va], %q[vb]\n\t" TFLMGEN_NARROW_8

#define TFLMGEN_ZEROS_MVE vdupq_n_u32(0)

/* Ends of the instructions' names, for which the sign matters and for which it does not. */
#define TFLMGEN_SIGNED_s8 ".s8 "
#define TFLMGEN_SIGNED_s16 ".s16 "
#define TFLMGEN_SIGNED_s32 ".s32 "
#define TFLMGEN_SIGNED_f32 ".f32 "
#define TFLMGEN_UNSIGNED_s8 ".i8 "
#define TFLMGEN_UNSIGNED_s16 ".i16 "
#define TFLMGEN_UNSIGNED_s32 ".i32 "
#define TFLMGEN_UNSIGNED_f32 ".f32 "

/* The vector with `value` in each lane of a type. */
#define TFLMGEN_DEFINE_LANES(kind, type)                       \
    TFLMGEN_HELPER uint32x4_t tflmgen_lanes_##kind(type value) \
    {                                                          \
        return (uint32x4_t)vdupq_n_##kind(value);              \
    }
TFLMGEN_DEFINE_LANES(s8, int8_t)
TFLMGEN_DEFINE_LANES(s16, tflmgen_s16)
TFLMGEN_DEFINE_LANES(s32, tflmgen_s32)
#if TFLMGEN_HAS_MVE_F32
TFLMGEN_DEFINE_LANES(f32, tflmgen_f32)

/* To va and vb; NaN stays, which is not greater than anything. */
#define TFLMGEN_CLAMP_q0_f32      \
    "vcmp.f32 gt, %q[va], q0\n\t" \
    "vpsel q0, %q[va], q0\n\t"    \
    "vcmp.f32 gt, q0, %q[vb]\n\t" \
    "vpsel q0, %q[vb], q0\n\t"

/* As there is none of vectors: 4 VDIV, 4 VSQRT. */
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

/* A row of `elements`; READS, OPERATION and WRITE are assembly. */
#define TFLMGEN_ROW_MVE(lanes, row1, row2, output, elements, va_, vb_, one_, READS, OPERATION, WRITE) \
    do {                                                                                              \
        const void *from1 = (row1), *from2 = (row2);                                                  \
        void *to = (output);                                                                          \
        __asm__ volatile("wlstp." lanes " lr, %[count], 2f\n"                                         \
                         "1:\n\t" READS OPERATION WRITE "letp lr, 1b\n"                               \
                         "2:"                                                                         \
                         : [from1] "+l"(from1), [from2] "+l"(from2), [to] "+l"(to)                    \
                         : [va] "w"(va_), [vb] "w"(vb_), [one] "w"(one_), [count] "r"(elements)       \
                         : "lr", "q0", "q1", "q2", "q3", "cc", "memory");                             \
    } while (0)

/* A kernel on two tensors. OPERATION is a macro of the elements' kind and the names of the two operands' registers, of
 * which one is another than q0 and q1 where all of a row meet a single element; va and vb are made of the params. */
#define TFLMGEN_DEFINE_BINARY_ROWS(name, type, result, params_struct, expression, kind, OPERATION, WRITE, va, vb)    \
    TFLMGEN_KERNEL void name(const type *input1, const type *input2, result *output,                                 \
                             const struct params_struct *params)                                                     \
    {                                                                                                                \
        const int32_t count = params->extent[params->rank - 1];                                                      \
        const uint32x4_t a = (va), b = (vb);                                                                         \
        if (!params->stride2[params->rank - 1]) {                                                                    \
            TFLMGEN_EACH_BINARY_ROW(type, input1, input2, output, params,                                            \
                                    TFLMGEN_ROW_MVE(TFLMGEN_LANES_##kind, row1, row2, output, count, a, b,           \
                                                    tflmgen_lanes_##kind(*row2), TFLMGEN_READ_##kind("q0", "from1"), \
                                                    OPERATION(kind, "q0", "%q[one]"), WRITE##_##kind));              \
        } else if (!params->stride1[params->rank - 1]) {                                                             \
            TFLMGEN_EACH_BINARY_ROW(type, input1, input2, output, params,                                            \
                                    TFLMGEN_ROW_MVE(TFLMGEN_LANES_##kind, row1, row2, output, count, a, b,           \
                                                    tflmgen_lanes_##kind(*row1), TFLMGEN_READ_##kind("q1", "from2"), \
                                                    OPERATION(kind, "%q[one]", "q1"), WRITE##_##kind));              \
        } else {                                                                                                     \
            TFLMGEN_EACH_BINARY_ROW(type, input1, input2, output, params,                                            \
                                    TFLMGEN_ROW_MVE(TFLMGEN_LANES_##kind, row1, row2, output, count, a, b, a,        \
                                                    TFLMGEN_READ_##kind("q0", "from1")                               \
                                                        TFLMGEN_READ_##kind("q1", "from2"),                          \
                                                    OPERATION(kind, "q0", "q1"), WRITE##_##kind));                   \
        }                                                                                                            \
    }

/* A kernel on one tensor, of as many elements as its params say. */
#define TFLMGEN_DEFINE_UNARY_ROW_MVE(name, type, result, params_struct, lanes, READ, OPERATION, WRITE, va, vb) \
    TFLMGEN_KERNEL void name(const type *input, result *output, const struct params_struct *params)            \
    {                                                                                                          \
        const uint32x4_t a = (va), b = (vb);                                                                   \
        TFLMGEN_ROW_MVE(lanes, input, input, output, params->elements, a, b, a, READ, OPERATION, WRITE);       \
    }
#else
#define TFLMGEN_DEFINE_BINARY_ROWS(name, type, result, params_struct, expression, kind, OPERATION, WRITE, va, vb) \
    TFLMGEN_DEFINE_BINARY(name, type, result, params_struct, expression)
#endif

/* The same of floats, which not every core with MVE has vectors of. */
#if TFLMGEN_HAS_MVE_F32
#define TFLMGEN_DEFINE_BINARY_ROWS_F32(name, params_struct, expression, OPERATION, WRITE, va, vb) \
    TFLMGEN_DEFINE_BINARY_ROWS(name, tflmgen_f32, tflmgen_f32, params_struct, expression, f32, OPERATION, WRITE, va, vb)
#else
#define TFLMGEN_DEFINE_BINARY_ROWS_F32(name, params_struct, expression, OPERATION, WRITE, va, vb) \
    TFLMGEN_DEFINE_BINARY(name, tflmgen_f32, tflmgen_f32, params_struct, expression)
#endif

#endif
