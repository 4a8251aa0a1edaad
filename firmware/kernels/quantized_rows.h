/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Rows of quantised elements by vectors: the innermost loops of arithmetic.h, quantized_binary.h and quantize.h on
 * cores with MVE.
 *
 * Four elements at a time, in 32 bits; LETP stops at the last one. Of operators on two tensors, a row meets a row
 * (`rows` in the names), or a single element (`one`), the scalar. The operands are named for what is done with them,
 * whichever of them is the operator's first:
 *
 *     requantized    its elements are shifted to the left, for precision, and requantised to the other one's scale
 *     multiplied     its elements are multiplied by a power of two, which is exact
 */
#ifndef TFLMGEN_KERNELS_QUANTIZED_ROWS_H
#define TFLMGEN_KERNELS_QUANTIZED_ROWS_H

#include "mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* What all rows of a call of ADD, SUB or MUL in int16 have in common. */
struct tflmgen_rows_s16 {
    int32_t elements;
    struct tflmgen_scale_mve scale; /* of 2^15 times the elements of `requantized` */
    int32_t sign;                   /* of these in the sum: 1 or -1 */
    int32_t factor;                 /* of `multiplied` */
    struct tflmgen_scale_mve output_scale;
    int32_t least;
    int32_t greatest;
};

#define TFLMGEN_RESULTS_S16                                                                         \
    [output_multiplier] "r"(p->output_scale.multiplier), [output_shift] "r"(p->output_scale.shift), \
        [output_sign_fix] "r"(p->output_scale.sign_fix), [least] "w"(vdupq_n_s32(p->least)),        \
        [greatest] "w"(vdupq_n_s32(p->greatest)), [elements] "r"(p->elements)

/* clang-format off */
/* The end of a loop: q0 becomes outputs. 3 to requantise, VMAX, VMIN, VSTRH, LETP. */
#define TFLMGEN_FINISH_S16                                                                        \
    TFLMGEN_REQUANTIZE_MVE("q0", "%[output_multiplier]", "%[output_shift]", "%[output_sign_fix]") \
    "vmax.s32 q0, q0, %q[least]\n\t"                                                              \
    "vmin.s32 q0, q0, %q[greatest]\n\t"                                                           \
    "vstrh.32 q0, [%[output]], #8\n\t"                                                            \
    "letp lr, 1b\n"                                                                               \
    "2:"

/* Outputs of factor * multiplied + sign * (2^15 * requantized, requantised). Four: 2 VLDRH, VSHL, VMUL, 3, VMLA, 7. */
TFLMGEN_SHARED void tflmgen_add_rows_s16(const tflmgen_s16 *requantized, const tflmgen_s16 *multiplied,
                                         tflmgen_s16 *output, const struct tflmgen_rows_s16 *p)
{
    __asm__ volatile("wlstp.32 lr, %[elements], 2f\n"
                     "1:\n\t"
                     "vldrh.s32 q1, [%[requantized]], #8\n\t"
                     "vldrh.s32 q0, [%[multiplied]], #8\n\t"
                     "vshl.i32 q1, q1, #15\n\t"
                     "vmul.i32 q0, q0, %[factor]\n\t"
                     TFLMGEN_REQUANTIZE_MVE("q1", "%[multiplier]", "%[shift]", "%[sign_fix]")
                     "vmla.s32 q0, q1, %[sign]\n\t"
                     TFLMGEN_FINISH_S16
                     : [requantized] "+l"(requantized), [multiplied] "+l"(multiplied), [output] "+l"(output)
                     : [multiplier] "r"(p->scale.multiplier), [shift] "r"(p->scale.shift),
                       [sign_fix] "r"(p->scale.sign_fix), [factor] "r"(p->factor), [sign] "r"(p->sign),
                       TFLMGEN_RESULTS_S16
                     : "lr", "q0", "q1", "memory");
}

/* Outputs of scalar + sign * (2^15 * requantized, requantised). Four: VLDRH, VSHL, 3, VMLAS, 7. */
TFLMGEN_SHARED void tflmgen_add_one_s16(const tflmgen_s16 *requantized, int32_t scalar, tflmgen_s16 *output,
                                        const struct tflmgen_rows_s16 *p)
{
    __asm__ volatile("wlstp.32 lr, %[elements], 2f\n"
                     "1:\n\t"
                     "vldrh.s32 q0, [%[requantized]], #8\n\t"
                     "vshl.i32 q0, q0, #15\n\t"
                     TFLMGEN_REQUANTIZE_MVE("q0", "%[multiplier]", "%[shift]", "%[sign_fix]")
                     "vmlas.s32 q0, %q[sign], %[scalar]\n\t"
                     TFLMGEN_FINISH_S16
                     : [requantized] "+l"(requantized), [output] "+l"(output)
                     : [multiplier] "r"(p->scale.multiplier), [shift] "r"(p->scale.shift),
                       [sign_fix] "r"(p->scale.sign_fix), [sign] "w"(vdupq_n_s32(p->sign)), [scalar] "r"(scalar),
                       TFLMGEN_RESULTS_S16
                     : "lr", "q0", "memory");
}

