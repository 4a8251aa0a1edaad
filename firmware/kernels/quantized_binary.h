/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* DIV, SQUARED_DIFFERENCE, PRELU and ADD_N of quantised integers. */
#ifndef TFLMGEN_KERNELS_QUANTIZED_BINARY_H
#define TFLMGEN_KERNELS_QUANTIZED_BINARY_H

#include "arithmetic.h"
#include "fixed_point.h"
#include "quantized_rows.h"

/* The inputs are brought to one scale as for ADD; their difference is squared before it is requantised. */
TFLMGEN_HELPER int32_t tflmgen_squared_difference_finish(int32_t difference, const struct tflmgen_add_quantized *params)
{
    const int32_t square = (int32_t)((uint32_t)difference * (uint32_t)difference);
    const int32_t scaled = tflmgen_requantize(square, params->multiplier_output, params->shift_output);
    return tflmgen_clamp_s32(tflmgen_add_wrap_s32(scaled, params->output_offset), params->least, params->greatest);
}

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
/* The input of the larger scale has the factor 1/2, which is exact. */
TFLMGEN_KERNEL void tflmgen_squared_difference_s8(const int8_t *input1, const int8_t *input2, int8_t *output,
                                                  const struct tflmgen_add_quantized *params)
{
    const bool is_scalar1 = !params->stride1[params->rank - 1];
    const bool is_scalar2 = !params->stride2[params->rank - 1];
    const bool requantizes_second =
        is_scalar1 || (!is_scalar2 && params->multiplier1 == 1 << 30 && params->shift1 == 0);
    const struct tflmgen_squares_s8 p = {
        params->extent[params->rank - 1],
        requantizes_second ? params->offset2 : params->offset1,
        requantizes_second ? tflmgen_scale_mve_of(params->multiplier2, params->shift2)
                           : tflmgen_scale_mve_of(params->multiplier1, params->shift1),
        1 << 6,
        (requantizes_second ? params->offset1 : params->offset2) * (1 << 6),
        tflmgen_scale_mve_of(params->multiplier_output, params->shift_output),
        params->output_offset,
    };
    if (params->shift_output > 0) {
        TFLMGEN_EACH_BINARY_ROW(
            int8_t, input1, input2, output, params, for (int32_t i = 0; i < p.elements; ++i) {
                const int32_t a = tflmgen_add_scale1(row1[is_scalar1 ? 0 : i], params);
                output[i] = (int8_t)tflmgen_squared_difference_finish(
                    a - tflmgen_add_scale2(row2[is_scalar2 ? 0 : i], params), params);
            });
    } else if (is_scalar1) {
        TFLMGEN_EACH_BINARY_ROW(int8_t, input1, input2, output, params,
                                tflmgen_squared_one_s8(row2, tflmgen_add_scale1(*row1, params), output, &p));
    } else if (is_scalar2) {
        TFLMGEN_EACH_BINARY_ROW(int8_t, input1, input2, output, params,
                                tflmgen_squared_one_s8(row1, tflmgen_add_scale2(*row2, params), output, &p));
    } else {
        TFLMGEN_EACH_BINARY_ROW(
            int8_t, input1, input2, output, params,
            tflmgen_squared_rows_s8(requantizes_second ? row2 : row1, requantizes_second ? row1 : row2, output, &p));
    }
}
#elif defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
/* What all rows of a call of SQUARED_DIFFERENCE in int8 have in common. The input of the larger scale has the factor
 * 1/2, so that 2^6 times its values are exact; the other one is `requantized`. */
struct tflmgen_squares_dsp {
    int32_t elements;
    int32_t offset; /* of `requantized` */
    int32_t multiplier;
    int32_t shift;
    int32_t halved_offset;
    int32_t output_multiplier;
    int32_t output_shift; /* to the right */
    int32_t addend;       /* the output's zero point, and the half of its rounding */
};

TFLMGEN_HELPER int32_t tflmgen_squares_dsp_requantized(int32_t value, const struct tflmgen_squares_dsp *p)
{
    return tflmgen_requantize_s31((value + p->offset) * (1 << 7), p->multiplier, p->shift);
}

