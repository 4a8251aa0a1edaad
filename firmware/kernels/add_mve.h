/* ADD and SUB of int8 tensors of one shape, for cores with MVE: the affine map of add_affine.h, in 32 bits. */
#ifndef TFLMGEN_KERNELS_ADD_MVE_H
#define TFLMGEN_KERNELS_ADD_MVE_H

#include "add_affine.h"
#include "mve.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

/* Eight results: 4 VLDRB, 2 VMLAS, 2 VMLA, 2 VSHL, 3 to narrow, VSTRB, ADD, LE: 16. */
/* clang-format off */
#define TFLMGEN_ADD_MVE_LOOP                                   \
    "wls lr, %[passes], 2f\n"                                  \
    "1:\n\t"                                                   \
    "vldrb.s32 q0, [%[input1]], #4\n\t"                        \
    "vldrb.s32 q1, [%[input2]], #4\n\t"                        \
    "vmlas.s32 q0, %q[factor1], %[start]\n\t"                  \
    "vldrb.s32 q2, [%[input1]], #4\n\t"                        \
    "vmla.s32 q0, q1, %[factor2]\n\t"                          \
    "vldrb.s32 q3, [%[input2]], #4\n\t"                        \
    "vmlas.s32 q2, %q[factor1], %[start]\n\t"                  \
    "vshl.s32 q0, %[shift]\n\t"                                \
    "vmla.s32 q2, q3, %[factor2]\n\t"                          \
    "vshl.s32 q2, %[shift]\n\t"                                \
    "vqmovnb.s32 q0, q0\n\t"                                   \
    "vqmovnt.s32 q0, q2\n\t"                                   \
    "vqmovnb.s16 q0, q0\n\t"                                   \
    "vstrb.16 q0, [%[output], %q[order]]\n\t"                  \
    "add %[output], %[output], #8\n\t"                         \
    "le lr, 1b\n"                                              \
    "2:"
/* clang-format on */

TFLMGEN_SHARED void tflmgen_add_mve_s8(const int8_t *input1, const int8_t *input2, int8_t *output,
                                       const struct tflmgen_add_affine_s8 *p)
{
    const int32x4_t factor1 = vdupq_n_s32(p->factor1);
    /* What was narrowed has the results 0, 4, 1, 5, 2, 6, 3, 7. */
    const uint16x8_t step = vidupq_n_u16(0, 1);
    const uint16x8_t order = vaddq_u16(vshrq_n_u16(step, 1), vshlq_n_u16(vandq_u16(step, vdupq_n_u16(1)), 2));
    const int32_t passes = p->count / 8;
    __asm__ volatile(TFLMGEN_ADD_MVE_LOOP
                     : [input1] "+l"(input1), [input2] "+l"(input2), [output] "+r"(output)
                     : [factor1] "w"(factor1), [order] "w"(order), [factor2] "r"(p->factor2), [start] "r"(p->start),
                       [shift] "r"(-p->shift), [passes] "r"(passes)
                     : "lr", "q0", "q1", "q2", "q3", "memory");
    for (int32_t left = p->count % 8; left > 0; --left) {
        const int32_t sum = *input1++ * p->factor1 + *input2++ * p->factor2 + p->start;
        *output++ = (int8_t)tflmgen_saturate_s8(sum >> p->shift);
    }
    tflmgen_clamp_dsp_s8(output - p->count, p->count, p->least, p->greatest);
}

#endif

#endif