/* Outputs of first * second * factor. Four: 2 VLDRH, 2 VMUL, 7. */
TFLMGEN_SHARED void tflmgen_mul_rows_s16(const tflmgen_s16 *first, const tflmgen_s16 *second, tflmgen_s16 *output,
                                         const struct tflmgen_rows_s16 *p)
{
    __asm__ volatile("wlstp.32 lr, %[elements], 2f\n"
                     "1:\n\t"
                     "vldrh.s32 q0, [%[first]], #8\n\t"
                     "vldrh.s32 q1, [%[second]], #8\n\t"
                     "vmul.i32 q0, q0, q1\n\t"
                     "vmul.i32 q0, q0, %[factor]\n\t"
                     TFLMGEN_FINISH_S16
                     : [first] "+l"(first), [second] "+l"(second), [output] "+l"(output)
                     : [factor] "r"(p->factor), TFLMGEN_RESULTS_S16
                     : "lr", "q0", "q1", "memory");
}

/* Outputs of row * scalar. Four: VLDRH, VMUL, 7. */
TFLMGEN_SHARED void tflmgen_mul_one_s16(const tflmgen_s16 *row, int32_t scalar, tflmgen_s16 *output,
                                        const struct tflmgen_rows_s16 *p)
{
    __asm__ volatile("wlstp.32 lr, %[elements], 2f\n"
                     "1:\n\t"
                     "vldrh.s32 q0, [%[row]], #8\n\t"
                     "vmul.i32 q0, q0, %[scalar]\n\t"
                     TFLMGEN_FINISH_S16
                     : [row] "+l"(row), [output] "+l"(output)
                     : [scalar] "r"(scalar), TFLMGEN_RESULTS_S16
                     : "lr", "q0", "memory");
}

/* What all rows of a call of SQUARED_DIFFERENCE in int8 have in common. */
struct tflmgen_squares_s8 {
    int32_t elements;
    int32_t offset;                 /* of `requantized` */
    struct tflmgen_scale_mve scale; /* of 2^7 times its elements with the offset */
    int32_t factor;                 /* of `multiplied` */
    int32_t factored_offset;        /* the offset of `multiplied`, times the factor */
    struct tflmgen_scale_mve output_scale; /* of the square */
    int32_t output_offset;
};

/* The end of a loop: the squares of q0 become outputs. VMUL, 3 to requantise, VADD, 2 to narrow, VSTRB, LETP. */
#define TFLMGEN_FINISH_SQUARES_S8                                                                 \
    "vmul.i32 q0, q0, q0\n\t"                                                                     \
    TFLMGEN_REQUANTIZE_MVE("q0", "%[output_multiplier]", "%[output_shift]", "%[output_sign_fix]") \
    "vadd.i32 q0, q0, %q[output_offset]\n\t"                                                      \
    "vqmovnb.s32 q0, q0\n\t"                                                                      \
    "vqmovnb.s16 q0, q0\n\t"                                                                      \
    "vstrb.32 q0, [%[output]], #4\n\t"                                                            \
    "letp lr, 1b\n"                                                                               \
    "2:"
#define TFLMGEN_SQUARES_S8                                                                                       \
    [offset] "r"(p->offset), [multiplier] "r"(p->scale.multiplier), [shift] "r"(p->scale.shift),                 \
        [sign_fix] "r"(p->scale.sign_fix), [output_multiplier] "r"(p->output_scale.multiplier),                  \
        [output_shift] "r"(p->output_scale.shift), [output_sign_fix] "r"(p->output_scale.sign_fix),              \
        [output_offset] "w"(vdupq_n_s32(p->output_offset)), [elements] "r"(p->elements)

/* Outputs of factor * multiplied + factored_offset - (2^7 * (requantized + offset), requantised), squared. Four: 2
 * VLDRB, VADD, VMLAS, VSHL, 3, VSUB, 9. */
