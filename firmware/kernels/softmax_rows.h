/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Rows of SOFTMAX by vectors: the loops of softmax.h on cores with MVE.
 *
 * Four elements at a time, in 32 bits; LETP stops at the last one. Exponentials come from their table by gathering
 * loads, which give 0 where VPT rules them out: beyond the table's end.
 */
#ifndef TFLMGEN_KERNELS_SOFTMAX_ROWS_H
#define TFLMGEN_KERNELS_SOFTMAX_ROWS_H

#include "elementary_rows.h"
#include "interpolate.h"
#include "reduced_rows.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* Sixteen elements: VLDRB, VMAXV, LETP. */
TFLMGEN_HELPER int32_t tflmgen_row_max_s8(const int8_t *row, int32_t depth)
{
    int32_t greatest = INT8_MIN;
    __asm__ volatile("wlstp.8 lr, %[depth], 2f\n"
                     "1:\n\t"
                     "vldrb.8 q0, [%[row]], #16\n\t"
                     "vmaxv.s8 %[greatest], q0\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [row] "+r"(row), [greatest] "+r"(greatest)
                     : [depth] "r"(depth)
                     : "lr", "q0", "memory");
    return greatest;
}

/* Gathers the exponentials of q0's elements to q1, by how far they are below the greatest one. */
#define TFLMGEN_GATHER_EXPS_MVE         \
    "vldrb.s32 q0, [%[row]], #4\n\t"    \
    "vsub.i32 q0, %q[greatest], q0\n\t" \
    "vpt.s32 lt, q0, %[entries]\n\t"    \
    "vldrwt.u32 q1, [%[exps], q0, uxtw #2]\n\t"

/* The sum of exponentials of a row in Q12.19; at least 1. Four: 4 to gather, VRSHR, VADDVA, LETP. */
TFLMGEN_HELPER int32_t tflmgen_sum_of_exps(const int8_t *row, int32_t depth, int32_t greatest, const tflmgen_s32 *exps,
                                           int32_t entries)
{
    int32_t sum = 0;
    __asm__ volatile(
        "wlstp.32 lr, %[depth], 2f\n"
        "1:\n\t" TFLMGEN_GATHER_EXPS_MVE "vrshr.s32 q1, q1, #12\n\t"
        "vaddva.s32 %[sum], q1\n\t"
        "letp lr, 1b\n"
        "2:"
        : [row] "+l"(row), [sum] "+Te"(sum)
        : [greatest] "w"(vdupq_n_s32(greatest)), [entries] "r"(entries), [exps] "r"(exps), [depth] "r"(depth)
        : "lr", "q0", "q1", "cc", "memory");
    return sum;
}

/* The probabilities of a row, to which `least` is added. Four: 4 to gather, VQRDMULH, VRSHL, VADD, VMIN, VSTRB, LETP.
 */
#define TFLMGEN_DEFINE_PROBABILITIES(name, element, output_max, store)                                         \
    TFLMGEN_HELPER void name(const int8_t *row, int32_t depth, int32_t greatest, const tflmgen_s32 *exps,      \
                             int32_t entries, int32_t scale, int32_t exponent, int32_t least, element *output) \
    {                                                                                                          \
        __asm__ volatile("wlstp.32 lr, %[depth], 2f\n"                                                         \
                         "1:\n\t" TFLMGEN_GATHER_EXPS_MVE "vqrdmulh.s32 q1, q1, %[scale]\n\t"                  \
                         "vrshl.s32 q1, %[shift]\n\t"                                                          \
                         "vadd.i32 q1, q1, %[least]\n\t"                                                       \
                         "vmin.s32 q1, q1, %q[greatest_result]\n\t" store "letp lr, 1b\n"                      \
                         "2:"                                                                                  \
                         : [row] "+l"(row), [output] "+l"(output)                                              \
                         : [greatest] "w"(vdupq_n_s32(greatest)), [entries] "r"(entries), [exps] "r"(exps),    \
                           [scale] "r"(scale), [shift] "r"(-exponent), [least] "r"(least),                     \
                           [greatest_result] "w"(vdupq_n_s32(output_max)), [depth] "r"(depth)                  \
                         : "lr", "q0", "q1", "cc", "memory");                                                  \
    }

TFLMGEN_DEFINE_PROBABILITIES(tflmgen_probabilities_s8, int8_t, INT8_MAX, "vstrb.32 q1, [%[output]], #4\n\t")
TFLMGEN_DEFINE_PROBABILITIES(tflmgen_probabilities_s16, tflmgen_s16, INT16_MAX, "vstrh.32 q1, [%[output]], #8\n\t")

/* The exponentials of a row of int16, and their sum. Four: VLDRH, VSUB, VSHL, 4 to requantise, VADD, VMIN, VMAX, VSUB,
 * 9 to interpolate, VSTRH, VMOVLB, VADDVA, LETP. */
