/* ADD and SUB of int8 tensors of one shape, for every Cortex-M.
 *
 * TFLite's three rescalings are one affine map, proved at build time over all pairs of inputs: (a A + b B + C) >> SHIFT,
 * saturated. Where results below zero round the other way (halves, exactly met), `signed` ones lose one unit first.
 */
#ifndef TFLMGEN_KERNELS_ADD_THUMB_H
#define TFLMGEN_KERNELS_ADD_THUMB_H

#include "thumb.h"

#ifdef __thumb__

struct tflmgen_add_thumb_s8 {
    int32_t count;
    int32_t factor1;
    int32_t factor2;
    int32_t start;  /* added before the sign is looked at */
    int32_t offset; /* added after it, where signed */
    int32_t least;
    int32_t greatest;
};

/* 2 LDRSB, 2 MULS, 2 ADDS, 1 ASRS, 2 to saturate, 1 STRB, 3 to loop; 3 more where signed. */
TFLMGEN_HELPER void tflmgen_add_thumb_run(const int8_t *input1, const int8_t *input2, int8_t *output,
                                          const struct tflmgen_add_thumb_s8 *p, bool with_sign, int32_t shift)
{
    const int32_t factor1 = p->factor1;
    const int32_t factor2 = p->factor2;
    const int32_t start = p->start;
    for (int32_t i = 0; i != p->count; ++i) {
        int32_t sum = start + input1[i] * factor1 + input2[i] * factor2;
        if (with_sign) {
            sum += tflmgen_sign_mask(sum) + p->offset;
        }
        sum = (sum >> shift) + 128;
        if ((uint32_t)sum > 255) {
            sum = ~tflmgen_sign_mask(sum);
        }
        output[i] = (int8_t)(sum - 128);
    }
    tflmgen_clamp_thumb_s8(output, p->count, p->least, p->greatest);
}

#define TFLMGEN_ADD_THUMB(name, with_sign, shift)                                        \
    TFLMGEN_SHARED void name(const int8_t *input1, const int8_t *input2, int8_t *output, \
                             const struct tflmgen_add_thumb_s8 *p)                       \
    {                                                                                    \
        tflmgen_add_thumb_run(input1, input2, output, p, with_sign, shift);              \
    }

TFLMGEN_ADD_THUMB(tflmgen_add_thumb_22_s8, false, 22)
TFLMGEN_ADD_THUMB(tflmgen_add_thumb_21_s8, false, 21)
TFLMGEN_ADD_THUMB(tflmgen_add_thumb_20_s8, false, 20)
TFLMGEN_ADD_THUMB(tflmgen_add_thumb_19_s8, false, 19)
TFLMGEN_ADD_THUMB(tflmgen_add_thumb_signed_22_s8, true, 22)
TFLMGEN_ADD_THUMB(tflmgen_add_thumb_signed_21_s8, true, 21)
TFLMGEN_ADD_THUMB(tflmgen_add_thumb_signed_20_s8, true, 20)
TFLMGEN_ADD_THUMB(tflmgen_add_thumb_signed_19_s8, true, 19)

#endif

#endif