/* |difference| < 2^15; squares need no sign fix. */
TFLMGEN_HELPER int8_t tflmgen_squares_dsp_output(int32_t difference, const struct tflmgen_squares_dsp *p)
{
    const int32_t high = tflmgen_smmulr(2 * difference * difference, p->output_multiplier);
    return (int8_t)tflmgen_saturate_s8((high + p->addend) >> p->output_shift);
}

/* Rows of both inputs: LDRSB, ADD, LSL, SMMULR, 3 to round, LDRSB, ADD, SUB, LSL, MUL, SMMULR, ADD, ASR, SSAT, STRB. */
static __attribute__((noinline, unused)) void tflmgen_squares_dsp_rows(const int8_t *requantized, const int8_t *halved,
                                                                       int8_t *output,
                                                                       const struct tflmgen_squares_dsp *constants)
{
    const struct tflmgen_squares_dsp p = *constants;
    TFLMGEN_UNROLL_4
    for (int32_t i = 0; i < p.elements; ++i) {
        const int32_t value = halved[i] * (1 << 6) + p.halved_offset;
        output[i] = tflmgen_squares_dsp_output(value - tflmgen_squares_dsp_requantized(requantized[i], &p), &p);
    }
}

/* A row and a single element: of the row that is requantized, and of the other one. */
static __attribute__((noinline, unused)) void tflmgen_squares_dsp_one(const int8_t *requantized, int32_t one,
                                                                      int8_t *output,
                                                                      const struct tflmgen_squares_dsp *constants)
{
    const struct tflmgen_squares_dsp p = *constants;
    const int32_t value = one * (1 << 6) + p.halved_offset;
    TFLMGEN_UNROLL_4
    for (int32_t i = 0; i < p.elements; ++i) {
        output[i] = tflmgen_squares_dsp_output(value - tflmgen_squares_dsp_requantized(requantized[i], &p), &p);
    }
}

static __attribute__((noinline, unused)) void tflmgen_squares_dsp_halved(const int8_t *halved, int32_t one,
                                                                         int8_t *output,
                                                                         const struct tflmgen_squares_dsp *constants)
{
    const struct tflmgen_squares_dsp p = *constants;
    const int32_t value = p.halved_offset - tflmgen_squares_dsp_requantized(one, &p);
    TFLMGEN_UNROLL_4
    for (int32_t i = 0; i < p.elements; ++i) {
        output[i] = tflmgen_squares_dsp_output(halved[i] * (1 << 6) + value, &p);
    }
}

TFLMGEN_KERNEL void tflmgen_squared_difference_s8(const int8_t *input1, const int8_t *input2, int8_t *output,
                                                  const struct tflmgen_add_quantized *params)
{
    const bool is_scalar1 = !params->stride1[params->rank - 1];
    const bool is_scalar2 = !params->stride2[params->rank - 1];
    const bool halves_first = params->multiplier1 == 1 << 30 && params->shift1 == 0;
    const int32_t right = params->shift_output < 0 ? -params->shift_output : 0;
    const struct tflmgen_squares_dsp p = {
        params->extent[params->rank - 1],
        halves_first ? params->offset2 : params->offset1,
        halves_first ? params->multiplier2 : params->multiplier1,
        halves_first ? params->shift2 : params->shift1,
        (halves_first ? params->offset1 : params->offset2) * (1 << 6),
        params->multiplier_output,
        right,
        params->output_offset * (1 << right) + (right > 0 ? 1 << (right - 1) : 0),
    };
    if (params->shift_output > 0 || right > 22) {
        TFLMGEN_EACH_BINARY_ROW(
            int8_t, input1, input2, output, params, for (int32_t i = 0; i < p.elements; ++i) {
                const int32_t a = tflmgen_add_scale1(row1[is_scalar1 ? 0 : i], params);
                output[i] = (int8_t)tflmgen_squared_difference_finish(
                    a - tflmgen_add_scale2(row2[is_scalar2 ? 0 : i], params), params);
            });
    } else if (is_scalar1 || is_scalar2) {
        /* Whether the row, not the single element, has the factor 1/2. */
        const bool is_halved = halves_first != is_scalar1;
        TFLMGEN_EACH_BINARY_ROW(int8_t, input1, input2, output, params,
                                (is_halved ? tflmgen_squares_dsp_halved : tflmgen_squares_dsp_one)(
                                    is_scalar1 ? row2 : row1, is_scalar1 ? *row1 : *row2, output, &p));
    } else {
        TFLMGEN_EACH_BINARY_ROW(
            int8_t, input1, input2, output, params,
            tflmgen_squares_dsp_rows(halves_first ? row2 : row1, halves_first ? row1 : row2, output, &p));
    }
}
#else
TFLMGEN_DEFINE_BINARY(tflmgen_squared_difference_s8, int8_t, int8_t, tflmgen_add_quantized,
                      tflmgen_squared_difference_finish(tflmgen_add_scale1(a, params) - tflmgen_add_scale2(b, params),
                                                        params))
