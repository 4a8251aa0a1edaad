/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* What the kernels for cores with MVE (Armv8.1-M: Cortex-M55, M85) share.
 *
 * Requantisation (words: requantize.h). VQRDMULH is the first rounding, VRSHL by a shift of at most 0 the second, but
 * for halves below zero, which VRSHL rounds up. The sign fix is 1, wherever the result is not clamped at the zero point
 * anyway. VQDMLAH subtracts it: it adds the upper half of twice a product, which is -1 for a negative value times 1,
 * and 0 for any other.
 */
#ifndef TFLMGEN_KERNELS_MVE_H
#define TFLMGEN_KERNELS_MVE_H

#include "common.h"

/* Whether vectors hold floats. What is computed with them takes numbers below FLT_MIN, denormal ones, for zero. */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)
#define TFLMGEN_HAS_MVE_F32 1
#else
#define TFLMGEN_HAS_MVE_F32 0
#endif

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE

#include <arm_mve.h>

#include "dsp.h"

/* Both roundings of values, by the numbers of a tflmgen_scale_mve: VQRDMULH, VQDMLAH, VRSHL. */
#define TFLMGEN_REQUANTIZE_MVE(values, multiplier, shift, sign_fix) \
    "vqrdmulh.s32 " values ", " values ", " multiplier "\n\t"       \
    "vqdmlah.s32 " values ", " values ", " sign_fix "\n\t"          \
    "vrshl.s32 " values ", " shift "\n\t"

struct tflmgen_scale_mve {
    int32_t multiplier;
    int32_t shift;    /* at most 0 */
    int32_t sign_fix; /* 1, or 0 where there is no shift and so no second rounding */
};

TFLMGEN_HELPER struct tflmgen_scale_mve tflmgen_scale_mve_of(int32_t multiplier, int32_t shift)
{
    const struct tflmgen_scale_mve scale = {multiplier, shift, shift < 0 ? 1 : 0};
    return scale;
}

/* Copies `count` bytes. 16 of them: VLDRB, VSTRB, LETP, which stops at the last one. */
TFLMGEN_HELPER void tflmgen_copy_mve(int8_t *to, const int8_t *from, int32_t count)
{
    __asm__ volatile("wlstp.8 lr, %[count], 2f\n"
                     "1:\n\t"
                     "vldrb.8 q0, [%[from]], #16\n\t"
                     "vstrb.8 q0, [%[to]], #16\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [to] "+r"(to), [from] "+r"(from)
                     : [count] "r"(count)
                     : "lr", "q0", "memory");
}

/* 16 bytes: VSTRB, LETP. */
TFLMGEN_HELPER void tflmgen_fill_mve(int8_t *to, int32_t value, int32_t count)
{
    const int8x16_t values = vdupq_n_s8((int8_t)value);
    __asm__ volatile("wlstp.8 lr, %[count], 2f\n"
                     "1:\n\t"
                     "vstrb.8 %q[values], [%[to]], #16\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [to] "+r"(to)
                     : [values] "w"(values), [count] "r"(count)
                     : "lr", "memory");
}

#if TFLMGEN_HAS_MVE_F32
/* Brings values into a range: 2 VCMP, 2 VPSEL. NaN is not greater than anything, so that it stays; but VCMP's LT is the
 * opposite of GE, for NaN too. */
TFLMGEN_HELPER float32x4_t tflmgen_clamp_f32_mve(float32x4_t values, float32x4_t least, float32x4_t greatest)
{
    __asm__("vcmp.f32 gt, %q[least], %q[values]\n\t"
            "vpsel %q[values], %q[least], %q[values]\n\t"
            "vcmp.f32 gt, %q[values], %q[greatest]\n\t"
            "vpsel %q[values], %q[greatest], %q[values]"
            : [values] "+&w"(values)
            : [least] "w"(least), [greatest] "w"(greatest)
            : "cc");
    return values;
}

/* Writes the first `count` values, of four: VCTP, VPST, VSTRW. */
TFLMGEN_HELPER void tflmgen_write_f32_mve(tflmgen_f32 *output, float32x4_t values, int32_t count)
{
    __asm__ volatile("vctp.32 %[count]\n\t"
                     "vpst\n\t"
                     "vstrwt.32 %q[values], [%[output]]"
                     :
                     : [values] "w"(values), [count] "r"(count), [output] "l"(output)
                     : "cc", "memory");
}
#endif

#endif

#endif
