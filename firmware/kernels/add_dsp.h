/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* ADD and SUB of int8 tensors of one shape, for cores with the DSP extension.
 *
 * The affine map of add_affine.h is (hi(a A) + hi(b B) + C) >> shift, where hi is the product's part above 2^8 (SMLAW
 * of a byte in a half's upper place).
 */
#ifndef TFLMGEN_KERNELS_ADD_DSP_H
#define TFLMGEN_KERNELS_ADD_DSP_H

#include "add_affine.h"
#include "dsp.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

/* sum + (factor * low or high half of `halves`) / 2^16, rounded down. */
TFLMGEN_HELPER int32_t tflmgen_smlaw_low(int32_t factor, uint32_t halves, int32_t sum)
{
    __asm__("smlawb %0, %1, %2, %3" : "=r"(sum) : "r"(factor), "r"(halves), "r"(sum));
    return sum;
}

TFLMGEN_HELPER int32_t tflmgen_smlaw_high(int32_t factor, uint32_t halves, int32_t sum)
{
    __asm__("smlawt %0, %1, %2, %3" : "=r"(sum) : "r"(factor), "r"(halves), "r"(sum));
    return sum;
}

TFLMGEN_HELPER int8_t tflmgen_add_dsp_finish(int32_t sum, int32_t shift)
{
    return (int8_t)tflmgen_saturate_s8(sum >> shift);
}

/* Four results: 2 LDR, 6 to bring bytes to halves, 8 SMLAW, 4 ASR, 4 SSAT, 4 STRB, 3 to loop: 31. */
TFLMGEN_HELPER void tflmgen_add_dsp_row(const int8_t *input1, const int8_t *input2, int8_t *output,
                                        const struct tflmgen_add_affine_s8 *p)
{
    const int32_t factor1 = p->factor1;
    const int32_t factor2 = p->factor2;
    const int32_t start = p->start;
    const int32_t shift = p->shift;
    const int8_t *const end = output + p->count;
    for (const int8_t *last = output + (p->count & ~3); output != last; input1 += 4, input2 += 4, output += 4) {
        const uint32_t a = tflmgen_load4(input1);
        const uint32_t b = tflmgen_load4(input2);
        const uint32_t a_even = a << 8 & 0xFF00FF00u, a_odd = a & 0xFF00FF00u;
        const uint32_t b_even = b << 8 & 0xFF00FF00u, b_odd = b & 0xFF00FF00u;
        int32_t sum0 = tflmgen_smlaw_low(factor1, a_even, start);
        int32_t sum1 = tflmgen_smlaw_low(factor1, a_odd, start);
        int32_t sum2 = tflmgen_smlaw_high(factor1, a_even, start);
        int32_t sum3 = tflmgen_smlaw_high(factor1, a_odd, start);
        sum0 = tflmgen_smlaw_low(factor2, b_even, sum0);
        sum1 = tflmgen_smlaw_low(factor2, b_odd, sum1);
        sum2 = tflmgen_smlaw_high(factor2, b_even, sum2);
        sum3 = tflmgen_smlaw_high(factor2, b_odd, sum3);
        output[0] = tflmgen_add_dsp_finish(sum0, shift);
        output[1] = tflmgen_add_dsp_finish(sum1, shift);
        output[2] = tflmgen_add_dsp_finish(sum2, shift);
        output[3] = tflmgen_add_dsp_finish(sum3, shift);
    }
    for (; output != end; ++input1, ++input2, ++output) {
        int32_t sum = tflmgen_smlaw_high(factor1, (uint32_t)*input1 << 24, start);
        sum = tflmgen_smlaw_high(factor2, (uint32_t)*input2 << 24, sum);
        *output = tflmgen_add_dsp_finish(sum, shift);
    }
    tflmgen_clamp_dsp_s8(output - p->count, p->count, p->least, p->greatest);
}

TFLMGEN_SHARED void tflmgen_add_dsp_long_row(const int8_t *input1, const int8_t *input2, int8_t *output,
                                             const struct tflmgen_add_affine_s8 *p)
{
    tflmgen_add_dsp_row(input1, input2, output, p);
}

TFLMGEN_HELPER void tflmgen_add_dsp_s8(const int8_t *input1, const int8_t *input2, int8_t *output,
                                       const struct tflmgen_add_affine_s8 *p)
{
    if (tflmgen_is_few(p->count)) {
        tflmgen_add_dsp_row(input1, input2, output, p);
    } else {
        tflmgen_add_dsp_long_row(input1, input2, output, p);
    }
}

#endif

#endif
