/* ADD and SUB of int8 tensors of one shape, for cores with MVE: the affine map of add_affine.h, in 32 bits. */
#ifndef TFLMGEN_KERNELS_ADD_MVE_H
#define TFLMGEN_KERNELS_ADD_MVE_H

#include "add_affine.h"
#include "mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

#define TFLMGEN_ADD_MVE_PLAIN(sums, free) ""
#define TFLMGEN_ADD_MVE_SIGNED(sums, free)      \
    "vshr.s32 " free ", " sums ", #31\n\t"      \
    "vadd.i32 " sums ", " sums ", " free "\n\t" \
    "vadd.i32 " sums ", " sums ", %[offset]\n\t"

/* Eight results: 4 VLDRB, 2 VMLAS, 2 VMLA, 2 VSHL (6 more where signed), 3 to narrow, VSTRB, ADD, LE: 16. */
/* clang-format off */
#define TFLMGEN_ADD_MVE_LOOP(SIGN)                             \
    "wls lr, %[passes], 2f\n"                                  \
    "1:\n\t"                                                   \
    "vldrb.s32 q0, [%[input1]], #4\n\t"                        \
    "vldrb.s32 q1, [%[input2]], #4\n\t"                        \
    "vmlas.s32 q0, %q[factor1], %[start]\n\t"                  \
    "vldrb.s32 q2, [%[input1]], #4\n\t"                        \
    "vmla.s32 q0, q1, %[factor2]\n\t"                          \
    "vldrb.s32 q3, [%[input2]], #4\n\t" SIGN("q0", "q1")       \
    "vmlas.s32 q2, %q[factor1], %[start]\n\t"                  \
    "vshl.s32 q0, %[shift]\n\t"                                \
    "vmla.s32 q2, q3, %[factor2]\n\t" SIGN("q2", "q3")         \
    "vshl.s32 q2, %[shift]\n\t"                                \
    "vqmovnb.s32 q0, q0\n\t"                                   \
    "vqmovnt.s32 q0, q2\n\t"                                   \
    "vqmovnb.s16 q0, q0\n\t"                                   \
    "vstrb.16 q0, [%[output], %q[order]]\n\t"                  \
    "add %[output], %[output], #8\n\t"                         \
    "le lr, 1b\n"                                              \
    "2:"
/* clang-format on */

TFLMGEN_HELPER int32_t tflmgen_add_mve_one(int32_t a, int32_t b, const struct tflmgen_add_affine_s8 *p, bool with_sign,
                                           int32_t shift)
{
    const int32_t sum = a * p->factor1 + b * p->factor2 + p->start;
    return tflmgen_saturate_s8(tflmgen_add_affine_round(sum, with_sign, p->offset) >> shift);
}

TFLMGEN_HELPER void tflmgen_add_mve_run(const int8_t *input1, const int8_t *input2, int8_t *output,
                                        const struct tflmgen_add_affine_s8 *p, bool with_sign, int32_t shift)
{
    const int32x4_t factor1 = vdupq_n_s32(p->factor1);
    /* What was narrowed has the results 0, 4, 1, 5, 2, 6, 3, 7. */
    const uint16x8_t step = vidupq_n_u16(0, 1);
    const uint16x8_t order = vaddq_u16(vshrq_n_u16(step, 1), vshlq_n_u16(vandq_u16(step, vdupq_n_u16(1)), 2));
    const int32_t passes = p->count / 8;
    if (with_sign) {
        __asm__ volatile(TFLMGEN_ADD_MVE_LOOP(TFLMGEN_ADD_MVE_SIGNED)
                         : [input1] "+l"(input1), [input2] "+l"(input2), [output] "+r"(output)
                         : [factor1] "w"(factor1), [order] "w"(order), [factor2] "r"(p->factor2), [start] "r"(p->start),
                           [offset] "r"(p->offset), [shift] "r"(-shift), [passes] "r"(passes)
                         : "lr", "q0", "q1", "q2", "q3", "memory");
    } else {
        __asm__ volatile(TFLMGEN_ADD_MVE_LOOP(TFLMGEN_ADD_MVE_PLAIN)
                         : [input1] "+l"(input1), [input2] "+l"(input2), [output] "+r"(output)
                         : [factor1] "w"(factor1), [order] "w"(order), [factor2] "r"(p->factor2), [start] "r"(p->start),
                           [shift] "r"(-shift), [passes] "r"(passes)
                         : "lr", "q0", "q1", "q2", "q3", "memory");
    }
    for (int32_t left = p->count % 8; left > 0; --left) {
        *output++ = (int8_t)tflmgen_add_mve_one(*input1++, *input2++, p, with_sign, shift);
    }
    if (p->least > -128 || p->greatest < 127) {
        tflmgen_clamp_dsp_s8(output - p->count, p->count, p->least, p->greatest);
    }
}

TFLMGEN_ADD_AFFINE_KERNELS(tflmgen_add_mve, tflmgen_add_affine_s8)

#endif

#endif
