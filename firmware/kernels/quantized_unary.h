/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Functions of one quantised element: arithmetic for 16 bits; tables for 8 bits are in lookup.h. */
#ifndef TFLMGEN_KERNELS_QUANTIZED_UNARY_H
#define TFLMGEN_KERNELS_QUANTIZED_UNARY_H

#include "inverse_sqrt.h"
#include "mve.h"
#include "requantize.h"

struct tflmgen_clamp_s16 {
    int32_t elements;
    int32_t least;
    int32_t greatest;
};

TFLMGEN_KERNEL void tflmgen_clamp_s16(const tflmgen_s16 *input, tflmgen_s16 *output,
                                      const struct tflmgen_clamp_s16 *params)
{
    for (int32_t i = 0; i < params->elements; i++) {
        output[i] = (int16_t)tflmgen_clamp_s32(input[i], params->least, params->greatest);
    }
}

/* Both zero points are 0. Negative elements have a factor of their own. */
struct tflmgen_two_slopes_s16 {
    int32_t elements;
    int32_t multiplier_positive;
    int32_t shift_positive;
    int32_t multiplier_negative; /* of the element as it is: a negative multiplier makes the result positive */
    int32_t shift_negative;
};

/* RELU, LEAKY_RELU and ABS. */
TFLMGEN_KERNEL void tflmgen_two_slopes_s16(const tflmgen_s16 *input, tflmgen_s16 *output,
                                           const struct tflmgen_two_slopes_s16 *params)
{
    for (int32_t i = 0; i < params->elements; i++) {
        const int32_t x = input[i];
        const int32_t scaled = x >= 0 ? tflmgen_requantize(x, params->multiplier_positive, params->shift_positive)
                                      : tflmgen_requantize(x, params->multiplier_negative, params->shift_negative);
        output[i] = (int16_t)tflmgen_clamp_s32(scaled, INT16_MIN, INT16_MAX);
    }
}

struct tflmgen_rsqrt_s16 {
    int32_t elements;
    int32_t multiplier;
    int32_t shift;
};

/* Both zero points are 0. An element that is not positive gives the greatest output. */
TFLMGEN_KERNEL void tflmgen_rsqrt_s16(const tflmgen_s16 *input, tflmgen_s16 *output,
                                      const struct tflmgen_rsqrt_s16 *params)
{
    for (int32_t i = 0; i < params->elements; i++) {
        const int32_t x = input[i];
        int32_t result = INT16_MAX;
        if (x > 0) {
            int32_t multiplier;
            int32_t shift;
            tflmgen_inverse_sqrt(x, &multiplier, &shift);
            const int32_t inverse = tflmgen_requantize(1, multiplier, shift + TFLMGEN_INVERSE_SQRT_BITS);
            result = tflmgen_requantize(inverse, params->multiplier, params->shift - TFLMGEN_INVERSE_SQRT_BITS);
        }
        output[i] = (int16_t)tflmgen_clamp_s32(result, INT16_MIN, INT16_MAX);
    }
}

/* LOGISTIC and TANH of 16 bits: table[i] = 65536 / (1 + exp(-i / 24)), interpolated. Elements are first brought to
 * steps of 1 / 12288 by (element * multiplier) >> shift, rounded. */
struct tflmgen_sigmoid_s16 {
    int32_t elements;
    int32_t multiplier;
    int32_t shift;
};

TFLMGEN_HELPER int32_t tflmgen_sigmoid_steps(int32_t element, int32_t multiplier, int32_t shift)
{
    const int32_t rounding = (int32_t)((1u << shift) >> 1);
    return (element * multiplier + rounding) >> shift;
}

/* table[position / 2^bits], interpolated, times 2^bits; `saturated` beyond the table's end. */
TFLMGEN_HELPER int32_t tflmgen_sigmoid_interpolate(const tflmgen_u16 *table, int32_t position, int32_t bits,
                                                   int32_t saturated)
{
    const int32_t index = position >> bits;
    const int32_t fraction = position & ((1 << bits) - 1);
    if (index >= 255) {
        return saturated;
    }
    return table[index] * (1 << bits) + fraction * (table[index + 1] - table[index]);
}

/* `x` in steps of 1 / 12288; the result in 1 / 32768. */
TFLMGEN_HELPER int16_t tflmgen_logistic_of_steps(const tflmgen_u16 *table, int32_t x)
{
    const int32_t positive = tflmgen_sigmoid_interpolate(table, x < 0 ? -x : x, 9, 0x7FFF * 1024);
    const int32_t value = x >= 0 ? positive + 512 : (1 << 25) - positive + 511;
    return (int16_t)(value >> 10);
}

