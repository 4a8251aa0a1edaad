/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Sums of products: the innermost loops of convolutions and matrix products. */
#ifndef TFLMGEN_KERNELS_DOT_H
#define TFLMGEN_KERNELS_DOT_H

#include "dsp.h"

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
/* sum of (a[i] + a_offset) * (b[i] + b_offset). Eight at a time, with VLDRB, VADD, VLDRB, VADD, VMLADAVA, LETP, which
 * stops at the last one; without offsets 16, and no VADD. */
TFLMGEN_HELPER int32_t tflmgen_dot_mve_s8(const int8_t *a, const int8_t *b, int32_t length, int32_t a_offset,
                                          int32_t b_offset)
{
    int32_t sum = 0;
    if (a_offset == 0 && b_offset == 0) {
        __asm__ volatile("wlstp.8 lr, %[length], 2f\n"
                         "1:\n\t"
                         "vldrb.8 q0, [%[a]], #16\n\t"
                         "vldrb.8 q1, [%[b]], #16\n\t"
                         "vmladava.s8 %[sum], q0, q1\n\t"
                         "letp lr, 1b\n"
                         "2:"
                         : [sum] "+&Te"(sum), [a] "+&l"(a), [b] "+&l"(b)
                         : [length] "r"(length)
                         : "lr", "q0", "q1", "cc", "memory");
    } else {
        __asm__ volatile("wlstp.16 lr, %[length], 2f\n"
                         "1:\n\t"
                         "vldrb.s16 q0, [%[a]], #8\n\t"
                         "vadd.i16 q0, q0, %[a_offset]\n\t"
                         "vldrb.s16 q1, [%[b]], #8\n\t"
                         "vadd.i16 q1, q1, %[b_offset]\n\t"
                         "vmladava.s16 %[sum], q0, q1\n\t"
                         "letp lr, 1b\n"
                         "2:"
                         : [sum] "+&Te"(sum), [a] "+&l"(a), [b] "+&l"(b)
                         : [length] "r"(length), [a_offset] "r"(a_offset), [b_offset] "r"(b_offset)
                         : "lr", "q0", "q1", "cc", "memory");
    }
    return sum;
}

/* sum of a[i] * b[i] in 64 bits, eight at a time: VLDRH, LOAD, VMLALDAVA, LETP. LOAD: of eight b, in 16 bits. */
#define TFLMGEN_DOT_MVE_S16(name, element, LOAD)                                                          \
    TFLMGEN_HELPER int64_t name(const tflmgen_s16 *a, const element *b, int32_t length)                   \
    {                                                                                                     \
        int64_t sum = 0;                                                                                  \
        __asm__ volatile("wlstp.16 lr, %[length], 2f\n"                                                   \
                         "1:\n\t"                                                                         \
                         "vldrh.16 q0, [%[a]], #16\n\t" LOAD "vmlaldava.s16 %Q[sum], %R[sum], q0, q1\n\t" \
                         "letp lr, 1b\n"                                                                  \
                         "2:"                                                                             \
                         : [sum] "+&r"(sum), [a] "+&l"(a), [b] "+&l"(b)                                   \
                         : [length] "r"(length)                                                           \
                         : "lr", "q0", "q1", "cc", "memory");                                             \
        return sum;                                                                                       \
    }

TFLMGEN_DOT_MVE_S16(tflmgen_dot_mve_s16, int8_t, "vldrb.s16 q1, [%[b]], #8\n\t")
TFLMGEN_DOT_MVE_S16(tflmgen_dot_mve_s16_s16, tflmgen_s16, "vldrh.16 q1, [%[b]], #16\n\t")
#endif