TFLMGEN_SHARED void tflmgen_squared_rows_s8(const int8_t *requantized, const int8_t *multiplied, int8_t *output,
                                            const struct tflmgen_squares_s8 *p)
{
    __asm__ volatile("wlstp.32 lr, %[elements], 2f\n"
                     "1:\n\t"
                     "vldrb.s32 q1, [%[requantized]], #4\n\t"
                     "vldrb.s32 q0, [%[multiplied]], #4\n\t"
                     "vadd.i32 q1, q1, %[offset]\n\t"
                     "vmlas.s32 q0, %q[factor], %[factored_offset]\n\t"
                     "vshl.i32 q1, q1, #7\n\t"
                     TFLMGEN_REQUANTIZE_MVE("q1", "%[multiplier]", "%[shift]", "%[sign_fix]")
                     "vsub.i32 q0, q0, q1\n\t"
                     TFLMGEN_FINISH_SQUARES_S8
                     : [requantized] "+l"(requantized), [multiplied] "+l"(multiplied), [output] "+l"(output)
                     : [factor] "w"(vdupq_n_s32(p->factor)), [factored_offset] "r"(p->factored_offset),
                       TFLMGEN_SQUARES_S8
                     : "lr", "q0", "q1", "memory");
}

/* Outputs of (2^7 * (requantized + offset), requantised) - scalar, squared. Four: VLDRB, VADD, VSHL, 3, VSUB, 9. */
TFLMGEN_SHARED void tflmgen_squared_one_s8(const int8_t *requantized, int32_t scalar, int8_t *output,
                                           const struct tflmgen_squares_s8 *p)
{
    __asm__ volatile("wlstp.32 lr, %[elements], 2f\n"
                     "1:\n\t"
                     "vldrb.s32 q0, [%[requantized]], #4\n\t"
                     "vadd.i32 q0, q0, %[offset]\n\t"
                     "vshl.i32 q0, q0, #7\n\t"
                     TFLMGEN_REQUANTIZE_MVE("q0", "%[multiplier]", "%[shift]", "%[sign_fix]")
                     "vsub.i32 q0, q0, %[scalar]\n\t"
                     TFLMGEN_FINISH_SQUARES_S8
                     : [requantized] "+l"(requantized), [output] "+l"(output)
                     : [scalar] "r"(scalar), TFLMGEN_SQUARES_S8
                     : "lr", "q0", "memory");
}

/* Loads of four elements of a type, widened to 32 bits each, and stores, narrowed from there. */
#define TFLMGEN_LOAD_MVE_int8_t(values, pointer) "vldrb.s32 " values ", [" pointer "], #4\n\t"
#define TFLMGEN_LOAD_MVE_uint8_t(values, pointer) "vldrb.u32 " values ", [" pointer "], #4\n\t"
#define TFLMGEN_LOAD_MVE_tflmgen_s16(values, pointer) "vldrh.s32 " values ", [" pointer "], #8\n\t"
#define TFLMGEN_LOAD_MVE_tflmgen_s32(values, pointer) "vldrw.u32 " values ", [" pointer "], #16\n\t"
#define TFLMGEN_STORE_MVE_int8_t(values, pointer) "vstrb.32 " values ", [" pointer "], #4\n\t"
#define TFLMGEN_STORE_MVE_uint8_t(values, pointer) "vstrb.32 " values ", [" pointer "], #4\n\t"
#define TFLMGEN_STORE_MVE_tflmgen_s16(values, pointer) "vstrh.32 " values ", [" pointer "], #8\n\t"
#define TFLMGEN_STORE_MVE_tflmgen_s32(values, pointer) "vstrw.32 " values ", [" pointer "], #16\n\t"

