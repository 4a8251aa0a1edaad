/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* ADD, SUB and MUL, with their activation as a range of the output. */
#ifndef TFLMGEN_KERNELS_ARITHMETIC_H
#define TFLMGEN_KERNELS_ARITHMETIC_H

#include "arithmetic_f32.h"
#include "dsp.h"
#include "mve.h"
#include "nest.h"
#include "quantized_rows.h"
#include "requantize.h"

struct tflmgen_arithmetic_s32 {
    TFLMGEN_BINARY_NEST
    int32_t least;
    int32_t greatest;
};

/* Results that do not fit wrap, before the activation. */
TFLMGEN_DEFINE_BINARY(tflmgen_add_s32, tflmgen_s32, tflmgen_s32, tflmgen_arithmetic_s32,
                      tflmgen_clamp_s32((int32_t)((uint32_t)a + (uint32_t)b), params->least, params->greatest))
TFLMGEN_DEFINE_BINARY(tflmgen_sub_s32, tflmgen_s32, tflmgen_s32, tflmgen_arithmetic_s32,
                      tflmgen_clamp_s32((int32_t)((uint32_t)a - (uint32_t)b), params->least, params->greatest))
TFLMGEN_DEFINE_BINARY(tflmgen_mul_s32, tflmgen_s32, tflmgen_s32, tflmgen_arithmetic_s32,
                      tflmgen_clamp_s32((int32_t)((uint32_t)a *(uint32_t)b), params->least, params->greatest))

TFLMGEN_DEFINE_BINARY(tflmgen_add_s64, tflmgen_s64, tflmgen_s64, tflmgen_binary, (uint64_t)a + (uint64_t)b)
TFLMGEN_DEFINE_BINARY(tflmgen_sub_s64, tflmgen_s64, tflmgen_s64, tflmgen_binary, (uint64_t)a - (uint64_t)b)
TFLMGEN_DEFINE_BINARY(tflmgen_mul_s64, tflmgen_s64, tflmgen_s64, tflmgen_binary, (uint64_t)a *(uint64_t)b)

/* Both inputs are brought to one scale, with `left_shift` bits of headroom, before they are added. */
struct tflmgen_add_quantized {
    TFLMGEN_BINARY_NEST
    int32_t offset1; /* minus the zero point */
    int32_t offset2;
    int32_t output_offset;
    int32_t left_shift;
    int32_t multiplier1;
    int32_t shift1;
    int32_t multiplier2;
    int32_t shift2;
    int32_t multiplier_output;
    int32_t shift_output;
    int32_t least;
    int32_t greatest;
};

TFLMGEN_HELPER int32_t tflmgen_add_scale1(int32_t value, const struct tflmgen_add_quantized *params)
{
    const int32_t shifted = (value + params->offset1) * (1 << params->left_shift);
    return tflmgen_requantize_s31(shifted, params->multiplier1, params->shift1);
}

TFLMGEN_HELPER int32_t tflmgen_add_scale2(int32_t value, const struct tflmgen_add_quantized *params)
{
    const int32_t shifted = (value + params->offset2) * (1 << params->left_shift);
    return tflmgen_requantize_s31(shifted, params->multiplier2, params->shift2);
}

TFLMGEN_HELPER int32_t tflmgen_add_finish(int32_t sum, const struct tflmgen_add_quantized *params)
{
    const int32_t scaled = tflmgen_requantize_s31(sum, params->multiplier_output, params->shift_output);
    return tflmgen_clamp_s32(scaled + params->output_offset, params->least, params->greatest);
}

TFLMGEN_DEFINE_BINARY(tflmgen_add_s8, int8_t, int8_t, tflmgen_add_quantized,
                      tflmgen_add_finish(tflmgen_add_scale1(a, params) + tflmgen_add_scale2(b, params), params))
TFLMGEN_DEFINE_BINARY(tflmgen_sub_s8, int8_t, int8_t, tflmgen_add_quantized,
                      tflmgen_add_finish(tflmgen_add_scale1(a, params) - tflmgen_add_scale2(b, params), params))

struct tflmgen_mul_quantized {
    TFLMGEN_BINARY_NEST
    int32_t offset1; /* minus the zero point */
    int32_t offset2;
    int32_t output_offset;
    int32_t multiplier;
    int32_t shift;
    int32_t least;
    int32_t greatest;
};