TFLMGEN_SHARED int32_t tflmgen_exps_s16(const tflmgen_s16 *row, int32_t depth, int32_t greatest, int32_t multiplier,
                                        int32_t shift, const tflmgen_s16 *exps, tflmgen_s16 *output)
{
    const struct tflmgen_scale_mve scale = tflmgen_scale_mve_of(multiplier, tflmgen_min_s32(shift, 0));
    int32_t sum = 0;
    /* clang-format off */
    __asm__ volatile("wlstp.32 lr, %[depth], 2f\n"
                     "1:\n\t"
                     "vldrh.s32 q0, [%[row]], #8\n\t"
                     "vsub.i32 q0, q0, %q[greatest]\n\t"
                     "vshl.s32 q0, %[left_shift]\n\t"
                     TFLMGEN_REQUANTIZE_MVE("q0", "%[multiplier]", "%[shift]", "%[sign_fix]")
                     "vadd.i32 q0, q0, %q[most]\n\t"
                     "vmin.s32 q0, q0, %q[most]\n\t"
                     "vmax.s32 q0, q0, %q[least]\n\t"
                     "vsub.i32 q0, q0, %q[least]\n\t"
                     TFLMGEN_INTERPOLATE_q0
                     "vstrh.32 q0, [%[output]], #8\n\t"
                     "vmovlb.s16 q0, q0\n\t"
                     "vaddva.s32 %[sum], q0\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [row] "+l"(row), [output] "+l"(output), [sum] "+Te"(sum)
                     : [depth] "r"(depth), [greatest] "w"(vdupq_n_s32(greatest)),
                       [left_shift] "r"(tflmgen_max_s32(shift, 0)), [multiplier] "r"(scale.multiplier),
                       [shift] "r"(scale.shift), [sign_fix] "r"(scale.sign_fix), [most] "w"(vdupq_n_s32(INT16_MAX)),
                       [least] "w"(vdupq_n_s32(INT16_MIN)), TFLMGEN_INTERPOLATED_TABLE(exps)
                     : "lr", "q0", "q1", "q2", "q3", "memory");
    /* clang-format on */
    return sum;
}

/* Four: VLDRH, VMUL, VRSHL, VMAX, VMIN, VSTRH, LETP. */
TFLMGEN_HELPER void tflmgen_scale_row_s16(tflmgen_s16 *row, int32_t depth, int32_t scale, int32_t shift)
{
    __asm__ volatile("wlstp.32 lr, %[depth], 2f\n"
                     "1:\n\t"
                     "vldrh.s32 q0, [%[row]]\n\t"
                     "vmul.i32 q0, q0, %[scale]\n\t"
                     "vrshl.s32 q0, %[shift]\n\t"
                     "vmax.s32 q0, q0, %q[least]\n\t"
                     "vmin.s32 q0, q0, %q[most]\n\t"
                     "vstrh.32 q0, [%[row]], #8\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [row] "+l"(row)
                     : [depth] "r"(depth), [scale] "r"(scale), [shift] "r"(-shift), [least] "w"(vdupq_n_s32(0)),
                       [most] "w"(vdupq_n_s32(INT16_MAX))
                     : "lr", "q0", "memory");
}

#if TFLMGEN_HAS_MVE_F32
/* The exponentials of a row, and their sum, one after the other. Four: VLDRW, VSUB, VMUL, VSTRW, LETP, those of
 * tflmgen_exp_row_f32 and of tflmgen_row_sum_f32. */
TFLMGEN_HELPER float tflmgen_exps_f32(const tflmgen_f32 *row, int32_t depth, float greatest, float beta,
                                      tflmgen_f32 *output)
{
    tflmgen_f32 *difference = output;
    __asm__ volatile("wlstp.32 lr, %[depth], 2f\n"
                     "1:\n\t"
                     "vldrw.u32 q0, [%[row]], #16\n\t"
                     "vsub.f32 q0, q0, %[greatest]\n\t"
                     "vmul.f32 q0, q0, %[beta]\n\t"
                     "vstrw.32 q0, [%[difference]], #16\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [row] "+r"(row), [difference] "+r"(difference)
                     : [greatest] "r"(greatest), [beta] "r"(beta), [depth] "r"(depth)
                     : "lr", "q0", "memory");
    tflmgen_exp_row_f32(output, output, depth);
    return tflmgen_row_sum_f32(output, depth, 0.0f);
}

/* Four: VLDRW, 4 VDIV, as there is none of vectors, VSTRW, LETP. */
TFLMGEN_HELPER void tflmgen_divide_row_f32(tflmgen_f32 *row, int32_t depth, float divisor)
{
    __asm__ volatile("wlstp.32 lr, %[depth], 2f\n"
                     "1:\n\t"
                     "vldrw.u32 q0, [%[row]]\n\t"
                     "vdiv.f32 s0, s0, %[divisor]\n\t"
                     "vdiv.f32 s1, s1, %[divisor]\n\t"
                     "vdiv.f32 s2, s2, %[divisor]\n\t"
                     "vdiv.f32 s3, s3, %[divisor]\n\t"
                     "vstrw.32 q0, [%[row]], #16\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [row] "+r"(row)
                     : [divisor] "t"(divisor), [depth] "r"(depth)
                     : "lr", "q0", "memory");
}
#endif

#endif

#endif