/* QUANTIZE between integers. Four: a load, VADD, VSHL, 3 to requantise, VADD, VMAX, VMIN, a store, LETP. */
#define TFLMGEN_REQUANTIZED_ROW_MVE(input, input_type, output, output_type, least_result, greatest_result, p)     \
    const struct tflmgen_scale_mve scale = tflmgen_scale_mve_of((p)->multiplier, tflmgen_min_s32((p)->shift, 0)); \
    __asm__ volatile("wlstp.32 lr, %[elements], 2f\n"                                                             \
                     "1:\n\t" TFLMGEN_LOAD_MVE_##input_type("q0", "%[source]")                                    \
                     "vadd.i32 q0, q0, %[input_offset]\n\t"                                                       \
                     "vshl.s32 q0, %[left_shift]\n\t"                                                             \
                     TFLMGEN_REQUANTIZE_MVE("q0", "%[multiplier]", "%[shift]", "%[sign_fix]")                     \
                     "vadd.i32 q0, q0, %[output_offset]\n\t"                                                      \
                     "vmax.s32 q0, q0, %q[least]\n\t"                                                             \
                     "vmin.s32 q0, q0, %q[greatest]\n\t"                                                          \
                     TFLMGEN_STORE_MVE_##output_type("q0", "%[result]")                                           \
                     "letp lr, 1b\n"                                                                              \
                     "2:"                                                                                         \
                     : [source] "+l"(input), [result] "+l"(output)                                                \
                     : [input_offset] "r"((p)->input_offset), [left_shift] "r"(tflmgen_max_s32((p)->shift, 0)),   \
                       [multiplier] "r"(scale.multiplier), [shift] "r"(scale.shift),                              \
                       [sign_fix] "r"(scale.sign_fix), [output_offset] "r"((p)->output_offset),                   \
                       [least] "w"(vdupq_n_s32(least_result)), [greatest] "w"(vdupq_n_s32(greatest_result)),      \
                       [elements] "r"((p)->elements)                                                              \
                     : "lr", "q0", "memory")

#if TFLMGEN_HAS_MVE_F32
/* QUANTIZE of floats: VCVTA rounds halves away from zero, saturates and gives 0 for NaN, which becomes
 * `undefined_result`. Four: VLDRW, 4 VDIV, as there is none of vectors, VCVTA, VQADD, VMAX, VMIN, VPT, VORR, a store,
 * LETP. */
#define TFLMGEN_QUANTIZE_MVE(input, output, output_type, least_result, greatest_result, undefined_result, p)        \
    __asm__ volatile("wlstp.32 lr, %[elements], 2f\n"                                                               \
                     "1:\n\t"                                                                                       \
                     "vldrw.u32 q0, [%[source]], #16\n\t"                                                           \
                     "vdiv.f32 s0, s0, %[scale]\n\t"                                                                \
                     "vdiv.f32 s1, s1, %[scale]\n\t"                                                                \
                     "vdiv.f32 s2, s2, %[scale]\n\t"                                                                \
                     "vdiv.f32 s3, s3, %[scale]\n\t"                                                                \
                     "vcvta.s32.f32 q1, q0\n\t"                                                                     \
                     "vqadd.s32 q1, q1, %[zero_point]\n\t"                                                          \
                     "vmax.s32 q1, q1, %q[least]\n\t"                                                               \
                     "vmin.s32 q1, q1, %q[greatest]\n\t"                                                            \
                     "vpt.f32 ne, q0, q0\n\t"                                                                       \
                     "vorrt q1, %q[undefined], %q[undefined]\n\t"                                                   \
                     TFLMGEN_STORE_MVE_##output_type("q1", "%[result]")                                             \
                     "letp lr, 1b\n"                                                                                \
                     "2:"                                                                                           \
                     : [source] "+r"(input), [result] "+l"(output)                                                  \
                     : [scale] "t"((p)->scale), [zero_point] "r"((p)->zero_point),                                  \
                       [least] "w"(vdupq_n_s32(least_result)), [greatest] "w"(vdupq_n_s32(greatest_result)),        \
                       [undefined] "w"(vdupq_n_s32(undefined_result)), [elements] "r"((p)->elements)                \
                     : "lr", "q0", "q1", "cc", "memory")

/* DEQUANTIZE. Four: a load, VSUB, VCVT, VMUL, VSTRW, LETP. */
#define TFLMGEN_DEQUANTIZE_MVE(input, input_type, output, p)                                                        \
    __asm__ volatile("wlstp.32 lr, %[elements], 2f\n"                                                               \
                     "1:\n\t" TFLMGEN_LOAD_MVE_##input_type("q0", "%[source]")                                      \
                     "vsub.i32 q0, q0, %[zero_point]\n\t"                                                           \
                     "vcvt.f32.s32 q0, q0\n\t"                                                                      \
                     "vmul.f32 q0, q0, %[scale]\n\t"                                                                \
                     "vstrw.32 q0, [%[result]], #16\n\t"                                                            \
                     "letp lr, 1b\n"                                                                                \
                     "2:"                                                                                           \
                     : [source] "+l"(input), [result] "+r"(output)                                                  \
                     : [zero_point] "r"((p)->zero_point), [scale] "r"((p)->scale), [elements] "r"((p)->elements)    \
                     : "lr", "q0", "memory")
#endif
/* clang-format on */

#endif

#endif