/* The same for tanh(x) = 2 / (1 + exp(-2 * x)) - 1. */
TFLMGEN_HELPER int16_t tflmgen_tanh_of_steps(const tflmgen_u16 *table, int32_t x)
{
    const int32_t positive = tflmgen_sigmoid_interpolate(table, x < 0 ? -x : x, 8, 0xFFFF * 256) - (1 << 23);
    return (int16_t)((x >= 0 ? positive + 128 : 127 - positive) >> 8);
}

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
/* Either is odd around its `centre`: of the complement of the number's distance from there VRSHR makes what rounds a
 * negative one. Four: VLDRH, VMUL, VRSHL, VSHR, VABS; VSHR, VAND, VPT, 2 gathering VLDRH, VSUB, VMUL, VSHL, VADD, VPSEL
 * to interpolate; VSUB, VEOR, 1 or 2, VSTRH, LETP. */
#define TFLMGEN_DEFINE_SIGMOID_ROW(name, bits, fractions_, saturated_, centre_, FINISH)                           \
    TFLMGEN_KERNEL void name(const tflmgen_s16 *input, const tflmgen_u16 *table, tflmgen_s16 *output,             \
                             const struct tflmgen_sigmoid_s16 *params)                                            \
    {                                                                                                             \
        __asm__ volatile("wlstp.32 lr, %[elements], 2f\n"                                                         \
                         "1:\n\t"                                                                                 \
                         "vldrh.s32 q0, [%[input]], #8\n\t"                                                       \
                         "vmul.i32 q0, q0, %[multiplier]\n\t"                                                     \
                         "vrshl.s32 q0, %[shift]\n\t"                                                             \
                         "vshr.s32 q3, q0, #31\n\t"                                                               \
                         "vabs.s32 q0, q0\n\t"                                                                    \
                         "vshr.u32 q1, q0, #" bits "\n\t"                                                         \
                         "vand q0, q0, %q[fractions]\n\t"                                                         \
                         "vptt.s32 lt, q1, %[end]\n\t"                                                            \
                         "vldrht.u32 q2, [%[table], q1, uxtw #1]\n\t"                                             \
                         "vldrht.u32 q4, [%[next], q1, uxtw #1]\n\t"                                              \
                         "vsub.i32 q4, q4, q2\n\t"                                                                \
                         "vmul.i32 q0, q0, q4\n\t"                                                                \
                         "vshl.i32 q2, q2, #" bits "\n\t"                                                         \
                         "vadd.i32 q0, q0, q2\n\t"                                                                \
                         "vpsel q0, q0, %q[saturated]\n\t"                                                        \
                         "vsub.i32 q0, q0, %q[centre]\n\t"                                                        \
                         "veor q0, q0, q3\n\t" FINISH "vstrh.32 q0, [%[output]], #8\n\t"                          \
                         "letp lr, 1b\n"                                                                          \
                         "2:"                                                                                     \
                         : [input] "+l"(input), [output] "+l"(output)                                             \
                         : [multiplier] "r"(params->multiplier), [shift] "r"(-params->shift), [table] "r"(table), \
                           [next] "r"(table + 1), [end] "r"(255), [elements] "r"(params->elements),               \
                           [fractions] "w"(vdupq_n_s32(fractions_)), [saturated] "w"(vdupq_n_s32(saturated_)),    \
                           [centre] "w"(vdupq_n_s32(centre_))                                                     \
                         : "lr", "q0", "q1", "q2", "q3", "q4", "cc", "memory");                                   \
    }

TFLMGEN_DEFINE_SIGMOID_ROW(tflmgen_logistic_s16, "9", 511, 0x7FFF * 1024, 1 << 24,
                           "vadd.i32 q0, q0, %q[centre]\n\tvrshr.s32 q0, q0, #10\n\t")
TFLMGEN_DEFINE_SIGMOID_ROW(tflmgen_tanh_s16, "8", 255, 0xFFFF * 256, 1 << 23, "vrshr.s32 q0, q0, #8\n\t")
#else
TFLMGEN_KERNEL void tflmgen_logistic_s16(const tflmgen_s16 *input, const tflmgen_u16 *table, tflmgen_s16 *output,
                                         const struct tflmgen_sigmoid_s16 *params)
{
    for (int32_t i = 0; i < params->elements; i++) {
        const int32_t steps = tflmgen_sigmoid_steps(input[i], params->multiplier, params->shift);
        output[i] = tflmgen_logistic_of_steps(table, steps);
    }
}

TFLMGEN_KERNEL void tflmgen_tanh_s16(const tflmgen_s16 *input, const tflmgen_u16 *table, tflmgen_s16 *output,
                                     const struct tflmgen_sigmoid_s16 *params)
{
    for (int32_t i = 0; i < params->elements; i++) {
        const int32_t steps = tflmgen_sigmoid_steps(input[i], params->multiplier, params->shift);
        output[i] = tflmgen_tanh_of_steps(table, steps);
    }
}
#endif

#endif