#endif
TFLMGEN_DEFINE_BINARY(tflmgen_squared_difference_s16, tflmgen_s16, tflmgen_s16, tflmgen_add_quantized,
                      tflmgen_squared_difference_finish(tflmgen_add_scale1(a, params) - tflmgen_add_scale2(b, params),
                                                        params))

struct tflmgen_prelu {
    TFLMGEN_BINARY_NEST
    int32_t input_offset; /* minus the zero point */
    int32_t alpha_offset; /* minus the zero point */
    int32_t output_offset;
    int32_t multiplier_positive;
    int32_t shift_positive;
    int32_t multiplier_negative;
    int32_t shift_negative;
    int32_t least;
    int32_t greatest;
};

TFLMGEN_HELPER int32_t tflmgen_prelu_value(int32_t x, int32_t alpha, const struct tflmgen_prelu *params)
{
    const int32_t scaled = x >= 0 ? tflmgen_requantize(x, params->multiplier_positive, params->shift_positive)
                                  : tflmgen_requantize(x * alpha, params->multiplier_negative, params->shift_negative);
    return tflmgen_clamp_s32(tflmgen_add_wrap_s32(scaled, params->output_offset), params->least, params->greatest);
}

TFLMGEN_DEFINE_BINARY(tflmgen_prelu_s8, int8_t, int8_t, tflmgen_prelu,
                      tflmgen_prelu_value(a + params->input_offset, b + params->alpha_offset, params))
TFLMGEN_DEFINE_MIXED_BINARY(tflmgen_prelu_s16, tflmgen_s16, int8_t, tflmgen_s16, tflmgen_prelu,
                            tflmgen_prelu_value(a + params->input_offset, b + params->alpha_offset, params))

struct tflmgen_div_s8 {
    TFLMGEN_BINARY_NEST
    int32_t offset1; /* minus the zero point */
    int32_t offset2;
    int32_t output_offset;
    int32_t multiplier;
    int32_t shift;
    int32_t least;
    int32_t greatest;
};

/* The divisor's reciprocal comes from Newton's iteration. A divisor of 0 gives the output's zero point. */
TFLMGEN_HELPER int32_t tflmgen_div_value(int32_t a, int32_t b, const struct tflmgen_div_s8 *params)
{
    int32_t scaled = 0;
    if (a != 0 && b != 0) {
        const int32_t dividend = b < 0 ? -a : a;
        const int32_t divisor = b < 0 ? -b : b;
        const int32_t zeros = tflmgen_leading_zeros((uint32_t)divisor);
        const int32_t mantissa = (int32_t)(((uint32_t)divisor << zeros) - 0x80000000u);
        const int32_t headroom = dividend < 0 ? tflmgen_leading_zeros(2u * (uint32_t)-dividend - 1u)
                                              : tflmgen_leading_zeros((uint32_t)dividend) - 1;
        const int32_t shifted = (int32_t)((uint32_t)dividend << headroom);
        const int32_t quotient = tflmgen_doubling_high_multiply(shifted, tflmgen_reciprocal_q31(mantissa));
        const int32_t right_shift = 31 - zeros + headroom - params->shift;
        scaled = right_shift > 31 ? 0
                                  : tflmgen_rounding_divide_by_power(
                                        tflmgen_doubling_high_multiply(quotient, params->multiplier), right_shift);
    }
    return tflmgen_clamp_s32(tflmgen_add_wrap_s32(scaled, params->output_offset), params->least, params->greatest);
}

TFLMGEN_DEFINE_BINARY(tflmgen_div_s8, int8_t, int8_t, tflmgen_div_s8,
                      tflmgen_div_value(a + params->offset1, b + params->offset2, params))

#endif
