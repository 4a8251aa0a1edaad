/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* MUL of int8 tensors, also broadcast, for cores with the DSP extension.
 *
 * TFLite's two roundings of a product P times a factor are (hi32(2^left P m) + addend) >> 14, saturated, where negative
 * products get another addend; proved at build time over all pairs of inputs.
 */
#ifndef TFLMGEN_KERNELS_MUL_DSP_H
#define TFLMGEN_KERNELS_MUL_DSP_H

#include "dsp.h"
#include "nest.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

#define TFLMGEN_MUL_DSP_SHIFT 14 /* fraction bits of sums */

struct tflmgen_mul_dsp_s8 {
    TFLMGEN_BINARY_NEST
    int32_t offset1; /* minus the zero point */
    int32_t offset2;
    int32_t left;
    int32_t multiplier;
    int32_t addend;
    int32_t negative; /* what negative products get more */
    int32_t least;
    int32_t greatest;
};

/* What a product takes, copied so that stores of int8 leave it in registers. */
struct tflmgen_mul_dsp_factors {
    int32_t left;
    int32_t multiplier;
    int32_t addend;
    int32_t negative;
};

TFLMGEN_HELPER int8_t tflmgen_mul_dsp_finish(int32_t product, struct tflmgen_mul_dsp_factors p)
{
    const int32_t scaled = (int32_t)((uint32_t)product << p.left);
    int32_t sum = tflmgen_smmla(scaled, p.multiplier, p.addend);
    sum += tflmgen_sign_mask(product) & p.negative;
    __asm__("ssat %0, #8, %1, asr %2" : "=r"(sum) : "r"(sum), "i"(TFLMGEN_MUL_DSP_SHIFT));
    return (int8_t)sum;
}

TFLMGEN_HELPER int32_t tflmgen_lower_half(uint32_t halves)
{
    return (int16_t)halves;
}

TFLMGEN_HELPER int32_t tflmgen_upper_half(uint32_t halves)
{
    return (int32_t)halves >> 16;
}

/* Four results: 2 LDR, 4 SXTAB16, 4 SMULxy, 4 LSL, 4 SMMLA, 8 for their signs, 4 SSAT, 4 STRB, 4 to loop. */
TFLMGEN_HELPER void tflmgen_mul_dsp_rows(const int8_t *row1, const int8_t *row2, int8_t *output, int32_t count,
                                         const struct tflmgen_mul_dsp_s8 *params)
{
    const struct tflmgen_mul_dsp_factors p = {params->left, params->multiplier, params->addend, params->negative};
    const uint32_t offset1 = tflmgen_splat2(params->offset1);
    const uint32_t offset2 = tflmgen_splat2(params->offset2);
    for (; count >= 4; count -= 4, row1 += 4, row2 += 4, output += 4) {
        const uint32_t a = tflmgen_load4(row1);
        const uint32_t b = tflmgen_load4(row2);
        const uint32_t a_even = tflmgen_add_even_bytes(offset1, a), a_odd = tflmgen_add_odd_bytes(offset1, a);
        const uint32_t b_even = tflmgen_add_even_bytes(offset2, b), b_odd = tflmgen_add_odd_bytes(offset2, b);
        const int32_t product0 = tflmgen_lower_half(a_even) * tflmgen_lower_half(b_even);
        const int32_t product1 = tflmgen_lower_half(a_odd) * tflmgen_lower_half(b_odd);
        const int32_t product2 = tflmgen_upper_half(a_even) * tflmgen_upper_half(b_even);
        const int32_t product3 = tflmgen_upper_half(a_odd) * tflmgen_upper_half(b_odd);
        output[0] = tflmgen_mul_dsp_finish(product0, p);
        output[1] = tflmgen_mul_dsp_finish(product1, p);
        output[2] = tflmgen_mul_dsp_finish(product2, p);
        output[3] = tflmgen_mul_dsp_finish(product3, p);
    }
    for (; count > 0; --count) {
        const int32_t product = (*row1++ + (int16_t)offset1) * (*row2++ + (int16_t)offset2);
        *output++ = tflmgen_mul_dsp_finish(product, p);
    }
}

/* A row times one element, which has its offset. Four results: LDR, 2 SXTAB16, 4 SMULxy, 4 LSL, 4 SMMLA, 8 for
 * their signs, 4 SSAT, 4 STRB, 3 to loop. */
TFLMGEN_HELPER void tflmgen_mul_dsp_row_by_one(const int8_t *row, int32_t offset, int16_t one, int8_t *output,
                                               int32_t count, const struct tflmgen_mul_dsp_s8 *params)
{
    const struct tflmgen_mul_dsp_factors p = {params->left, params->multiplier, params->addend, params->negative};
    const uint32_t offsets = tflmgen_splat2(offset);
    for (; count >= 4; count -= 4, row += 4, output += 4) {
        const uint32_t values = tflmgen_load4(row);
        const uint32_t even = tflmgen_add_even_bytes(offsets, values), odd = tflmgen_add_odd_bytes(offsets, values);
        output[0] = tflmgen_mul_dsp_finish(tflmgen_lower_half(even) * one, p);
        output[1] = tflmgen_mul_dsp_finish(tflmgen_lower_half(odd) * one, p);
        output[2] = tflmgen_mul_dsp_finish(tflmgen_upper_half(even) * one, p);
        output[3] = tflmgen_mul_dsp_finish(tflmgen_upper_half(odd) * one, p);
    }
    for (; count > 0; --count) {
        *output++ = tflmgen_mul_dsp_finish((*row++ + offset) * one, p);
    }
}

/* Two rows, or a row and one element. */
TFLMGEN_HELPER void tflmgen_mul_dsp_any_row(const int8_t *row1, const int8_t *row2, int8_t *output,
                                            const struct tflmgen_mul_dsp_s8 *p)
{
    const int32_t row = p->rank - 1;
    const int32_t count = p->extent[row];
    if (!p->stride2[row]) {
        tflmgen_mul_dsp_row_by_one(row1, p->offset1, (int16_t)(*row2 + p->offset2), output, count, p);
    } else if (!p->stride1[row]) {
        tflmgen_mul_dsp_row_by_one(row2, p->offset2, (int16_t)(*row1 + p->offset1), output, count, p);
    } else {
        tflmgen_mul_dsp_rows(row1, row2, output, count, p);
    }
}

TFLMGEN_SHARED void tflmgen_mul_dsp_many(const int8_t *input1, const int8_t *input2, int8_t *output,
                                         const struct tflmgen_mul_dsp_s8 *p)
{
    int8_t *const begin = output;
    TFLMGEN_EACH_BINARY_ROW(int8_t, input1, input2, output, p, tflmgen_mul_dsp_any_row(row1, row2, output, p));
    tflmgen_clamp_dsp_s8(begin, (int32_t)(output - begin), p->least, p->greatest);
}

TFLMGEN_HELPER void tflmgen_mul_dsp_s8(const int8_t *input1, const int8_t *input2, int8_t *output,
                                       const struct tflmgen_mul_dsp_s8 *p)
{
    if (p->rank == 1 && tflmgen_is_few(p->extent[0])) {
        tflmgen_mul_dsp_any_row(input1, input2, output, p);
        tflmgen_clamp_dsp_s8(output, p->extent[0], p->least, p->greatest);
    } else {
        tflmgen_mul_dsp_many(input1, input2, output, p);
    }
}

#endif

#endif