TFLMGEN_HELPER int32_t tflmgen_mul_finish(int32_t a, int32_t b, const struct tflmgen_mul_quantized *params)
{
    const int32_t product = (int32_t)((uint32_t)(a + params->offset1) * (uint32_t)(b + params->offset2));
    const int32_t scaled = tflmgen_requantize(product, params->multiplier, params->shift);
    return tflmgen_clamp_s32(tflmgen_add_wrap_s32(scaled, params->output_offset), params->least, params->greatest);
}

TFLMGEN_DEFINE_BINARY(tflmgen_mul_s8, int8_t, int8_t, tflmgen_mul_quantized, tflmgen_mul_finish(a, b, params))
TFLMGEN_DEFINE_BINARY(tflmgen_mul_offset_s16, tflmgen_s16, tflmgen_s16, tflmgen_mul_quantized,
                      tflmgen_mul_finish(a, b, params))

/* ADD and SUB. The inputs are brought to twice the greater one's scale, with 15 bits of headroom: of the input of that
 * scale that is 2^14 times the element, exactly. It comes first. The other one is below 2^31 / 2 times as large, and so
 * its shift is to the right. */
struct tflmgen_add_s16 {
    TFLMGEN_BINARY_NEST
    int32_t factor1; /* 2^14, negative where the first input is subtracted */
    int32_t sign2;   /* 1, or -1 where the second one is */
    int32_t multiplier2;
    int32_t right2; /* at least 1 */
    int32_t multiplier_output;
    int32_t shift_output; /* at most 0 */
    int32_t least;
    int32_t greatest;
};

TFLMGEN_HELPER int32_t tflmgen_add_scaled_s16(int32_t value, int32_t multiplier, int32_t right)
{
    return tflmgen_rounding_shift_right(tflmgen_doubling_high_product_s16(value, multiplier), right);
}

/* MUL without zero points. */
struct tflmgen_mul_s16 {
    TFLMGEN_BINARY_NEST
    int32_t multiplier;
    int32_t shift;
    int32_t least;
    int32_t greatest;
};

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
/* A row meets a row or, first or second, a single element. */
TFLMGEN_KERNEL void tflmgen_add_s16(const tflmgen_s16 *input1, const tflmgen_s16 *input2, tflmgen_s16 *output,
                                    const struct tflmgen_add_s16 *params)
{
    const bool is_scalar1 = !params->stride1[params->rank - 1];
    const bool is_scalar2 = !is_scalar1 && !params->stride2[params->rank - 1];
    const struct tflmgen_rows_s16 p = {
        params->extent[params->rank - 1],
        is_scalar2 ? tflmgen_scale_mve_of(1 << 30, 0) : tflmgen_scale_mve_of(params->multiplier2, -params->right2),
        is_scalar2 ? params->factor1 / (1 << 14) : params->sign2,
        params->factor1,
        tflmgen_scale_mve_of(params->multiplier_output, params->shift_output),
        params->least,
        params->greatest,
    };
    if (is_scalar1) {
        TFLMGEN_EACH_BINARY_ROW(tflmgen_s16, input1, input2, output, params,
                                tflmgen_add_one_s16(row2, *row1 * params->factor1, output, &p));
    } else if (is_scalar2) {
        TFLMGEN_EACH_BINARY_ROW(
            tflmgen_s16, input1, input2, output, params,
            tflmgen_add_one_s16(
                row1, tflmgen_add_scaled_s16(*row2, params->multiplier2, params->right2) * params->sign2, output, &p));
    } else {
        TFLMGEN_EACH_BINARY_ROW(tflmgen_s16, input1, input2, output, params,
                                tflmgen_add_rows_s16(row2, row1, output, &p));
    }
}

