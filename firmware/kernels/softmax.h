/* SOFTMAX over the rows of [rows, depth]. */
#ifndef TFLMGEN_KERNELS_SOFTMAX_H
#define TFLMGEN_KERNELS_SOFTMAX_H

#include <math.h>

#include "requantize.h"

struct tflmgen_softmax_s8 {
    int32_t rows;
    int32_t depth;
    int32_t entries; /* of the table of exponentials */
};

/* a * b as Q0.31 numbers do, where a or b may have any format. */
TFLMGEN_HELPER int32_t tflmgen_multiply_q31(int32_t a, int32_t b)
{
    return tflmgen_doubling_high_multiply(a, b);
}

/* value * 2^exponent, saturated. */
TFLMGEN_HELPER int32_t tflmgen_saturating_shift_left(int32_t value, int32_t exponent)
{
    const int64_t shifted = (int64_t)value * ((int64_t)1 << exponent);
    return shifted > INT32_MAX ? INT32_MAX : shifted < INT32_MIN ? INT32_MIN : (int32_t)shifted;
}

/* 1 / (1 + x) in Q0.31 for x in [0, 1) in Q0.31: three Newton steps from 48/17 - 32/17 d with d = (1 + x) / 2. */
TFLMGEN_HELPER int32_t tflmgen_reciprocal_q31(int32_t x)
{
    const int32_t denominator = (int32_t)(((int64_t)x + INT32_MAX + 1) / 2);
    const int32_t one = (int32_t)1 << 29;
    int32_t estimate = 1515870810 + tflmgen_multiply_q31(denominator, -1010580540);
    for (int32_t step = 0; step < 3; ++step) {
        const int32_t error = one - tflmgen_multiply_q31(denominator, estimate);
        estimate += tflmgen_saturating_shift_left(tflmgen_multiply_q31(estimate, error), 2);
    }
    return tflmgen_saturating_shift_left(estimate, 1);
}

TFLMGEN_HELPER int32_t tflmgen_leading_zeros(uint32_t value)
{
    int32_t zeros = 0;
    while (zeros < 32 && !(value & 0x80000000u)) {
        value <<= 1;
        ++zeros;
    }
    return zeros;
}

TFLMGEN_HELPER int32_t tflmgen_row_max_s8(const int8_t *row, int32_t depth)
{
    int32_t greatest = INT8_MIN;
    for (int32_t i = 0; i < depth; ++i) {
        greatest = tflmgen_max_s32(greatest, row[i]);
    }
    return greatest;
}

/* The sum's reciprocal in Q0.31, and the bits that its exponent takes off a result. The sum is in Q12.19. */
TFLMGEN_HELPER int32_t tflmgen_sum_of_exps(const int8_t *row, int32_t greatest, const int32_t *exps,
                                           const struct tflmgen_softmax_s8 *p, int32_t *bits_over_unit)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < p->depth; ++i) {
        const int32_t below = greatest - row[i];
        sum += below < p->entries ? tflmgen_rounding_divide_by_power(exps[below], 12) : 0;
    }
    const int32_t zeros = tflmgen_leading_zeros((uint32_t)sum);
    *bits_over_unit = 12 - zeros;
    return tflmgen_reciprocal_q31((int32_t)(((uint32_t)sum << zeros) - 0x80000000u));
}

/* exps[i]: exp(-i * scale * beta) in Q0.31. The output's scale is 1/256 or 1/65536, its zero point the least value. */
#define TFLMGEN_SOFTMAX_S8(name, element, bits, least, most)                                                           \
    TFLMGEN_KERNEL void name(const int8_t *input, const int32_t *restrict exps, element *output,                       \
                             const struct tflmgen_softmax_s8 *p)                                                       \
    {                                                                                                                  \
        for (int32_t row = 0; row < p->rows; ++row) {                                                                  \
            const int32_t greatest = tflmgen_row_max_s8(input, p->depth);                                              \
            int32_t bits_over_unit;                                                                                    \
            const int32_t scale = tflmgen_sum_of_exps(input, greatest, exps, p, &bits_over_unit);                      \
            for (int32_t i = 0; i < p->depth; ++i) {                                                                   \
                const int32_t below = greatest - input[i];                                                             \
                const int32_t part = below < p->entries ? tflmgen_multiply_q31(scale, exps[below]) : 0;                \
                const int32_t exponent = bits_over_unit + 31 - (bits);                                                 \
                const int32_t result = exponent > 31 ? 0 : tflmgen_rounding_divide_by_power(part, exponent);           \
                output[i] = (element)tflmgen_clamp_s32(result + (least), least, most);                                 \
            }                                                                                                          \
            input += p->depth;                                                                                         \
            output += p->depth;                                                                                        \
        }                                                                                                              \
    }

TFLMGEN_SOFTMAX_S8(tflmgen_softmax_s8, int8_t, 8, INT8_MIN, INT8_MAX)
TFLMGEN_SOFTMAX_S8(tflmgen_softmax_s8_s16, int16_t, 16, INT16_MIN, INT16_MAX)

struct tflmgen_softmax_f32 {
    int32_t rows;
    int32_t depth;
    float beta;
};

TFLMGEN_KERNEL void tflmgen_softmax_f32(const float *input, float *output, const struct tflmgen_softmax_f32 *p)
{
    for (int32_t row = 0; row < p->rows; ++row) {
        float greatest = input[0];
        for (int32_t i = 1; i < p->depth; ++i) {
            greatest = input[i] > greatest ? input[i] : greatest;
        }
        float sum = 0.0f;
        for (int32_t i = 0; i < p->depth; ++i) {
            output[i] = expf((input[i] - greatest) * p->beta);
            sum += output[i];
        }
        for (int32_t i = 0; i < p->depth; ++i) {
            output[i] = output[i] / sum;
        }
        input += p->depth;
        output += p->depth;
    }
}

#endif
