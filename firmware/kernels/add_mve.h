/* ADD and SUB of int8 tensors of one shape, for cores with MVE.
 *
 * TFLite's three rescalings are one affine map, proved at build time over all pairs of inputs:
 * (a A + b B + C) >> SHIFT, saturated, in 32 bits. Where results below zero round the other way (halves, exactly met),
 * `signed` ones lose one unit first.
 */
#ifndef TFLMGEN_KERNELS_ADD_MVE_H
#define TFLMGEN_KERNELS_ADD_MVE_H

#include "mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

struct tflmgen_add_mve_s8 {
    int32_t count;
    int32_t factor1;
    int32_t factor2;
    int32_t start;  /* added before the sign is looked at */
    int32_t offset; /* added after it, where signed */
    int32_t least;
    int32_t greatest;
};

#define TFLMGEN_ADD_MVE_PLAIN(sums, free) ""
#define TFLMGEN_ADD_MVE_SIGNED(sums, free)             \
    "vshr.s32 " free ", " sums ", #31\n\t"             \
    "vadd.i32 " sums ", " sums ", " free "\n\t"        \
    "vadd.i32 " sums ", " sums ", %[offset]\n\t"

/* Eight results: 4 VLDRB, 2 VMLAS, 2 VMLA, 2 VSHL (6 more where signed), 3 to narrow, VSTRB, ADD, LE: 16. */
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

TFLMGEN_HELPER int32_t tflmgen_add_mve_one(int32_t a, int32_t b, const struct tflmgen_add_mve_s8 *p, bool with_sign,
                                           int32_t shift)
{
    int32_t sum = a * p->factor1 + b * p->factor2 + p->start;
    if (with_sign) {
        sum += tflmgen_sign_mask(sum) + p->offset;
    }
    return tflmgen_saturate_s8(sum >> shift);
}

TFLMGEN_HELPER void tflmgen_add_mve_run(const int8_t *input1, const int8_t *input2, int8_t *output,
                                        const struct tflmgen_add_mve_s8 *p, bool with_sign, int32_t shift)
{
    const int32x4_t factor1 = vdupq_n_s32(p->factor1);
    /* What was narrowed has the results 0, 4, 1, 5, 2, 6, 3, 7. */
    const uint16x8_t step = vidupq_n_u16(0, 1);
    const uint16x8_t order = vaddq_u16(vshrq_n_u16(step, 1), vshlq_n_u16(vandq_u16(step, vdupq_n_u16(1)), 2));
    const int32_t passes = p->count / 8;
    if (with_sign) {
        __asm__ volatile(TFLMGEN_ADD_MVE_LOOP(TFLMGEN_ADD_MVE_SIGNED)
                         : [input1] "+l"(input1), [input2] "+l"(input2), [output] "+r"(output)
                         : [factor1] "w"(factor1), [order] "w"(order), [factor2] "r"(p->factor2),
                           [start] "r"(p->start), [offset] "r"(p->offset), [shift] "r"(-shift), [passes] "r"(passes)
                         : "lr", "q0", "q1", "q2", "q3", "memory");
    } else {
        __asm__ volatile(TFLMGEN_ADD_MVE_LOOP(TFLMGEN_ADD_MVE_PLAIN)
                         : [input1] "+l"(input1), [input2] "+l"(input2), [output] "+r"(output)
                         : [factor1] "w"(factor1), [order] "w"(order), [factor2] "r"(p->factor2),
                           [start] "r"(p->start), [shift] "r"(-shift), [passes] "r"(passes)
                         : "lr", "q0", "q1", "q2", "q3", "memory");
    }
    for (int32_t left = p->count % 8; left > 0; --left) {
        *output++ = (int8_t)tflmgen_add_mve_one(*input1++, *input2++, p, with_sign, shift);
    }
    if (p->least > -128 || p->greatest < 127) {
        tflmgen_clamp_dsp_s8(output - p->count, p->count, p->least, p->greatest);
    }
}

#define TFLMGEN_ADD_MVE(name, with_sign, shift)                                                    \
    TFLMGEN_SHARED void name(const int8_t *input1, const int8_t *input2, int8_t *output,           \
                             const struct tflmgen_add_mve_s8 *p)                                   \
    {                                                                                              \
        tflmgen_add_mve_run(input1, input2, output, p, with_sign, shift);                          \
    }

TFLMGEN_ADD_MVE(tflmgen_add_mve_22_s8, false, 22)
TFLMGEN_ADD_MVE(tflmgen_add_mve_21_s8, false, 21)
TFLMGEN_ADD_MVE(tflmgen_add_mve_20_s8, false, 20)
TFLMGEN_ADD_MVE(tflmgen_add_mve_19_s8, false, 19)
TFLMGEN_ADD_MVE(tflmgen_add_mve_signed_22_s8, true, 22)
TFLMGEN_ADD_MVE(tflmgen_add_mve_signed_21_s8, true, 21)
TFLMGEN_ADD_MVE(tflmgen_add_mve_signed_20_s8, true, 20)
TFLMGEN_ADD_MVE(tflmgen_add_mve_signed_19_s8, true, 19)

#endif

#endif