/* sum of (input[i] + offset) * weights[i]; with the DSP extension four at a time, 2 LDR + 4 SXTAB16 + 2 SMLAD. */
TFLMGEN_HELPER int32_t tflmgen_dot_s8(const int8_t *input, const int8_t *weights, int32_t length, int32_t offset)
{
#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
    return tflmgen_dot_mve_s8(input, weights, length, offset, 0);
#else
    int32_t sum = 0;
    int32_t i = 0;
#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
    const uint32_t offsets = tflmgen_splat2(offset);
    for (; i < length - 3; i += 4) {
        const uint32_t x = tflmgen_load4(input + i);
        const uint32_t w = tflmgen_load4(weights + i);
        sum = tflmgen_smlad(tflmgen_add_even_bytes(offsets, x), tflmgen_even_bytes(w), sum);
        sum = tflmgen_smlad(tflmgen_add_odd_bytes(offsets, x), tflmgen_odd_bytes(w), sum);
    }
#endif
    for (; i < length; ++i) {
        sum += (input[i] + offset) * weights[i];
    }
    return sum;
#endif
}

/* sum of (a[i] + a_offset) * (b[i] + b_offset), offsets of at most 9 bits; with the DSP extension as above. */
TFLMGEN_HELPER int32_t tflmgen_dot_offsets_s8(const int8_t *a, const int8_t *b, int32_t length, int32_t a_offset,
                                              int32_t b_offset)
{
#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
    return tflmgen_dot_mve_s8(a, b, length, a_offset, b_offset);
#else
    int32_t sum = 0;
    int32_t i = 0;
#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
    const uint32_t a_offsets = tflmgen_splat2(a_offset);
    const uint32_t b_offsets = tflmgen_splat2(b_offset);
    for (; i < length - 3; i += 4) {
        const uint32_t x = tflmgen_load4(a + i);
        const uint32_t y = tflmgen_load4(b + i);
        sum = tflmgen_smlad(tflmgen_add_even_bytes(a_offsets, x), tflmgen_add_even_bytes(b_offsets, y), sum);
        sum = tflmgen_smlad(tflmgen_add_odd_bytes(a_offsets, x), tflmgen_add_odd_bytes(b_offsets, y), sum);
    }
#endif
    for (; i < length; ++i) {
        sum += (a[i] + a_offset) * (b[i] + b_offset);
    }
    return sum;
#endif
}

/* sum of input[i] * weights[i]; with the DSP extension four at a time, 3 LDR + 2 PKH + 2 SXTB16 + 2 SMLALD. */
TFLMGEN_HELPER int64_t tflmgen_dot_s16(const tflmgen_s16 *input, const int8_t *weights, int32_t length)
{
#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
    return tflmgen_dot_mve_s16(input, weights, length);
#else
    int64_t sum = 0;
    int32_t i = 0;
#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
    for (; i < length - 3; i += 4) {
        const uint32_t x01 = tflmgen_load4(input + i);
        const uint32_t x23 = tflmgen_load4(input + i + 2);
        const uint32_t w = tflmgen_load4(weights + i);
        sum = tflmgen_smlald(tflmgen_lower_halves(x01, x23), tflmgen_even_bytes(w), sum);
        sum = tflmgen_smlald(tflmgen_upper_halves(x01, x23), tflmgen_odd_bytes(w), sum);
    }
#endif
    for (; i < length; ++i) {
        sum += input[i] * weights[i];
    }
    return sum;
#endif
}

/* The same for two rows of int16, with the DSP extension two at a time. */
TFLMGEN_HELPER int64_t tflmgen_dot_s16_s16(const tflmgen_s16 *a, const tflmgen_s16 *b, int32_t length)
{
#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE
    return tflmgen_dot_mve_s16_s16(a, b, length);
#else
    int64_t sum = 0;
    int32_t i = 0;
#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP
    for (; i < length - 3; i += 4) {
        sum = tflmgen_smlald(tflmgen_load4(a + i), tflmgen_load4(b + i), sum);
        sum = tflmgen_smlald(tflmgen_load4(a + i + 2), tflmgen_load4(b + i + 2), sum);
    }
#endif
    for (; i < length; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
#endif
}

TFLMGEN_HELPER int32_t tflmgen_sum_s8(const int8_t *values, int32_t length)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < length; ++i) {
        sum += values[i];
    }
    return sum;
}

/* `sum` with the products added one after the other, in this order. */
TFLMGEN_HELPER float tflmgen_dot_f32(float sum, const tflmgen_f32 *input, const tflmgen_f32 *weights, int32_t length)
{
    for (int32_t i = 0; i < length; ++i) {
        sum += input[i] * weights[i];
    }
    return sum;
}

#endif