TFLMGEN_KERNEL void tflmgen_mul_s16(const tflmgen_s16 *input1, const tflmgen_s16 *input2, tflmgen_s16 *output,
                                    const struct tflmgen_mul_s16 *params)
{
    const bool is_scalar1 = !params->stride1[params->rank - 1];
    const bool is_scalar2 = !params->stride2[params->rank - 1];
    const int32_t left = tflmgen_max_s32(params->shift, 0);
    const struct tflmgen_scale_mve none = {0, 0, 0};
    const struct tflmgen_rows_s16 p = {
        params->extent[params->rank - 1],
        none,
        0,
        1 << left,
        tflmgen_scale_mve_of(params->multiplier, params->shift - left),
        params->least,
        params->greatest,
    };
    if (is_scalar1 || is_scalar2) {
        TFLMGEN_EACH_BINARY_ROW(tflmgen_s16, input1, input2, output, params,
                                tflmgen_mul_one_s16(is_scalar1 ? row2 : row1,
                                                    (int32_t)((uint32_t)(is_scalar1 ? *row1 : *row2) << left), output,
                                                    &p));
    } else {
        TFLMGEN_EACH_BINARY_ROW(tflmgen_s16, input1, input2, output, params,
                                tflmgen_mul_rows_s16(row1, row2, output, &p));
    }
}
#else
/* The range of int16, and then the output's, which is none where it is all of int16. */
TFLMGEN_HELPER int16_t tflmgen_saturated_s16(int32_t value)
{
#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
    return (int16_t)tflmgen_saturate_dsp_s16(value);
#else
    return (int16_t)tflmgen_clamp_s32(value, INT16_MIN, INT16_MAX);
#endif
}

TFLMGEN_HELPER void tflmgen_clamp_all_s16(tflmgen_s16 *values, int32_t count, int32_t least, int32_t greatest)
{
#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
    tflmgen_clamp_dsp_s16(values, count, least, greatest);
#else
    for (int32_t i = least > INT16_MIN || greatest < INT16_MAX ? 0 : count; i < count; ++i) {
        values[i] = (int16_t)tflmgen_clamp_s32(values[i], least, greatest);
    }
#endif
}

/* Kernels of int16 tensors, whose zero points are 0: for each pair of elements `a`, `b` of the inputs, output = value,
 * clamped. `p` is a copy of the params, which stores to the output leave in registers. */
#define TFLMGEN_DEFINE_BINARY_S16(name, params_struct, value)                                                     \
    TFLMGEN_KERNEL void name(const tflmgen_s16 *input1, const tflmgen_s16 *input2, tflmgen_s16 *output,           \
                             const struct params_struct *params)                                                  \
    {                                                                                                             \
        const struct params_struct p = *params;                                                                   \
        const int32_t row = params->rank - 1;                                                                     \
        const int32_t step1 = params->stride1[row], step2 = params->stride2[row];                                 \
        tflmgen_s16 *const first = output;                                                                        \
        struct tflmgen_nest_cursor cursor = {{0}, 0, 0};                                                          \
        do {                                                                                                      \
            const tflmgen_s16 *row1 = input1 + cursor.offset1;                                                    \
            const tflmgen_s16 *row2 = input2 + cursor.offset2;                                                    \
            for (const tflmgen_s16 *const end = output + params->extent[row]; output != end;) {                   \
                const int32_t a = *row1;                                                                          \
                const int32_t b = *row2;                                                                          \
                row1 += step1;                                                                                    \
                row2 += step2;                                                                                    \
                *output++ = tflmgen_saturated_s16(value);                                                         \
            }                                                                                                     \
        } while (tflmgen_nest_next_row(&cursor, params->rank, params->extent, params->stride1, params->stride2)); \
        tflmgen_clamp_all_s16(first, (int32_t)(output - first), p.least, p.greatest);                             \
    }

/* 14 instructions with the DSP extension. */
TFLMGEN_DEFINE_BINARY_S16(tflmgen_add_s16, tflmgen_add_s16,
                          tflmgen_requantize_s31(a *p.factor1 +
                                                     tflmgen_add_scaled_s16(b, p.multiplier2, p.right2) * p.sign2,
                                                 p.multiplier_output, p.shift_output))

/* tflmgen_requantize of a product, which is 2^30 at most: twice its negative fits SMMULR. */
TFLMGEN_HELPER int32_t tflmgen_mul_finish_s16(int32_t product, int32_t multiplier, int32_t shift)
{
#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
    if (shift < 0) {
        return tflmgen_rounding_shift_right(tflmgen_smmulr(product * -2, -multiplier), -shift);
    }
#endif
    return tflmgen_requantize(product, multiplier, shift);
}

TFLMGEN_DEFINE_BINARY_S16(tflmgen_mul_s16, tflmgen_mul_s16, tflmgen_mul_finish_s16(a *b, p.multiplier, p.shift))
#endif

#endif
